/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait for each other for known times: each sleeps until its own deadline, then comes to a construct, and notes when it came
 * and when it had what it wanted. tests/cli/test_wait_states.py and test_efficiency.py know what must be found. Three threads.
 *
 *   waits_openmp MODE...
 *
 * Prints a line for each: "call MODE TID NAME CAME WENT", in ns of CLOCK_MONOTONIC_RAW. $WAITS_STRETCH times as long as written here, for a
 * machine that has other things to do.
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS 1000000LL
#define APART __attribute__((noinline))

enum { THREADS = 3 };

static long long slot_ns; /* of CLOCK_MONOTONIC */
static long long stretch = 1;
static const char *mode_name;

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static long long stamp(void)
{
    return now(CLOCK_MONOTONIC_RAW);
}

static void come_at(int ms)
{
    long long time_ns = slot_ns + ms * MS * stretch;
    struct timespec time = {time_ns / 1000000000LL, time_ns % 1000000000LL};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0) {
    }
}

static char report[65536];
static size_t report_length;
static struct note {
    const char *name;
    long tid;
    long long came_ns, went_ns;
} notes[THREADS][16];
static int note_count[THREADS];

static void note(const char *name, long long came_ns, long long went_ns)
{
    int thread = omp_get_thread_num();
    notes[thread][note_count[thread]++] = (struct note){name, (long)syscall(SYS_gettid), came_ns, went_ns};
}

static void tell(void)
{
    for (int thread = 0; thread < THREADS; thread++) {
        for (int i = 0; i < note_count[thread]; i++)
            report_length += (size_t)snprintf(report + report_length, sizeof report - report_length, "call %s %ld %s %lld %lld\n", mode_name,
                                              notes[thread][i].tid, notes[thread][i].name, notes[thread][i].came_ns, notes[thread][i].went_ns);
        note_count[thread] = 0;
    }
}

APART static void implicit_barrier(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        long long came_ns = 0;
#pragma omp for schedule(static, 1)
        for (int i = 0; i < THREADS; i++) {
            come_at(50 + i * 60);
            came_ns = stamp();
        }
        note("for", came_ns, stamp());
    }
}

APART static void explicit_barrier(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        come_at(50 + omp_get_thread_num() * 60);
        long long came_ns = stamp();
#pragma omp barrier
        note("barrier", came_ns, stamp());
    }
}

APART static void critical(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        come_at(50 + omp_get_thread_num() * 20);
        long long came_ns = stamp(), had_ns;
#pragma omp critical(gate)
        {
            had_ns = stamp();
            come_at((int)((now(CLOCK_MONOTONIC) - slot_ns) / (MS * stretch)) + 80);
        }
        note("critical", came_ns, had_ns);
    }
}

APART static void lock(void)
{
    omp_lock_t gate;
    omp_init_lock(&gate);
#pragma omp parallel num_threads(THREADS)
    {
        come_at(50 + omp_get_thread_num() * 20);
        long long came_ns = stamp(), had_ns;
        omp_set_lock(&gate);
        had_ns = stamp();
        come_at((int)((now(CLOCK_MONOTONIC) - slot_ns) / (MS * stretch)) + 80);
        omp_unset_lock(&gate);
        note("lock", came_ns, had_ns);
    }
    omp_destroy_lock(&gate);
}

/* The first iteration's part is the last to come. */
APART static void ordered(void)
{
#pragma omp parallel for ordered schedule(static, 1) num_threads(THREADS)
    for (int i = 0; i < THREADS; i++) {
        come_at(i == 0 ? 150 : 50);
        long long came_ns = stamp();
#pragma omp ordered
        note("ordered", came_ns, stamp());
    }
}

/* Another thread has taken the task before its maker comes to wait for it. */
APART static void taskwait(void)
{
#pragma omp parallel num_threads(THREADS)
#pragma omp single
    {
        int begun = 0;
        long long ended_ns = 0;
#pragma omp task shared(begun, ended_ns)
        {
            __atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
            come_at(200);
            ended_ns = stamp();
        }
        while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
            usleep(100);
        come_at(80);
        long long came_ns = stamp();
#pragma omp taskwait
        note("taskwait", came_ns, ended_ns);
    }
}

/* Between two regions all threads but one have nothing to do; in the second one, some. */
APART static void idle(void)
{
#pragma omp parallel num_threads(THREADS)
    note("thread", 0, 0);
    long long came_ns = stamp();
    come_at(150);
    note("serial", came_ns, stamp());
    came_ns = stamp();
#pragma omp parallel num_threads(THREADS - 1)
    come_at(250);
    note("small_region", came_ns, stamp());
}

/* Threads work for 40, 80 and 120 ms in a region, after 60 ms of one alone: POP's factors are known. */
APART static void work(void)
{
    for (int round = 0; round < 2; round++) {
        long long came_ns = stamp();
        come_at(round * 200 + 60);
        note("alone", came_ns, stamp());
        long long region_ns = stamp();
#pragma omp parallel num_threads(THREADS)
        {
            long long began_ns = stamp();
            come_at(round * 200 + 60 + 40 * (omp_get_thread_num() + 1));
            note("part", began_ns, stamp());
        }
        long long until_ns = stamp();
        note("region", region_ns, until_ns);
        come_at(round * 200 + 200);
        note("alone", until_ns, stamp());
    }
}

static const struct mode {
    const char *name;
    void (*run)(void);
} modes[] = {
    {"implicit_barrier", implicit_barrier}, {"explicit_barrier", explicit_barrier}, {"critical", critical}, {"lock", lock},
    {"ordered", ordered}, {"taskwait", taskwait}, {"idle", idle}, {"work", work},
};

int main(int argc, char **argv)
{
    stretch = getenv("WAITS_STRETCH") ? atoll(getenv("WAITS_STRETCH")) : 1;
    mode_name = "start";
#pragma omp parallel num_threads(THREADS)
    note("thread", 0, 0);
    tell();
    for (int at = 1; at < argc; at++) {
        slot_ns = now(CLOCK_MONOTONIC);
        mode_name = argv[at];
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
            if (strcmp(modes[i].name, argv[at]) == 0)
                modes[i].run();
        tell();
    }
    fputs(report, stdout);
    return 0;
}
