/* SPDX-License-Identifier: MIT */
/*
 * All stacks of a trace merged into one tree, outermost frame first: program, then frames. Made of on-CPU samples (weights in
 * ns of CPU time), or, in a trace without any, of nested spans (self time in ns): a span whose call stack was taken hangs below its
 * frames, any other in the span around it. The profiler's own code is left out between the program's frames; samples that end in it
 * are one frame.
 */
#ifndef HP_FORMATS_STACK_TREE_H
#define HP_FORMATS_STACK_TREE_H

#include "base/map.h"
#include "base/progress.h"
#include "trace/trace.h"

struct stack_tree_node {
    uint32_t parent;        /* UINT32_MAX for the root, node 0 */
    string_id label;
    enum stack_tree_mark { MARK_NONE, MARK_TRUNCATED, MARK_NO_STACK, MARK_UNKNOWN, MARK_OWN } mark; /* then there is no label */
    string_id module;       /* its path: equal names of two modules are two nodes; none for programs and spans */
    frame_id frame;         /* the first frame seen here, for file and flags; NONE for programs and spans */
    int64_t self;
};

struct stack_tree {
    const struct trace *trace;
    struct stack_tree_node *nodes;
    size_t count, capacity;
    struct map names;       /* label << 32 | module: its number */
    struct map children;    /* parent << 32 | number of the name: the node */
    bool from_spans;
    uint64_t samples;       /* or spans */
    int64_t total;
};

int stack_tree_init(struct stack_tree *tree, const struct trace *trace, const struct progress *progress, struct error *err);
void stack_tree_finish(struct stack_tree *tree);
/* What to show for a node; never NULL. "[truncated stack]" stands where the real root of a stack was not reached. */
const char *stack_tree_label(const struct stack_tree *tree, uint32_t node);

/* The frames of a stack, outermost first, into *frames (grown by array_reserve); their number, or -ENOMEM. A damaged table
 * that loops is cut at the number of nodes. */
int stack_frames(const struct trace *trace, stack_id stack, frame_id **frames, size_t *capacity, size_t *ret_count);

#endif
