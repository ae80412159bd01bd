/* SPDX-License-Identifier: MIT */
/*
 * A critical path as hops: stretches of one span on one lane, preempted or not, and the edges between lanes; to pass a
 * join is one of them. Where the same sequence of hops (lanes, activities, rules) follows itself again and again, as
 * loops make it, it stands once, with a count.
 */
#ifndef HP_ANALYSIS_PATH_HOPS_H
#define HP_ANALYSIS_PATH_HOPS_H

#include "path_parts.h"

struct path_hop {
    track_id track; /* TRACK_NONE: a join */
    span_id span;   /* innermost; of an edge: of where it leads to; SPAN_NONE: outside of all */
    uint32_t activity;
    uint8_t state; /* enum path_state */
    uint8_t rule;  /* of PATH_EDGE */
    uint8_t confidence;
    int64_t begin_ns, duration_ns;
    int64_t descheduled_ns; /* of it, off the processor though it could have run; of an edge: the thread that it leads to */
};

#define PATH_FOLD_PERIOD_MAX 32

struct path_fold {
    uint32_t first, period; /* in hops: the sequence hops[first .. first + period) */
    uint32_t repeats;       /* it stands there so often, one behind the other */
    int64_t time_ns;        /* of all of them */
};

struct path_hops {
    struct path_hop *hops;
    size_t count;
    struct path_fold *folds;
    size_t fold_count;
};

/* Zero-long stretches are left out; edges between lanes are there whatever they weigh. `where` NULL: all. */
int path_hops_create(const struct critical_path *path, const struct activities *activities,
                     const struct activity_set *where, struct path_hops **ret_hops, struct error *err);
void path_hops_destroy(struct path_hops *hops);
DEFINE_CLEANUP(struct path_hops *, path_hops_destroy)

/* One hop of a fold's sequence: the first, with the times and the worst confidence of all repeats. */
struct path_hop path_fold_hop(const struct path_hops *hops, const struct path_fold *fold, uint32_t at);

#endif
