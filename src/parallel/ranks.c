/* SPDX-License-Identifier: MIT */
/* Ranks of MPI: the same program as the one without, linked with the MPI that its ranks were started by. */
#include "base/rank_group.h"

#include <errno.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define AT_ONCE ((size_t)1 << 30) /* bytes of one message: MPI counts with an int */
enum { TAG_SIZE, TAG_BYTES };

static int agree(const struct rank_group *group, int code, struct error *err)
{
    int failed = code ? group->rank : group->count, first = group->count;
    struct error theirs = ERROR_INIT;
    MPI_Allreduce(&failed, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == group->count)
        return 0;
    if (first == group->rank)
        theirs = *err;
    theirs.code = code;
    MPI_Bcast(&theirs, (int)sizeof theirs, MPI_BYTE, first, MPI_COMM_WORLD);
    *err = theirs;
    return theirs.code;
}

static int room_for(struct parcel *parcel, uint64_t size)
{
    parcel_finish(parcel);
    parcel->data = malloc(size ? size : 1);
    parcel->failed = !parcel->data;
    parcel->size = parcel->capacity = parcel->data ? size : 0;
    return parcel->data ? 0 : -ENOMEM;
}

static int message_size(size_t left)
{
    return (int)(left < AT_ONCE ? left : AT_ONCE);
}

static void send_to(int rank, const struct parcel *parcel)
{
    uint64_t size = parcel->size;
    MPI_Send(&size, 1, MPI_UINT64_T, rank, TAG_SIZE, MPI_COMM_WORLD);
    for (size_t sent = 0; sent < size; sent += (size_t)message_size(size - sent))
        MPI_Send(parcel->data + sent, message_size(size - sent), MPI_BYTE, rank, TAG_BYTES, MPI_COMM_WORLD);
}

static int receive_from(int rank, struct parcel *parcel)
{
    uint64_t size;
    MPI_Recv(&size, 1, MPI_UINT64_T, rank, TAG_SIZE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int code = room_for(parcel, size);
    for (size_t got = 0; got < size && code == 0; got += (size_t)message_size(size - got))
        MPI_Recv(parcel->data + got, message_size(size - got), MPI_BYTE, rank, TAG_BYTES, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return code;
}

/* Without memory for what comes nobody can go on: what was sent would wait for ever. */
static int gather(const struct rank_group *group, struct parcel *own, struct parcel *all)
{
    if (group->rank)
        send_to(0, own);
    else
        all[0] = *own;
    for (int rank = 1; group->rank == 0 && rank < group->count; rank++)
        if (receive_from(rank, &all[rank]) < 0)
            MPI_Abort(MPI_COMM_WORLD, ENOMEM);
    if (group->rank)
        parcel_finish(own);
    *own = (struct parcel)PARCEL_INIT;
    return 0;
}

static int scatter(const struct rank_group *group, struct parcel *all, struct parcel *own)
{
    for (int rank = 1; group->rank == 0 && rank < group->count; rank++) {
        send_to(rank, &all[rank]);
        parcel_finish(&all[rank]);
    }
    if (group->rank == 0) {
        *own = all[0];
        all[0] = (struct parcel)PARCEL_INIT;
    } else if (receive_from(0, own) < 0)
        MPI_Abort(MPI_COMM_WORLD, ENOMEM);
    return 0;
}

static int broadcast(const struct rank_group *group, struct parcel *parcel)
{
    uint64_t size = parcel->size;
    MPI_Bcast(&size, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (group->rank && room_for(parcel, size) < 0)
        MPI_Abort(MPI_COMM_WORLD, ENOMEM);
    for (size_t sent = 0; sent < size; sent += (size_t)message_size(size - sent))
        MPI_Bcast(parcel->data + sent, message_size(size - sent), MPI_BYTE, 0, MPI_COMM_WORLD);
    return 0;
}

static struct rank_group joined = {.agree = agree, .gather = gather, .scatter = scatter, .broadcast = broadcast};

static void leave(void)
{
    MPI_Finalize();
}

const struct rank_group *rank_group_join(struct error *err)
{
    int provided;
    if (joined.count)
        return &joined;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        error_set(err, -ECONNREFUSED, "MPI cannot be started");
        return NULL;
    }
    atexit(leave);
    MPI_Comm_rank(MPI_COMM_WORLD, &joined.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &joined.count);
    return &joined;
}
