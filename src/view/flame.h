/* SPDX-License-Identifier: MIT */
/* A flame graph without a screen: boxes of a calling context tree in columns, callers on top (icicle). */
#ifndef HP_VIEW_FLAME_H
#define HP_VIEW_FLAME_H

#include "analysis/calling_context.h"

struct flame_box {
    uint32_t node;       /* ID_NONE: several that are too narrow to be told apart */
    uint32_t row;
    unsigned column, width;
};

struct flame {
    struct flame_box *boxes; /* row by row, from left to right */
    size_t count, capacity;
    uint32_t rows;           /* of the whole graph below the root */
};

/* Puts siblings into the order of their names, for a tree that is made again and again while it grows: what one looks at stays in its place. */
int flame_order_by_name(const struct trace *trace, struct calling_context *context); /* 0 or -ENOMEM */
/* The heaviest child; ID_NONE: it has none. */
uint32_t flame_widest_child(const struct calling_context *context, uint32_t node);
/* Lays the tree out below `root`, which fills all columns, in at most `rows` rows. 0 or -ENOMEM. */
int flame_lay_out(struct flame *flame, const struct calling_context *context, uint32_t root, unsigned columns, unsigned rows);
void flame_finish(struct flame *flame);
/* The box at a place; NULL: none. */
const struct flame_box *flame_at(const struct flame *flame, uint32_t row, unsigned column);
const struct flame_box *flame_box_of(const struct flame *flame, uint32_t node);

#endif
