/* SPDX-License-Identifier: MIT */
/*
 * What the rules of CUDA's streams and events say of a trace: which command waited for which, and which of them a synchronisation
 * waited for. Identities come from payloads (docs/cuda.md, "Who waits for whom"); what is earlier or later work, from the time of the
 * calls that launched it. Backends that say so by links themselves (OpenCL) are not looked at.
 */
#ifndef HP_ANALYSIS_DEVICE_ORDER_H
#define HP_ANALYSIS_DEVICE_ORDER_H

#include "trace/trace.h"

enum device_relation_kind {
    DEVICE_RELATION_EVENT,          /* command to command: over a recorded event that its stream waited for */
    DEVICE_RELATION_DEFAULT_STREAM, /* command to command: one of them on the legacy default stream */
    DEVICE_RELATION_ORDER,          /* command to command of a stream whose commands overlapped: launched earlier and later */
    DEVICE_RELATION_NODE,           /* node to node of one launch of a graph: the last that was over when the other began */
    DEVICE_RELATION_SYNC,           /* command to call: the call waits for it */
    DEVICE_RELATION_COPY,           /* copy to the call that asked for it and returned after it */
    DEVICE_RELATION_LAUNCH,         /* call to command: the last launch of a graph into its stream, where nothing names the launch */
    DEVICE_RELATION_COUNT
};

/* From a command's end, or a launch's begin; to a command's begin or a call's end. */
struct device_relation {
    span_id from, to;
    uint8_t kind;       /* enum device_relation_kind */
    uint8_t confidence; /* enum confidence */
};

struct device_order {
    struct device_relation *relations;
    size_t relation_count;
    span_id *idle_calls; /* calls that could have waited, with nothing to wait for: empty streams, events never recorded */
    size_t idle_call_count;
};

/* Made once of each trace, to which it belongs. */
int device_order_of(const struct trace *trace, const struct device_order **ret_order, struct error *err);

#endif
