/* SPDX-License-Identifier: MIT */
/*
 * The run on an ideal network: messages and collectives take no time, and calls of MPI none but that of waiting for who is late. What
 * MPI_Init takes stays, as it is before the window and puts all ranks in step.
 */
#include "efficiency_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "replay.h"

#include <errno.h>
#include <stdlib.h>

static bool is_network(uint8_t rule)
{
    switch (rule) {
    case EDGE_RULE_MESSAGE:
    case EDGE_RULE_RENDEZVOUS:
    case EDGE_RULE_LARGE_SEND:
    case EDGE_RULE_COLLECTIVE:
    case EDGE_RULE_WINDOW_SYNC:
    case EDGE_RULE_PASSIVE_TARGET:
    case EDGE_RULE_TARGET_PROGRESS:
    case EDGE_RULE_DEVICE_COLLECTIVE: return true;
    default: return false;
    }
}

/* What each span is to the network. MPI_Init and MPI_Finalize are no communication. */
int efficiency_tell_calls(struct efficiency_reading *reading)
{
    const struct span_table *table = reading->table;
    reading->calls = malloc(table->count + (size_t)1);
    if (!reading->calls)
        return -ENOMEM;
    for (uint32_t i = 0; i < table->count; i++) {
        bool mpi = backend_of(&reading->backends, table->category[i]) == BACKEND_MPI;
        reading->calls[i] = table->kind[i] == SPAN_KIND_INIT ? EFFICIENCY_CALL_INIT : mpi ? EFFICIENCY_CALL_MPI : EFFICIENCY_CALL_OTHER;
    }
    reading->call_count = table->count;
    return 0;
}

static bool is_init(const struct efficiency_reading *reading, uint32_t span)
{
    return span < reading->call_count && reading->calls[span] == EFFICIENCY_CALL_INIT;
}

static bool is_communication(const struct efficiency_reading *reading, uint32_t span)
{
    return span < reading->call_count && reading->calls[span] == EFFICIENCY_CALL_MPI;
}

/* When the replay comes to this time of a lane's: its last point up to then, and what is left. */
static bool replayed_time(const struct dependency_graph *graph, uint32_t track, int64_t time_ns, const int64_t *replayed_ns, int64_t *ret_ns)
{
    for (uint32_t i = 0; i < graph->lane_count; i++) {
        const struct graph_lane *lane = &graph->lanes[i];
        if (lane->track.index != track || !lane->point_count || graph->time_ns[lane->first_point] > time_ns)
            continue;
        uint32_t low = lane->first_point, high = lane->first_point + lane->point_count;
        while (low + 1 < high) {
            uint32_t middle = low + (high - low) / 2;
            if (graph->time_ns[middle] <= time_ns)
                low = middle;
            else
                high = middle;
        }
        *ret_ns = replayed_ns[low] + (time_ns - graph->time_ns[low]);
        return true;
    }
    return false;
}

static bool ideal_run(const struct efficiency_reading *reading, const struct dependency_graph *graph, const int64_t *replayed_ns, double *ret_ns)
{
    const struct efficiency *out = reading->out;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
    for (size_t i = 0; i < out->process_count; i++) {
        struct efficiency_bounds bounds = reading->bounds[i];
        uint32_t main = out->threads[out->processes[i].first_thread].track.index;
        int64_t begin_ns, end_ns;
        if (reading->part)
            bounds = (struct efficiency_bounds){out->begin_ns, out->end_ns};
        if (!replayed_time(graph, main, bounds.begin_ns, replayed_ns, &begin_ns) || !replayed_time(graph, main, bounds.end_ns, replayed_ns, &end_ns))
            return false;
        first_ns = begin_ns < first_ns ? begin_ns : first_ns;
        last_ns = end_ns > last_ns ? end_ns : last_ns;
    }
    *ret_ns = (double)(last_ns - first_ns);
    return last_ns > first_ns;
}

struct ideal {
    const struct efficiency_reading *reading;
    const struct dependency_graph *graph;
};

static int64_t ideal_interval(const void *context, uint32_t point)
{
    const struct ideal *ideal = context;
    const struct dependency_graph *graph = ideal->graph;
    bool free_of_charge = graph->interval[point] != INTERVAL_UNEXPLAINED && graph->lane[point] != LANE_NONE &&
                          is_communication(ideal->reading, graph->span[point].index);
    return free_of_charge ? 0 : graph->interval_weight_ns[point];
}

static int64_t ideal_edge(const void *context, uint32_t point, uint32_t edge)
{
    const struct ideal *ideal = context;
    const struct dependency_graph *graph = ideal->graph;
    bool starts = graph->lane[point] != LANE_NONE && is_init(ideal->reading, graph->span[point].index);
    return is_network(graph->edges[edge].rule) && !starts ? 0 : graph->edges[edge].weight_ns;
}

static int replay_ideal(struct efficiency_reading *reading, const struct dependency_graph *graph)
{
    struct efficiency_inputs *inputs = &reading->out->inputs;
    const struct ideal ideal = {reading, graph};
    const struct replay_weights weights = {ideal_interval, ideal_edge, &ideal};
    CLEANUP(freep) int64_t *replayed_ns = array_resize_exact(NULL, graph->point_count + (size_t)1, sizeof *replayed_ns);
    if (!replayed_ns)
        return -ENOMEM;
    replay_with(graph, &weights, replayed_ns);
    if (!ideal_run(reading, graph, replayed_ns, &inputs->value[EFFICIENCY_INPUT_IDEAL]))
        inputs->ideal_reason = "the graph does not have all main threads from MPI_Init to MPI_Finalize";
    return 0;
}

int efficiency_replay(struct efficiency_reading *reading)
{
    CLEANUP(dependency_graph_destroyp) struct dependency_graph *graph = NULL;
    if (!reading->out->inputs.mpi)
        return 0;
    int result = dependency_graph_create(reading->trace, NULL, reading->progress, &graph, reading->err);
    return result ? result : replay_ideal(reading, graph);
}
