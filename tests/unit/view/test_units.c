/* SPDX-License-Identifier: MIT */
/* The same number looks the same everywhere, and never says "1000.0 us". */
#include "view/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_duration_changes_unit_before_it_would_round_up(void **state)
{
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1 ns"},
                 {999, "999 ns"},
                 {1000, "1.0 us"},
                 {999949, "999.9 us"},
                 {999950, "1.00 ms"},
                 {999994999, "999.99 ms"},
                 {999995000, "1.000 s"},
                 {12345678901, "12.346 s"},
                 {99999500000, "1 m 39 s"},
                 {125000000000, "2 m 05 s"},
                 {3725000000000, "1 h 02 m"},
                 {-1500, "-1.5 us"},
                 {INT64_MIN, "-2562047 h 47 m"}};
    char text[32];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(format_duration(text, sizeof text, cases[i].ns), cases[i].text);
}

static void test_quantities_have_their_units(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *unit, *text;
    } cases[] = {{83460000, "By", "79.6 MiB"}, {512, "By", "512 B"},   {0, "By", "0 B"},           {1572864, "By/s", "1.5 MiB/s"}, {12.5, "W", "12.5 W"},
                 {123456, "", "123,456"},      {9999, "1", "9999"},    {1234567.8, "Hz", "1,234,568 Hz"}, {-20000, "", "-20,000"},   {0.125, "%", "0.125 %"},
                 {-5, "By", "-5 By"},          {1e300, "W", "1e+300 W"}};
    char text[64];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(format_quantity(text, sizeof text, cases[i].value, cases[i].unit), cases[i].text);
}

static void test_counts_bytes_and_rates(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(format_count(text, sizeof text, 0), "0");
    assert_string_equal(format_count(text, sizeof text, 999), "999");
    assert_string_equal(format_count(text, sizeof text, 1234567), "1,234,567");
    assert_string_equal(format_count(text, sizeof text, UINT64_MAX), "18,446,744,073,709,551,615");
    assert_string_equal(format_bytes(text, sizeof text, 512), "512 B");
    assert_string_equal(format_bytes(text, sizeof text, 1536), "1.5 KiB");
    assert_string_equal(format_bytes(text, sizeof text, 1048575), "1.0 MiB");
    assert_string_equal(format_percent(text, sizeof text, 1, 3), "33.3");
    assert_string_equal(format_percent(text, sizeof text, 1, 0), "");
}

static void test_a_column_has_the_unit_of_its_largest(void **state)
{
    (void)state;
    char text[32];
    assert_string_equal(time_unit_for(12000000000)->name, "s");
    assert_string_equal(time_unit_for(9999999999)->name, "ms");
    assert_string_equal(time_unit_for(1000000)->name, "ms");
    assert_string_equal(time_unit_for(999999)->name, "us");
    assert_string_equal(time_unit_for(999)->name, "ns");
    assert_string_equal(format_in_unit(text, sizeof text, 1234567, time_unit_for(20000000)), "1.23");
    assert_string_equal(format_in_unit(text, sizeof text, 0, time_unit_for(20000000)), "0");
    assert_string_equal(format_in_unit(text, sizeof text, 7, time_unit_for(7)), "7");
}

static void test_bar_fills_in_eighths_and_stays_in_its_room(void **state)
{
    (void)state;
    char text[64];
    assert_string_equal(format_bar(text, sizeof text, 1, 2, 4, 1), "██");
    assert_string_equal(format_bar(text, sizeof text, 5, 16, 2, 1), "▋");
    assert_string_equal(format_bar(text, sizeof text, 9, 3, 2, 1), "██");
    assert_string_equal(format_bar(text, sizeof text, 1, 2, 4, 0), "##");
    assert_string_equal(format_bar(text, 4, 1, 1, 4, 1), "█");
    assert_string_equal(format_bar(text, sizeof text, 1, 0, 4, 1), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_duration_changes_unit_before_it_would_round_up),
        cmocka_unit_test(test_counts_bytes_and_rates),
        cmocka_unit_test(test_quantities_have_their_units),
        cmocka_unit_test(test_a_column_has_the_unit_of_its_largest),
        cmocka_unit_test(test_bar_fills_in_eighths_and_stays_in_its_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
