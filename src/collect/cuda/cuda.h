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

/* streams.c: what handles mean. */
enum { CUDA_STREAM_NON_BLOCKING = 1 }; /* a flag of the driver's */
struct cuda_stream_id {
    uint32_t context, stream; /* CUPTI's numbers, as on lanes */
};
void cuda_stream_made(cuda_context context, cuda_stream handle);
void cuda_stream_gone(cuda_stream handle);
/* per_thread: handle 0 is the thread's own default stream. */
bool cuda_stream_find(const struct cupti_call *call, uint64_t handle, bool per_thread, struct cuda_stream_id *ret_id);
bool cuda_stream_known(uint64_t handle, struct cuda_stream_id *ret_id); /* outside of a call: one that the program made */
void cuda_stream_defaults(const struct cupti_call *call, bool per_thread); /* at the end of each call: names the lanes of default streams in time */
bool cuda_capturing(void); /* some stream of the process is being captured into a graph */
void cuda_capture_begin(uint64_t handle, bool per_thread);
void cuda_capture_end(uint64_t handle, bool per_thread);
void cuda_event_made(uint64_t handle);
/* Numbers of recordings count from 1 in the process; 0 = never recorded. record: a new one; last: of whoever waits on the host; wait: of
 * a stream that waits. */
enum cuda_event_state { CUDA_EVENT_UNKNOWN, CUDA_EVENT_NUMBERED, CUDA_EVENT_CAPTURED };
enum cuda_event_state cuda_event_record(uint64_t handle, uint64_t stream, bool per_thread, uint64_t *ret_number);
enum cuda_event_state cuda_event_last(uint64_t handle, uint64_t *ret_number);
enum cuda_event_state cuda_event_wait(uint64_t handle, uint64_t stream, bool per_thread, uint64_t *ret_number);

/* activity.c: what ran on the device. */
bool cuda_activity_start(void);
void cuda_activity_finish(void);

/* memory.c, overhead.c: False: the record is another's. */
bool cuda_on_memory_record(const struct cupti_record *record);
bool cuda_on_overhead_record(const struct cupti_record *record);
uint32_t cuda_memory_word(unsigned kind);
void cuda_managed_start(uint32_t device); /* the program takes managed memory */

/* resources.c: devices, modules, streams, nodes of graphs. */
void cuda_resources_start(void);
void cuda_device_rename(uint32_t device, const char *name); /* as the program calls it */
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
/* Lanes that are no streams; announced when they are first used. device: UINT32_MAX = of the host. */
enum cuda_own_lane { CUDA_OWN_JIT = 1, CUDA_OWN_OVERHEAD = 2, CUDA_OWN_MANAGED = 3 };
uint64_t cuda_own_lane(enum cuda_own_lane lane, uint32_t device);
/* The program's own name for it (NVTX). */
void cuda_lane_name(uint32_t context, uint32_t stream, const char *name);
static inline uint64_t cuda_lane(uint32_t context, uint32_t stream)
{
    return (uint64_t)context << 32 | stream;
}

#endif
