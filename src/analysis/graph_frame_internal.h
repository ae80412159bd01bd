/* SPDX-License-Identifier: MIT */
/* What a piece's frame is packed as, and what comes back to make a share of it. */
#ifndef HP_ANALYSIS_GRAPH_FRAME_INTERNAL_H
#define HP_ANALYSIS_GRAPH_FRAME_INTERNAL_H

#include "graph_piece_internal.h"
#include "path_share.h"

/* A frame: this, its lanes with the points that are kept, those, shared spans, leavings. */
struct frame_head {
    uint32_t spans, points, joins; /* of the whole piece */
    uint64_t below_medium;
    int64_t begin_ns, end_ns; /* of its lanes' points; begin behind end: none */
};
struct frame_point {
    int64_t time_ns;
    uint32_t point; /* in the piece */
    uint8_t interval;
};

/*
 * What makes a share of a piece: this, lanes (foreign ones below, own, foreign ones behind; foreign ones with the points that are listed), the times of foreign lanes' points,
 * foreign joins, edges into own points three times (of MPI, of NCCL, of processors), intervals that rules changed, nodes, which own lanes are devices'.
 * Points of edges and nodes have the share's numbers: lanes' points, foreign joins below, own joins, foreign joins behind.
 */
struct share_head {
    uint32_t first_lane, first_span; /* of the own ones in the whole */
    uint32_t lanes_below, lanes_behind, joins_below;
    int64_t begin_ns, end_ns; /* of the whole */
};
struct share_change { /* of an own point's interval */
    uint32_t point; /* in the piece */
    uint8_t interval;
};
enum { PHASE_MPI, PHASE_NCCL, PHASE_PROCESSOR, PHASE_COUNT };

#endif
