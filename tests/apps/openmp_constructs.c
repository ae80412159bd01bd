/* SPDX-License-Identifier: MIT */
/*
 * OpenMP constructs in known numbers, for a runtime with OMPT; tests/cli/test_openmp.py knows what each mode must count, and reads
 * this source for the lines that names must tell. Prints what it computed.
 *
 *   openmp_constructs THREADS MODE...
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not inlined: compilers merge the same code of several functions, and nobody can tell afterwards whose it was. */
#define APART __attribute__((noinline))

static long total;

static void add(long value)
{
    __atomic_fetch_add(&total, value, __ATOMIC_RELAXED);
}

APART static void smooth(int rounds)
{
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel for schedule(static) /* parallel for in smooth() */
        for (int i = 0; i < 100; i++)
            add(i);
    }
}

APART static void sweep(void)
{
#pragma omp parallel /* parallel in sweep() */
    {
#pragma omp for schedule(dynamic, 3) nowait /* for in sweep() */
        for (int i = 0; i < 30; i++)
            add(i);
#pragma omp barrier /* barrier in sweep() */
#pragma omp single nowait /* single in sweep() */
        add(1);
#pragma omp master /* master in sweep() */
        add(2);
    }
}

APART static void split(void)
{
#pragma omp parallel sections /* parallel sections in split() */
    {
#pragma omp section
        add(1);
#pragma omp section
        add(2);
#pragma omp section
        add(3);
    }
}

APART static void guard(int rounds)
{
#pragma omp parallel /* parallel in guard() */
    for (int i = 0; i < rounds; i++) {
#pragma omp critical(gate) /* critical in guard() */
        total++;
    }
}

APART static void in_order(void)
{
#pragma omp parallel for ordered schedule(dynamic, 1) /* parallel in in_order() */
    for (int i = 0; i < 12; i++) {
#pragma omp ordered /* ordered in in_order() */
        total += i;
    }
}

APART static void lock(void)
{
    omp_lock_t locks[2];
    omp_nest_lock_t nest;
    omp_init_lock(&locks[0]);
    omp_init_lock(&locks[1]);
    omp_init_nest_lock(&nest);
#pragma omp parallel
    for (int i = 0; i < 5; i++) {
        omp_set_lock(&locks[0]); /* lock in lock() */
        omp_set_lock(&locks[1]);
        total += i;
        omp_unset_lock(&locks[0]); /* not the other way round */
        omp_unset_lock(&locks[1]);
        omp_set_nest_lock(&nest); /* nest lock in lock() */
        omp_set_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
        omp_unset_nest_lock(&nest);
    }
    omp_set_lock(&locks[0]);
    add(omp_test_lock(&locks[0])); /* had already: nothing to count */
    omp_unset_lock(&locks[0]);
    add(omp_test_lock(&locks[1]));
    omp_unset_lock(&locks[1]);
    omp_destroy_lock(&locks[0]);
    omp_destroy_lock(&locks[1]);
    omp_destroy_nest_lock(&nest);
}

APART static int fib(int n)
{
    if (n < 2)
        return n;
    int a, b;
#pragma omp task shared(a) /* task in fib() */
    a = fib(n - 1);
#pragma omp task shared(b)
    b = fib(n - 2);
#pragma omp taskwait /* taskwait in fib() */
    return a + b;
}

APART static void recurse(void)
{
#pragma omp parallel
#pragma omp single nowait
    add(fib(8));
}

APART static void chain(void)
{
    int value = 1;
#pragma omp parallel
#pragma omp single
    for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : value) firstprivate(i) /* task in chain() */
        value += i;
    }
    add(value);
}

APART static void group(void)
{
#pragma omp parallel
#pragma omp single nowait
    {
#pragma omp taskgroup /* taskgroup in group() */
        for (int i = 0; i < 4; i++) {
#pragma omp task /* task in group() */
            {
#pragma omp task
                add(1);
            }
        }
#pragma omp taskloop num_tasks(5)
        for (int i = 0; i < 50; i++)
            add(i);
    }
}

APART static void untied(void)
{
#pragma omp parallel
#pragma omp single nowait
    for (int i = 0; i < 6; i++) {
#pragma omp task untied
        {
            add(1);
#pragma omp taskyield
            add(2);
        }
    }
}

APART static void nested(int threads)
{
    omp_set_max_active_levels(2);
#pragma omp parallel /* parallel in nested() */
    {
#pragma omp parallel num_threads(2)
        add(omp_get_level());
    }
    omp_set_max_active_levels(1);
    add(threads);
}

APART static void reduce(void)
{
    double sum = 0, product = 1;
#pragma omp parallel for reduction(+ : sum) reduction(* : product)
    for (int i = 0; i < 64; i++) {
        sum += i;
        product *= 1;
    }
    add((long)(sum * product));
}

APART static void cancel(void)
{
#pragma omp parallel num_threads(1)
    {
#pragma omp for
        for (int i = 0; i < 8; i++) {
            add(1);
#pragma omp cancel for
        }
    }
}

int main(int count, char **words)
{
    int threads = count > 1 ? atoi(words[1]) : 2;
    omp_set_dynamic(0);
    omp_set_num_threads(threads);
    for (int i = 2; i < count; i++) {
        const char *mode = words[i];
        if (strcmp(mode, "smooth") == 0)
            smooth(3);
        else if (strcmp(mode, "sweep") == 0)
            sweep();
        else if (strcmp(mode, "split") == 0)
            split();
        else if (strcmp(mode, "guard") == 0)
            guard(7);
        else if (strcmp(mode, "in_order") == 0)
            in_order();
        else if (strcmp(mode, "lock") == 0)
            lock();
        else if (strcmp(mode, "recurse") == 0)
            recurse();
        else if (strcmp(mode, "chain") == 0)
            chain();
        else if (strcmp(mode, "group") == 0)
            group();
        else if (strcmp(mode, "untied") == 0)
            untied();
        else if (strcmp(mode, "nested") == 0)
            nested(threads);
        else if (strcmp(mode, "reduce") == 0)
            reduce();
        else if (strcmp(mode, "cancel") == 0)
            cancel();
        else
            return 2;
        printf("%s %ld\n", mode, total);
    }
    return 0;
}
