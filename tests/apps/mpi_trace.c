/* SPDX-License-Identifier: MIT */
/*
 * MPI programs whose messages, collectives and ends are known: mpi_trace WHAT.
 *   ring       10 rounds: a token goes round from rank to rank, then a barrier
 *   requests   everybody sends to everybody without blocking, receives are from anybody; one receive is cancelled
 *   groups     collectives on MPI_COMM_WORLD, on halves of it and on a duplicate
 *   windows    puts between fences, and under a lock with a flush
 *   nobody     rank 1 receives from MPI_PROC_NULL before it receives what rank 0 sends
 *   many N     N messages from rank 0 to 1, none waits for an answer
 *   kill       rank 1 gets SIGKILL after 5 rounds of the ring
 *   abort      rank 1 calls MPI_Abort after 5 rounds
 *   segfault   rank 1 dies by SIGSEGV after 5 rounds
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;

static void ring(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        int token = round, left = (rank + size - 1) % size, right = (rank + 1) % size;
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank != 0)
            MPI_Send(&token, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void requests(void)
{
    int values[64], own = rank;
    MPI_Request all[128], never;
    for (int i = 0; i < size; i++) {
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &all[i]);
        MPI_Isend(&own, 1, MPI_INT, i, 5, MPI_COMM_WORLD, &all[size + i]);
    }
    MPI_Waitall(2 * size, all, MPI_STATUSES_IGNORE);
    MPI_Irecv(&own, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &never);
    MPI_Cancel(&never);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
}

static void groups(void)
{
    MPI_Comm half, copy;
    int value = rank, sum;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, half);
    MPI_Bcast(&value, 1, MPI_INT, 0, copy);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
}

static void windows(void)
{
    int *memory, value = rank, target = (rank + 1) % size;
    MPI_Win window;
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, window);
    MPI_Put(&value, 1, MPI_INT, target, 1, 1, MPI_INT, window);
    MPI_Win_flush(target, window);
    MPI_Put(&value, 1, MPI_INT, target, 1, 1, MPI_INT, window);
    MPI_Win_unlock(target, window);
    MPI_Win_free(&window);
}

/* Each rank lets its left neighbour put into its window, and tests for the end of it the second time. */
static void exposures(void)
{
    int *memory, value = rank, right = (rank + 1) % size, left = (rank + size - 1) % size, over = 0;
    MPI_Win window;
    MPI_Group world, origin, target;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &origin);
    MPI_Group_incl(world, 1, &right, &target);
    for (int i = 0; i < 2; i++) {
        MPI_Win_post(origin, 0, window);
        MPI_Win_start(target, 0, window);
        MPI_Put(&value, 1, MPI_INT, right, 0, 1, MPI_INT, window);
        MPI_Win_complete(window);
        if (i == 0)
            MPI_Win_wait(window);
        while (i == 1 && !over)
            MPI_Win_test(window, &over);
    }
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Group_free(&world);
    MPI_Win_free(&window);
}

static void many(int count)
{
    int value = 0;
    for (int i = 0; i < count && rank < 2; i++) {
        if (rank == 0)
            MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        else
            MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void receive_from_nobody(void)
{
    int none = 0, token = 0;
    MPI_Request request;
    MPI_Status status = {0};
    if (rank == 0)
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    if (rank != 1)
        return;
    MPI_Irecv(&none, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status);
}

static void die(const char *how)
{
    ring(5);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (rank == 1 && strcmp(how, "kill") == 0)
        raise(SIGKILL);
    if (rank == 1)
        *(volatile int *)8 = 0; /* a signal that is only raised would be swallowed: UCX catches it */
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "ring") == 0)
        ring(10);
    else if (strcmp(what, "requests") == 0)
        requests();
    else if (strcmp(what, "exposures") == 0)
        exposures();
    else if (strcmp(what, "groups") == 0)
        groups();
    else if (strcmp(what, "windows") == 0)
        windows();
    else if (strcmp(what, "nobody") == 0)
        receive_from_nobody();
    else if (strcmp(what, "many") == 0)
        many(atoi(argv[2]));
    else
        die(what);
    MPI_Finalize();
    return 0;
}
