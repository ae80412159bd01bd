/* SPDX-License-Identifier: MIT */
/* Point-to-point calls: who sent what to whom, by world rank. */
#include "message_fields.h"

void mpi_sent(struct mpi_call *call, unsigned number, unsigned mode, uint64_t order, const void *buffer, int count, MPI_Datatype type,
              int destination, int tag, MPI_Comm handle)
{
    struct mpi_span span;
    if (MPI_UNLIKELY(!call->rt.thread))
        return;
    const struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_data data = mpi_data(buffer, count, type);
    message_begin(&span, call, number, SPAN_KIND_SEND, comm, order);
    send_half(&span, &data, mpi_peer(comm, destination), tag, mode);
    message_end(call, &span);
}

void mpi_received(struct mpi_call *call, unsigned number, uint64_t order, const void *buffer, int count, MPI_Datatype type, int source,
                  int tag, MPI_Comm handle, const MPI_Status *status, int result)
{
    struct mpi_span span;
    if (MPI_UNLIKELY(!call->rt.thread))
        return;
    const struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_data data = mpi_data(buffer, count, type);
    message_begin(&span, call, number, SPAN_KIND_RECV, comm, order);
    if (MPI_LIKELY(result == MPI_SUCCESS))
        received_from(&span, comm, status);
    receive_rest(&span, &data, mpi_any(source, tag));
    message_end(call, &span);
}

void mpi_send_posted(struct mpi_call *call, unsigned number, unsigned mode, uint64_t order, const void *buffer, int count, MPI_Datatype type,
                     int destination, int tag, MPI_Comm handle, const MPI_Request *posted, int result)
{
    struct mpi_span span;
    if (MPI_UNLIKELY(!call->rt.thread))
        return;
    const struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_data data = mpi_data(buffer, count, type);
    message_begin(&span, call, number, SPAN_KIND_SEND, comm, order);
    send_half(&span, &data, mpi_peer(comm, destination), tag, mode);
    if (MPI_LIKELY(result == MPI_SUCCESS)) {
        span.record->correlation = rt_correlation();
        mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*posted), .address = posted, .correlation = span.record->correlation,
                                              .kind = MPI_REQUEST_SEND});
    }
    message_end(call, &span);
}

void mpi_receive_posted(struct mpi_call *call, unsigned number, uint64_t order, const void *buffer, int count, MPI_Datatype type, int source,
                        int tag, MPI_Comm handle, const MPI_Request *posted, int result)
{
    struct mpi_span span;
    if (MPI_UNLIKELY(!call->rt.thread))
        return;
    struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_data data = mpi_data(buffer, count, type);
    unsigned any = mpi_any(source, tag);
    message_begin(&span, call, number, SPAN_KIND_RECV, comm, order);
    asks_for(&span, mpi_peer(comm, source), tag, any);
    receive_rest(&span, &data, any);
    if (MPI_LIKELY(result == MPI_SUCCESS)) {
        span.record->correlation = rt_correlation();
        mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*posted), .address = posted, .correlation = span.record->correlation,
                                              .kind = MPI_REQUEST_RECEIVE, .peer = mpi_peer(comm, source), .comm = comm});
    }
    message_end(call, &span);
}

void mpi_exchanged(struct mpi_call *call, unsigned number, uint64_t order, const struct mpi_exchange *exchange, MPI_Comm handle,
                   const MPI_Status *status, int result)
{
    struct mpi_span span;
    if (!call->rt.thread)
        return;
    const struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_data sent = mpi_data(exchange->sendbuf, exchange->sendcount, exchange->sendtype);
    struct mpi_data received = mpi_data(exchange->recvbuf, exchange->recvcount, exchange->recvtype);
    message_begin(&span, call, number, SPAN_KIND_RECV, comm, order);
    send_half(&span, &sent, mpi_peer(comm, exchange->dest), exchange->sendtag, WORD_STANDARD);
    if (result == MPI_SUCCESS)
        received_from(&span, comm, status);
    receive_rest(&span, &received, mpi_any(exchange->source, exchange->recvtag));
    message_end(call, &span);
}
