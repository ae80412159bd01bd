/* SPDX-License-Identifier: MIT */
/* Finishing: lanes are planned, handles resolved, lanes written (several threads), links and members rewritten. */
#include "finish.h"

#include "base/error.h"
#include "base/thread_pool.h"

#include <errno.h>
#include <string.h>

#define PARALLEL_ROWS_MIN 200000

/* Blocks follow each other without a common time, and aren't crumbs that live snapshots left. */
static bool blocks_in_order(const struct finish_lane *lane)
{
    for (uint32_t i = 1; i < lane->count; i++) {
        if (lane->blocks[i - 1]->last_begin_ns >= lane->blocks[i]->info.begin_ns)
            return false;
    }
    return lane->count <= 2 || lane->rows / lane->count >= 2048;
}

/* Groups the sealed blocks of a family by track and numbers their rows. */
static int plan_family(struct finish *finish, enum family family)
{
    struct block_array *sealed = &finish->builder->sealed[family];
    uint32_t track_count = finish->builder->tables[TABLE_TRACKS].count;
    CLEANUP(freep) uint32_t *counts = calloc((size_t)track_count + 1, sizeof(uint32_t));
    if (!counts)
        return -ENOMEM;
    for (uint32_t i = 0; i < sealed->count; i++)
        counts[sealed->items[i]->info.track.index]++;
    uint32_t first_lane = finish->lane_count, number = 0;
    for (uint32_t track = 0; track < track_count; track++) {
        if (!counts[track])
            continue;
        struct finish_lane *lane = &finish->lanes[finish->lane_count];
        *lane = (struct finish_lane){.family = family, .track = {track}};
        lane->blocks = malloc(counts[track] * sizeof(struct block *));
        if (!lane->blocks)
            return -ENOMEM;
        counts[track] = finish->lane_count++;
    }
    for (uint32_t i = 0; i < sealed->count; i++) {
        struct finish_lane *lane = &finish->lanes[counts[sealed->items[i]->info.track.index]];
        lane->rows += sealed->items[i]->info.count;
        lane->blocks[lane->count++] = TAKE_PTR(sealed->items[i]);
    }
    sealed->count = 0;
    for (uint32_t i = first_lane; i < finish->lane_count; i++) {
        finish->lanes[i].first = number;
        number += (uint32_t)finish->lanes[i].rows;
        finish->lanes[i].in_order = blocks_in_order(&finish->lanes[i]);
    }
    return 0;
}

static int plan(struct finish *finish)
{
    finish->lanes = calloc((size_t)finish->builder->tables[TABLE_TRACKS].count * TRACK_FAMILIES + 1, sizeof(*finish->lanes));
    if (!finish->lanes)
        return -ENOMEM;
    for (unsigned family = 0; family < TRACK_FAMILIES; family++) {
        int result = plan_family(finish, (enum family)family);
        if (result < 0)
            return result;
    }
    return 0;
}

static int note_column(struct finish *finish, const struct block *block, uint32_t columns, unsigned id, struct error *err)
{
    CLEANUP(decoded_freep) struct decoded *decoded = NULL;
    int result = block_decode(block, columns, NULL, &decoded, err);
    if (result < 0)
        return result;
    const uint32_t *handles = decoded->column[id];
    for (uint32_t i = 0; handles && i < block->info.count; i++)
        references_note(&finish->references, handles[i]);
    return 0;
}

/* Every handle that links, members and given parents name. */
static int note_references(struct finish *finish, struct error *err)
{
    struct trace_builder *builder = finish->builder;
    int result = references_init(&finish->references, builder->next_handle);
    for (uint32_t i = 0; i < builder->sealed[FAMILY_LINKS].count && result == 0; i++) {
        result = note_column(finish, builder->sealed[FAMILY_LINKS].items[i], UINT32_MAX, LINK_COLUMN_FROM, err);
        if (result == 0)
            result = note_column(finish, builder->sealed[FAMILY_LINKS].items[i], UINT32_MAX, LINK_COLUMN_TO, err);
    }
    for (uint32_t i = 0; i < builder->sealed[FAMILY_MEMBERS].count && result == 0; i++)
        result = note_column(finish, builder->sealed[FAMILY_MEMBERS].items[i], UINT32_MAX, MEMBER_COLUMN_SPAN, err);
    for (uint32_t i = 0; i < builder->sealed[FAMILY_SPANS].count && result == 0; i++) {
        const struct block *block = builder->sealed[FAMILY_SPANS].items[i];
        if (block->columns & SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT))
            result = note_column(finish, block, SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT), SPAN_COLUMN_PARENT, err);
    }
    if (result == 0)
        result = references_index(&finish->references);
    finish->has_references = finish->references.count > 0;
    return result;
}

static void fail(struct finish *finish, int code, const struct error *err)
{
    pthread_mutex_lock(&finish->lock);
    if (!finish->failure) {
        finish->failure = code;
        if (err->code)
            error_set(finish->err, code, "%s", err->text);
        else
            error_set_errno(finish->err, code, "trace builder: cannot finish the trace");
    }
    pthread_mutex_unlock(&finish->lock);
}

/* One thread's share: takes lanes until there are none. */
static void work(void *context, size_t index)
{
    struct finish *finish = context;
    struct finish_worker worker;
    struct error err = ERROR_INIT;
    int result = finish_worker_init(&worker, finish);
    if (result < 0) {
        fail(finish, result, &err);
        return;
    }
    for (uint32_t i; result == 0 && (i = finish->next_lane++) < finish->lane_count;) {
        struct finish_lane *lane = &finish->lanes[i];
        if (!finish->resolving)
            result = finish_lane_write(&worker, lane, &err);
        else if (lane->family == FAMILY_SPANS)
            result = finish_lane_resolve(&worker, lane, &err);
    }
    if (result == 0) {
        pthread_mutex_lock(&finish->lock);
        result = span_accumulator_merge(&finish->spans, &worker.spans);
        pthread_mutex_unlock(&finish->lock);
    }
    if (result < 0)
        fail(finish, result, &err);
    finish_worker_finish(&worker);
}

static int run_lanes(struct finish *finish, struct thread_pool *pool, bool resolving)
{
    finish->next_lane = 0;
    finish->resolving = resolving;
    if (pool)
        thread_pool_for(pool, thread_pool_size(pool) < finish->lane_count ? thread_pool_size(pool) : finish->lane_count, work,
                        finish);
    else
        work(finish, 0);
    return finish->failure;
}

/* resolving changes nothing that two threads share: each handle's id has a word of its own. */
static int write_lanes(struct finish *finish)
{
    uint64_t rows = 0;
    for (uint32_t i = 0; i < finish->lane_count; i++)
        rows += finish->lanes[i].rows;
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    if (rows >= PARALLEL_ROWS_MIN && finish->lane_count > 1 && thread_pool_create(0, &pool) < 0)
        pool = NULL; /* one thread does it, too */
    int result = finish->has_references ? run_lanes(finish, pool, true) : 0;
    return result < 0 ? result : run_lanes(finish, pool, false);
}

/* Links and members: the same rows with ids in place of handles. */
static int rewrite_block(struct finish *finish, struct finish_worker *worker, struct block *block, struct error *err)
{
    bool links = block->family == FAMILY_LINKS;
    const struct family_schema *schema = family_schema(block->family);
    CLEANUP(decoded_freep) struct decoded *decoded = NULL;
    int result = block_decode(block, UINT32_MAX, NULL, &decoded, err);
    if (result < 0)
        return result;
    body_begin(&worker->body, block->family, block->info.count, block->info.first);
    for (uint8_t id = 0; id < schema->column_count && result == 0; id++) {
        bool is_span = links ? id == LINK_COLUMN_FROM || id == LINK_COLUMN_TO : id == MEMBER_COLUMN_SPAN;
        for (uint32_t i = 0; i < block->info.count; i++) {
            uint64_t value = schema->columns[id].size == 1 ? ((const uint8_t *)decoded->column[id])[i]
                                                           : ((const uint32_t *)decoded->column[id])[i];
            worker->body.values[i] = is_span ? references_id(&finish->references, (uint32_t)value) : value;
        }
        result = body_add_values(&worker->body, id);
    }
    struct finish_lane lane = {.family = block->family, .output = finish->trace->blocks[block->family]};
    if (result == 0) {
        /* output_block's work, for a family without lanes */
        uint8_t *bytes;
        uint32_t size;
        CLEANUP(block_unrefp) struct block *fresh = block_create(block->family, &block->info);
        if (!fresh || body_end(&worker->body, &bytes, &size) < 0)
            return -ENOMEM;
        fresh->trusted = true;
        result = builder_place(finish->builder, fresh, bytes, size);
        if (result == 0 && (result = block_array_add(&lane.output, fresh)) == 0)
            TAKE_PTR(fresh);
    }
    finish->trace->blocks[block->family] = lane.output;
    return result;
}

static int rewrite_pairs(struct finish *finish, struct error *err)
{
    struct finish_worker worker;
    int result = finish_worker_init(&worker, finish);
    if (result < 0)
        return result;
    for (unsigned family = TRACK_FAMILIES; family < FAMILY_COUNT && result == 0; family++) {
        struct block_array *sealed = &finish->builder->sealed[family];
        for (uint32_t i = 0; i < sealed->count && result == 0; i++)
            result = rewrite_block(finish, &worker, sealed->items[i], err);
        block_array_finish(sealed);
    }
    finish_worker_finish(&worker);
    return result;
}

/* Tables and strings move into the trace. */
static int move_tables(struct finish *finish)
{
    struct trace_builder *builder = finish->builder;
    for (unsigned table = 0; table < TABLE_COUNT; table++) {
        struct growing_table *growing = &builder->tables[table];
        finish->trace->tables[table] = shared_table_create((enum table)table, growing->rows, growing->count);
        if (!finish->trace->tables[table])
            return -ENOMEM;
    }
    int result = shared_strings_create(builder->strings, &finish->trace->strings);
    if (result == 0)
        builder->strings = NULL;
    return result;
}

/* The time range must be known before lanes are written: open spans last until its end. */
static void time_range(struct finish *finish)
{
    bool any = false;
    struct trace *trace = finish->trace;
    for (uint32_t i = 0; i < finish->lane_count; i++) {
        for (uint32_t block = 0; block < finish->lanes[i].count; block++) {
            const struct block_info *info = &finish->lanes[i].blocks[block]->info;
            trace->begin_ns = !any || info->begin_ns < trace->begin_ns ? info->begin_ns : trace->begin_ns;
            trace->end_ns = !any || info->end_ns > trace->end_ns ? info->end_ns : trace->end_ns;
            any = true;
        }
    }
}

static int gather_output(struct finish *finish)
{
    for (uint32_t i = 0; i < finish->lane_count; i++) {
        struct finish_lane *lane = &finish->lanes[i];
        for (uint32_t block = 0; block < lane->output.count; block++) {
            int result = block_array_add(&finish->trace->blocks[lane->family], lane->output.items[block]);
            if (result < 0)
                return result;
            lane->output.items[block] = NULL;
        }
    }
    return trace_seal(finish->trace);
}

static int finish_run(struct finish *finish, struct error *err)
{
    int result = note_references(finish, err);
    if (result == 0)
        result = plan(finish);
    if (result == 0)
        result = move_tables(finish);
    if (result < 0)
        return result;
    time_range(finish);
    result = write_lanes(finish);
    if (result == 0)
        result = rewrite_pairs(finish, err);
    if (result == 0)
        result = gather_output(finish);
    if (result < 0)
        return result;
    span_accumulator_sort(&finish->spans);
    finish->trace->aggregates.spans = TAKE_PTR(finish->spans.rows);
    finish->trace->aggregates.span_count = finish->spans.count;
    finish->trace->aggregates.spans_known = true;
    return 0;
}

static void lanes_free(struct finish *finish)
{
    for (uint32_t i = 0; i < finish->lane_count; i++) {
        for (uint32_t block = 0; finish->lanes[i].blocks && block < finish->lanes[i].count; block++)
            block_unref(finish->lanes[i].blocks[block]);
        free(finish->lanes[i].blocks);
        block_array_finish(&finish->lanes[i].output);
    }
    free(finish->lanes);
}

int trace_builder_finish(struct trace_builder *builder, struct trace **ret_trace, struct error *err)
{
    if (builder_seal_all(builder) < 0 || builder_check_tables(builder) < 0)
        return error_set_errno(err, builder->failure, "%s", builder->failure_text);
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    struct block_cache *cache;
    if (block_cache_create(BLOCK_CACHE_BYTES, &cache) < 0)
        return error_set(err, -ENOMEM, "trace builder: out of memory");
    int result = trace_create(cache, &trace);
    block_cache_unref(cache);
    if (result < 0)
        return error_set(err, result, "trace builder: out of memory");
    trace->generation = builder->generation + 1;
    struct error reason = ERROR_INIT;
    struct finish finish = {.builder = builder, .trace = trace, .err = &reason};
    pthread_mutex_init(&finish.lock, NULL);
    result = finish_run(&finish, &reason);
    pthread_mutex_destroy(&finish.lock);
    lanes_free(&finish);
    references_finish(&finish.references);
    span_accumulator_finish(&finish.spans);
    builder_fail(builder, -EINVAL, "trace builder: the trace is finished already");
    if (result < 0)
        return reason.code ? error_set(err, result, "%s", reason.text)
                           : error_set_errno(err, result, "trace builder: cannot finish the trace");
    *ret_trace = TAKE_PTR(trace);
    return 0;
}
