/* SPDX-License-Identifier: MIT */
/*
 * The calls of *.inc in C; forms.F90 makes the same ones in Fortran. The texts are written in words that are macros here or
 * there, so that both languages read one list: a trace of either program must hold the same.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define call
#define then {
#define orelse } else {
#define endif }
#define IERR
#define OUT(variable) &variable
#define STATUS(index) statuses[index]
#define AT(array, index) (&array[index])
#define AINT(value) ((MPI_Aint)(value))
#define OFFSET(value) ((MPI_Offset)(value))
#define FALSE_ 0
#define until_set(logical) logical = 0; while (!logical) {
#define while_more(count) while (count > 0) {
#define end_while }
#define TOPIC(name) static void name(void) {
#define END_TOPIC(name) }
#include "words.inc"

#define ROOM 512
#define RANKS 64
static int a[ROOM], b[ROOM], c[ROOM], same[4] = {7, 7, 7, 7}, room[50000];
static int rank, ranks, next, before, root, even, half, partner, root_of_both, parent_root;
static int place, left, done, flag, tests, mine, total, indices[8];
static int counts[RANKS], places[RANKS], equal[RANKS], offsets[RANKS], graph_index[RANKS], graph_edges[RANKS];
static int from[1], to[1], self[1], single[1] = {1}, three[1] = {3}, zero[1], every[1], always[1] = {1};
static long sum;
static MPI_Aint nowhere[1], addresses[1];
static MPI_Comm comm, ring, part, both;
static MPI_Group group, group_next, group_before;
static MPI_Request one, other, requests[8];
static MPI_Status st, statuses[8];
static MPI_Message message;
static MPI_Datatype types[RANKS], here, there;
static MPI_Win win;
static MPI_File file;
static void *base;
static const char *command;
static char *commands[2], port[MPI_MAX_PORT_NAME];
static int singles[2] = {1, 1};
static MPI_Info infos[2];

static void fill(int *array)
{
    for (int i = 0; i < ROOM; i++)
        array[i] = rank * 1000 + i + 1;
}

static void add(const int *array, int count)
{
    for (int i = 0; i < count; i++)
        sum += array[i];
}

static void look(MPI_Status status)
{
    int count;
    MPI_Get_count(&status, MPI_INTEGER, &count);
    sum += status.MPI_SOURCE * 10000 + status.MPI_TAG * 100 + count;
}

/* Between tests: so that they are some, not a million. */
static void rest(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void say(const char *topic)
{
    printf("%d %s %ld\n", rank, topic, sum);
    fflush(stdout);
}

static void prepare(void)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    next = to[0] = (rank + 1) % ranks;
    before = from[0] = (rank + ranks - 1) % ranks;
    root = ranks - 1;
    even = rank % 2 == 0;
    half = rank / (ranks / 2);
    partner = rank % (ranks / 2);
    root_of_both = rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    mine = rank + 1;
    total = ranks * (ranks + 1);
    self[0] = rank;
    every[0] = ranks;
    for (int i = 0; i < ranks; i++) {
        counts[i] = i + 1;
        equal[i] = 2;
        places[i] = i * (ranks + 1);
        offsets[i] = 4 * places[i];
        types[i] = MPI_INTEGER;
        graph_index[i] = i + 1;
        graph_edges[i] = (i + 1) % ranks;
    }
    infos[0] = infos[1] = MPI_INFO_NULL;
    fill(a);
    MPI_Comm_group(comm, &group);
    MPI_Group_incl(group, 1, to, &group_next);
    MPI_Group_incl(group, 1, from, &group_before);
}

#include "topics.inc"

int main(int argc, char **argv)
{
    int provided;
    command = commands[0] = commands[1] = argv[0];
    if (argc > 1)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    else
        MPI_Init(&argc, &argv);
    comm = MPI_COMM_WORLD;
    MPI_Comm_get_parent(&both);
    if (both != MPI_COMM_NULL) {
        MPI_Comm_remote_size(both, &parent_root);
        parent_root--;
        child();
        MPI_Finalize();
        return 0;
    }
    MPI_Buffer_attach(room, sizeof room);
    if (argc > 1 && strcmp(argv[1], "children") == 0) {
        prepare();
        children();
        say("children");
    } else {
#include "order.inc"
    }
    MPI_Buffer_detach(&base, &place);
    fprintf(stderr, "%d tested %d\n", rank, tests);
    MPI_Finalize();
    return 0;
}
