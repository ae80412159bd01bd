/* SPDX-License-Identifier: MIT */
/*
 * Collective calls. Their number on the communicator says which calls of the processes belong together, the root and the lists of
 * those that get nothing say who waits for whom. Sizes are those of this process' own buffers.
 */
#include "rank_list.h"

/* Where this process stands in a call. */
struct place {
    const struct mpi_comm *comm;
    const struct mpi_ranks *to, *from; /* whom the parts of the send side and the receive side are for */
    bool rooted, is_root;
    int root;                          /* in the communicator */
    int32_t root_world;
    uint32_t own;                      /* own place in the communicator's counts */
};

static struct place place_of(const struct mpi_comm *comm, const struct mpi_shape *shape)
{
    struct place place = {.comm = comm, .to = comm->peers, .from = comm->peers, .rooted = shape->rooted, .root = shape->root,
                          .root_world = MPI_RANK_UNKNOWN, .own = (uint32_t)comm->rank};
    if (!shape->rooted)
        return place;
    place.is_root = comm->flags & WIRE_MPI_COMM_INTER ? shape->root == MPI_ROOT : shape->root == comm->rank;
    if (place.is_root)
        place.root_world = mpi_world.rank;
    else if (shape->root >= 0)
        place.root_world = mpi_peer(comm, shape->root);
    return place;
}

static bool takes_part(const struct mpi_side *side, const struct place *place)
{
    if (place->rooted && place->root == MPI_PROC_NULL && (place->comm->flags & WIRE_MPI_COMM_INTER))
        return false;
    if (side->how & MPI_AT_ROOT)
        return place->is_root;
    if (side->how & MPI_NOT_AT_ROOT)
        return !place->is_root;
    if (side->how & (MPI_TO_ROOT | MPI_FROM_ROOT) && place->comm->flags & WIRE_MPI_COMM_INTER)
        return !place->is_root;
    return true;
}

/* A side whose parts differ in length, each with a place of its own. */
static struct mpi_data many(const struct mpi_side *side, uint32_t parts)
{
    struct mpi_data all = {.address = UINT64_MAX};
    uint64_t end = 0, contiguous = 0;
    for (uint32_t i = 0; i < parts; i++) {
        MPI_Datatype datatype = side->types ? side->types[i] : side->type;
        struct mpi_type type = mpi_type_find(datatype);
        int64_t place = side->addresses ? side->addresses[i] : side->places ? side->places[i] : (int64_t)contiguous;
        if (side->places && !side->types)
            place *= type.extent;
        const char *buffer = (const char *)side->buffer;
        struct mpi_data part = mpi_data(buffer + place, side->counts[i], datatype);
        contiguous += (uint64_t)type.extent * (uint64_t)(side->counts[i] > 0 ? side->counts[i] : 0);
        if (!part.extent)
            continue;
        all.bytes += part.bytes;
        all.address = part.address < all.address ? part.address : all.address;
        end = part.address + part.extent > end ? part.address + part.extent : end;
    }
    if (all.address == UINT64_MAX)
        return (struct mpi_data){.address = (uint64_t)(uintptr_t)side->buffer};
    all.extent = end - all.address;
    return all;
}

static struct mpi_data data_of(const struct mpi_side *side, uint32_t peers, uint32_t own)
{
    if (side->counts && side->how & MPI_OWN)
        return mpi_data(side->buffer, side->counts[own], side->type);
    if (side->counts)
        return many(side, peers);
    struct mpi_data data = mpi_data(side->buffer, side->count, side->type);
    if (!(side->how & MPI_EACH) || !peers)
        return data;
    struct mpi_type type = mpi_type_find(side->type);
    data.extent += (uint64_t)(peers - 1) * (uint64_t)(side->count > 0 ? side->count : 0) * (uint64_t)type.extent;
    data.bytes *= peers;
    return data;
}

/* MPI_IN_PLACE: this side is part of the other's buffer. */
static struct mpi_side in_place(const struct mpi_side *side, const struct mpi_side *other)
{
    struct mpi_side real = *other;
    real.how = side->how;
    if (other->counts && !side->counts)
        real.how |= MPI_OWN;
    return real;
}

/* Peers whose part is empty, as text; 0 = none, or all alike. */
static uint32_t empty_parts(const struct mpi_side *side, const struct mpi_ranks *peers, const struct place *place)
{
    struct rank_list list;
    bool single = !side->counts || side->how & MPI_OWN;
    if (single && (!(side->how & MPI_VARIES) || side->count != 0))
        return 0;
    rank_list_begin(&list);
    if (single && side->how & (MPI_TO_ROOT | MPI_FROM_ROOT))
        rank_list_add(&list, place->root_world);
    else
        for (uint32_t i = 0; i < peers->size; i++)
            if (single || side->counts[i] == 0)
                rank_list_add(&list, peers->world[i]);
    return rank_list_end(&list);
}

static void buffers(struct mpi_span *span, const struct place *place, const struct mpi_side *send, const struct mpi_side *receive)
{
    bool sends = takes_part(send, place), receives = takes_part(receive, place);
    struct mpi_data sent = {0}, received = {0};
    if (sends)
        sent = data_of(send, place->to->size, place->own);
    if (receives)
        received = data_of(receive, place->from->size, place->own);
    mpi_field(span, FIELD_COLLECTIVE_bytes_sent, sent.bytes);
    mpi_field(span, FIELD_COLLECTIVE_bytes_received, received.bytes);
    if (sends) {
        mpi_field(span, FIELD_COLLECTIVE_send_buffer, sent.address);
        mpi_field(span, FIELD_COLLECTIVE_send_extent, sent.extent);
    }
    if (receives) {
        mpi_field(span, FIELD_COLLECTIVE_receive_buffer, received.address);
        mpi_field(span, FIELD_COLLECTIVE_receive_extent, received.extent);
    }
}

struct lists {
    uint32_t no_data_to, no_data_from;
};

static void record(struct mpi_call *call, unsigned number, uint64_t sequence, const struct mpi_shape *shape, const struct place *place,
                   const struct lists *lists, const MPI_Request *request)
{
    struct mpi_span span;
    struct mpi_side send = shape->send, receive = shape->receive;
    if (send.buffer == MPI_IN_PLACE)
        send = in_place(&shape->send, &shape->receive);
    else if (receive.buffer == MPI_IN_PLACE)
        receive = in_place(&shape->receive, &shape->send);
    mpi_span_begin(&span, call, number, SPAN_KIND_COLLECTIVE, PAYLOAD_COLLECTIVE);
    mpi_field(&span, FIELD_COLLECTIVE_comm, place->comm->identity);
    mpi_field(&span, FIELD_COLLECTIVE_sequence, sequence);
    if (place->root_world >= 0)
        mpi_field(&span, FIELD_COLLECTIVE_root, (uint64_t)(int64_t)place->root_world);
    buffers(&span, place, &send, &receive);
    if (shape->reduces)
        mpi_field(&span, FIELD_COLLECTIVE_operation, mpi_operation(shape->op));
    uint32_t to = lists ? lists->no_data_to : takes_part(&send, place) ? empty_parts(&send, place->to, place) : 0;
    uint32_t from = lists ? lists->no_data_from : takes_part(&receive, place) ? empty_parts(&receive, place->from, place) : 0;
    if (to)
        mpi_field(&span, FIELD_COLLECTIVE_no_data_to, to);
    if (from)
        mpi_field(&span, FIELD_COLLECTIVE_no_data_from, from);
    if (request) {
        mpi_field(&span, FIELD_COLLECTIVE_nonblocking, 1);
        span.record->correlation = rt_correlation();
        mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*request), .address = request, .correlation = span.record->correlation,
                                              .kind = MPI_REQUEST_OTHER});
    }
    mpi_span_end(call, &span);
}

/* Only a number and a communicator. */
static void record_barrier(struct mpi_call *call, unsigned number, uint64_t sequence, const struct mpi_comm *comm, const MPI_Request *request)
{
    struct mpi_span span;
    mpi_span_begin(&span, call, number, SPAN_KIND_COLLECTIVE, PAYLOAD_COLLECTIVE);
    mpi_field(&span, FIELD_COLLECTIVE_comm, comm->identity);
    mpi_field(&span, FIELD_COLLECTIVE_sequence, sequence);
    if (request) {
        mpi_field(&span, FIELD_COLLECTIVE_nonblocking, 1);
        span.record->correlation = rt_correlation();
        mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*request), .address = request, .correlation = span.record->correlation,
                                              .kind = MPI_REQUEST_OTHER});
    }
    mpi_span_end(call, &span);
}

/* The number is counted in any case, so that it stays the same in all processes. */
void mpi_collective(struct mpi_call *call, unsigned number, MPI_Comm handle, const MPI_Request *request, const struct mpi_shape *shape)
{
    struct mpi_comm *comm = mpi_comm_find(handle);
    uint64_t sequence = comm ? mpi_sequence(comm) : 0;
    if (!call->rt.thread)
        return;
    if (!comm) {
        mpi_plain(call, number, SPAN_KIND_COLLECTIVE);
    } else if (number == CALL_MPI_Barrier || number == CALL_MPI_Ibarrier) {
        record_barrier(call, number, sequence, comm, request);
    } else {
        struct place place = place_of(comm, shape);
        record(call, number, sequence, shape, &place, 0, request);
    }
}

/* All of the communicator that is no neighbour, or whose part is empty. */
static uint32_t others(const struct mpi_comm *comm, const struct mpi_ranks *neighbours, const int *counts)
{
    struct rank_list list;
    rank_list_begin(&list);
    for (uint32_t i = 0; i < comm->peers->size; i++) {
        bool meant = false;
        for (uint32_t n = 0; n < neighbours->size && !meant; n++)
            meant = neighbours->world[n] == comm->peers->world[i] && (!counts || counts[n] > 0);
        if (!meant)
            rank_list_add(&list, comm->peers->world[i]);
    }
    return rank_list_end(&list);
}

static bool all_have_data(const int *counts, uint32_t size)
{
    for (uint32_t i = 0; counts && i < size; i++)
        if (counts[i] == 0)
            return false;
    return true;
}

void mpi_neighbours(struct mpi_call *call, unsigned number, MPI_Comm handle, const MPI_Request *request, const struct mpi_shape *shape)
{
    struct mpi_comm *comm = mpi_comm_find(handle);
    uint64_t sequence = comm ? mpi_sequence(comm) : 0;
    if (!call->rt.thread)
        return;
    if (!comm || !mpi_topology(comm, handle)) {
        mpi_plain(call, number, SPAN_KIND_COLLECTIVE);
        return;
    }
    struct place place = place_of(comm, shape);
    place.to = comm->to;
    place.from = comm->from;
    if (!comm->not_to && !comm->not_from) {
        comm->not_to = others(comm, comm->to, 0);
        comm->not_from = others(comm, comm->from, 0);
    }
    const int *to = shape->send.counts, *from = shape->receive.counts;
    struct lists lists = {all_have_data(to, comm->to->size) ? comm->not_to : others(comm, comm->to, to),
                          all_have_data(from, comm->from->size) ? comm->not_from : others(comm, comm->from, from)};
    record(call, number, sequence, shape, &place, &lists, request);
}
