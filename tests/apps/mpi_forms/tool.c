/* SPDX-License-Identifier: MIT */
/* Another tool that a program is linked with: counts sends and says so in the end. */
#include <mpi.h>
#include <stdio.h>

static int sends;

int MPI_Send(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Finalize(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("%d tool saw %d sends\n", rank, sends);
    fflush(stdout);
    return PMPI_Finalize();
}
