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

struct way {
    int64_t length_ns, explained_ns;
    uint8_t confidence;
};

static inline bool way_better(const struct way *way, const struct way *other)
{
    if (way->length_ns != other->length_ns)
        return way->length_ns > other->length_ns;
    if (way->explained_ns != other->explained_ns)
        return way->explained_ns > other->explained_ns;
    return way->confidence < other->confidence;
}

static inline int64_t interval_explained(const struct dependency_graph *graph, uint32_t point)
{
    return graph->interval[point] != INTERVAL_UNEXPLAINED ? graph->interval_weight_ns[point] : 0;
}

static inline int64_t edge_explained(const struct graph_edge *edge)
{
    return edge->rule != EDGE_RULE_LANE_START ? edge->weight_ns : 0;
}

/* A way goes on along the lane to this point; by this edge. */
static inline struct way way_of_interval(const struct dependency_graph *graph, uint32_t point)
{
    return (struct way){graph->interval_weight_ns[point], interval_explained(graph, point), CONFIDENCE_CERTAIN};
}
static inline struct way way_of_edge(const struct graph_edge *edge)
{
    return (struct way){edge->weight_ns, edge_explained(edge), edge->confidence};
}
static inline struct way way_extended(const struct way *way, const struct way *by)
{
    return (struct way){way->length_ns + by->length_ns, way->explained_ns + by->explained_ns,
                        way->confidence > by->confidence ? way->confidence : by->confidence};
}
static inline struct way way_at(const struct longest_ways *ways, uint32_t point)
{
    return (struct way){ways->length_ns[point], ways->explained_ns[point], ways->confidence[point]};
}
static inline void way_keep(struct longest_ways *ways, uint32_t point, const struct way *way)
{
    ways->length_ns[point] = way->length_ns;
    ways->explained_ns[point] = way->explained_ns;
    ways->confidence[point] = way->confidence;
}

/* The best way to a point by those to its predecessors. */
struct way critical_path_best_way(const struct longest_ways *ways, uint32_t point);
/* The point before it on the path, and the edge that leads from there; `least`: the path's own least confidence. POINT_NONE: it begins there. */
struct back_step {
    uint32_t from, edge;
};
struct back_step critical_path_step_back(const struct longest_ways *ways, uint32_t point, uint8_t least);
/* All that is summed along steps, and the bounds of the length. */
void critical_path_sum_up(struct critical_path *path);

#define NEAR_PATHS_MAX 100

/* Fills tail_ns alone, by walking the order backwards: may run beside whoever fills the rest. */
void critical_path_find_tails(struct longest_ways *ways);
/* Ways that are shorter than the path by no more than the clocks may be wrong. */
struct near_list {
    struct near_path *paths; /* room for NEAR_PATHS_MAX, sorted by slack; equal ones in the order in which they were found */
    uint32_t count;
    uint64_t found;
    int64_t length_ns; /* of the path */
    uint64_t order;    /* what those that are found next get */
};
#define NEAR_END_ORDER (UINT64_C(1) << 63) /* and the lane: behind all that come to the path */
/* Beside a point of the path, which it comes to from on_path; of a lane's end, the path's own lane being end_lane (NULL: a join's). */
void near_look_beside(struct near_list *list, const struct longest_ways *ways, uint32_t point, uint32_t on_path);
void near_look_at_end(struct near_list *list, const struct longest_ways *ways, uint32_t lane, const struct graph_lane *end_lane);
/* Slacks into path->slack_ns, which is ways->tail_ns; near paths. */
int critical_path_find_slack(struct critical_path *path, struct longest_ways *ways);

#endif
