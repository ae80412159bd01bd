/* SPDX-License-Identifier: MIT */
/* A chain of late senders: each item goes through the ranks one after the other, and the next starts when it is through. */
#include "work.h"

#include <mpi.h>

static ACTIVITY void first_stage(long units) { work(units); }
static ACTIVITY void later_stage(long units) { work(units); }
static ACTIVITY void aside(long units) { work(units); }

int main(int argc, char **argv)
{
    static double item[4096];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    long first_units = scaled("first_stage", 4e6), later_units = scaled("later_stage", 3e6), aside_units = scaled("aside", 1e6);
    for (int step = 0; step < 40; step++) {
        if (rank != 0)
            MPI_Recv(item, 4096, MPI_DOUBLE, previous, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0)
            first_stage(first_units);
        else
            later_stage(later_units);
        MPI_Send(item, 4096, MPI_DOUBLE, next, step, MPI_COMM_WORLD);
        if (rank == 0) { /* hidden behind the later stages */
            aside(aside_units);
            MPI_Recv(item, 4096, MPI_DOUBLE, previous, step, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
