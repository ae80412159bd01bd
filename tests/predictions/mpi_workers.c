/* SPDX-License-Identifier: MIT */
/* A master hands out tasks of unequal length to whoever asks, with wildcards; it prepares each one itself. */
#include "work.h"

#include <mpi.h>

enum { TASKS = 120, STOP = -1 };

static ACTIVITY void prepare(long units) { work(units); }
static ACTIVITY void solve(long units) { work(units); }

static void master(int size)
{
    long prepare_units = scaled("prepare", 2e5);
    int asking, task = 0, running = size - 1;
    MPI_Status status;
    while (running > 0) {
        MPI_Recv(&asking, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        int answer = task < TASKS ? task++ : STOP;
        if (answer != STOP)
            prepare(prepare_units);
        running -= answer == STOP;
        MPI_Send(&answer, 1, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD);
    }
}

static void worker(int rank)
{
    long solve_units = scaled("solve", 4e6);
    int task = 0;
    for (;;) {
        MPI_Send(&rank, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
        MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (task == STOP)
            return;
        solve(solve_units / 2 * (1 + task % 3));
    }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        master(size);
    else
        worker(rank);
    MPI_Finalize();
    return 0;
}
