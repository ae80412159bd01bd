/* SPDX-License-Identifier: MIT */
/* The halves of a MESSAGE payload. */
#ifndef HP_MPI_MESSAGE_FIELDS_H
#define HP_MPI_MESSAGE_FIELDS_H

#include "mpi_collector.h"

MPI_INLINE void message_begin(struct mpi_span *span, const struct mpi_call *call, unsigned number, unsigned kind, const struct mpi_comm *comm, uint64_t order)
{
    mpi_span_begin(span, call, number, kind, PAYLOAD_MESSAGE);
    if (MPI_LIKELY(comm != 0))
        mpi_field(span, FIELD_MESSAGE_comm, comm->identity);
    mpi_field(span, FIELD_MESSAGE_order, order);
}

MPI_INLINE void send_half(struct mpi_span *span, const struct mpi_data *data, int32_t to, int tag, unsigned mode)
{
    if (MPI_LIKELY(to != MPI_RANK_UNKNOWN))
        mpi_field(span, FIELD_MESSAGE_send_to, (uint64_t)(int64_t)to);
    mpi_field(span, FIELD_MESSAGE_send_tag, (uint64_t)(int64_t)tag);
    mpi_field(span, FIELD_MESSAGE_send_bytes, data->bytes);
    mpi_field(span, FIELD_MESSAGE_send_buffer, data->address);
    mpi_field(span, FIELD_MESSAGE_send_extent, data->extent);
    mpi_field(span, FIELD_MESSAGE_mode, mpi.words[mode]);
}

/* Who and what a receive that is over brought: the status resolves what was asked for. */
MPI_INLINE void received_from(struct mpi_span *span, const struct mpi_comm *comm, const MPI_Status *status)
{
    int32_t from = mpi_peer(comm, status->MPI_SOURCE);
    if (MPI_LIKELY(from != MPI_RANK_UNKNOWN))
        mpi_field(span, FIELD_MESSAGE_receive_from, (uint64_t)(int64_t)from);
    if (MPI_LIKELY(from != MPI_RANK_NONE)) {
        mpi_field(span, FIELD_MESSAGE_receive_tag, (uint64_t)(int64_t)status->MPI_TAG);
        mpi_field(span, FIELD_MESSAGE_receive_bytes, mpi_status_bytes(status));
    }
}

/* What a receive that is under way asks for. */
MPI_INLINE void asks_for(struct mpi_span *span, int32_t from, int tag, unsigned any)
{
    if (!(any & 1) && from != MPI_RANK_UNKNOWN)
        mpi_field(span, FIELD_MESSAGE_receive_from, (uint64_t)(int64_t)from);
    if (!(any & 2))
        mpi_field(span, FIELD_MESSAGE_receive_tag, (uint64_t)(int64_t)tag);
}

MPI_INLINE void receive_rest(struct mpi_span *span, const struct mpi_data *data, unsigned any)
{
    mpi_field(span, FIELD_MESSAGE_receive_buffer, data->address);
    mpi_field(span, FIELD_MESSAGE_receive_extent, data->extent);
    if (any)
        mpi_field(span, FIELD_MESSAGE_any, any);
}

MPI_INLINE void message_end(struct mpi_call *call, struct mpi_span *span)
{
    if (MPI_UNLIKELY(mpi.threads))
        mpi_field(span, FIELD_MESSAGE_threads, 1);
    mpi_span_end(call, span);
}

MPI_INLINE unsigned mpi_any(int source, int tag)
{
    return (source == MPI_ANY_SOURCE ? 1u : 0u) | (tag == MPI_ANY_TAG ? 2u : 0u);
}

#endif
