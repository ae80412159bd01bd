/* SPDX-License-Identifier: MIT */
/*
 * Ranks that wait for each other for known times: each sleeps until its own deadline, then calls MPI, and notes when it came and went.
 * tests/cli/test_wait_states.py and test_efficiency.py know what must be found. Three ranks; each mode has a slot of its own of the time.
 *
 *   waits_mpi MODE...
 *
 * Writes a line for each call to the file $WAITS_CALLS.RANK: "call MODE RANK NAME CAME WENT", in ns of CLOCK_MONOTONIC_RAW since the program's
 * epoch. Not to its output: launchers mix the ranks' outputs in the middle of lines. $WAITS_STRETCH times as long as written here, for a machine
 * that has other things to do.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#define THREAD omp_get_thread_num()
#else
#define THREAD 0
#endif

#define MS 1000000LL
#define SPARE (80 * MS) /* behind the last deadline of a mode, until the next one begins */

static int rank, size;
static long long epoch_ns, slot_ns; /* of CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC */
static long long stretch = 1;
static const char *mode_name = "init";

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void sleep_until(long long time_ns)
{
    struct timespec time = {time_ns / 1000000000LL, time_ns % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
    }
}

/* Comes to something at this time of the mode's slot. */
static void come_at(int ms)
{
    sleep_until(slot_ns + ms * MS * stretch);
}

static long long came_ns;
static void came(void)
{
    came_ns = now(CLOCK_MONOTONIC_RAW);
}
static char report[65536];
static size_t report_length;
static void went(const char *name)
{
    long long went_ns = now(CLOCK_MONOTONIC_RAW);
    report_length += (size_t)snprintf(report + report_length, sizeof report - report_length, "call %s %d %s %lld %lld\n", mode_name, rank, name,
                                      came_ns - epoch_ns, went_ns - epoch_ns);
}
#define CALL(name, ...) (came(), (void)MPI_##name(__VA_ARGS__), went("MPI_" #name))

static char small[8], other[8];
static int value, sum;

static void late_sender(void)
{
    if (rank == 0) {
        come_at(80);
        CALL(Send, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        come_at(0);
        CALL(Recv, small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* The receive is posted, then waited for later. */
static void late_sender_wait(void)
{
    MPI_Request request;
    if (rank == 0) {
        come_at(100);
        CALL(Isend, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        CALL(Wait, &request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        CALL(Irecv, small, 8, MPI_CHAR, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
        come_at(30);
        CALL(Wait, &request, MPI_STATUS_IGNORE);
    }
}

/* Both other ranks send: the later one counts. */
static void late_sender_waitall(void)
{
    MPI_Request requests[2];
    if (rank == 0) {
        CALL(Irecv, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &requests[0]);
        CALL(Irecv, other, 8, MPI_CHAR, 2, 1, MPI_COMM_WORLD, &requests[1]);
        come_at(10);
        CALL(Waitall, 2, requests, MPI_STATUSES_IGNORE);
        return;
    }
    come_at(rank == 1 ? 100 : 50);
    CALL(Send, small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

static void late_sender_probe(void)
{
    if (rank == 0) {
        come_at(80);
        CALL(Send, small, 8, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    } else if (rank == 1) {
        come_at(0);
        CALL(Probe, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CALL(Recv, small, 8, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void wrong_order_same(void)
{
    if (rank == 0) {
        come_at(40);
        CALL(Send, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        come_at(120);
        CALL(Send, small, 8, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
    } else if (rank == 1) {
        come_at(0);
        CALL(Recv, small, 8, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CALL(Recv, small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void wrong_order_other(void)
{
    if (rank == 1) {
        come_at(0);
        CALL(Recv, small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CALL(Recv, small, 8, MPI_CHAR, 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    come_at(rank == 0 ? 120 : 40);
    CALL(Send, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
}

static void late_receiver(void)
{
    if (rank == 0) {
        come_at(0);
        CALL(Ssend, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        come_at(90);
        CALL(Recv, small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void late_receiver_large(void)
{
    enum { LARGE = 4 << 20 };
    static char large[LARGE];
    if (rank == 0) {
        come_at(0);
        CALL(Send, large, LARGE, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        come_at(90);
        CALL(Recv, large, LARGE, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void barrier(void)
{
    come_at(rank * 60);
    CALL(Barrier, MPI_COMM_WORLD);
}

static void allreduce(void)
{
    come_at(rank * 60);
    CALL(Allreduce, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

/* Posted by all at once but one, waited for later. */
static void iallreduce(void)
{
    MPI_Request request;
    come_at(rank == 1 ? 100 : 0);
    CALL(Iallreduce, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    come_at(20);
    CALL(Wait, &request, MPI_STATUS_IGNORE);
}

static void reduce(void)
{
    come_at((const int[]){0, 50, 100}[rank]);
    CALL(Reduce, &value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void bcast(void)
{
    come_at((const int[]){0, 100, 40}[rank]);
    CALL(Bcast, &value, 1, MPI_INT, 1, MPI_COMM_WORLD);
}

static void scan(void)
{
    come_at((const int[]){100, 40, 0}[rank]);
    CALL(Scan, &value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void comm_dup(void)
{
    MPI_Comm fresh;
    come_at(rank * 60);
    CALL(Comm_dup, MPI_COMM_WORLD, &fresh);
    MPI_Comm_free(&fresh);
}

static MPI_Win window(int **ret_memory)
{
    MPI_Win made;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, ret_memory, &made);
    **ret_memory = 0;
    return made;
}

static void fence(void)
{
    int *memory;
    MPI_Win made = window(&memory);
    come_at(60); /* all at once, whoever made the window last */
    CALL(Win_fence, 0, made);
    come_at(100 + rank * 60);
    CALL(Win_fence, 0, made);
    MPI_Win_free(&made);
}

/* Rank 0 puts into rank 1: the post comes late, then the complete. */
static void epochs(void)
{
    int *memory, peer = 1 - rank;
    MPI_Win made = window(&memory);
    MPI_Group world, partner;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, rank < 2, &peer, &partner);
    if (rank == 0) {
        come_at(80);
        CALL(Win_start, partner, 0, made);
        CALL(Put, &value, 1, MPI_INT, 1, 0, 1, MPI_INT, made);
        CALL(Win_complete, made);
        CALL(Win_start, partner, 0, made);
        come_at(280);
        CALL(Win_complete, made);
    } else if (rank == 1) {
        come_at(160);
        CALL(Win_post, partner, 0, made);
        CALL(Win_wait, made);
        CALL(Win_post, partner, 0, made);
        come_at(200);
        CALL(Win_wait, made);
    } else {
        come_at(290); /* to leave the processors to the others */
    }
    MPI_Win_free(&made);
    MPI_Group_free(&partner);
    MPI_Group_free(&world);
}

/* Rank 0 has the window of rank 2 while rank 1 wants it. Rank 2 helps on, where the library needs it. */
static void window_lock(void)
{
    int *memory, taken = 0;
    MPI_Win made = window(&memory);
    if (rank == 2) {
        for (long long until = slot_ns + 260 * MS * stretch; now(CLOCK_MONOTONIC) < until;) {
            MPI_Status status;
            MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &taken, &status);
            sleep_until(now(CLOCK_MONOTONIC) + MS / 5);
        }
    } else {
        come_at(rank == 0 ? 60 : 100);
        CALL(Win_lock, MPI_LOCK_EXCLUSIVE, 2, 0, made);
        CALL(Put, &value, 1, MPI_INT, 2, 0, 1, MPI_INT, made);
        CALL(Win_flush, 2, made);
        if (rank == 0)
            come_at(200);
        CALL(Win_unlock, 2, made);
    }
    MPI_Win_free(&made);
}

/* Rank 0 works on memory of rank 1, which is not in MPI: libraries that need its help go on when it comes. In none of the calls, where no help is needed. */
static void progress(void)
{
    static int memory;
    MPI_Win made;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &made);
    if (rank == 0) {
        come_at(60);
        CALL(Win_lock, MPI_LOCK_SHARED, 1, 0, made);
        CALL(Accumulate, &value, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, made);
        CALL(Win_flush, 1, made);
        CALL(Win_unlock, 1, made);
        CALL(Send, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        come_at(200);
        CALL(Recv, small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        come_at(290);
    }
    MPI_Win_free(&made);
}

/* Rank 0 makes rank 1 late, which makes rank 2 late: the second wait is the first one's fault. */
static void chain(void)
{
    if (rank == 0) {
        come_at(100);
        CALL(Send, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        come_at(0);
        CALL(Recv, small, 8, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CALL(Send, small, 8, MPI_CHAR, 2, 1, MPI_COMM_WORLD);
    } else if (rank == 2) {
        come_at(0);
        CALL(Recv, small, 8, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    come_at(250);
    MPI_Barrier(MPI_COMM_WORLD); /* in step: what comes is nobody's fault of before */
}

/* Useful times of 50, 100 and 150 ms twice: POP's factors are known. */
static void work(void)
{
    for (int round = 0; round < 2; round++) {
        came();
        come_at(round * 150 + 50 * (rank + 1));
        went("work");
        CALL(Barrier, MPI_COMM_WORLD);
    }
}

/* One after the other: all of it is serialisation. */
static void turns(void)
{
    for (int round = 0; round < 2; round++) {
        if (rank > 0)
            CALL(Recv, small, 8, MPI_CHAR, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        came();
        come_at(round * 150 + 50 * (rank + 1));
        went("work");
        if (rank < size - 1)
            CALL(Send, small, 8, MPI_CHAR, rank + 1, 1, MPI_COMM_WORLD);
        CALL(Barrier, MPI_COMM_WORLD);
    }
}

/* All at once, then much to move: all of it is transfer. */
static void moves(void)
{
    enum { LARGE = 48 << 20 };
    static char mine[LARGE], theirs[LARGE];
    memset(mine, rank, LARGE);
    memset(theirs, rank, LARGE);
    came();
    come_at(280);
    went("work");
    CALL(Barrier, MPI_COMM_WORLD);
    CALL(Sendrecv, mine, LARGE, MPI_CHAR, (rank + 1) % size, 1, theirs, LARGE, MPI_CHAR, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
         MPI_STATUS_IGNORE);
    CALL(Barrier, MPI_COMM_WORLD);
}

/* Two threads a rank: 30 ms alone, then 40 and 80 ms, and 20 more for each rank; twice. */
static void hybrid(void)
{
    for (int round = 0; round < 2; round++) {
        long long part_ns[2][2] = {{0}};
        int begin_ms = round * 180;
        came();
        come_at(begin_ms + 30);
        went("alone");
        came();
#pragma omp parallel num_threads(2)
        {
            int thread = THREAD;
            part_ns[thread][0] = now(CLOCK_MONOTONIC_RAW);
            come_at(begin_ms + 30 + 40 * (thread + 1) + 20 * rank);
            part_ns[thread][1] = now(CLOCK_MONOTONIC_RAW);
        }
        went("region");
        for (int thread = 0; thread < 2; thread++)
            report_length += (size_t)snprintf(report + report_length, sizeof report - report_length, "call hybrid %d part%d %lld %lld\n", rank, thread,
                                              part_ns[thread][0] - epoch_ns, part_ns[thread][1] - epoch_ns);
        CALL(Barrier, MPI_COMM_WORLD);
    }
}

static const struct mode {
    const char *name;
    void (*run)(void);
    int last_ms; /* its last deadline */
} modes[] = {
    {"late_sender", late_sender, 80}, {"late_sender_wait", late_sender_wait, 100}, {"late_sender_waitall", late_sender_waitall, 100},
    {"late_sender_probe", late_sender_probe, 80}, {"wrong_order_same", wrong_order_same, 120}, {"wrong_order_other", wrong_order_other, 120},
    {"late_receiver", late_receiver, 90}, {"late_receiver_large", late_receiver_large, 90}, {"barrier", barrier, 120}, {"allreduce", allreduce, 120},
    {"iallreduce", iallreduce, 100}, {"reduce", reduce, 100}, {"bcast", bcast, 100}, {"scan", scan, 100}, {"comm_dup", comm_dup, 120},
    {"fence", fence, 220}, {"epochs", epochs, 290}, {"window_lock", window_lock, 260}, {"progress", progress, 290}, {"chain", chain, 250},
    {"work", work, 300}, {"turns", turns, 300}, {"moves", moves, 280}, {"hybrid", hybrid, 330},
};

static void run_mode(const char *name)
{
    mode_name = name;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        if (strcmp(modes[i].name, name) != 0)
            continue;
        modes[i].run();
        slot_ns += (modes[i].last_ms * MS + SPARE) * stretch;
    }
}

static int write_report(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s.%d", getenv("WAITS_CALLS"), rank);
    FILE *file = fopen(path, "w");
    if (!file || fputs(report, file) < 0 || fclose(file) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

/* Before MPI_Init, ranks are told by the launcher's environment. */
static int rank_of_launcher(void)
{
    const char *text = getenv("OMPI_COMM_WORLD_RANK");
    text = text ? text : getenv("PMI_RANK");
    return text ? atoi(text) : 0;
}

int main(int argc, char **argv)
{
    rank = rank_of_launcher();
    const char *start = getenv("WAITS_START"); /* of CLOCK_MONOTONIC, for all ranks */
    long long start_ns = start ? atoll(start) : now(CLOCK_MONOTONIC);
    stretch = getenv("WAITS_STRETCH") ? atoll(getenv("WAITS_STRETCH")) : 1;
    sleep_until(start_ns + rank * 80 * MS * stretch);
    int provided;
    CALL(Init_thread, &argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long long first_ns = now(CLOCK_MONOTONIC) + 30 * MS * stretch;
    CALL(Bcast, &first_ns, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    slot_ns = first_ns;
    for (int i = 1; i < argc; i++)
        run_mode(argv[i]);
    mode_name = "finalize";
    come_at(rank * 60);
    CALL(Finalize);
    return write_report();
}
