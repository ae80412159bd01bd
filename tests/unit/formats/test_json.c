/* SPDX-License-Identifier: MIT */
/* The JSON scanner, number formatting and lane packing: small parts with exact answers. */
#include "formats/json_out.h"
#include "formats/json_scan.h"
#include "formats/lanes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_strict_objects_are_told_from_tolerated_ones(void **state)
{
    static const char *const strict[] = {"{}", "{\"a\":1}", "{\"a\":\"b\",\"c\":0}", " {\"a\" : [1, -2.5e+3, {\"b\":null}] , \"\\u00e9\":true}\n",
                                         "{\"\xc3\xa9\":10.05}", "{\"a\":100,\"b\":1e05}"};
    static const char *const not_strict[] = {"", "[]", "{\"a\":01}", "{\"a\":NaN}", "{\"a\":1,}", "{\"a\":[1,]}", "{\"a\":\"\xff\"}", "{\"a\":1}x", "{\"a\":\"\t\"}",
                                             "{\"a\"}", "{\"a\":\"b}", "{\"a\":1", "{a:1}", "{\"a\":-}", "{\"a\":\"\\x\"}", "{\"a\":-01}", "{\"a\":1.}", "{\"a\":00}"};
    for (size_t i = 0; i < sizeof(strict) / sizeof(strict[0]); i++)
        if (!json_is_strict_object(strict[i], strlen(strict[i])))
            fail_msg("%s", strict[i]);
    for (size_t i = 0; i < sizeof(not_strict) / sizeof(not_strict[0]); i++)
        if (json_is_strict_object(not_strict[i], strlen(not_strict[i])))
            fail_msg("%s", not_strict[i]);
}

static void test_numbers_are_written_and_read_exactly(void **state)
{
    static const uint64_t values[] = {0, 9, 10, 99, 100, 999, 1000, 9999, 10000, 99999999, 100000000, 12345678901234567, UINT64_MAX};
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char ours[40], theirs[40];
        *format_u64(ours, values[i]) = 0;
        snprintf(theirs, sizeof(theirs), "%llu", (unsigned long long)values[i]);
        assert_string_equal(ours, theirs);
        *format_i64(ours, (int64_t)values[i]) = 0;
        snprintf(theirs, sizeof(theirs), "%lld", (long long)values[i]);
        assert_string_equal(ours, theirs);
        *format_microseconds(ours, values[i]) = 0;
        struct json_view view = {.data = ours, .length = (uint32_t)strlen(ours)};
        uint64_t ns;
        bool negative;
        assert_true(json_view_ns(&view, &ns, &negative) && !negative && (ns == values[i] || values[i] == UINT64_MAX)); /* times end at 2^61 */
    }
    static const double doubles[] = {0, -0.0, 0.1, 1e300, -2.5, 1e-310, 3, 9007199254740993.0, 123456.789};
    for (size_t i = 0; i < sizeof(doubles) / sizeof(doubles[0]); i++) {
        char text[40];
        double value;
        *format_double(text, doubles[i]) = 0;
        struct json_view view = {.data = text, .length = (uint32_t)strlen(text)};
        assert_true(json_view_double(&view, &value) && memcmp(&value, &doubles[i], 8) == 0);
    }
    char text[40];
    *format_double(text, NAN) = 0;
    assert_string_equal(text, "\"NaN\"");
}

static void test_skipping_sees_structure_only(void **state)
{
    static const char text[] = "{\"a\":[1,{\"b\":\"]}\\\"\"},[]],\"c\":{}} tail";
    struct json json;
    struct json_view view;
    json_init(&json, text, strlen(text));
    assert_true(json_skip(&json, &view));
    assert_string_equal(json.at, " tail");
    assert_int_equal(view.length, strlen(text) - 5);
    for (size_t cut = 1; cut < view.length; cut++) {
        json_init(&json, text, cut);
        assert_false(json_skip(&json, NULL));
        assert_int_equal(json.state, JSON_CUT);
    }
}

static void test_lanes_nest_and_follow(void **state)
{
    struct lanes lanes;
    lanes_init(&lanes);
    assert_int_equal(lanes_place(&lanes, 0, 100), 0);
    assert_int_equal(lanes_place(&lanes, 10, 50), 0);  /* inside */
    assert_int_equal(lanes_place(&lanes, 20, 60), 1);  /* overlaps the inner one */
    assert_int_equal(lanes_place(&lanes, 50, 100), 0); /* follows it, ends with the outer one */
    assert_int_equal(lanes_place(&lanes, 60, 120), 1);
    assert_int_equal(lanes_place(&lanes, 100, 100), 0);
    assert_int_equal(lanes.count, 2);
    lanes_reset(&lanes);
    for (int64_t i = 0; i < 200; i++) /* a staircase: all open at once */
        assert_int_equal(lanes_place(&lanes, i, 1000 + i), i);
    assert_int_equal(lanes.count, 200);
    assert_true(lanes_place(&lanes, 1150, 1160) < 200); /* some lane is free again */
    assert_int_equal(lanes.count, 200);
    lanes_finish(&lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_strict_objects_are_told_from_tolerated_ones),
        cmocka_unit_test(test_numbers_are_written_and_read_exactly),
        cmocka_unit_test(test_skipping_sees_structure_only),
        cmocka_unit_test(test_lanes_nest_and_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
