/* SPDX-License-Identifier: MIT */
/* What shares pack to show. */
#ifndef HP_ANALYSIS_PATH_SHOWN_INTERNAL_H
#define HP_ANALYSIS_PATH_SHOWN_INTERNAL_H

#include "path_shown.h"
#include "path_share_internal.h"

/* This, points by own lane (numbers of them), points (lanes' first, then joins), nodes, stretches, steps, edges, near paths, slack rows, sums. */
struct shown_head {
    struct graph_counts counts;
    uint64_t near_found;
    uint32_t lane_points; /* of the points: those on lanes */
};
struct shown_point {
    int64_t time_ns, weight_ns;
    uint32_t span; /* in the whole */
    uint8_t interval;
};
struct shown_node {
    uint32_t number, point;
};
/* A point of the share that is shown, or a foreign one by its number in the whole; UINT32_MAX: none. */
struct shown_place {
    uint32_t point;
    bool foreign;
};
struct shown_edge {
    struct shown_place from;
    uint32_t to;
    uint8_t rule, confidence;
    bool bound;
    int64_t weight_ns;
};
struct shown_near {
    struct shown_place from;
    uint32_t point, edge; /* edge: among those that are packed */
    int64_t slack_ns, bound_ns;
    uint64_t order;
};

#endif
