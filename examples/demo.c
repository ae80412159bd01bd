/* SPDX-License-Identifier: MIT */
/*
 * The program of `make demo`: three threads, a recursive hot path, a library, and a main thread that waits. It measures
 * its own threads' CPU time and says at the end where the time really went, so that a profile can be judged.
 */
#include "fractal.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

enum { BOARD = 15, GRID = 1500, LIMIT = 500 };

/* Each thread's job and what it took. */
struct job {
    const char *thread_name;
    const char *hot_function;
    long (*work)(int part);
    int part;
    long result;
    double cpu_seconds;
};

/* Queens that can still be placed from `row` down; the masks say which columns and diagonals are taken. */
__attribute__((noinline)) static long place_queens(unsigned columns, unsigned left, unsigned right, int row)
{
    if (row == BOARD)
        return 1;
    long solutions = 0;
    unsigned open = ~(columns | left | right) & ((1u << BOARD) - 1);
    while (open) {
        unsigned queen = open & -open;
        open ^= queen;
        solutions += place_queens(columns | queen, (left | queen) << 1, (right | queen) >> 1, row + 1);
    }
    return solutions;
}

/* Half of the boards: those with the first queen in an even (part 0) or odd (part 1) column. */
static long solve_queens(int part)
{
    long solutions = 0;
    for (int column = part; column < BOARD; column += 2) {
        unsigned queen = 1u << column;
        solutions += place_queens(queen, queen << 1, queen >> 1, 1);
    }
    return solutions;
}

static long draw_fractal(int part)
{
    return fractal_count_inside(GRID, LIMIT + part);
}

static void *run_job(void *context)
{
    struct job *job = context;
    struct timespec cpu;
    pthread_setname_np(pthread_self(), job->thread_name);
    job->result = job->work(job->part);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    job->cpu_seconds = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    return NULL;
}

int main(void)
{
    struct job jobs[] = {
        {"queens-even", "place_queens", solve_queens, 0, 0, 0},
        {"queens-odd", "place_queens", solve_queens, 1, 0, 0},
        {"fractal", "fractal_escape_time", draw_fractal, 0, 0, 0},
    };
    enum { JOBS = sizeof(jobs) / sizeof(jobs[0]) };
    pthread_t threads[JOBS];
    for (int index = 0; index < JOBS; index++)
        if (pthread_create(&threads[index], NULL, run_job, &jobs[index]) != 0) {
            fprintf(stderr, "demo: no thread could be started\n");
            return 1;
        }
    double total_seconds = 0;
    for (int index = 0; index < JOBS; index++) {
        pthread_join(threads[index], NULL);
        total_seconds += jobs[index].cpu_seconds;
    }
    printf("%d queens on a board: %ld solutions; points inside the fractal: %ld\n", BOARD, jobs[0].result + jobs[1].result,
           jobs[2].result);
    printf("CPU time as the threads measured it themselves (%.2f s in all):\n", total_seconds);
    for (int index = 0; index < JOBS; index++)
        printf("  %5.1f %%  %.2f s  thread %-12s in %s\n", 100 * jobs[index].cpu_seconds / total_seconds,
               jobs[index].cpu_seconds, jobs[index].thread_name, jobs[index].hot_function);
    return 0;
}
