/* SPDX-License-Identifier: MIT */
/* The help overlay, the line of text that one types, copying. */
#include "app.h"

#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_NAMES_SIZE 64

/* --- help ------------------------------------------------------------------------------------------------------------ */

/* Whether a key does something here and now; the names of those that do. */
static bool is_offered(const struct app *app, const struct key_binding *binding, char *names, size_t size)
{
    const struct tab_slot *slot = &app->tabs[app->current];
    return key_holds(binding, app_key_places(app), names, size) &&
           (!slot->tab->offers || !slot->state || slot->tab->offers(app, slot->state, binding->action));
}

static int count_bindings(const struct app *app)
{
    char names[KEY_NAMES_SIZE];
    int count = 0;
    for (size_t i = 0; i < key_binding_count; i++)
        count += is_offered(app, &key_bindings[i], names, sizeof names);
    return count;
}

/* What the Timeline draws, in short. */
static const struct {
    const char *mark, *meaning;
} marks[] = {
    {"\xe2\x96\x8f", "begin of a span; its hue says the kind, its shade the name"},
    {"\xe2\x96\x81 \xe2\x96\x83 \xe2\x96\x87", "several spans in a column: the part of it in which one ran"},
    {"\xe2\x95\xb1", "a wait: for a barrier, a message, a lock, a device"},
    {"\xe2\x96\xb6", "a call that has not ended; the end of a link's arrow"},
    {"\xc2\xb7", "on CPU: the thread was off it; blocks there: CPU time"},
    {"293 W", "beside a counter's name: its greatest value"},
};

struct help_box {
    struct area area;
    int line; /* the next one, of all */
};

static void draw_help_line(struct app *app, struct help_box *box, const char *names, const char *text, struct look look)
{
    int row = box->line++ - app->help_top;
    if (row < 0 || row >= box->area.rows - 4)
        return;
    int y = box->area.y + 2 + row;
    canvas_text(&app->canvas, y, box->area.x + 2, 16, (struct look){COLOUR_ACCENT, COLOUR_BAND, CELL_BOLD}, names);
    canvas_text(&app->canvas, y, box->area.x + 19, box->area.columns - 21, look, text);
}

static void draw_help_lines(struct app *app, struct help_box *box)
{
    struct look plain = {COLOUR_DEFAULT, COLOUR_BAND, 0}, dim = {COLOUR_DIM, COLOUR_BAND, 0};
    for (size_t i = 0; i < key_binding_count; i++) {
        char names[KEY_NAMES_SIZE];
        if (is_offered(app, &key_bindings[i], names, sizeof names))
            draw_help_line(app, box, names, key_bindings[i].help, key_bindings[i].places == KEYS_ALL ? dim : plain);
    }
    if (app->current != TAB_TIMELINE)
        return;
    draw_help_line(app, box, "Marks", "", plain);
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        draw_help_line(app, box, marks[i].mark, marks[i].meaning, plain);
}

void app_draw_help(struct app *app)
{
    struct canvas *canvas = &app->canvas;
    int total = count_bindings(app) + (app->current == TAB_TIMELINE ? 1 + (int)(sizeof marks / sizeof *marks) : 0);
    int width = canvas->columns < 84 ? canvas->columns - 4 : 80, rows = total + 4 > canvas->rows - 2 ? canvas->rows - 2 : total + 4;
    int x = (canvas->columns - width) / 2, y = (canvas->rows - rows) / 2;
    if (app->help_top > total - (rows - 4))
        app->help_top = total - (rows - 4);
    app->help_top = app->help_top < 0 ? 0 : app->help_top;
    struct help_box box = {.area = {y, x, rows, width}};
    canvas_fill(canvas, box.area, (struct look){COLOUR_DEFAULT, COLOUR_BAND, 0});
    canvas_textf(canvas, y, x + 2, width - 4, (struct look){COLOUR_ACCENT, COLOUR_BAND, CELL_BOLD}, "Keys in %s", app->tabs[app->current].tab->title);
    draw_help_lines(app, &box);
    canvas_text(canvas, y + rows - 1, x + 2, width - 4, (struct look){COLOUR_DIM, COLOUR_BAND, 0},
                total > rows - 4 ? "Up, Down: more   any other key: close   mouse: click, wheel" : "any key: close   mouse: click, right click, wheel, Ctrl+wheel");
}

/* --- typing ---------------------------------------------------------------------------------------------------------- */

void app_begin_input(struct app *app, enum input_purpose purpose)
{
    const char *before = purpose == INPUT_SEARCH ? app->search_text : purpose == INPUT_FILTER ? app->filter_text : "";
    app->input = purpose;
    snprintf(app->input_text, sizeof app->input_text, "%s", before);
}

static void finish_input(struct app *app)
{
    enum input_purpose purpose = app->input;
    app->input = INPUT_NONE;
    if (purpose == INPUT_SEARCH) {
        struct tab_slot *slot = &app->tabs[app->current];
        app_set_search(app, app->input_text);
        if (app->searching && app_tab_state(app, app->current))
            slot->tab->act(app, slot->state, ACTION_SEARCH); /* to the first match */
    } else if (purpose == INPUT_FILTER) {
        app_set_filter(app, app->input_text);
    } else if (*app->input_text) {
        app_export(app, app->input_text);
    }
}

static void erase_last(char *text)
{
    size_t length = strlen(text);
    while (length && ((unsigned char)text[length - 1] & 0xc0) == 0x80)
        length--;
    text[length ? length - 1 : 0] = '\0';
}

static void add_character(char *text, size_t size, uint32_t code)
{
    size_t length = strlen(text);
    if (length + 5 > size || code < 0x20)
        return;
    if (code < 0x80) {
        text[length++] = (char)code;
    } else if (code < 0x800) {
        text[length++] = (char)(0xc0 | code >> 6);
        text[length++] = (char)(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        text[length++] = (char)(0xe0 | code >> 12);
        text[length++] = (char)(0x80 | (code >> 6 & 0x3f));
        text[length++] = (char)(0x80 | (code & 0x3f));
    } else {
        text[length++] = (char)(0xf0 | code >> 18);
        text[length++] = (char)(0x80 | (code >> 12 & 0x3f));
        text[length++] = (char)(0x80 | (code >> 6 & 0x3f));
        text[length++] = (char)(0x80 | (code & 0x3f));
    }
    text[length] = '\0';
}

void app_input_key(struct app *app, uint32_t key)
{
    if (key == '\n')
        finish_input(app);
    else if (key == 0x1b)
        app->input = INPUT_NONE;
    else if (key == KEY_CODE_BACKSPACE)
        erase_last(app->input_text);
    else if (key == 0x15) /* Ctrl-U, as shells have it */
        app->input_text[0] = '\0';
    else if (key < KEY_CODE_FIRST)
        add_character(app->input_text, sizeof app->input_text, key);
}

/* --- taking things along --------------------------------------------------------------------------------------------- */

void app_copy(struct app *app)
{
    struct tab_slot *slot = &app->tabs[app->current];
    struct text text = TEXT_INIT;
    struct error err = ERROR_INIT;
    if (slot->state && slot->tab->copy)
        slot->tab->copy(app, slot->state, &text);
    while (text.length && text.data[text.length - 1] == '\n')
        text.data[--text.length] = '\0';
    if (!text.length || text.failed) {
        app_say(app, "nothing is selected");
    } else {
        char path[300];
        const char *folder = getenv("XDG_RUNTIME_DIR");
        snprintf(path, sizeof path, "%.250s/hprofiler-copied.txt", folder && *folder ? folder : ".");
        if (app->terminal)
            terminal_copy(app->terminal, text.data, text.length);
        if (app_write_text(path, &text, &err) < 0)
            app_say(app, "copied to the terminal's clipboard; %s", err.text);
        else
            app_say(app, "copied to the terminal's clipboard, and to %s", path);
    }
    text_finish(&text);
}
