/* SPDX-License-Identifier: MIT */
/* Shared by the files that build a calling context tree; nobody else includes it. */
#ifndef HP_ANALYSIS_CALLING_CONTEXT_INTERNAL_H
#define HP_ANALYSIS_CALLING_CONTEXT_INTERNAL_H

#include "calling_context.h"

#include "base/map.h"

#define NOT_MAPPED UINT32_MAX

struct context_building {
    const struct trace *trace;
    const struct context_options *options;
    struct filter_match *match;
    const struct stack_node *stacks;
    const struct trace_frame *frames;
    uint32_t stack_count, frame_count, module_count;
    struct calling_context *context;
    size_t capacity;
    struct map *children;      /* two: numbers of functions and calls; nodes by parent and number */
    uint32_t *node_of[2];      /* by stack: our node; [1]: of truncated stacks */
    uint32_t *path;            /* stacks still to be mapped, from the leaf upwards */
    size_t path_capacity;
    bool *own_modules;         /* by module: the profiler's own, not to be shown; NULL: none is */
    uint32_t no_stack, truncated; /* our nodes, or NOT_MAPPED */
};

/* The node of a stack; bottom-up: of its callers below a node. */
int context_stack_node(struct context_building *building, stack_id stack, bool is_truncated, uint32_t below, uint32_t *ret_node);

struct context_span {
    string_id name, category;
    uint8_t kind;
    uint32_t flag; /* CONTEXT_CALL or CONTEXT_LAUNCHED */
};
int context_child_span(struct context_building *building, uint32_t parent, const struct context_span *span, uint32_t *ret_node);
void context_count(struct context_building *building, uint32_t node, uint64_t count, int64_t weight);

int context_add_spans(struct context_building *building, struct error *err); /* calling_context_spans.c */

#endif
