/* SPDX-License-Identifier: MIT */
/* What shares of a path and the whole tell each other. */
#ifndef HP_ANALYSIS_PATH_SHARE_INTERNAL_H
#define HP_ANALYSIS_PATH_SHARE_INTERNAL_H

#include "critical_path_internal.h"
#include "path_share.h"

#define NODE_BEGIN 0 /* where ways begin that come from nowhere */

/* The best way from one node of a share to another that goes through no third one; they stand by where they begin. */
struct share_arc {
    int64_t length_ns, explained_ns;
    uint32_t to;
    uint8_t confidence;
};
static inline struct way way_of_arc(const struct share_arc *arc)
{
    return (struct way){arc->length_ns, arc->explained_ns, arc->confidence};
}
/* What is known of a node when the whole is solved. */
struct node_value {
    struct way way;
    int64_t tail_ns;
};
/* The best end of a share: lower ones of the whole are first by lane, time, order. */
struct share_end {
    struct way way;
    int64_t time_ns;
    uint64_t order;
    uint32_t lane;
    bool any;
    struct graph_lane of; /* that lane */
};
/* The whole's. */
struct whole_end {
    struct share_end end;
    uint32_t share;
    bool circle; /* there is none: the shares' edges go round in a circle */
};
/* An own node's number, and that of the node that the path comes from if it goes through the first. NUMBER_NONE: the path's end; its begin. */
struct share_link {
    uint32_t number, source;
};

/* The better end, or of equal ones the lower. */
static inline bool share_end_before(const struct share_end *end, const struct share_end *other)
{
    if (way_better(&end->way, &other->way) || way_better(&other->way, &end->way))
        return way_better(&end->way, &other->way);
    if (end->lane != other->lane)
        return end->lane < other->lane;
    return end->time_ns != other->time_ns ? end->time_ns < other->time_ns : end->order < other->order;
}

static inline struct longest_ways share_ways(const struct path_share *share)
{
    return (struct longest_ways){.graph = share->graph,
                                 .length_ns = share->ways.length_ns,
                                 .explained_ns = share->ways.explained_ns,
                                 .tail_ns = share->ways.tail_ns,
                                 .confidence = share->ways.confidence};
}

#endif
