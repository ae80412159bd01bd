/* SPDX-License-Identifier: MIT */
/*
 * The critical path of a run: the longest way through its dependency graph, in one pass over the points and edges.
 * Where a point has no predecessor the way to it is the time from the graph's begin, and nothing explains it.
 *
 * Of several longest ways the one with most explained time is taken; of those the one whose least sure edge is the
 * surest; of those the one that is lowest by (lane, begin), compared from the end backwards, point by point (joins are
 * behind all lanes; of two connections between the same points the lane's own, then the surer edge, then the rule that
 * comes first). So there is exactly one.
 *
 * How long it may really be. A lag between two lanes is wrong by what their clocks are wrong against each other, but
 * the next point is wrong by the same on the other side: along a path the errors of all clocks in between cancel, and
 * what remains is that of the lanes where it begins and ends. So the true length lies within the sum of the two bounds
 * around (time of the end - begin of the graph). Lags that came out negative count as 0, which makes the length greater
 * than that difference: then `high` reaches up to it.
 */
#ifndef HP_ANALYSIS_CRITICAL_PATH_H
#define HP_ANALYSIS_CRITICAL_PATH_H

#include "dependency_graph.h"

#define EDGE_NONE UINT32_MAX

/* One point of the path and how the path came to it: by an edge, or (EDGE_NONE) along its lane; the first point was
 * come to by neither. */
struct path_step {
    uint32_t point;
    uint32_t edge; /* in graph->edges */
};

/* A way that is not on the path but would be as soon as it took slack_ns more: within the clocks' bounds it may be the
 * critical one. */
struct near_path {
    uint32_t from,
        point;     /* it meets the path at `point`, coming from `from`; POINT_NONE: it ends at `from`, another end */
    uint32_t edge; /* EDGE_NONE: along the lane */
    int64_t slack_ns, bound_ns;
    uint64_t order; /* of equal slack they stand in this order: as they come to the path from its begin on, then those that end elsewhere by lane */
};

struct critical_path {
    const struct dependency_graph *graph; /* must outlive it */
    const int64_t
        *measured_ns; /* by point, when it was in the trace: graph->time_ns but for runs that were not (what_if.h) */
    int64_t makespan_ns, length_ns, length_low_ns, length_high_ns;
    int64_t explained_ns;
    int64_t confidence_ns[CONFIDENCE_COUNT]; /* the explained time by what proves it; lanes' own order is certain */
    enum confidence least_confidence;        /* of its edges; CONFIDENCE_CERTAIN without any */
    int64_t kind_ns[INTERVAL_KIND_COUNT];    /* time in lanes */
    int64_t rule_ns[EDGE_RULE_COUNT];        /* time in edges: their lags */
    int64_t start_ns;                        /* from the graph's begin to the first point */
    uint32_t step_count;
    const struct path_step *steps; /* in order of time */
    const int64_t *slack_ns;       /* by point: how much later it could have been without a longer run; 0 on the path */
    const struct near_path *near_paths; /* least slack first */
    uint32_t near_count;
    uint64_t near_found; /* of which the first near_count are listed */
};

int critical_path_create(const struct dependency_graph *graph, struct critical_path **ret_path, struct error *err);
void critical_path_destroy(struct critical_path *path);
DEFINE_CLEANUP(struct critical_path *, critical_path_destroy)

/* Weight of a step, and whether it is explained. The first step is the stretch from the graph's begin. */
int64_t path_step_weight(const struct critical_path *path, uint32_t step);
bool path_step_explained(const struct critical_path *path, uint32_t step);

/* Least slack of a span's points into ret_slack_ns (span_count entries); INT64_MAX for spans that have none. */
void critical_path_span_slack(const struct critical_path *path, uint32_t span_count, int64_t *ret_slack_ns);

#endif
