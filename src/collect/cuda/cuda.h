/* SPDX-License-Identifier: MIT */
/* The CUDA collector from inside: what its files share. */
#ifndef HP_CUDA_CUDA_H
#define HP_CUDA_CUDA_H

#include "../collector.h"
#include "cupti_api.h"
#include "wire/session.h"

#define CUDA_LAYER WIRE_LAYER_CUDA

struct cuda {
    struct cupti_api cupti;
    cupti_subscriber subscriber;   /* NULL: another client of CUPTI holds the callbacks */
    uint32_t active;               /* atomic: records are taken */
    uint32_t ended;                /* atomic: the program is on its way out */
    int32_t pid;                   /* of the process that began; a child of fork has no CUDA */
    uint64_t base_ticks, base_ns;  /* our clock and CUPTI's, when it began */
    uint64_t ns_per_tick;          /* times 2^32 */
    unsigned __int128 ticks_per_ns; /* times 2^64 */
    /* Counted for the ledger, atomically. */
    uint64_t launches;             /* of kernels, successful, not into a graph */
    uint64_t launched_kernels;     /* records of kernels that were launched so */
    uint64_t device_records, unstamped, dropped;
};
extern struct cuda cuda;

/* Texts that records have often, interned at the start. */
uint32_t cuda_word(const char *text);

/* A row of the ledger, summed over processes by the merge. */
void cuda_ledger(const char *source, const char *reason, uint64_t seen, uint64_t recorded, uint64_t lost);

/* clock.c: CUPTI's clock is ours, but in ns. */
bool cuda_clock_start(void);
uint64_t cuda_clock_ns(void);
uint64_t cuda_clock_ticks(uint64_t ns);

/* calls.c: the API on the host. */
void cuda_calls_start(void);
void cuda_on_call(uint32_t domain, uint32_t id, const struct cupti_call *call);
/* Calls of our own into the driver on this thread are not the program's. */
void cuda_own_calls(bool begin);

uint32_t cuda_call_stack(void); /* of the call that is open on this thread; 0 = none */
bool cuda_capturing(void); /* some stream of the process is being captured into a graph */

/* streams.c: what handles mean. */
enum { CUDA_STREAM_NON_BLOCKING = 1 }; /* a flag of the driver's */
struct cuda_stream_id {
    uint32_t context, stream; /* CUPTI's numbers, as on lanes */
};
void cuda_stream_made(cuda_context context, cuda_stream handle);
void cuda_stream_gone(cuda_stream handle);
/* per_thread: handle 0 is the thread's own default stream. */
bool cuda_stream_find(const struct cupti_call *call, uint64_t handle, bool per_thread, struct cuda_stream_id *ret_id);
bool cuda_stream_captures(uint64_t handle, bool per_thread);
void cuda_event_made(uint64_t handle);
/* Numbers of recordings count from 1 in the process. record: a new one. last: 0 = never recorded. False: not known. */
bool cuda_event_record(uint64_t handle, uint64_t *ret_number);
bool cuda_event_last(uint64_t handle, uint64_t *ret_number);

/* activity.c: what ran on the device. */
bool cuda_activity_start(void);
void cuda_activity_finish(void);

/* resources.c: devices, modules, streams, nodes of graphs. */
void cuda_resources_start(void);
void cuda_on_resource(uint32_t id, const struct cupti_resource *resource);

/* graphs.c: which call made a node. */
void cuda_graphs_start(void);
void cuda_on_node(uint32_t id, const struct cupti_graph *graph);
uint32_t cuda_node_stack(uint64_t id); /* 0 = unknown */

/* pc_sampling.c: which instructions the device was at, and what they waited for. */
void cuda_sampling_begin(cuda_context context, uint32_t device);
void cuda_sampling_end(cuda_context context);
void cuda_sampling_collect(bool finish);

/* lanes.c */
void cuda_lane_announce(uint32_t device, uint32_t context, uint32_t stream);
void cuda_lane_null_stream(uint32_t context, uint32_t stream); /* which stream of a context is the default one */
/* What a lane's name says of its stream; known before the first command on it. */
enum cuda_lane_trait { CUDA_LANE_NON_BLOCKING = 1, CUDA_LANE_PER_THREAD = 2 };
void cuda_lane_trait(uint32_t context, uint32_t stream, enum cuda_lane_trait trait);
/* The program's own name for it (NVTX). */
void cuda_lane_name(uint32_t context, uint32_t stream, const char *name);
static inline uint64_t cuda_lane(uint32_t context, uint32_t stream)
{
    return (uint64_t)context << 32 | stream;
}

#endif
