/* SPDX-License-Identifier: MIT */
/* A program's screen where libvterm is missing: its text. */
#include "program_screen.h"

#ifndef HP_HAVE_VTERM

#include "program_text.h"
#include "terminal.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

struct program_screen {
    struct program_text text;
};

int program_screen_create(int rows, int columns, struct program_screen **ret_screen, struct error *err)
{
    struct program_screen *screen = calloc(1, sizeof *screen);
    if (!screen || program_text_init(&screen->text, rows, columns) < 0) {
        free(screen);
        return error_set(err, -ENOMEM, "out of memory for the program's screen");
    }
    *ret_screen = screen;
    return 0;
}

void program_screen_destroy(struct program_screen *screen)
{
    if (!screen)
        return;
    program_text_finish(&screen->text);
    free(screen);
}

void program_screen_resize(struct program_screen *screen, int rows, int columns)
{
    program_text_resize(&screen->text, rows, columns); /* without memory it stays as it is */
}

void program_screen_write(struct program_screen *screen, const char *bytes, size_t size, struct text *answers)
{
    (void)answers; /* questions are dropped with all other sequences */
    program_text_write(&screen->text, bytes, size);
}

static void add_character(struct text *out, uint32_t code)
{
    if (code < 0x80) {
        text_add_char(out, (char)code);
        return;
    }
    static const uint8_t firsts[] = {0, 0xc0, 0xe0, 0xf0};
    unsigned further = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    text_add_char(out, (char)(firsts[further] | code >> (6 * further)));
    while (further-- > 0)
        text_add_char(out, (char)(0x80 | (code >> (6 * further) & 0x3f)));
}

void program_screen_key(struct program_screen *screen, uint32_t key, struct text *out)
{
    static const struct {
        enum key_code code;
        const char *bytes;
    } keys[] = {
        {KEY_CODE_UP, "\033[A"},       {KEY_CODE_DOWN, "\033[B"},      {KEY_CODE_RIGHT, "\033[C"},   {KEY_CODE_LEFT, "\033[D"},
        {KEY_CODE_HOME, "\033[H"},     {KEY_CODE_END, "\033[F"},       {KEY_CODE_PAGE_UP, "\033[5~"}, {KEY_CODE_PAGE_DOWN, "\033[6~"},
        {KEY_CODE_DELETE, "\033[3~"},  {KEY_CODE_INSERT, "\033[2~"},   {KEY_CODE_BACKSPACE, "\177"}, {KEY_CODE_BACK_TAB, "\033[Z"},
    };
    (void)screen;
    if (key < KEY_CODE_FIRST)
        add_character(out, key == '\n' ? '\r' : key);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((uint32_t)keys[i].code == key)
            text_add_string(out, keys[i].bytes);
}

const struct cell *program_screen_row(struct program_screen *screen, int row, int *ret_columns)
{
    return program_text_row(&screen->text, row, ret_columns);
}

size_t program_screen_history(const struct program_screen *screen)
{
    return screen->text.above.count;
}

bool program_screen_cursor(const struct program_screen *screen, int *ret_y, int *ret_x)
{
    *ret_y = screen->text.y;
    *ret_x = screen->text.x < screen->text.columns ? screen->text.x : screen->text.columns - 1;
    return true;
}

#endif
