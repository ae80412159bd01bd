/* SPDX-License-Identifier: MIT */
/* Copying a trace into a builder: a part of one (select.c), or several into one (unite.c). Rows are copied by select_rows.c. */
#ifndef HP_TRACE_SELECT_INTERNAL_H
#define HP_TRACE_SELECT_INTERNAL_H

#include "builder.h"
#include "select.h"

#define NONE_YET (UINT32_MAX - 1)

struct selected_copy {
    const struct trace *trace;
    struct filter_match *match; /* NULL = everything */
    int64_t begin_ns, end_ns;
    uint64_t span_kinds;        /* 0 = all rows */
    struct trace_builder *builder;
    const struct progress *progress;
    /* What has another number or time there, where several traces become one; NULL or 0: nothing has. */
    const node_id *nodes;       /* by old id, as are modules and groups */
    const module_id *modules;
    const group_id *groups;
    uint32_t process_base;      /* id of the first process */
    node_id *own_nodes;         /* where only one clock's nodes are taken: `nodes`, NONE for the others; and processes likewise */
    process_id *processes;      /* by old id; NULL: all, from process_base on */
    bool apart;                 /* correlations are kept apart by process */
    int64_t (*time)(const void *context, int64_t time_ns);
    const void *time_context;
    uint64_t blocks_done, blocks_total;
    string_id *strings;         /* by old id: the new one, NONE_YET before it is asked for: a part has what its rows need */
    track_id *tracks;           /* NONE for those that are left out */
    frame_id *frames;           /* likewise */
    stack_id *stacks;
    stack_id *stack_path;       /* scratch: from a leaf towards the root */
    size_t stack_path_capacity;
    uint32_t string_count, frame_count, stack_count, track_count;
    uint32_t *spans;            /* by old id: enum span_state, or the handle of the span or its nearest kept ancestor above */
    uint8_t *kept;              /* by old id: one bit */
    uint32_t span_limit;
};

/* Room for what is known by old id; selected_copy_finish takes it away. */
int selected_copy_prepare(struct selected_copy *copy);
void selected_copy_finish(struct selected_copy *copy);
int copy_processes(struct selected_copy *copy);
int copy_tracks(struct selected_copy *copy);
int select_rows(struct selected_copy *copy, struct error *err);

/* A time there; an unknown one stays unknown. */
static inline int64_t copy_time(const struct selected_copy *copy, int64_t time_ns)
{
    return copy->time && time_ns != INT64_MIN ? copy->time(copy->time_context, time_ns) : time_ns;
}

/* The handle of a span that was copied itself. */
bool copy_handle(const struct selected_copy *copy, span_id id, span_id *ret_handle);

/* The new id of what an old one names; none for what is not there. A failure sticks to the builder. */
string_id copy_string(struct selected_copy *copy, string_id id);
stack_id copy_stack(struct selected_copy *copy, stack_id id);
stack_id copy_leaf(struct selected_copy *copy, stack_id id); /* as a stack of one frame */

#endif
