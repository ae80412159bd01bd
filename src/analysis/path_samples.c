/* SPDX-License-Identifier: MIT */
/* Code on the path, divided among the places where CPU samples saw it. */
#include "path_parts_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

#include <errno.h>

struct dividing {
    struct path_parts *parts;
    const struct trace *trace;
    struct filter_match *match; /* NULL: all are asked for */
    struct code_stretch *stretches;
    size_t stretch_count;
    struct map numbers;       /* part << 32 | frame to the number of a share */
    struct path_part *shares; /* count: samples, time_ns: their weight, rule unused; `part` of each in share_part */
    uint32_t *share_part;
    size_t share_count, share_capacity, part_capacity;
    int64_t *weights; /* by part: of all its samples */
};

static int by_track_and_time(const void *left, const void *right)
{
    const struct code_stretch *a = left, *b = right;
    if (a->track != b->track)
        return a->track < b->track ? -1 : 1;
    return a->begin_ns < b->begin_ns ? -1 : a->begin_ns > b->begin_ns;
}

static frame_id leaf_frame(const struct trace *trace, stack_id stack)
{
    uint32_t count;
    const struct stack_node *stacks = trace_stacks(trace, &count);
    return stack.index < count ? stacks[stack.index].frame : FRAME_NONE;
}

static int add_sample(struct dividing *dividing, uint32_t part, frame_id frame, int64_t weight)
{
    uint64_t key = (uint64_t)part << 32 | frame.index, number;
    dividing->parts->samples++;
    if (map_get(&dividing->numbers, key, &number)) {
        dividing->shares[number].time_ns += weight;
        dividing->shares[number].count++;
        return 0;
    }
    size_t count = dividing->share_count + 1;
    struct path_part *shares = array_reserve(dividing->shares, &dividing->share_capacity, count, sizeof *shares);
    if (shares)
        dividing->shares = shares;
    uint32_t *share_part = array_reserve(dividing->share_part, &dividing->part_capacity, count, sizeof *share_part);
    if (share_part)
        dividing->share_part = share_part;
    if (!shares || !share_part || map_set(&dividing->numbers, key, dividing->share_count) < 0)
        return -ENOMEM;
    shares[dividing->share_count] = dividing->parts->parts[part];
    shares[dividing->share_count].frame = frame;
    shares[dividing->share_count].time_ns = weight;
    shares[dividing->share_count].count = 1;
    share_part[dividing->share_count++] = part;
    return 0;
}

/* First stretch of the track that ends behind the time. */
static size_t find_stretch(const struct dividing *dividing, uint32_t track, int64_t time_ns)
{
    size_t low = 0, high = dividing->stretch_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct code_stretch *stretch = &dividing->stretches[middle];
        if (stretch->track < track || (stretch->track == track && stretch->end_ns <= time_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int look_at_block(struct dividing *dividing, const struct sample_block *block)
{
    uint32_t track = block->info.track.index;
    size_t at = find_stretch(dividing, track, block->info.begin_ns);
    for (uint32_t i = 0; i < block->info.count; i++) {
        int64_t time_ns = block->time_ns[i];
        while (at < dividing->stretch_count && dividing->stretches[at].track == track &&
               dividing->stretches[at].end_ns <= time_ns)
            at++;
        if (at == dividing->stretch_count || dividing->stretches[at].track != track)
            return 0;
        if (dividing->stretches[at].begin_ns > time_ns || !sample_event_is_cpu(block->event ? block->event[i] : 0))
            continue;
        uint32_t part = dividing->stretches[at].part;
        int64_t weight = block->weight ? block->weight[i] : 0;
        dividing->weights[part] += weight;
        if (dividing->parts->parts[part].by_samples && !filter_match_sample(dividing->match, block, i))
            continue;
        int result = add_sample(dividing, part, leaf_frame(dividing->trace, block->stack ? block->stack[i] : STACK_NONE), weight);
        if (result < 0)
            return result;
    }
    return 0;
}

static int look_at_samples(struct dividing *dividing, struct error *err)
{
    uint32_t blocks = trace_block_count(dividing->trace, FAMILY_SAMPLES);
    for (uint32_t b = 0; b < blocks; b++) {
        struct block_info info = trace_block_info(dividing->trace, FAMILY_SAMPLES, b);
        size_t first = find_stretch(dividing, info.track.index, info.begin_ns);
        if (first == dividing->stretch_count || dividing->stretches[first].track != info.track.index ||
            dividing->stretches[first].begin_ns > info.end_ns)
            continue;
        struct sample_block block;
        int result = trace_samples_get(dividing->trace, b, &block, err);
        if (result < 0)
            return result;
        result = look_at_block(dividing, &block);
        trace_samples_put(dividing->trace, &block);
        if (result < 0)
            return error_set(err, result, "out of memory while dividing the critical path among functions");
    }
    return 0;
}

/* Shares of a part take its time in proportion to their weight; what rounding leaves goes to the last of them. What samples that do not
 * match stand for is left out. */
static int take_shares(struct dividing *dividing)
{
    struct path_parts *parts = dividing->parts;
    size_t kept = 0, parts_before = parts->count;
    CLEANUP(freep) int64_t *left_ns = calloc(parts_before + 1, sizeof *left_ns);
    CLEANUP(freep) int64_t *left_weight = calloc(parts_before + 1, sizeof *left_weight);
    struct path_part *all = array_resize_exact(NULL, parts_before + dividing->share_count, sizeof *all);
    if (!left_ns || !left_weight || !all) {
        free(all);
        return -ENOMEM;
    }
    for (size_t p = 0; p < parts_before; p++) {
        left_ns[p] = parts->parts[p].time_ns;
        left_weight[p] = dividing->weights[p];
        if (dividing->weights[p] == 0 && !parts->parts[p].by_samples)
            all[kept++] = parts->parts[p];
    }
    for (size_t s = 0; s < dividing->share_count; s++) {
        uint32_t part = dividing->share_part[s];
        if (dividing->weights[part] == 0)
            continue;
        all[kept] = dividing->shares[s];
        int64_t weight = dividing->shares[s].time_ns;
        int64_t time_ns = weight == left_weight[part]
                              ? left_ns[part]
                              : (int64_t)((double)left_ns[part] * (double)weight / (double)left_weight[part]);
        all[kept++].time_ns = time_ns;
        left_ns[part] -= time_ns;
        left_weight[part] -= weight;
    }
    free(parts->parts);
    parts->parts = all;
    parts->count = kept;
    return 0;
}

int path_parts_divide(struct path_parts *parts, struct code_stretch *stretches, size_t stretch_count,
                      const struct activity_set *where, const struct trace *trace, struct error *err)
{
    struct dividing dividing = {.parts = parts, .trace = trace, .match = where ? where->match : NULL, .stretches = stretches, .stretch_count = stretch_count};
    map_init(&dividing.numbers);
    if (stretch_count > 0)
        qsort(stretches, stretch_count, sizeof *stretches, by_track_and_time);
    dividing.weights = calloc(parts->count + 1, sizeof *dividing.weights);
    int result = dividing.weights ? look_at_samples(&dividing, err) : -ENOMEM;
    if (result == 0)
        result = take_shares(&dividing);
    if (result == -ENOMEM)
        error_set(err, result, "out of memory while dividing the critical path among functions");
    map_finish(&dividing.numbers);
    free(dividing.shares);
    free(dividing.share_part);
    free(dividing.weights);
    return result;
}
