/* SPDX-License-Identifier: MIT */
/* A critical path as the rows of a screen: head, composition, blame, near paths and hops, and what each row leads to. */
#ifndef HP_VIEW_PATH_LIST_H
#define HP_VIEW_PATH_LIST_H

#include "analysis/wait_states.h"
#include "grid.h"
#include "path_report.h"

enum path_list_column {
    PATH_LIST_TIME, PATH_LIST_PERCENT, PATH_LIST_BAR, PATH_LIST_COUNT, PATH_LIST_PROOF, PATH_LIST_PATTERN, PATH_LIST_BEGIN, PATH_LIST_LANE, PATH_LIST_NAME, PATH_LIST_COLUMNS
};
extern const struct grid_column path_list_columns[PATH_LIST_COLUMNS];

enum path_target_kind {
    PATH_TARGET_NONE,
    PATH_TARGET_SPAN,     /* this one */
    PATH_TARGET_LONGEST,  /* the longest span of a name on a lane */
    PATH_TARGET_FUNCTION, /* code, by its samples */
    PATH_TARGET_PLACE,    /* a stretch of a lane without a span */
};
struct path_target {
    enum path_target_kind kind;
    span_id span;
    string_id name; /* of a function or a span */
    track_id track;
    int64_t begin_ns, end_ns;
};

struct path_list {
    struct path_target *targets; /* by row id - 1 */
    size_t count, capacity;
    uint64_t first_hop; /* row id */
};

struct path_blame {
    struct wait_blame *rows;
    size_t count;
};

/* Fills an empty grid of path_list_columns. 0 or -ENOMEM. */
int path_list_fill(const struct trace *trace, const struct path_report *report, const struct path_blame *blame, struct grid *grid, struct path_list *list);
void path_list_finish(struct path_list *list);
/* The row of the hop that lies in a span; 0: the path does not run through it, or its row is not listed. */
uint64_t path_list_find(const struct path_list *list, const struct path_report *report, span_id span);
/* The longest span of a name on a lane; SPAN_NONE: there is none. */
span_id path_list_longest(const struct trace *trace, string_id name, track_id track);

#endif
