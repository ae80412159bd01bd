/* SPDX-License-Identifier: MIT */
/*
 * What NCCL looks for in us: one table of functions for each version of its profiler interface. NCCL loads us itself
 * (NCCL_PROFILER_PLUGIN), also where it is linked into a framework.
 */
#include "events.h"

#define EXPORT __attribute__((visibility("default")))

bool nccl_ready(void)
{
    static uint32_t state; /* 0 = not asked yet, 1 = no, 2 = yes */
    uint32_t known = __atomic_load_n(&state, __ATOMIC_ACQUIRE);
    if (!known) {
        known = rt_register(WIRE_LAYER_NCCL, "nccl") ? 2 : 1;
        __atomic_store_n(&state, known, __ATOMIC_RELEASE);
    }
    return known == 2;
}

/* Returning an error makes NCCL do without us. */
static int open_comm(void **context, int *mask, uint64_t comm, int rank, int wanted)
{
    *mask = 0;
    *context = nccl_ready() ? nccl_comm_open(comm, rank, wanted & NCCL_KERNEL_CHANNEL) : 0;
    if (!*context)
        return NCCL_INTERNAL_ERROR;
    nccl_calls_stop();
    *mask = wanted;
    return NCCL_SUCCESS;
}

static int init_v1(void **context, int *mask)
{
    return open_comm(context, mask, 0, -1, NCCL_COLL | NCCL_P2P);
}
static int init_v4(void **context, int *mask, const char *name, uint64_t comm, int nodes, int ranks, int rank, void *log)
{
    (void)name;
    (void)nodes;
    (void)log;
    (void)ranks;
    return open_comm(context, mask, comm, rank, NCCL_COLL | NCCL_P2P | NCCL_KERNEL_CHANNEL);
}
static int init_v5(void **context, uint64_t comm, int *mask, const char *name, int nodes, int ranks, int rank, void *log)
{
    (void)name;
    (void)nodes;
    (void)log;
    (void)ranks;
    return open_comm(context, mask, comm, rank,
                     NCCL_COLL | NCCL_P2P | NCCL_KERNEL_CHANNEL | NCCL_GROUP_API | NCCL_COLL_API | NCCL_P2P_API | NCCL_KERNEL_LAUNCH);
}

static int finalize(void *context)
{
    nccl_comm_close(context);
    return NCCL_SUCCESS;
}
static int stop(void *handle)
{
    if (handle)
        nccl_event_stop(handle);
    return NCCL_SUCCESS;
}
static int state(void *handle, int what, union nccl_state *arguments)
{
    if (handle && what == NCCL_STATE_KERNEL_STOP && arguments)
        nccl_event_kernel_end(handle, arguments->device_ns);
    return NCCL_SUCCESS;
}
static int state_v1(void *handle, int what, union nccl_state *arguments)
{
    (void)handle;
    (void)what;
    (void)arguments; /* tells of proxies only */
    return NCCL_SUCCESS;
}

static int start(void *context, void **handle, const struct nccl_operation *operation)
{
    *handle = context ? nccl_event_start(context, operation) : 0;
    return NCCL_SUCCESS;
}

/* Names of version 1's numbers, as later versions have them. */
static const char *function_name(uint8_t number)
{
    static const char *const names[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send", "Recv"};
    return number < sizeof names / sizeof names[0] ? names[number] : 0;
}
const char *nccl_datatype_name(uint8_t number)
{
    static const char *const names[] = {"ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32", "ncclInt64", "ncclUint64", "ncclFloat16",
                                        "ncclFloat32", "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
    return number < sizeof names / sizeof names[0] ? names[number] : 0;
}

/* Fills `operation` from a collective or point-to-point part whose members are called alike in versions 2 to 6. */
#define FROM_COLL(body)                                                                                                \
    operation.sequence = (body).coll.sequence;                                                                         \
    operation.function = (body).coll.function;                                                                         \
    operation.send = (body).coll.send;                                                                                 \
    operation.receive = (body).coll.receive;                                                                           \
    operation.count = (body).coll.count;                                                                               \
    operation.root = (body).coll.root;                                                                                 \
    operation.datatype = (body).coll.datatype;                                                                         \
    operation.algorithm = (body).coll.algorithm;                                                                       \
    operation.protocol = (body).coll.protocol;                                                                         \
    operation.channels = (body).coll.channels
#define FROM_P2P(body)                                                                                                 \
    operation.function = (body).p2p.function;                                                                          \
    operation.send = operation.receive = (body).p2p.buffer;                                                            \
    operation.count = (body).p2p.count;                                                                                \
    operation.datatype = (body).p2p.datatype;                                                                          \
    operation.peer = (body).p2p.peer

static int start_v1(void *context, void **handle, void *event)
{
    const struct nccl_v1 *in = event;
    struct nccl_operation operation = {.type = in->type, .parent = in->parent, .rank = in->rank, .root = -1, .peer = -1};
    if (in->type == NCCL_COLL) {
        operation.comm = in->of.coll.comm;
        operation.sequence = in->of.coll.sequence;
        operation.function = function_name(in->of.coll.function);
        operation.send = in->of.coll.send;
        operation.receive = in->of.coll.receive;
        operation.count = in->of.coll.count;
        operation.root = in->of.coll.root;
        operation.datatype = nccl_datatype_name(in->of.coll.datatype);
        operation.channels = in->of.coll.channels;
    } else if (in->type == NCCL_P2P) {
        operation.comm = in->of.p2p.comm;
        operation.function = function_name(in->of.p2p.function);
        operation.send = operation.receive = in->of.p2p.buffer;
        operation.count = in->of.p2p.count;
        operation.datatype = nccl_datatype_name(in->of.p2p.datatype);
        operation.peer = in->of.p2p.peer;
    }
    return start(context, handle, &operation);
}

#define START_WITH_COMM(version)                                                                                       \
    static int start_##version(void *context, void **handle, void *event)                                              \
    {                                                                                                                  \
        const struct nccl_##version *in = event;                                                                       \
        struct nccl_operation operation = {.type = in->type, .parent = in->parent, .rank = in->rank, .root = -1, .peer = -1};      \
        if (in->type == NCCL_COLL) {                                                                                   \
            operation.comm = in->of.coll.comm;                                                                         \
            FROM_COLL(in->of);                                                                                         \
        } else if (in->type == NCCL_P2P) {                                                                             \
            operation.comm = in->of.p2p.comm;                                                                          \
            FROM_P2P(in->of);                                                                                          \
        }                                                                                                              \
        return start(context, handle, &operation);                                                                     \
    }
START_WITH_COMM(v2)
START_WITH_COMM(v3)

static int start_body(void *context, void **handle, uint64_t type, void *parent, int rank, const union nccl_body *body)
{
    struct nccl_operation operation = {.type = type, .parent = parent, .rank = rank, .root = -1, .peer = -1};
    if (type == NCCL_COLL) {
        FROM_COLL(*body);
    } else if (type == NCCL_P2P) {
        FROM_P2P(*body);
        operation.channels = body->p2p.channels;
    } else if (type == NCCL_COLL_API || type == NCCL_P2P_API) {
        operation.function = body->api.function;
        operation.count = body->api.count;
        operation.datatype = body->api.datatype;
    } else if (type == NCCL_KERNEL_CHANNEL) {
        operation.device_ns = body->kernel.device_ns;
    }
    return start(context, handle, &operation);
}
static int start_v4(void *context, void **handle, void *event)
{
    const struct nccl_v4 *in = event;
    return start_body(context, handle, in->type, in->parent, in->rank, &in->of);
}
static int start_v5(void *context, void **handle, void *event)
{
    const struct nccl_v5 *in = event;
    return start_body(context, handle, in->type, in->parent, in->rank, &in->of);
}

EXPORT extern const struct nccl_profiler_v1 ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3;
EXPORT extern const struct nccl_profiler_v4 ncclProfiler_v4;
EXPORT extern const struct nccl_profiler_v5 ncclProfiler_v5, ncclProfiler_v6;
const struct nccl_profiler_v1 ncclProfiler_v1 = {"hprofiler", init_v1, start_v1, stop, state_v1, finalize};
const struct nccl_profiler_v1 ncclProfiler_v2 = {"hprofiler", init_v1, start_v2, stop, state_v1, finalize};
const struct nccl_profiler_v1 ncclProfiler_v3 = {"hprofiler", init_v1, start_v3, stop, state_v1, finalize};
const struct nccl_profiler_v4 ncclProfiler_v4 = {"hprofiler", init_v4, start_v4, stop, state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v5 = {"hprofiler", init_v5, start_v5, stop, state, finalize};
const struct nccl_profiler_v5 ncclProfiler_v6 = {"hprofiler", init_v5, start_v5, stop, state, finalize};
