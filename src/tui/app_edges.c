/* SPDX-License-Identifier: MIT */
/* The edges of the screen: the tabs above, how things stand below. */
#include "app.h"

#include "live_view.h"

#include "view/units.h"

#include <stdio.h>
#include <string.h>

/* --- above ----------------------------------------------------------------------------------------------------------- */

/* As much of the tabs' names as there is room for: all, their short forms, or only that of the open one. */
enum naming { NAMES_LONG, NAMES_SHORT, NAMES_NUMBERS, NAMINGS };

static const char *tab_name(const struct app *app, int number, enum naming naming)
{
    if (naming == NAMES_NUMBERS && number != (int)app->current)
        return "";
    return naming == NAMES_LONG ? app->tabs[number].tab->title : app->tabs[number].tab->short_title;
}

static int tab_width(const struct app *app, int number, enum naming naming)
{
    return 4 + (int)strlen(tab_name(app, number, naming));
}

static enum naming tab_naming(const struct app *app)
{
    for (int naming = NAMES_LONG; naming < NAMES_NUMBERS; naming++) {
        int width = 0;
        for (int i = 0; i < TAB_COUNT; i++)
            width += tab_width(app, i, (enum naming)naming);
        if (width <= app->canvas.columns)
            return (enum naming)naming;
    }
    return NAMES_NUMBERS;
}

int app_tab_at(const struct app *app, int x)
{
    enum naming naming = tab_naming(app);
    for (int i = 0, begin = 0; i < TAB_COUNT; begin += tab_width(app, i++, naming))
        if (x >= begin && x < begin + tab_width(app, i, naming))
            return i;
    return -1;
}

void app_draw_tab_bar(struct app *app)
{
    struct canvas *canvas = &app->canvas;
    enum naming naming = tab_naming(app);
    int x = 0;
    canvas_fill(canvas, (struct area){0, 0, 1, canvas->columns}, (struct look){COLOUR_DEFAULT, COLOUR_BAND, 0});
    for (int i = 0; i < TAB_COUNT; i++) {
        bool current = i == (int)app->current;
        struct look number = {COLOUR_DIM, current ? COLOUR_DEFAULT : COLOUR_BAND, 0};
        struct look title = {current ? COLOUR_ACCENT : COLOUR_DEFAULT, number.fill, current ? CELL_BOLD : 0};
        canvas_fill(canvas, (struct area){0, x, 1, tab_width(app, i, naming)}, number);
        canvas_textf(canvas, 0, x + 1, 1, number, "%d", i + 1);
        canvas_text(canvas, 0, x + 3, canvas->columns - x - 3, title, tab_name(app, i, naming));
        x += tab_width(app, i, naming);
    }
    const char *slash = strrchr(app->path, '/'), *name = slash && slash[1] ? slash + 1 : app->path;
    int room = canvas->columns - x - 2;
    if (room >= 6)
        canvas_text_right(canvas, 0, canvas->columns - 1, room, (struct look){COLOUR_DIM, COLOUR_BAND, 0}, name);
}

/* --- below ----------------------------------------------------------------------------------------------------------- */

static void window_text(const struct app *app, char *text, size_t size)
{
    char begin[32], length[32];
    if (app_window_is_all(app))
        snprintf(text, size, "%s", format_duration(length, sizeof length, app->end_ns - app->begin_ns));
    else
        snprintf(text, size, "%s from %s", format_duration(length, sizeof length, app->end_ns - app->begin_ns),
                 format_duration(begin, sizeof begin, app->begin_ns));
}

uint64_t app_lost_events(const struct app *app)
{
    uint32_t count;
    uint64_t lost = 0;
    const struct ledger_entry *ledger = trace_ledger(app->trace, &count);
    for (uint32_t i = 0; i < count; i++)
        lost += ledger[i].lost;
    return lost;
}

/* Right to left: window, filter, search, losses. Returns where they begin. */
static int draw_state(struct app *app, int y)
{
    struct canvas *canvas = &app->canvas;
    char text[320], number[32];
    int right = canvas->columns - 1;
    struct look plain = {COLOUR_DIM, COLOUR_BAND, 0}, set = {COLOUR_ACCENT, COLOUR_BAND, 0}, bad = {COLOUR_WARN, COLOUR_BAND, 0};
    if (app->live && !app->live->has_data)
        return right;
    window_text(app, text, sizeof text);
    canvas_text_right(canvas, y, right, 40, app_window_is_all(app) ? plain : set, text);
    right -= (int)strlen(text) + 2;
    if (app->filter) {
        int length = snprintf(text, sizeof text, "filter %s", app->filter_text);
        canvas_text_right(canvas, y, right, 36, set, text);
        right -= (length > 36 ? 36 : length) + 2;
    }
    if (app->searching) {
        int length = snprintf(text, sizeof text, "/%s", app->search_text);
        canvas_text_right(canvas, y, right, 24, set, text);
        right -= (length > 24 ? 24 : length) + 2;
    }
    if (app_lost_events(app)) {
        int length = snprintf(text, sizeof text, "%s lost", format_count(number, sizeof number, app_lost_events(app)));
        canvas_text_right(canvas, y, right, 24, bad, text);
        right -= length + 2;
    }
    return right;
}

static void draw_live_state(struct app *app, int y, int room)
{
    char text[320];
    enum colour colour = live_view_state(app->live, text, sizeof text);
    int x = 1 + canvas_text(&app->canvas, y, 1, room - 1, (struct look){(uint8_t)colour, COLOUR_BAND, 0}, text);
    bool runs = live_view_runs(app->live);
    const char *hints[] = {runs ? "? keys  q leaves it running  K ends it" : "? keys  / search  q quit", runs ? "q leaves it running  K ends it" : "? keys  q quit",
                           runs ? "q leaves it running" : "q quit"};
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
        if (x + 3 + (int)strlen(hints[i]) <= room) {
            canvas_text(&app->canvas, y, x + 3, room - x - 3, (struct look){COLOUR_DIM, COLOUR_BAND, 0}, hints[i]);
            break;
        }
}

void app_draw_status(struct app *app, int *ret_cursor_y, int *ret_cursor_x)
{
    static const char *const prompts[] = {[INPUT_SEARCH] = "/", [INPUT_FILTER] = "filter: ", [INPUT_EXPORT] = "export to: "};
    struct canvas *canvas = &app->canvas;
    int y = canvas->rows - 1;
    struct look look = {COLOUR_DEFAULT, COLOUR_BAND, 0}, hint = {COLOUR_DIM, COLOUR_BAND, 0};
    canvas_fill(canvas, (struct area){y, 0, 1, canvas->columns}, look);
    *ret_cursor_y = *ret_cursor_x = -1;
    if (app->input != INPUT_NONE) {
        int x = canvas_text(canvas, y, 1, 20, (struct look){COLOUR_ACCENT, COLOUR_BAND, CELL_BOLD}, prompts[app->input]) + 1;
        const char *text = app->input_text;
        while ((int)text_cells(text, strlen(text)) > canvas->columns - x - 2) {
            uint32_t code;
            text += utf8_decode(text, strlen(text), &code);
        }
        *ret_cursor_y = y;
        *ret_cursor_x = x + canvas_text(canvas, y, x, canvas->columns - x - 1, look, text);
        return;
    }
    if (app->live && app->live->confirming) {
        canvas_text(canvas, y, 1, canvas->columns - 2, (struct look){COLOUR_WARN, COLOUR_BAND, CELL_BOLD}, live_view_question(app->live));
        return;
    }
    int room = draw_state(app, y);
    if (*app->message)
        canvas_text(canvas, y, 1, canvas->columns - 2, (struct look){COLOUR_WARN, COLOUR_BAND, 0}, app->message);
    else if (app->live)
        draw_live_state(app, y, room);
    else if (room > 30)
        canvas_text(canvas, y, 1, room, hint, room >= 46 ? "? keys  / search  f filter  Enter go  q quit" : "? keys  q quit");
}
