/* SPDX-License-Identifier: MIT */
/* MPI's files. A file stands in the table of communicators: collective calls on it are numbered as on one. */
#include "mpi_collector.h"

static struct mpi_comm *file_of(MPI_File handle)
{
    struct mpi_comm *file = mpi_comm_in_table(MPI_HANDLE(handle));
    if (file && !file->noted)
        mpi_comm_note(file);
    return file;
}

void mpi_file_opened(struct mpi_call *call, unsigned number, MPI_Comm from, const char *name, MPI_File made, int result)
{
    struct mpi_comm *parent = mpi_comm_find(from), *file = 0;
    uint64_t sequence = parent ? mpi_sequence(parent) : 0;
    if (parent && result == MPI_SUCCESS)
        file = mpi_comm_add(MPI_HANDLE(made), mpi_hash(mpi_hash(parent->identity, sequence), 'F'), mpi_ranks_share(parent->peers),
                            mpi_ranks_share(parent->own), WIRE_MPI_COMM_FILE | (parent->flags & WIRE_MPI_COMM_LOCAL));
    if (file) {
        file->parent = parent->identity;
        file->name = mpi_string(name);
        mpi_comm_note(file);
    }
    mpi_comm_recorded(call, number, file, parent, sequence);
}

void mpi_file_used(struct mpi_call *call, unsigned number, MPI_File handle, MPI_Offset offset, int together, const void *buffer, int count,
                   MPI_Datatype type, const MPI_Status *status, const MPI_Request *request, int result)
{
    struct mpi_span span;
    struct mpi_comm *file = file_of(handle);
    uint64_t sequence = file && together ? mpi_sequence(file) : 0;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, call, number, SPAN_KIND_IO, PAYLOAD_FILE_IO);
    if (file && file->name)
        mpi_field(&span, FIELD_FILE_IO_file, file->name);
    if (status ? result == MPI_SUCCESS : buffer != 0)
        mpi_field(&span, FIELD_FILE_IO_bytes, status ? mpi_status_bytes(status) : mpi_data(buffer, count, type).bytes);
    if (offset != MPI_NO_OFFSET)
        mpi_field(&span, FIELD_FILE_IO_offset, (uint64_t)(int64_t)offset);
    if (file)
        mpi_field(&span, FIELD_FILE_IO_comm, file->identity);
    if (sequence)
        mpi_field(&span, FIELD_FILE_IO_sequence, sequence);
    if (request && result == MPI_SUCCESS) {
        span.record->correlation = rt_correlation();
        mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*request), .address = request, .correlation = span.record->correlation,
                                              .kind = MPI_REQUEST_OTHER});
    }
    mpi_span_end(call, &span);
}
