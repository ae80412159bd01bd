/* SPDX-License-Identifier: MIT */
/* Shared by the files that draw timelines; nobody else includes it. */
#ifndef HP_CHART_TIMELINE_DRAWING_H
#define HP_CHART_TIMELINE_DRAWING_H

#include "draw_timeline.h"

#define LABEL_WIDTH 210.0
#define LANE_ROW 16.0       /* height of a level of nesting */
#define LANE_GAP 5.0
#define COUNTER_HEIGHT 30.0
#define FINENESS 2          /* columns of the pictures for each point */
#define LETTER_SIZE 10.5

struct placed_lane {
    uint32_t lane;
    double y, height;
};

struct timeline_drawing {
    struct drawing *drawing;
    const struct timeline_scene *scene;
    double left, width, top, bottom; /* of what is beside the labels */
    struct placed_lane placed[TIMELINE_ROWS_MAX];
    unsigned placed_count;
    bool kinds[256];         /* that were drawn, for the legend */
    uint8_t kind_colour[256];
};

static inline double timeline_x(const struct timeline_drawing *timeline, double time_ns)
{
    const struct timeline_scene *scene = timeline->scene;
    return timeline->left + (time_ns - (double)scene->begin_ns) / (double)(scene->end_ns - scene->begin_ns) * timeline->width;
}
static inline double timeline_x_within(const struct timeline_drawing *timeline, double time_ns)
{
    double x = timeline_x(timeline, time_ns), end = timeline->left + timeline->width;
    return x < timeline->left ? timeline->left : x > end ? end : x;
}
static inline unsigned timeline_columns(const struct timeline_drawing *timeline)
{
    return (unsigned)(timeline->width * FINENESS);
}

void timeline_draw_lane(struct timeline_drawing *timeline, const struct placed_lane *placed, const struct lane_picture *picture);
void timeline_draw_arrows(struct timeline_drawing *timeline);
void timeline_draw_path(struct timeline_drawing *timeline);

#endif
