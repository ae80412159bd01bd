/* SPDX-License-Identifier: MIT */
/* Jobs come back with their frames, or are taken back untouched when they waited too long; memory has a bound. */
#include "unit.h"

#include "base/clock.h"
#include "base/error.h"
#include "record/unwind_pool.h"
#include "trace/event.h"

#include <unistd.h>

static struct unwind_job *job_of(size_t stack_bytes, const struct address_map *map)
{
    static uint8_t stack[65536];
    const struct unwind_sample sample = {.registers = {.arch = UNWIND_X86_64, .valid = 1u << 16 | 1u << 7,
                                                       .values = {[16] = 0x1234, [7] = 0x7fff0000}},
                                         .stack = stack, .stack_address = 0x7fff0000, .stack_size = stack_bytes};
    static const uint64_t kernel[2] = {0xffffffff81000010, 0xffffffff81000020};
    struct unwind_job *job = unwind_job_create(&sample, kernel, 2);
    assert_non_null(job);
    job->map = map;
    return job;
}

static void test_jobs_come_back_unwound(void **state)
{
    struct unwind_pool_options options = {.threads = 2};
    CLEANUP(module_table_destroyp) struct module_table *table = NULL;
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    CLEANUP(unwind_pool_destroyp) struct unwind_pool *pool = NULL;
    struct error err = ERROR_INIT;
    assert_int_equal(module_table_create(&table), 0);
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(unwind_pool_create(&options, &pool, &err), 0);
    for (int i = 0; i < 500; i++)
        assert_true(unwind_pool_put(pool, job_of(512, map)));
    for (int back = 0; back < 500;) {
        struct unwind_job *job = unwind_pool_result(pool);
        if (!job) {
            usleep(1000);
            continue;
        }
        assert_true(job->frame_count >= 3); /* two of the kernel, and the program counter */
        assert_int_equal(job->frames[0].run_address, 0xffffffff81000010);
        assert_int_equal(job->frames[2].run_address, 0x1234);
        assert_true(job->end != UNWIND_ROOT); /* nothing is mapped there */
        unwind_job_destroy(job);
        back++;
    }
    assert_int_equal(unwind_pool_pending(pool), 0);
}

static void test_what_waits_can_be_taken_back(void **state)
{
    struct unwind_pool_options options = {.threads = 1, .limit_bytes = 4 << 20};
    CLEANUP(module_table_destroyp) struct module_table *table = NULL;
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    CLEANUP(unwind_pool_destroyp) struct unwind_pool *pool = NULL;
    struct error err = ERROR_INIT;
    assert_int_equal(module_table_create(&table), 0);
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(unwind_pool_create(&options, &pool, &err), 0);
    size_t put = 0, back = 0;
    for (;; put++) { /* until the bound is reached, or the worker keeps up for ever */
        struct unwind_job *job = job_of(60000, map);
        if (!unwind_pool_put(pool, job)) {
            unwind_job_destroy(job);
            break;
        }
        if (put == 100000)
            break;
    }
    assert_null(unwind_pool_take_back(pool, 0)); /* none is that old */
    for (struct unwind_job *job; (job = unwind_pool_take_back(pool, INT64_MAX)); back++) {
        assert_int_equal(job->sample.stack_size, 60000);
        assert_int_equal(job->frame_count, 0);
        unwind_job_destroy(job);
    }
    for (int i = 0; i < 5000 && unwind_pool_pending(pool); i++) {
        struct unwind_job *job = unwind_pool_result(pool);
        if (job) {
            unwind_job_destroy(job);
            back++;
        } else {
            usleep(1000);
        }
    }
    assert_int_equal(unwind_pool_pending(pool), 0);
    assert_true(back == put || put == 100000);
}

static void test_an_abandoned_pool_frees_everything(void **state)
{
    struct unwind_pool_options options = {.threads = 1};
    CLEANUP(module_table_destroyp) struct module_table *table = NULL;
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct unwind_pool *pool = NULL;
    struct error err = ERROR_INIT;
    assert_int_equal(module_table_create(&table), 0);
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(unwind_pool_create(&options, &pool, &err), 0);
    for (int i = 0; i < 100; i++)
        assert_true(unwind_pool_put(pool, job_of(4096, map)));
    unwind_pool_destroy(pool);
}

static void test_flags_tell_what_ended_a_stack(void **state)
{
    const uint8_t short_copy = SAMPLE_CUT_PAGE_ABSENT << SAMPLE_CUT_SHIFT, kernel = SAMPLE_KERNEL;
    static const struct {
        enum unwind_end end;
        enum sample_cut cut, short_cut; /* of a full and of a short copy */
    } cases[] = {
        {UNWIND_STACK_ENDED, SAMPLE_CUT_COPY_ENDED, SAMPLE_CUT_PAGE_ABSENT},
        {UNWIND_NO_CFI, SAMPLE_CUT_NO_UNWIND_INFO, SAMPLE_CUT_NO_UNWIND_INFO},
        {UNWIND_BAD_FRAME, SAMPLE_CUT_BAD_FRAME, SAMPLE_CUT_BAD_FRAME},
        {UNWIND_LIMIT, SAMPLE_CUT_TOO_DEEP, SAMPLE_CUT_TOO_DEEP},
        {UNWIND_ELSEWHERE, SAMPLE_CUT_ELSEWHERE, SAMPLE_CUT_ELSEWHERE},
    };
    struct unwind_job job = {.flags = kernel | short_copy, .end = UNWIND_ROOT};
    assert_int_equal(unwind_job_flags(&job), kernel); /* a short copy that held the whole stack */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        job = (struct unwind_job){.flags = kernel, .end = cases[i].end};
        assert_int_equal(unwind_job_flags(&job), kernel | SAMPLE_TRUNCATED | cases[i].cut << SAMPLE_CUT_SHIFT);
        job.flags |= short_copy;
        assert_int_equal(unwind_job_flags(&job), kernel | SAMPLE_TRUNCATED | cases[i].short_cut << SAMPLE_CUT_SHIFT);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_come_back_unwound),
        cmocka_unit_test(test_what_waits_can_be_taken_back),
        cmocka_unit_test(test_an_abandoned_pool_frees_everything),
        cmocka_unit_test(test_flags_tell_what_ended_a_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
