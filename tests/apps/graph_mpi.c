/* SPDX-License-Identifier: MIT */
/*
 * MPI programs of which it is known who waits for whom: graph_mpi WHAT ROUNDS [SIZE], 3 ranks or more. Costs are loops, so that who comes late does so surely.
 *   late        rank 0 works, then sends to all others, who wait for it
 *   synchronous rank 0 sends SIZE bytes in synchronous mode to rank 1, which comes late
 *   large       the same in standard mode
 *   small       rank 0 sends 8 bytes to rank 1, which comes late: nobody waits but for the message
 *   sizes       rank 0 sends to rank 1, now early, now late: up to 1 KB in standard, from 128 KB in synchronous mode
 *   requests    everybody posts receives from both neighbours, sends, and waits for all
 *   any         rank 0 takes one message from each by MPI_Waitany
 *   exchange    MPI_Sendrecv around the ring
 *   persistent  persistent requests around the ring
 *   probe       rank 1 probes for what rank 0 sends, then receives it
 *   rooted      a broadcast and a reduction, the root late, then early
 *   scan        MPI_Scan and MPI_Exscan with rank 0 late
 *   immediate   MPI_Iallreduce, work, MPI_Wait
 *   fence       puts between fences; start, post, complete, wait; exclusive locks
 *   hybrid      OpenMP loops and tasks between reductions
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

static int rank, size, bytes = 1 << 20;
static char *buffer;
static volatile double sink;

static void work(int thousands)
{
    double sum = 0;
    for (int i = 1; i < thousands * 1000; i++)
        sum += 1.0 / i;
    sink = sum;
}

static void late(void)
{
    int value = rank;
    if (rank == 0)
        work(1000);
    for (int to = 1; rank == 0 && to < size; to++)
        MPI_Send(&value, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_message(int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm), int length)
{
    if (rank == 0)
        send(buffer, length, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    if (rank == 1) {
        work(1000);
        MPI_Recv(buffer, length, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void synchronous(void)
{
    one_message(MPI_Ssend, bytes);
}

static void large(void)
{
    one_message(MPI_Send, 8);
    one_message(MPI_Send, bytes);
}

static void small(void)
{
    one_message(MPI_Send, 8);
}

/* Which sends waited for their receive is known of all: the small ones have room everywhere, the others say that they wait. */
static void sizes(void)
{
    for (int i = 0; i < 16; i++) {
        int length = i % 2 ? 8 << i / 2 : (128 << 10) + 4096 * i;
        if (rank == 0) {
            work(i % 3 ? 100 : 10);
            (i % 2 ? MPI_Send : MPI_Ssend)(buffer, length, MPI_CHAR, 1, 8, MPI_COMM_WORLD);
        }
        if (rank == 1) {
            work(i % 3 ? 10 : 100);
            MPI_Recv(buffer, length, MPI_CHAR, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void requests(void)
{
    MPI_Request all[4];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Irecv(buffer, 64, MPI_CHAR, left, 3, MPI_COMM_WORLD, &all[0]);
    MPI_Irecv(buffer + 64, 64, MPI_CHAR, right, 3, MPI_COMM_WORLD, &all[1]);
    work(100 * (rank + 1));
    MPI_Isend(buffer + 128, 64, MPI_CHAR, left, 3, MPI_COMM_WORLD, &all[2]);
    MPI_Isend(buffer + 128, 64, MPI_CHAR, right, 3, MPI_COMM_WORLD, &all[3]);
    MPI_Waitall(4, all, MPI_STATUSES_IGNORE);
}

static void any(void)
{
    MPI_Request all[64];
    int index;
    for (int from = 1; rank == 0 && from < size; from++)
        MPI_Irecv(buffer + from, 1, MPI_CHAR, from, 4, MPI_COMM_WORLD, &all[from - 1]);
    for (int from = 1; rank == 0 && from < size; from++)
        MPI_Waitany(size - 1, all, &index, MPI_STATUS_IGNORE);
    if (rank != 0) {
        work(300 * rank);
        MPI_Send(buffer, 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void exchange(void)
{
    work(100 * rank);
    MPI_Sendrecv(buffer, 64, MPI_CHAR, (rank + 1) % size, 5, buffer + 64, 64, MPI_CHAR, (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void persistent(void)
{
    MPI_Request both[2];
    MPI_Recv_init(buffer, 64, MPI_CHAR, (rank + size - 1) % size, 6, MPI_COMM_WORLD, &both[0]);
    MPI_Send_init(buffer + 64, 64, MPI_CHAR, (rank + 1) % size, 6, MPI_COMM_WORLD, &both[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, both);
        work(50 * rank);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&both[0]);
    MPI_Request_free(&both[1]);
}

static void probe(void)
{
    MPI_Status status;
    int count;
    if (rank == 0) {
        work(500);
        MPI_Send(buffer, 32, MPI_CHAR, 1, 7, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &count);
        MPI_Recv(buffer, count, MPI_CHAR, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void rooted(void)
{
    int value = rank, sum;
    if (rank == 0)
        work(500);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank == size - 1)
        work(500);
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void scan(void)
{
    int value = rank, sum;
    if (rank == 0)
        work(500);
    MPI_Scan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void immediate(void)
{
    MPI_Request request;
    int value = rank, sum;
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    work(100 * rank);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void fence(void)
{
    MPI_Win window;
    MPI_Group world, other;
    int value = rank, to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Win_create(buffer, 1024, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    work(200 * rank);
    MPI_Put(&value, 1, MPI_INT, to, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &from, &other);
    MPI_Win_post(other, 0, window);
    MPI_Group_free(&other);
    MPI_Group_incl(world, 1, &to, &other);
    MPI_Win_start(other, 0, window);
    MPI_Put(&value, 1, MPI_INT, to, 4, 1, MPI_INT, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    MPI_Group_free(&other);
    MPI_Group_free(&world);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Put(&value, 1, MPI_INT, 0, 8, 1, MPI_INT, window);
    work(200);
    MPI_Win_unlock(0, window);
    MPI_Win_free(&window);
}

static void hybrid(void)
{
    double sum = 0, all;
#ifdef _OPENMP
#pragma omp parallel num_threads(2)
    {
        work(50 * (omp_get_thread_num() + 1));
#pragma omp barrier
#pragma omp single
        for (int i = 0; i < 4; i++) {
#pragma omp task
            work(20);
        }
    }
#endif
    sum = sink;
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static const struct {
    const char *name;
    void (*run)(void);
} programs[] = {
    {"late", late},   {"synchronous", synchronous}, {"large", large},         {"small", small}, {"sizes", sizes}, {"requests", requests},   {"any", any},     {"exchange", exchange},
    {"probe", probe}, {"persistent", persistent},   {"rooted", rooted},       {"scan", scan},   {"immediate", immediate}, {"fence", fence}, {"hybrid", hybrid},
};

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 2 ? atoi(argv[2]) : 1;
    bytes = argc > 3 ? atoi(argv[3]) : bytes;
    buffer = calloc(1, (size_t)bytes + 4096);
    for (size_t i = 0; argc > 1 && buffer && i < sizeof programs / sizeof *programs; i++)
        for (int round = 0; strcmp(programs[i].name, argv[1]) == 0 && round < rounds; round++)
            programs[i].run();
    free(buffer);
    MPI_Finalize();
    return 0;
}
