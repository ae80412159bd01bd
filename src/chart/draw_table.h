/* SPDX-License-Identifier: MIT */
/* A list of rows as a picture. */
#ifndef HP_CHART_DRAW_TABLE_H
#define HP_CHART_DRAW_TABLE_H

#include "caption.h"

#include "view/grid.h"

#define TABLE_ROWS_MAX 60 /* more are counted below the last */

/* The rows from `first` on; columns are as wide as what they hold. */
void draw_table(struct drawing *drawing, const struct grid *grid, size_t first, const struct caption *caption);

#endif
