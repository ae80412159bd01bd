/* SPDX-License-Identifier: MIT */
/* Snapshots of a trace that is being built: sealed blocks and unchanged tables are shared, the rest is copied. */
#include "aggregates.h"
#include "builder_internal.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of these may be filled in after they were added: a count that hasn't grown doesn't prove that nothing changed. */
static bool rows_may_change(enum table table)
{
    return table == TABLE_PROCESSES || table == TABLE_TRACKS || table == TABLE_LEDGER || table == TABLE_METADATA;
}

static int share_tables(struct trace_builder *builder, struct trace *trace)
{
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        struct growing_table *growing = &builder->tables[table];
        bool current = growing->shared && growing->shared->count == growing->count && !rows_may_change((enum table)table);
        if (!current) {
            shared_table_unref(growing->shared);
            growing->shared = shared_table_create((enum table)table, growing->rows, growing->count);
            if (!growing->shared)
                return -ENOMEM;
        }
        trace->tables[table] = shared_table_ref(growing->shared);
    }
    return 0;
}

static int share_strings(struct trace_builder *builder, struct trace *trace)
{
    uint32_t count = string_table_count(builder->strings);
    if (builder->shared_strings && string_table_count(builder->shared_strings->table) == count) {
        trace->strings = shared_strings_ref(builder->shared_strings);
        return 0;
    }
    shared_strings_unref(builder->shared_strings);
    builder->shared_strings = NULL;
    int result = shared_strings_copy(builder->strings, &builder->shared_strings);
    if (result == 0)
        trace->strings = shared_strings_ref(builder->shared_strings);
    return result;
}

static int share_blocks(struct trace_builder *builder, struct trace *trace)
{
    for (unsigned family = 0; family < FAMILY_COUNT; family++) {
        for (uint32_t i = 0; i < builder->sealed[family].count; i++) {
            struct block *block = builder->sealed[family].items[i];
            int result = block_array_add(&trace->blocks[family], block_ref(block));
            if (result < 0) {
                block_unref(block);
                return result;
            }
        }
    }
    return trace_seal(trace);
}

static int by_place(const void *left, const void *right)
{
    const struct open_call *a = left, *b = right;
    if (a->track.index != b->track.index)
        return a->track.index < b->track.index ? -1 : 1;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

int trace_builder_set_open(struct trace_builder *builder, const struct open_call *calls, uint32_t count)
{
    struct open_call *copy = malloc((count + (size_t)1) * sizeof *copy);
    if (!copy)
        return -ENOMEM;
    if (count)
        memcpy(copy, calls, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_place);
    free(builder->open);
    builder->open = copy;
    builder->open_count = count;
    return 0;
}

static int share_open(const struct trace_builder *builder, struct trace *trace)
{
    if (!builder->open_count)
        return 0;
    trace->open = malloc(builder->open_count * sizeof *trace->open);
    if (!trace->open)
        return -ENOMEM;
    memcpy(trace->open, builder->open, builder->open_count * sizeof *trace->open);
    trace->open_count = builder->open_count;
    return 0;
}

static int fill_snapshot(struct trace_builder *builder, struct trace *trace)
{
    int result = builder->live ? 0 : live_aggregates_create(&builder->live);
    if (result < 0)
        return result;
    trace->live = live_aggregates_ref(builder->live);
    trace->growing = true;
    trace->generation = ++builder->generation;
    result = share_tables(builder, trace);
    if (result == 0)
        result = share_strings(builder, trace);
    if (result == 0)
        result = share_open(builder, trace);
    return result < 0 ? result : share_blocks(builder, trace);
}

int trace_builder_snapshot(struct trace_builder *builder, struct trace **ret_trace, struct error *err)
{
    if (builder_seal_all(builder) < 0 || builder_check_tables(builder) < 0)
        return error_set_errno(err, builder->failure, "%s", builder->failure_text);
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int result = trace_create(builder->cache, &trace);
    if (result == 0)
        result = fill_snapshot(builder, trace);
    if (result < 0)
        return error_set_errno(err, result, "trace builder: cannot make a snapshot");
    *ret_trace = TAKE_PTR(trace);
    return 0;
}
