/* SPDX-License-Identifier: MIT */
/* What a piece of a graph is packed as: a head, lanes, the columns of their points, edges, shared spans, and what the rule of processors needs. */
#ifndef HP_ANALYSIS_GRAPH_PIECE_INTERNAL_H
#define HP_ANALYSIS_GRAPH_PIECE_INTERNAL_H

#include "graph_rules.h"

struct piece_head {
    uint32_t spans, joins;
    uint32_t before_nccl; /* of the edges: those that come before NCCL's */
    uint64_t below_medium;
};
struct piece_lane {
    uint32_t track, point_count;
    int64_t clock_bound_ns;
};
struct piece_span { /* of those that are in the shared parts, too, in their order */
    uint32_t begin_point, end_point;
    uint32_t kind;
};

#endif
