/* SPDX-License-Identifier: MIT */
/* A device's clock from pairs and from bounds: what is found, how sure it is, and that order is never changed. */
#include "unit.h"

#include "record/device_clock.h"

#include <errno.h>
#include <stdlib.h>

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define SECOND INT64_C(1000000000)

static void test_pairs_are_joined_by_straight_pieces(void **state)
{
    struct clock_point points[] = {{3000, 2000, 8, 0}, {1000, 0, 10, 0}, {2000, 1000, 4, 0}, {3500, 3000, 4, 0}};
    struct device_clock clock;
    assert_int_equal(device_clock_fit(points, 4, &clock), 0);
    assert_int_equal(device_clock_at(&clock, 0), 1000);
    assert_int_equal(device_clock_at(&clock, 500), 1500);
    assert_int_equal(device_clock_at(&clock, 2500), 3250); /* half of the slower piece */
    assert_int_equal(clock.error_ns, 5);
    assert_int_equal(clock.contradictions, 0);
    device_clock_finish(&clock);
}

static void test_beyond_the_pairs_their_drift_goes_on(void **state)
{
    struct clock_point points[] = {{0, 0, 100, 0}, {SECOND + 100 * US, SECOND, 100, 0}};
    struct device_clock clock;
    assert_int_equal(device_clock_fit(points, 2, &clock), 0);
    assert_int_equal(device_clock_at(&clock, 11 * SECOND), 11 * SECOND + 1100 * US);
    assert_int_equal(device_clock_at(&clock, -SECOND), -SECOND - 100 * US);
    device_clock_finish(&clock);
}

static void test_a_pair_that_runs_backwards_is_left_out_and_counted(void **state)
{
    struct clock_point points[] = {{1000, 0, 0, 0}, {900, 500, 0, 0}, {2000, 1000, 0, 0}};
    struct device_clock clock;
    assert_int_equal(device_clock_fit(points, 3, &clock), 0);
    assert_int_equal(clock.contradictions, 1);
    assert_int_equal(device_clock_at(&clock, 500), 1500);
    device_clock_finish(&clock);
}

/* The device's clock is `offset` behind and drifts; each launch bounds it from below, each completion from above. */
static size_t bounds_of(struct clock_point *points, size_t launches, int64_t offset, double drift, int64_t least_us, int64_t most_us)
{
    size_t count = 0;
    srand(7);
    for (size_t i = 0; i < launches; i++) {
        int64_t device = (int64_t)i * 10 * MS, host = offset + device + (int64_t)((double)device * drift);
        int64_t before = (least_us + rand() % (most_us - least_us)) * US, after = (least_us + rand() % (most_us - least_us)) * US;
        points[count++] = (struct clock_point){host - before, device, 0, 1};
        points[count++] = (struct clock_point){host + after, device, 0, -1};
    }
    return count;
}

static void test_bounds_give_offset_drift_and_an_error_that_holds(void **state)
{
    static struct clock_point points[4000];
    struct device_clock clock;
    size_t count = bounds_of(points, 2000, 123 * SECOND, 37e-6, 5, 2000);
    assert_int_equal(device_clock_fit(points, count, &clock), 0);
    assert_int_equal(clock.contradictions, 0);
    assert_true(clock.error_ns > 0 && clock.error_ns < 100 * US);
    for (int64_t device = 0; device <= 20 * SECOND; device += SECOND) {
        int64_t truth = 123 * SECOND + device + (int64_t)((double)device * 37e-6);
        assert_true(llabs(device_clock_at(&clock, device) - truth) <= clock.error_ns);
    }
    assert_true(clock.drift > 30e-6 && clock.drift < 45e-6);
    device_clock_finish(&clock);
}

/* A millisecond says nothing of a drift: none is made up. */
static void test_a_short_recording_claims_no_drift(void **state)
{
    struct clock_point points[] = {{1000, 0, 0, 1}, {41000, 20000, 0, -1}, {301000, 300000, 0, 1}, {341000, 320000, 0, -1}};
    struct device_clock clock;
    assert_int_equal(device_clock_fit(points, 4, &clock), 0);
    assert_true(clock.drift == 0);
    assert_int_equal(device_clock_at(&clock, 0), 11000);
    assert_true(clock.error_ns >= 10000 && clock.error_ns < 10500);
    device_clock_finish(&clock);
}

static void test_bounds_that_contradict_are_counted(void **state)
{
    struct clock_point points[] = {{1000, 0, 0, 1}, {900, 0, 0, -1}};
    struct device_clock clock;
    assert_int_equal(device_clock_fit(points, 2, &clock), 0);
    assert_int_equal(clock.contradictions, 2);
    assert_int_equal(device_clock_at(&clock, 0), 950);
    assert_int_equal(clock.error_ns, 50);
    device_clock_finish(&clock);
}

static void test_bounds_on_one_side_have_no_error_bound(void **state)
{
    struct clock_point points[] = {{1000, 0, 0, 1}, {2300, 1000, 0, 1}};
    struct device_clock clock;
    assert_int_equal(device_clock_fit(points, 2, &clock), 0);
    assert_int_equal(clock.error_ns, -1);
    assert_int_equal(device_clock_at(&clock, 1000), 2300);
    assert_int_equal(clock.contradictions, 0);
    device_clock_finish(&clock);
    assert_int_equal(device_clock_fit(points, 0, &clock), -ENODATA);
}

static void test_thinning_changes_nothing(void **state)
{
    static struct clock_point points[4000], thin[4000];
    struct device_clock all, few;
    size_t count = bounds_of(points, 2000, 5 * SECOND, -20e-6, 3, 900), kept = bounds_of(thin, 2000, 5 * SECOND, -20e-6, 3, 900);
    assert_int_equal(device_clock_thin(thin, &kept), 0);
    assert_true(kept < 100);
    assert_int_equal(device_clock_fit(points, count, &all), 0);
    assert_int_equal(device_clock_fit(thin, kept, &few), 0);
    for (int64_t device = 0; device <= 20 * SECOND; device += SECOND)
        assert_true(llabs(device_clock_at(&all, device) - device_clock_at(&few, device)) <= 1);
    device_clock_finish(&all);
    device_clock_finish(&few);
}

static void test_order_is_never_changed(void **state)
{
    static struct clock_point points[4000];
    struct device_clock clock;
    size_t count = bounds_of(points, 2000, SECOND, -450e-6, 1, 50);
    assert_int_equal(device_clock_fit(points, count, &clock), 0);
    int64_t last = INT64_MIN;
    for (int64_t device = -1000; device < 100000; device++) {
        int64_t now = device_clock_at(&clock, device);
        assert_true(now >= last);
        last = now;
    }
    device_clock_finish(&clock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs_are_joined_by_straight_pieces),
        cmocka_unit_test(test_beyond_the_pairs_their_drift_goes_on),
        cmocka_unit_test(test_a_pair_that_runs_backwards_is_left_out_and_counted),
        cmocka_unit_test(test_bounds_give_offset_drift_and_an_error_that_holds),
        cmocka_unit_test(test_a_short_recording_claims_no_drift),
        cmocka_unit_test(test_bounds_that_contradict_are_counted),
        cmocka_unit_test(test_bounds_on_one_side_have_no_error_bound),
        cmocka_unit_test(test_thinning_changes_nothing),
        cmocka_unit_test(test_order_is_never_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
