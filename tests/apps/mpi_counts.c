/* SPDX-License-Identifier: MIT */
/*
 * A program whose MPI calls are known to the byte: `mpi_counts ROUNDS` prints nothing but one line of rank 0, a sum over all data.
 * With a second argument it ends early: `abort`, `segv`, `kill` (the last rank, after its rounds); `threads`: calls of several threads at
 * once; `maps`: rank 0 says which of our libraries are in it; `join`: ranks 0 and 1 meet once more, over a socket.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int rank, ranks, rounds;
static long sum;

/* Each round: 10 * (round + 1) ints to the next, nonblocking, both requests in one wait. */
static void ring(MPI_Comm comm)
{
    int out[1000], in[1000];
    for (int round = 0; round < rounds; round++) {
        MPI_Request requests[2];
        int count = 10 * (round + 1);
        for (int i = 0; i < count; i++)
            out[i] = rank + i;
        MPI_Irecv(in, 1000, MPI_INT, (rank + ranks - 1) % ranks, 5, comm, &requests[0]);
        MPI_Isend(out, count, MPI_INT, (rank + 1) % ranks, 5, comm, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        sum += in[count - 1];
    }
}

/* Each round: all others send 1 int to rank 0, which takes them as they come. */
static void anybody(void)
{
    int value = rank;
    for (int round = 0; round < rounds; round++) {
        if (rank) {
            MPI_Ssend(&value, 1, MPI_INT, 0, 100 + round, MPI_COMM_WORLD);
            continue;
        }
        for (int i = 1; i < ranks; i++) {
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 100 + round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += value;
        }
    }
}

/* Requests that are made once and started in each round: 3 doubles. */
static void persistent(void)
{
    double out[3] = {rank, 1, 2}, in[3];
    MPI_Request requests[2];
    MPI_Recv_init(in, 3, MPI_DOUBLE, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(out, 3, MPI_DOUBLE, (rank + 1) % ranks, 7, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < rounds; round++) {
        MPI_Startall(2, requests);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        sum += (long)in[0];
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

/* A window of small sends whose requests all have one handle in some libraries: 40 messages of 1 byte. */
static void window(void)
{
    char out[40], in[40];
    MPI_Request requests[80];
    memset(out, 'x', sizeof out);
    for (int i = 0; i < 40; i++)
        MPI_Irecv(&in[i], 1, MPI_CHAR, (rank + ranks - 1) % ranks, i, MPI_COMM_WORLD, &requests[40 + i]);
    for (int i = 0; i < 40; i++)
        MPI_Isend(&out[i], 1, MPI_CHAR, (rank + 1) % ranks, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(80, requests, MPI_STATUSES_IGNORE);
    sum += in[39];
}

static void collectives(void)
{
    int values[64], all[64 * 8], counts[64], places[64];
    double total[10];
    for (int i = 0; i < 64; i++)
        values[i] = rank + i;
    for (int i = 0; i < ranks; i++) { /* rank 0 has nothing to give */
        counts[i] = i;
        places[i] = i * (i - 1) / 2;
    }
    for (int round = 0; round < rounds; round++) {
        MPI_Bcast(values, 25, MPI_INT, 1, MPI_COMM_WORLD);
        MPI_Allreduce((double[10]){rank}, total, 10, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Alltoall(values, 3, MPI_INT, all, 3, MPI_INT, MPI_COMM_WORLD);
        MPI_Gatherv(values, rank, MPI_INT, all, counts, places, MPI_INT, ranks - 1, MPI_COMM_WORLD);
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += (long)total[0] + all[0];
    }
}

/* Communicators whose handles are the same ones again and again: halves, a duplicate, a group. */
static void communicators(void)
{
    int one = 1, total;
    for (int round = 0; round < rounds; round++) {
        MPI_Comm half, copy;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
        MPI_Comm_dup(half, &copy);
        MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, copy);
        sum += total;
        MPI_Comm_free(&copy);
        MPI_Comm_free(&half);
    }
}

static void *thread(void *argument)
{
    int number = *(int *)argument, in;
    for (int round = 0; round < rounds; round++)
        MPI_Sendrecv(&number, 1, MPI_INT, (rank + 1) % ranks, number, &in, 1, MPI_INT, (rank + ranks - 1) % ranks, number, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    return NULL;
}

static void threads(void)
{
    pthread_t started[3];
    int numbers[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++)
        pthread_create(&started[i], NULL, thread, &numbers[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(started[i], NULL);
}

static void print_maps(void)
{
    char line[4096];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strstr(line, "libhprofiler_mpi-") && strstr(line, " r-xp "))
            fputs(strchr(line, '/'), stdout);
    if (maps)
        fclose(maps);
}

/* `path` is of a socket that rank 0 makes. */
static void join(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int at = socket(AF_UNIX, SOCK_STREAM, 0), fd = at;
    MPI_Comm both = MPI_COMM_NULL;
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (rank == 0 && (bind(at, (struct sockaddr *)&address, sizeof address) || listen(at, 1)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        fd = accept(at, NULL, NULL);
    else if (rank == 1 && connect(at, (struct sockaddr *)&address, sizeof address))
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* some network modules cannot join */
    if (rank < 2 && MPI_Comm_join(fd, &both) == MPI_SUCCESS && both != MPI_COMM_NULL)
        MPI_Comm_disconnect(&both);
}

static void end_badly(const char *how)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(how, "abort") == 0 && rank == ranks - 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(how, "segv") == 0 && rank == ranks - 1)
        raise(SIGSEGV);
    if (strcmp(how, "kill") == 0 && rank == ranks - 1)
        raise(SIGKILL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int provided;
    long whole;
    const char *how = argc > 2 ? argv[2] : "";
    MPI_Init_thread(&argc, &argv, strcmp(how, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    rounds = argc > 1 ? atoi(argv[1]) : 3;
    if (strcmp(how, "threads") == 0) {
        threads();
    } else if (strcmp(how, "maps") == 0) {
        if (rank == 0)
            print_maps();
    } else if (strcmp(how, "join") == 0) {
        join(argv[3]);
    } else {
        ring(MPI_COMM_WORLD);
        anybody();
        persistent();
        window();
        collectives();
        communicators();
    }
    if (strcmp(how, "abort") == 0 || strcmp(how, "segv") == 0 || strcmp(how, "kill") == 0)
        end_badly(how);
    MPI_Reduce(&sum, &whole, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld\n", whole);
    MPI_Finalize();
    return 0;
}
