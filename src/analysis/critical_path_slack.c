/* SPDX-License-Identifier: MIT */
/* What is not on the path: how much each point could be later, and the ways that the clocks' errors might hide. */
#include "critical_path_internal.h"

#include <errno.h>

void critical_path_find_tails(struct longest_ways *ways)
{
    const struct dependency_graph *graph = ways->graph;
    int64_t *tail_ns = ways->tail_ns;
    for (uint32_t p = 0; p < graph->point_count; p++)
        tail_ns[p] = 0;
    for (uint32_t i = graph->point_count; i-- > 0;) {
        uint32_t point = graph->order[i], previous = graph_previous_point(graph, point);
        if (previous != POINT_NONE && tail_ns[previous] < graph->interval_weight_ns[point] + tail_ns[point])
            tail_ns[previous] = graph->interval_weight_ns[point] + tail_ns[point];
        for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
            int64_t by_edge_ns = graph->edges[e].weight_ns + tail_ns[point];
            if (tail_ns[graph->edges[e].from] < by_edge_ns)
                tail_ns[graph->edges[e].from] = by_edge_ns;
        }
    }
}

static void note_near(struct near_list *list, const struct near_path *near)
{
    list->found++;
    uint32_t at = list->count;
    while (at > 0 && list->paths[at - 1].slack_ns > near->slack_ns)
        at--;
    if (at == NEAR_PATHS_MAX)
        return;
    uint32_t last = list->count < NEAR_PATHS_MAX ? list->count++ : NEAR_PATHS_MAX - 1;
    for (uint32_t i = last; i > at; i--)
        list->paths[i] = list->paths[i - 1];
    list->paths[at] = *near;
    list->paths[at].order = list->order;
}

static int64_t bound_between(const struct dependency_graph *graph, uint32_t lane, uint32_t other)
{
    if (lane == LANE_NONE || other == LANE_NONE)
        return 0;
    return graph_clock_bound(&graph->lanes[lane], &graph->lanes[other]);
}

void near_look_beside(struct near_list *list, const struct longest_ways *ways, uint32_t point, uint32_t on_path)
{
    const struct dependency_graph *graph = ways->graph;
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
        const struct graph_edge *edge = &graph->edges[e];
        if (edge->from == on_path)
            continue;
        struct near_path near = {
            .from = edge->from,
            .point = point,
            .edge = e,
            .slack_ns = list->length_ns - (ways->length_ns[edge->from] + edge->weight_ns + ways->tail_ns[point]),
            .bound_ns = on_path == POINT_NONE ? 0 : bound_between(graph, graph->lane[edge->from], graph->lane[on_path]),
        };
        if (near.slack_ns <= near.bound_ns)
            note_near(list, &near);
    }
    uint32_t previous = graph_previous_point(graph, point);
    if (previous == POINT_NONE || previous == on_path || on_path == POINT_NONE)
        return;
    struct near_path near = {
        .from = previous,
        .point = point,
        .edge = EDGE_NONE,
        .slack_ns = list->length_ns - (ways->length_ns[previous] + graph->interval_weight_ns[point] + ways->tail_ns[point]),
        .bound_ns = bound_between(graph, graph->lane[previous], graph->lane[on_path]),
    };
    if (near.slack_ns <= near.bound_ns)
        note_near(list, &near);
}

void near_look_at_end(struct near_list *list, const struct longest_ways *ways, uint32_t lane, const struct graph_lane *end_lane)
{
    const struct graph_lane *of = &ways->graph->lanes[lane];
    if (of->point_count == 0)
        return;
    uint32_t last = of->first_point + of->point_count - 1;
    struct near_path near = {.from = last,
                             .point = POINT_NONE,
                             .edge = EDGE_NONE,
                             .slack_ns = list->length_ns - ways->length_ns[last],
                             .bound_ns = end_lane ? graph_clock_bound(of, end_lane) : 0};
    if (near.slack_ns <= near.bound_ns)
        note_near(list, &near);
}

int critical_path_find_slack(struct critical_path *path, struct longest_ways *ways)
{
    int64_t *tail_ns = ways->tail_ns;
    const struct dependency_graph *graph = path->graph;
    struct near_list list = {.paths = calloc(NEAR_PATHS_MAX, sizeof *list.paths), .length_ns = path->length_ns};
    if (!list.paths)
        return -ENOMEM;
    for (uint32_t s = 0; s < path->step_count; s++) {
        list.order = s;
        near_look_beside(&list, ways, path->steps[s].point, s > 0 ? path->steps[s - 1].point : POINT_NONE);
    }
    uint32_t end_lane = path->step_count > 0 ? graph->lane[path->steps[path->step_count - 1].point] : LANE_NONE;
    for (uint32_t l = 0; path->step_count > 0 && l < graph->lane_count; l++) {
        list.order = NEAR_END_ORDER | l;
        if (l != end_lane)
            near_look_at_end(&list, ways, l, end_lane != LANE_NONE ? &graph->lanes[end_lane] : NULL);
    }
    path->near_paths = list.paths;
    path->near_count = list.count;
    path->near_found = list.found;
    for (uint32_t p = 0; p < path->graph->point_count; p++)
        tail_ns[p] = path->length_ns - ways->length_ns[p] - tail_ns[p];
    return 0;
}

void critical_path_span_slack(const struct critical_path *path, uint32_t span_count, int64_t *ret_slack_ns)
{
    const struct dependency_graph *graph = path->graph;
    for (uint32_t s = 0; s < span_count; s++)
        ret_slack_ns[s] = INT64_MAX;
    for (uint32_t p = 0; p < graph->point_count; p++) {
        uint32_t span = graph->span[p].index;
        if (span < span_count && path->slack_ns[p] < ret_slack_ns[span])
            ret_slack_ns[span] = path->slack_ns[p];
    }
}
