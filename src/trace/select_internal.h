/* SPDX-License-Identifier: MIT */
/* Shared by the two halves of the selection: tables (select.c) and rows (select_rows.c). */
#ifndef HP_TRACE_SELECT_INTERNAL_H
#define HP_TRACE_SELECT_INTERNAL_H

#include "builder.h"
#include "select.h"

#define NONE_YET (UINT32_MAX - 1)

struct selected_copy {
    const struct trace *trace;
    struct filter_match *match; /* NULL = everything */
    int64_t begin_ns, end_ns;
    struct trace_builder *builder;
    const struct progress *progress;
    uint64_t blocks_done, blocks_total;
    string_id *strings;         /* by old id: the new one, NONE_YET before it is asked for: a part has what its rows need */
    track_id *tracks;           /* NONE for those that the filter leaves out */
    frame_id *frames;           /* likewise */
    stack_id *stacks;
    stack_id *stack_path;       /* scratch: from a leaf towards the root */
    size_t stack_path_capacity;
    uint32_t string_count, frame_count, stack_count, track_count;
    uint32_t *spans;            /* by old id: enum span_state, or the handle of the span or its nearest kept ancestor above */
    uint8_t *kept;              /* by old id: one bit */
    uint32_t span_limit;
};

int select_rows(struct selected_copy *copy, struct error *err);

/* The new id of what an old one names; none for what is not there. A failure sticks to the builder. */
string_id copy_string(struct selected_copy *copy, string_id id);
stack_id copy_stack(struct selected_copy *copy, stack_id id);

#endif
