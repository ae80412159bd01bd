/* SPDX-License-Identifier: MIT */
/* A small hash table of span sums. */
#include "span_accumulator.h"

#include "base/array.h"
#include "base/saturated.h"

#include <errno.h>

void span_accumulator_finish(struct span_accumulator *accumulator)
{
    free(accumulator->rows);
    row_index_finish(&accumulator->index);
    *accumulator = (struct span_accumulator){0};
}

static uint64_t key_hash(string_id name, string_id category, uint8_t kind)
{
    uint64_t key = (uint64_t)category.index << 32 | name.index;
    return (key ^ (uint64_t)kind << 56) * UINT64_C(0x9e3779b97f4a7c15) >> 32;
}

static uint64_t row_hash(const void *rows, uint32_t row)
{
    const struct span_aggregate *aggregate = (const struct span_aggregate *)rows + row;
    return key_hash(aggregate->name, aggregate->category, (uint8_t)aggregate->kind);
}

uint32_t span_accumulator_row(struct span_accumulator *accumulator, string_id name, string_id category, uint8_t kind)
{
    if (row_index_reserve(&accumulator->index, accumulator->count, row_hash, accumulator->rows) < 0)
        return UINT32_MAX;
    uint64_t hash = key_hash(name, category, kind);
    uint32_t *slot;
    for (; *(slot = row_index_slot(&accumulator->index, hash)); hash++) {
        const struct span_aggregate *row = &accumulator->rows[*slot - 1];
        if (string_is(row->name, name) && string_is(row->category, category) && (uint8_t)row->kind == kind)
            return *slot - 1;
    }
    struct span_aggregate *rows = array_reserve(accumulator->rows, &accumulator->capacity,
                                                (size_t)accumulator->count + 1, sizeof(*rows));
    if (!rows)
        return UINT32_MAX;
    accumulator->rows = rows;
    rows[accumulator->count] = (struct span_aggregate){.name = name, .category = category, .kind = (enum span_kind)kind,
                                                       .min_ns = INT64_MAX, .max_ns = INT64_MIN};
    *slot = accumulator->count + 1;
    return accumulator->count++;
}

void span_accumulator_add(struct span_accumulator *accumulator, uint32_t row, int64_t duration_ns)
{
    struct span_aggregate *aggregate = &accumulator->rows[row];
    aggregate->count++;
    add_saturated(&aggregate->total_ns, duration_ns);
    aggregate->min_ns = duration_ns < aggregate->min_ns ? duration_ns : aggregate->min_ns;
    aggregate->max_ns = duration_ns > aggregate->max_ns ? duration_ns : aggregate->max_ns;
}

void span_accumulator_closed(void *context, const struct nesting_entry *entry)
{
    struct span_accumulator *accumulator = context;
    struct span_aggregate *aggregate = &accumulator->rows[entry->tag];
    add_saturated(&aggregate->self_ns, entry->end_ns - entry->begin_ns - entry->children_ns);
}

int span_accumulator_merge(struct span_accumulator *into, const struct span_accumulator *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        const struct span_aggregate *source = &from->rows[i];
        uint32_t row = span_accumulator_row(into, source->name, source->category, (uint8_t)source->kind);
        if (row == UINT32_MAX)
            return -ENOMEM;
        struct span_aggregate *target = &into->rows[row];
        target->count += source->count;
        add_saturated(&target->total_ns, source->total_ns);
        add_saturated(&target->self_ns, source->self_ns);
        target->min_ns = source->min_ns < target->min_ns ? source->min_ns : target->min_ns;
        target->max_ns = source->max_ns > target->max_ns ? source->max_ns : target->max_ns;
    }
    return 0;
}

static int by_total(const void *left, const void *right)
{
    const struct span_aggregate *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    if (a->name.index != b->name.index)
        return a->name.index < b->name.index ? -1 : 1;
    if (a->category.index != b->category.index)
        return a->category.index < b->category.index ? -1 : 1;
    return (a->kind > b->kind) - (a->kind < b->kind);
}

void span_accumulator_sort(struct span_accumulator *accumulator)
{
    if (accumulator->count)
        qsort(accumulator->rows, accumulator->count, sizeof(*accumulator->rows), by_total);
    row_index_finish(&accumulator->index); /* it points to other rows now */
}
