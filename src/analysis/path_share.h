/* SPDX-License-Identifier: MIT */
/*
 * The longest way through a graph that lies in several places. Each place has a share of it: its own points with all edges into them, and of
 * the others those that these edges come from (foreign points), of which it knows the time, not what leads there.
 *
 * Each share puts together what ways there are between its nodes: foreign points, own points that other shares' edges come from, and own points
 * that can be reached from more nodes than a few, so that there are never many ways to tell. Of two ways between the same nodes the better is
 * better whatever comes before and behind it, so one says all. In one place (path_whole.h) the longest ways over all nodes are found, which are few; each
 * share gets its own nodes' back, and fills in the points between them. So it goes with the tails, and with the way back: at each node it is
 * known where the path leaves the share. What comes out is what critical_path_create finds in the whole graph, to the last number.
 */
#ifndef HP_ANALYSIS_PATH_SHARE_H
#define HP_ANALYSIS_PATH_SHARE_H

#include "base/parcel.h"
#include "critical_path.h"

#define NUMBER_NONE UINT32_MAX

/* A point that several shares know, by one number in all of them. */
struct share_node {
    uint32_t point, number;
};

struct path_share {
    /* Given. */
    const struct dependency_graph *graph; /* begin_ns and end_ns are the whole's; the order needs to be right for the share's own edges only */
    const bool *foreign;                  /* by point */
    const struct share_node *nodes;       /* all foreign points that edges come from, and own ones that other shares' edges come from */
    uint32_t node_count;
    uint32_t first_lane;                  /* add it to an own lane's number for that in the whole */
    uint32_t split;                       /* joins from this point on are behind others' in the whole: */
    uint64_t order_before, order_behind;  /* add one of them to a point's number for its place among the points of all shares at one time */
    /* Found. */
    struct way_columns {
        int64_t *length_ns, *explained_ns, *tail_ns;
        uint8_t *confidence;
    } ways;
    uint32_t *reached_from; /* by point: the first node that leads there */
    uint32_t *more;         /* by point: where the others are; whether it is a node itself */
    uint32_t *all_nodes;    /* points of nodes from 1 on: the given ones, then those that were made; node 0 is the begin */
    uint32_t all_count;
    size_t all_capacity;
    uint32_t end;           /* the best of its own points to end at; POINT_NONE */
    int64_t length_ns;      /* of the whole's path */
    uint8_t least;          /* its least confidence */
    bool ends, has_end;     /* there is a path; it ends in this share */
    uint32_t end_lane_number; /* the lane where it ends, as the whole counts them; LANE_NONE: in a join */
    struct graph_lane end_lane;
};

void path_share_finish(struct path_share *share);

/* The ways between nodes. -ENOMEM. */
int path_share_contract(struct path_share *share, struct parcel *ways);
/* The nodes' values come back: fills in all points, and tells what end would be the best of this share. -EBADMSG, -ENOMEM. */
int path_share_fill(struct path_share *share, struct parcel *values, struct parcel *end);
/* The whole's end is known (path_whole.h packs it, `number` is this share's): from where ways come to each own given node. */
int path_share_link(struct path_share *share, uint32_t number, struct parcel *end, struct parcel *links);

/* Steps of the path in this share: a stretch from where the path comes in, or begins, to where it goes out, or ends. */
struct share_stretch {
    uint32_t place;  /* among all stretches of the path, which are counted from its end */
    uint32_t source; /* the foreign point it comes from; POINT_NONE */
    uint32_t first, count;
};
struct share_steps {
    struct share_stretch *stretches;
    struct path_step *steps;
    uint32_t stretch_count, step_count;
    size_t stretch_capacity, step_capacity;
};
void share_steps_finish(struct share_steps *steps);
/* chain: numbers of the nodes that the path goes out of shares at, from the end on, which itself has none. */
int path_share_walk(struct path_share *share, const uint32_t *chain, size_t chain_count, struct share_steps *ret_steps);

#endif
