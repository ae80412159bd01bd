/* SPDX-License-Identifier: MIT */
/* What one share has to show of the path, and beside it. */
#include "base/array.h"
#include "path_preempted.h"
#include "path_shown_internal.h"

#include <errno.h>
#include <stdlib.h>

struct packing {
    struct graph_share *share;
    const struct dependency_graph *graph;
    const struct share_steps *steps;
    struct parcel *out;
    uint32_t *places;        /* by own point: 0, or 1 and its place among those that are shown */
    uint32_t lane_points, point_count;
    struct near_list near;
    struct shown_edge *edges;
    size_t edge_count, edge_capacity;
};

static bool is_foreign(const struct packing *packing, uint32_t point)
{
    return packing->share->path.foreign[point];
}

static void show(struct packing *packing, uint32_t point)
{
    if (point != POINT_NONE && !is_foreign(packing, point))
        packing->places[point] = 1;
}

/* Edges are called after what begins behind them: the next stretch of the lane. */
static void show_step(struct packing *packing, const struct path_step *step)
{
    const struct dependency_graph *graph = packing->graph;
    uint32_t lane = graph->lane[step->point];
    show(packing, step->point);
    if (step->edge != EDGE_NONE && lane != LANE_NONE && step->point + 1 < graph->lanes[lane].first_point + graph->lanes[lane].point_count)
        show(packing, step->point + 1);
}

static void look_beside(struct packing *packing)
{
    const struct path_share *path = &packing->share->path;
    const struct longest_ways ways = share_ways(path);
    packing->near.length_ns = path->length_ns;
    for (uint32_t s = packing->steps->stretch_count; s-- > 0;) { /* from the path's begin on */
        const struct share_stretch *stretch = &packing->steps->stretches[s];
        for (uint32_t i = 0; i < stretch->count; i++) {
            const struct path_step *step = &packing->steps->steps[stretch->first + i];
            packing->near.order = (uint64_t)(UINT32_MAX / 2 - stretch->place) << 32 | i;
            near_look_beside(&packing->near, &ways, step->point, i > 0 ? step[-1].point : stretch->source);
        }
    }
    const struct graph_lane *end_lane = path->end_lane_number == LANE_NONE ? NULL : &path->end_lane;
    uint32_t first = packing->share->first_own_lane;
    for (uint32_t l = first; path->ends && l < first + packing->share->own_lane_count; l++) {
        packing->near.order = NEAR_END_ORDER | (l + path->first_lane);
        if (l + path->first_lane != path->end_lane_number)
            near_look_at_end(&packing->near, &ways, l, end_lane);
    }
}

static void choose_points(struct packing *packing)
{
    const struct path_share *path = &packing->share->path;
    const struct dependency_graph *graph = packing->graph;
    for (uint32_t s = 0; s < packing->steps->step_count; s++)
        show_step(packing, &packing->steps->steps[s]);
    for (uint32_t n = 0; n < packing->near.count; n++) {
        show(packing, packing->near.paths[n].from);
        show(packing, packing->near.paths[n].point);
    }
    for (uint32_t n = 0; n < path->node_count; n++)
        show(packing, path->nodes[n].point);
    for (uint32_t l = 0; l < graph->lane_count; l++)
        if (graph->lanes[l].point_count) {
            show(packing, graph->lanes[l].first_point);
            show(packing, graph->lanes[l].first_point + graph->lanes[l].point_count - 1);
        }
    for (uint32_t p = 0; p < graph->point_count; p++) {
        packing->places[p] = packing->places[p] ? ++packing->point_count : 0;
        packing->lane_points += packing->places[p] && graph->lane[p] != LANE_NONE;
    }
}

static void pack_points(const struct packing *packing)
{
    const struct dependency_graph *graph = packing->graph;
    uint32_t first = packing->share->first_own_lane, lanes = packing->share->own_lane_count;
    uint32_t *by_lane = calloc((size_t)lanes + 1, sizeof *by_lane);
    struct shown_point *points = array_resize_exact(NULL, packing->point_count, sizeof *points);
    packing->out->failed |= !by_lane || !points;
    for (uint32_t p = 0; !packing->out->failed && p < graph->point_count; p++) {
        if (!packing->places[p])
            continue;
        uint32_t span = graph->span[p].index;
        points[packing->places[p] - 1] = (struct shown_point){graph->time_ns[p], graph->interval_weight_ns[p],
                                                              span == ID_NONE ? ID_NONE : span + packing->share->first_span, graph->interval[p]};
        if (graph->lane[p] != LANE_NONE)
            by_lane[graph->lane[p] - first]++;
    }
    if (!packing->out->failed) {
        parcel_put(packing->out, by_lane, lanes, sizeof *by_lane);
        parcel_put(packing->out, points, packing->point_count, sizeof *points);
    }
    free(by_lane);
    free(points);
}

static void pack_nodes(const struct packing *packing)
{
    const struct path_share *path = &packing->share->path;
    struct shown_node *nodes = array_resize_exact(NULL, path->node_count, sizeof *nodes);
    size_t count = 0;
    packing->out->failed |= !nodes;
    for (uint32_t n = 0; nodes && n < path->node_count; n++)
        if (!is_foreign(packing, path->nodes[n].point))
            nodes[count++] = (struct shown_node){path->nodes[n].number, packing->places[path->nodes[n].point] - 1};
    if (nodes)
        parcel_put(packing->out, nodes, count, sizeof *nodes);
    free(nodes);
}

static struct shown_place place_of(const struct packing *packing, uint32_t point)
{
    const struct path_share *path = &packing->share->path;
    if (point == POINT_NONE)
        return (struct shown_place){UINT32_MAX, false};
    if (is_foreign(packing, point))
        return (struct shown_place){path->nodes[path->reached_from[point] - 1].number, true};
    return (struct shown_place){packing->places[point] - 1, false};
}

/* Its number among those that are packed. */
static uint32_t add_edge(struct packing *packing, uint32_t to, uint32_t edge)
{
    if (edge == EDGE_NONE)
        return EDGE_NONE;
    struct shown_edge *edges = array_reserve(packing->edges, &packing->edge_capacity, packing->edge_count + 1, sizeof *edges);
    packing->out->failed |= !edges;
    if (!edges)
        return EDGE_NONE;
    const struct graph_edge *of = &packing->graph->edges[edge];
    packing->edges = edges;
    edges[packing->edge_count] = (struct shown_edge){.from = place_of(packing, of->from), .to = packing->places[to] - 1, .rule = of->rule,
                                                     .confidence = of->confidence, .bound = of->bound, .weight_ns = of->weight_ns};
    return (uint32_t)packing->edge_count++;
}

static void pack_steps(struct packing *packing)
{
    const struct share_steps *of = packing->steps;
    struct path_step *steps = array_resize_exact(NULL, of->step_count, sizeof *steps);
    struct shown_near *near = array_resize_exact(NULL, packing->near.count, sizeof *near);
    packing->out->failed |= !steps || !near;
    for (uint32_t s = 0; steps && s < of->step_count; s++)
        steps[s] = (struct path_step){packing->places[of->steps[s].point] - 1, add_edge(packing, of->steps[s].point, of->steps[s].edge)};
    for (uint32_t n = 0; near && n < packing->near.count; n++) {
        const struct near_path *path = &packing->near.paths[n];
        near[n] = (struct shown_near){.from = place_of(packing, path->from),
                                      .point = path->point == POINT_NONE ? POINT_NONE : packing->places[path->point] - 1,
                                      .edge = path->point == POINT_NONE ? EDGE_NONE : add_edge(packing, path->point, path->edge),
                                      .slack_ns = path->slack_ns,
                                      .bound_ns = path->bound_ns,
                                      .order = path->order};
    }
    if (!packing->out->failed) {
        parcel_put(packing->out, of->stretches, of->stretch_count, sizeof *of->stretches);
        parcel_put(packing->out, steps, of->step_count, sizeof *steps);
        parcel_put(packing->out, packing->edges, packing->edge_count, sizeof *packing->edges);
        parcel_put(packing->out, near, packing->near.count, sizeof *near);
    }
    free(steps);
    free(near);
}

/* --- sums over all points ----------------------------------------------------------------------------------------- */

/* One span of each activity stands for it where others have other numbers for activities. */
static uint32_t *find_examples(const struct packing *packing, const struct activities *activities)
{
    uint32_t *examples = array_resize_exact(NULL, (size_t)activities->count + 1, sizeof *examples);
    for (uint32_t a = 0; examples && a < activities->count; a++)
        examples[a] = ID_NONE;
    for (uint32_t s = activities->span_count; examples && s-- > 0;)
        if (activities->of_span[s] != ACTIVITY_NONE)
            examples[activities->of_span[s]] = s + packing->share->first_span;
    return examples;
}

static int pack_slack(const struct packing *packing, const struct activities *activities, const uint32_t *examples)
{
    struct path_share *share = &packing->share->path;
    const struct critical_path path = {.graph = packing->graph, .measured_ns = packing->graph->time_ns, .slack_ns = share->ways.tail_ns};
    CLEANUP(path_slack_destroyp) struct path_slack *slack = NULL;
    for (uint32_t p = 0; p < packing->graph->point_count; p++)
        share->ways.tail_ns[p] = is_foreign(packing, p) ? 0 : share->length_ns - share->ways.length_ns[p] - share->ways.tail_ns[p];
    if (path_slack_create(&path, activities, NULL, &slack, NULL) < 0)
        return -ENOMEM;
    for (size_t r = 0; r < slack->count; r++)
        slack->rows[r].activity = examples[slack->rows[r].activity];
    parcel_put(packing->out, slack->rows, slack->count, sizeof *slack->rows);
    return 0;
}

static int pack_sums(const struct packing *packing, const struct activities *activities, const uint32_t *examples)
{
    const struct dependency_graph *graph = packing->graph;
    size_t count = (size_t)activities->count * 2, kept = 0;
    CLEANUP(freep) struct activity_sum *sums = calloc(count + 1, sizeof *sums);
    if (!sums)
        return -ENOMEM;
    for (size_t a = 0; a < count; a++)
        sums[a] = (struct activity_sum){.activity = examples[a / 2], .device = a % 2};
    for (uint32_t l = 0; l < packing->share->own_lane_count; l++) {
        const struct graph_lane *lane = &graph->lanes[packing->share->first_own_lane + l];
        for (uint32_t p = lane->first_point + 1; p < lane->first_point + lane->point_count; p++)
            if (graph->interval[p] == INTERVAL_WORK)
                sums[activity_of(activities, graph->span[p]) * (size_t)2 + packing->share->devices[l]].time_ns +=
                    graph->time_ns[p] - graph->time_ns[p - 1] - interval_preempted(graph, graph->time_ns, p);
    }
    for (size_t a = 0; a < count; a++)
        if (sums[a].time_ns)
            sums[kept++] = sums[a];
    parcel_put(packing->out, sums, kept, sizeof *sums);
    return 0;
}

static int pack_all(struct packing *packing, const struct activities *activities)
{
    look_beside(packing);
    choose_points(packing);
    const struct shown_head head = {packing->graph->counts, packing->near.found, packing->lane_points};
    parcel_put(packing->out, &head, 1, sizeof head);
    pack_points(packing);
    pack_nodes(packing);
    pack_steps(packing);
    if (!activities) {
        parcel_put(packing->out, NULL, 0, sizeof(struct slack_row));
        parcel_put(packing->out, NULL, 0, sizeof(struct activity_sum));
        return 0;
    }
    CLEANUP(freep) uint32_t *examples = find_examples(packing, activities);
    int code = examples ? pack_slack(packing, activities, examples) : -ENOMEM;
    return code ? code : pack_sums(packing, activities, examples);
}

int path_shown_pack(struct graph_share *share, const struct activities *activities, const struct preempted *preempted,
                    const struct share_steps *steps, struct parcel *shown)
{
    struct dependency_graph graph = *share->graph;
    struct packing packing = {.share = share, .graph = &graph, .steps = steps, .out = shown};
    graph.preempted = preempted;
    packing.places = calloc((size_t)share->graph->point_count + 1, sizeof *packing.places);
    packing.near.paths = calloc(NEAR_PATHS_MAX, sizeof *packing.near.paths);
    int code = packing.places && packing.near.paths ? pack_all(&packing, activities) : -ENOMEM;
    free(packing.places);
    free((void *)(uintptr_t)packing.near.paths);
    free(packing.edges);
    return code == 0 && shown->failed ? -ENOMEM : code;
}
