/* SPDX-License-Identifier: MIT */
/* Shared by the two halves of the selection: tables (select.c) and rows (select_rows.c). */
#ifndef HP_TRACE_SELECT_INTERNAL_H
#define HP_TRACE_SELECT_INTERNAL_H

#include "builder.h"
#include "select.h"

struct selected_copy {
    const struct trace *trace;
    struct filter_match *match; /* NULL = everything */
    int64_t begin_ns, end_ns;
    struct trace_builder *builder;
    const struct progress *progress;
    uint64_t blocks_done, blocks_total;
    string_id *strings;         /* by old id: the new one */
    track_id *tracks;           /* NONE for those that the filter leaves out */
    frame_id *frames;
    stack_id *stacks;
    uint32_t string_count, frame_count, stack_count;
    uint32_t *spans;            /* by old id: enum span_state, or the handle of the span or its nearest kept ancestor above */
    uint8_t *kept;              /* by old id: one bit */
    uint32_t span_limit;
};

int select_rows(struct selected_copy *copy, struct error *err);

static inline string_id copy_string(const struct selected_copy *copy, string_id id)
{
    return id.index < copy->string_count ? copy->strings[id.index] : STRING_NONE;
}

static inline stack_id copy_stack(const struct selected_copy *copy, stack_id id)
{
    return id.index < copy->stack_count ? copy->stacks[id.index] : STACK_NONE;
}

#endif
