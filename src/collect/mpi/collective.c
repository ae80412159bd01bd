/* SPDX-License-Identifier: MIT */
/* Collective calls: their number on the communicator says which calls of the processes belong together. */
#include "mpi_collector.h"

void mpi_barrier(struct mpi_call *call, unsigned number, MPI_Comm handle)
{
    struct mpi_span span;
    struct mpi_comm *comm = mpi_comm_find(handle);
    uint64_t sequence = comm ? mpi_sequence(comm) : 0;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, number, SPAN_KIND_COLLECTIVE, PAYLOAD_COLLECTIVE);
    if (comm) {
        mpi_field(&span, FIELD_COLLECTIVE_comm, comm->identity);
        mpi_field(&span, FIELD_COLLECTIVE_sequence, sequence);
    }
    mpi_span_end(call, &span);
}
