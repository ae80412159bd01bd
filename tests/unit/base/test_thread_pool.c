/* SPDX-License-Identifier: MIT */
/* Thread pool: every index once, nested loops, bounded queue, signals, idle priority. Runs under TSan too. */
#include "base/clock.h"
#include "base/thread_pool.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

static struct thread_pool *new_pool(unsigned threads)
{
    struct thread_pool *pool;
    assert_int_equal(thread_pool_create(threads, &pool), 0);
    return pool;
}

static void count_visit(void *context, size_t index)
{
    unsigned *visits = context;
    visits[index]++; /* not atomic on purpose: two visits of one index are a race that TSan shows */
}

static void test_a_loop_visits_each_index_once(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    for (unsigned threads = 1; threads <= 4; threads++) {
        struct thread_pool *pool = new_pool(threads);
        assert_int_equal(thread_pool_size(pool), threads);
        for (size_t count = 0; count <= COUNT; count = count * 3 + 1) {
            unsigned visits[COUNT] = {0};
            thread_pool_for(pool, count, count_visit, visits);
            for (size_t index = 0; index < COUNT; index++)
                assert_int_equal(visits[index], index < count);
        }
        thread_pool_destroy(pool);
    }
    thread_pool_destroy(NULL);
}

struct nest {
    struct thread_pool *pool;
    atomic_uint sum;
};

static void inner(void *context, size_t index)
{
    struct nest *nest = context;
    atomic_fetch_add(&nest->sum, (unsigned)index);
}

static void outer(void *context, size_t index)
{
    struct nest *nest = context;
    (void)index;
    thread_pool_for(nest->pool, 100, inner, nest);
}

static void test_loops_nest(void **state)
{
    (void)state;
    struct nest nest = {.pool = new_pool(3)};
    thread_pool_for(nest.pool, 50, outer, &nest);
    assert_int_equal(atomic_load(&nest.sum), 50 * 4950);
    thread_pool_destroy(nest.pool);
}

static void add_one(void *context)
{
    atomic_fetch_add((atomic_uint *)context, 1);
}

static void test_jobs_are_done_after_wait_and_after_destroy(void **state)
{
    (void)state;
    struct thread_pool *pool = new_pool(2);
    atomic_uint done = 0;
    for (int index = 0; index < 500; index++)
        assert_int_equal(thread_pool_submit(pool, add_one, &done), 0);
    thread_pool_wait(pool);
    assert_int_equal(atomic_load(&done), 500);
    for (int index = 0; index < 500; index++)
        assert_int_equal(thread_pool_submit(pool, add_one, &done), 0);
    thread_pool_destroy(pool);
    assert_int_equal(atomic_load(&done), 1000);
}

static void wait_for_gate(void *context)
{
    pthread_mutex_lock(context);
    pthread_mutex_unlock(context);
}

static void test_the_queue_is_bounded(void **state)
{
    (void)state;
    struct thread_pool *pool = new_pool(1);
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&gate);
    unsigned accepted = 0;
    while (accepted < 2000 && thread_pool_submit(pool, wait_for_gate, &gate) == 0)
        accepted++;
    assert_in_range(accepted, 1024, 1025); /* one may be running already */
    assert_int_equal(thread_pool_submit(pool, wait_for_gate, &gate), -EAGAIN);
    pthread_mutex_unlock(&gate);
    thread_pool_wait(pool);
    thread_pool_destroy(pool);
}

struct seen {
    bool blocked;
};

static void look(void *context)
{
    struct seen *seen = context;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    seen->blocked = sigismember(&mask, SIGPROF) && sigismember(&mask, SIGINT);
}

static void test_workers_block_signals(void **state)
{
    (void)state;
    struct thread_pool *pool = new_pool(1);
    struct seen seen = {0};
    assert_int_equal(thread_pool_submit(pool, look, &seen), 0);
    thread_pool_wait(pool);
    assert_true(seen.blocked);
    thread_pool_destroy(pool);
}

static void test_clocks_run_forward(void **state)
{
    (void)state;
    int64_t raw = clock_raw_ns(), monotonic = clock_monotonic_ns(), cpu = clock_process_cpu_ns();
    for (int index = 0; index < 1000; index++) {
        int64_t next = clock_raw_ns();
        assert_true(next >= raw);
        raw = next;
    }
    assert_true(clock_monotonic_ns() > monotonic);
    assert_true(clock_process_cpu_ns() > cpu);
    assert_true(clock_realtime_ns() > (int64_t)1600000000 * 1000000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_loop_visits_each_index_once),
        cmocka_unit_test(test_loops_nest),
        cmocka_unit_test(test_jobs_are_done_after_wait_and_after_destroy),
        cmocka_unit_test(test_the_queue_is_bounded),
        cmocka_unit_test(test_workers_block_signals),
        cmocka_unit_test(test_clocks_run_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
