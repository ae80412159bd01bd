/* SPDX-License-Identifier: MIT */
/*
 * What a critical path consists of: its time summed by activity and lane, stretches of code divided among the functions
 * that the lane's CPU samples saw in them. A sample stands for more than the moment it was taken: the code of one
 * activity and lane is divided as all samples in all its stretches on the path say; where there is none it stays
 * undivided.
 */
#ifndef HP_ANALYSIS_PATH_PARTS_H
#define HP_ANALYSIS_PATH_PARTS_H

#include "activities.h"
#include "critical_path.h"

enum path_state {
    PATH_WORK,
    PATH_WAIT, /* what a blocking call took by itself */
    PATH_GAP,  /* between a device's commands */
    PATH_DESCHEDULED, /* off the processor though it could have run, within calls and lags, too: path_preempted.h */
    PATH_UNEXPLAINED,
    PATH_EDGE,  /* the lag of an edge: `rule` */
    PATH_START, /* from the begin of the graph to the path's first point */
    PATH_STATE_COUNT
};
const char *path_state_name(enum path_state state);

struct path_part {
    uint32_t activity;  /* of the innermost span; of an edge: of what it begins or ends */
    track_id track;     /* TRACK_NONE for a join */
    uint8_t state;      /* enum path_state */
    uint8_t rule;       /* of PATH_EDGE */
    uint8_t confidence; /* the least */
    bool by_samples;    /* only what samples that match stand for: of code in which a filter asks for functions */
    frame_id frame;     /* where the CPU was; FRAME_NONE: not known, or no code */
    int64_t time_ns;
    uint64_t count; /* stretches; of a part by samples: samples */
};

struct path_parts {
    const struct activities *activities;
    struct path_part *parts; /* in no order that means something, but always the same one */
    size_t count;
    int64_t total_ns;
    uint64_t samples; /* that lie in code on the path */
};

/* `where` NULL: the whole path; else what lies in the set: spans by themselves, code with the part of it that its matching samples stand for. */
int path_parts_create(const struct critical_path *path, const struct activities *activities,
                      const struct activity_set *where, struct path_parts **ret_parts, struct error *err);
void path_parts_destroy(struct path_parts *parts);
DEFINE_CLEANUP(struct path_parts *, path_parts_destroy)

/* One step of a path as a part of one stretch. */
struct path_part path_part_of(const struct critical_path *path, const struct activities *activities, uint32_t step);
/* The same without what its thread was off the processor for, which is a second part; returns how many there are: those that take time, or the first. */
uint32_t path_parts_of_step(const struct critical_path *path, const struct activities *activities, uint32_t step, struct path_part ret_parts[2]);

#endif
