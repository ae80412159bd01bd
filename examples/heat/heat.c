/* SPDX-License-Identifier: MIT */
/*
 * Heat in a plate that the ranks of MPI share by rows and the threads of OpenMP inside a rank: the last rank's rows take twice
 * the work, so that the others wait for it. Built by any MPI's compiler: mpicc -O2 -g -fopenmp heat.c -lm -o heat
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 1024, ROWS = 512, STEPS = 60 }; /* rows of one rank */

static double plate[2][ROWS + 2][COLUMNS];

/* Not inlined, as it would be in a program of some size, and so seen by its own name. */
__attribute__((noinline)) static double smooth(double (*from)[COLUMNS], double (*to)[COLUMNS], int rounds)
{
    double largest = 0;
#pragma omp parallel for reduction(max : largest)
    for (int y = 1; y <= ROWS; y++) {
        for (int x = 1; x < COLUMNS - 1; x++) {
            double heat = from[y][x];
            for (int round = 0; round < rounds; round++)
                heat = sqrt(heat * (from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1]) / 4 + 1e-9);
            largest = fmax(largest, fabs(heat - from[y][x]));
            to[y][x] = heat;
        }
    }
    return largest;
}

static void exchange(double (*rows)[COLUMNS], int above, int below)
{
    MPI_Request requests[4];
    MPI_Status statuses[4];
    MPI_Irecv(rows[0], COLUMNS, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(rows[ROWS + 1], COLUMNS, MPI_DOUBLE, below, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(rows[1], COLUMNS, MPI_DOUBLE, above, 2, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(rows[ROWS], COLUMNS, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, statuses);
}

int main(int argc, char **argv)
{
    int provided, rank, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int above = rank > 0 ? rank - 1 : MPI_PROC_NULL, below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    for (int x = 0; x < COLUMNS; x++)
        plate[0][0][x] = plate[1][0][x] = 1;
    double change = 0;
    for (int step = 0; step < STEPS; step++) {
        exchange(plate[step % 2], above, below);
        double mine = smooth(plate[step % 2], plate[1 - step % 2], rank == ranks - 1 ? 6 : 3);
        MPI_Allreduce(&mine, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%d ranks, %d steps, last change %.3g\n", ranks, STEPS, change);
    MPI_Finalize();
    return EXIT_SUCCESS;
}
