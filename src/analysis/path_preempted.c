/* SPDX-License-Identifier: MIT */
/* How long threads had no processor in what else counts as work or as lag, by the scheduler's records. */
#include "path_preempted.h"

#include "preempted.h"

#include <math.h>

static int64_t within(const struct dependency_graph *graph, uint32_t point, int64_t begin_ns, int64_t end_ns)
{
    uint32_t lane = graph->lane[point];
    if (!graph->preempted || lane == LANE_NONE || begin_ns >= end_ns)
        return 0;
    return preempted_within(graph->preempted, graph->lanes[lane].track.index, begin_ns, end_ns);
}

int64_t interval_preempted(const struct dependency_graph *graph, const int64_t *measured_ns, uint32_t point)
{
    uint32_t previous = graph_previous_point(graph, point);
    enum interval_kind kind = (enum interval_kind)graph->interval[point];
    if (previous == POINT_NONE || (kind != INTERVAL_WORK && kind != INTERVAL_WAIT)) /* a wait that weighs is what comes behind its release */
        return 0;
    return within(graph, point, measured_ns[previous], measured_ns[point]);
}

int64_t lag_preempted(const struct dependency_graph *graph, const int64_t *measured_ns, uint32_t edge, uint32_t to)
{
    if (graph->edges[edge].rule == EDGE_RULE_LANE_START) /* nobody knows what its thread did before */
        return 0;
    return within(graph, to, measured_ns[graph->edges[edge].from], measured_ns[to]);
}

/* In a run that was not, a stretch that takes another time is preempted for the same share of it. */
int64_t path_step_preempted(const struct critical_path *path, uint32_t step)
{
    const struct dependency_graph *graph = path->graph;
    const struct path_step *of = &path->steps[step];
    int64_t weight_ns = path_step_weight(path, step), preempted_ns, begin_ns;
    if (!graph->preempted || step == 0 || weight_ns <= 0)
        return 0;
    if (of->edge == EDGE_NONE) {
        begin_ns = path->measured_ns[path->steps[step - 1].point];
        preempted_ns = interval_preempted(graph, path->measured_ns, of->point);
    } else {
        begin_ns = path->measured_ns[graph->edges[of->edge].from];
        preempted_ns = lag_preempted(graph, path->measured_ns, of->edge, of->point);
    }
    int64_t measured_ns = path->measured_ns[of->point] - begin_ns;
    if (preempted_ns > 0 && measured_ns != weight_ns)
        preempted_ns = llround((double)preempted_ns / (double)measured_ns * (double)weight_ns);
    return preempted_ns < weight_ns ? preempted_ns : weight_ns;
}
