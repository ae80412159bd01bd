/* SPDX-License-Identifier: MIT */
/* Sums under a filter: the lanes of the trace are shared out among threads, each with a filter and sums of its own. */
#include "aggregate.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/saturated.h"
#include "base/thread_pool.h"
#include "trace/nesting.h"
#include "trace/span_accumulator.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define PARALLEL_ROWS_MIN 200000

/* Blocks [first, end) of one track. */
struct piece {
    uint32_t first, end;
};

struct job {
    const struct trace *trace;
    const struct trace_filter *where;
    const struct progress *progress;
    struct piece *pieces;
    uint32_t piece_count;
    _Atomic uint32_t next_piece, blocks_done;
    struct off_cpu_times *off_cpu; /* by track; NULL: spans are summed */
    pthread_mutex_t lock;
    struct span_accumulator spans;
    struct error *err;
    int failure;
};

struct worker {
    struct job *job;
    struct filter_match *match;
    struct span_accumulator spans;
    struct nesting nesting;
    uint32_t columns;
};

static void fail(struct job *job, int code, const struct error *err)
{
    pthread_mutex_lock(&job->lock);
    if (!job->failure)
        error_set(job->err, job->failure = code, "%s", err->code ? err->text : "out of memory while summing up");
    pthread_mutex_unlock(&job->lock);
}

#define NO_ROW UINT32_MAX

/* Self time of a span that matched; others have no row. */
static void span_closed(void *context, const struct nesting_entry *entry)
{
    struct worker *worker = context;
    if (entry->tag != NO_ROW)
        span_accumulator_closed(&worker->spans, entry);
}

static int sum_block(struct worker *worker, const struct span_block *block)
{
    for (uint32_t i = 0; i < block->info.count; i++) {
        int64_t end_ns = trace_span_end(worker->job->trace, block->info.track, block->begin_ns[i], block->end_ns[i]);
        uint32_t row = NO_ROW, parent;
        if (filter_match_span(worker->match, block, i)) {
            row = span_accumulator_row(&worker->spans, block->name ? block->name[i] : STRING_NONE,
                                       block->category ? block->category[i] : STRING_NONE,
                                       block->kind ? block->kind[i] : 0);
            if (row == UINT32_MAX)
                return -ENOMEM;
            span_accumulator_add(&worker->spans, row, end_ns - block->begin_ns[i]);
        }
        bool holds = trace_span_holds(worker->job->trace, block->info.track, block->kind ? block->kind[i] : 0);
        int result = nesting_add(&worker->nesting, block->begin_ns[i], end_ns, 0, row, holds, &parent);
        if (result < 0)
            return result;
    }
    return 0;
}

static int add_off_cpu(struct worker *worker, const struct span_block *block)
{
    struct off_cpu_times *times = &worker->job->off_cpu[block->info.track.index];
    if (!filter_chooses_rows(worker->job->where))
        times->blocked_known = times->preempted_known = true;
    for (uint32_t i = 0; i < block->info.count; i++) {
        bool off = block->kind && block->kind[i] == SPAN_KIND_BLOCKED;
        if (!off || !filter_match_span(worker->match, block, i))
            continue;
        int64_t end_ns = trace_span_end(worker->job->trace, block->info.track, block->begin_ns[i], block->end_ns[i]);
        /* The span's name is its reason, as its payload has it; columns of names are cheaper to read. */
        bool preempted = block->name && strcmp(trace_text(worker->job->trace, block->name[i]), "preempted") == 0;
        int64_t *sum = preempted ? &times->preempted_ns : &times->blocked_ns;
        *(preempted ? &times->preempted_known : &times->blocked_known) = true;
        add_saturated(sum, end_ns - block->begin_ns[i]);
        times->count++;
    }
    return 0;
}

static int sum_piece(struct worker *worker, const struct piece *piece, struct error *err)
{
    struct job *job = worker->job;
    int result = 0;
    for (uint32_t i = piece->first; i < piece->end && result == 0; i++) {
        struct span_block block;
        result = trace_spans_scan(job->trace, i, worker->columns, &block, err);
        if (result < 0)
            return result;
        result = job->off_cpu ? add_off_cpu(worker, &block) : sum_block(worker, &block);
        trace_spans_put(job->trace, &block);
        progress_update(job->progress, "reading spans", ++job->blocks_done, trace_block_count(job->trace, FAMILY_SPANS));
    }
    nesting_close_all(&worker->nesting);
    return result;
}

static int work_pieces(struct worker *worker, struct error *err)
{
    struct job *job = worker->job;
    int result = filter_match_create(job->where, job->trace, &worker->match);
    for (uint32_t i; result == 0 && (i = job->next_piece++) < job->piece_count;) {
        track_id track = trace_block_info(job->trace, FAMILY_SPANS, job->pieces[i].first).track;
        if (filter_match_track(worker->match, track))
            result = sum_piece(worker, &job->pieces[i], err);
        else
            job->blocks_done += job->pieces[i].end - job->pieces[i].first;
    }
    if (result == 0) {
        pthread_mutex_lock(&job->lock);
        result = span_accumulator_merge(&job->spans, &worker->spans);
        pthread_mutex_unlock(&job->lock);
    }
    return result;
}

static void work(void *context, size_t index)
{
    struct worker worker = {.job = context};
    struct error err = ERROR_INIT;
    worker.nesting.closed = span_closed;
    worker.nesting.context = &worker;
    worker.columns = filter_span_columns(worker.job->where) | SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) |
                     SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                     SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
    int result = work_pieces(&worker, &err);
    if (result < 0)
        fail(worker.job, result, &err);
    filter_match_destroy(worker.match);
    span_accumulator_finish(&worker.spans);
    nesting_finish(&worker.nesting);
}

/* One piece a lane: nesting goes on from block to block. A growing trace nests within blocks only. */
static int plan_pieces(struct job *job, bool sched_only)
{
    uint32_t count = trace_block_count(job->trace, FAMILY_SPANS), track_count;
    const struct trace_track *tracks = trace_tracks(job->trace, &track_count);
    uint32_t track = ID_NONE;
    job->pieces = malloc(((size_t)count + 1) * sizeof(*job->pieces));
    if (!job->pieces)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t block_track = trace_block_info(job->trace, FAMILY_SPANS, i).track.index;
        if (sched_only && (block_track >= track_count || tracks[block_track].kind != TRACK_KIND_SCHED))
            continue;
        if (block_track == track && !trace_is_growing(job->trace))
            job->pieces[job->piece_count - 1].end = i + 1;
        else
            job->pieces[job->piece_count++] = (struct piece){i, i + 1};
        track = block_track;
    }
    return 0;
}

static int run(struct job *job, bool sched_only)
{
    int result = plan_pieces(job, sched_only);
    if (result < 0)
        return result;
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    /* Pieces of a growing trace may share a track, and its off-CPU times. */
    bool parallel = job->piece_count > 1 && !(job->off_cpu && trace_is_growing(job->trace)) &&
                    trace_row_count(job->trace, FAMILY_SPANS) >= PARALLEL_ROWS_MIN;
    if (parallel && thread_pool_create(0, &pool) < 0)
        pool = NULL; /* one thread does it, too */
    uint32_t threads = pool ? thread_pool_size(pool) : 1;
    if (pool)
        thread_pool_for(pool, threads < job->piece_count ? threads : job->piece_count, work, job);
    else
        work(job, 0);
    return job->failure;
}

static int from_stored_sums(const struct trace *trace, const struct trace_filter *where, struct span_aggregate **ret_rows,
                            uint32_t *ret_count, struct error *err)
{
    const struct span_aggregate *stored;
    uint32_t count, kept = 0;
    CLEANUP(filter_match_destroyp) struct filter_match *match = NULL;
    int result = trace_span_aggregates(trace, &stored, &count, err);
    if (result < 0)
        return result;
    CLEANUP(freep) struct span_aggregate *rows = malloc(((size_t)count + 1) * sizeof(*rows));
    if (!rows || filter_match_create(where, trace, &match) < 0)
        return error_set(err, -ENOMEM, "out of memory while summing up");
    for (uint32_t i = 0; i < count; i++) {
        if (filter_match_sums(match, &stored[i]))
            rows[kept++] = stored[i];
    }
    *ret_rows = TAKE_PTR(rows);
    *ret_count = kept;
    return 0;
}

int aggregate_spans(const struct trace *trace, const struct trace_filter *where, const struct progress *progress,
                    struct span_aggregate **ret_rows, uint32_t *ret_count, struct error *err)
{
    if (!filter_match_needs_rows(where))
        return from_stored_sums(trace, where, ret_rows, ret_count, err);
    struct job job = {.trace = trace, .where = where, .progress = progress, .err = err};
    pthread_mutex_init(&job.lock, NULL);
    int result = run(&job, false);
    if (result == 0) {
        span_accumulator_sort(&job.spans);
        *ret_rows = TAKE_PTR(job.spans.rows);
        *ret_count = job.spans.count;
    }
    span_accumulator_finish(&job.spans);
    pthread_mutex_destroy(&job.lock);
    free(job.pieces);
    return result;
}

int aggregate_off_cpu(const struct trace *trace, const struct trace_filter *where, struct off_cpu_times **ret_times,
                      uint32_t *ret_count, struct error *err)
{
    uint32_t tracks;
    trace_tracks(trace, &tracks);
    struct job job = {.trace = trace, .where = where, .err = err};
    job.off_cpu = calloc((size_t)tracks + 1, sizeof(*job.off_cpu));
    if (!job.off_cpu)
        return error_set(err, -ENOMEM, "out of memory while summing up");
    pthread_mutex_init(&job.lock, NULL);
    int result = run(&job, true);
    pthread_mutex_destroy(&job.lock);
    span_accumulator_finish(&job.spans);
    free(job.pieces);
    if (result < 0) {
        free(job.off_cpu);
        return result;
    }
    *ret_times = job.off_cpu;
    *ret_count = tracks;
    return 0;
}
