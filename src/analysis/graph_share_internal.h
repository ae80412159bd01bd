/* SPDX-License-Identifier: MIT */
/* A share while it is made. */
#ifndef HP_ANALYSIS_GRAPH_SHARE_INTERNAL_H
#define HP_ANALYSIS_GRAPH_SHARE_INTERNAL_H

#include "base/map.h"
#include "graph_frame_internal.h"
#include "graph_share.h"

struct share_hold {
    struct graph_builder *builder;
    struct builder_share marks;
    struct map least;
    bool *foreign_lanes, *foreign;
    struct foreign_join *joins;
    struct share_node *nodes;
    uint8_t *devices;
    uint32_t lane_below, lane_count; /* foreign lanes below the own; own ones */
};

/* Room for a share of a builder's lanes, which are all foreign yet. The builder is taken over. NULL: out of memory. */
struct graph_share *graph_share_alloc(struct graph_builder *builder);
/* All is in the builder, marks are set: checks, orders, and finds what bound. */
int graph_share_prepare(struct graph_share *share);

#endif
