/* SPDX-License-Identifier: MIT */
/* Two ranks with unequal work between reductions: rank 1 has two thirds more, so that only its work is on the critical path. */
#include "work.h"

#include <mpi.h>

static ACTIVITY void light(long units) { work(units); }
static ACTIVITY void heavy(long units) { work(units); }

int main(int argc, char **argv)
{
    int rank;
    double mine = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    long light_units = scaled("light", 3e6), heavy_units = scaled("heavy", 5e6);
    for (int step = 0; step < 60; step++) {
        if (rank == 1)
            heavy(heavy_units);
        else
            light(light_units);
        MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
