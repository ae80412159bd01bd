/* SPDX-License-Identifier: MIT */
/* A span, written in place: room for all fields that it may have is reserved, what is present is published. */
#ifndef HP_COLLECT_OMPT_RECORD_H
#define HP_COLLECT_OMPT_RECORD_H

#include "lane.h"

struct record {
    struct wire_span *span;
    uint64_t *next;
    uint32_t present;
};

#define RECORD_SHAPE(span_kind, payload) \
    ((uint64_t)WIRE_LAYER_OPENMP | (uint64_t)(span_kind) << 8 | (uint64_t)(payload) << 16)

/* False: nothing is recorded, or a loss was counted. */
INLINE bool record_begin(struct record *record, uint32_t fields, uint64_t shape, uint32_t name, uint64_t begin, uint64_t end)
{
    uint64_t *words = rt_record((uint32_t)sizeof(struct wire_span) + fields * 8);
    if (UNLIKELY(!words))
        return false;
    words[0] = (uint64_t)name << 32 | WIRE_SPAN;
    words[1] = begin;
    words[2] = end;
    words[3] = 0;
    words[4] = shape;
    words[5] = 0;
    record->span = (struct wire_span *)(void *)words;
    record->next = words + 6;
    record->present = 0;
    return true;
}

/* Positions in ascending order. */
INLINE void record_field(struct record *record, unsigned position, uint64_t value)
{
    *record->next++ = value;
    record->present |= 1u << position;
}

INLINE void record_field_if(struct record *record, unsigned position, uint64_t value)
{
    if (value)
        record_field(record, position, value);
}

INLINE void record_end(struct record *record, uint32_t stack)
{
    uint32_t bytes = (uint32_t)((uintptr_t)record->next - (uintptr_t)record->span);
    record->span->header.words = (uint16_t)(bytes / 8);
    record->span->stack = stack;
    record->span->present = record->present;
    rt_commit(bytes);
}

#endif
