/* SPDX-License-Identifier: MIT */
/* Probes. One that takes the message (MPI_Mprobe) settles which receive gets it: the receive has the probe's place in the order. */
#include "message_fields.h"

/* A message's handle may be a request's, too. */
#define MESSAGE_HANDLE(handle) ((handle) ^ 0x4d00000000000000ull)

static void probed(struct mpi_call *call, unsigned number, const struct mpi_comm *comm, const MPI_Status *status, unsigned any, bool found)
{
    struct mpi_span span;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, call, number, SPAN_KIND_PROBE, PAYLOAD_MESSAGE);
    if (comm)
        mpi_field(&span, FIELD_MESSAGE_comm, comm->identity);
    if (found)
        received_from(&span, comm, status);
    if (any)
        mpi_field(&span, FIELD_MESSAGE_any, any);
    mpi_span_end(call, &span);
}

void mpi_probed(struct mpi_call *call, unsigned number, int source, int tag, MPI_Comm comm, const MPI_Status *status, bool found)
{
    if (call->rt.thread)
        probed(call, number, mpi_comm_find(comm), status, mpi_any(source, tag), found);
}

void mpi_matched(struct mpi_call *call, unsigned number, int source, int tag, MPI_Comm handle, const MPI_Message *message,
                 const MPI_Status *status, bool found)
{
    struct mpi_comm *comm = mpi_comm_find(handle);
    if (found)
        mpi_request_put(&(struct mpi_request){.handle = MESSAGE_HANDLE(MPI_HANDLE(*message)), .address = message, .kind = MPI_REQUEST_MESSAGE, .comm = comm,
                                              .order = mpi_order(), .peer = mpi_peer(comm, status->MPI_SOURCE), .tag = status->MPI_TAG,
                                              .any = (uint8_t)mpi_any(source, tag)});
    probed(call, number, comm, status, mpi_any(source, tag), found);
}

void mpi_matched_received(struct mpi_call *call, unsigned number, uint64_t handle, const void *buffer, int count, MPI_Datatype type,
                          const MPI_Status *status, int result)
{
    struct mpi_span span;
    struct mpi_request message;
    if (!mpi_request_take(MESSAGE_HANDLE(handle), 0, &message)) {
        mpi_plain(call, number, SPAN_KIND_RECV);
        return;
    }
    if (call->rt.thread) {
        struct mpi_data data = mpi_data(buffer, count, type);
        message_begin(&span, call, number, SPAN_KIND_RECV, message.comm, message.order);
        if (result == MPI_SUCCESS)
            received_from(&span, message.comm, status);
        receive_rest(&span, &data, message.any);
        message_end(call, &span);
    }
    mpi_comm_release(message.comm);
}

void mpi_matched_posted(struct mpi_call *call, unsigned number, uint64_t handle, const void *buffer, int count, MPI_Datatype type,
                        const MPI_Request *posted, int result)
{
    struct mpi_span span;
    struct mpi_request message;
    if (!mpi_request_take(MESSAGE_HANDLE(handle), 0, &message)) {
        mpi_plain(call, number, SPAN_KIND_RECV);
        return;
    }
    if (call->rt.thread) {
        struct mpi_data data = mpi_data(buffer, count, type);
        message_begin(&span, call, number, SPAN_KIND_RECV, message.comm, message.order);
        asks_for(&span, message.peer, message.tag, 0);
        receive_rest(&span, &data, message.any);
        span.record->correlation = rt_correlation();
        if (result == MPI_SUCCESS)
            mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*posted), .address = posted, .correlation = span.record->correlation,
                                                  .kind = MPI_REQUEST_RECEIVE, .comm = message.comm});
        message_end(call, &span);
    }
    mpi_comm_release(message.comm);
}
