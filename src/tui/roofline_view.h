/* SPDX-License-Identifier: MIT */
/* The roofline viewer: a chart over the whole terminal, as an image where it shows images, else in characters. */
#ifndef HP_TUI_ROOFLINE_VIEW_H
#define HP_TUI_ROOFLINE_VIEW_H

#include "view/roofline_chart.h"

struct error;

struct roofline_view_options {
    const struct roofline_chart *chart;
    int (*open_page)(void *context, struct error *err); /* shows it in a browser; NULL: there is no page */
    void *context;
};

/* Shows the chart until the user quits; tui_unfit() says where it can't. 0 or -errno. */
int roofline_view_run(const struct roofline_view_options *options, struct error *err);

#endif
