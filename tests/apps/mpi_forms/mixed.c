/* SPDX-License-Identifier: MIT */
/* The C half of mixed.F90: handles go to and fro as Fortran's integers. */
#include <mpi.h>

void post_receive(int comm, int *buffer, int count, int peer, int *request);
void post_receive(int comm, int *buffer, int count, int peer, int *request)
{
    MPI_Request posted;
    MPI_Irecv(buffer, count, MPI_INTEGER, peer, 1, MPI_Comm_f2c(comm), &posted);
    *request = MPI_Request_c2f(posted);
}

void finish(int *request);
void finish(int *request)
{
    MPI_Request posted = MPI_Request_f2c(*request);
    MPI_Wait(&posted, MPI_STATUS_IGNORE);
    *request = MPI_Request_c2f(posted);
}
