/* SPDX-License-Identifier: MIT */
/*
 * What devices did: when kernels and copies ran on each, over all of its lanes, and why nothing did in between; and what of it
 * was launched inside the ranges that the program named. Formulas: docs/metrics.md, "Devices".
 */
#ifndef HP_ANALYSIS_DEVICE_ACTIVITY_H
#define HP_ANALYSIS_DEVICE_ACTIVITY_H

#include "trace/filter.h"

struct progress;

/* Why a device was idle before some work began; the parts of one gap add up to it. */
enum device_idle {
    DEVICE_IDLE_HOST_LATE,      /* until the call that launched the work began: the host came too late */
    DEVICE_IDLE_LAUNCH_LATENCY, /* from that call's begin to the work's: its lane had nothing else to do first */
    DEVICE_IDLE_DEPENDENCY,     /* launched in time, but the work waited for another lane or the host: wait lists, events */
    DEVICE_IDLE_OTHER,          /* launched in time behind other work of its lane; or nothing is known of its launch */
    DEVICE_IDLE_COUNT
};
const char *device_idle_name(enum device_idle idle);

/* One device of one process and backend: numbers of devices are the process' own. */
struct device_activity {
    process_id process;
    string_id category;
    int32_t device;
    uint64_t lanes, kernels, copies, copy_bytes;
    int64_t kernel_sum_ns, copy_sum_ns, fill_sum_ns, other_sum_ns; /* of all spans: lanes overlap */

    int64_t begin_ns, end_ns; /* first begin, last end: what follows lies between them */
    int64_t kernel_ns;        /* some kernel or graph ran */
    int64_t copy_ns;          /* none did, but a copy or fill */
    int64_t overlap_ns;       /* both at once; a part of kernel_ns */
    int64_t other_ns;         /* something else only */
    int64_t idle_ns;          /* nothing; kernel_ns + copy_ns + other_ns + idle_ns = end_ns - begin_ns */
    int64_t idle_by_ns[DEVICE_IDLE_COUNT];

    /* The same with kernels of NCCL and RCCL taken as communication: kernels that compute; communication or copies without them. */
    int64_t compute_ns, communication_ns;
};

/* The work on one device that was launched inside one range: by the range's thread, or by any of its process for one on no thread. */
struct device_range {
    span_id range;
    string_id name, group; /* group: the payload's; absent allowed */
    process_id process;
    uint32_t device;          /* in devices[] */
    uint64_t count;           /* pieces of work */
    int64_t host_ns;          /* the range itself */
    int64_t begin_ns, end_ns; /* first begin, last end of the work */
    int64_t busy_ns;          /* some of it ran */
};

struct device_activities {
    struct device_activity *devices; /* by process, device, category */
    size_t device_count;
    struct device_range *ranges; /* by range and device; those without work on a device are left out */
    size_t range_count;
    uint64_t ranges_left_out;    /* too many were open at once */
};

/* where: the work that is looked at; and the ranges, whose work is looked at whole. NULL: everything; progress may be NULL. */
int device_activities_create(const struct trace *trace, const struct trace_filter *where, const struct progress *progress,
                             struct device_activities **ret_activities, struct error *err);
void device_activities_destroy(struct device_activities *activities);
DEFINE_CLEANUP(struct device_activities *, device_activities_destroy)

#endif
