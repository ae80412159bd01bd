/* SPDX-License-Identifier: MIT */
/*
 * A share of a graph that is made in several places: a piece (graph_piece.h) with the edges into it from other pieces (graph_frame.h). It is
 * checked and ordered like any graph; only the least lags of classes are those of all shares, found in between. Then its path_share is ready.
 */
#ifndef HP_ANALYSIS_GRAPH_SHARE_H
#define HP_ANALYSIS_GRAPH_SHARE_H

#include "path_share.h"

struct graph_share {
    struct path_share path;
    struct dependency_graph *graph; /* NULL until it is weighed. Its counts are of the share's own points */
    uint32_t first_span;            /* of the piece's spans in the whole */
    uint32_t first_own_lane, own_lane_count;
    const uint8_t *devices;         /* by own lane: whether it is a device's */
    bool circular;                  /* edges were dropped because they went round in a circle: which ones should go only the whole says */
    struct share_hold *hold;
};

/* piece stays as it is, and is not needed any more then. */
int graph_share_create(const struct parcel *piece, struct parcel *packed, uint32_t number, struct graph_share **ret_share);
void graph_share_destroy(struct graph_share *share);
DEFINE_CLEANUP(struct graph_share *, graph_share_destroy)

/* The least lags of its classes; those of all shares; with them it is weighed. */
void graph_share_pack_least(const struct graph_share *share, struct parcel *least);
int graph_least_join(struct parcel *parcels, size_t count, struct parcel *least);
int graph_share_weigh(struct graph_share *share, const struct parcel *least);

#endif
