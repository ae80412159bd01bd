/* SPDX-License-Identifier: MIT */
/* The terminal through ncurses. */
#include "terminal.h"

#include "terminal_guard.h"

#include "base/error.h"
#include "base/map.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <term.h>
#undef columns /* term.h has macros of everyday words */
#undef lines

#define OTHERS_MAX 4

struct terminal {
    SCREEN *screen;
    enum theme theme;
    bool utf8, coloured;
    struct map pairs; /* text colour and fill -> pair */
    int pair_count;
};

const char *terminal_unfit(void)
{
    const char *term = getenv("TERM");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        return "standard input and output must be a terminal";
    if (!term || !*term || strcmp(term, "dumb") == 0)
        return "TERM says that this terminal can't place the cursor";
    if (tcgetpgrp(STDIN_FILENO) != getpgrp())
        return "it runs in the background of its terminal";
    return NULL;
}

/* Whether terminfo knows a terminal. */
static bool is_known(const char *name)
{
    int problem;
    if (setupterm(name, STDOUT_FILENO, &problem) != OK)
        return false;
    del_curterm(cur_term);
    return true;
}

/* TERM's own description, or its twin with 24-bit colours where the terminal says that it has them. */
static SCREEN *open_screen(void)
{
    const char *term = getenv("TERM"), *colours = getenv("COLORTERM");
    bool direct = colours && (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0);
    char name[128];
    if (!term)
        return NULL;
    snprintf(name, sizeof name, "%.*s-direct", (int)strcspn(term, "-"), term);
    if (direct && is_known(name)) {
        SCREEN *screen = newterm(name, stdout, stdin);
        if (screen)
            return screen;
    }
    return is_known(term) ? newterm(term, stdout, stdin) : NULL;
}

static enum theme find_theme(void)
{
    const char *asked = getenv("HPROFILER_THEME"), *ground = getenv("COLORFGBG");
    if (asked && *asked)
        return strcmp(asked, "light") == 0 ? THEME_LIGHT : THEME_DARK;
    const char *last = ground ? strrchr(ground, ';') : NULL;
    int colour = last ? atoi(last + 1) : 0;
    return colour == 7 || colour >= 9 ? THEME_LIGHT : THEME_DARK;
}

int terminal_open(struct terminal **ret_terminal, struct error *err)
{
    struct terminal *terminal = calloc(1, sizeof *terminal);
    if (!terminal)
        return error_set(err, -ENOMEM, "out of memory");
    setlocale(LC_CTYPE, ""); /* the character set; numbers stay as they are */
    terminal->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    terminal_guard_begin();
    terminal->screen = open_screen();
    if (!terminal->screen) {
        terminal_guard_end();
        free(terminal);
        return error_set(err, -ENOTSUP, "the terminal '%s' is not known here: no terminfo entry", getenv("TERM"));
    }
    map_init(&terminal->pairs);
    terminal->theme = find_theme();
    const char *no_colour = getenv("NO_COLOR");
    terminal->coloured = !(no_colour && *no_colour) && has_colors() && start_color() == OK && use_default_colors() == OK;
    cbreak();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    set_escdelay(25);
    leaveok(stdscr, FALSE);
    mousemask(ALL_MOUSE_EVENTS | BUTTON_CTRL, NULL);
    mouseinterval(0);
    nodelay(stdscr, TRUE);
    terminal_guard_know(tigetstr("rmcup"), tigetstr("cnorm"));
    *ret_terminal = terminal;
    return 0;
}

void terminal_close(struct terminal *terminal)
{
    if (!terminal)
        return;
    endwin();
    delscreen(terminal->screen);
    terminal_guard_end();
    map_finish(&terminal->pairs);
    free(terminal);
}

enum theme terminal_theme(const struct terminal *terminal)
{
    return terminal->theme;
}

void terminal_set_theme(struct terminal *terminal, enum theme theme)
{
    terminal->theme = theme;
    terminal->pair_count = 0;
    map_clear(&terminal->pairs);
    clearok(curscr, TRUE); /* pairs get other colours: what is on the screen is no longer what it says */
}

int terminal_fit(struct terminal *terminal, struct canvas *canvas)
{
    canvas->utf8 = terminal->utf8;
    canvas->mono = !terminal->coloured;
    canvas->theme = terminal->theme;
    return canvas_resize(canvas, LINES, COLS);
}

/* The nearest of the 240 colours that are the same everywhere: a cube of 6 x 6 x 6 and 24 greys. */
static int nearest_of_256(struct rgb rgb)
{
    static const int steps[] = {0, 95, 135, 175, 215, 255};
    int best = 16, best_distance = INT32_MAX;
    for (int i = 16; i < 256; i++) {
        bool in_cube = i < 232;
        int grey = 8 + (i - 232) * 10, cube = in_cube ? i - 16 : 0;
        int red = in_cube ? steps[cube / 36] : grey, green = in_cube ? steps[cube / 6 % 6] : grey, blue = in_cube ? steps[cube % 6] : grey;
        int distance = 3 * (red - rgb.red) * (red - rgb.red) + 4 * (green - rgb.green) * (green - rgb.green) +
                       2 * (blue - rgb.blue) * (blue - rgb.blue);
        if (distance < best_distance) {
            best_distance = distance;
            best = i;
        }
    }
    return best;
}

static int colour_number(const struct terminal *terminal, enum colour colour)
{
    struct rgb rgb = palette_rgb(terminal->theme, colour);
    if (colour == COLOUR_DEFAULT)
        return -1;
    if (colour >= COLOUR_TERMINAL && colour < COLOUR_LESS && COLORS <= 256) /* as the user likes them */
        return (int)(colour - COLOUR_TERMINAL) & (COLORS >= 16 ? 15 : 7);
    if (COLORS > 256)
        return rgb.red << 16 | rgb.green << 8 | rgb.blue;
    if (COLORS == 256)
        return nearest_of_256(rgb);
    unsigned ansi = palette_ansi(terminal->theme, colour);
    return (int)(COLORS >= 16 ? ansi : ansi & 7);
}

static int pair_for(struct terminal *terminal, struct look look)
{
    uint64_t key = (uint64_t)look.text << 8 | look.fill, known;
    if (!terminal->coloured || !key)
        return 0;
    if (map_get(&terminal->pairs, key, &known))
        return (int)known;
    int pair = terminal->pair_count + 1;
    if (pair >= COLOR_PAIRS || init_extended_pair(pair, colour_number(terminal, look.text), colour_number(terminal, look.fill)) == ERR)
        return 0; /* a terminal with few pairs: its own colours do */
    if (map_set(&terminal->pairs, key, (uint64_t)pair) == 0)
        terminal->pair_count = pair;
    return pair;
}

static attr_t attributes_for(const struct terminal *terminal, struct look look)
{
    attr_t attributes = A_NORMAL;
    attributes |= look.attributes & CELL_BOLD ? A_BOLD : 0;
    attributes |= look.attributes & CELL_UNDERLINE ? A_UNDERLINE : 0;
    attributes |= look.attributes & CELL_REVERSE ? A_REVERSE : 0;
    attributes |= look.attributes & CELL_DIM ? A_DIM : 0;
    if (terminal->coloured)
        return attributes;
    if (look.text == COLOUR_DIM || look.text == COLOUR_FAINT)
        attributes |= A_DIM;
    if (look.text == COLOUR_ACCENT || look.text == COLOUR_BAD || look.text == COLOUR_WARN)
        attributes |= A_BOLD;
    if ((look.fill >= COLOUR_HUES && look.fill != COLOUR_TERMINAL) || look.fill == COLOUR_BAND || look.fill == COLOUR_SELECTED)
        attributes |= A_REVERSE;
    return attributes;
}

static void show_cell(struct terminal *terminal, int y, int x, const struct cell *cell)
{
    int pair = pair_for(terminal, cell->look);
    cchar_t out;
    wchar_t text[2] = {(wchar_t)cell->glyph, L'\0'};
    int width = cell->glyph < 0x80 ? 1 : wcwidth((wchar_t)cell->glyph);
    bool wide = x + 1 < COLS && !cell[1].glyph;
    if (width != (wide ? 2 : 1)) /* the C library and we disagree: neither may shift the rest of the line */
        text[0] = L'?';
    setcchar(&out, text, attributes_for(terminal, cell->look), 0, &pair);
    mvadd_wch(y, x, &out);
    if (wide && width != 2)
        mvadd_wch(y, x + 1, &out);
}

void terminal_show(struct terminal *terminal, const struct canvas *canvas, int cursor_y, int cursor_x)
{
    erase();
    for (int y = 0; y < canvas->rows; y++)
        for (int x = 0; x < canvas->columns; x++)
            if (canvas->cells[y * canvas->columns + x].glyph)
                show_cell(terminal, y, x, &canvas->cells[y * canvas->columns + x]);
    curs_set(cursor_y >= 0);
    if (cursor_y >= 0)
        move(cursor_y, cursor_x);
    refresh();
}

static uint32_t special_key(wint_t code)
{
    static const struct {
        int code;
        enum key_code key;
    } keys[] = {
        {KEY_LEFT, KEY_CODE_LEFT},   {KEY_RIGHT, KEY_CODE_RIGHT},         {KEY_UP, KEY_CODE_UP},         {KEY_DOWN, KEY_CODE_DOWN},
        {KEY_PPAGE, KEY_CODE_PAGE_UP}, {KEY_NPAGE, KEY_CODE_PAGE_DOWN},   {KEY_HOME, KEY_CODE_HOME},     {KEY_END, KEY_CODE_END},
        {KEY_BACKSPACE, KEY_CODE_BACKSPACE}, {KEY_DC, KEY_CODE_DELETE},   {KEY_BTAB, KEY_CODE_BACK_TAB}, {KEY_IC, KEY_CODE_INSERT},
        {KEY_SLEFT, KEY_CODE_SHIFT_LEFT}, {KEY_SRIGHT, KEY_CODE_SHIFT_RIGHT}, {KEY_ENTER, (enum key_code)'\n'},
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i].code == (int)code)
            return keys[i].key;
    if (code >= KEY_F(1) && code <= KEY_F(12))
        return (uint32_t)(KEY_CODE_F1 + (code - KEY_F(1)));
    return KEY_CODE_OTHER;
}

static struct input read_mouse(void)
{
    MEVENT event;
    struct input input = {.event = EVENT_NONE};
    if (getmouse(&event) != OK)
        return input;
    input = (struct input){.event = EVENT_MOUSE, .y = event.y, .x = event.x, .control = event.bstate & BUTTON_CTRL};
    if (event.bstate & BUTTON1_DOUBLE_CLICKED)
        input.mouse = MOUSE_DOUBLE;
    else if (event.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED))
        input.mouse = MOUSE_CLICK;
    else if (event.bstate & (BUTTON3_PRESSED | BUTTON3_CLICKED))
        input.mouse = MOUSE_RIGHT;
    else if (event.bstate & BUTTON4_PRESSED)
        input.mouse = MOUSE_WHEEL_UP;
    else if (event.bstate & BUTTON5_PRESSED)
        input.mouse = MOUSE_WHEEL_DOWN;
    else
        input.event = EVENT_NONE;
    return input;
}

static struct input read_key(void)
{
    wint_t code;
    int result = get_wch(&code);
    if (result == ERR)
        return (struct input){.event = EVENT_NONE};
    if (result == KEY_CODE_YES && code == KEY_RESIZE)
        return (struct input){.event = EVENT_RESIZE};
    if (result == KEY_CODE_YES && code == KEY_MOUSE)
        return read_mouse();
    uint32_t key = result == KEY_CODE_YES ? special_key(code) : (uint32_t)code;
    if (key == '\r')
        key = '\n';
    if (key == 0x7f || key == 8)
        key = KEY_CODE_BACKSPACE;
    return (struct input){.event = EVENT_KEY, .key = key};
}

struct input terminal_wait_also(struct terminal *terminal, const int *others, unsigned count, int timeout_ms)
{
    struct pollfd wait[1 + OTHERS_MAX] = {{.fd = STDIN_FILENO, .events = POLLIN}};
    (void)terminal;
    for (unsigned i = 0; i < count && i < OTHERS_MAX; i++)
        wait[1 + i] = (struct pollfd){.fd = others[i], .events = POLLIN};
    if (terminal_guard_quit())
        return (struct input){.event = EVENT_QUIT};
    struct input input = read_key(); /* what ncurses holds already */
    if (input.event != EVENT_NONE)
        return input;
    int ready = poll(wait, 1 + (count < OTHERS_MAX ? count : OTHERS_MAX), timeout_ms);
    if (terminal_guard_quit() || (ready > 0 && wait[0].revents && !(wait[0].revents & POLLIN)))
        return (struct input){.event = EVENT_QUIT};
    if (ready < 0) { /* a signal: a new size, or we were stopped and go on */
        input = read_key();
        if (input.event == EVENT_NONE)
            input.event = EVENT_RESIZE;
        return input;
    }
    return ready > 0 && wait[0].revents ? read_key() : input;
}

struct input terminal_wait(struct terminal *terminal, int timeout_ms)
{
    return terminal_wait_also(terminal, NULL, 0, timeout_ms);
}

void terminal_set_raw(struct terminal *terminal, bool wanted)
{
    (void)terminal;
    if (wanted) {
        raw();
    } else {
        noraw();
        cbreak();
    }
}

void terminal_copy(struct terminal *terminal, const char *text, size_t length)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    struct text out = TEXT_INIT;
    (void)terminal;
    text_add_string(&out, "\033]52;c;");
    for (size_t i = 0; i < length; i += 3) {
        const unsigned char *at = (const unsigned char *)text + i;
        unsigned value = (unsigned)at[0] << 16 | (i + 1 < length ? (unsigned)at[1] << 8 : 0) | (i + 2 < length ? at[2] : 0);
        text_add_char(&out, digits[value >> 18]);
        text_add_char(&out, digits[value >> 12 & 63]);
        text_add_char(&out, i + 1 < length ? digits[value >> 6 & 63] : '=');
        text_add_char(&out, i + 2 < length ? digits[value & 63] : '=');
    }
    text_add_string(&out, "\a");
    if (!out.failed) {
        fwrite(out.data, 1, out.length, stdout);
        fflush(stdout);
    }
    text_finish(&out);
}
