/* SPDX-License-Identifier: MIT */
/* A thread's CPU time, what its samples stand for, and its times off the CPU. */
#include "unit.h"

#include "sample/core_pmu.h"
#include "sample/sched.h"

static void test_samples_stand_for_the_cpu_time_between_them(void **state)
{
    struct sched_thread thread = {0};
    struct sched_span span;
    sched_start(&thread, 1000, 0);
    assert_int_equal(sched_sample(&thread, 2000, 0), 1000);
    sched_out(&thread, 2500, 0, false);
    assert_true(sched_in(&thread, 9000, 1, &span));
    assert_int_equal(sched_sample(&thread, 9400, 1), 500 + 400); /* the time away does not count */
    assert_int_equal(sched_cpu_ns(&thread, 9700), 1000 + 500 + 700);
    assert_int_equal(sched_unsampled_ns(&thread, 9700), 300);
}

/* The clock ticked in the kernel forty-nine times, where it may not sample: that is not the user function's time. */
static void test_with_excluded_code_a_sample_stands_for_a_period_at_most(void **state)
{
    struct sched_thread thread = {0};
    sched_start(&thread, 0, 0);
    assert_int_equal(sched_sample_bounded(&thread, 1000, 0, 1000), 1000);
    assert_int_equal(sched_take_excess(&thread, 1000, 2000), 0);
    assert_int_equal(sched_sample_bounded(&thread, 51000, 0, 1000), 1000);
    assert_int_equal(sched_take_excess(&thread, 51000, 2000), 47000);
    assert_int_equal(sched_unsampled_ns(&thread, 51000), 2000); /* waits for samples that come late */
    assert_int_equal(sched_take_excess(&thread, 51000, 2000), 0);
}

/* The kernel throttles for 3 of 4 ms: user code, whose next sample stands for all of it. */
static void test_what_was_throttled_is_no_excluded_code(void **state)
{
    struct sched_thread thread = {0};
    int64_t sum = 0;
    sched_start(&thread, 0, 0);
    for (int64_t time = 0; time < 400000; time += 4000) {
        sched_blind(&thread, time + 999);
        sum += sched_sample_bounded(&thread, time + 1000, 0, 1000); /* the sample with which it stops comes behind */
        assert_int_equal(sched_take_excess(&thread, time + 3500, 2000), 0);
        sched_sighted(&thread, time + 4000);
        assert_int_equal(sched_take_excess(&thread, time + 4000, 2000), 0);
    }
    assert_int_equal(sum, 397000);
    assert_int_equal(sched_take_excess(&thread, 450000, 2000), 450000 - 397000 - 3000 - 2000);
}

static void test_a_throttled_thread_that_leaves_its_cpu_is_sampled_when_it_is_back(void **state)
{
    struct sched_thread thread = {0};
    struct sched_span span;
    sched_start(&thread, 0, 0);
    sched_blind(&thread, 1000);
    assert_int_equal(sched_sample_bounded(&thread, 1000, 0, 1000), 1000);
    sched_out(&thread, 3000, 0, true);
    assert_true(sched_in(&thread, 9000, 1, &span));
    assert_int_equal(sched_take_excess(&thread, 29000, 2000), 18000);
    assert_int_equal(sched_sample_bounded(&thread, 29000, 1, 1000), 3000);
}

static void test_lost_samples_are_no_excluded_code(void **state)
{
    struct sched_thread thread = {0};
    sched_start(&thread, 0, 0);
    sched_miss(&thread, 10000);
    assert_int_equal(sched_take_excess(&thread, 21000, 2000), 9000);
    assert_int_equal(sched_sample_bounded(&thread, 21000, 0, 1000), 11000);
    sched_miss(&thread, INT64_MAX); /* more than it ran for is nobody's */
    assert_int_equal(sched_sample_bounded(&thread, 22000, 0, 1000), 2000);
    assert_int_equal(sched_take_excess(&thread, 32000, 2000), 8000);
}

/* Each CPU's clock has its own phase: samples half a period late and early all count, and nothing is left over. */
static void test_a_thread_that_moves_between_cpus_loses_nothing(void **state)
{
    struct sched_thread thread = {0};
    int64_t sum = 0;
    sched_start(&thread, 0, 0);
    for (int64_t time = 0; time < 20000; time += 2000) {
        sum += sched_sample_bounded(&thread, time + 1500, 1, 1000);
        assert_int_equal(sched_take_excess(&thread, time + 1500, 2000), 0);
        sum += sched_sample_bounded(&thread, time + 2000, 0, 1000);
        assert_int_equal(sched_take_excess(&thread, time + 2000, 2000), 0);
    }
    assert_int_equal(sum, 20000);
}

static void test_a_span_off_the_cpu_knows_both_cpus_and_why(void **state)
{
    struct sched_thread thread = {0};
    struct sched_span span;
    sched_start(&thread, 0, 2);
    sched_out(&thread, 100, 2, true);
    assert_true(sched_in(&thread, 350, 5, &span));
    assert_int_equal(span.begin_ns, 100);
    assert_int_equal(span.end_ns, 350);
    assert_int_equal(span.from_cpu, 2);
    assert_int_equal(span.to_cpu, 5);
    assert_true(span.preempted);
}

static void test_the_first_switch_in_ends_nothing(void **state)
{
    struct sched_thread thread = {0};
    struct sched_span span;
    assert_false(sched_in(&thread, 10, 0, &span));
    assert_int_equal(sched_cpu_ns(&thread, 30), 20);
}

static void test_a_lost_switch_out_adds_no_time(void **state)
{
    struct sched_thread thread = {0};
    struct sched_span span;
    sched_start(&thread, 0, 0);
    assert_false(sched_in(&thread, 1000000, 0, &span)); /* it may have been away all the time */
    assert_int_equal(sched_cpu_ns(&thread, 1000010), 10);
}

static void test_after_a_loss_the_first_sample_has_no_weight(void **state)
{
    struct sched_thread thread = {0};
    sched_start(&thread, 0, 0);
    sched_sample(&thread, 100, 0);
    sched_forget(&thread, 150);
    assert_int_equal(sched_sample(&thread, 5000, 0), -1);
    assert_int_equal(sched_sample(&thread, 5100, 0), 100);
    assert_int_equal(sched_cpu_ns(&thread, 5100), 150 + 100);
}

static void test_time_never_runs_back(void **state)
{
    struct sched_thread thread = {0};
    sched_start(&thread, 1000, 0);
    assert_int_equal(sched_cpu_ns(&thread, 900), 0);
    sched_out(&thread, 900, 0, false);
    assert_int_equal(sched_cpu_ns(&thread, 2000), 0);
    assert_int_equal(sched_sample(&thread, 950, 0), -1);
}

static void test_cpu_lists(void **state)
{
    assert_true(cpu_list_has("0-3,8,10-11", 3));
    assert_true(cpu_list_has("0-3,8,10-11\n", 11));
    assert_false(cpu_list_has("0-3,8,10-11", 9));
    assert_false(cpu_list_has("", 0));
    assert_false(cpu_list_has("x", 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_samples_stand_for_the_cpu_time_between_them),
        cmocka_unit_test(test_with_excluded_code_a_sample_stands_for_a_period_at_most),
        cmocka_unit_test(test_what_was_throttled_is_no_excluded_code),
        cmocka_unit_test(test_a_throttled_thread_that_leaves_its_cpu_is_sampled_when_it_is_back),
        cmocka_unit_test(test_lost_samples_are_no_excluded_code),
        cmocka_unit_test(test_a_thread_that_moves_between_cpus_loses_nothing),
        cmocka_unit_test(test_a_span_off_the_cpu_knows_both_cpus_and_why),
        cmocka_unit_test(test_the_first_switch_in_ends_nothing),
        cmocka_unit_test(test_a_lost_switch_out_adds_no_time),
        cmocka_unit_test(test_after_a_loss_the_first_sample_has_no_weight),
        cmocka_unit_test(test_time_never_runs_back),
        cmocka_unit_test(test_cpu_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
