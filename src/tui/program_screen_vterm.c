/* SPDX-License-Identifier: MIT */
/* A program's screen by libvterm. */
#include "program_screen.h"

#ifdef HP_HAVE_VTERM

#include "program_lines.h"
#include "terminal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <vterm.h>

struct program_screen {
    VTerm *terminal;
    VTermScreen *cells;
    struct program_lines above;
    struct cell *row; /* that was asked for last */
    int rows, columns, row_capacity;
    VTermPos cursor;
    bool cursor_hidden;
};

/* --- cells ----------------------------------------------------------------------------------------------------------- */

static enum colour colour_of(const VTermScreen *screen, VTermColor colour)
{
    if (VTERM_COLOR_IS_DEFAULT_FG(&colour) || VTERM_COLOR_IS_DEFAULT_BG(&colour))
        return COLOUR_DEFAULT;
    if (VTERM_COLOR_IS_INDEXED(&colour) && colour.indexed.idx < 16)
        return (enum colour)(COLOUR_TERMINAL + colour.indexed.idx);
    vterm_screen_convert_color_to_rgb(screen, &colour);
    return palette_nearest_terminal((struct rgb){colour.rgb.red, colour.rgb.green, colour.rgb.blue});
}

/* libvterm takes what UTF-8 is not allowed to say, too. */
static uint32_t glyph_of(uint32_t code)
{
    bool control = code < 0x20 || (code >= 0x7f && code < 0xa0), character = code < 0xd800 || (code >= 0xe000 && code <= 0x10ffff);
    return !code ? ' ' : control || !character ? 0xfffd : code;
}

static struct cell cell_of(const VTermScreen *screen, const VTermScreenCell *from)
{
    struct cell cell = {.glyph = glyph_of(from->chars[0])};
    cell.look.text = (uint8_t)colour_of(screen, from->fg);
    cell.look.fill = (uint8_t)colour_of(screen, from->bg);
    cell.look.attributes = (uint8_t)((from->attrs.bold ? CELL_BOLD : 0) | (from->attrs.underline ? CELL_UNDERLINE : 0) | (from->attrs.reverse ? CELL_REVERSE : 0));
    if (from->chars[0] == (uint32_t)-1) /* the right half of a wide one */
        cell.glyph = 0;
    return cell;
}

static struct cell *row_of(struct program_screen *screen, int columns)
{
    if (columns > screen->row_capacity) {
        struct cell *row = array_resize_exact(screen->row, (size_t)columns, sizeof *row);
        if (!row)
            return NULL;
        screen->row = row;
        screen->row_capacity = columns;
    }
    return screen->row;
}

/* --- what libvterm tells --------------------------------------------------------------------------------------------- */

static int push_line(int columns, const VTermScreenCell *cells, void *user)
{
    struct program_screen *screen = user;
    struct cell *row = row_of(screen, columns);
    for (int x = 0; row && x < columns; x++)
        row[x] = cell_of(screen->cells, &cells[x]);
    if (row)
        program_lines_add(&screen->above, row, columns);
    return 1;
}

static VTermColor colour_back(enum colour colour, const VTermColor *standard)
{
    VTermColor back = *standard;
    if (colour >= COLOUR_TERMINAL)
        vterm_color_indexed(&back, (uint8_t)(colour - COLOUR_TERMINAL));
    return back;
}

/* The screen grows: what left it last comes back. */
static int pop_line(int columns, VTermScreenCell *cells, void *user)
{
    struct program_screen *screen = user;
    struct cell *row = row_of(screen, columns);
    VTermColor text, fill;
    if (!row || !program_lines_take(&screen->above, row, columns))
        return 0;
    vterm_state_get_default_colors(vterm_obtain_state(screen->terminal), &text, &fill);
    for (int x = 0; x < columns; x++) {
        const struct look *look = &row[x].look;
        cells[x] = (VTermScreenCell){.chars = {row[x].glyph ? row[x].glyph : (uint32_t)-1}, .width = x + 1 < columns && !row[x + 1].glyph ? 2 : 1};
        cells[x].attrs.bold = (look->attributes & CELL_BOLD) != 0;
        cells[x].attrs.underline = (look->attributes & CELL_UNDERLINE) != 0;
        cells[x].attrs.reverse = (look->attributes & CELL_REVERSE) != 0;
        cells[x].fg = colour_back((enum colour)look->text, &text);
        cells[x].bg = colour_back((enum colour)look->fill, &fill);
    }
    return 1;
}

static int move_cursor(VTermPos position, VTermPos before, int visible, void *user)
{
    struct program_screen *screen = user;
    (void)before;
    (void)visible; /* says whether it blinks away */
    screen->cursor = position;
    return 1;
}

static int set_property(VTermProp property, VTermValue *value, void *user)
{
    struct program_screen *screen = user;
    if (property == VTERM_PROP_CURSORVISIBLE)
        screen->cursor_hidden = !value->boolean;
    return 1;
}

static const VTermScreenCallbacks callbacks = {.movecursor = move_cursor, .settermprop = set_property, .sb_pushline = push_line,
                                               .sb_popline = pop_line};

/* --- making ---------------------------------------------------------------------------------------------------------- */

int program_screen_create(int rows, int columns, struct program_screen **ret_screen, struct error *err)
{
    struct program_screen *screen = calloc(1, sizeof *screen);
    if (screen)
        screen->terminal = vterm_new(rows, columns);
    if (!screen || !screen->terminal) {
        free(screen);
        return error_set(err, -ENOMEM, "out of memory for the program's screen");
    }
    screen->rows = rows;
    screen->columns = columns;
    vterm_set_utf8(screen->terminal, 1);
    screen->cells = vterm_obtain_screen(screen->terminal);
    vterm_screen_set_callbacks(screen->cells, &callbacks, screen);
    vterm_screen_enable_altscreen(screen->cells, 1);
    vterm_screen_set_damage_merge(screen->cells, VTERM_DAMAGE_SCROLL); /* nobody asks what was damaged: least said, least done */
    vterm_screen_reset(screen->cells, 1);
    *ret_screen = screen;
    return 0;
}

void program_screen_destroy(struct program_screen *screen)
{
    if (!screen)
        return;
    vterm_free(screen->terminal);
    program_lines_finish(&screen->above);
    free(screen->row);
    free(screen);
}

static int within(int value, int end)
{
    return value < 0 ? 0 : value >= end ? end - 1 : value;
}

void program_screen_resize(struct program_screen *screen, int rows, int columns)
{
    bool smaller = rows < screen->rows || columns < screen->columns;
    char place[48];
    screen->rows = rows;
    screen->columns = columns;
    vterm_set_size(screen->terminal, rows, columns);
    if (!smaller)
        return;
    /* libvterm (0.1.4) leaves the cursor above the screen where text below it pushed it out, and the one that the program saved where it
     * was, and then writes through NULL: both are put inside. */
    int length = snprintf(place, sizeof place, "\033[%d;%dH\0337", within(screen->cursor.row, rows) + 1, within(screen->cursor.col, columns) + 1);
    vterm_input_write(screen->terminal, place, (size_t)length);
}

/* --- in and out ------------------------------------------------------------------------------------------------------ */

static void take_output(struct program_screen *screen, struct text *out)
{
    char bytes[256];
    for (size_t taken; (taken = vterm_output_read(screen->terminal, bytes, sizeof bytes)) > 0;)
        text_add(out, bytes, taken);
}

void program_screen_write(struct program_screen *screen, const char *bytes, size_t size, struct text *answers)
{
    /* In pieces: its buffer for answers is small. */
    for (size_t at = 0; at < size; at += 512) {
        vterm_input_write(screen->terminal, bytes + at, size - at < 512 ? size - at : 512);
        take_output(screen, answers);
    }
    vterm_screen_flush_damage(screen->cells);
}

void program_screen_key(struct program_screen *screen, uint32_t key, struct text *out)
{
    static const struct {
        enum key_code code;
        VTermKey key;
        VTermModifier modifier;
    } keys[] = {
        {KEY_CODE_LEFT, VTERM_KEY_LEFT, VTERM_MOD_NONE},          {KEY_CODE_RIGHT, VTERM_KEY_RIGHT, VTERM_MOD_NONE},
        {KEY_CODE_UP, VTERM_KEY_UP, VTERM_MOD_NONE},              {KEY_CODE_DOWN, VTERM_KEY_DOWN, VTERM_MOD_NONE},
        {KEY_CODE_PAGE_UP, VTERM_KEY_PAGEUP, VTERM_MOD_NONE},     {KEY_CODE_PAGE_DOWN, VTERM_KEY_PAGEDOWN, VTERM_MOD_NONE},
        {KEY_CODE_HOME, VTERM_KEY_HOME, VTERM_MOD_NONE},          {KEY_CODE_END, VTERM_KEY_END, VTERM_MOD_NONE},
        {KEY_CODE_BACKSPACE, VTERM_KEY_BACKSPACE, VTERM_MOD_NONE}, {KEY_CODE_DELETE, VTERM_KEY_DEL, VTERM_MOD_NONE},
        {KEY_CODE_BACK_TAB, VTERM_KEY_TAB, VTERM_MOD_SHIFT},      {KEY_CODE_INSERT, VTERM_KEY_INS, VTERM_MOD_NONE},
        {KEY_CODE_SHIFT_LEFT, VTERM_KEY_LEFT, VTERM_MOD_SHIFT},   {KEY_CODE_SHIFT_RIGHT, VTERM_KEY_RIGHT, VTERM_MOD_SHIFT},
    };
    if (key == '\n') {
        vterm_keyboard_key(screen->terminal, VTERM_KEY_ENTER, VTERM_MOD_NONE);
    } else if (key < 0x20) {
        text_add_char(out, (char)key);
    } else if (key < KEY_CODE_FIRST) {
        vterm_keyboard_unichar(screen->terminal, key, VTERM_MOD_NONE);
    } else if (key >= KEY_CODE_F1 && key <= KEY_CODE_F12) {
        vterm_keyboard_key(screen->terminal, (VTermKey)(VTERM_KEY_FUNCTION_0 + 1 + (int)(key - KEY_CODE_F1)), VTERM_MOD_NONE);
    } else {
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if ((uint32_t)keys[i].code == key)
                vterm_keyboard_key(screen->terminal, keys[i].key, keys[i].modifier);
    }
    take_output(screen, out);
}

/* --- looking --------------------------------------------------------------------------------------------------------- */

const struct cell *program_screen_row(struct program_screen *screen, int row, int *ret_columns)
{
    if (row < 0) {
        const struct program_line *line = program_lines_get(&screen->above, (size_t)(-row - 1));
        *ret_columns = line ? line->columns : 0;
        return line ? line->cells : NULL;
    }
    struct cell *cells = row < screen->rows ? row_of(screen, screen->columns) : NULL;
    for (int x = 0; cells && x < screen->columns; x++) {
        VTermScreenCell cell;
        vterm_screen_get_cell(screen->cells, (VTermPos){row, x}, &cell);
        cells[x] = cell_of(screen->cells, &cell);
    }
    *ret_columns = cells ? screen->columns : 0;
    return cells;
}

size_t program_screen_history(const struct program_screen *screen)
{
    return screen->above.count;
}

bool program_screen_cursor(const struct program_screen *screen, int *ret_y, int *ret_x)
{
    *ret_y = within(screen->cursor.row, screen->rows);
    *ret_x = within(screen->cursor.col, screen->columns);
    return !screen->cursor_hidden;
}

#endif
