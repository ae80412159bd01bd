/* SPDX-License-Identifier: MIT */
/* Every job put is taken once, by one; a full queue says so. */
#include "unit.h"

#include "record/job_queue.h"

#include <pthread.h>
#include <sched.h>

enum { CAPACITY = 64, JOBS = 200000, THREADS = 3 };

static void test_order_and_bounds(void **state)
{
    struct job_queue queue;
    assert_int_equal(job_queue_init(&queue, CAPACITY), 0);
    assert_null(job_queue_take(&queue));
    assert_null(job_queue_peek(&queue));
    for (uintptr_t lap = 0; lap < 3; lap++) {
        for (uintptr_t i = 1; i <= CAPACITY; i++)
            assert_true(job_queue_put(&queue, (void *)i));
        assert_false(job_queue_put(&queue, (void *)99));
        for (uintptr_t i = 1; i <= CAPACITY; i++) {
            assert_ptr_equal(job_queue_peek(&queue), (void *)i);
            assert_ptr_equal(job_queue_take(&queue), (void *)i);
        }
        assert_null(job_queue_take(&queue));
    }
    job_queue_finish(&queue);
}

static struct job_queue forth, back;
static int stop;

static void *echo(void *context)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        void *job = job_queue_take(&forth);
        while (job && !job_queue_put(&back, job))
            sched_yield();
        if (!job)
            sched_yield();
    }
    return NULL;
}

static void test_threads_neither_lose_nor_double(void **state)
{
    static uint8_t seen[JOBS + 1];
    pthread_t threads[THREADS];
    assert_int_equal(job_queue_init(&forth, CAPACITY), 0);
    assert_int_equal(job_queue_init(&back, CAPACITY), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, echo, NULL), 0);
    uintptr_t sent = 0, received = 0;
    while (received < JOBS) {
        bool moved = sent < JOBS && job_queue_put(&forth, (void *)(sent + 1));
        sent += moved;
        void *job = job_queue_take(&back);
        if (job) {
            assert_int_equal(seen[(uintptr_t)job]++, 0);
            received++;
        } else if (!moved) {
            sched_yield();
        }
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_null(job_queue_take(&back));
    job_queue_finish(&forth);
    job_queue_finish(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_and_bounds),
        cmocka_unit_test(test_threads_neither_lose_nor_double),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
