/* SPDX-License-Identifier: MIT */
/*
 * The run recomputed from its dependency graph: each point's time is the latest of its predecessors' plus their weights. With the
 * graph's own weights that is the measured run; with others it is what would have happened, as far as the graph knows.
 */
#ifndef HP_ANALYSIS_REPLAY_H
#define HP_ANALYSIS_REPLAY_H

#include "dependency_graph.h"

/*
 * ret_time_ns gets point_count times, in ns as the graph's. NULL for a weight column: the graph's own. A point without any
 * predecessor keeps its measured time. One pass, O(points + edges), no failure: weights up to MODEL_TIME_LIMIT_NS don't overflow, and
 * no point comes later than that.
 */
void replay(const struct dependency_graph *graph, const int64_t *interval_weight_ns, const int64_t *edge_weight_ns, int64_t *ret_time_ns);
/* The same with weights that are told as they are needed: two columns less in memory. */
struct replay_weights {
    int64_t (*interval)(const void *context, uint32_t point); /* of the one that ends at the point */
    int64_t (*edge)(const void *context, uint32_t point, uint32_t edge); /* to the point; edge: its place in graph->edges */
    const void *context;
};
void replay_with(const struct dependency_graph *graph, const struct replay_weights *weights, int64_t *ret_time_ns);
/* Latest point minus earliest of such times. */
int64_t replay_makespan(const struct dependency_graph *graph, const int64_t *time_ns);

#endif
