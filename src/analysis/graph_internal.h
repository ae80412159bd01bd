/* SPDX-License-Identifier: MIT */
/*
 * A dependency graph while it is made. Points come lane by lane into columns, edges into one list; finish sorts the
 * edges by destination, sets the joins' times, takes out what is too early or too unsure, orders the points
 * (graph_order.c) and decides what bound and what it weighs (graph_weigh.c). Only the files of the graph itself include
 * this.
 */
#ifndef HP_ANALYSIS_GRAPH_INTERNAL_H
#define HP_ANALYSIS_GRAPH_INTERNAL_H

#include "dependency_graph.h"
#include "preempted.h"

#define EDGE_DROPPED 0xff /* in an edge's confidence: taken out, gone when graph_compact is through */

/* An edge as it was added; its class moves into graph_edge.weight_ns until it is weighed, and a wait's class likewise.
 */
struct pending_edge {
    uint32_t from, to;
    uint32_t class_of_lag;
    uint8_t rule, confidence;
};

/* The columns of a graph: what `hold` owns, and what its const pointers point to. */
struct graph_columns {
    struct trace *trace;
    const struct preempted *preempted; /* belongs to the trace */
    struct graph_lane *lanes;
    int64_t *time_ns;
    uint32_t *lane;
    uint8_t *interval;
    span_id *span;
    int64_t *interval_weight_ns;
    uint32_t *first_edge;
    struct graph_edge *edges;
    uint32_t *order;
};

/* What a builder has of a graph that is made in several places (graph_share.h): its own points, and those of others that its edges come
 * from, whose times were found elsewhere. */
struct builder_share {
    const bool *foreign_lanes;                /* by lane */
    uint32_t first_own_join, own_join_end;    /* points; the other joins are foreign */
    const struct foreign_join {
        int64_t time_ns;
        uint32_t lane;                        /* whose clock its time is in; LANE_NONE: nobody came to it */
    } *before, *behind;                       /* in the order of their points */
    int64_t begin_ns, end_ns;                 /* of the whole */
};

struct graph_builder {
    struct graph_columns columns;
    size_t lane_capacity, time_capacity, interval_capacity, span_capacity, weight_capacity, pending_capacity;
    struct pending_edge *pending;
    uint32_t pending_count;
    uint32_t lane_count, point_count, lane_point_count; /* the last: points of lanes; joins follow them */
    uint32_t maximum;                                   /* of points and of edges: their numbers have 32 bits */
    uint32_t *join_lane;  /* by join: the lane that came last, whose clock its time is in */
    uint32_t edge_count;
    struct graph_counts counts;
    bool circular;                     /* edges were dropped because they went round in a circle */
    const struct builder_share *share; /* NULL: all is its own. Its lanes' clocks are known then */
};

/* Fills columns.preempted, where it is not yet and there is a trace. */
int graph_find_preempted(struct graph_builder *builder, struct error *err);
/* Whether what leads to a point is known here. */
static inline bool graph_builder_owns(const struct graph_builder *builder, uint32_t point)
{
    const struct builder_share *share = builder->share;
    uint32_t lane = builder->columns.lane[point];
    if (!share)
        return true;
    return lane != LANE_NONE ? !share->foreign_lanes[lane] : point >= share->first_own_join && point < share->own_join_end;
}

/* Each point's lane; gives back what is too much of the columns. */
int graph_number_lanes(struct graph_builder *builder);
/* Edges of points [first_edge[p], first_edge[p + 1]) in the order they were added. */
int graph_sort_edges(struct graph_builder *builder);
/* Sets joins' times, drops edges whose effect came first, lowers what lies under the clock bound. */
int graph_check_times(struct graph_builder *builder);
/* Fills columns.order; drops edges that close a cycle. */
int graph_order(struct graph_builder *builder);
void graph_compact(struct graph_builder *builder);
int graph_weigh(struct graph_builder *builder);
/* The same in two passes: what bound and the least lags of classes; with the least of all places what the rest weighs. */
struct map;
int graph_find_bounds(struct graph_builder *builder, struct map *least);
int graph_note_lag(struct map *least, uint64_t class_key, int64_t lag_ns);
int graph_weigh_rest(struct graph_builder *builder, const struct map *least);

/* graph_builder_finish in two parts, between which points are weighed. */
int graph_builder_prepare(struct graph_builder *builder);
int graph_builder_hand_over(struct graph_builder *builder, struct dependency_graph **ret_graph);

/* How far a lag between two points may be wrong for their clocks; 0 within one clock. */
int64_t graph_lag_bound(const struct graph_builder *builder, uint32_t from, uint32_t to);
/* Fills the lanes' clocks. */
void graph_find_clocks(struct graph_builder *builder);

/* Runs job over [0, count) in chunks on all cores, or at once on the caller when there is little to do. Each chunk has
 * a state of state_size zeroed bytes; they are returned in order through ret_states (ret_chunks of them) for the caller
 * to sum up and free. */
int graph_for_chunks(uint32_t count, size_t state_size,
                     void (*job)(void *context, void *state, uint32_t first, uint32_t end), void *context,
                     void **ret_states, uint32_t *ret_chunks);

static inline const struct graph_edge *graph_edges_of(const struct graph_columns *columns, uint32_t point,
                                                      uint32_t *ret_count)
{
    *ret_count = columns->first_edge[point + 1] - columns->first_edge[point];
    return columns->edges + columns->first_edge[point];
}

#endif
