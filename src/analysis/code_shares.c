/* SPDX-License-Identifier: MIT */
/* Shares of code by samples: stretches are found, samples put into them, classes of stretches summed. */
#include "code_shares.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

#include <errno.h>

#define ENOUGH_SAMPLES 20

struct sums {
    uint32_t samples;
    int64_t weight, matched;
};

/* Points [first, end) of one lane whose intervals lie in the same span. */
struct stretch {
    uint32_t first, end, class_number;
    struct sums sums;
};

struct sharing {
    const struct dependency_graph *graph;
    const struct activities *activities;
    struct filter_match *match;
    struct stretch *stretches;
    size_t stretch_count, stretch_capacity;
    struct sums *classes; /* of stretches with few samples */
    size_t class_count, class_capacity;
    struct map class_numbers;
    uint32_t *lane_of_track; /* LANE_NONE: none, or no thread */
    uint32_t track_count;
};

static int class_of(struct sharing *sharing, uint32_t lane, uint32_t activity, uint32_t before, uint32_t after,
                    uint32_t *ret_number)
{
    uint64_t number, key = hash_u64(hash_u64((uint64_t)before << 32 | after) ^ ((uint64_t)lane << 32 | activity));
    if (!map_get(&sharing->class_numbers, key, &number)) {
        struct sums *grown =
            array_reserve(sharing->classes, &sharing->class_capacity, sharing->class_count + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        sharing->classes = grown;
        number = sharing->class_count++;
        grown[number] = (struct sums){.samples = 0};
        if (map_set(&sharing->class_numbers, key, number) < 0)
            return -ENOMEM;
    }
    *ret_number = (uint32_t)number;
    return 0;
}

static uint32_t activity_at(const struct sharing *sharing, uint32_t point)
{
    return activity_of(sharing->activities, sharing->graph->span[point]);
}

static int cut_lane(struct sharing *sharing, uint32_t lane)
{
    const struct dependency_graph *graph = sharing->graph;
    uint32_t begin = graph->lanes[lane].first_point, lane_end = begin + graph->lanes[lane].point_count;
    for (uint32_t first = begin + 1; first < lane_end;) {
        uint32_t end = first + 1;
        while (end < lane_end && graph->span[end].index == graph->span[first].index)
            end++;
        uint32_t activity = activity_at(sharing, first);
        if (span_kind_is_code(sharing->activities->rows[activity].kind)) {
            struct stretch *grown = array_reserve(sharing->stretches, &sharing->stretch_capacity,
                                                  sharing->stretch_count + 1, sizeof *grown);
            if (!grown)
                return -ENOMEM;
            sharing->stretches = grown;
            struct stretch *stretch = &grown[sharing->stretch_count++];
            *stretch = (struct stretch){.first = first, .end = end};
            uint32_t before = first > begin + 1 ? activity_at(sharing, first - 1) : UINT32_MAX;
            uint32_t after = end < lane_end ? activity_at(sharing, end) : UINT32_MAX;
            if (class_of(sharing, lane, activity, before, after, &stretch->class_number) < 0)
                return -ENOMEM;
        }
        first = end;
    }
    return 0;
}

static int cut_lanes(struct sharing *sharing)
{
    const struct dependency_graph *graph = sharing->graph;
    const struct trace_track *tracks = trace_tracks(graph->trace, &sharing->track_count);
    sharing->lane_of_track = array_resize_exact(NULL, sharing->track_count, sizeof *sharing->lane_of_track);
    if (!sharing->lane_of_track)
        return -ENOMEM;
    for (uint32_t t = 0; t < sharing->track_count; t++)
        sharing->lane_of_track[t] = LANE_NONE;
    int result = 0;
    for (uint32_t l = 0; result == 0 && l < graph->lane_count; l++) {
        uint32_t track = graph->lanes[l].track.index;
        if (track >= sharing->track_count || tracks[track].kind != TRACK_KIND_THREAD ||
            graph->lanes[l].point_count == 0)
            continue;
        sharing->lane_of_track[track] = l;
        result = cut_lane(sharing, l);
    }
    return result;
}

/* The point at or behind a time on a lane; POINT_NONE behind its last. */
static uint32_t point_behind(const struct dependency_graph *graph, uint32_t lane, int64_t time_ns)
{
    uint32_t low = graph->lanes[lane].first_point, end = low + graph->lanes[lane].point_count, high = end;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (graph->time_ns[middle] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < end ? low : POINT_NONE;
}

static struct stretch *stretch_at(const struct sharing *sharing, uint32_t point)
{
    size_t low = 0, high = sharing->stretch_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sharing->stretches[middle].end <= point)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < sharing->stretch_count && sharing->stretches[low].first <= point;
    return found ? &sharing->stretches[low] : NULL;
}

/* Whether a stack shows nothing of the program: an interrupt or a system call took the time of whatever function it came in. */
static bool is_kernel_only(const struct trace *trace, stack_id stack)
{
    uint32_t stack_count, frame_count;
    const struct stack_node *stacks = trace_stacks(trace, &stack_count);
    const struct trace_frame *frames = trace_frames(trace, &frame_count);
    bool kernel = false;
    while (stack.index < stack_count) {
        frame_id frame = stacks[stack.index].frame;
        kernel = frame.index < frame_count && frames[frame.index].flags & FRAME_KERNEL;
        stack = stacks[stack.index].parent;
    }
    return kernel;
}

static void add_samples(struct sharing *sharing, const struct sample_block *block)
{
    const struct trace *trace = sharing->graph->trace;
    uint32_t lane = sharing->lane_of_track[block->info.track.index];
    for (uint32_t i = 0; i < block->info.count; i++) {
        if (!sample_event_is_cpu(block->event ? block->event[i] : 0))
            continue;
        uint32_t point = point_behind(sharing->graph, lane, block->time_ns[i]);
        struct stretch *stretch = point != POINT_NONE ? stretch_at(sharing, point) : NULL;
        if (!stretch)
            continue;
        int64_t weight = block->weight ? block->weight[i] : 0;
        bool matches = filter_match_sample(sharing->match, block, i);
        if (!matches && block->stack && is_kernel_only(trace, block->stack[i]))
            continue;
        stretch->sums.samples++;
        stretch->sums.weight += weight;
        if (matches)
            stretch->sums.matched += weight;
    }
}

static int read_samples(struct sharing *sharing, struct error *err)
{
    const struct trace *trace = sharing->graph->trace;
    for (uint32_t b = 0; b < trace_block_count(trace, FAMILY_SAMPLES); b++) {
        struct block_info info = trace_block_info(trace, FAMILY_SAMPLES, b);
        if (info.track.index >= sharing->track_count || sharing->lane_of_track[info.track.index] == LANE_NONE)
            continue;
        struct sample_block block;
        int result = trace_samples_get(trace, b, &block, err);
        if (result < 0)
            return result;
        add_samples(sharing, &block);
        trace_samples_put(trace, &block);
    }
    for (size_t s = 0; s < sharing->stretch_count; s++) {
        const struct stretch *stretch = &sharing->stretches[s];
        if (stretch->sums.samples >= ENOUGH_SAMPLES)
            continue;
        sharing->classes[stretch->class_number].weight += stretch->sums.weight;
        sharing->classes[stretch->class_number].matched += stretch->sums.matched;
    }
    return 0;
}

static void fill(const struct sharing *sharing, const struct activity_set *set, float *shares)
{
    const struct dependency_graph *graph = sharing->graph;
    for (uint32_t p = 0; p < graph->point_count; p++)
        shares[p] = 0;
    for (size_t s = 0; s < sharing->stretch_count; s++) {
        const struct stretch *stretch = &sharing->stretches[s];
        const struct sums *sums =
            stretch->sums.samples >= ENOUGH_SAMPLES ? &stretch->sums : &sharing->classes[stretch->class_number];
        uint32_t track = graph->lanes[graph->lane[stretch->first]].track.index;
        double share = sums->weight > 0           ? (double)sums->matched / (double)sums->weight
                       : track < set->track_count ? set->code_shares[track]
                                                  : 0;
        for (uint32_t p = stretch->first; p < stretch->end; p++)
            shares[p] = (float)share;
    }
}

bool code_shares_needed(const struct activity_set *set)
{
    for (uint32_t t = 0; t < set->track_count; t++)
        if (set->code_shares[t] > 0 && set->code_shares[t] < 1)
            return true;
    return false;
}

int code_shares_create(const struct dependency_graph *graph, const struct activities *activities,
                       const struct trace_filter *filter, const struct activity_set *set, float **ret_shares,
                       struct error *err)
{
    CLEANUP(filter_match_destroyp) struct filter_match *match = NULL;
    struct sharing sharing = {.graph = graph, .activities = activities};
    float *shares = array_resize_exact(NULL, graph->point_count, sizeof *shares);
    map_init(&sharing.class_numbers);
    int result = shares ? filter_match_create(filter, graph->trace, &match) : -ENOMEM;
    sharing.match = match;
    if (result == 0)
        result = cut_lanes(&sharing);
    if (result < 0)
        error_set(err, result, "out of memory while dividing code among functions");
    else
        result = read_samples(&sharing, err);
    if (result == 0) {
        fill(&sharing, set, shares);
        *ret_shares = TAKE_PTR(shares);
    }
    map_finish(&sharing.class_numbers);
    free(sharing.stretches);
    free(sharing.classes);
    free(sharing.lane_of_track);
    free(shares);
    return result;
}
