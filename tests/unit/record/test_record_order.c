/* SPDX-License-Identifier: MIT */
/* Records of several rings come out in order of time, equal times in order of arrival, the youngest later. */
#include "unit.h"

#include "record/record_order.h"

#include <stdlib.h>

static void add(struct record_order *order, int64_t time_ns, uint64_t value)
{
    assert_int_equal(record_order_add(order, time_ns, EVENT_SAMPLES, &value, sizeof value, NULL), 0);
}

static uint64_t value_at(const struct record_order *order, size_t index)
{
    return *(const uint64_t *)record_order_raw(order, index);
}

static void test_rings_are_merged(void **state)
{
    struct record_order order = {0};
    int64_t first[] = {1, 4, 4, 9}, second[] = {2, 4, 7, 8};
    for (uint64_t i = 0; i < 4; i++)
        add(&order, first[i], i);
    for (uint64_t i = 0; i < 4; i++)
        add(&order, second[i], 10 + i);
    assert_int_equal(record_order_sort(&order, INT64_MAX), 8);
    const uint64_t expected[] = {0, 10, 1, 2, 11, 12, 13, 3};
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(value_at(&order, i), expected[i]);
    record_order_finish(&order);
}

static void test_the_youngest_stay(void **state)
{
    struct record_order order = {0};
    add(&order, 30, 3);
    add(&order, 10, 1);
    add(&order, 20, 2);
    assert_int_equal(record_order_sort(&order, 20), 1);
    record_order_drop(&order, 1);
    assert_int_equal(order.count, 2);
    add(&order, 5, 0); /* late, but not lost */
    assert_int_equal(record_order_sort(&order, INT64_MAX), 3);
    for (uint64_t i = 0; i < 3; i++)
        assert_int_equal(value_at(&order, i), i == 0 ? 0 : i + 1);
    record_order_drop(&order, 3);
    assert_int_equal(order.buffer_bytes, 0);
    record_order_finish(&order);
}

static void test_any_order_is_sorted(void **state)
{
    struct record_order order = {0};
    uint32_t seed = 1;
    for (uint64_t i = 0; i < 5000; i++)
        add(&order, (int64_t)((seed = seed * 1664525 + 1013904223) >> 16), i);
    assert_int_equal(record_order_sort(&order, INT64_MAX), 5000);
    for (size_t i = 1; i < 5000; i++)
        assert_true(order.records[i - 1].time_ns < order.records[i].time_ns ||
                    (order.records[i - 1].time_ns == order.records[i].time_ns &&
                     value_at(&order, i - 1) < value_at(&order, i)));
    record_order_finish(&order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings_are_merged),
        cmocka_unit_test(test_the_youngest_stay),
        cmocka_unit_test(test_any_order_is_sorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
