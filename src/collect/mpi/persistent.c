/* SPDX-License-Identifier: MIT */
/* Persistent requests: prepared once, each start is a posting of its own. They are known even where nothing is recorded yet. */
#include "message_fields.h"

static void prepare(struct mpi_call *call, unsigned number, struct mpi_request *request, const MPI_Request *prepared, int result)
{
    mpi_call_ended(call);
    if (result == MPI_SUCCESS) {
        request->handle = MPI_HANDLE(*prepared);
        request->address = prepared;
        request->persistent = true;
        mpi_request_put(request);
    }
    mpi_plain(call, number, SPAN_KIND_API);
}

void mpi_send_prepared(struct mpi_call *call, unsigned number, unsigned mode, const void *buffer, int count, MPI_Datatype type,
                       int destination, int tag, MPI_Comm handle, const MPI_Request *prepared, int result)
{
    struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_request request = {.kind = MPI_REQUEST_SEND, .mode = (uint8_t)mode, .peer = mpi_peer(comm, destination), .tag = tag,
                                  .comm = comm, .data = mpi_data(buffer, count, type)};
    prepare(call, number, &request, prepared, result);
}

void mpi_receive_prepared(struct mpi_call *call, unsigned number, const void *buffer, int count, MPI_Datatype type, int source, int tag,
                          MPI_Comm handle, const MPI_Request *prepared, int result)
{
    struct mpi_comm *comm = mpi_comm_find(handle);
    struct mpi_request request = {.kind = MPI_REQUEST_RECEIVE, .peer = mpi_peer(comm, source), .tag = tag, .comm = comm,
                                  .any = (uint8_t)mpi_any(source, tag), .data = mpi_data(buffer, count, type)};
    prepare(call, number, &request, prepared, result);
}

static void started_fields(struct mpi_span *span, const struct mpi_call *call, unsigned number, const struct mpi_request *request, uint64_t order)
{
    if (request->kind == MPI_REQUEST_RECEIVE) {
        message_begin(span, call, number, SPAN_KIND_RECV, request->comm, order);
        asks_for(span, request->peer, request->tag, request->any);
        receive_rest(span, &request->data, request->any);
    } else {
        message_begin(span, call, number, SPAN_KIND_SEND, request->comm, order);
        send_half(span, &request->data, request->peer, request->tag, request->mode);
    }
}

/* One request of MPI_Startall is a span inside that call's. */
static void started_inside(const struct mpi_call *call, struct mpi_request *request, uint64_t order)
{
    struct mpi_span span;
    started_fields(&span, call, CALL_MPI_Start, request, order);
    span.record->header.value = mpi.words[WORD_STARTED];
    span.record->correlation = request->correlation = rt_correlation();
    if (mpi.threads)
        mpi_field(&span, FIELD_MESSAGE_threads, 1);
    mpi_span_close(&span);
}

void mpi_started(struct mpi_call *call, unsigned number, uint64_t order, int count, const MPI_Request *requests)
{
    struct mpi_span span;
    struct mpi_request *request = 0;
    if (!call->rt.thread)
        return;
    mpi_call_ended(call);
    for (int i = 0; i < count; i++) {
        request = mpi_request_find(MPI_HANDLE(requests[i]), &requests[i]);
        if (request && number != CALL_MPI_Start)
            started_inside(call, request, order + (uint64_t)i);
    }
    if (!request || number != CALL_MPI_Start) {
        mpi_plain(call, number, SPAN_KIND_API);
        return;
    }
    started_fields(&span, call, number, request, order);
    span.record->correlation = request->correlation = rt_correlation();
    message_end(call, &span);
}
