/* SPDX-License-Identifier: MIT */
/* The run recomputed: one pass over the points in the order of their dependences. */
#include "replay.h"

#include "trace/schema.h"

/* Inlined where it is called, with what tells the weights. */
static inline __attribute__((always_inline)) void run(const struct dependency_graph *graph, const struct replay_weights *weights, int64_t *ret_time_ns)
{
    for (uint32_t i = 0; i < graph->point_count; i++) {
        uint32_t point = graph->order[i], previous = graph_previous_point(graph, point);
        uint32_t first = graph->first_edge[point], end = graph->first_edge[point + 1];
        int64_t latest_ns = previous != POINT_NONE ? ret_time_ns[previous] + weights->interval(weights->context, point) : INT64_MIN;
        for (uint32_t e = first; e < end; e++) {
            int64_t time_ns = ret_time_ns[graph->edges[e].from] + weights->edge(weights->context, point, e);
            if (time_ns > latest_ns)
                latest_ns = time_ns;
        }
        if (latest_ns > MODEL_TIME_LIMIT_NS) /* no sum overflows, and who asks can tell */
            latest_ns = MODEL_TIME_LIMIT_NS;
        ret_time_ns[point] = previous == POINT_NONE && first == end ? graph->time_ns[point] : latest_ns;
    }
}

struct columns {
    const struct dependency_graph *graph;
    const int64_t *interval_ns, *edge_ns; /* edge_ns: NULL = the graph's */
};

static int64_t interval_of_column(const void *context, uint32_t point)
{
    const struct columns *columns = context;
    return columns->interval_ns[point];
}

static int64_t edge_of_column(const void *context, uint32_t point, uint32_t edge)
{
    const struct columns *columns = context;
    (void)point;
    return columns->edge_ns ? columns->edge_ns[edge] : columns->graph->edges[edge].weight_ns;
}

void replay(const struct dependency_graph *graph, const int64_t *interval_weight_ns, const int64_t *edge_weight_ns,
            int64_t *ret_time_ns)
{
    const struct columns columns = {graph, interval_weight_ns ? interval_weight_ns : graph->interval_weight_ns, edge_weight_ns};
    const struct replay_weights weights = {interval_of_column, edge_of_column, &columns};
    run(graph, &weights, ret_time_ns);
}

void replay_with(const struct dependency_graph *graph, const struct replay_weights *weights, int64_t *ret_time_ns)
{
    run(graph, weights, ret_time_ns);
}

int64_t replay_makespan(const struct dependency_graph *graph, const int64_t *time_ns)
{
    if (graph->point_count == 0)
        return 0;
    int64_t begin_ns = time_ns[0], end_ns = time_ns[0];
    for (uint32_t i = 1; i < graph->point_count; i++) {
        if (time_ns[i] < begin_ns)
            begin_ns = time_ns[i];
        if (time_ns[i] > end_ns)
            end_ns = time_ns[i];
    }
    return end_ns - begin_ns;
}
