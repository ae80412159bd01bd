/* SPDX-License-Identifier: MIT */
/* The insides of device_activity: what ran on devices and who launched it, as rows. */
#ifndef HP_ANALYSIS_DEVICE_WORK_H
#define HP_ANALYSIS_DEVICE_WORK_H

#include "device_activity.h"

enum work_class { /* bits: what runs at once is a set of them */
    WORK_NONE = 0,       /* a wait in the lane */
    WORK_COMPUTE = 1,
    WORK_COLLECTIVE = 2, /* kernels of NCCL and RCCL */
    WORK_MEMORY = 4,
    WORK_OTHER = 8,
    WORK_CLASSES = 4,
    WORK_SETS = 16
};

struct device_work {
    int64_t begin_ns, end_ns;
    int64_t call_begin_ns, call_end_ns; /* of the call that launched it; call_begin_ns INT64_MIN: not known */
    span_id span, launch;               /* launch: the call */
    track_id lane, thread;              /* thread: the call's track */
    uint16_t device;                    /* in devices[] */
    uint8_t class;
    bool chosen : 1;                    /* the filter wants it */
    bool depends : 1;                   /* waited for something that is not of its lane */
};

struct device_works {
    const struct trace *trace;
    struct filter_match *match; /* NULL = everything */
    const struct trace_track *tracks;
    uint32_t track_count;
    struct device_activities *activities;
    size_t device_capacity;
    struct device_work *rows;
    size_t count, capacity;
    struct error *err;
};

/* All return 0, or -errno with or without a text in err. */
/* Reads lanes, links and calls: fills rows, and of devices[] all that needs no times. */
int device_works_read(struct device_works *works, const struct progress *progress);
/* Fills the times of devices[]. Sorts rows. */
int device_works_sweep(struct device_works *works);
/* Fills ranges[]. Sorts rows. */
int device_works_project(struct device_works *works);

/* Sums over hostile files may leave 63 bits: they stop there. */
static inline void sum_time(int64_t *sum, int64_t begin_ns, int64_t end_ns)
{
    int64_t length_ns;
    if (__builtin_sub_overflow(end_ns, begin_ns, &length_ns) || __builtin_add_overflow(*sum, length_ns, sum))
        *sum = INT64_MAX;
}

#endif
