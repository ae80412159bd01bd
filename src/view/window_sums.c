/* SPDX-License-Identifier: MIT */
/* Sums of the spans of a stretch of time: each counts with the part that lies in it. Lanes are shared out among threads. */
#include "hotspots.h"

#include "base/error.h"
#include "base/thread_pool.h"
#include "trace/nesting.h"
#include "trace/span_accumulator.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define PARALLEL_ROWS_MIN 200000
#define NO_ROW UINT32_MAX

struct shared {
    const struct trace *trace;
    const struct hotspot_options *options;
    const uint32_t *first; /* block where each piece begins, and the end */
    uint32_t piece_count;
    _Atomic uint32_t next;
    pthread_mutex_t lock;
    struct span_accumulator sums;
    int failure;
    struct error *err;
};

struct worker {
    struct shared *shared;
    struct filter_match *match;
    struct span_accumulator sums;
    struct nesting nesting;
    uint32_t columns;
};

static void closed(void *context, const struct nesting_entry *entry)
{
    struct worker *worker = context;
    if (entry->tag != NO_ROW)
        span_accumulator_closed(&worker->sums, entry);
}

static int add_span(struct worker *worker, const struct span_block *block, uint32_t i)
{
    const struct hotspot_options *options = worker->shared->options;
    track_id track = block->info.track;
    int64_t begin_ns = block->begin_ns[i], end_ns = trace_span_end(worker->shared->trace, track, begin_ns, block->end_ns[i]);
    uint32_t row = NO_ROW, parent;
    if (end_ns < options->begin_ns || begin_ns >= options->end_ns)
        return 0;
    begin_ns = begin_ns > options->begin_ns ? begin_ns : options->begin_ns;
    end_ns = end_ns < options->end_ns ? end_ns : options->end_ns;
    uint8_t kind = block->kind ? block->kind[i] : 0;
    if (!worker->match || filter_match_span(worker->match, block, i)) {
        row = span_accumulator_row(&worker->sums, block->name ? block->name[i] : STRING_NONE,
                                   block->category ? block->category[i] : STRING_NONE, kind);
        if (row == NO_ROW)
            return -ENOMEM;
        span_accumulator_add(&worker->sums, row, end_ns - begin_ns);
    }
    return nesting_add(&worker->nesting, begin_ns, end_ns, 0, row, trace_span_holds(worker->shared->trace, track, kind), &parent);
}

static int sum_piece(struct worker *worker, uint32_t first, uint32_t end, struct error *err)
{
    const struct hotspot_options *options = worker->shared->options;
    const struct trace *trace = worker->shared->trace;
    int result = 0;
    for (uint32_t i = first; i < end && result == 0; i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, i);
        struct span_block block;
        if (info.begin_ns >= options->end_ns || info.end_ns < options->begin_ns)
            continue;
        result = trace_spans_get_columns(trace, i, worker->columns, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < info.count && result == 0; row++)
            result = add_span(worker, &block, row);
        trace_spans_put(trace, &block);
    }
    nesting_close_all(&worker->nesting);
    return result;
}

static int work_pieces(struct worker *worker, struct error *err)
{
    struct shared *shared = worker->shared;
    int result = shared->options->where ? filter_match_create(shared->options->where, shared->trace, &worker->match) : 0;
    for (uint32_t i; result == 0 && (i = shared->next++) < shared->piece_count;) {
        track_id track = trace_block_info(shared->trace, FAMILY_SPANS, shared->first[i]).track;
        if (!worker->match || filter_match_track(worker->match, track))
            result = sum_piece(worker, shared->first[i], shared->first[i + 1], err);
    }
    return result;
}

static void work(void *context, size_t index)
{
    struct shared *shared = context;
    struct worker worker = {.shared = shared, .nesting = {.closed = closed}};
    struct error err = ERROR_INIT;
    (void)index;
    worker.nesting.context = &worker;
    worker.columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                     SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) |
                     (shared->options->where ? filter_span_columns(shared->options->where) : 0);
    int result = work_pieces(&worker, &err);
    pthread_mutex_lock(&shared->lock);
    if (result == 0)
        result = span_accumulator_merge(&shared->sums, &worker.sums);
    if (result < 0 && !shared->failure)
        error_set(shared->err, shared->failure = result, "%s", err.code ? err.text : "out of memory while summing up");
    pthread_mutex_unlock(&shared->lock);
    filter_match_destroy(worker.match);
    span_accumulator_finish(&worker.sums);
    nesting_finish(&worker.nesting);
}

/* One piece a lane: nesting goes on from block to block. */
static uint32_t plan(const struct trace *trace, uint32_t *first)
{
    uint32_t count = trace_block_count(trace, FAMILY_SPANS), pieces = 0, track = ID_NONE;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t of_block = trace_block_info(trace, FAMILY_SPANS, i).track.index;
        if (of_block != track || trace_is_growing(trace))
            first[pieces++] = i;
        track = of_block;
    }
    first[pieces] = count;
    return pieces;
}

int window_span_sums(const struct trace *trace, const struct hotspot_options *options, struct span_aggregate **ret_rows,
                     uint32_t *ret_count, struct error *err)
{
    struct shared shared = {.trace = trace, .options = options, .err = err};
    CLEANUP(freep) uint32_t *first = malloc((trace_block_count(trace, FAMILY_SPANS) + (size_t)1) * sizeof *first);
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    if (!first)
        return error_set(err, -ENOMEM, "out of memory while summing up");
    shared.first = first;
    shared.piece_count = plan(trace, first);
    pthread_mutex_init(&shared.lock, NULL);
    if (shared.piece_count > 1 && trace_row_count(trace, FAMILY_SPANS) >= PARALLEL_ROWS_MIN && thread_pool_create(0, &pool) < 0)
        pool = NULL; /* one thread does it, too */
    if (pool)
        thread_pool_for(pool, thread_pool_size(pool), work, &shared);
    else
        work(&shared, 0);
    if (!shared.failure) {
        span_accumulator_sort(&shared.sums);
        *ret_rows = TAKE_PTR(shared.sums.rows);
        *ret_count = shared.sums.count;
    }
    span_accumulator_finish(&shared.sums);
    pthread_mutex_destroy(&shared.lock);
    return shared.failure;
}
