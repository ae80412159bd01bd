/* SPDX-License-Identifier: MIT */
/*
 * A drawing: rectangles, lines and texts in points from the top left corner, with colours by meaning. It is a list, so that what is drawn
 * once comes out alike as SVG, as PNG and on a terminal that shows images. Texts are measured by a table of widths and not by the fonts
 * of a machine: the same drawing is the same everywhere. Texts may be hostile: control characters and broken UTF-8 never come through.
 */
#ifndef HP_CHART_DRAWING_H
#define HP_CHART_DRAWING_H

#include "base/cleanup.h"
#include "base/text.h"
#include "view/palette.h"

#include <stdbool.h>
#include <stddef.h>

struct error;

/* Beside the palette's; COLOUR_DEFAULT is the colour of texts. */
#define COLOUR_GROUND ((enum colour)COLOUR_COUNT)

enum drawing_shape { SHAPE_RECT, SHAPE_FRAME, SHAPE_HATCH, SHAPE_LINE, SHAPE_DASHES, SHAPE_AREA, SHAPE_CIRCLE, SHAPE_RING, SHAPE_TEXT };
enum text_anchor { ANCHOR_LEFT, ANCHOR_MIDDLE, ANCHOR_RIGHT };

struct drawing_point {
    double x, y;
};

struct drawing_mark {
    uint8_t shape, colour;      /* enum drawing_shape, enum colour or COLOUR_GROUND */
    uint8_t anchor;             /* of texts: enum text_anchor */
    bool bold;
    bool tight;                 /* a text that just fits: other fonts may not make it wider */
    bool upright;               /* a text that runs from bottom to top */
    float thickness;            /* of lines; of texts: the size of the font */
    double x, y, width, height; /* texts: where the baseline begins, and their width; circles: middle and radius (width) */
    size_t first, count;        /* points of lines and areas; of texts: bytes among the words */
    size_t tip, tip_length;     /* words that a browser shows when one points at it */
};

struct drawing {
    double width, height;       /* set when all is drawn */
    enum theme theme;
    const char *title;          /* for who can't see it; must live as long */
    struct drawing_mark *marks;
    size_t count, capacity;
    struct drawing_point *points;
    size_t point_count, point_capacity;
    struct text words;
    bool failed;                /* out of memory on the way */
};

void drawing_init(struct drawing *drawing, enum theme theme);
void drawing_finish(struct drawing *drawing);

/* Edges may be of any order; nothing is drawn of no width or height. */
void drawing_rect(struct drawing *drawing, double x, double y, double width, double height, enum colour colour);
void drawing_frame(struct drawing *drawing, double x, double y, double width, double height, enum colour colour, double thickness);
void drawing_hatch(struct drawing *drawing, double x, double y, double width, double height, enum colour colour); /* slanted lines */
void drawing_line(struct drawing *drawing, double x, double y, double to_x, double to_y, enum colour colour, double thickness);
void drawing_dashes(struct drawing *drawing, double x, double y, double to_x, double to_y, enum colour colour, double thickness);
void drawing_lines(struct drawing *drawing, const struct drawing_point *points, size_t count, enum colour colour, double thickness);
void drawing_area(struct drawing *drawing, const struct drawing_point *points, size_t count, enum colour colour); /* filled */
void drawing_circle(struct drawing *drawing, double x, double y, double radius, enum colour colour);              /* filled */
void drawing_ring(struct drawing *drawing, double x, double y, double radius, enum colour colour, double thickness);
/* What a browser says of the mark drawn last. */
void drawing_tip(struct drawing *drawing, const char *text);

struct lettering {
    double size;
    enum colour colour;
    enum text_anchor anchor;
    bool bold, upright;
};
/* A text on a baseline, cut with an ellipsis to `room` points (0: there is room for all). Returns its width, 0 when nothing of it fits. */
double drawing_text(struct drawing *drawing, double x, double y, double room, struct lettering lettering, const char *text);
double drawing_textf(struct drawing *drawing, double x, double y, double room, struct lettering lettering, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
/* Cut in the middle, where both ends tell something. */
double drawing_name(struct drawing *drawing, double x, double y, double room, struct lettering lettering, const char *name);
double drawing_text_width(const char *text, double size, bool bold);

/* For who turns marks into something else. */
struct rgb drawing_rgb(const struct drawing *drawing, unsigned colour);

/* As a scalable graphic with real texts; needs no library. */
void drawing_add_svg(const struct drawing *drawing, struct text *out);

struct pixels {
    uint8_t *data;        /* 4 bytes a pixel, a native 32-bit word: alpha (always 255), red, green, blue from its top */
    unsigned width, height, stride;
};
void pixels_finish(struct pixels *pixels);
/* NULL: drawings can become pixels; else why not. */
const char *drawing_pixels_unfit(void);
/* `scale` pixels a point, or fewer where that would be more than a picture can have. -ENOTSUP without cairo. */
int drawing_to_pixels(const struct drawing *drawing, double scale, struct pixels *ret_pixels, struct error *err);
int drawing_add_png(const struct drawing *drawing, double scale, struct text *out, struct error *err);

#endif
