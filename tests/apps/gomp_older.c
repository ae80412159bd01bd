/* SPDX-License-Identifier: MIT */
/* The calls that gcc before 4.9 made, which its programs still make, and some that only certain clauses bring: written out. */
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

void GOMP_parallel_start(void (*function)(void *), void *data, unsigned threads);
void GOMP_parallel_end(void);
void GOMP_parallel_loop_dynamic_start(void (*function)(void *), void *data, unsigned threads, long start, long end, long step, long chunk);
void GOMP_parallel_sections_start(void (*function)(void *), void *data, unsigned threads, unsigned count);
bool GOMP_loop_dynamic_next(long *first, long *last);
bool GOMP_loop_static_start(long start, long end, long step, long chunk, long *first, long *last);
bool GOMP_loop_static_next(long *first, long *last);
void GOMP_loop_end(void);
void GOMP_loop_end_nowait(void);
unsigned GOMP_sections_next(void);
void GOMP_sections_end_nowait(void);
void GOMP_atomic_start(void);
void GOMP_atomic_end(void);

static long total;

static void static_loop(void *data)
{
    long first, last;
    if (GOMP_loop_static_start(0, 50, 1, 5, &first, &last))
        do {
            for (long i = first; i < last; i++)
                __atomic_fetch_add((long *)data, i, __ATOMIC_RELAXED);
        } while (GOMP_loop_static_next(&first, &last));
    GOMP_loop_end();
    GOMP_atomic_start();
    total++;
    GOMP_atomic_end();
}

static void dynamic_loop(void *data)
{
    long first, last;
    while (GOMP_loop_dynamic_next(&first, &last))
        for (long i = first; i > last; i -= 2)
            __atomic_fetch_add((long *)data, i, __ATOMIC_RELAXED);
    GOMP_loop_end_nowait();
}

static void sections(void *data)
{
    for (unsigned section = GOMP_sections_next(); section; section = GOMP_sections_next())
        __atomic_fetch_add((long *)data, section, __ATOMIC_RELAXED);
    GOMP_sections_end_nowait();
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    long sum = 0;
    GOMP_parallel_start(static_loop, &sum, threads);
    static_loop(&sum);
    GOMP_parallel_end();
    GOMP_parallel_loop_dynamic_start(dynamic_loop, &sum, threads, 100, 0, -2, 3);
    dynamic_loop(&sum);
    GOMP_parallel_end();
    GOMP_parallel_sections_start(sections, &sum, threads, 6);
    sections(&sum);
    GOMP_parallel_end();
    printf("%ld %d\n", sum, total == omp_get_max_threads() || total == (long)threads);
    return 0;
}
