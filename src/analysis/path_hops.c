/* SPDX-License-Identifier: MIT */
/* Steps of the path put together to hops, hops folded. */
#include "path_hops.h"
#include "path_preempted.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>

#define PAIR_PERIOD_MAX 4

static bool is_on_lane(const struct path_hop *hop)
{
    return hop->state == PATH_WORK || hop->state == PATH_DESCHEDULED;
}

/* A preempted stretch is one with what was preempted. */
static bool continues(const struct path_hop *hop, const struct path_hop *next)
{
    return (next->state == hop->state ? hop->state != PATH_EDGE : is_on_lane(hop) && is_on_lane(next)) &&
           hop->track.index == next->track.index && hop->span.index == next->span.index &&
           hop->begin_ns + hop->duration_ns == next->begin_ns;
}

static struct path_hop hop_of(const struct critical_path *path, const struct activities *activities, uint32_t step)
{
    struct path_part part = path_part_of(path, activities, step);
    uint32_t point = path->steps[step].point;
    struct path_hop hop = {.track = part.track,
                           .span = path->graph->span[point],
                           .activity = part.activity,
                           .state = part.state,
                           .rule = part.rule,
                           .confidence = part.confidence,
                           .duration_ns = part.time_ns,
                           .descheduled_ns = part.state == PATH_DESCHEDULED ? part.time_ns : path_step_preempted(path, step)};
    hop.begin_ns = step == 0 ? path->graph->begin_ns : path->graph->time_ns[path->steps[step - 1].point];
    return hop;
}

static bool wanted(const struct critical_path *path, const struct activities *activities,
                   const struct activity_set *where, const struct path_hop *hop, uint32_t step)
{
    const struct path_step *of = &path->steps[step];
    bool crosses = of->edge != EDGE_NONE && step > 0 && path->graph->lane[of->point] != LANE_NONE &&
                   path->graph->lane[path->steps[step - 1].point] != path->graph->lane[of->point];
    if (hop->duration_ns == 0 && !crosses)
        return false;
    bool code = span_kind_is_code(activities->rows[hop->activity].kind) && hop->state == PATH_WORK;
    return activity_set_portion(where, hop->track, hop->span, code) == ACTIVITY_WHOLE;
}

static int gather(struct path_hops *hops, const struct critical_path *path, const struct activities *activities,
                  const struct activity_set *where)
{
    size_t capacity = 0;
    for (uint32_t s = 0; s < path->step_count; s++) {
        struct path_hop hop = hop_of(path, activities, s);
        if (!wanted(path, activities, where, &hop, s))
            continue;
        struct path_hop *last = hops->count ? &hops->hops[hops->count - 1] : NULL;
        if (last && continues(last, &hop)) {
            last->duration_ns += hop.duration_ns;
            last->descheduled_ns += hop.descheduled_ns;
            if (hop.state == PATH_WORK)
                last->state = PATH_WORK;
            continue;
        }
        struct path_hop *grown = array_reserve(hops->hops, &capacity, hops->count + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        hops->hops = grown;
        grown[hops->count++] = hop;
    }
    return 0;
}

static bool alike(const struct path_hop *left, const struct path_hop *right)
{
    return left->activity == right->activity && left->track.index == right->track.index &&
           left->state == right->state && left->rule == right->rule;
}

/* How often the sequence of `period` hops at `first` follows itself, itself included. */
static uint32_t count_repeats(const struct path_hops *hops, size_t first, uint32_t period)
{
    size_t matched = 0;
    while (first + period + matched < hops->count &&
           alike(&hops->hops[first + matched], &hops->hops[first + period + matched]))
        matched++;
    return (uint32_t)(1 + matched / period);
}

/* The sequence that repeats most often. A pair of long ones is no loop, but a chance that makes the list harder to read. */
static struct path_fold fold_at(const struct path_hops *hops, size_t first)
{
    struct path_fold best = {.first = (uint32_t)first, .period = 1, .repeats = 1};
    for (uint32_t period = 1; period <= PATH_FOLD_PERIOD_MAX && first + 2 * (size_t)period <= hops->count; period++) {
        if (!alike(&hops->hops[first], &hops->hops[first + period]))
            continue;
        uint32_t repeats = count_repeats(hops, first, period);
        if (repeats > best.repeats && (repeats > 2 || period <= PAIR_PERIOD_MAX)) {
            best.period = period;
            best.repeats = repeats;
        }
    }
    for (uint64_t i = 0; i < (uint64_t)best.period * best.repeats; i++)
        best.time_ns += hops->hops[first + i].duration_ns;
    return best;
}

static int fold(struct path_hops *hops)
{
    size_t capacity = 0;
    for (size_t first = 0; first < hops->count;) {
        struct path_fold *grown = array_reserve(hops->folds, &capacity, hops->fold_count + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        hops->folds = grown;
        grown[hops->fold_count] = fold_at(hops, first);
        first += (size_t)grown[hops->fold_count].period * grown[hops->fold_count].repeats;
        hops->fold_count++;
    }
    return 0;
}

int path_hops_create(const struct critical_path *path, const struct activities *activities,
                     const struct activity_set *where, struct path_hops **ret_hops, struct error *err)
{
    CLEANUP(path_hops_destroyp) struct path_hops *hops = calloc(1, sizeof *hops);
    int result = hops ? gather(hops, path, activities, where) : -ENOMEM;
    if (result == 0)
        result = fold(hops);
    if (result < 0)
        return error_set(err, result, "out of memory while folding the critical path");
    *ret_hops = TAKE_PTR(hops);
    return 0;
}

void path_hops_destroy(struct path_hops *hops)
{
    if (!hops)
        return;
    free(hops->hops);
    free(hops->folds);
    free(hops);
}

struct path_hop path_fold_hop(const struct path_hops *hops, const struct path_fold *fold, uint32_t at)
{
    struct path_hop sum = hops->hops[fold->first + at];
    for (uint32_t r = 1; r < fold->repeats; r++) {
        const struct path_hop *hop = &hops->hops[fold->first + (size_t)r * fold->period + at];
        sum.duration_ns += hop->duration_ns;
        sum.descheduled_ns += hop->descheduled_ns;
        sum.confidence = hop->confidence > sum.confidence ? hop->confidence : sum.confidence;
    }
    return sum;
}
