/* SPDX-License-Identifier: MIT */
/*
 * Communicators made and freed. A new one's identity is computed from what all its members know without asking each other: the
 * parent's identity, the number of the call among the parent's collectives, and which of several it is (the world rank of
 * its rank 0). Where the call isn't collective on the parent: its members, the tag, and how many such calls there were.
 */
#include "mpi_collector.h"

#include "../runtime/sys.h"

static void record(struct mpi_call *call, unsigned number, const struct mpi_comm *made, const struct mpi_comm *parent, uint64_t sequence,
                   const MPI_Request *request)
{
    struct mpi_span span;
    if (!call->rt.thread)
        return;
    mpi_span_begin(&span, call, number, SPAN_KIND_COMM, PAYLOAD_COMM);
    if (made)
        mpi_field(&span, FIELD_COMM_comm, made->identity);
    if (parent)
        mpi_field(&span, FIELD_COMM_parent, parent->identity);
    if (made) {
        mpi_field(&span, FIELD_COMM_size, made->own->size);
        mpi_field(&span, FIELD_COMM_rank, (uint64_t)(int64_t)made->rank);
    }
    if (sequence)
        mpi_field(&span, FIELD_COMM_sequence, sequence);
    if (made && made->flags & WIRE_MPI_COMM_WINDOW) {
        mpi_field(&span, FIELD_COMM_bytes, made->bytes);
        mpi_field(&span, FIELD_COMM_base, made->base);
    }
    if (made && made->name)
        mpi_field(&span, FIELD_COMM_name, made->name);
    struct mpi_request *entry = request ? mpi_request_find(MPI_HANDLE(*request), request) : 0;
    if (entry)
        entry->correlation = span.record->correlation = rt_correlation();
    mpi_span_end(call, &span);
}

void mpi_comm_recorded(struct mpi_call *call, unsigned number, const struct mpi_comm *made, const struct mpi_comm *parent, uint64_t sequence)
{
    record(call, number, made, parent, sequence, 0);
}

/* How many calls with this key there were before: the same in all members, as each makes all of them. */
static uint64_t count_of(uint64_t key)
{
    static struct {
        uint64_t key, count;
    } counts[1024];
    static uint32_t busy;
    uint64_t place = key % 1024, count = 0;
    while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE))
        sys_yield();
    for (unsigned i = 0; i < 1024; i++, place = (place + 1) % 1024)
        if (counts[place].key == 0 || counts[place].key == key) {
            counts[place].key = key;
            count = counts[place].count++;
            break;
        }
    mpi_store(&busy, 0u);
    return count;
}

static struct mpi_comm *add(MPI_Comm made, const struct mpi_comm *parent, uint64_t identity, struct mpi_ranks *peers, struct mpi_ranks *own,
                            uint32_t flags)
{
    struct mpi_comm *comm = mpi_comm_add(MPI_HANDLE(made), identity, peers, own, flags | (parent ? parent->flags & WIRE_MPI_COMM_LOCAL : 0));
    if (comm) {
        comm->parent = parent ? parent->identity : 0;
        mpi_comm_note(comm);
    }
    return comm;
}

static bool is_dup(unsigned number)
{
    return number == CALL_MPI_Comm_dup || number == CALL_MPI_Comm_dup_with_info;
}

void mpi_comm_made(struct mpi_call *call, unsigned number, MPI_Comm from, MPI_Comm made, int result)
{
    mpi_call_ended(call);
    struct mpi_comm *parent = mpi_comm_find(from), *comm = 0;
    uint64_t sequence = parent ? mpi_sequence(parent) : 0;
    struct mpi_ranks *peers, *own;
    if (parent && result == MPI_SUCCESS && made != MPI_COMM_NULL) {
        uint32_t flags = parent->flags & WIRE_MPI_COMM_INTER;
        if (is_dup(number)) {
            peers = mpi_ranks_share(parent->peers);
            own = mpi_ranks_share(parent->own);
        } else {
            flags = mpi_comm_groups(made, &peers, &own) ? WIRE_MPI_COMM_INTER : 0;
        }
        uint64_t identity = mpi_hash(parent->identity, sequence);
        if (peers && own) {
            uint64_t leader = mpi_hash((uint64_t)own->world[0], 0);
            if (flags) /* of both groups, whichever is ours */
                leader += mpi_hash((uint64_t)(peers->size ? peers->world[0] : -1), 0);
            identity = mpi_hash(identity, leader);
        }
        comm = add(made, parent, identity, peers, own, flags);
    }
    record(call, number, comm, parent, sequence, 0);
}

void mpi_comm_grouped(struct mpi_call *call, unsigned number, MPI_Comm from, int tag, MPI_Comm made, int result)
{
    mpi_call_ended(call);
    struct mpi_comm *parent = mpi_comm_find(from), *comm = 0;
    struct mpi_ranks *peers, *own;
    if (parent && result == MPI_SUCCESS && made != MPI_COMM_NULL) {
        mpi_comm_groups(made, &peers, &own);
        uint64_t identity = mpi_hash(parent->identity, own ? mpi_hash_ranks(own->world, own->size) : 0);
        identity = mpi_hash(identity, (uint64_t)(int64_t)tag ^ 0x6700000000000000ull);
        comm = add(made, parent, mpi_hash(identity, count_of(identity)), peers, own, 0);
    }
    record(call, number, comm, 0, 0, 0);
}

/* Both groups compute the same, so nothing in it may depend on which one is ours. */
void mpi_comm_joined(struct mpi_call *call, unsigned number, MPI_Comm from, int tag, MPI_Comm made, int result)
{
    mpi_call_ended(call);
    struct mpi_comm *parent = mpi_comm_find(from), *comm = 0;
    struct mpi_ranks *peers, *own;
    uint64_t sequence = parent ? mpi_sequence(parent) : 0;
    if (parent && result == MPI_SUCCESS && made != MPI_COMM_NULL) {
        mpi_comm_groups(made, &peers, &own);
        bool known = peers && own && peers->size && peers->world[0] >= 0;
        uint64_t identity = known ? mpi_hash_ranks(peers->world, peers->size) + mpi_hash_ranks(own->world, own->size) : 0;
        identity = mpi_hash(mpi_hash(mpi_world.identity, identity), (uint64_t)(int64_t)tag ^ 0x6900000000000000ull);
        comm = add(made, parent, mpi_hash(identity, count_of(identity)), peers, own,
                   WIRE_MPI_COMM_INTER | (known ? 0 : WIRE_MPI_COMM_LOCAL));
    }
    record(call, number, comm, parent, sequence, 0);
}

/* The other side has another MPI_COMM_WORLD: what it would call this communicator isn't known here. */
void mpi_comm_remote(struct mpi_call *call, unsigned number, MPI_Comm from, MPI_Comm made, int result)
{
    mpi_call_ended(call);
    struct mpi_comm *parent = mpi_comm_find(from), *comm = 0;
    struct mpi_ranks *peers, *own;
    uint64_t sequence = parent ? mpi_sequence(parent) : 0;
    if (parent && result == MPI_SUCCESS && made != MPI_COMM_NULL) {
        mpi_comm_groups(made, &peers, &own);
        comm = add(made, parent, mpi_hash(mpi_hash(parent->identity, sequence), 'R'), peers, own, WIRE_MPI_COMM_INTER | WIRE_MPI_COMM_LOCAL);
    }
    record(call, number, comm, parent, sequence, 0);
}

/*
 * Its identity is that of the call. The caller may use its handle only when the request is over, but it is there already: Open MPI
 * and MPICH give it to their Fortran bindings, whose variable behind `made` is gone by then.
 */
void mpi_comm_idup(struct mpi_call *call, unsigned number, MPI_Comm from, MPI_Comm *made, const MPI_Request *request, int result)
{
    mpi_call_ended(call);
    struct mpi_comm *parent = mpi_comm_find(from), *comm = 0;
    uint64_t sequence = parent ? mpi_sequence(parent) : 0;
    if (parent && result == MPI_SUCCESS) {
        uint64_t leader = mpi_hash((uint64_t)parent->own->world[0], 0);
        if (parent->flags & WIRE_MPI_COMM_INTER)
            leader += mpi_hash((uint64_t)(parent->peers->size ? parent->peers->world[0] : -1), 0);
        uint64_t identity = mpi_hash(mpi_hash(parent->identity, sequence), leader);
        comm = mpi_comm_add(0, identity, mpi_ranks_share(parent->peers), mpi_ranks_share(parent->own), parent->flags);
    }
    if (comm) {
        comm->parent = parent->identity;
        mpi_comm_note(comm);
        mpi_request_put(&(struct mpi_request){.handle = MPI_HANDLE(*request), .address = request, .kind = MPI_REQUEST_IDUP, .comm = comm,
                                              .newcomm = *made});
    }
    record(call, number, comm, parent, sequence, comm ? request : 0);
}

void mpi_comm_idup_over(const struct mpi_request *request)
{
    mpi_comm_insert(MPI_HANDLE(request->newcomm), request->comm);
}

void mpi_comm_freed(struct mpi_call *call, unsigned number, struct mpi_comm *freed)
{
    uint64_t sequence = freed ? mpi_sequence(freed) : 0;
    record(call, number, freed, 0, sequence, 0);
    mpi_comm_release(freed);
}

void mpi_comm_named(struct mpi_call *call, unsigned number, MPI_Comm handle, const char *name)
{
    struct mpi_comm *comm = mpi_comm_find(handle);
    if (comm && call->rt.thread) {
        comm->name = mpi_string(name);
        mpi_comm_note(comm);
    }
    mpi_plain(call, number, SPAN_KIND_API);
}
