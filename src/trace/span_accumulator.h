/* SPDX-License-Identifier: MIT */
/* Sums of spans by (name, category, kind): what trace_span_aggregates returns, while it is being summed. */
#ifndef HP_TRACE_SPAN_ACCUMULATOR_H
#define HP_TRACE_SPAN_ACCUMULATOR_H

#include "nesting.h"
#include "row_index.h"
#include "trace.h"

struct span_accumulator {
    struct span_aggregate *rows;
    uint32_t count;
    size_t capacity;
    struct row_index index;
};
void span_accumulator_finish(struct span_accumulator *accumulator);
/* Finds or makes the row; UINT32_MAX on ENOMEM. */
uint32_t span_accumulator_row(struct span_accumulator *accumulator, string_id name, string_id category, uint8_t kind);
/* Counts one span of this length; its self time comes later, through span_accumulator_closed. */
void span_accumulator_add(struct span_accumulator *accumulator, uint32_t row, int64_t duration_ns);
/* For struct nesting's closed: entry->tag is the row. context is the accumulator. */
void span_accumulator_closed(void *context, const struct nesting_entry *entry);
int span_accumulator_merge(struct span_accumulator *into, const struct span_accumulator *from);
/* Largest total first; ties by name, category, kind: the same trace gives the same order. */
void span_accumulator_sort(struct span_accumulator *accumulator);

#endif
