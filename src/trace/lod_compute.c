/* SPDX-License-Identifier: MIT */
/*
 * Computing a pyramid: the finest level from the rows, each further one from the level below. The nesting sweep cuts a
 * track's time into pieces that belong to the innermost span, so a piece of time is touched once, however deep the nest.
 */
#include "lod_internal.h"

#include "base/error.h"
#include "base/saturated.h"
#include "nesting.h"

#include <errno.h>
#include <string.h>

struct lod_work {
    const struct trace *trace;
    const struct lod_base *base;
    struct nesting nesting;
    int64_t cursor_ns;        /* time is attributed up to here */
    int64_t now_ns;           /* begin of the span being added */
};

/* Floor division by the width, for negative times too. */
static int64_t bucket_index(int64_t time_ns, unsigned shift)
{
    return time_ns >> shift;
}

static struct lod_bucket *bucket_at(struct lod_work *work, int64_t time_ns)
{
    int64_t index = bucket_index(time_ns, work->base->shift) - work->base->first;
    return index >= 0 && index < work->base->count ? &work->base->buckets[index] : NULL;
}

/* Weighted majority vote. */
static void vote(struct lod_bucket *bucket, string_id name, int64_t ns)
{
    if (string_is(bucket->name, name)) {
        bucket->vote_ns += ns;
    } else if (bucket->vote_ns >= ns) {
        bucket->vote_ns -= ns;
    } else {
        bucket->name = name;
        bucket->vote_ns = ns - bucket->vote_ns;
    }
}

/* [begin, end) was spent in a span of this name. */
static void attribute(struct lod_work *work, int64_t begin_ns, int64_t end_ns, string_id name)
{
    while (begin_ns < end_ns) {
        struct lod_bucket *bucket = bucket_at(work, begin_ns);
        int64_t edge_ns = (int64_t)((uint64_t)(bucket_index(begin_ns, work->base->shift) + 1) << work->base->shift);
        int64_t stop_ns = edge_ns < end_ns ? edge_ns : end_ns;
        if (!bucket)
            return;
        bucket->busy_ns += stop_ns - begin_ns;
        vote(bucket, name, stop_ns - begin_ns);
        begin_ns = stop_ns;
    }
}

static void span_closed(void *context, const struct nesting_entry *entry)
{
    struct lod_work *work = context;
    int64_t end_ns = entry->end_ns < work->now_ns ? entry->end_ns : work->now_ns;
    if (end_ns > work->cursor_ns) {
        attribute(work, work->cursor_ns, end_ns, (string_id){entry->tag});
        work->cursor_ns = end_ns;
    }
}

static int add_span(struct lod_work *work, int64_t begin_ns, int64_t end_ns, string_id name)
{
    uint32_t parent;
    work->now_ns = begin_ns;
    if (work->nesting.depth == 0 && work->cursor_ns < begin_ns)
        work->cursor_ns = begin_ns;
    int result = nesting_add(&work->nesting, begin_ns, end_ns, 0, name.index, true, &parent);
    if (result < 0)
        return result;
    if (work->nesting.depth >= 2 && work->cursor_ns < begin_ns)
        attribute(work, work->cursor_ns, begin_ns, (string_id){work->nesting.stack[work->nesting.depth - 2].tag});
    work->cursor_ns = work->cursor_ns > begin_ns ? work->cursor_ns : begin_ns;
    struct lod_bucket *bucket = bucket_at(work, begin_ns);
    if (!bucket)
        return 0;
    if (bucket->count == 0 || end_ns - begin_ns > bucket->longest_ns) {
        bucket->longest_ns = end_ns - begin_ns;
        bucket->longest_name = name;
    }
    bucket->count++;
    return 0;
}

/* All spans that are still open end: nothing begins any more. */
static void close_spans(struct lod_work *work)
{
    work->now_ns = INT64_MAX;
    nesting_close_all(&work->nesting);
    work->cursor_ns = INT64_MIN;
}

static int add_span_block(struct lod_work *work, uint32_t index, struct error *err)
{
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) |
                       SPAN_COLUMN_BIT(SPAN_COLUMN_NAME);
    struct span_block block;
    int result = trace_spans_scan(work->trace, index, columns, &block, err);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < block.info.count && result == 0; i++) {
        int64_t end_ns = trace_span_end(work->trace, block.info.track, block.begin_ns[i], block.end_ns[i]);
        result = add_span(work, block.begin_ns[i], end_ns, block.name ? block.name[i] : STRING_NONE);
    }
    trace_spans_put(work->trace, &block);
    if (work->trace->growing)
        close_spans(work); /* the next block may begin earlier */
    return result;
}

static int add_sample_block(struct lod_work *work, uint32_t index, struct error *err)
{
    struct sample_block block;
    int result = trace_samples_get(work->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < block.info.count; i++) {
        struct lod_bucket *bucket = bucket_at(work, block.time_ns[i]);
        if (bucket) {
            bucket->count++;
            add_saturated(&bucket->busy_ns, block.weight[i]);
        }
    }
    trace_samples_put(work->trace, &block);
    return 0;
}

static int add_instant_block(struct lod_work *work, uint32_t index, struct error *err)
{
    struct instant_block block;
    int result = trace_instants_get(work->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < block.info.count; i++) {
        struct lod_bucket *bucket = bucket_at(work, block.time_ns[i]);
        if (bucket)
            bucket->count++;
    }
    trace_instants_put(work->trace, &block);
    return 0;
}

static void add_extremes(struct lod_bucket *bucket, uint32_t count, double minimum, double maximum)
{
    bool fresh = bucket->count == 0;
    bucket->minimum = fresh || minimum < bucket->minimum ? minimum : bucket->minimum;
    bucket->maximum = fresh || maximum > bucket->maximum ? maximum : bucket->maximum;
    bucket->count += count;
}

static int add_counter_block(struct lod_work *work, uint32_t index, struct error *err)
{
    struct counter_block block;
    int result = trace_counters_get(work->trace, index, &block, err);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < block.info.count; i++) {
        struct lod_bucket *bucket = bucket_at(work, block.time_ns[i]);
        if (bucket)
            add_extremes(bucket, 1, block.value[i], block.value[i]);
    }
    trace_counters_put(work->trace, &block);
    return 0;
}

static int (*const add_block[LOD_FAMILIES])(struct lod_work *work, uint32_t index, struct error *err) = {
    [FAMILY_SPANS] = add_span_block,
    [FAMILY_SAMPLES] = add_sample_block,
    [FAMILY_INSTANTS] = add_instant_block,
    [FAMILY_COUNTERS] = add_counter_block,
};

static void join(struct lod_bucket *into, const struct lod_bucket *from, enum family family)
{
    if (family == FAMILY_COUNTERS) {
        if (from->count)
            add_extremes(into, from->count, from->minimum, from->maximum);
        return;
    }
    if (from->count && (into->count == 0 || from->longest_ns > into->longest_ns)) {
        into->longest_ns = from->longest_ns;
        into->longest_name = from->longest_name;
    }
    into->count += from->count;
    add_saturated(&into->busy_ns, from->busy_ns);
    if (from->vote_ns)
        vote(into, from->name, from->vote_ns);
}

/* Levels above the finest, in the same allocation behind it. */
static void build_levels(struct lod *lod, struct lod_bucket *next, enum family family)
{
    while (lod->level_count < LOD_LEVELS_MAX && lod->levels[lod->level_count - 1].count > 4) {
        const struct lod_level *below = &lod->levels[lod->level_count - 1];
        struct lod_level *level = &lod->levels[lod->level_count++];
        level->width_ns = below->width_ns * 4;
        level->first = below->first >> 2;
        level->count = (uint32_t)(((below->first + below->count - 1) >> 2) - level->first + 1);
        level->buckets = next;
        for (uint32_t i = 0; i < below->count; i++)
            join(&next[((below->first + i) >> 2) - level->first], &below->buckets[i], family);
        next += level->count;
    }
}

int lod_base_fill(const struct trace *trace, enum family family, track_id track, struct lod_base *base, uint32_t from,
                  uint32_t to, struct error *err)
{
    struct lod_work work = {.trace = trace, .base = base, .cursor_ns = INT64_MIN};
    int result = 0;
    work.nesting.closed = span_closed;
    work.nesting.context = &work;
    for (uint32_t i = from; i < to && result == 0; i++) {
        if (trace->blocks[family].items[i]->info.track.index == track.index)
            result = add_block[family](&work, i, err);
    }
    close_spans(&work);
    nesting_finish(&work.nesting);
    return result;
}

/* Time range and rows of the track. */
static uint64_t measure(const struct trace *trace, enum family family, track_id track, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    uint32_t first, end;
    uint64_t rows = 0;
    lod_block_range(trace, family, track, &first, &end);
    for (uint32_t i = first; i < end; i++) {
        const struct block_info *info = &trace->blocks[family].items[i]->info;
        if (info->track.index != track.index)
            continue;
        *ret_begin_ns = rows == 0 || info->begin_ns < *ret_begin_ns ? info->begin_ns : *ret_begin_ns;
        *ret_end_ns = rows == 0 || info->end_ns > *ret_end_ns ? info->end_ns : *ret_end_ns;
        rows += info->count;
    }
    if (rows && family == FAMILY_SPANS) /* one that is open may last until then */
        *ret_end_ns = *ret_end_ns > trace->end_ns ? *ret_end_ns : trace->end_ns;
    return rows;
}

bool lod_base_plan(const struct trace *trace, enum family family, track_id track, unsigned shift, struct lod_base *ret_base)
{
    int64_t begin_ns = 0, end_ns = 0;
    uint64_t rows = measure(trace, family, track, &begin_ns, &end_ns);
    uint64_t limit = rows / LOD_ROWS_PER_BUCKET;
    limit = limit < LOD_BUCKETS_MIN ? LOD_BUCKETS_MIN : limit > LOD_BUCKETS_MAX ? LOD_BUCKETS_MAX : limit;
    while ((uint64_t)(bucket_index(end_ns, shift) - bucket_index(begin_ns, shift)) >= limit)
        shift++;
    int64_t first = bucket_index(begin_ns, shift);
    *ret_base = (struct lod_base){.shift = shift, .first = first, .count = (uint32_t)(bucket_index(end_ns, shift) - first + 1)};
    return rows > 0;
}

void lod_base_join(const struct lod_base *from, struct lod_base *into, enum family family)
{
    for (uint32_t i = 0; i < from->count; i++) {
        int64_t index = ((from->first + i) >> (into->shift - from->shift)) - into->first;
        if (index >= 0 && index < into->count)
            join(&into->buckets[index], &from->buckets[i], family);
    }
}

struct lod *lod_from_base(const struct lod_base *base, enum family family)
{
    /* Levels above have a third of the buckets together, and at most two more each. */
    size_t count = (size_t)base->count + base->count / 3 + 2 * LOD_LEVELS_MAX;
    struct lod *lod = calloc(1, sizeof(*lod) + count * sizeof(struct lod_bucket));
    if (!lod)
        return NULL;
    struct lod_bucket *buckets = (struct lod_bucket *)(lod + 1);
    int64_t width_ns = INT64_C(1) << base->shift;
    memcpy(buckets, base->buckets, base->count * sizeof(*buckets));
    /* Pieces of a growing trace that overlap were added one by one: no more than all of a bucket can be busy. */
    for (uint32_t i = 0; family == FAMILY_SPANS && i < base->count; i++)
        buckets[i].busy_ns = buckets[i].busy_ns < width_ns ? buckets[i].busy_ns : width_ns;
    lod->level_count = 1;
    lod->levels[0] = (struct lod_level){width_ns, base->first, base->count, buckets};
    build_levels(lod, buckets + base->count, family);
    return lod;
}

int lod_compute(const struct trace *trace, enum family family, track_id track, struct lod **ret_lod, struct error *err)
{
    struct lod_base base;
    uint32_t first, end;
    *ret_lod = NULL;
    if (!lod_base_plan(trace, family, track, 0, &base))
        return 0;
    CLEANUP(freep) struct lod_bucket *buckets = calloc(base.count, sizeof(*buckets));
    if (!buckets)
        return error_set(err, -ENOMEM, "trace: out of memory for a timeline");
    base.buckets = buckets;
    lod_block_range(trace, family, track, &first, &end);
    int result = lod_base_fill(trace, family, track, &base, first, end, err);
    if (result == 0 && !(*ret_lod = lod_from_base(&base, family)))
        result = -ENOMEM;
    return result == -ENOMEM ? error_set(err, result, "trace: out of memory for a timeline") : result;
}
