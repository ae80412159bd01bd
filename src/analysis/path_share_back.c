/* SPDX-License-Identifier: MIT */
/* The way back in a share: where it comes from at each node, and its steps. */
#include "path_share_internal.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>

static bool leaves(const struct path_share *share, const struct back_step *step)
{
    return step->from == POINT_NONE || share->foreign[step->from];
}

/* From each point the way back to where it comes into the share, or begins: whoever comes later in the order has it from those before. */
static void find_entries(struct path_share *share)
{
    const struct longest_ways ways = share_ways(share);
    uint32_t *entry = share->more; /* whether points are nodes is not asked any more */
    for (uint32_t i = 0; i < share->graph->point_count; i++) {
        uint32_t point = share->graph->order[i];
        if (share->foreign[point])
            continue;
        struct back_step step = critical_path_step_back(&ways, point, share->least);
        entry[point] = leaves(share, &step) ? point : entry[step.from];
    }
}

/* The foreign point from which the path comes in, if it goes through this point. */
static uint32_t source_of(const struct path_share *share, uint32_t point)
{
    const struct longest_ways ways = share_ways(share);
    return critical_path_step_back(&ways, share->more[point], share->least).from;
}

static uint32_t number_at(const struct path_share *share, uint32_t foreign)
{
    return foreign == POINT_NONE ? NUMBER_NONE : share->nodes[share->reached_from[foreign] - 1].number;
}

int path_share_link(struct path_share *share, uint32_t number, struct parcel *end, struct parcel *links)
{
    size_t count;
    const struct whole_end *whole = parcel_take(end, sizeof *whole, &count);
    if (count != 1)
        return -EBADMSG;
    share->least = whole->end.way.confidence;
    share->length_ns = whole->end.way.length_ns;
    share->ends = whole->end.any;
    share->has_end = whole->end.any && whole->share == number;
    share->end_lane = whole->end.of;
    share->end_lane_number = whole->end.lane;
    find_entries(share);
    struct share_link *all = array_resize_exact(NULL, (size_t)share->node_count + 1, sizeof *all);
    uint32_t kept = 0;
    if (!all)
        return -ENOMEM;
    for (uint32_t n = 0; n < share->node_count; n++)
        if (!share->foreign[share->nodes[n].point])
            all[kept++] = (struct share_link){share->nodes[n].number, number_at(share, source_of(share, share->nodes[n].point))};
    if (share->has_end)
        all[kept++] = (struct share_link){NUMBER_NONE, number_at(share, source_of(share, share->end))};
    parcel_put(links, all, kept, sizeof *all);
    free(all);
    return links->failed ? -ENOMEM : 0;
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

void share_steps_finish(struct share_steps *steps)
{
    free(steps->stretches);
    free(steps->steps);
    *steps = (struct share_steps){0};
}

static int add_step(struct share_steps *steps, uint32_t point, uint32_t edge)
{
    struct path_step *grown = array_reserve(steps->steps, &steps->step_capacity, (size_t)steps->step_count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    steps->steps = grown;
    grown[steps->step_count++] = (struct path_step){.point = point, .edge = edge};
    return 0;
}

static int walk_stretch(const struct path_share *share, uint32_t point, uint32_t place, struct share_steps *steps)
{
    const struct longest_ways ways = share_ways(share);
    struct share_stretch *grown = array_reserve(steps->stretches, &steps->stretch_capacity, (size_t)steps->stretch_count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    steps->stretches = grown;
    struct share_stretch *stretch = &grown[steps->stretch_count++];
    *stretch = (struct share_stretch){.place = place, .first = steps->step_count};
    for (bool within = true; within;) {
        struct back_step back = critical_path_step_back(&ways, point, share->least);
        if (add_step(steps, point, back.edge) < 0)
            return -ENOMEM;
        within = !leaves(share, &back);
        point = back.from;
    }
    stretch->source = point;
    stretch->count = steps->step_count - stretch->first;
    for (uint32_t i = 0; i < stretch->count / 2; i++) {
        struct path_step *left = &steps->steps[stretch->first + i], *right = &steps->steps[steps->step_count - 1 - i];
        struct path_step step = *left;
        *left = *right;
        *right = step;
    }
    return 0;
}

static int walk_chain(const struct path_share *share, const struct map *points, const uint32_t *chain, size_t chain_count, struct share_steps *steps)
{
    int code = share->has_end ? walk_stretch(share, share->end, 0, steps) : 0;
    for (size_t i = 0; i < chain_count && code == 0; i++) {
        uint64_t point;
        if (map_get(points, chain[i], &point))
            code = walk_stretch(share, (uint32_t)point, (uint32_t)i + 1, steps);
    }
    return code;
}

int path_share_walk(struct path_share *share, const uint32_t *chain, size_t chain_count, struct share_steps *ret_steps)
{
    struct map points; /* own nodes' by number */
    int code = 0;
    map_init(&points);
    for (uint32_t n = 0; n < share->node_count && code == 0; n++)
        if (!share->foreign[share->nodes[n].point])
            code = map_set(&points, share->nodes[n].number, share->nodes[n].point);
    *ret_steps = (struct share_steps){0};
    if (code == 0)
        code = walk_chain(share, &points, chain, chain_count, ret_steps);
    map_finish(&points);
    if (code < 0)
        share_steps_finish(ret_steps);
    return code;
}
