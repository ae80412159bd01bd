/* SPDX-License-Identifier: MIT */
/* Shared by the files that draw a summary; nobody else includes it. */
#ifndef HP_VIEW_SUMMARY_DRAW_H
#define HP_VIEW_SUMMARY_DRAW_H

#include "summary.h"

struct drawing {
    const struct summary *summary;
    const struct text_look *look;
    struct text *out;
    uint64_t top;                 /* functions; 0 = all of everything */
    const struct time_unit *unit; /* of the table being drawn */
};

void draw_heading(struct drawing *drawing, const char *title, const char *explanation);
void draw_tables(struct drawing *drawing);

#endif
