/* SPDX-License-Identifier: MIT */
/* What a piece of a graph is packed as: a head, lanes, the columns of their points, edges, shared spans, and what the rule of processors needs. */
#ifndef HP_ANALYSIS_GRAPH_PIECE_INTERNAL_H
#define HP_ANALYSIS_GRAPH_PIECE_INTERNAL_H

#include "graph_rules.h"

struct piece_head {
    uint32_t spans, joins;
    uint32_t lost; /* not 0: records are missing somewhere */
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
struct leaving { /* a thread leaves its processor */
    uint64_t cpu; /* and its machine: machine_cpu() */
    int64_t begin_ns, end_ns;
    int64_t next_ns;   /* when it left the next time; INT64_MAX: never */
    uint64_t next_cpu; /* where it ran until then */
    uint32_t lane;
    bool preempted;
};

/* All that is in a packed piece. */
struct packed_piece {
    struct piece_head head;
    const struct piece_lane *lanes;
    const int64_t *time_ns;
    const uint8_t *interval;
    const span_id *span;
    const uint32_t *classes;
    const struct pending_edge *edges;
    const struct piece_span *shared;
    const struct leaving *leavings;
    size_t lane_count, point_count, edge_count, shared_count, leaving_count;
};
/* The piece stays as it is. Nothing of an empty parcel. -EBADMSG. */
int graph_piece_look(const struct parcel *piece, struct packed_piece *ret_packed);
/* Its shared spans, which are the next ones of the rules (*spans of them are there): their points begin with first_point. -EBADMSG. */
int graph_piece_take_shared(struct graph_rules *rules, uint32_t *spans, struct parcel *parcel, uint32_t first_point);

#endif
