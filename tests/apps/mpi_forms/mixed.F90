! SPDX-License-Identifier: MIT
! A program of two languages: what C posts Fortran waits for, and the other way round. And every second element of an array, which
! MPICH's mpi_f08 takes by a descriptor.
program mixed
    use iso_c_binding, only : c_int
    use mpi_f08
    implicit none
    interface
        subroutine post_receive(comm, buffer, count, peer, request) bind(c)
            import :: c_int
            integer(c_int), value :: comm, count, peer
            integer(c_int), asynchronous :: buffer(*)
            integer(c_int) :: request
        end subroutine
        subroutine finish(request) bind(c)
            import :: c_int
            integer(c_int) :: request
        end subroutine
    end interface
    integer :: a(16), rank, ranks, next, before, i
    integer, asynchronous :: b(16) = 0
    integer, parameter :: large = 100000 ! more than is sent at once
    integer, asynchronous, allocatable :: outgoing(:), incoming(:)
    type(MPI_Request) :: receive, send

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks)
    next = mod(rank + 1, ranks)
    before = mod(rank + ranks - 1, ranks)
    a = [(rank * 100 + i, i = 1, 16)]
    allocate (outgoing(large), source=rank)
    allocate (incoming(large), source=-1)
    call post_receive(MPI_COMM_WORLD%MPI_VAL, incoming, large, before, receive%MPI_VAL)
    call MPI_Isend(outgoing, large, MPI_INTEGER, next, 1, MPI_COMM_WORLD, send)
    call MPI_Wait(receive, MPI_STATUS_IGNORE)
    call finish(send%MPI_VAL)
    if (send /= MPI_REQUEST_NULL .or. any(incoming /= before)) stop 1
    call MPI_Sendrecv(a(1:15:2), 8, MPI_INTEGER, next, 2, b(2:16:2), 8, MPI_INTEGER, before, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    write (*, '(i0, 1x, i0)') rank, sum(b)
    call MPI_Finalize()
end program
