/* SPDX-License-Identifier: MIT */
/* Ticks become the nanoseconds that they are, over seconds and over months. */
#include "unit.h"

#include "record/merge_internal.h"

#include <stdlib.h>

static void add(struct clock_pairs *pairs, uint64_t ticks, int64_t raw_ns, uint64_t spread)
{
    struct wire_calibration record = {.ticks = ticks, .raw_ns = raw_ns, .spread = spread};
    assert_int_equal(clock_pairs_add(pairs, &record), 0);
}

static void test_a_line_is_exact_far_away(void **state)
{
    struct clock_pairs pairs = {0};
    struct clock_line line = {0};
    add(&pairs, 5000000000ull, 2000000000, 100); /* 2.5 GHz */
    add(&pairs, 7500000000ull, 3000000000, 100);
    clock_line_fit(&pairs, &line);
    assert_true(line.known);
    assert_int_equal(clock_line_at(&line, 5000000000ull), 2000000000);
    assert_int_equal(clock_line_at(&line, 2500000000ull), 1000000000);
    int64_t month_ns = 30ll * 86400 * 1000000000;
    int64_t there = clock_line_at(&line, 5000000000ull + (uint64_t)month_ns / 2 * 5);
    assert_true(there - (2000000000 + month_ns) < 100 && there - (2000000000 + month_ns) > -100);
    free(pairs.items);
}

static void test_badly_read_pairs_are_passed_over(void **state)
{
    struct clock_pairs pairs = {0};
    struct clock_line line = {0};
    for (uint64_t i = 0; i < 40; i++)
        add(&pairs, i * 1000000, (int64_t)i * 1000000 + (i % 5 ? 700 : 0), i % 5 ? 9000 : 50);
    clock_line_fit(&pairs, &line);
    assert_true(line.known);
    assert_int_equal(clock_line_at(&line, 20000000), 20000000);
    free(pairs.items);
}

static void test_two_near_pairs_or_one_are_no_line(void **state)
{
    struct clock_pairs pairs = {0};
    struct clock_line line = {0};
    clock_line_fit(&pairs, &line);
    add(&pairs, 1000, 1000, 10);
    clock_line_fit(&pairs, &line);
    add(&pairs, 2000, 1400, 10);
    clock_line_fit(&pairs, &line);
    assert_false(line.known);
    add(&pairs, 1000000, 900, 10); /* backwards */
    clock_line_fit(&pairs, &line);
    assert_false(line.known);
    free(pairs.items);
}

static void test_what_is_no_time_is_no_pair(void **state)
{
    struct clock_pairs pairs = {0};
    struct clock_line line = {0};
    add(&pairs, 1, -8536140985611058200, 10);
    add(&pairs, 2000000, INT64_MAX, 10);
    add(&pairs, 1000000, 1000000, 50);
    add(&pairs, 3000000, 3000000, 50);
    clock_line_fit(&pairs, &line);
    assert_int_equal(pairs.count, 2);
    assert_int_equal(clock_line_at(&line, 2000000), 2000000);
    free(pairs.items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_is_exact_far_away),
        cmocka_unit_test(test_badly_read_pairs_are_passed_over),
        cmocka_unit_test(test_what_is_no_time_is_no_pair),
        cmocka_unit_test(test_two_near_pairs_or_one_are_no_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
