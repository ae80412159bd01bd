/* SPDX-License-Identifier: MIT */
/*
 * What OpenMP constructs cost on GCC's libgomp: one line each, ns per construct. bench_gomp.py runs it bare and under
 * hprofiler, turn by turn.
 *
 *   bench_gomp [THREADS]
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

/* Small pieces, the best of many: so that some run undisturbed on a busy machine. */
enum { ROUNDS = 400, REGIONS = 500, CHUNKS = 5000, TASKS = 1000, CRITICALS = 2000, LOCKS = 2000, BARRIERS = 500 };

static volatile long sink;
static omp_lock_t lock;

static void regions(int threads)
{
    for (int i = 0; i < REGIONS; i++) {
#pragma omp parallel num_threads(threads)
        sink = i;
    }
}

static void chunks(int threads)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int i = 0; i < CHUNKS; i++)
        sink = i;
}

static void tasks(int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp single
    for (int i = 0; i < TASKS; i++) {
#pragma omp task firstprivate(i)
        sink = i;
    }
}

static void criticals(int threads)
{
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < CRITICALS / omp_get_num_threads(); i++) {
#pragma omp critical
        sink = i;
    }
}

static void locks(int threads)
{
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < LOCKS / omp_get_num_threads(); i++) {
        omp_set_lock(&lock);
        sink = i;
        omp_unset_lock(&lock);
    }
}

static void barriers(int threads)
{
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < BARRIERS; i++) {
#pragma omp barrier
    }
}

static void measure(const char *name, void (*run)(int), int threads, double count)
{
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        double begin = omp_get_wtime();
        run(threads);
        double took = omp_get_wtime() - begin;
        best = took < best ? took : best;
    }
    printf("%s %.2f\n", name, best / count * 1e9);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    omp_init_lock(&lock);
    measure("region", regions, threads, REGIONS);
    measure("chunk", chunks, threads, CHUNKS);
    measure("task", tasks, threads, TASKS);
    measure("critical", criticals, threads, CRITICALS);
    measure("lock", locks, threads, LOCKS);
    measure("barrier", barriers, threads, BARRIERS);
    omp_destroy_lock(&lock);
    return 0;
}
