/* SPDX-License-Identifier: MIT */
/*
 * The target of bench_openmp.py: ns for one parallel region, one barrier, one dynamic loop of a team, one task, one critical
 * section. Each is the minimum over rounds, by the wall clock and by the CPU time of the thread that measures.
 *
 *     bench_openmp [ROUNDS]
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { REPEAT = 2000 };

struct best {
    double wall, cpu;
};

static double now_ns(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void regions(void)
{
    for (int i = 0; i < REPEAT; i++) {
#pragma omp parallel
        {
            __asm__ volatile("");
        }
    }
}

static void barriers(void)
{
    for (int i = 0; i < REPEAT; i++) {
#pragma omp barrier
    }
}

static void loops(void)
{
    for (int i = 0; i < REPEAT; i++) {
#pragma omp for schedule(static) nowait
        for (int j = 0; j < 8; j++)
            __asm__ volatile("");
    }
}

static void criticals(void)
{
    for (int i = 0; i < REPEAT; i++) {
#pragma omp critical
        __asm__ volatile("");
    }
}

static void tasks(void)
{
#pragma omp single
    for (int i = 0; i < REPEAT; i++) {
#pragma omp task
        __asm__ volatile("");
    }
}

static void measure(void (*work)(void), struct best *best)
{
    double wall = now_ns(CLOCK_MONOTONIC_RAW), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    work();
    cpu = (now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu) / REPEAT;
    wall = (now_ns(CLOCK_MONOTONIC_RAW) - wall) / REPEAT;
    best->wall = best->wall == 0 || wall < best->wall ? wall : best->wall;
    best->cpu = best->cpu == 0 || cpu < best->cpu ? cpu : best->cpu;
}

int main(int argument_count, char **arguments)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } inside[] = {{"barrier", barriers}, {"loop", loops}, {"critical", criticals}, {"task", tasks}};
    enum { COUNT = sizeof inside / sizeof inside[0] };
    struct best region = {0}, best[COUNT] = {{0}};
    int rounds = argument_count > 1 ? atoi(arguments[1]) : 100;
    for (int round = 0; round < rounds; round++) {
        measure(regions, &region);
#pragma omp parallel
        for (int i = 0; i < COUNT; i++) {
            struct best unused = {0};
            measure(inside[i].work, omp_get_thread_num() == 0 ? &best[i] : &unused);
#pragma omp barrier
        }
    }
    printf("parallel %.2f %.2f\n", region.wall, region.cpu);
    for (int i = 0; i < COUNT; i++)
        printf("%s %.2f %.2f\n", inside[i].name, best[i].wall, best[i].cpu);
    return 0;
}
