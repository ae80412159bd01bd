/* SPDX-License-Identifier: MIT */
/*
 * What a prediction rests on that is not sure: edges below high confidence, and time off the processor in what was changed. For each, the run
 * is replayed once more as if it were otherwise; how far the predictions lie apart is what is not known.
 */
#include "path_preempted.h"
#include "preempted.h"
#include "replay.h"
#include "what_if_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/saturated.h"

#include <errno.h>
#include <math.h>

/* Times of a replay that uses only sure edges: a wait that an unsure one ended takes as long as it took. */
static void replay_sure(const struct changing *changing, const int64_t *interval_ns, const struct graph_edge *edges, int64_t *ret_time_ns)
{
    const struct dependency_graph *graph = changing->graph;
    for (uint32_t i = 0; i < graph->point_count; i++) {
        uint32_t point = graph->order[i], previous = graph_previous_point(graph, point);
        int64_t weight_ns = interval_ns[point], latest_ns = INT64_MIN;
        for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++) {
            if (graph->edges[e].confidence <= CONFIDENCE_HIGH) {
                int64_t time_ns = ret_time_ns[graph->edges[e].from] + edges[e].weight_ns;
                latest_ns = time_ns > latest_ns ? time_ns : latest_ns;
            } else if (graph->edges[e].bound && previous != POINT_NONE) {
                weight_ns = graph->time_ns[point] - graph->time_ns[previous];
            }
        }
        if (previous != POINT_NONE && ret_time_ns[previous] + weight_ns > latest_ns)
            latest_ns = ret_time_ns[previous] + weight_ns;
        latest_ns = latest_ns < MODEL_TIME_LIMIT_NS ? latest_ns : MODEL_TIME_LIMIT_NS;
        ret_time_ns[point] = latest_ns == INT64_MIN ? graph->time_ns[point] : latest_ns;
    }
}

static void find_unsure_edges(struct changing *changing, int64_t *time_ns)
{
    const struct dependency_graph *graph = changing->graph;
    struct what_if_bounds *bounds = &changing->result->bounds;
    replay_sure(changing, graph->interval_weight_ns, graph->edges, time_ns);
    int64_t unchanged_ns = replay_makespan(graph, time_ns);
    replay_sure(changing, changing->interval_weight_ns, changing->edges, time_ns);
    bounds->sure_edges_ns = changing->result->replayed_ns + (replay_makespan(graph, time_ns) - unchanged_ns);
}

/* The new weight of something that was off the processor for preempted_ns of its old one, if that had stayed. */
static int64_t with_preempted(int64_t old_ns, int64_t new_ns, int64_t preempted_ns, bool replaced)
{
    if (preempted_ns > old_ns)
        preempted_ns = old_ns;
    double stays = replaced || old_ns <= 0 ? (double)preempted_ns : (double)preempted_ns * (1 - (double)new_ns / (double)old_ns);
    double result = (double)new_ns + stays;
    return result < (double)MODEL_TIME_LIMIT_NS ? llround(result) : MODEL_TIME_LIMIT_NS;
}

static void keep_preempted_interval(struct changing *changing, uint32_t point, int64_t *interval_ns)
{
    const struct dependency_graph *graph = changing->graph;
    struct what_if_bounds *bounds = &changing->result->bounds;
    int64_t old_ns = graph->interval_weight_ns[point], new_ns = changing->interval_weight_ns[point];
    interval_ns[point] = new_ns;
    if (old_ns == new_ns)
        return;
    int64_t preempted_ns = graph->interval[point] == INTERVAL_DESCHEDULED ? old_ns : interval_preempted(graph, graph->time_ns, point);
    preempted_ns = preempted_ns < old_ns ? preempted_ns : old_ns;
    add_saturated(&bounds->changed_ns, old_ns);
    add_saturated(&bounds->preempted_ns, preempted_ns);
    interval_ns[point] = with_preempted(old_ns, new_ns, preempted_ns, false);
}

static void keep_preempted_edge(struct changing *changing, uint32_t edge, uint32_t to, struct graph_edge *edges)
{
    const struct dependency_graph *graph = changing->graph;
    struct what_if_bounds *bounds = &changing->result->bounds;
    int64_t old_ns = graph->edges[edge].weight_ns, new_ns = changing->edges[edge].weight_ns;
    edges[edge] = changing->edges[edge];
    if (old_ns == new_ns || !graph->edges[edge].bound)
        return;
    int64_t preempted_ns = lag_preempted(graph, graph->time_ns, edge, to);
    add_saturated(&bounds->changed_ns, old_ns);
    add_saturated(&bounds->preempted_ns, preempted_ns);
    edges[edge].weight_ns = with_preempted(old_ns, new_ns, preempted_ns, changing->options->network && what_if_is_network((enum edge_rule)edges[edge].rule));
}

static void find_preempted(struct changing *changing, int64_t *interval_ns, struct graph_edge *edges, int64_t *time_ns)
{
    const struct dependency_graph *graph = changing->graph;
    struct what_if_bounds *bounds = &changing->result->bounds;
    for (uint32_t point = 0; point < graph->point_count; point++) {
        keep_preempted_interval(changing, point, interval_ns);
        for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++)
            keep_preempted_edge(changing, e, point, edges);
    }
    struct dependency_graph kept = *graph;
    kept.edges = edges;
    replay(&kept, interval_ns, NULL, time_ns);
    bounds->preempted_stays_ns = replay_makespan(graph, time_ns);
    bounds->preempted_known = graph->preempted && graph->preempted->known;
}

/* The change is what comes without unsure edges and what they add: where these go opposite ways, their sum may be next to nothing and is no measure of either. */
double what_if_unsure_share(const struct what_if *what_if)
{
    double sure = fabs((double)what_if->replayed_ns - (double)what_if->bounds.sure_edges_ns);
    double unsure = fabs((double)what_if->bounds.sure_edges_ns - (double)what_if->predicted_ns);
    return sure + unsure > 0 ? unsure / (sure + unsure) : (double)NAN;
}

int what_if_find_bounds(struct changing *changing, struct error *err)
{
    const struct dependency_graph *graph = changing->graph;
    struct what_if_bounds *bounds = &changing->result->bounds;
    CLEANUP(freep) int64_t *time_ns = array_resize_exact(NULL, (size_t)graph->point_count + 1, sizeof *time_ns);
    CLEANUP(freep) int64_t *interval_ns = array_resize_exact(NULL, (size_t)graph->point_count + 1, sizeof *interval_ns);
    CLEANUP(freep) struct graph_edge *edges = array_resize_exact(NULL, (size_t)graph->edge_count + 1, sizeof *edges);
    if (!time_ns || !interval_ns || !edges)
        return error_set(err, -ENOMEM, "the replay (%u points) needs more memory than there is", graph->point_count);
    find_unsure_edges(changing, time_ns);
    find_preempted(changing, interval_ns, edges, time_ns);
    const int64_t others[] = {bounds->sure_edges_ns, bounds->preempted_stays_ns};
    bounds->low_ns = bounds->high_ns = changing->result->predicted_ns;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        bounds->low_ns = others[i] < bounds->low_ns ? others[i] : bounds->low_ns;
        bounds->high_ns = others[i] > bounds->high_ns ? others[i] : bounds->high_ns;
    }
    return 0;
}
