/* SPDX-License-Identifier: MIT */
/* The scheduler's lanes, read once: a lane belongs to the thread of its number, and of several to the one that began when it did. */
#include "preempted.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "trace/made_once.h"

#include <errno.h>
#include <string.h>

struct reading {
    const struct trace *trace;
    const struct trace_track *tracks;
    uint32_t track_count;
    struct map threads; /* process and number, and these with the begin -> track */
    string_id name;
    const bool *wanted; /* by track of the thread; NULL: all */
    struct preempted *out;
    size_t capacity;
};

static uint64_t thread_key(const struct trace_track *track)
{
    return hash_u64((uint64_t)track->process.index << 32 | (uint32_t)track->tid);
}

static uint64_t exact_key(const struct trace_track *track)
{
    return hash_u64(thread_key(track) ^ (uint64_t)track->start_ns);
}

static int find_threads(struct reading *reading)
{
    int result = 0;
    for (uint32_t i = 0; i < reading->track_count && result == 0; i++) {
        const struct trace_track *track = &reading->tracks[i];
        uint64_t first;
        if (track->kind != TRACK_KIND_THREAD)
            continue;
        if (!map_get(&reading->threads, thread_key(track), &first))
            result = map_set(&reading->threads, thread_key(track), i);
        if (result == 0 && track->start_ns != INT64_MIN)
            result = map_set(&reading->threads, exact_key(track), i);
    }
    return result;
}

static int add_block(struct reading *reading, const struct span_block *block, uint32_t thread)
{
    struct preempted *out = reading->out;
    for (uint32_t row = 0; row < block->info.count; row++) {
        if (!block->name || !string_is(block->name[row], reading->name))
            continue;
        struct preempted_stretch *stretches = array_reserve(out->stretches, &reading->capacity, out->count + 1, sizeof *stretches);
        if (!stretches)
            return -ENOMEM;
        out->stretches = stretches;
        stretches[out->count++] = (struct preempted_stretch){
            .track = thread, .begin_ns = block->begin_ns[row],
            .end_ns = trace_span_end(reading->trace, block->info.track, block->begin_ns[row], block->end_ns[row])};
    }
    return 0;
}

static int read_blocks(struct reading *reading, struct error *err)
{
    const uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME);
    for (uint32_t i = 0; i < trace_block_count(reading->trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(reading->trace, FAMILY_SPANS, i);
        struct span_block block;
        uint64_t thread;
        if (info.track.index >= reading->track_count || reading->tracks[info.track.index].kind != TRACK_KIND_SCHED)
            continue;
        const struct trace_track *track = &reading->tracks[info.track.index];
        reading->out->known = true;
        if ((track->start_ns == INT64_MIN || !map_get(&reading->threads, exact_key(track), &thread)) &&
            !map_get(&reading->threads, thread_key(track), &thread))
            continue;
        if (reading->wanted && !reading->wanted[thread])
            continue;
        int result = trace_spans_scan(reading->trace, i, columns, &block, err);
        if (result < 0)
            return result;
        result = add_block(reading, &block, (uint32_t)thread);
        trace_spans_put(reading->trace, &block);
        if (result < 0)
            return error_set(err, result, "out of memory while reading when threads were preempted");
    }
    return 0;
}

static int by_track_and_begin(const void *left, const void *right)
{
    const struct preempted_stretch *a = left, *b = right;
    int order = (a->track > b->track) - (a->track < b->track);
    return order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

int off_processor_create(const struct trace *trace, const char *name, const bool *wanted, struct preempted **ret_stretches, struct error *err)
{
    CLEANUP(preempted_destroyp) struct preempted *out = calloc(1, sizeof *out);
    struct reading reading = {.trace = trace, .out = out, .name = STRING_NONE, .wanted = wanted};
    reading.tracks = trace_tracks(trace, &reading.track_count);
    if (!out || !(out->first = calloc((size_t)reading.track_count + 1, sizeof *out->first)))
        return error_set(err, -ENOMEM, "out of memory while reading when threads were preempted");
    string_table_find(trace_strings(trace), name, strlen(name), &reading.name);
    map_init(&reading.threads);
    int result = find_threads(&reading);
    if (result < 0)
        error_set(err, result, "out of memory while reading when threads were preempted");
    else
        result = read_blocks(&reading, err);
    map_finish(&reading.threads);
    if (result < 0)
        return result;
    if (out->count)
        qsort(out->stretches, out->count, sizeof *out->stretches, by_track_and_begin);
    for (size_t i = 0, track = 0; track <= reading.track_count; track++) {
        while (i < out->count && out->stretches[i].track < track)
            i++;
        out->first[track] = i;
    }
    *ret_stretches = TAKE_PTR(out);
    return 0;
}

int preempted_create(const struct trace *trace, struct preempted **ret_preempted, struct error *err)
{
    return off_processor_create(trace, "preempted", NULL, ret_preempted, err);
}

void preempted_destroy(struct preempted *preempted)
{
    if (!preempted)
        return;
    free(preempted->stretches);
    free(preempted->first);
    free(preempted);
}

static int make_preempted(const struct trace *trace, void **ret_preempted, struct error *err)
{
    struct preempted *preempted;
    int result = preempted_create(trace, &preempted, err);
    if (result == 0)
        *ret_preempted = preempted;
    return result;
}

static void destroy_preempted(void *preempted)
{
    preempted_destroy(preempted);
}

int preempted_of_trace(const struct trace *trace, const struct preempted **ret_preempted, struct error *err)
{
    const void *preempted;
    int result = trace_made_once(trace, make_preempted, destroy_preempted, &preempted, err);
    if (result == 0)
        *ret_preempted = preempted;
    return result;
}

int64_t preempted_within(const struct preempted *preempted, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    track -= preempted->first_track;
    size_t low = preempted->first[track], high = preempted->first[track + 1];
    int64_t sum_ns = 0;
    while (low < high) { /* the first that ends behind begin_ns */
        size_t middle = low + (high - low) / 2;
        if (preempted->stretches[middle].end_ns <= begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < preempted->first[track + 1] && preempted->stretches[low].begin_ns < end_ns; low++) {
        const struct preempted_stretch *stretch = &preempted->stretches[low];
        int64_t from_ns = stretch->begin_ns > begin_ns ? stretch->begin_ns : begin_ns;
        int64_t to_ns = stretch->end_ns < end_ns ? stretch->end_ns : end_ns;
        sum_ns += to_ns > from_ns ? to_ns - from_ns : 0;
    }
    return sum_ns;
}
