/* SPDX-License-Identifier: MIT */
/* Ordered jobs: each runs once, results come in order whoever is fast, with and without workers. Runs under TSan too. */
#include "base/ordered_jobs.h"
#include "base/thread_pool.h"
#include "unit.h"

#include <stdatomic.h>
#include <unistd.h>

enum { COUNT = 2000 };

struct squares {
    unsigned input[ORDERED_JOBS_MAX], output[ORDERED_JOBS_MAX]; /* not atomic on purpose: a slot has one owner at a time */
    atomic_uint runs;
    unsigned pause_us;
};

static void square(void *context, size_t slot)
{
    struct squares *squares = context;
    if (squares->pause_us && squares->input[slot] % 7 == 0)
        usleep(squares->pause_us); /* so that later ones overtake it */
    squares->output[slot] = squares->input[slot] * squares->input[slot];
    atomic_fetch_add(&squares->runs, 1);
}

static void take_one(struct ordered_jobs *jobs, const struct squares *squares, unsigned *taken)
{
    size_t slot;
    assert_true(ordered_jobs_take(jobs, &slot));
    assert_int_equal(squares->output[slot], *taken * *taken);
    ordered_jobs_release(jobs);
    ++*taken;
}

static void check_order(struct thread_pool *pool, unsigned pause_us)
{
    struct squares squares = {.pause_us = pause_us};
    struct ordered_jobs *jobs;
    unsigned count = pause_us ? COUNT / 10 : COUNT, taken = 0;
    size_t slot;
    assert_int_equal(ordered_jobs_create(pool, square, &squares, &jobs), 0);
    for (unsigned queued = 0; queued < count; queued++) {
        if (!ordered_jobs_room(jobs, &slot)) {
            assert_int_equal(queued - taken, ordered_jobs_slots(jobs));
            take_one(jobs, &squares, &taken);
        }
        assert_true(ordered_jobs_room(jobs, &slot));
        squares.input[slot] = queued;
        ordered_jobs_queue(jobs);
    }
    while (taken < count)
        take_one(jobs, &squares, &taken);
    assert_false(ordered_jobs_take(jobs, &slot));
    ordered_jobs_destroy(jobs);
    assert_int_equal(atomic_load(&squares.runs), count);
}

static void test_results_come_in_order(void **state)
{
    check_order(NULL, 0);
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct thread_pool *pool;
        assert_int_equal(thread_pool_create(threads, &pool), 0);
        check_order(pool, 0);
        check_order(pool, 200);
        thread_pool_destroy(pool);
    }
}

static void test_what_is_left_behind_runs_no_more(void **state)
{
    struct thread_pool *pool;
    assert_int_equal(thread_pool_create(2, &pool), 0);
    for (unsigned round = 0; round < 200; round++) {
        struct squares squares = {.pause_us = round % 3 * 50};
        struct ordered_jobs *jobs;
        size_t slot;
        assert_int_equal(ordered_jobs_create(pool, square, &squares, &jobs), 0);
        while (ordered_jobs_room(jobs, &slot)) {
            squares.input[slot] = 7;
            ordered_jobs_queue(jobs);
        }
        ordered_jobs_destroy(jobs);
        unsigned runs = atomic_load(&squares.runs); /* `squares` ends here: a late run would write over the stack */
        assert_true(runs <= 4);
    }
    thread_pool_destroy(pool);
    ordered_jobs_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results_come_in_order),
        cmocka_unit_test(test_what_is_left_behind_runs_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
