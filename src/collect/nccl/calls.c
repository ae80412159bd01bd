/* SPDX-License-Identifier: MIT */
/*
 * NCCL's functions, wrapped, for an NCCL without profiler plugins (before 2.23) or with another one than ours: preloaded, the same
 * library as the plugin, so that the wrappers pass everything on from when NCCL has taken the plugin. Operations have the plugin's
 * shape, as of an early version of it: they end when they are enqueued, within a group at the group's end. NCCL may have been loaded
 * where names do not reach (by Python, say): then the real functions are found in its library.
 */
#include "events.h"

#include "../loader.h"

#include <link.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { COMMS = 1024, GROUPED = 512, NO_COLOUR = -1 };

typedef struct nccl_communicator *communicator;
typedef struct cuda_stream *stream;
struct unique_id {
    char bytes[128];
};

/* What is known of a communicator of the program's; free again when it is destroyed. */
static struct known {
    uint32_t taken;          /* atomic */
    int rank;
    communicator handle;     /* atomic; NULL: nothing is in this place, or not yet */
    struct nccl_comm *comm;  /* atomic; NULL until its first operation */
    uint64_t identity, operations, splits; /* the counts atomic */
} known_comms[COMMS];

static uint32_t plugin_in_use;
static __thread uint32_t inside, depth, grouped;
static __thread void *group_event, *pending[GROUPED];

void nccl_calls_stop(void)
{
    __atomic_store_n(&plugin_in_use, 1, __ATOMIC_RELEASE);
}

static int note_library(struct dl_phdr_info *info, size_t size, void *context)
{
    const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : 0;
    char *path = context;
    (void)size;
    if (!slash || strncmp(slash, "/libnccl.so", 11) != 0 || strlen(info->dlpi_name) >= 1024)
        return 0;
    memcpy(path, info->dlpi_name, strlen(info->dlpi_name) + 1);
    return 1;
}

static void *real(void **slot, const char *name)
{
    void *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (found)
        return found;
    char path[1024] = "";
    found = dlsym(RTLD_NEXT, name);
    if (!found && dl_iterate_phdr(note_library, path)) {
        void *library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
        found = library ? dlsym(library, name) : 0;
    }
    __atomic_store_n(slot, found, __ATOMIC_RELEASE);
    return found;
}

static bool wanted(void)
{
    return !inside && !__atomic_load_n(&plugin_in_use, __ATOMIC_ACQUIRE) && nccl_ready();
}

static uint64_t mixed(uint64_t a, uint64_t b)
{
    uint64_t hash = (a ^ b >> 32 ^ b << 32) * 0x9e3779b97f4a7c15ull;
    return (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9ull;
}

/* The same in all ranks, as they share the id. */
static uint64_t identity_of(const struct unique_id *id)
{
    uint64_t hash = 1, word;
    for (unsigned i = 0; i < sizeof id->bytes; i += sizeof word) {
        memcpy(&word, id->bytes + i, sizeof word);
        hash = mixed(hash, word);
    }
    return hash;
}

static struct known *find_comm(communicator handle)
{
    for (unsigned i = 0; handle && i < COMMS; i++)
        if (__atomic_load_n(&known_comms[i].handle, __ATOMIC_ACQUIRE) == handle)
            return &known_comms[i];
    return 0;
}

static struct known *add_comm(communicator handle, uint64_t identity, int rank)
{
    for (unsigned i = 0; i < COMMS; i++) {
        uint32_t expected = 0;
        if (!__atomic_compare_exchange_n(&known_comms[i].taken, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        known_comms[i].comm = 0;
        known_comms[i].identity = identity;
        known_comms[i].operations = known_comms[i].splits = 0;
        known_comms[i].rank = rank;
        __atomic_store_n(&known_comms[i].handle, handle, __ATOMIC_RELEASE);
        return &known_comms[i];
    }
    return 0;
}

/* Its lanes are made when something is to be put there: by then it is clear whether NCCL has taken the plugin. */
static struct nccl_comm *open_comm(struct known *known)
{
    struct nccl_comm *comm = __atomic_load_n(&known->comm, __ATOMIC_ACQUIRE), *expected = 0;
    if (comm)
        return comm;
    comm = nccl_comm_open(known->identity, known->rank, false);
    if (comm && !__atomic_compare_exchange_n(&known->comm, &expected, comm, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return expected; /* another thread was first; its place stays taken, as one of a closed communicator does */
    return comm;
}

/* One that was made in a way unknown to us: its identity means this process only. */
static struct known *get_comm(communicator handle)
{
    static void *slot;
    struct known *known = find_comm(handle);
    if (known || !handle)
        return known;
    int rank = -1;
    int (*get_rank)(communicator, int *) = (int (*)(communicator, int *))real(&slot, "ncclCommUserRank");
    if (get_rank && get_rank(handle, &rank) != NCCL_SUCCESS)
        rank = -1;
    return add_comm(handle, mixed((uintptr_t)handle, rt_now()), rank);
}

static void forget_comm(communicator handle)
{
    struct known *known = find_comm(handle);
    if (!known)
        return;
    if (known->comm)
        nccl_comm_close(known->comm);
    __atomic_store_n(&known->handle, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&known->taken, 0, __ATOMIC_RELEASE);
}

/* The two events of a call: the call itself, and the operation that it asks for. */
struct call {
    void *api, *operation;
};

static struct call call_begin(communicator handle, struct nccl_operation *operation, int datatype)
{
    struct call call = {0};
    struct known *known = wanted() ? get_comm(handle) : 0;
    struct nccl_comm *comm = known ? open_comm(known) : 0;
    inside++;
    if (!comm)
        return call;
    operation->comm = known->identity;
    operation->rank = known->rank;
    operation->datatype = nccl_datatype_name((uint8_t)datatype);
    operation->sequence = __atomic_fetch_add(&known->operations, 1, __ATOMIC_ACQ_REL);
    struct nccl_operation api = *operation;
    api.type = operation->type == NCCL_COLL ? NCCL_COLL_API : NCCL_P2P_API;
    call.api = nccl_event_start(comm, &api);
    call.operation = nccl_event_start(comm, operation);
    return call;
}

static void call_end(struct call call)
{
    inside--;
    if (call.api)
        nccl_event_stop(call.api);
    if (call.operation && depth && grouped < GROUPED)
        pending[grouped++] = call.operation;
    else if (call.operation)
        nccl_event_stop(call.operation);
}

#define REAL(name, ...)                                                                                                \
    static void *slot;                                                                                                 \
    int (*function)(__VA_ARGS__) = (int (*)(__VA_ARGS__))real(&slot, #name);                                           \
    if (!function)                                                                                                     \
        return NCCL_INTERNAL_ERROR;

#define OPERATION(operation_type, function_name, send_buffer, receive_buffer, elements, root_rank, peer_rank)          \
    struct nccl_operation operation = {.type = operation_type, .function = function_name, .send = send_buffer,         \
                                       .receive = receive_buffer, .count = elements, .root = root_rank, .peer = peer_rank}

EXPORT int ncclAllReduce(const void *send, void *receive, size_t count, int datatype, int reduction, communicator comm, stream on);
int ncclAllReduce(const void *send, void *receive, size_t count, int datatype, int reduction, communicator comm, stream on)
{
    REAL(ncclAllReduce, const void *, void *, size_t, int, int, communicator, stream)
    OPERATION(NCCL_COLL, "AllReduce", send, receive, count, -1, -1);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(send, receive, count, datatype, reduction, comm, on);
    call_end(call);
    return result;
}

EXPORT int ncclReduceScatter(const void *send, void *receive, size_t count, int datatype, int reduction, communicator comm, stream on);
int ncclReduceScatter(const void *send, void *receive, size_t count, int datatype, int reduction, communicator comm, stream on)
{
    REAL(ncclReduceScatter, const void *, void *, size_t, int, int, communicator, stream)
    OPERATION(NCCL_COLL, "ReduceScatter", send, receive, count, -1, -1);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(send, receive, count, datatype, reduction, comm, on);
    call_end(call);
    return result;
}

EXPORT int ncclReduce(const void *send, void *receive, size_t count, int datatype, int reduction, int root, communicator comm, stream on);
int ncclReduce(const void *send, void *receive, size_t count, int datatype, int reduction, int root, communicator comm, stream on)
{
    REAL(ncclReduce, const void *, void *, size_t, int, int, int, communicator, stream)
    OPERATION(NCCL_COLL, "Reduce", send, receive, count, root, -1);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(send, receive, count, datatype, reduction, root, comm, on);
    call_end(call);
    return result;
}

EXPORT int ncclBroadcast(const void *send, void *receive, size_t count, int datatype, int root, communicator comm, stream on);
int ncclBroadcast(const void *send, void *receive, size_t count, int datatype, int root, communicator comm, stream on)
{
    REAL(ncclBroadcast, const void *, void *, size_t, int, int, communicator, stream)
    OPERATION(NCCL_COLL, "Broadcast", send, receive, count, root, -1);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(send, receive, count, datatype, root, comm, on);
    call_end(call);
    return result;
}

EXPORT int ncclBcast(void *buffer, size_t count, int datatype, int root, communicator comm, stream on);
int ncclBcast(void *buffer, size_t count, int datatype, int root, communicator comm, stream on)
{
    REAL(ncclBcast, void *, size_t, int, int, communicator, stream)
    OPERATION(NCCL_COLL, "Broadcast", buffer, buffer, count, root, -1);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(buffer, count, datatype, root, comm, on);
    call_end(call);
    return result;
}

EXPORT int ncclAllGather(const void *send, void *receive, size_t count, int datatype, communicator comm, stream on);
int ncclAllGather(const void *send, void *receive, size_t count, int datatype, communicator comm, stream on)
{
    REAL(ncclAllGather, const void *, void *, size_t, int, communicator, stream)
    OPERATION(NCCL_COLL, "AllGather", send, receive, count, -1, -1);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(send, receive, count, datatype, comm, on);
    call_end(call);
    return result;
}

EXPORT int ncclSend(const void *buffer, size_t count, int datatype, int peer, communicator comm, stream on);
int ncclSend(const void *buffer, size_t count, int datatype, int peer, communicator comm, stream on)
{
    REAL(ncclSend, const void *, size_t, int, int, communicator, stream)
    OPERATION(NCCL_P2P, "Send", buffer, 0, count, -1, peer);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(buffer, count, datatype, peer, comm, on);
    call_end(call);
    return result;
}

EXPORT int ncclRecv(void *buffer, size_t count, int datatype, int peer, communicator comm, stream on);
int ncclRecv(void *buffer, size_t count, int datatype, int peer, communicator comm, stream on)
{
    REAL(ncclRecv, void *, size_t, int, int, communicator, stream)
    OPERATION(NCCL_P2P, "Recv", buffer, buffer, count, -1, peer);
    struct call call = call_begin(comm, &operation, datatype);
    int result = function(buffer, count, datatype, peer, comm, on);
    call_end(call);
    return result;
}

/* A group has no communicator: its span is written as of the first that is known. */
static void group_begin(void)
{
    struct nccl_operation group = {.type = NCCL_GROUP_API, .rank = -1, .root = -1, .peer = -1};
    struct nccl_comm *comm = 0;
    for (unsigned i = 0; !comm && i < COMMS; i++)
        if (__atomic_load_n(&known_comms[i].handle, __ATOMIC_ACQUIRE))
            comm = open_comm(&known_comms[i]);
    group_event = comm ? nccl_event_start(comm, &group) : 0;
}

static void group_end(void)
{
    for (uint32_t i = 0; i < grouped; i++)
        nccl_event_stop(pending[i]);
    grouped = 0;
    if (group_event)
        nccl_event_stop(group_event);
    group_event = 0;
}

EXPORT int ncclGroupStart(void);
int ncclGroupStart(void)
{
    REAL(ncclGroupStart, void)
    if (!inside && depth++ == 0 && wanted())
        group_begin();
    return function();
}

EXPORT int ncclGroupEnd(void);
int ncclGroupEnd(void)
{
    REAL(ncclGroupEnd, void)
    int result = function();
    if (!inside && depth > 0 && --depth == 0)
        group_end();
    return result;
}

/* Until a communicator is made nobody knows whether NCCL takes the plugin: asked again afterwards. */
static void comm_made(communicator *handle, uint64_t identity, int rank, int result)
{
    if (result == NCCL_SUCCESS && handle && *handle && wanted())
        add_comm(*handle, identity, rank);
}

EXPORT int ncclCommInitRank(communicator *comm, int ranks, struct unique_id id, int rank);
int ncclCommInitRank(communicator *comm, int ranks, struct unique_id id, int rank)
{
    REAL(ncclCommInitRank, communicator *, int, struct unique_id, int)
    int result = function(comm, ranks, id, rank);
    comm_made(comm, identity_of(&id), rank, result);
    return result;
}

EXPORT int ncclCommInitRankConfig(communicator *comm, int ranks, struct unique_id id, int rank, void *config);
int ncclCommInitRankConfig(communicator *comm, int ranks, struct unique_id id, int rank, void *config)
{
    REAL(ncclCommInitRankConfig, communicator *, int, struct unique_id, int, void *)
    int result = function(comm, ranks, id, rank, config);
    comm_made(comm, identity_of(&id), rank, result);
    return result;
}

EXPORT int ncclCommInitAll(communicator *comms, int count, const int *devices);
int ncclCommInitAll(communicator *comms, int count, const int *devices)
{
    REAL(ncclCommInitAll, communicator *, int, const int *)
    uint64_t identity = mixed((uintptr_t)comms, rt_now());
    inside++;
    int result = function(comms, count, devices);
    inside--;
    for (int i = 0; comms && i < count; i++)
        comm_made(&comms[i], identity, i, result);
    return result;
}

/* All ranks split in the same order, and those of one colour stay together. */
EXPORT int ncclCommSplit(communicator comm, int colour, int key, communicator *ret_comm, void *config);
int ncclCommSplit(communicator comm, int colour, int key, communicator *ret_comm, void *config)
{
    static void *rank_slot;
    REAL(ncclCommSplit, communicator, int, int, communicator *, void *)
    int result = function(comm, colour, key, ret_comm, config), rank = -1;
    struct known *parent = find_comm(comm);
    uint64_t split = parent ? __atomic_add_fetch(&parent->splits, 1, __ATOMIC_ACQ_REL) : 0;
    int (*get_rank)(communicator, int *) = (int (*)(communicator, int *))real(&rank_slot, "ncclCommUserRank");
    if (!parent || colour == NO_COLOUR || result != NCCL_SUCCESS || !ret_comm || !*ret_comm)
        return result;
    if (!get_rank || get_rank(*ret_comm, &rank) != NCCL_SUCCESS)
        rank = -1;
    comm_made(ret_comm, mixed(mixed(parent->identity, split), (uint64_t)(int64_t)colour), rank, result);
    return result;
}

EXPORT int ncclCommDestroy(communicator comm);
int ncclCommDestroy(communicator comm)
{
    REAL(ncclCommDestroy, communicator)
    forget_comm(comm);
    return function(comm);
}

EXPORT int ncclCommAbort(communicator comm);
int ncclCommAbort(communicator comm)
{
    REAL(ncclCommAbort, communicator)
    forget_comm(comm);
    return function(comm);
}
