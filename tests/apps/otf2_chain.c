/* SPDX-License-Identifier: MIT */
/* Two ranks take turns: who sleeps holds up the other, so that the critical path is known: 60 ms of rank 0, 40 of rank 1, five times.
 * Then a nonblocking exchange and some collectives. */
#include <mpi.h>
#include <time.h>

static void rest(int milliseconds)
{
    struct timespec time = {0, milliseconds * 1000000L};
    nanosleep(&time, NULL);
}

int main(int argc, char **argv)
{
    int rank, token = 0, sum = 0, other;
    MPI_Request requests[2];
    MPI_Status statuses[2], status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    other = 1 - rank;
    for (int turn = 0; turn < 5; turn++) {
        if (rank == 1)
            MPI_Recv(&token, 1, MPI_INT, 0, turn, MPI_COMM_WORLD, &status);
        rest(rank == 0 ? 60 : 40);
        MPI_Send(&token, 1, MPI_INT, other, turn, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&token, 1, MPI_INT, 1, turn, MPI_COMM_WORLD, &status);
    }
    MPI_Irecv(&sum, 1, MPI_INT, other, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(&token, 1, MPI_INT, other, 9, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&sum, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
