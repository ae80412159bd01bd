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
void draw_mpi(struct drawing *drawing);
void draw_openmp(struct drawing *drawing);
void draw_devices(struct drawing *drawing);
void draw_ranges(struct drawing *drawing);

/* What tables share (summary_tables.c). */
#define DRAW_INDENT 2
struct table_column;
struct table;
struct table *draw_new_table(struct drawing *drawing, const struct table_column *columns, size_t count); /* NULL: out->failed */
/* Says the unit that the table's times are in, picked for its largest. */
void draw_table_heading(struct drawing *drawing, const char *title, int64_t largest_ns, const char *explanation);
void draw_cell_time(struct table *table, const struct drawing *drawing, int64_t value_ns);
void draw_cell_percent(struct table *table, double part, double whole);
void draw_cell_count(struct table *table, uint64_t count);
void draw_rest(struct drawing *drawing, size_t shown, size_t count, const char *what, double percent);
size_t draw_limit(const struct drawing *drawing, size_t count, size_t maximum); /* rows to show: all with --top 0 */

#endif
