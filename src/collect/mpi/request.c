/* SPDX-License-Identifier: MIT */
/*
 * Requests, by handle. Libraries give many small sends that are over at once one and the same handle, so a handle may stand for
 * several requests: then the one that was stored in the same variable is meant, else the oldest. Entries hang in lists by
 * hash, oldest first. Only where several threads may call MPI (MPI_THREAD_MULTIPLE, where it takes locks of its own) a list is
 * held for the few instructions of a change.
 */
#include "mpi_collector.h"

#include "../runtime/sys.h"

#define BUCKETS 4096u

static struct bucket {
    struct mpi_request *first, **last;
    uint32_t busy;
} buckets[BUCKETS];
static struct mpi_request *unused;
static uint32_t unused_busy;

static void hold(uint32_t *busy)
{
    if (mpi.threads)
        while (__atomic_exchange_n(busy, 1, __ATOMIC_ACQUIRE))
            sys_yield();
}

static void let_go(uint32_t *busy)
{
    if (mpi.threads)
        mpi_store(busy, 0u);
}

static struct bucket *bucket_of(uint64_t handle)
{
    return &buckets[(handle * 0x9e3779b97f4a7c15ull) >> 52];
}
_Static_assert(BUCKETS == 1u << 12, "bucket_of takes the upper 12 bits");

static struct mpi_request *entry_make(void)
{
    hold(&unused_busy);
    struct mpi_request *entry = unused;
    if (entry)
        unused = entry->next;
    let_go(&unused_busy);
    return entry ? entry : mpi_memory_take(sizeof *entry);
}

static void entry_unmake(struct mpi_request *entry)
{
    hold(&unused_busy);
    entry->next = unused;
    unused = entry;
    let_go(&unused_busy);
}

static void comm_hold(struct mpi_comm *comm)
{
    if (comm && comm != &mpi_world)
        __atomic_add_fetch(&comm->references, 1, __ATOMIC_RELAXED);
}

void mpi_request_put(const struct mpi_request *request)
{
    struct mpi_request *entry = entry_make();
    if (!entry)
        return;
    *entry = *request;
    entry->next = 0;
    comm_hold(entry->comm);
    struct bucket *bucket = bucket_of(entry->handle);
    hold(&bucket->busy);
    if (!bucket->first)
        bucket->last = &bucket->first;
    *bucket->last = entry;
    bucket->last = &entry->next;
    let_go(&bucket->busy);
}

/* The link that leads to the one that is meant. */
static struct mpi_request **find_link(struct bucket *bucket, uint64_t handle, const void *address)
{
    struct mpi_request **oldest = 0;
    for (struct mpi_request **link = &bucket->first; *link; link = &(*link)->next) {
        if ((*link)->handle != handle)
            continue;
        if ((*link)->address == address)
            return link;
        if (!oldest)
            oldest = link;
    }
    return oldest;
}

static struct mpi_request *unhang(struct bucket *bucket, struct mpi_request **link)
{
    struct mpi_request *entry = *link;
    *link = entry->next;
    if (bucket->last == &entry->next)
        bucket->last = link;
    return entry;
}

bool mpi_request_take(uint64_t handle, const void *address, struct mpi_request *ret_request)
{
    struct bucket *bucket = bucket_of(handle);
    if (!bucket->first)
        return false;
    struct mpi_request *taken = 0;
    hold(&bucket->busy);
    struct mpi_request **link = find_link(bucket, handle, address);
    if (link) {
        *ret_request = **link;
        if ((*link)->persistent) {
            (*link)->correlation = 0;
            (*link)->cancelled = false;
        } else {
            taken = unhang(bucket, link);
        }
    }
    let_go(&bucket->busy);
    if (taken)
        entry_unmake(taken);
    return link != 0;
}

struct mpi_request *mpi_request_find(uint64_t handle, const void *address)
{
    struct bucket *bucket = bucket_of(handle);
    hold(&bucket->busy);
    struct mpi_request **link = find_link(bucket, handle, address), *found = link ? *link : 0;
    let_go(&bucket->busy);
    return found;
}

void mpi_request_drop(uint64_t handle, const void *address)
{
    struct bucket *bucket = bucket_of(handle);
    hold(&bucket->busy);
    struct mpi_request **link = find_link(bucket, handle, address);
    struct mpi_request *dropped = link ? unhang(bucket, link) : 0;
    let_go(&bucket->busy);
    if (!dropped)
        return;
    mpi_comm_release(dropped->comm);
    entry_unmake(dropped);
}

/* `request` is a copy that mpi_request_take gave. */
void mpi_request_over(const struct mpi_request *request, uint64_t wait, const MPI_Status *status, uint32_t flags)
{
    struct wire_mpi_complete record = {.header = {WIRE_MPI_COMPLETE, sizeof record / 8, flags}, .source = -1, .tag = -1};
    if (request->kind == MPI_REQUEST_IDUP && !flags)
        mpi_comm_idup_over(request);
    if (request->cancelled && status && mpi_status_cancelled(status)) {
        record.header.value |= WIRE_MPI_CANCELLED;
    } else if (request->kind == MPI_REQUEST_RECEIVE && request->peer == MPI_RANK_NONE) {
        record.header.value |= WIRE_MPI_STATUS; /* as initialised: MPICH 4.0 leaves the status as it was */
    } else if (request->kind == MPI_REQUEST_RECEIVE && status) {
        record.source = mpi_peer(request->comm, status->MPI_SOURCE);
        record.tag = status->MPI_TAG;
        record.bytes = mpi_status_bytes(status);
        if (record.source != MPI_RANK_UNKNOWN)
            record.header.value |= WIRE_MPI_STATUS;
    }
    if (request->correlation) {
        record.time = rt_now();
        record.request = request->correlation;
        record.wait = wait;
        rt_append(&record.header);
    }
    if (!request->persistent)
        mpi_comm_release(request->comm);
}

void mpi_request_cancelled(struct mpi_call *call, unsigned number, const MPI_Request *request)
{
    struct mpi_request *found = mpi_request_find(MPI_HANDLE(*request), request);
    if (found)
        found->cancelled = true;
    mpi_plain(call, number, SPAN_KIND_API);
}

void mpi_request_freed(struct mpi_call *call, unsigned number, uint64_t handle, const MPI_Request *request)
{
    struct mpi_request freed;
    if (mpi_request_take(handle, request, &freed)) {
        mpi_request_over(&freed, 0, 0, WIRE_MPI_FREED);
        if (freed.persistent)
            mpi_request_drop(handle, request);
    }
    mpi_plain(call, number, SPAN_KIND_API);
}
