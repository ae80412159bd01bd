/* SPDX-License-Identifier: MIT */
/* Shared by the files that draw the critical path as text; nobody else includes it. */
#ifndef HP_VIEW_PATH_DRAW_H
#define HP_VIEW_PATH_DRAW_H

#include "path_report.h"
#include "table.h"

struct time_unit;

struct path_drawing {
    const struct path_report *report; /* NULL where only rows are drawn */
    const struct text_look *look;
    struct text *out;
    uint64_t top;
    const struct time_unit *unit;     /* of the table that was begun last */
};

size_t path_drawing_limit(const struct path_drawing *drawing, size_t count);
/* A table: its heading, which chooses the unit of its times, its cells, and "and 7 more rows". */
void path_drawing_heading(struct path_drawing *drawing, const char *title, int64_t largest_ns, const char *explanation);
struct table *path_drawing_table(struct path_drawing *drawing, const struct table_column *columns, size_t count);
void path_drawing_time(struct table *table, const struct path_drawing *drawing, int64_t time_ns);
void path_drawing_percent(struct table *table, int64_t part_ns, int64_t whole_ns);
void path_drawing_proof(struct table *table, bool explained, uint8_t confidence);
void path_drawing_end_table(struct path_drawing *drawing, struct table *table);
void path_drawing_rest(struct path_drawing *drawing, size_t shown, size_t count, int64_t time_ns, const char *what);

/* path_draw_hops.c */
void path_drawing_hops(struct path_drawing *drawing);

#endif
