/* SPDX-License-Identifier: MIT */
/*
 * What is known of communicators, windows and files, by handle: identity, members by world rank, sequence number. Looking up
 * takes no lock; making and freeing does. A handle is reused once its object is freed: the table forgets it then.
 */
#include "mpi_collector.h"

#include "../runtime/sys.h"

#define LISTED_MAX 1024u /* members that every process lists; of larger communicators only rank 0 does */
#define REMOVED 1u       /* no handle */

struct slot {
    uint64_t handle;
    struct mpi_comm *comm;
};
struct table {
    uint32_t slots, used;
    struct slot slot[];
};
static struct table *table;
static uint32_t table_busy;
static MPI_Group world_group;
struct mpi_comm mpi_world;

static void lock(void)
{
    while (__atomic_exchange_n(&table_busy, 1, __ATOMIC_ACQUIRE))
        sys_yield();
}

static void unlock(void)
{
    mpi_store(&table_busy, 0u);
}

static uint32_t place_of(const struct table *in, uint64_t handle)
{
    return (uint32_t)((handle * 0x9e3779b97f4a7c15ull) >> 32) & (in->slots - 1);
}

struct mpi_comm *mpi_comm_in_table(uint64_t handle)
{
    const struct table *in = mpi_load(&table);
    if (MPI_UNLIKELY(!in))
        return 0;
    uint32_t place = place_of(in, handle);
    for (uint64_t at; (at = mpi_load(&in->slot[place].handle)) != 0; place = (place + 1) & (in->slots - 1))
        if (at == handle)
            return mpi_load(&in->slot[place].comm);
    return 0;
}

static void put(struct table *in, uint64_t handle, struct mpi_comm *comm)
{
    uint32_t place = place_of(in, handle);
    while (in->slot[place].handle > REMOVED && in->slot[place].handle != handle)
        place = (place + 1) & (in->slots - 1);
    in->used += in->slot[place].handle == 0;
    mpi_store(&in->slot[place].comm, comm);
    mpi_store(&in->slot[place].handle, handle);
}

/* The old one stays: somebody may be looking into it. As sizes double, all old ones together are as large as the new one. */
static bool grow(void)
{
    uint32_t slots = table ? table->slots : 512;
    uint32_t live = 0;
    for (uint32_t i = 0; table && i < table->slots; i++)
        live += table->slot[i].handle > REMOVED;
    if (live * 4 > slots || !table)
        slots *= 2;
    struct table *larger = mpi_memory_take(sizeof *larger + slots * sizeof larger->slot[0]);
    if (!larger)
        return false;
    larger->slots = slots;
    for (uint32_t i = 0; table && i < table->slots; i++)
        if (table->slot[i].handle > REMOVED)
            put(larger, table->slot[i].handle, table->slot[i].comm);
    mpi_store(&table, larger);
    return true;
}

static bool insert(uint64_t handle, struct mpi_comm *comm)
{
    lock();
    bool room = (table && table->used * 2 < table->slots) || grow();
    if (room)
        put(table, handle, comm);
    unlock();
    return room;
}

/* A communicator that was made without one gets its handle: the reference that it was made with is the table's from now on. */
void mpi_comm_insert(uint64_t handle, struct mpi_comm *comm)
{
    comm->handle = handle;
    insert(handle, comm);
}

void mpi_ranks_release(struct mpi_ranks *ranks)
{
    if (ranks && __atomic_sub_fetch(&ranks->references, 1, __ATOMIC_ACQ_REL) == 0)
        mpi_memory_give(ranks, sizeof *ranks + ranks->size * sizeof ranks->world[0]);
}

struct mpi_ranks *mpi_ranks_share(struct mpi_ranks *ranks)
{
    if (ranks)
        __atomic_add_fetch(&ranks->references, 1, __ATOMIC_RELAXED);
    return ranks;
}

void mpi_comm_release(struct mpi_comm *comm)
{
    if (!comm || comm == &mpi_world || __atomic_sub_fetch(&comm->references, 1, __ATOMIC_ACQ_REL))
        return;
    mpi_memory_give(comm->target_epochs, comm->peers ? comm->peers->size * sizeof comm->target_epochs[0] : 0);
    mpi_ranks_release(comm->peers);
    mpi_ranks_release(comm->own);
    mpi_ranks_release(comm->to);
    mpi_ranks_release(comm->from);
    mpi_memory_give(comm, sizeof *comm);
}

struct mpi_comm *mpi_comm_freeing(uint64_t handle)
{
    struct mpi_comm *removed = 0;
    lock();
    uint32_t place = table ? place_of(table, handle) : 0;
    for (; table && table->slot[place].handle; place = (place + 1) & (table->slots - 1))
        if (table->slot[place].handle == handle) {
            removed = table->slot[place].comm;
            mpi_store(&table->slot[place].handle, (uint64_t)REMOVED);
            break;
        }
    unlock();
    return removed;
}

static int32_t own_rank(const struct mpi_ranks *own)
{
    for (uint32_t i = 0; i < own->size; i++)
        if (own->world[i] == mpi_world.rank)
            return (int32_t)i;
    return -1;
}

struct mpi_comm *mpi_comm_add(uint64_t handle, uint64_t identity, struct mpi_ranks *peers, struct mpi_ranks *own, uint32_t flags)
{
    struct mpi_comm *comm = peers && own ? mpi_memory_take(sizeof *comm) : 0;
    if (!comm) {
        mpi_ranks_release(peers);
        mpi_ranks_release(own);
        return 0;
    }
    comm->handle = handle;
    comm->identity = identity;
    comm->peers = peers;
    comm->own = own;
    comm->rank = own_rank(own);
    comm->flags = flags;
    comm->references = 1;
    if (handle && !insert(handle, comm)) {
        mpi_comm_release(comm);
        return 0;
    }
    return comm;
}

struct mpi_ranks *mpi_ranks_of(MPI_Group group)
{
    int size = 0;
    if (PMPI_Group_size(group, &size) != MPI_SUCCESS || size < 0)
        return 0;
    uint64_t bytes = (uint64_t)size * sizeof(int);
    struct mpi_ranks *ranks = mpi_memory_take(sizeof *ranks + bytes);
    int *numbers = mpi_memory_take(bytes + 1);
    if (ranks && numbers) {
        for (int i = 0; i < size; i++)
            numbers[i] = i;
        ranks->references = 1;
        ranks->size = (uint32_t)size;
        PMPI_Group_translate_ranks(group, size, numbers, world_group, ranks->world);
        for (int i = 0; i < size; i++)
            if (ranks->world[i] < 0)
                ranks->world[i] = MPI_RANK_UNKNOWN;
    } else if (ranks) {
        mpi_memory_give(ranks, sizeof *ranks + bytes);
        ranks = 0;
    }
    mpi_memory_give(numbers, bytes + 1);
    return ranks;
}

static struct mpi_ranks *members(MPI_Comm comm, bool remote)
{
    MPI_Group group;
    if ((remote ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group)) != MPI_SUCCESS)
        return 0;
    struct mpi_ranks *ranks = mpi_ranks_of(group);
    PMPI_Group_free(&group);
    return ranks;
}

/* A communicator's groups; of an intercommunicator `ret_own` is another than `ret_peers`. */
bool mpi_comm_groups(MPI_Comm comm, struct mpi_ranks **ret_peers, struct mpi_ranks **ret_own)
{
    int inter = 0;
    PMPI_Comm_test_inter(comm, &inter);
    *ret_peers = members(comm, inter != 0);
    *ret_own = inter ? members(comm, false) : mpi_ranks_share(*ret_peers);
    return inter != 0;
}

/* One that was made behind our back: its members are known, when it was made is not. */
struct mpi_comm *mpi_comm_learn(uint64_t handle, MPI_Comm comm)
{
    if (mpi_load(&mpi.phase) != MPI_RUNNING || comm == MPI_COMM_NULL)
        return 0;
    struct mpi_ranks *peers, *own;
    uint32_t flags = mpi_comm_groups(comm, &peers, &own) ? WIRE_MPI_COMM_INTER : 0;
    if (!peers || !own)
        return mpi_comm_add(handle, 0, peers, own, 0);
    uint64_t identity = mpi_hash(mpi_hash_ranks(own->world, own->size), mpi_hash_ranks(peers->world, peers->size));
    return mpi_comm_add(handle, mpi_hash(mpi_world.identity, identity), peers, own, flags | WIRE_MPI_COMM_LOCAL);
}

static void list(int32_t *out, const struct mpi_ranks *ranks)
{
    for (uint32_t i = 0; i < ranks->size; i++)
        out[i] = ranks->world[i] < 0 ? -1 : ranks->world[i];
}

static void note_rank(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    PMPI_Get_library_version(version, &length);
    for (int i = 0; i < length; i++)
        if (version[i] == '\n')
            length = i;
        else if (version[i] == '\t')
            version[i] = ' ';
    struct wire_mpi_rank record = {.header = {WIRE_MPI_RANK, sizeof record / 8, rt_string(version, (size_t)(length > 0 ? length : 0))}};
    record.time = rt_now();
    record.rank = mpi_world.rank;
    record.size = (int32_t)mpi_world.own->size;
    record.world = mpi_world.identity;
    rt_keep(&record.header);
}

void mpi_comm_note(struct mpi_comm *comm)
{
    uint32_t both = comm->flags & WIRE_MPI_COMM_INTER ? comm->peers->size : 0, size = comm->own->size + both;
    bool listed = comm->own->size <= LISTED_MAX || comm->rank == 0;
    uint32_t bytes = (uint32_t)sizeof(struct wire_mpi_comm) + (listed ? wire_round_up(size * 4) : 0);
    listed = listed && bytes / 8 <= WIRE_WORDS_MAX;
    if (!listed)
        bytes = sizeof(struct wire_mpi_comm);
    struct wire_mpi_comm *record = mpi_memory_take(bytes);
    if (!record)
        return;
    record->header = (struct wire_header){WIRE_MPI_COMM, (uint16_t)(bytes / 8), comm->name};
    record->time = rt_now();
    record->comm = comm->identity;
    record->parent = comm->parent;
    record->size = size;
    record->listed = listed ? size : 0;
    record->rank = comm->rank;
    record->flags = comm->flags;
    if (listed) {
        int32_t *out = (int32_t *)(record + 1);
        list(out, comm->own);
        if (both)
            list(out + comm->own->size, comm->peers);
    }
    comm->noted = rt_keep(&record->header);
    mpi_memory_give(record, bytes);
    if (comm == &mpi_world && comm->noted)
        note_rank();
}

static void self_start(void)
{
    struct mpi_ranks *ranks = mpi_memory_take(sizeof *ranks + sizeof ranks->world[0]);
    if (!ranks)
        return;
    ranks->references = 2;
    ranks->size = 1;
    ranks->world[0] = mpi_world.rank;
    uint64_t identity = mpi_hash(mpi_hash(mpi_world.identity, 'S'), (uint64_t)(uint32_t)mpi_world.rank);
    struct mpi_comm *self = mpi_comm_add(MPI_HANDLE(MPI_COMM_SELF), identity, ranks, ranks, 0);
    if (self) {
        self->name = rt_string("MPI_COMM_SELF", 13);
        mpi_comm_note(self);
    }
}

void mpi_world_start(void)
{
    PMPI_Comm_group(MPI_COMM_WORLD, &world_group);
    mpi_world.handle = MPI_HANDLE(MPI_COMM_WORLD);
    PMPI_Comm_rank(MPI_COMM_WORLD, &mpi_world.rank);
    mpi_world.own = mpi_world.peers = mpi_ranks_of(world_group);
    if (!mpi_world.own)
        return;
    mpi_world.identity = mpi_job_identity((int)mpi_world.own->size);
    mpi_world.name = rt_string("MPI_COMM_WORLD", 14);
    mpi_world.references = 1;
    insert(mpi_world.handle, &mpi_world);
    mpi_comm_note(&mpi_world);
    self_start();
}
