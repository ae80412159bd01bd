/* SPDX-License-Identifier: MIT */
/* Text builder, UTF-8 and the escapers. */
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LITERAL(text) (text), sizeof(text) - 1

static void test_builder_formats_across_growth(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    for (int index = 0; index < 1000; index++)
        text_addf(&text, "%d,", index);
    assert_false(text.failed);
    assert_int_equal(text.length, 10 * 2 + 90 * 3 + 900 * 4);
    text_clear(&text);
    char wide[300];
    memset(wide, 'w', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    text_addf(&text, "<%s>", wide);
    assert_int_equal(text.length, 301);
    char *taken = text_take(&text);
    assert_int_equal(strlen(taken), 301);
    free(taken);
    taken = text_take(&text);
    assert_string_equal(taken, "");
    free(taken);
}

static void test_builder_remembers_that_it_is_full(void **state)
{
    (void)state;
    struct text text = {.maximum = 10};
    text_add_string(&text, "12345678");
    assert_false(text.failed);
    text_add_string(&text, "abc");
    assert_true(text.failed);
    text_add_char(&text, 'x');
    assert_string_equal(text.data, "12345678");
    assert_null(text_take(&text));
    text_add_string(&text, "again");
    assert_string_equal(text.data, "again");
    text_finish(&text);
}

static void check(void (*escape)(struct text *, const char *, size_t), const char *data, size_t length, const char *expected)
{
    struct text text = TEXT_INIT;
    escape(&text, data, length);
    assert_string_equal(text.data ? text.data : "", expected);
    text_finish(&text);
}

static void test_json_escapes_what_breaks_a_document(void **state)
{
    (void)state;
    check(text_add_json, LITERAL(""), "");
    check(text_add_json, LITERAL("plain words that are longer than eight bytes"), "plain words that are longer than eight bytes");
    check(text_add_json, LITERAL("say \"yes\" \\ no\n\t\r\b\f"), "say \\\"yes\\\" \\\\ no\\n\\t\\r\\b\\f");
    check(text_add_json, LITERAL("\0a\x1f\x7f"), "\\u0000a\\u001f\\u007f");
    check(text_add_json, LITERAL("caf\xc3\xa9 \xf0\x9f\x94\xa5 end of it"), "caf\xc3\xa9 \xf0\x9f\x94\xa5 end of it");
    check(text_add_json, LITERAL("\xc2\x85"), "\\u0085");
    check(text_add_json, LITERAL("bad\xff\xc3"), "bad\xef\xbf\xbd\xef\xbf\xbd");
    check(text_add_json, LITERAL("overlong\xc0\x80"), "overlong\xef\xbf\xbd\xef\xbf\xbd");
    check(text_add_json, LITERAL("1234567\"12345678\\"), "1234567\\\"12345678\\\\");
}

static void test_html_and_csv(void **state)
{
    (void)state;
    check(text_add_csv, LITERAL("plain"), "plain");
    check(text_add_csv, LITERAL("a,b"), "\"a,b\"");
    check(text_add_csv, LITERAL("say \"x\""), "\"say \"\"x\"\"\"");
    check(text_add_csv, LITERAL("two\nlines"), "\"two\nlines\"");
    check(text_add_csv, LITERAL(" lead"), "\" lead\"");
    check(text_add_csv, LITERAL("nul\0"), "nul\xef\xbf\xbd");
}

static void check_word(const char *word, const char *expected)
{
    struct text text = TEXT_INIT;
    text_add_word(&text, word);
    assert_string_equal(text.data, expected);
    text_finish(&text);
}

static void test_words_of_a_shell(void **state)
{
    (void)state;
    check_word("/tmp/hprofiler-Ab12Cd", "/tmp/hprofiler-Ab12Cd");
    check_word("", "''");
    check_word("two words", "'two words'");
    check_word("it's $HOME", "'it'\\''s $HOME'");
    check_word("~", "'~'");
}

static void test_utf8(void **state)
{
    (void)state;
    assert_true(utf8_valid(LITERAL("plain and \xc3\xa9 and \xf4\x8f\xbf\xbf")));
    assert_false(utf8_valid(LITERAL("\xed\xa0\x80")));     /* surrogate */
    assert_false(utf8_valid(LITERAL("\xf4\x90\x80\x80"))); /* beyond U+10FFFF */
    assert_false(utf8_valid(LITERAL("\xe0\x80\x80")));     /* overlong */
    assert_false(utf8_valid(LITERAL("cut \xe2\x82")));
    assert_true(utf8_valid(LITERAL("\xef\xbf\xbd")));      /* a real U+FFFD */
    uint32_t code;
    assert_int_equal(utf8_decode(LITERAL("\xe2\x82\xac"), &code), 3);
    assert_int_equal(code, 0x20ac);
    assert_int_equal(utf8_decode(LITERAL("\x80"), &code), 1);
    assert_int_equal(code, 0xfffd);
}

static void test_errors_say_their_reason_and_are_cut(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_int_equal(error_set_errno(&err, -ENOENT, "cannot open %s", "x"), -ENOENT);
    assert_string_equal(err.text, "cannot open x: No such file or directory");
    assert_int_equal(error_set(NULL, -EINVAL, "nobody reads this"), -EINVAL);
    char wide[1000];
    memset(wide, 'w', sizeof(wide) - 1);
    wide[sizeof(wide) - 1] = '\0';
    error_set(&err, -EINVAL, "%s", wide);
    assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
    assert_string_equal(err.text + sizeof(err.text) - 4, "...");
}

static void test_what_goes_to_a_screen_cannot_steer_it(void **state)
{
    (void)state;
    struct text text = TEXT_INIT;
    text_add_line(&text, LITERAL("\x1b[2J\xc2\x9b" "31m\x9b\xe2\x82\xac\n"));
    assert_string_equal(text.data, "?[2J?31m\xef\xbf\xbd\xe2\x82\xac?");
    text_clear(&text);
    text_add_line(&text, LITERAL("a\xe2\x80\xae" "bc\xe2\x81\xa9\xd7\xa9")); /* right to left forced; letters that are written so may stay */
    assert_string_equal(text.data, "a?bc?\xd7\xa9");
    text_finish(&text);
    struct error err = ERROR_INIT;
    error_set(&err, -EINVAL, "%s", "\x1b]0;t\x07\xc2\x9b\x9b\xc3\xa4\na");
    assert_string_equal(err.text, "?]0;t????\xc3\xa4 a");
}

static void keep_line(void *context, enum log_level level, const char *line)
{
    snprintf(context, 64, "%d %s", (int)level, line);
}

static void test_log_writes_one_line_or_nothing(void **state)
{
    (void)state;
    char line[64] = "";
    struct log log = {keep_line, line};
    log_warning(&log, "path %s", "a\nb\x1b");
    assert_string_equal(line, "2 path a b?");
    log_info(NULL, "nobody listens");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_builder_formats_across_growth),
        cmocka_unit_test(test_builder_remembers_that_it_is_full),
        cmocka_unit_test(test_json_escapes_what_breaks_a_document),
        cmocka_unit_test(test_html_and_csv),
        cmocka_unit_test(test_words_of_a_shell),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_errors_say_their_reason_and_are_cut),
        cmocka_unit_test(test_what_goes_to_a_screen_cannot_steer_it),
        cmocka_unit_test(test_log_writes_one_line_or_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
