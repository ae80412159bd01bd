/* SPDX-License-Identifier: MIT */
/*
 * What MPI costs with and without the collector: an 8-byte ping-pong between ranks 0 and 1 (ns one way: least and median of
 * batches), and, by rank 0 alone and by the CPU time of its thread, calls that go nowhere (MPI_PROC_NULL).
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCHES 500
#define TRIPS 100
#define CALLS 100000

static double cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static void ping_pong(int rank)
{
    static double one_way[BATCHES];
    char bytes[8] = {0};
    int other = !rank;
    for (int batch = 0; batch < BATCHES; batch++) {
        double begin = MPI_Wtime();
        for (int trip = 0; trip < TRIPS; trip++) {
            if (rank == 0)
                MPI_Send(bytes, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD);
            MPI_Recv(bytes, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 1)
                MPI_Send(bytes, 8, MPI_CHAR, other, 1, MPI_COMM_WORLD);
        }
        one_way[batch] = (MPI_Wtime() - begin) * 1e9 / TRIPS / 2;
    }
    qsort(one_way, BATCHES, sizeof one_way[0], ascending);
    if (rank == 0)
        printf("least %.1f\nmedian %.1f\n", one_way[0], one_way[BATCHES / 2]);
}

static void nowhere(void)
{
    static double cost[20];
    char bytes[8] = {0};
    for (int batch = 0; batch < 20; batch++) {
        double begin = cpu_ns();
        for (int call = 0; call < CALLS / 20; call++) {
            MPI_Send(bytes, 8, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
            MPI_Recv(bytes, 8, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        cost[batch] = (cpu_ns() - begin) / (CALLS / 20);
    }
    qsort(cost, 20, sizeof cost[0], ascending);
    printf("nowhere %.1f\n", cost[0]);
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 1 && rank < 2)
        ping_pong(rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        nowhere();
    MPI_Finalize();
    return 0;
}
