/* SPDX-License-Identifier: MIT */
/* The path summed by activity and lane. */
#include "path_parts_internal.h"
#include "path_preempted.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"

#include <errno.h>

const char *path_state_name(enum path_state state)
{
    static const char *const names[] = {
        [PATH_WORK] = "work",
        [PATH_WAIT] = "wait",
        [PATH_GAP] = "gap",
        [PATH_DESCHEDULED] = "descheduled",
        [PATH_UNEXPLAINED] = "unexplained",
        [PATH_EDGE] = "edge",
        [PATH_START] = "start",
    };
    return (unsigned)state < PATH_STATE_COUNT ? names[state] : NULL;
}

static enum path_state state_of(enum interval_kind kind)
{
    switch (kind) {
    case INTERVAL_WAIT: return PATH_WAIT;
    case INTERVAL_IDLE: return PATH_GAP;
    case INTERVAL_DESCHEDULED: return PATH_DESCHEDULED;
    case INTERVAL_UNEXPLAINED: return PATH_UNEXPLAINED;
    default: return PATH_WORK;
    }
}

/* An edge is of what it begins or ends: the span that stands before its destination, or the one behind it, or that of
 * its source. */
static uint32_t activity_of_edge(const struct dependency_graph *graph, const struct activities *activities,
                                 uint32_t from, uint32_t to)
{
    uint32_t lane = graph->lane[to], activity = activity_of(activities, graph->span[to]);
    if (activity != ACTIVITY_NONE || lane == LANE_NONE)
        return activity;
    if (to + 1 < graph->lanes[lane].first_point + graph->lanes[lane].point_count)
        activity = activity_of(activities, graph->span[to + 1]);
    return activity != ACTIVITY_NONE ? activity : activity_of(activities, graph->span[from]);
}

struct path_part path_part_of(const struct critical_path *path, const struct activities *activities, uint32_t step)
{
    const struct dependency_graph *graph = path->graph;
    const struct path_step *of = &path->steps[step];
    uint32_t lane = graph->lane[of->point];
    struct path_part part = {
        .activity = activity_of(activities, graph->span[of->point]),
        .track = lane != LANE_NONE ? graph->lanes[lane].track : TRACK_NONE,
        .state = step == 0 ? PATH_START : (uint8_t)state_of(graph->interval[of->point]),
        .confidence = CONFIDENCE_CERTAIN,
        .frame = FRAME_NONE,
        .time_ns = path_step_weight(path, step),
        .count = 1,
    };
    if (of->edge != EDGE_NONE) {
        part.state = PATH_EDGE;
        part.activity = activity_of_edge(graph, activities, graph->edges[of->edge].from, of->point);
        part.rule = graph->edges[of->edge].rule;
        part.confidence = graph->edges[of->edge].confidence;
    }
    return part;
}

uint32_t path_parts_of_step(const struct critical_path *path, const struct activities *activities, uint32_t step, struct path_part ret_parts[2])
{
    int64_t preempted_ns = path_step_preempted(path, step);
    ret_parts[0] = path_part_of(path, activities, step);
    if (preempted_ns <= 0)
        return 1;
    ret_parts[1] = ret_parts[0];
    ret_parts[1].state = PATH_DESCHEDULED;
    ret_parts[1].rule = 0;
    ret_parts[1].time_ns = preempted_ns;
    ret_parts[0].time_ns -= preempted_ns;
    if (ret_parts[0].time_ns > 0)
        return 2;
    ret_parts[0] = ret_parts[1];
    return 1;
}

struct summing {
    struct path_parts *parts;
    size_t capacity;
    struct map numbers; /* key of a part to its number */
    struct code_stretch *stretches;
    size_t stretch_count, stretch_capacity;
};

_Static_assert(EDGE_RULE_COUNT <= 32 && PATH_STATE_COUNT <= 8,
               "a part's key has 5 bits for the rule and 3 for the state");

static int add_part(struct summing *summing, const struct path_part *part, uint32_t *ret_number)
{
    /* Activities are far fewer than 2^23, tracks than 2^32: the key is exact for all traces that fit into memory. */
    uint64_t key = (uint64_t)part->track.index << 32 | (uint64_t)part->by_samples << 31 | (uint64_t)part->activity << 8 |
                   (uint64_t)part->state << 5 | part->rule;
    uint64_t number;
    struct path_parts *parts = summing->parts;
    if (map_get(&summing->numbers, key, &number)) {
        struct path_part *sum = &parts->parts[number];
        sum->time_ns += part->time_ns;
        sum->count += part->count;
        if (part->confidence > sum->confidence)
            sum->confidence = part->confidence;
        *ret_number = (uint32_t)number;
        return 0;
    }
    struct path_part *grown = array_reserve(parts->parts, &summing->capacity, parts->count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    parts->parts = grown;
    if (map_set(&summing->numbers, key, parts->count) < 0)
        return -ENOMEM;
    *ret_number = (uint32_t)parts->count;
    grown[parts->count++] = *part;
    return 0;
}

static int add_stretch(struct summing *summing, const struct path_part *part, uint32_t number, int64_t begin_ns,
                       int64_t end_ns)
{
    struct code_stretch *last = summing->stretch_count ? &summing->stretches[summing->stretch_count - 1] : NULL;
    if (last && last->track == part->track.index && last->part == number && last->end_ns == begin_ns) {
        last->end_ns = end_ns;
        return 0;
    }
    struct code_stretch *grown =
        array_reserve(summing->stretches, &summing->stretch_capacity, summing->stretch_count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    summing->stretches = grown;
    grown[summing->stretch_count++] =
        (struct code_stretch){.track = part->track.index, .part = number, .begin_ns = begin_ns, .end_ns = end_ns};
    return 0;
}

static int sum_part(struct summing *summing, const struct critical_path *path, const struct activity_set *where, uint32_t point,
                    struct path_part part)
{
    const struct activities *activities = summing->parts->activities;
    uint32_t number;
    bool code = span_kind_is_code(activities->rows[part.activity].kind) && part.state == PATH_WORK;
    enum activity_portion portion = activity_set_portion(where, part.track, path->graph->span[point], code);
    if (part.time_ns == 0 || portion == ACTIVITY_NOTHING)
        return 0;
    part.by_samples = portion == ACTIVITY_BY_SAMPLES;
    int result = add_part(summing, &part, &number);
    return result == 0 && code
               ? add_stretch(summing, &part, number, path->measured_ns[point - 1], path->measured_ns[point])
               : result;
}

static int sum_step(struct summing *summing, const struct critical_path *path, const struct activity_set *where,
                    uint32_t step)
{
    struct path_part parts[2];
    uint32_t count = path_parts_of_step(path, summing->parts->activities, step, parts);
    int result = 0;
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = sum_part(summing, path, where, path->steps[step].point, parts[i]);
    return result;
}

int path_parts_create(const struct critical_path *path, const struct activities *activities,
                      const struct activity_set *where, struct path_parts **ret_parts, struct error *err)
{
    CLEANUP(path_parts_destroyp) struct path_parts *parts = calloc(1, sizeof *parts);
    if (!parts)
        return error_set(err, -ENOMEM, "out of memory while summing the critical path");
    parts->activities = activities;
    struct summing summing = {.parts = parts};
    map_init(&summing.numbers);
    int result = 0;
    for (uint32_t s = 0; result == 0 && s < path->step_count; s++)
        result = sum_step(&summing, path, where, s);
    if (result < 0)
        error_set(err, result, "out of memory while summing the critical path");
    else if (path->graph->trace)
        result = path_parts_divide(parts, summing.stretches, summing.stretch_count, where, path->graph->trace, err);
    for (size_t p = 0; p < parts->count; p++)
        parts->total_ns += parts->parts[p].time_ns;
    map_finish(&summing.numbers);
    free(summing.stretches);
    if (result == 0)
        *ret_parts = TAKE_PTR(parts);
    return result;
}

void path_parts_destroy(struct path_parts *parts)
{
    if (!parts)
        return;
    free(parts->parts);
    free(parts);
}
