/* SPDX-License-Identifier: MIT */
/* The UI: its tabs, and what keys do everywhere. */
#include "app.h"

#include "list_view.h"
#include "live_view.h"
#include "memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tab *const tabs[TAB_COUNT] = {
    [TAB_SYSTEM] = &tab_system,       [TAB_PROFILE] = &tab_profile, [TAB_TIMELINE] = &tab_timeline, [TAB_HOTSPOTS] = &tab_hotspots,
    [TAB_CALL_TREE] = &tab_call_tree, [TAB_FLAME] = &tab_flame,     [TAB_PATH] = &tab_path,
};

static void take_times(struct app *app)
{
    trace_time_range(app->trace, &app->first_ns, &app->last_ns);
    if (app->last_ns <= app->first_ns)
        app->last_ns = app->first_ns + 1;
}

int app_init(struct app *app, struct trace *trace, const char *path)
{
    *app = (struct app){.trace = trace_ref(trace), .path = path, .current = TAB_TIMELINE};
    take_times(app);
    app->begin_ns = app->first_ns;
    app->end_ns = app->last_ns;
    for (int i = 0; i < TAB_COUNT; i++)
        app->tabs[i].tab = tabs[i];
    return 0;
}

static void close_tabs(struct app *app)
{
    for (int i = 0; i < TAB_COUNT; i++) {
        if (app->tabs[i].state)
            app->tabs[i].tab->destroy(app->tabs[i].state);
        app->tabs[i].state = NULL;
    }
}

/* A tab that was not looked at since the last time has its memory still. */
static void remember_tabs(struct app *app)
{
    for (int i = 0; i < TAB_COUNT; i++) {
        struct tab_slot *slot = &app->tabs[i];
        if (!slot->state)
            continue;
        text_clear(&slot->memory);
        if (slot->tab->is_list)
            list_remember(slot->state, &slot->memory);
        if (slot->tab->remember)
            slot->tab->remember(app, slot->state, &slot->memory);
    }
}

static void recall_tab(struct app *app, struct tab_slot *slot)
{
    struct memory memory = memory_of(&slot->memory);
    if (!slot->memory.length)
        return;
    if (slot->tab->is_list)
        list_recall(slot->state, &memory);
    if (slot->tab->recall)
        slot->tab->recall(app, slot->state, &memory);
    text_clear(&slot->memory);
}

void app_take_trace(struct app *app, struct trace *newer)
{
    bool all = app_window_is_all(app);
    remember_tabs(app);
    close_tabs(app); /* what was summed up does not hold any more, and ids need not */
    for (unsigned i = 0; i < app->history_count; i++)
        app->history[i].subject = (struct subject){.span = SPAN_NONE, .stack = STACK_NONE, .span_kind = -1};
    trace_unref(app->trace);
    app->trace = newer;
    take_times(app);
    if (all) {
        app->begin_ns = app->first_ns;
        app->end_ns = app->last_ns;
    }
}

bool app_follow_clock(struct app *app, int64_t now_ns)
{
    bool all = app_window_is_all(app);
    if (now_ns <= app->last_ns)
        return false;
    app->last_ns = now_ns;
    if (all)
        app_set_window(app, app->first_ns, now_ns);
    return all;
}

bool app_follow(struct app *app)
{
    struct trace *newer = NULL;
    struct error err = ERROR_INIT;
    if (!trace_is_growing(app->trace) || trace_refresh(app->trace, &newer, &err) < 0)
        return false;
    bool grown = trace_generation(newer) != trace_generation(app->trace);
    if (grown)
        app_take_trace(app, newer);
    else
        trace_unref(newer);
    return grown;
}

void app_finish(struct app *app)
{
    close_tabs(app);
    for (int i = 0; i < TAB_COUNT; i++)
        text_finish(&app->tabs[i].memory);
    if (app->searching)
        regfree(&app->pattern);
    trace_filter_destroy(app->filter);
    canvas_finish(&app->canvas);
    trace_unref(app->trace);
}

/* --- what tabs ask for ----------------------------------------------------------------------------------------------- */

static void tell_tabs(struct app *app, unsigned changes)
{
    for (int i = 0; i < TAB_COUNT; i++)
        app->tabs[i].pending |= changes;
}

bool app_window_is_all(const struct app *app)
{
    return app->begin_ns <= app->first_ns && app->end_ns >= app->last_ns;
}

void app_set_window(struct app *app, int64_t begin_ns, int64_t end_ns)
{
    if (end_ns - begin_ns < 10)
        end_ns = begin_ns + 10;
    if (begin_ns == app->begin_ns && end_ns == app->end_ns)
        return;
    app->begin_ns = begin_ns;
    app->end_ns = end_ns;
    tell_tabs(app, CHANGED_WINDOW);
}

void app_say(struct app *app, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(app->message, sizeof app->message, format, arguments);
    va_end(arguments);
}

const regex_t *app_pattern(const struct app *app)
{
    return app->searching ? &app->pattern : NULL;
}

void *app_tab_state(struct app *app, enum tab_number number)
{
    struct tab_slot *slot = &app->tabs[number];
    struct error err = ERROR_INIT;
    bool is_new = !slot->state;
    if (is_new) {
        slot->problem[0] = '\0';
        if (slot->tab->create(app, &slot->state, &err) < 0) {
            snprintf(slot->problem, sizeof slot->problem, "%.250s", err.text);
            slot->state = NULL;
            return NULL;
        }
        slot->pending = CHANGED_WINDOW | CHANGED_FILTER | CHANGED_SEARCH;
    }
    unsigned changes = slot->pending;
    slot->pending = 0;
    if (changes && slot->tab->changed)
        slot->tab->changed(app, slot->state, changes);
    if (is_new)
        recall_tab(app, slot);
    return slot->state;
}

void app_open_tab(struct app *app, enum tab_number number)
{
    app->current = number;
}

void app_set_search(struct app *app, const char *text)
{
    regex_t pattern;
    if (*text && regcomp(&pattern, text, REG_EXTENDED | REG_ICASE) != 0) {
        app_say(app, "'%s' is no regular expression", text);
        return;
    }
    if (app->searching)
        regfree(&app->pattern);
    app->searching = *text != '\0';
    if (app->searching)
        app->pattern = pattern;
    snprintf(app->search_text, sizeof app->search_text, "%s", text);
    tell_tabs(app, CHANGED_SEARCH);
}

void app_set_filter(struct app *app, const char *text)
{
    struct error err = ERROR_INIT;
    struct trace_filter *filter = NULL, *before = app->filter;
    if (*text && trace_filter_compile(text, &filter, &err) < 0) {
        app_say(app, "%s", err.text);
        return;
    }
    app->filter = filter;
    snprintf(app->filter_text, sizeof app->filter_text, "%s", text);
    tell_tabs(app, CHANGED_FILTER);
    for (int i = 0; i < TAB_COUNT; i++) /* nobody may keep the old one */
        if (app->tabs[i].state)
            app_tab_state(app, (enum tab_number)i);
    trace_filter_destroy(before);
}

/* --- drawing --------------------------------------------------------------------------------------------------------- */

static void draw_tab(struct app *app, struct area area)
{
    void *state = area.rows > 0 ? app_tab_state(app, app->current) : NULL;
    struct tab_slot *slot = &app->tabs[app->current];
    if (state)
        slot->tab->draw(app, state, area);
    else if (area.rows > 0)
        canvas_text(&app->canvas, 2, 2, app->canvas.columns - 4, look_of(COLOUR_WARN), slot->problem);
}

void app_draw(struct app *app, int *ret_cursor_y, int *ret_cursor_x)
{
    struct canvas *canvas = &app->canvas;
    struct area area = {1, 0, canvas->rows - 2, canvas->columns};
    canvas_clear(canvas);
    app->unfinished = false;
    if (canvas->rows < 4 || canvas->columns < 20) {
        canvas_text(canvas, 0, 0, canvas->columns, look_of(COLOUR_DEFAULT), "too small");
        *ret_cursor_y = *ret_cursor_x = -1;
        return;
    }
    if (app->live)
        area = live_view_place(app, area);
    if (!app->live || app->live->has_data)
        draw_tab(app, area);
    if (app->live)
        live_view_draw(app, area); /* over what a tab drew below its own part */
    if (app->help)
        app_draw_help(app);
    app_draw_tab_bar(app); /* last: nothing that a tab does may reach it */
    app_draw_status(app, ret_cursor_y, ret_cursor_x);
    if (app->live && app->input == INPUT_NONE && !app->help)
        program_pane_cursor(&app->live->pane, ret_cursor_y, ret_cursor_x);
}

unsigned app_key_places(const struct app *app)
{
    return app->tabs[app->current].tab->place | (app->live ? KEYS_LIVE : 0u);
}

/* --- keys ------------------------------------------------------------------------------------------------------------ */

static bool show_in(struct app *app, int number, const struct subject *subject)
{
    void *state = app_tab_state(app, (enum tab_number)number);
    const struct tab *tab = app->tabs[number].tab;
    return state && tab->show && tab->show(app, state, subject);
}

bool app_go_to(struct app *app, enum tab_number number, const struct subject *subject)
{
    enum tab_number from = app->current;
    if (!show_in(app, number, subject))
        return false;
    if (app->history_count == sizeof app->history / sizeof *app->history)
        memmove(app->history, app->history + 1, --app->history_count * sizeof *app->history);
    app->history[app->history_count++] = (struct history){from, *subject};
    app->current = number;
    return true;
}

static void go(struct app *app)
{
    struct tab_slot *slot = &app->tabs[app->current];
    struct subject subject = {.span = SPAN_NONE, .stack = STACK_NONE, .span_kind = -1};
    if (!slot->state || !slot->tab->subject || !slot->tab->subject(app, slot->state, &subject)) {
        app_say(app, "nothing is selected that other tabs know");
        return;
    }
    for (const int *next = slot->tab->next; *next >= 0; next++)
        if (app_go_to(app, (enum tab_number)*next, &subject))
            return;
    app_say(app, "no other tab knows more of it");
}

static void back(struct app *app)
{
    if (!app->history_count) {
        app_say(app, "this is where you began");
        return;
    }
    const struct history *last = &app->history[--app->history_count];
    app->current = last->tab;
    show_in(app, last->tab, &last->subject);
}

static void cancel(struct app *app)
{
    if (app->searching)
        app_set_search(app, "");
    else if (app->tabs[app->current].state)
        app->tabs[app->current].tab->act(app, app->tabs[app->current].state, ACTION_CANCEL);
}

static void act(struct app *app, enum action action, int number)
{
    struct tab_slot *slot = &app->tabs[app->current];
    if (app->live && live_view_act(app, action))
        return;
    switch (action) {
    case ACTION_QUIT:
        app->stop = true;
        break;
    case ACTION_HELP:
        app->help = true;
        app->help_top = 0;
        break;
    case ACTION_NEXT_TAB: case ACTION_PREVIOUS_TAB:
        app_open_tab(app, (enum tab_number)((app->current + (action == ACTION_NEXT_TAB ? 1 : TAB_COUNT - 1)) % TAB_COUNT));
        break;
    case ACTION_TAB_NUMBER:
        app_open_tab(app, (enum tab_number)number);
        break;
    case ACTION_GO:
        go(app);
        break;
    case ACTION_BACK:
        back(app);
        break;
    case ACTION_SEARCH: case ACTION_FILTER: case ACTION_EXPORT:
        app_begin_input(app, action == ACTION_SEARCH ? INPUT_SEARCH : action == ACTION_FILTER ? INPUT_FILTER : INPUT_EXPORT);
        break;
    case ACTION_COPY:
        app_copy(app);
        break;
    case ACTION_CANCEL:
        cancel(app);
        break;
    case ACTION_THEME:
        if (app->terminal)
            terminal_set_theme(app->terminal, terminal_theme(app->terminal) == THEME_DARK ? THEME_LIGHT : THEME_DARK);
        break;
    case ACTION_RESET:
        app_set_window(app, app->first_ns, app->last_ns);
        if (slot->state)
            slot->tab->act(app, slot->state, action);
        break;
    default:
        if (slot->state)
            slot->tab->act(app, slot->state, action);
    }
}

static void handle_key(struct app *app, uint32_t key)
{
    int number = 0;
    app->message[0] = '\0';
    if (app->live && live_view_key(app, key))
        return;
    if (app->input != INPUT_NONE) {
        app_input_key(app, key);
        return;
    }
    enum action action = key_action(key, app_key_places(app), &number);
    if (!app->help) {
        act(app, action, number);
        return;
    }
    if (action == ACTION_DOWN || action == ACTION_PAGE_DOWN)
        app->help_top += action == ACTION_DOWN ? 1 : 10;
    else if (action == ACTION_UP || action == ACTION_PAGE_UP)
        app->help_top -= action == ACTION_UP ? 1 : 10;
    else
        app->help = false;
}

static void handle_mouse(struct app *app, const struct input *input)
{
    app->message[0] = '\0';
    if (app->help || app->input != INPUT_NONE) {
        app->help = false;
        return;
    }
    if (input->y == 0) {
        int tab = app_tab_at(app, input->x);
        if (tab >= 0)
            app_open_tab(app, (enum tab_number)tab);
        return;
    }
    if (app->live && program_pane_mouse(&app->live->pane, input))
        return;
    struct tab_slot *slot = &app->tabs[app->current];
    if (slot->state && slot->tab->mouse)
        slot->tab->mouse(app, slot->state, input);
}

void app_handle(struct app *app, const struct input *input)
{
    if (input->event == EVENT_KEY)
        handle_key(app, input->key);
    else if (input->event == EVENT_MOUSE)
        handle_mouse(app, input);
    else if (input->event == EVENT_QUIT)
        app->stop = true;
}
