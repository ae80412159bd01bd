/* SPDX-License-Identifier: MIT */
/* Waits and tests: which requests they ended, and what those brought. */
#include "mpi_collector.h"

void mpi_wait_begin(struct mpi_wait *wait, int count, const MPI_Request *requests)
{
    wait->count = count > 0 ? (uint64_t)count : 0;
    wait->handle_bytes = wait->status_bytes = 0;
    wait->handles = wait->few_handles;
    if (MPI_UNLIKELY(wait->count > MPI_WAIT_FEW)) {
        wait->handle_bytes = wait->count * sizeof wait->handles[0];
        wait->handles = mpi_memory_take(wait->handle_bytes);
        if (!wait->handles)
            wait->count = wait->handle_bytes = 0;
    }
    for (uint64_t i = 0; i < wait->count; i++)
        wait->handles[i] = MPI_HANDLE(requests[i]);
}

MPI_Status *mpi_wait_statuses(struct mpi_wait *wait, MPI_Status *statuses)
{
    if (statuses != MPI_STATUSES_IGNORE)
        return statuses;
    if (MPI_LIKELY(wait->count <= MPI_WAIT_FEW && !wait->handle_bytes && wait->handles)) {
        __builtin_memset(wait->few_statuses, 0, wait->count * sizeof wait->few_statuses[0]);
        return wait->few_statuses;
    }
    wait->status_bytes = wait->count * sizeof wait->statuses[0];
    wait->statuses = wait->handles ? mpi_memory_take(wait->status_bytes) : 0;
    if (wait->statuses)
        return wait->statuses;
    wait->status_bytes = 0;
    return MPI_STATUSES_IGNORE;
}

static void wait_end(struct mpi_wait *wait)
{
    if (wait->handle_bytes)
        mpi_memory_give(wait->handles, wait->handle_bytes);
    if (wait->status_bytes)
        mpi_memory_give(wait->statuses, wait->status_bytes);
}

/* Returns the wait's correlation, drawn with the first request that it ended. */
static uint64_t over(const struct mpi_call *call, uint64_t wait, uint64_t handle, const void *address, const MPI_Status *status)
{
    struct mpi_request request;
    if (handle == MPI_HANDLE(MPI_REQUEST_NULL) || !mpi_request_take(handle, address, &request))
        return wait;
    if (!wait && call->rt.thread)
        wait = rt_correlation();
    mpi_request_over(&request, wait, status, wait ? 0 : WIRE_MPI_NO_WAIT);
    return wait;
}

static void leave(struct mpi_call *call, unsigned number, unsigned kind, uint64_t correlation, uint64_t requests, uint64_t completed)
{
    struct mpi_span span;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, call, number, kind, PAYLOAD_WAIT);
    span.record->correlation = correlation;
    mpi_field(&span, FIELD_WAIT_requests, requests);
    mpi_field(&span, FIELD_WAIT_completed, completed);
    mpi_span_end(call, &span);
}

void mpi_waited(struct mpi_call *call, unsigned number, unsigned kind, uint64_t handle, const void *address, const MPI_Status *status, bool done)
{
    mpi_call_ended(call);
    bool null = handle == MPI_HANDLE(MPI_REQUEST_NULL);
    uint64_t correlation = done && !null ? over(call, 0, handle, address, status) : 0;
    leave(call, number, kind, correlation, !null, done && !null);
}

static uint64_t live(const struct mpi_wait *wait)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < wait->count; i++)
        count += wait->handles[i] != MPI_HANDLE(MPI_REQUEST_NULL);
    return count;
}

void mpi_waited_all(struct mpi_call *call, unsigned number, unsigned kind, struct mpi_wait *wait, const MPI_Request *requests,
                    const MPI_Status *statuses, bool done, int result)
{
    mpi_call_ended(call);
    uint64_t correlation = 0, completed = 0;
    bool each = result == MPI_ERR_IN_STATUS && statuses != MPI_STATUSES_IGNORE;
    for (uint64_t i = 0; i < wait->count && ((done && result == MPI_SUCCESS) || each); i++) {
        if (each && statuses[i].MPI_ERROR == MPI_ERR_PENDING)
            continue;
        completed += wait->handles[i] != MPI_HANDLE(MPI_REQUEST_NULL);
        correlation = over(call, correlation, wait->handles[i], &requests[i], statuses == MPI_STATUSES_IGNORE ? 0 : &statuses[i]);
    }
    leave(call, number, kind, correlation, live(wait), completed);
    wait_end(wait);
}

void mpi_waited_any(struct mpi_call *call, unsigned number, unsigned kind, struct mpi_wait *wait, const MPI_Request *requests, int index,
                    const MPI_Status *status, bool done)
{
    mpi_call_ended(call);
    bool ended = done && index != MPI_UNDEFINED && (uint64_t)index < wait->count;
    uint64_t correlation = ended ? over(call, 0, wait->handles[index], &requests[index], status) : 0;
    leave(call, number, kind, correlation, live(wait), ended);
    wait_end(wait);
}

void mpi_waited_some(struct mpi_call *call, unsigned number, unsigned kind, struct mpi_wait *wait, const MPI_Request *requests, int count,
                     const int *indices, const MPI_Status *statuses, int result)
{
    mpi_call_ended(call);
    uint64_t correlation = 0, completed = 0;
    bool told = result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS;
    for (int i = 0; told && count != MPI_UNDEFINED && i < count; i++) {
        if ((uint64_t)indices[i] >= wait->count)
            continue;
        completed++;
        correlation = over(call, correlation, wait->handles[indices[i]], &requests[indices[i]],
                           statuses == MPI_STATUSES_IGNORE ? 0 : &statuses[i]);
    }
    leave(call, number, kind, correlation, live(wait), completed);
    wait_end(wait);
}
