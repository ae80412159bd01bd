/* SPDX-License-Identifier: MIT */
/* Sizes, durations, numbers and globs as people type them. */
#include "base/text.h"
#include "unit.h"

#include <errno.h>
#include <locale.h>

struct number_case {
    const char *text;
    int result;
    uint64_t value;
};

static void check(int (*parse)(const char *, uint64_t *), const struct number_case *cases)
{
    for (; cases->text; cases++) {
        uint64_t value = 12345;
        print_message("'%s'\n", cases->text);
        assert_int_equal(parse(cases->text, &value), cases->result);
        assert_int_equal(value, cases->result ? 12345 : cases->value);
    }
}

static void test_sizes(void **state)
{
    (void)state;
    static const struct number_case cases[] = {
        {"4096", 0, 4096}, {"64K", 0, 65536}, {"64KiB", 0, 65536}, {"64kb", 0, 65536}, {"1.5G", 0, 1610612736},
        {"0", 0, 0}, {"0.5M", 0, 524288}, {"16T", 0, (uint64_t)16 << 40}, {"18446744073709551615", 0, UINT64_MAX},
        {"18446744073709551616", -ERANGE, 0}, {"99999999T", -ERANGE, 0}, {"", -EINVAL, 0}, {"K", -EINVAL, 0},
        {"-1", -EINVAL, 0}, {"1 K", -EINVAL, 0}, {"1KK", -EINVAL, 0}, {".", -EINVAL, 0}, {" 1", -EINVAL, 0}, {0},
    };
    check(parse_size, cases);
}

static void test_durations(void **state)
{
    (void)state;
    static const struct number_case cases[] = {
        {"10", 0, 10000000000u}, {"1.5", 0, 1500000000u}, {"250ms", 0, 250000000u}, {"2m", 0, 120000000000u},
        {"1h", 0, 3600000000000u}, {"7us", 0, 7000}, {"3ns", 0, 3}, {".5s", 0, 500000000u},
        {"0.1234567890123456789999", 0, 123456789}, {"600000000000", -ERANGE, 0}, {"1M", -EINVAL, 0}, {"s", -EINVAL, 0},
        {"1e3", -EINVAL, 0}, {0},
    };
    check(parse_duration, cases);
}

static void test_whole_numbers(void **state)
{
    (void)state;
    static const struct number_case cases[] = {
        {"0", 0, 0}, {"999", 0, 999}, {"0xfF", 0, 255}, {"0xffffffffffffffff", 0, UINT64_MAX}, {"0x", -EINVAL, 0},
        {"0x10000000000000000", -ERANGE, 0}, {"18446744073709551616", -ERANGE, 0}, {"12a", -EINVAL, 0}, {"+1", -EINVAL, 0},
        {"-1", -EINVAL, 0}, {"", -EINVAL, 0}, {0},
    };
    check(parse_u64, cases);
}

static void test_doubles_ignore_the_locale(void **state)
{
    (void)state;
    double value = 0;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* a decimal comma, where that locale is installed */
    assert_int_equal(parse_double("1.5", &value), 0);
    assert_true(value == 1.5);
    assert_int_equal(parse_double("-2.5e3", &value), 0);
    assert_true(value == -2500);
    assert_int_equal(parse_double("1,5", &value), -EINVAL);
    assert_int_equal(parse_double("nan", &value), -EINVAL);
    assert_int_equal(parse_double("0x10", &value), -EINVAL);
    assert_int_equal(parse_double("1e999", &value), -ERANGE);
    assert_int_equal(parse_double(" 1", &value), -EINVAL);
    assert_int_equal(parse_double("1.5.5", &value), -EINVAL);
    assert_int_equal(parse_double("e", &value), -EINVAL);
    setlocale(LC_ALL, "C");
}

static void test_globs_match_whole_strings(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "a/b", true}, {"saxpy*", "saxpy<float>", true},
        {"saxpy", "saxpy2", false}, {"*py", "saxpy", true}, {"a*b*c", "a__b__b__c", true}, {"a*b*c", "a__c__b", false},
        {"?", "\xc3\xa9", true}, {"??", "\xc3\xa9", false}, {"?", "", false}, {"a\\*c", "a*c", true}, {"a\\*c", "abc", false},
        {"\\?", "?", true}, {"\\\\", "\\", true}, {"*.so", "/lib/x.so", true}, {"**a", "bba", true}, {"a?c*", "abcd", true},
        {"\\", "\\", true}, {"*aab", "aaaab", true}, {"*\xc3\xa9", "caf\xc3\xa9", true},
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        print_message("'%s' '%s'\n", cases[index].pattern, cases[index].text);
        assert_int_equal(glob_match(cases[index].pattern, cases[index].text), cases[index].matches);
    }
}

/* Backtracking must stay polynomial: a nest of stars is no way to hang the program. */
static void test_globs_with_many_stars_end_soon(void **state)
{
    (void)state;
    char text[2001];
    for (int index = 0; index < 2000; index++)
        text[index] = 'a';
    text[2000] = '\0';
    assert_false(glob_match("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_whole_numbers),
        cmocka_unit_test(test_doubles_ignore_the_locale),
        cmocka_unit_test(test_globs_match_whole_strings),
        cmocka_unit_test(test_globs_with_many_stars_end_soon),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
