/* SPDX-License-Identifier: MIT */
/* A roofline chart in character cells. */
#ifndef HP_TUI_ROOFLINE_CELLS_H
#define HP_TUI_ROOFLINE_CELLS_H

#include "canvas.h"

#include "view/roofline_chart.h"

void roofline_draw_cells(struct canvas *canvas, struct area area, const struct roofline_chart *chart, const struct roofline_window *window, long selected);
/* Where the plot lies in it: what a click is within. */
struct area roofline_plot_area(struct area area);

#endif
