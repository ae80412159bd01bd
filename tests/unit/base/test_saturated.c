/* SPDX-License-Identifier: MIT */
/* Sums that stop at the ends of 63 bits. */
#include "base/saturated.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static int64_t sum_of(int64_t sum, int64_t value)
{
    add_saturated(&sum, value);
    return sum;
}

static void test_sums_stop_where_their_bits_end(void **state)
{
    (void)state;
    assert_true(sum_of(3, 4) == 7 && sum_of(3, -4) == -1);
    assert_true(sum_of(INT64_MAX - 1, 1) == INT64_MAX && sum_of(INT64_MAX - 1, 2) == INT64_MAX && sum_of(INT64_MAX, INT64_MAX) == INT64_MAX);
    assert_true(sum_of(INT64_MIN + 1, -2) == INT64_MIN && sum_of(INT64_MIN, INT64_MIN) == INT64_MIN);
    assert_true(sum_of(INT64_MAX, INT64_MIN) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums_stop_where_their_bits_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
