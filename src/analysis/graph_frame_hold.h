/* SPDX-License-Identifier: MIT */
/* Frames that were put together, until their pieces have become shares. */
#ifndef HP_ANALYSIS_GRAPH_FRAME_HOLD_H
#define HP_ANALYSIS_GRAPH_FRAME_HOLD_H

#include "graph_frame.h"
#include "graph_share_internal.h"

struct crossing_edge {
    struct pending_edge edge;
    uint32_t phase;
};

struct frame_piece {
    struct frame_head head;
    uint32_t first_lane, lane_count, first_point, point_count; /* in the frame */
    uint32_t first_span, first_own_join;                       /* in the whole; among the pieces' own joins */
    uint32_t first_edge, edge_count;                           /* crossing ones into it */
    const struct frame_point *points;
    struct parcel parcel;
};

struct graph_frame {
    struct frame_piece *pieces;
    uint32_t piece_count, point_count;
    uint32_t span_count, own_joins, mpi_joins;
    uint32_t first_of_phase[PHASE_COUNT + 1];
    struct crossing_edge *crossing;
    bool *exits; /* by point */
    int64_t begin_ns, end_ns;
    struct graph_counts counts;
    struct graph_share *share; /* of the joins: its builder has the frame's points */
};

#endif
