/* SPDX-License-Identifier: MIT */
/*
 * The longest way, in two passes. Length and explained time add up, so the best (length, explained) to a point extends
 * the best to one of its predecessors; for each the best least confidence is kept. The path's own least confidence is
 * known at its end, and only then can (lane, begin) decide: on the way back any predecessor will do that lies on a best
 * way and is not less sure than the whole.
 */
#include "critical_path_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/thread_pool.h"

#include <errno.h>

#define POINTS_FOR_THREADS (UINT32_C(1) << 18) /* below it threads cost more than they bring */

static struct way way_along_lane(const struct longest_ways *ways, uint32_t previous, uint32_t point)
{
    struct way way = way_at(ways, previous), by = way_of_interval(ways->graph, point);
    return way_extended(&way, &by);
}

static struct way way_by_edge(const struct longest_ways *ways, const struct graph_edge *edge)
{
    struct way way = way_at(ways, edge->from), by = way_of_edge(edge);
    return way_extended(&way, &by);
}

struct way critical_path_best_way(const struct longest_ways *ways, uint32_t point)
{
    const struct dependency_graph *graph = ways->graph;
    uint32_t previous = graph_previous_point(graph, point);
    struct way best = {.length_ns = INT64_MIN};
    if (previous != POINT_NONE)
        best = way_along_lane(ways, previous, point);
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
        struct way way = way_by_edge(ways, &graph->edges[e]);
        if (way_better(&way, &best))
            best = way;
    }
    if (best.length_ns == INT64_MIN)
        best = (struct way){.length_ns = graph->time_ns[point] - graph->begin_ns};
    return best;
}

static void find_ways(struct longest_ways *ways)
{
    for (uint32_t i = 0; i < ways->graph->point_count; i++) {
        struct way best = critical_path_best_way(ways, ways->graph->order[i]);
        way_keep(ways, ways->graph->order[i], &best);
    }
}

static bool lower(const struct dependency_graph *graph, uint32_t point, uint32_t other)
{
    if (graph->lane[point] != graph->lane[other])
        return graph->lane[point] < graph->lane[other];
    if (graph->time_ns[point] != graph->time_ns[other])
        return graph->time_ns[point] < graph->time_ns[other];
    return point < other;
}

static uint32_t find_end(const struct longest_ways *ways)
{
    uint32_t best = POINT_NONE;
    struct way best_way = {.length_ns = INT64_MIN};
    for (uint32_t p = 0; p < ways->graph->point_count; p++) {
        struct way way = way_at(ways, p);
        if (way_better(&way, &best_way) ||
            (!way_better(&best_way, &way) && best != POINT_NONE && lower(ways->graph, p, best))) {
            best_way = way;
            best = p;
        }
    }
    return best;
}

static bool edge_surer(const struct dependency_graph *graph, uint32_t edge, uint32_t other)
{
    const struct graph_edge *left = &graph->edges[edge], *right = &graph->edges[other];
    if (left->confidence != right->confidence)
        return left->confidence < right->confidence;
    return left->rule != right->rule ? left->rule < right->rule : edge < other;
}

struct back_step critical_path_step_back(const struct longest_ways *ways, uint32_t point, uint8_t least)
{
    const struct dependency_graph *graph = ways->graph;
    uint32_t previous = graph_previous_point(graph, point);
    struct back_step step = {POINT_NONE, EDGE_NONE};
    if (previous != POINT_NONE) {
        struct way way = way_along_lane(ways, previous, point);
        if (way.length_ns == ways->length_ns[point] && way.explained_ns == ways->explained_ns[point] &&
            way.confidence <= least)
            step.from = previous;
    }
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
        struct way way = way_by_edge(ways, &graph->edges[e]);
        uint32_t from = graph->edges[e].from;
        if (way.length_ns != ways->length_ns[point] || way.explained_ns != ways->explained_ns[point] ||
            way.confidence > least)
            continue;
        if (step.from == POINT_NONE || lower(graph, from, step.from) ||
            (from == step.from && step.edge != EDGE_NONE && edge_surer(graph, e, step.edge)))
            step = (struct back_step){from, e};
    }
    return step;
}

static int walk_back(struct critical_path *path, const struct longest_ways *ways, uint32_t end, struct error *err)
{
    struct path_step *steps = NULL;
    size_t capacity = 0;
    uint32_t count = 0;
    for (uint32_t point = end; point != POINT_NONE;) {
        struct back_step back = critical_path_step_back(ways, point, ways->confidence[end]);
        struct path_step *grown = array_reserve(steps, &capacity, (size_t)count + 1, sizeof *steps);
        if (!grown) {
            free(steps);
            return error_set(err, -ENOMEM, "the critical path: out of memory");
        }
        steps = grown;
        steps[count++] = (struct path_step){.point = point, .edge = back.edge};
        point = back.from;
    }
    for (uint32_t i = 0; i < count / 2; i++) {
        struct path_step step = steps[i];
        steps[i] = steps[count - 1 - i];
        steps[count - 1 - i] = step;
    }
    path->steps = steps;
    path->step_count = count;
    return 0;
}

int64_t path_step_weight(const struct critical_path *path, uint32_t step)
{
    const struct path_step *of = &path->steps[step];
    if (of->edge != EDGE_NONE)
        return path->graph->edges[of->edge].weight_ns;
    return step == 0 ? path->start_ns : path->graph->interval_weight_ns[of->point];
}

bool path_step_explained(const struct critical_path *path, uint32_t step)
{
    const struct path_step *of = &path->steps[step];
    if (of->edge != EDGE_NONE)
        return path->graph->edges[of->edge].rule != EDGE_RULE_LANE_START;
    return step > 0 && path->graph->interval[of->point] != INTERVAL_UNEXPLAINED;
}

static void sum_up(struct critical_path *path)
{
    const struct dependency_graph *graph = path->graph;
    for (uint32_t s = 0; s < path->step_count; s++) {
        const struct path_step *step = &path->steps[s];
        int64_t weight_ns = path_step_weight(path, s);
        enum confidence confidence = step->edge != EDGE_NONE ? graph->edges[step->edge].confidence : CONFIDENCE_CERTAIN;
        if (path_step_explained(path, s))
            path->confidence_ns[confidence] += weight_ns;
        if (step->edge != EDGE_NONE)
            path->rule_ns[graph->edges[step->edge].rule] += weight_ns;
        else if (s > 0)
            path->kind_ns[graph->interval[step->point]] += weight_ns;
    }
}

/* Whose clock the path's time is in at a point: joins have that of whom they took their time from. */
static uint32_t lane_at(const struct critical_path *path, uint32_t step)
{
    while (step > 0 && path->graph->lane[path->steps[step].point] == LANE_NONE)
        step--;
    return path->graph->lane[path->steps[step].point];
}

static uint32_t earliest_lane(const struct dependency_graph *graph, uint32_t preferred)
{
    uint32_t earliest = LANE_NONE;
    for (uint32_t l = 0; l < graph->lane_count; l++)
        if (graph->lanes[l].point_count > 0 && graph->time_ns[graph->lanes[l].first_point] == graph->begin_ns &&
            (earliest == LANE_NONE || l == preferred))
            earliest = l;
    return earliest;
}

static void find_bounds(struct critical_path *path)
{
    const struct dependency_graph *graph = path->graph;
    uint32_t last = path->step_count - 1, end_lane = lane_at(path, last);
    uint32_t begin_lane = earliest_lane(graph, end_lane);
    int64_t bound_ns = 0;
    if (begin_lane != LANE_NONE && end_lane != LANE_NONE)
        bound_ns = graph_clock_bound(&graph->lanes[begin_lane], &graph->lanes[end_lane]);
    int64_t measured_ns = graph->time_ns[path->steps[last].point] - graph->begin_ns;
    path->length_low_ns = measured_ns > bound_ns ? measured_ns - bound_ns : 0;
    path->length_high_ns = measured_ns + bound_ns > path->length_ns ? measured_ns + bound_ns : path->length_ns;
    if (path->length_low_ns > path->length_ns)
        path->length_low_ns = path->length_ns;
}

void critical_path_sum_up(struct critical_path *path)
{
    sum_up(path);
    find_bounds(path);
}

static void find_tails(void *ways)
{
    critical_path_find_tails(ways);
}

/* Ways from the begin and to the end need nothing of each other: in large graphs a thread each. */
static void find_both(struct longest_ways *ways)
{
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    bool beside = ways->graph->point_count >= POINTS_FOR_THREADS && thread_pool_create(1, &pool) == 0 &&
                  thread_pool_submit(pool, find_tails, ways) == 0;
    find_ways(ways);
    if (beside)
        thread_pool_wait(pool);
    else
        find_tails(ways);
}

static int find_path(struct critical_path *path, struct longest_ways *ways, struct error *err)
{
    find_both(ways);
    uint32_t end = find_end(ways);
    if (end == POINT_NONE) /* an empty graph: a path of no length */
        return 0;
    int result = walk_back(path, ways, end, err);
    if (result < 0)
        return result;
    path->length_ns = ways->length_ns[end];
    path->explained_ns = ways->explained_ns[end];
    path->least_confidence = ways->confidence[end];
    path->start_ns = ways->length_ns[path->steps[0].point];
    critical_path_sum_up(path);
    return 0;
}

int critical_path_create(const struct dependency_graph *graph, struct critical_path **ret_path, struct error *err)
{
    CLEANUP(critical_path_destroyp) struct critical_path *path = calloc(1, sizeof *path);
    CLEANUP(freep) int64_t *length_ns = array_resize_exact(NULL, graph->point_count, sizeof *length_ns);
    CLEANUP(freep) uint8_t *confidence = array_resize_exact(NULL, graph->point_count, 1);
    CLEANUP(freep) int64_t *explained_ns = array_resize_exact(NULL, graph->point_count, sizeof *explained_ns);
    int64_t *tail_ns = array_resize_exact(NULL, graph->point_count, sizeof *tail_ns);
    if (path) {
        path->graph = graph;
        path->measured_ns = graph->time_ns;
        path->slack_ns = tail_ns; /* becomes the slacks */
        path->makespan_ns = graph->end_ns - graph->begin_ns;
    } else
        free(tail_ns);
    if (!path || !length_ns || !confidence || !explained_ns || !tail_ns)
        return error_set(err, -ENOMEM, "the critical path (%u points) needs more memory than there is",
                         graph->point_count);
    struct longest_ways ways = {
        .graph = graph, .length_ns = length_ns, .explained_ns = explained_ns, .tail_ns = tail_ns, .confidence = confidence};
    int result = find_path(path, &ways, err);
    if (result == 0)
        result = critical_path_find_slack(path, &ways);
    if (result < 0)
        return result == -ENOMEM ? error_set(err, result, "the critical path: out of memory") : result;
    *ret_path = TAKE_PTR(path);
    return 0;
}

static void free_const(const void *memory)
{
    free((void *)(uintptr_t)memory);
}

void critical_path_destroy(struct critical_path *path)
{
    if (!path)
        return;
    free_const(path->steps);
    free_const(path->slack_ns);
    free_const(path->near_paths);
    free(path);
}
