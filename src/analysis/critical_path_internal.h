/* SPDX-License-Identifier: MIT */
/* The longest ways of a graph while they are looked for. */
#ifndef HP_ANALYSIS_CRITICAL_PATH_INTERNAL_H
#define HP_ANALYSIS_CRITICAL_PATH_INTERNAL_H

#include "critical_path.h"

/* By point: the best way to it. */
struct longest_ways {
    const struct dependency_graph *graph;
    int64_t *length_ns;
    int64_t *explained_ns;
    int64_t *tail_ns;      /* the longest way from it to any end; critical_path_find_slack puts slacks in their place */
    uint8_t *confidence;   /* of the least sure edge */
};

static inline int64_t interval_explained(const struct dependency_graph *graph, uint32_t point)
{
    return graph->interval[point] != INTERVAL_UNEXPLAINED ? graph->interval_weight_ns[point] : 0;
}

static inline int64_t edge_explained(const struct graph_edge *edge)
{
    return edge->rule != EDGE_RULE_LANE_START ? edge->weight_ns : 0;
}

#define NEAR_PATHS_MAX 100

/* Fills tail_ns alone, by walking the order backwards: may run beside whoever fills the rest. */
void critical_path_find_tails(struct longest_ways *ways);
/* Slacks into path->slack_ns, which is ways->tail_ns; near paths. */
int critical_path_find_slack(struct critical_path *path, struct longest_ways *ways);

#endif
