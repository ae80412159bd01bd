/* SPDX-License-Identifier: MIT */
/*
 * OpenMP constructs in known numbers, one mode after the other as the words say. The same source is built by gcc (libgomp) and by
 * clang (libomp); tests/cli/test_gomp.py knows what each mode must count.
 *
 *   gomp_counts THREADS MODE...
 */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long total;

static void add(long value)
{
    __atomic_fetch_add(&total, value, __ATOMIC_RELAXED);
}

static void regions(int threads)
{
    for (int i = 0; i < 7; i++) {
#pragma omp parallel num_threads(threads)
        add(omp_get_thread_num() + i);
    }
}

static void dynamic_loop(int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(dynamic, 3)
    for (int i = 0; i < 100; i++)
        add(i);
}

static void combined_loop(int threads)
{
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4)
    for (int i = 0; i < 50; i++)
        add(i);
}

static void guided_loop(int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(guided, 2) nowait
    for (long i = 299; i >= 0; i -= 3)
        add(i);
}

static void runtime_loop(int threads)
{
    omp_set_schedule(omp_sched_dynamic, 5);
#pragma omp parallel for num_threads(threads) schedule(runtime)
    for (int i = 0; i < 60; i++)
        add(i);
}

static void wide_loop(int threads)
{
    const unsigned long long from = 1ull << 63;
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(dynamic, 2)
    for (unsigned long long i = from; i < from + 40; i += 4)
        add((long)(i - from));
}

static void ordered_loop(int threads)
{
    long last = -1;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) ordered
    for (int i = 0; i < 20; i++) {
#pragma omp ordered
        {
            add(i == last + 1);
            last = i;
        }
    }
}

static void doacross_loop(int threads)
{
    static long cells[8][9];
#pragma omp parallel num_threads(threads)
#pragma omp for schedule(dynamic, 1) ordered(2)
    for (int i = 1; i < 8; i++)
        for (int k = 1; k < 9; k++) {
#pragma omp ordered depend(sink : i - 1, k) depend(sink : i, k - 1)
            cells[i][k] = cells[i - 1][k] + cells[i][k - 1] + 1;
#pragma omp ordered depend(source)
        }
    add(cells[7][8]);
}

static void sections(int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp sections
    {
#pragma omp section
        add(1);
#pragma omp section
        add(2);
#pragma omp section
        add(3);
#pragma omp section
        add(4);
#pragma omp section
        add(5);
    }
#pragma omp parallel sections num_threads(threads)
    {
#pragma omp section
        add(6);
#pragma omp section
        add(7);
    }
}

static void singles(int threads)
{
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 4; i++) {
#pragma omp single
        add(i);
    }
}

static void copyprivate(int threads)
{
    long value = 0;
#pragma omp parallel num_threads(threads) firstprivate(value)
    {
#pragma omp single copyprivate(value)
        value = 11;
        add(value);
    }
}

static void criticals(int threads)
{
    long inside = 0;
#pragma omp parallel num_threads(threads)
    {
        for (int i = 0; i < 10; i++) {
#pragma omp critical
            inside++;
        }
        for (int i = 0; i < 5; i++) {
#pragma omp critical(named)
            total++;
        }
    }
    add(inside);
}

static void locks(int threads)
{
    omp_lock_t lock;
    omp_nest_lock_t nest;
    long inside = 0;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nest);
#pragma omp parallel num_threads(threads)
    {
        for (int i = 0; i < 8; i++) {
            omp_set_lock(&lock);
            inside++;
            omp_unset_lock(&lock);
        }
        omp_set_nest_lock(&nest);
        total++;
        omp_unset_nest_lock(&nest);
    }
    add(omp_test_lock(&lock) + inside);
    omp_unset_lock(&lock);
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nest);
}

static void barriers(int threads)
{
#pragma omp parallel num_threads(threads)
    for (int i = 0; i < 6; i++) {
        add(1);
#pragma omp barrier
    }
}

static void tasks(int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        for (int i = 0; i < 20; i++) {
#pragma omp task firstprivate(i)
            add(i);
        }
#pragma omp taskwait
#pragma omp taskgroup
        {
#pragma omp task untied priority(3)
            add(100);
#pragma omp task if (0)
            add(200);
#pragma omp task final(1)
            {
#pragma omp task
                add(300);
            }
        }
    }
}

static void taskloop(int threads)
{
    long sum = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
#pragma omp taskloop num_tasks(5)
        for (int i = 0; i < 37; i++)
            add(i);
#pragma omp taskloop grainsize(10) nogroup
        for (unsigned long long i = 0; i < 40; i++)
            add((long)i);
#pragma omp taskloop num_tasks(3) reduction(+ : sum)
        for (int i = 0; i < 9; i++)
            sum += i;
    }
    add(sum);
}

static void depend(int threads)
{
    long chain = 0, left = 0, right = 0;
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        for (int i = 0; i < 10; i++) {
#pragma omp task depend(inout : chain) shared(chain)
            chain = chain * 2 + 1;
        }
#pragma omp task depend(in : chain) depend(out : left) shared(chain, left)
        left = chain + 1;
#pragma omp task depend(in : chain) depend(out : right) shared(chain, right)
        right = chain + 2;
#pragma omp task depend(in : left, right) shared(left, right)
        add(left + right);
    }
}

static void detach(int threads)
{
#pragma omp parallel num_threads(threads)
#pragma omp single
    {
        omp_event_handle_t event;
        long word = 5;
#pragma omp task detach(event) firstprivate(word)
        {
            add(word);
            omp_fulfill_event(event);
        }
#pragma omp taskwait
    }
}

static void nested(int threads)
{
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(threads)
    {
#pragma omp parallel num_threads(2)
        add(omp_get_level());
    }
}

static const struct {
    const char *name;
    void (*run)(int threads);
} modes[] = {
    {"regions", regions},         {"dynamic", dynamic_loop},   {"combined", combined_loop}, {"guided", guided_loop},   {"runtime", runtime_loop},
    {"wide", wide_loop},          {"ordered", ordered_loop},   {"doacross", doacross_loop}, {"sections", sections},    {"single", singles},
    {"copyprivate", copyprivate}, {"criticals", criticals},    {"locks", locks},            {"barriers", barriers},    {"tasks", tasks},
    {"taskloop", taskloop},       {"depend", depend},          {"detach", detach},          {"nested", nested},
};

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    for (int i = 2; i < argc; i++) {
        size_t mode = 0;
        while (mode < sizeof modes / sizeof modes[0] && strcmp(modes[mode].name, argv[i]) != 0)
            mode++;
        if (mode == sizeof modes / sizeof modes[0]) {
            fprintf(stderr, "no mode %s\n", argv[i]);
            return 2;
        }
        total = 0;
        modes[mode].run(threads);
        printf("%s %ld\n", argv[i], total);
    }
    return 0;
}
