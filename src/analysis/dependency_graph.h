/* SPDX-License-Identifier: MIT */
/*
 * The dependency graph of a trace: what had to be over before what could go on, over all backends at once.
 *
 * Points are (lane, time). A lane is a thread or a stream of a device; its points stand in order of time, one for each begin and end of
 * a span and wherever an edge needs one. The stretch before a point, back to the lane's previous one, is that point's interval: what
 * the lane did in it. Edges lead from one point to another of any lane and come from semantics; each has its rule, confidence and
 * weight. Joins (collectives, barriers) are points of no lane, at the time their last member came.
 *
 * Weights. A point's time is that of the predecessor that bound it, plus a lag. Predecessors are the lane's previous point and the
 * sources of the edges into it; the latest of them bound, and its edge (or interval) weighs its observed lag. Every other one
 * held slack and weighs the smallest lag ever seen bind in its class (rule, endpoints, size), always less than its own. A WORK interval
 * always weighs its duration. So the longest way to a point is the point's time, and the unchanged replay gives
 * the measured run; what is not known weighs in full and is marked UNEXPLAINED.
 *
 * Times are integer nanoseconds throughout. A graph is immutable and may be read by several threads.
 */
#ifndef HP_ANALYSIS_DEPENDENCY_GRAPH_H
#define HP_ANALYSIS_DEPENDENCY_GRAPH_H

#include "trace/trace.h"

struct preempted;
struct progress;
struct trace_filter;

enum edge_rule {
#define EDGE_RULE(enumerator, name, binds, confidence, text) EDGE_RULE_##enumerator,
#include "edge_rules.def"
    EDGE_RULE_COUNT
};
const char *edge_rule_name(enum edge_rule rule);
const char *edge_rule_text(enum edge_rule rule);
enum confidence edge_rule_confidence(enum edge_rule rule); /* the best that its edges can have */

enum interval_kind {
    INTERVAL_WORK,        /* the lane did something: code, a call's own work, a kernel */
    INTERVAL_WAIT,        /* in a blocking call until an edge released it */
    INTERVAL_IDLE,        /* the lane had nothing to do until an edge gave it something */
    INTERVAL_DESCHEDULED, /* off the processor though it could have run; weighs its duration */
    INTERVAL_UNEXPLAINED, /* waited or idle, and nothing says for what; weighs its duration */
    INTERVAL_KIND_COUNT
};
const char *interval_kind_name(enum interval_kind kind);

#define POINT_NONE UINT32_MAX
#define LANE_NONE UINT32_MAX

struct graph_lane {
    track_id track;
    uint32_t first_point, point_count;
    int64_t clock_bound_ns; /* of its times against those of the other lanes: half the width of what is possible; 0 within one clock */
    uint64_t clock;         /* equal for lanes whose times are of one clock; UINT64_MAX: not known */
    int64_t node_bound_ns;  /* what of clock_bound_ns is the machine's against other machines */
    uint64_t node_clock;    /* equal for lanes of one machine's clock, devices' that were placed on it included; UINT64_MAX: not known */
};

/* How far a lag between two lanes may be wrong for their clocks; 0 within one clock. */
static inline int64_t graph_clock_bound(const struct graph_lane *from, const struct graph_lane *to)
{
    bool same = from == to || (from->clock == to->clock && from->clock != UINT64_MAX);
    if (same)
        return 0;
    bool beside = from->node_clock == to->node_clock && from->node_clock != UINT64_MAX;
    int64_t bound_ns = from->clock_bound_ns + to->clock_bound_ns;
    return beside ? bound_ns - from->node_bound_ns - to->node_bound_ns : bound_ns;
}

struct graph_edge {
    uint32_t from;
    uint8_t rule;       /* enum edge_rule */
    uint8_t confidence; /* enum confidence, after what lowered it */
    bool bound;         /* the destination waited for it */
    int64_t weight_ns;
};

/*
 * The interval of point p: lane's previous point to p (a lane's first point has none). `span` is the innermost span that lies over it,
 * SPAN_NONE for code outside all of them. Edge e into p: edges[first_edge[p] .. first_edge[p + 1]).
 */
struct dependency_graph {
    const struct trace *trace; /* a reference; NULL for a graph that was made by hand */
    const struct graph_lane *lanes;
    uint32_t lane_count;
    uint32_t point_count;
    const int64_t *time_ns;         /* by point */
    const uint32_t *lane;           /* by point; LANE_NONE for joins, which stand behind all lanes' points */
    const uint8_t *interval;        /* enum interval_kind of the interval before the point */
    const span_id *span;
    const int64_t *interval_weight_ns;
    const uint32_t *first_edge;     /* point_count + 1 entries */
    const struct graph_edge *edges; /* by destination */
    uint32_t edge_count;
    const uint32_t *order;          /* all points, each behind its predecessors */
    int64_t begin_ns, end_ns;       /* makespan: earliest and latest point */

    struct graph_counts {
        uint64_t points, edges; /* of the whole graph, where this is a part of it that was put together for its path */
        uint64_t by_rule[EDGE_RULE_COUNT][CONFIDENCE_COUNT]; /* edges that are in the graph */
        uint64_t below_medium;  /* not used for want of confidence */
        uint64_t backward;      /* the effect came before the cause by more than the clock bound: not used */
        uint64_t cycles;        /* taken out because they closed a cycle among points of one time */
        uint64_t unexplained;   /* waits and idle times without a known release */
        int64_t unexplained_ns;
        int64_t largest_backward_ns;
    } counts;
    const struct preempted *preempted; /* when threads had no processor, within calls too; NULL for a graph that was made by hand */
    void *hold;
};

/* The lane's point before this one; POINT_NONE for a lane's first point and for joins. */
static inline uint32_t graph_previous_point(const struct dependency_graph *graph, uint32_t point)
{
    uint32_t lane = graph->lane[point];
    return lane == LANE_NONE || graph->lanes[lane].first_point == point ? POINT_NONE : point - 1;
}

struct graph_options {
    bool no_processor_edges;  /* leave out EDGE_RULE_PROCESSOR */
    uint32_t leave_out_rules; /* bits by enum edge_rule: for measuring what each is worth */
    bool infer_all;           /* ignore recorded identities, infer from time (tests of the inferring rules) */
};

/* Makes the graph of all spans of a trace. options and progress may be NULL. O(points + edges). */
int dependency_graph_create(const struct trace *trace, const struct graph_options *options, const struct progress *progress,
                            struct dependency_graph **ret_graph, struct error *err);
void dependency_graph_destroy(struct dependency_graph *graph);
DEFINE_CLEANUP(struct dependency_graph *, dependency_graph_destroy)

/*
 * Building by hand: what dependency_graph_create does with what the rules find. Lanes first, each with its points in order of time,
 * then joins and edges, then finish, which decides what bound, weighs, and finds the order. A class is any number that
 * is equal for edges whose lags may be compared (0: compared with nothing); so is the class of a wait or idle interval.
 */
struct graph_builder;
int graph_builder_create(const struct trace *trace, struct graph_builder **ret_builder);
void graph_builder_destroy(struct graph_builder *builder);
DEFINE_CLEANUP(struct graph_builder *, graph_builder_destroy)

/* Returns the lane's number through ret_lane; the points that follow are its own until the next lane. */
int graph_builder_add_lane(struct graph_builder *builder, track_id track, int64_t clock_bound_ns, uint32_t *ret_lane);
/* `kind`: WORK, DESCHEDULED, or WAIT / IDLE for a stretch that needs a release; finish makes WAIT without any edge UNEXPLAINED, one that an
 * edge came too early to bind WORK, and so for IDLE without any edge. -EINVAL if time goes back. */
int graph_builder_add_point(struct graph_builder *builder, int64_t time_ns, enum interval_kind kind, span_id span, uint32_t class_of_wait,
                            uint32_t *ret_point);
/* The end of a wait whose release is known not to be needed (an empty stream was synchronised): its interval is WORK. */
void graph_builder_explain(struct graph_builder *builder, uint32_t point);
/* A point of no lane; its time becomes that of its latest predecessor. */
int graph_builder_add_join(struct graph_builder *builder, uint32_t *ret_point);
int graph_builder_add_edge(struct graph_builder *builder, uint32_t from, uint32_t to, enum edge_rule rule, enum confidence confidence,
                           uint32_t class_of_lag);
int graph_builder_finish(struct graph_builder *builder, struct dependency_graph **ret_graph, struct error *err);

#endif
