/* SPDX-License-Identifier: MIT */
/* Point-to-point calls: who sent what to whom, by world rank. */
#include "mpi_collector.h"

MPI_INLINE void send_half(struct mpi_span *span, const struct mpi_comm *comm, const struct mpi_data *data, int destination, int tag, unsigned mode)
{
    int32_t to = mpi_peer(comm, destination);
    if (MPI_LIKELY(to != MPI_RANK_UNKNOWN))
        mpi_field(span, FIELD_MESSAGE_send_to, (uint64_t)(int64_t)to);
    mpi_field(span, FIELD_MESSAGE_send_tag, (uint64_t)(int64_t)tag);
    mpi_field(span, FIELD_MESSAGE_send_bytes, data->bytes);
    mpi_field(span, FIELD_MESSAGE_send_buffer, data->address);
    mpi_field(span, FIELD_MESSAGE_send_extent, data->extent);
    mpi_field(span, FIELD_MESSAGE_mode, mpi.words[mode]);
}

/* The half of a receive that is over: the status resolves what was asked for. */
MPI_INLINE void receive_half(struct mpi_span *span, const struct mpi_comm *comm, const struct mpi_data *data, const MPI_Status *status)
{
    int32_t from = mpi_peer(comm, status->MPI_SOURCE);
    if (MPI_LIKELY(from != MPI_RANK_UNKNOWN))
        mpi_field(span, FIELD_MESSAGE_receive_from, (uint64_t)(int64_t)from);
    if (MPI_LIKELY(from != MPI_RANK_NONE)) {
        mpi_field(span, FIELD_MESSAGE_receive_tag, (uint64_t)(int64_t)status->MPI_TAG);
        mpi_field(span, FIELD_MESSAGE_receive_bytes, mpi_status_bytes(status));
    }
    mpi_field(span, FIELD_MESSAGE_receive_buffer, data->address);
    mpi_field(span, FIELD_MESSAGE_receive_extent, data->extent);
}

MPI_INLINE void any_and_threads(struct mpi_span *span, int source, int tag)
{
    unsigned any = (source == MPI_ANY_SOURCE ? 1u : 0u) | (tag == MPI_ANY_TAG ? 2u : 0u);
    if (any)
        mpi_field(span, FIELD_MESSAGE_any, any);
    if (MPI_UNLIKELY(mpi.threads))
        mpi_field(span, FIELD_MESSAGE_threads, 1);
}

MPI_INLINE void message_begin(struct mpi_span *span, unsigned number, unsigned kind, const struct mpi_comm *comm, uint64_t order)
{
    mpi_span_begin(span, number, kind, PAYLOAD_MESSAGE);
    if (MPI_LIKELY(comm != 0))
        mpi_field(span, FIELD_MESSAGE_comm, comm->identity);
    mpi_field(span, FIELD_MESSAGE_order, order);
}

void mpi_sent(struct mpi_call *call, unsigned number, unsigned mode, uint64_t order, const void *buffer, uint64_t count, MPI_Datatype type,
              int destination, int tag, MPI_Comm handle)
{
    struct mpi_span span;
    if (MPI_UNLIKELY(!call->rt.thread))
        return;
    const struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_data data = mpi_data(buffer, count, type);
    message_begin(&span, number, SPAN_KIND_SEND, comm, order);
    send_half(&span, comm, &data, destination, tag, mode);
    if (MPI_UNLIKELY(mpi.threads))
        mpi_field(&span, FIELD_MESSAGE_threads, 1);
    mpi_span_end(call, &span);
}

void mpi_received(struct mpi_call *call, unsigned number, uint64_t order, const void *buffer, uint64_t count, MPI_Datatype type, int source,
                  int tag, MPI_Comm handle, const MPI_Status *status, int result)
{
    struct mpi_span span;
    if (MPI_UNLIKELY(!call->rt.thread))
        return;
    const struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_data data = mpi_data(buffer, count, type);
    message_begin(&span, number, SPAN_KIND_RECV, comm, order);
    if (MPI_LIKELY(result == MPI_SUCCESS))
        receive_half(&span, comm, &data, status);
    any_and_threads(&span, source, tag);
    mpi_span_end(call, &span);
}
