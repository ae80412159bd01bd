/* SPDX-License-Identifier: MIT */
/* Ranks with teams of threads: a region, a serial part of the master, an exchange. */
#include "work.h"

#include <mpi.h>
#include <omp.h>

static ACTIVITY void master_part(long units) { work(units); }

static ACTIVITY void team_part(long units)
{
#pragma omp parallel
    work(units);
}

int main(int argc, char **argv)
{
    int provided, rank, size;
    static double halo[2][8192];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long team_units = scaled("team_part", 3e6), master_units = scaled("master_part", 1e6);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int step = 0; step < 50; step++) {
        team_part(team_units * (1 + rank) / size);
        master_part(master_units);
        MPI_Sendrecv(halo[0], 8192, MPI_DOUBLE, next, 0, halo[1], 8192, MPI_DOUBLE, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
