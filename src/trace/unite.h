/* SPDX-License-Identifier: MIT */
/*
 * Several traces as one. The caller adds nodes, groups, metadata and ledger to the builder as it wants them, and says how nodes,
 * groups and times of each trace are there; processes, tracks, modules, frames, stacks and rows are taken over with new ids.
 * Correlation ids are unique to their process, modules and frames that are the same in several traces are there once.
 */
#ifndef HP_TRACE_UNITE_H
#define HP_TRACE_UNITE_H

#include "builder.h"

struct progress;
struct trace_unite;

int trace_unite_create(const struct progress *progress, struct trace_unite **ret_unite, struct error *err);
void trace_unite_destroy(struct trace_unite *unite);
DEFINE_CLEANUP(struct trace_unite *, trace_unite_destroy)
struct trace_builder *trace_unite_builder(struct trace_unite *unite);

struct unite_part {
    const struct trace *trace; /* the caller's, until the end */
    const node_id *nodes;      /* by node of the trace: which one it is in the whole */
    const group_id *groups;    /* by group of the trace */
    /* A time of the trace as the whole has it; never falls. NULL: the same. */
    int64_t (*time)(const void *context, int64_t time_ns);
    const void *time_context;
};
/* Parts are numbered 0, 1, 2 ... as they are added. ret_process: the id of its first process in the whole. */
int trace_unite_add(struct trace_unite *unite, const struct unite_part *part, uint32_t *ret_process, struct error *err);

/* A link from a span of one part to a span of another, both in the numbers of their traces. */
int trace_unite_link(struct trace_unite *unite, uint32_t from_part, uint32_t to_part, const struct trace_link *link);

/* Consumes the content. */
int trace_unite_finish(struct trace_unite *unite, struct trace **ret_trace, struct error *err);

#endif
