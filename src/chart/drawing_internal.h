/* SPDX-License-Identifier: MIT */
/* Shared by the files of drawings; nobody else includes it. */
#ifndef HP_CHART_DRAWING_INTERNAL_H
#define HP_CHART_DRAWING_INTERNAL_H

#include "drawing.h"

#define DRAWING_FONT "DejaVu Sans"
#define HATCH_STEP 5.0 /* from line to line of hatched areas, along the edges */

void drawing_add_letters(struct drawing *drawing, double x, double y, double width, bool tight, const struct lettering *lettering, const char *text, size_t length);

#endif
