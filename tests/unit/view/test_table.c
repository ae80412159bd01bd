/* SPDX-License-Identifier: MIT */
/* Tables keep their columns aligned in character cells, and fit the room by the rules of their columns. */
#include "view/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct table_column columns[] = {
    {"self", ALIGN_RIGHT, SHRINK_NEVER, 0},
    {"function", ALIGN_LEFT, SHRINK_MIDDLE, 8},
    {"module", ALIGN_LEFT, SHRINK_DROP, 0},
};

static char *draw(const struct text_look *look, const char *const (*rows)[3], size_t count)
{
    struct table *table = NULL;
    struct text out = TEXT_INIT;
    assert_int_equal(table_create(columns, 3, &table), 0);
    for (size_t row = 0; row < count; row++) {
        table_row(table);
        for (size_t column = 0; column < 3; column++)
            table_cell(table, rows[row][column]);
    }
    table_draw(table, look, 0, &out);
    table_destroy(table);
    assert_false(out.failed);
    return text_take(&out);
}

static void test_columns_align_and_lines_end_without_blanks(void **state)
{
    (void)state;
    static const char *const rows[][3] = {{"1.5 s", "main", "app"}, {"20 ms", "f", ""}};
    struct text_look look = {.utf8 = true};
    char *text = draw(&look, rows, 2);
    assert_string_equal(text, " self  function  module\n1.5 s  main      app\n20 ms  f\n");
    free(text);
}

static void test_a_column_of_which_nothing_is_known_is_not_shown(void **state)
{
    (void)state;
    static const char *const rows[][3] = {{"1", "", ""}, {"2", "", ""}};
    struct text_look look = {.utf8 = true};
    char *text = draw(&look, rows, 2);
    assert_string_equal(text, "self  function\n   1\n   2\n"); /* only one that may go */
    free(text);
}

static void test_wide_and_combining_letters_take_their_cells(void **state)
{
    (void)state;
    static const char *const rows[][3] = {{"1", "計算", "a"}, {"2", "e\xcc\x81te", "b"}};
    struct text_look look = {.utf8 = true};
    char *text = draw(&look, rows, 2);
    assert_non_null(strstr(text, "計算      a\n"));         /* 4 cells, padded to the 8 of the title */
    assert_non_null(strstr(text, "e\xcc\x81te       b\n")); /* 3 cells */
    free(text);
}

static void test_narrow_room_cuts_names_before_it_drops_a_column(void **state)
{
    (void)state;
    static const char *const rows[][3] = {{"1", "a_function_with_a_long_name", "library.so"}};
    struct text_look look = {.width = 36, .utf8 = true};
    char *text = draw(&look, rows, 1);
    assert_string_equal(text, "self  function            module\n   1  a_functio…ong_name  library.so\n");
    free(text);
    look.width = 25; /* 26 is what the module needs beside the least of a name; what it leaves goes to the name */
    text = draw(&look, rows, 1);
    assert_string_equal(text, "self  function\n   1  a_functio…long_name\n");
    free(text);
    look.utf8 = false;
    text = draw(&look, rows, 1);
    assert_non_null(strstr(text, "a_functio~long_name"));
    free(text);
}

static void test_names_of_any_length_are_cut_in_no_time(void **state)
{
    (void)state;
    size_t length = 4 << 20;
    char *name = malloc(length + 1);
    assert_non_null(name);
    memset(name, 'n', length);
    name[length] = '\0';
    struct text out = TEXT_INIT;
    text_add_cut(&out, &(struct text_look){.utf8 = true}, name, 7, SHRINK_MIDDLE);
    assert_string_equal(out.data, "nnn…nnn");
    text_finish(&out);
    free(name);
}

static void test_bars_go_before_numbers(void **state)
{
    (void)state;
    static const struct table_column bar[] = {{"self", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"", ALIGN_LEFT, SHRINK_DROP_FIRST, 0}, {"total", ALIGN_RIGHT, SHRINK_DROP, 0}};
    struct table *table = NULL;
    struct text out = TEXT_INIT;
    struct text_look look = {.width = 12};
    assert_int_equal(table_create(bar, 3, &table), 0);
    table_row(table);
    table_cell(table, "1");
    table_cell(table, "####");
    table_cell(table, "2");
    assert_true(table_shows(table, &look, 0, 2));
    assert_false(table_shows(table, &look, 0, 1));
    assert_false(table_shows(table, &look, 2, 2));
    table_draw(table, &look, 0, &out);
    assert_string_equal(out.data, "self  total\n   1      2\n");
    text_finish(&out);
    table_destroy(table);
}

static void test_hostile_names_can_not_reach_the_terminal(void **state)
{
    (void)state;
    static const char *const rows[][3] = {{"1", "evil\033[2Jname\xff", "x\ny"}};
    struct text_look look = {.utf8 = true};
    char *text = draw(&look, rows, 1);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "evil?[2Jname\xef\xbf\xbd"));
    assert_non_null(strstr(text, "x?y"));
    free(text);
}

static void test_colours_only_when_asked_for(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    struct text_look look = {0};
    text_add_styled(&out, &look, STYLE_BAD, "no");
    assert_string_equal(out.data, "no");
    look.colour = true;
    text_add_styled(&out, &look, STYLE_BAD, "yes");
    assert_string_equal(out.data, "no\033[31myes\033[0m");
    text_finish(&out);
}

static void test_wrapping_keeps_newlines_and_indents(void **state)
{
    (void)state;
    struct text out = TEXT_INIT;
    struct text_look look = {.width = 12};
    text_add_wrapped(&out, &look, 0, 2, "one two three four\n\nfive");
    assert_string_equal(out.data, "one two\n  three four\n\n  five\n");
    text_finish(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_align_and_lines_end_without_blanks),
        cmocka_unit_test(test_a_column_of_which_nothing_is_known_is_not_shown),
        cmocka_unit_test(test_wide_and_combining_letters_take_their_cells),
        cmocka_unit_test(test_narrow_room_cuts_names_before_it_drops_a_column),
        cmocka_unit_test(test_names_of_any_length_are_cut_in_no_time),
        cmocka_unit_test(test_bars_go_before_numbers),
        cmocka_unit_test(test_hostile_names_can_not_reach_the_terminal),
        cmocka_unit_test(test_colours_only_when_asked_for),
        cmocka_unit_test(test_wrapping_keeps_newlines_and_indents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
