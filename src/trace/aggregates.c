/* SPDX-License-Identifier: MIT */
/*
 * Aggregates on demand. A finished trace nests across blocks of a track (they come in order); a growing one within each
 * block only, where a span's children that were sealed in another block still count as its own time.
 */
#include "aggregates.h"

#include "lod_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/saturated.h"

#include <errno.h>
#include <string.h>

void sample_accumulator_finish(struct sample_accumulator *accumulator)
{
    free(accumulator->rows);
    row_index_finish(&accumulator->index);
    *accumulator = (struct sample_accumulator){0};
}

static bool same_key(const struct sample_aggregate *left, const struct sample_aggregate *right)
{
    return track_id_is(left->track, right->track) && stack_id_is(left->stack, right->stack) &&
           left->event == right->event && left->flags == right->flags;
}

static uint64_t key_hash(const struct sample_aggregate *row)
{
    return hash_u64(((uint64_t)row->track.index << 32 | row->stack.index) ^ (uint64_t)row->event << 24 ^
                    (uint64_t)row->flags << 56);
}

static uint64_t row_hash(const void *rows, uint32_t row)
{
    return key_hash((const struct sample_aggregate *)rows + row);
}

int sample_accumulator_add(struct sample_accumulator *accumulator, const struct sample_aggregate *sample)
{
    if (row_index_reserve(&accumulator->index, accumulator->count, row_hash, accumulator->rows) < 0)
        return -ENOMEM;
    uint64_t hash = key_hash(sample);
    uint32_t *slot;
    for (; *(slot = row_index_slot(&accumulator->index, hash)); hash++) {
        struct sample_aggregate *row = &accumulator->rows[*slot - 1];
        if (same_key(row, sample)) {
            row->count += sample->count;
            add_saturated(&row->weight, sample->weight);
            return 0;
        }
    }
    struct sample_aggregate *rows = array_reserve(accumulator->rows, &accumulator->capacity, (size_t)accumulator->count + 1,
                                                  sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    accumulator->rows = rows;
    rows[accumulator->count] = *sample;
    *slot = ++accumulator->count;
    return 0;
}

static int by_key(const void *left, const void *right)
{
    const struct sample_aggregate *a = left, *b = right;
    if (a->track.index != b->track.index)
        return a->track.index < b->track.index ? -1 : 1;
    if (a->stack.index != b->stack.index)
        return a->stack.index < b->stack.index ? -1 : 1;
    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return (a->flags > b->flags) - (a->flags < b->flags);
}

static int sum_span_block(const struct trace *trace, const struct span_block *block, struct nesting *nesting,
                          struct span_accumulator *spans)
{
    for (uint32_t i = 0; i < block->info.count; i++) {
        uint32_t parent;
        uint32_t row = span_accumulator_row(spans, block->name ? block->name[i] : STRING_NONE,
                                            block->category ? block->category[i] : STRING_NONE,
                                            block->kind ? block->kind[i] : 0);
        if (row == UINT32_MAX)
            return -ENOMEM;
        int64_t end_ns = trace_span_end(trace, block->info.track, block->begin_ns[i], block->end_ns[i]);
        span_accumulator_add(spans, row, end_ns - block->begin_ns[i]);
        bool holds = trace_span_holds(trace, block->info.track, block->kind ? block->kind[i] : 0);
        if (nesting_add(nesting, block->begin_ns[i], end_ns, block->info.first + i, row, holds, &parent) < 0)
            return -ENOMEM;
    }
    return 0;
}

#define SUM_COLUMNS                                                                                                    \
    (SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |       \
     SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND))

/* Adds span blocks [from, to). */
static int sum_spans(const struct trace *trace, uint32_t from, uint32_t to, struct span_accumulator *spans, struct error *err)
{
    struct nesting nesting = {.closed = span_accumulator_closed, .context = spans};
    track_id track = TRACK_NONE;
    int result = 0;
    for (uint32_t i = from; i < to && result == 0; i++) {
        struct span_block block;
        result = trace_spans_scan(trace, i, SUM_COLUMNS, &block, err);
        if (result < 0)
            break;
        if (trace->growing || !track_id_is(track, block.info.track))
            nesting_close_all(&nesting);
        track = block.info.track;
        result = sum_span_block(trace, &block, &nesting, spans);
        if (result < 0)
            error_set(err, result, "trace: out of memory for sums");
        trace_spans_put(trace, &block);
    }
    nesting_close_all(&nesting);
    nesting_finish(&nesting);
    return result;
}

static int sum_samples(const struct trace *trace, uint32_t from, uint32_t to, struct sample_accumulator *samples,
                       struct error *err)
{
    for (uint32_t i = from; i < to; i++) {
        struct sample_block block;
        int result = trace_samples_get(trace, i, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count && result == 0; row++) {
            struct sample_aggregate sample = {.track = block.info.track,
                                              .stack = block.stack ? block.stack[row] : STACK_NONE,
                                              .event = block.event ? block.event[row] : 0,
                                              .flags = block.flags ? block.flags[row] : 0,
                                              .count = 1, .weight = block.weight[row]};
            result = sample_accumulator_add(samples, &sample);
        }
        trace_samples_put(trace, &block);
        if (result < 0)
            return error_set(err, result, "trace: out of memory for sums");
    }
    return 0;
}

int live_aggregates_create(struct live_aggregates **ret_live)
{
    struct live_aggregates *live = calloc(1, sizeof(*live));
    if (!live)
        return -ENOMEM;
    live->references = 1;
    pthread_mutex_init(&live->lock, NULL);
    *ret_live = live;
    return 0;
}

struct live_aggregates *live_aggregates_ref(struct live_aggregates *live)
{
    live->references++;
    return live;
}

void live_aggregates_unref(struct live_aggregates *live)
{
    if (!live || --live->references > 0)
        return;
    span_accumulator_finish(&live->spans);
    sample_accumulator_finish(&live->samples);
    live_lods_destroy(live->lods);
    pthread_mutex_destroy(&live->lock);
    free(live);
}

/* Copies into the trace, which owns what it returns to callers. */
static int spans_publish(struct trace *trace, const struct span_accumulator *spans)
{
    struct span_accumulator copy = {.count = spans->count};
    copy.rows = malloc(((size_t)spans->count + 1) * sizeof(*copy.rows));
    if (!copy.rows)
        return -ENOMEM;
    if (spans->count)
        memcpy(copy.rows, spans->rows, spans->count * sizeof(*copy.rows));
    span_accumulator_sort(&copy);
    trace->aggregates.spans = copy.rows;
    trace->aggregates.span_count = copy.count;
    trace->aggregates.spans_known = true;
    return 0;
}

static int samples_publish(struct trace *trace, const struct sample_accumulator *samples)
{
    struct sample_aggregate *rows = malloc(((size_t)samples->count + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    if (samples->count) {
        memcpy(rows, samples->rows, samples->count * sizeof(*rows));
        qsort(rows, samples->count, sizeof(*rows), by_key);
    }
    trace->aggregates.samples = rows;
    trace->aggregates.sample_count = samples->count;
    trace->aggregates.samples_known = true;
    return 0;
}

static int compute_spans(struct trace *trace, struct error *err)
{
    struct live_aggregates *live = trace->live;
    uint32_t count = trace->blocks[FAMILY_SPANS].count;
    int result = -EAGAIN;
    if (live) {
        pthread_mutex_lock(&live->lock);
        if (live->span_blocks <= count) { /* else a newer snapshot has moved on: this one sums by itself */
            result = sum_spans(trace, live->span_blocks, count, &live->spans, err);
            live->span_blocks = count;
            if (result == 0)
                result = spans_publish(trace, &live->spans);
        }
        pthread_mutex_unlock(&live->lock);
    }
    if (result != -EAGAIN)
        return result;
    struct span_accumulator spans = {0};
    result = sum_spans(trace, 0, count, &spans, err);
    if (result == 0)
        result = spans_publish(trace, &spans);
    span_accumulator_finish(&spans);
    return result;
}

static int compute_samples(struct trace *trace, struct error *err)
{
    struct live_aggregates *live = trace->live;
    uint32_t count = trace->blocks[FAMILY_SAMPLES].count;
    int result = -EAGAIN;
    if (live) {
        pthread_mutex_lock(&live->lock);
        if (live->sample_blocks <= count) {
            result = sum_samples(trace, live->sample_blocks, count, &live->samples, err);
            live->sample_blocks = count;
            if (result == 0)
                result = samples_publish(trace, &live->samples);
        }
        pthread_mutex_unlock(&live->lock);
    }
    if (result != -EAGAIN)
        return result;
    struct sample_accumulator samples = {0};
    result = sum_samples(trace, 0, count, &samples, err);
    if (result == 0)
        result = samples_publish(trace, &samples);
    sample_accumulator_finish(&samples);
    return result;
}

int trace_span_aggregates(const struct trace *constant, const struct span_aggregate **ret_rows, uint32_t *ret_count,
                          struct error *err)
{
    struct trace *trace = (struct trace *)(uintptr_t)constant; /* what is remembered changes nothing that readers see */
    pthread_mutex_lock(&trace->lock);
    int result = trace->aggregates.spans_known ? 0 : compute_spans(trace, err);
    if (result == 0) {
        *ret_rows = trace->aggregates.spans;
        *ret_count = trace->aggregates.span_count;
    }
    pthread_mutex_unlock(&trace->lock);
    return result;
}

int trace_sample_aggregates(const struct trace *constant, const struct sample_aggregate **ret_rows, uint32_t *ret_count,
                            struct error *err)
{
    struct trace *trace = (struct trace *)(uintptr_t)constant;
    pthread_mutex_lock(&trace->lock);
    int result = trace->aggregates.samples_known ? 0 : compute_samples(trace, err);
    if (result == 0) {
        *ret_rows = trace->aggregates.samples;
        *ret_count = trace->aggregates.sample_count;
    }
    pthread_mutex_unlock(&trace->lock);
    return result;
}
