/* SPDX-License-Identifier: MIT */
/*
 * A roofline without a screen: roofs (bandwidths and peaks), kernels as points of arithmetic intensity and performance, on logarithmic
 * axes. What is measured comes from elsewhere; here it is placed, and told how far below its roofs a kernel is. All front ends draw this.
 */
#ifndef HP_VIEW_ROOFLINE_CHART_H
#define HP_VIEW_ROOFLINE_CHART_H

#include <stdbool.h>
#include <stddef.h>

struct roofline_roof {
    const char *name;
    bool is_bandwidth;
    double value;        /* bytes a second, else operations a second */
};

struct roofline_point {
    const char *name;
    double intensity;    /* operations a byte */
    double performance;  /* operations a second */
    double weight;       /* its part of the time, 0 to 1 */
};

struct roofline_chart {
    const char *title;
    const char *operation; /* what is counted: "FLOP" */
    const struct roofline_roof *roofs;
    size_t roof_count;
    const struct roofline_point *points;
    size_t point_count;
};

/* What is seen of it: decimal logarithms. */
struct roofline_window {
    double left, right, bottom, top;
};

/* Whether a point has a place on logarithmic axes. */
bool roofline_is_placed(const struct roofline_point *point);
/* All placed points, and the roofs above them. */
struct roofline_window roofline_fit(const struct roofline_chart *chart);
/* factor < 1 shows less of it; around a place given in logarithms. */
void roofline_zoom(struct roofline_window *window, double factor, double x, double y);
void roofline_pan(struct roofline_window *window, double right, double up); /* by parts of the window */

/* What the highest roofs allow at an intensity, and which of them binds; NAN and NULL where no roof is known. */
double roofline_attainable(const struct roofline_chart *chart, double intensity, const struct roofline_roof **ret_roof);

struct roofline_headroom {
    const struct roofline_roof *roof; /* the highest that binds; NULL: none is known */
    double attainable, factor;        /* how many times as fast as it is */
    const struct roofline_roof *next; /* the lowest above the point; NULL: it is above all */
    double next_factor;
};
struct roofline_headroom roofline_headroom(const struct roofline_chart *chart, const struct roofline_point *point);

/* The part of a roof that bounds anything (slopes end at the highest peak, peaks begin at the highest slope), as far as it is in the
 * window. False: nothing of it. */
struct roofline_line {
    double from_x, from_y, to_x, to_y;
};
bool roofline_roof_line(const struct roofline_chart *chart, const struct roofline_roof *roof, const struct roofline_window *window, struct roofline_line *ret_line);
bool roofline_clip(struct roofline_line *line, const struct roofline_window *window);

/* The point nearest to a place given in parts of the window (0, 0 bottom left), within `reach` of it; -1: none. */
long roofline_nearest(const struct roofline_chart *chart, const struct roofline_window *window, double x, double y, double reach);
/* The next point by weight, most first; from -1 the first; -1: there is none. */
long roofline_next(const struct roofline_chart *chart, long from, bool forward);

struct roofline_tick {
    double at, value;    /* decimal logarithm */
    bool labelled;
};
/* At most `capacity` ticks of an axis, at most about `labels` of them with a label. Returns how many. */
size_t roofline_ticks(double low, double high, unsigned labels, struct roofline_tick *ticks, size_t capacity);
/* "0.25", "1.5 k", "200 G"; at least 24 bytes. */
char *roofline_number(char *text, size_t size, double value);

#endif
