/* SPDX-License-Identifier: MIT */
/*
 * OpenMP programs that behave in some way: forks, exits, jumps, threads with teams of their own, cancellation, signals. Each way
 * prints what it computed, so that a bare and a traced run can be compared.
 *
 *   gomp_ways WAY
 */
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int work(int threads, int rounds)
{
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 2) reduction(+ : sum)
        for (int i = 0; i < 40; i++)
            sum += i;
    }
    return (int)(sum % 1000);
}

static int child_status(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* The child has a libgomp that was never used; after use it would wait for threads that it doesn't have. */
static int fork_before(void)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(work(3, 2) % 100);
    int own = work(2, 5);
    printf("own %d child %d\n", own, child_status(child));
    return 0;
}

static int fork_after(void)
{
    int own = work(2, 3);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(work(1, 4) % 100);
    printf("own %d child %d\n", own, child_status(child));
    return 0;
}

static int fork_inside(void)
{
    int status = -1;
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
#pragma omp master
        {
            pid_t child = fork();
            if (child == 0)
                _exit(7);
            status = child_status(child);
        }
#pragma omp barrier
    }
    printf("child %d\n", status);
    return 0;
}

static int exit_inside(void)
{
    printf("before\n");
#pragma omp parallel num_threads(3)
    {
#pragma omp barrier
        if (omp_get_thread_num() == 0)
            exit(5);
        for (;;)
            pause();
    }
    return 0;
}

static void *pool(void *argument)
{
    return (void *)(long)work(2 + (int)(long)argument, 6);
}

static int threads_with_teams(void)
{
    pthread_t threads[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, pool, (void *)i);
    for (int i = 0; i < 3; i++) {
        void *result;
        pthread_join(threads[i], &result);
        printf("%ld\n", (long)result);
    }
    printf("%d\n", work(4, 2));
    return 0;
}

/* Needs OMP_CANCELLATION=true. */
static int cancelled(void)
{
    long done = 0, found = 0;
#pragma omp parallel num_threads(3)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 1000; i++) {
            if (i == 10) {
#pragma omp cancel for
            }
#pragma omp atomic
            done++;
#pragma omp cancellation point for
        }
    }
#pragma omp parallel num_threads(3)
#pragma omp single
#pragma omp taskgroup
    {
        for (int i = 0; i < 50; i++) {
#pragma omp task shared(found)
            {
                if (i == 0) {
#pragma omp atomic
                    found++;
#pragma omp cancel taskgroup
                }
            }
        }
    }
#pragma omp parallel num_threads(3)
    {
#pragma omp cancel parallel
        done = -1;
    }
    printf("cancelled %d found %ld\n", omp_get_cancellation() && done > 0 && done < 1000, found);
    return 0;
}

static jmp_buf place, places[2];
static volatile int jumps[2], rounds;

static int jump_inside(void)
{
#pragma omp parallel num_threads(2)
    {
        int own = omp_get_thread_num();
        setjmp(places[own]);
        own = omp_get_thread_num();
        if (jumps[own] < 5) {
#pragma omp critical
            jumps[own]++;
            longjmp(places[own], 1);
        }
    }
    printf("jumps %d\n", jumps[0] + jumps[1]);
    return 0;
}

/* Out of a region: against the rules, but programs that do it with a team of one get away with it. */
static int jump_out(void)
{
    setjmp(place);
    if (rounds < 4) {
#pragma omp parallel num_threads(1)
        {
            rounds++;
            longjmp(place, 1);
        }
    }
    printf("rounds %d then %d\n", rounds, work(1, 3));
    return 0;
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

static int with_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const struct itimerval every = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, 0);
    setitimer(ITIMER_REAL, &every, 0);
    int result = 0;
    for (int i = 0; i < 200 && (i < 20 || signals < 10); i++)
        result = work(2, 20);
    setitimer(ITIMER_REAL, &never, 0);
    printf("result %d signals %d\n", result, signals > 0);
    return 0;
}

static int crowd(void)
{
    int seen = 0;
#pragma omp parallel num_threads(24) reduction(+ : seen)
    {
#pragma omp barrier
        seen++;
    }
    printf("seen %d\n", seen);
    return 0;
}

/* The locks of a region that others wait in when it dies. */
static int killed(void)
{
    printf("before\n");
    fflush(stdout);
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        usleep(1000);
#pragma omp barrier
#pragma omp master
        raise(SIGKILL);
        pause();
    }
    return 0;
}

static const struct {
    const char *name;
    int (*run)(void);
} ways[] = {
    {"fork-before", fork_before}, {"fork-after", fork_after}, {"fork-inside", fork_inside},   {"exit-inside", exit_inside}, {"teams", threads_with_teams},
    {"cancelled", cancelled},     {"jump-inside", jump_inside}, {"jump-out", jump_out},       {"signals", with_signals},    {"crowd", crowd},
    {"killed", killed},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof ways / sizeof ways[0]; i++)
        if (strcmp(ways[i].name, argv[1]) == 0)
            return ways[i].run();
    fprintf(stderr, "usage: gomp_ways WAY\n");
    return 2;
}
