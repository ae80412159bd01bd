/* SPDX-License-Identifier: MIT */
/* What a program writes to its terminal, as cells; with libvterm, and the plain text that is shown without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "tui/program_screen.h"
#include "tui/program_text.h"
#include "tui/terminal.h"

#include <stdio.h>
#include <string.h>

static void add_cells(struct text *out, const struct cell *cells, int columns)
{
    for (int x = 0; x < columns; x++)
        if (cells[x].glyph)
            text_add_char(out, cells[x].glyph < 0x80 ? (char)cells[x].glyph : '#');
    while (out->length && out->data[out->length - 1] == ' ')
        out->data[--out->length] = '\0';
}

static void assert_text_row(const struct program_text *text, int row, const char *expected)
{
    int columns;
    struct text shown = TEXT_INIT;
    const struct cell *cells = program_text_row(text, row, &columns);
    add_cells(&shown, cells, columns);
    assert_string_equal(shown.data ? shown.data : "", expected);
    text_finish(&shown);
}

static void assert_row(struct program_screen *screen, int row, const char *expected)
{
    int columns;
    struct text shown = TEXT_INIT;
    const struct cell *cells = program_screen_row(screen, row, &columns);
    add_cells(&shown, cells, columns);
    assert_string_equal(shown.data ? shown.data : "", expected);
    text_finish(&shown);
}

static void write_text(struct program_text *text, const char *bytes)
{
    for (; *bytes; bytes++) /* one by one: nothing may hang on how they come */
        program_text_write(text, bytes, 1);
}

/* --- plain text ------------------------------------------------------------------------------------------------------ */

static void test_text_lines_wrap_and_scroll(void **state)
{
    struct program_text text;
    (void)state;
    assert_int_equal(program_text_init(&text, 3, 10), 0);
    write_text(&text, "one\r\ntwo\r\n0123456789abc\r\nlast");
    assert_text_row(&text, 0, "0123456789");
    assert_text_row(&text, 1, "abc");
    assert_text_row(&text, 2, "last");
    assert_text_row(&text, -1, "two");
    assert_text_row(&text, -2, "one");
    program_text_finish(&text);
}

static void test_text_drops_control_sequences(void **state)
{
    struct program_text text;
    (void)state;
    assert_int_equal(program_text_init(&text, 4, 40), 0);
    write_text(&text, "\033[1;31mred\033[0m \033]0;a title\007\033]8;;http://x\033\\link\033(B \033=key\033P+q\033\\\033[?25l.\r\n");
    write_text(&text, "50%\r100%\a\r\nab\b\bxy\r\n\xe6\x97\xa5\xe6\x9c\xac \xff\xc3\xa9 \xc2\x9b.");
    assert_text_row(&text, 0, "red link key.");
    assert_text_row(&text, 1, "100%");
    assert_text_row(&text, 2, "xy");
    assert_text_row(&text, 3, "## ## ."); /* wide ones are one sign in two cells; a control character in UTF-8 is none */
    program_text_finish(&text);
}

static void test_text_resized_keeps_what_is_last(void **state)
{
    struct program_text text;
    (void)state;
    assert_int_equal(program_text_init(&text, 4, 10), 0);
    write_text(&text, "one\r\ntwo\r\nthree\r\nfour");
    assert_int_equal(program_text_resize(&text, 2, 6), 0);
    assert_text_row(&text, 0, "three");
    assert_text_row(&text, 1, "four");
    assert_text_row(&text, -1, "two");
    assert_int_equal(program_text_resize(&text, 5, 20), 0);
    write_text(&text, "!");
    assert_text_row(&text, 0, "one");
    assert_text_row(&text, 3, "four!");
    assert_text_row(&text, 4, "");
    program_text_finish(&text);
}

static void test_text_keeps_a_bounded_number_of_lines(void **state)
{
    static struct program_text text;
    char line[32];
    (void)state;
    assert_int_equal(program_text_init(&text, 2, 10), 0);
    for (int i = 0; i < 3 * PROGRAM_LINES_MAX; i++) {
        snprintf(line, sizeof line, "%d\r\n", i);
        program_text_write(&text, line, strlen(line));
    }
    assert_int_equal(text.above.count, PROGRAM_LINES_MAX);
    assert_text_row(&text, -1, "14998");
    assert_text_row(&text, -PROGRAM_LINES_MAX, "9999");
    int columns;
    assert_null(program_text_row(&text, -PROGRAM_LINES_MAX - 1, &columns));
    program_text_finish(&text);
}

/* --- what the UI uses ------------------------------------------------------------------------------------------------ */

static struct program_screen *make_screen(int rows, int columns)
{
    struct program_screen *screen;
    struct error err = ERROR_INIT;
    assert_int_equal(program_screen_create(rows, columns, &screen, &err), 0);
    return screen;
}

static void feed(struct program_screen *screen, const char *bytes, const char *expected_answers)
{
    struct text answers = TEXT_INIT;
    program_screen_write(screen, bytes, strlen(bytes), &answers);
    assert_string_equal(answers.data ? answers.data : "", expected_answers);
    text_finish(&answers);
}

static void assert_key(struct program_screen *screen, uint32_t key, const char *expected)
{
    struct text bytes = TEXT_INIT;
    program_screen_key(screen, key, &bytes);
    assert_string_equal(bytes.data ? bytes.data : "", expected);
    text_finish(&bytes);
}

static void test_screen_shows_lines_and_takes_them_back(void **state)
{
    CLEANUP(program_screen_destroyp) struct program_screen *screen = make_screen(4, 20);
    int y, x;
    (void)state;
    feed(screen, "one\r\ntwo\r\nthree\r\nfour\r\nfive", "");
    assert_row(screen, 0, "two");
    assert_row(screen, -1, "one");
    assert_int_equal(program_screen_history(screen), 1);
    assert_true(program_screen_cursor(screen, &y, &x));
    assert_int_equal(y, 3);
    assert_int_equal(x, 4);
    program_screen_resize(screen, 6, 20);
    assert_row(screen, 0, "one");
    assert_row(screen, 4, "five");
    assert_int_equal(program_screen_history(screen), 0);
}

static void test_screen_keys_are_bytes(void **state)
{
    CLEANUP(program_screen_destroyp) struct program_screen *screen = make_screen(4, 20);
    (void)state;
    assert_key(screen, 'a', "a");
    assert_key(screen, 0xe9, "\xc3\xa9");
    assert_key(screen, 0x1f525, "\xf0\x9f\x94\xa5");
    assert_key(screen, '\n', "\r");
    assert_key(screen, 3, "\003");
    assert_key(screen, KEY_CODE_BACKSPACE, "\177");
    assert_key(screen, KEY_CODE_UP, "\033[A");
    assert_key(screen, KEY_CODE_DELETE, "\033[3~");
    assert_key(screen, KEY_CODE_OTHER, "");
}

#ifdef HP_HAVE_VTERM
static void test_screen_follows_the_program(void **state)
{
    CLEANUP(program_screen_destroyp) struct program_screen *screen = make_screen(5, 20);
    int columns, y, x;
    (void)state;
    feed(screen, "\033[2;3H\033[1;31mred\033[0m \033[38;2;250;80;80mrgb\033[0m\033[7mreverse", "");
    assert_row(screen, 1, "  red rgbreverse");
    const struct cell *cells = program_screen_row(screen, 1, &columns);
    assert_int_equal(cells[2].look.text, COLOUR_TERMINAL + 1);
    assert_int_equal(cells[2].look.attributes, CELL_BOLD);
    assert_int_equal(cells[6].look.text, COLOUR_TERMINAL + 9);
    assert_int_equal(cells[9].look.attributes, CELL_REVERSE);
    feed(screen, "\033[6n", "\033[2;17R");
    assert_key(screen, KEY_CODE_UP, "\033[A");
    feed(screen, "\033[?1h\033[?25l", ""); /* keys as applications like them, no cursor */
    assert_key(screen, KEY_CODE_UP, "\033OA");
    assert_false(program_screen_cursor(screen, &y, &x));
    feed(screen, "\033[?1049h\033[2J\033[Hother", "");
    assert_row(screen, 0, "other");
    feed(screen, "\033[?1049l", "");
    assert_row(screen, 1, "  red rgbreverse");
    feed(screen, "\033[5;1H\xf6\x99\xb4\xad.", ""); /* beyond Unicode */
    assert_int_equal(program_screen_row(screen, 4, &columns)[0].glyph, 0xfffd);
    feed(screen, "\033[5;20H\033[?1049h", ""); /* an editor begins at the end of the screen, which gets smaller */
    program_screen_resize(screen, 3, 10);
    feed(screen, "\033[?1049l\033[J\033[Kback", "");
    program_screen_cursor(screen, &y, &x);
    assert_in_range(y, 0, 2);
    assert_in_range(x, 0, 9);
    program_screen_resize(screen, 9, 20);
    feed(screen, "\033[2J\033[9;1Hlast line\033[1;5H", ""); /* the cursor above text that stays */
    program_screen_resize(screen, 3, 20);
    feed(screen, "x\033[J", "");
    program_screen_cursor(screen, &y, &x);
    assert_in_range(y, 0, 2);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_lines_wrap_and_scroll),
        cmocka_unit_test(test_text_drops_control_sequences),
        cmocka_unit_test(test_text_resized_keeps_what_is_last),
        cmocka_unit_test(test_text_keeps_a_bounded_number_of_lines),
        cmocka_unit_test(test_screen_shows_lines_and_takes_them_back),
        cmocka_unit_test(test_screen_keys_are_bytes),
#ifdef HP_HAVE_VTERM
        cmocka_unit_test(test_screen_follows_the_program),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
