/* SPDX-License-Identifier: MIT */
/* What stands above each picture. */
#ifndef HP_CHART_CAPTION_H
#define HP_CHART_CAPTION_H

#include "drawing.h"

#define PICTURE_MARGIN 16.0
#define PICTURE_WIDTH 1200.0 /* of pictures that are as wide as one wants them */

struct caption {
    const char *title;   /* of what kind it is, and of what */
    const char *remark;  /* window, filter, losses; "" */
};

/* Draws it in at most `width` points; returns where what is below it begins. */
double draw_caption(struct drawing *drawing, const struct caption *caption, double width);

#endif
