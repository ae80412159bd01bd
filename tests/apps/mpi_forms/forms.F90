! SPDX-License-Identifier: MIT
! The calls of *.inc in Fortran (see forms.c), as mpif.h (FORM_MPIF), `use mpi` (FORM_USE) or `use mpi_f08` (FORM_F08) has
! them; with NO_IERROR the optional last argument of mpi_f08 is left out.
#define orelse else
#ifdef NO_IERROR
#define IERR
#else
#define IERR , ierr
#endif
#define OUT(variable) variable
#define AT(array, index) array(index + 1)
#define AINT(value) int(value, MPI_ADDRESS_KIND)
#define OFFSET(value) int(value, MPI_OFFSET_KIND)
#define FALSE_ .false.
#define until_set(logical) logical = .false.; do while (.not. logical)
#define while_more(count) do while (count > 0)
#define end_while end do
#define TOPIC(name) subroutine name()
#define END_TOPIC(name) end subroutine
#include "words.inc"
#ifdef FORM_F08
#define HANDLE(kind) type(kind)
#define STATUS(index) statuses(index + 1)
#define STATUS_TYPE type(MPI_Status)
#define FIELD(status, name) status%name
#define SHAPE
#define ADDRESS_OF_MEMORY type(c_ptr)
#else
#define HANDLE(kind) integer
#define STATUS(index) statuses(:, index + 1)
#define STATUS_TYPE integer
#define FIELD(status, name) status(name)
#define SHAPE (MPI_STATUS_SIZE)
#define ADDRESS_OF_MEMORY integer(MPI_ADDRESS_KIND)
#endif

program forms
#ifdef FORM_F08
    use mpi_f08
    use iso_c_binding, only : c_ptr
#elif defined(FORM_USE)
    use mpi
#endif
    use iso_fortran_env, only : error_unit, output_unit
    implicit none
#ifdef FORM_MPIF
    include 'mpif.h'
#endif
    integer, parameter :: most = 64
    integer :: a(512), b(512), c(512), same(4) = 7, room(50000), ierr
    integer :: rank, ranks, next, before, root, half, partner, root_of_both, parent_root, provided
    integer :: place, left, done, tests = 0, mine, total, indices(8)
    integer :: counts(most), places(most), equal(most), offsets(most), graph_index(most), graph_edges(most)
    integer :: from(1), to(1), self(1), single(1) = 1, three(1) = 3, zero(1) = 0, every(1)
    logical :: even, flag, always(1) = .true.
    integer(8) :: total_sum = 0
    integer(MPI_ADDRESS_KIND) :: nowhere(1) = 0, addresses(1)
    ADDRESS_OF_MEMORY :: base
    HANDLE(MPI_Comm) :: comm, ring, part, both
    HANDLE(MPI_Group) :: group, group_next, group_before
    HANDLE(MPI_Request) :: one, other, requests(8)
    HANDLE(MPI_Message) :: message
    HANDLE(MPI_Datatype) :: types(most), here, there
    HANDLE(MPI_Win) :: win
    HANDLE(MPI_File) :: file
#ifdef FORM_F08
    STATUS_TYPE :: st, statuses(8)
#else
    STATUS_TYPE :: st SHAPE, statuses(MPI_STATUS_SIZE, 8)
#endif
    character(len=1000) :: command, commands(2), word
    character(len=MPI_MAX_PORT_NAME) :: port
    integer :: singles(2) = 1
    HANDLE(MPI_Info) :: infos(2)
    asynchronous :: a, b, c, room
    save :: a, b, c, room ! aligned: MPICH 4.0 puts into windows that begin at no multiple of 16 bytes in wrong places

    call get_command_argument(0, command)
    commands = command
    call get_command_argument(1, word)
    if (word /= "") then
        call MPI_Init_thread(MPI_THREAD_FUNNELED, provided IERR)
    else
        call MPI_Init(ierr)
    end if
    comm = MPI_COMM_WORLD
    call MPI_Comm_get_parent(both IERR)
    if (both /= MPI_COMM_NULL) then
        call MPI_Comm_remote_size(both, parent_root IERR)
        parent_root = parent_root - 1
        call child()
        call MPI_Finalize(ierr)
        stop
    end if
    call MPI_Buffer_attach(room, 200000 IERR)
    if (word == "children") then
        call prepare()
        call children()
        call say("children")
    else
#include "order.inc"
    end if
    call MPI_Buffer_detach(base, place IERR)
    write (error_unit, '(i0, a, i0)') rank, " tested ", tests
    call MPI_Finalize(ierr)

contains

    subroutine fill(array)
        integer, intent(out) :: array(:)
        integer :: i
        array = [(rank * 1000 + i, i = 1, size(array))]
    end subroutine

    subroutine add(array, count)
        integer, intent(in) :: array(:), count
        total_sum = total_sum + sum(int(array(:count), 8))
    end subroutine

    subroutine look(status)
        STATUS_TYPE, intent(in) :: status SHAPE
        integer :: count
        call MPI_Get_count(status, MPI_INTEGER, count IERR)
        total_sum = total_sum + FIELD(status, MPI_SOURCE) * 10000 + FIELD(status, MPI_TAG) * 100 + count
    end subroutine

    subroutine rest()
        use iso_c_binding, only : c_int
        interface
            integer(c_int) function usleep(microseconds) bind(c)
                import :: c_int
                integer(c_int), value :: microseconds
            end function
        end interface
        if (usleep(100) /= 0) continue
    end subroutine

    subroutine say(topic)
        character(len=*), intent(in) :: topic
        write (output_unit, '(i0, 1x, a, 1x, i0)') rank, topic, total_sum
        flush (output_unit)
    end subroutine

    subroutine prepare()
        integer :: i
        call MPI_Comm_rank(comm, rank IERR)
        call MPI_Comm_size(comm, ranks IERR)
        next = mod(rank + 1, ranks)
        before = mod(rank + ranks - 1, ranks)
        to = next
        from = before
        root = ranks - 1
        even = mod(rank, 2) == 0
        half = rank / (ranks / 2)
        partner = mod(rank, ranks / 2)
        root_of_both = MPI_PROC_NULL
        if (rank == 0) root_of_both = MPI_ROOT
        mine = rank + 1
        total = ranks * (ranks + 1)
        self = rank
        every = ranks
        counts = [(i, i = 1, most)]
        equal = 2
        places = [((i - 1) * (ranks + 1), i = 1, most)]
        offsets = 4 * places
        types = MPI_INTEGER
        infos = MPI_INFO_NULL
        graph_index = [(i, i = 1, most)]
        graph_edges = [(mod(i, ranks), i = 1, most)]
        b = 0
        c = 0
        call fill(a)
        call MPI_Comm_group(comm, group IERR)
        call MPI_Group_incl(group, 1, to, group_next IERR)
        call MPI_Group_incl(group, 1, from, group_before IERR)
    end subroutine

#include "topics.inc"
end program
