/* SPDX-License-Identifier: MIT */
/* Places on a roofline, by hand. */
#include "unit.h"

#include "view/roofline_chart.h"

#include <math.h>
#include <string.h>

/* Two memories and two peaks: the ridge of the highest is at 1000 / 100 = 10 operations a byte. */
static const struct roofline_roof roofs[] = {{"DRAM", true, 100e9}, {"L2", true, 50e9}, {"FP64 FMA", false, 1000e9}, {"FP64 scalar", false, 250e9}};
static const struct roofline_point points[] = {{"stream", 0.5, 20e9, 0.2}, {"stencil", 2, 50e9, 0.5}, {"gemm", 100, 800e9, 0.2}, {"nothing", 0, 5e9, 0.1}};
static const struct roofline_chart chart = {.title = "", .operation = "FLOP", .roofs = roofs, .roof_count = 4, .points = points, .point_count = 4};

static void near(double value, double expected)
{
    if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected))))
        fail_msg("%.17g is not %.17g", value, expected);
}

static void test_headroom_left_of_the_ridge_is_below_the_bandwidth(void **state)
{
    struct roofline_headroom headroom = roofline_headroom(&chart, &points[1]); /* 100 GB/s x 2 = 200 G, of which it has 50 G */
    (void)state;
    assert_string_equal(headroom.roof->name, "DRAM");
    near(headroom.attainable, 200e9);
    near(headroom.factor, 4);
    assert_string_equal(headroom.next->name, "L2"); /* 50 x 2 = 100 G */
    near(headroom.next_factor, 2);
}

static void test_headroom_right_of_the_ridge_is_below_the_peak(void **state)
{
    struct roofline_headroom headroom = roofline_headroom(&chart, &points[2]);
    (void)state;
    assert_string_equal(headroom.roof->name, "FP64 FMA");
    near(headroom.factor, 1.25);
    assert_string_equal(headroom.next->name, "FP64 FMA");
}

static void test_a_point_above_all_roofs_has_a_factor_below_one(void **state)
{
    struct roofline_point point = {"wrong", 1000, 2000e9, 1};
    struct roofline_headroom headroom = roofline_headroom(&(struct roofline_chart){.roofs = &roofs[2], .roof_count = 1}, &point);
    (void)state;
    near(headroom.factor, 0.5);
    assert_null(headroom.next);
}

static void test_without_roofs_nothing_is_known(void **state)
{
    const struct roofline_roof unknown = {"unknown", false, NAN};
    struct roofline_headroom headroom = roofline_headroom(&(struct roofline_chart){.roofs = &unknown, .roof_count = 1}, &points[1]);
    (void)state;
    assert_null(headroom.roof);
    assert_true(isnan(headroom.factor));
}

static void test_roofs_end_at_the_ridge_and_at_the_window(void **state)
{
    struct roofline_window window = {-1, 2, 10, 13};
    struct roofline_line line;
    (void)state;
    assert_true(roofline_roof_line(&chart, &roofs[0], &window, &line)); /* y = x + 11, from the left edge to (1, 12) */
    near(line.from_x, -1);
    near(line.from_y, 10);
    near(line.to_x, 1);
    near(line.to_y, 12);
    assert_true(roofline_roof_line(&chart, &roofs[2], &window, &line)); /* from the ridge on */
    near(line.from_x, 1);
    near(line.to_x, 2);
    near(line.from_y, 12);
    window.bottom = 11.5; /* cuts the slope at x = 0.5 */
    assert_true(roofline_roof_line(&chart, &roofs[0], &window, &line));
    near(line.from_x, 0.5);
    near(line.from_y, 11.5);
    window.bottom = 12.5;
    assert_false(roofline_roof_line(&chart, &roofs[0], &window, &line));
}

static void test_a_fitted_window_holds_points_ridge_and_roofs(void **state)
{
    struct roofline_window window = roofline_fit(&chart);
    (void)state;
    for (int i = 0; i < 3; i++) {
        double x = log10(points[i].intensity), y = log10(roofline_attainable(&chart, points[i].intensity, NULL));
        assert_true(window.left < x && x < window.right && window.bottom < log10(points[i].performance) && y < window.top);
    }
    assert_true(window.left < 1 && 1 < window.right && 12 < window.top);
    window = roofline_fit(&(struct roofline_chart){0});
    assert_true(window.left < window.right && window.bottom < window.top);
}

static void test_zoom_keeps_its_centre_and_has_limits(void **state)
{
    struct roofline_window window = {0, 4, 8, 12};
    (void)state;
    roofline_zoom(&window, 0.5, 1, 11);
    near(window.left, 0.5);
    near(window.right, 2.5);
    near(window.bottom, 9.5);
    near(window.top, 11.5);
    roofline_pan(&window, 0.25, -0.5);
    near(window.left, 1);
    near(window.bottom, 8.5);
    for (int i = 0; i < 200; i++)
        roofline_zoom(&window, 0.5, 1, 11);
    assert_true(window.right - window.left >= 0.02);
    for (int i = 0; i < 200; i++)
        roofline_zoom(&window, 2, 1, 11);
    for (int i = 0; i < 200; i++)
        roofline_pan(&window, 1, 1);
    assert_true(window.right - window.left <= 40 && fabs(window.right) <= 40);
}

static void test_kernels_are_cycled_by_weight_and_those_without_a_place_are_left_out(void **state)
{
    static const long order[] = {1, 0, 2, 1};
    long at = -1;
    (void)state;
    for (int i = 0; i < 4; i++)
        assert_int_equal(at = roofline_next(&chart, at, true), order[i]);
    assert_int_equal(roofline_next(&chart, 1, false), 2);
    assert_int_equal(roofline_next(&chart, 2, false), 0);
    assert_int_equal(roofline_next(&chart, -1, false), 2);
    assert_int_equal(roofline_next(&(struct roofline_chart){0}, -1, true), -1);
    assert_int_equal(roofline_next(&(struct roofline_chart){.points = points, .point_count = 1}, 0, true), 0);
}

static void test_the_nearest_point_within_reach(void **state)
{
    struct roofline_window window = {-1, 3, 9, 13}; /* gemm: (2, 11.90), three quarters of the way right and up */
    (void)state;
    assert_int_equal(roofline_nearest(&chart, &window, 0.74, 0.73, 0.05), 2);
    assert_int_equal(roofline_nearest(&chart, &window, 0.5, 0.1, 0.05), -1);
}

static void check_labels(double low, double high, unsigned labels, const char *expected)
{
    struct roofline_tick ticks[256];
    char all[512] = "", text[32];
    size_t count = roofline_ticks(low, high, labels, ticks, 256);
    for (size_t i = 0; i < count; i++) {
        assert_true(ticks[i].at >= low - 1e-6 && ticks[i].at <= high + 1e-6);
        if (!ticks[i].labelled)
            continue;
        if (*all)
            strcat(all, ", ");
        strcat(all, roofline_number(text, sizeof text, ticks[i].value));
    }
    assert_string_equal(all, expected);
}

static void test_ticks(void **state)
{
    struct roofline_tick ticks[8];
    (void)state;
    check_labels(-1, 2, 5, "0.1, 1, 10, 100");
    check_labels(9, 12, 3, "1 G, 10 G, 100 G, 1 T");
    check_labels(0, 2, 8, "1, 2, 5, 10, 20, 50, 100");
    check_labels(-6, 18, 6, "0.0001, 1, 10 k, 100 M, 1 T, 10 P");
    check_labels(log10(20), log10(60), 5, "20, 30, 40, 50, 60");
    check_labels(log10(2.0e11), log10(2.1e11), 4, "200 G, 205 G, 210 G");
    assert_int_equal(roofline_ticks(1, 1, 5, ticks, 8), 0);
    assert_int_equal(roofline_ticks(0, 3, 5, ticks, 8), 8); /* no more than there is room for */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_headroom_left_of_the_ridge_is_below_the_bandwidth),
        cmocka_unit_test(test_headroom_right_of_the_ridge_is_below_the_peak),
        cmocka_unit_test(test_a_point_above_all_roofs_has_a_factor_below_one),
        cmocka_unit_test(test_without_roofs_nothing_is_known),
        cmocka_unit_test(test_roofs_end_at_the_ridge_and_at_the_window),
        cmocka_unit_test(test_a_fitted_window_holds_points_ridge_and_roofs),
        cmocka_unit_test(test_zoom_keeps_its_centre_and_has_limits),
        cmocka_unit_test(test_kernels_are_cycled_by_weight_and_those_without_a_place_are_left_out),
        cmocka_unit_test(test_the_nearest_point_within_reach),
        cmocka_unit_test(test_ticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
