/* SPDX-License-Identifier: MIT */
/* A roofline chart as a picture. */
#ifndef HP_CHART_DRAW_ROOFLINE_H
#define HP_CHART_DRAW_ROOFLINE_H

#include "drawing.h"

#include "view/roofline_chart.h"

struct roofline_scene {
    const struct roofline_chart *chart;
    struct roofline_window window;
    long selected;         /* -1: none; else with a crosshair and its headroom */
    double width, height;  /* of the picture */
    bool titled;           /* with the chart's title above it */
};

void draw_roofline(struct drawing *drawing, const struct roofline_scene *scene);

#endif
