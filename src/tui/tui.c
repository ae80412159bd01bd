/* SPDX-License-Identifier: MIT */
/* The UI's loop. */
#include "tui.h"

#include "live_view.h"

#include "base/clock.h"
#include "trace/builder.h"

#include <errno.h>
#include <signal.h>

#define GROWTH_MS 500 /* how often a growing trace is looked at */
#define PICTURE_MS 40 /* between two pictures of a program that writes all the time */

const char *tui_unfit(void)
{
    return terminal_unfit();
}

static void show(struct app *app)
{
    int y, x;
    if (terminal_fit(app->terminal, &app->canvas) < 0)
        return;
    app_draw(app, &y, &x);
    terminal_show(app->terminal, &app->canvas, y, x);
}

/* Keys that wait already are handled before the next picture: held down, they must not queue up. But what a key means may hang on
 * what is drawn: a new tab, or what a search, a filter or Enter led to, is drawn first. */
static void handle_waiting(struct app *app, struct input input)
{
    for (int i = 0; input.event != EVENT_NONE && !app->stop && i < 64; i++) {
        enum tab_number before = app->current;
        app_handle(app, &input);
        if (input.event == EVENT_RESIZE || app->current != before || (input.event == EVENT_KEY && input.key == '\n'))
            return;
        input = terminal_wait(app->terminal, 0);
    }
}

int tui_run(struct trace *trace, const char *path, struct error *err)
{
    return tui_run_against(trace, path, NULL, NULL, err);
}

int tui_run_against(struct trace *trace, const char *path, const struct trace *other, const char *other_path, struct error *err)
{
    struct app app;
    CLEANUP(terminal_closep) struct terminal *terminal = NULL;
    int result = app_init(&app, trace, path);
    app.other = other;
    app.other_path = other_path;
    if (other)
        app_open_tab(&app, TAB_FLAME);
    if (result == 0)
        result = terminal_open(&terminal, err);
    app.terminal = terminal;
    while (result == 0 && !app.stop) {
        int idle_ms = trace_is_growing(app.trace) ? GROWTH_MS : -1;
        show(&app);
        struct input input = terminal_wait(terminal, app.unfinished ? 0 : idle_ms);
        if (input.event == EVENT_NONE && !app.unfinished)
            app_follow(&app);
        handle_waiting(&app, input);
    }
    app_finish(&app);
    return result;
}

/* --- a run that goes on ---------------------------------------------------------------------------------------------- */

/* What is shown until the first trace comes. */
static int make_nothing(struct trace **ret_trace, struct error *err)
{
    struct trace_builder *builder;
    int result = trace_builder_create(NULL, &builder, err);
    if (result < 0)
        return result;
    result = trace_builder_finish(builder, ret_trace, err);
    trace_builder_destroy(builder);
    return result;
}

static int milliseconds_until(int64_t time_ns)
{
    int64_t left_ns = time_ns - clock_monotonic_ns();
    return left_ns > 0 ? (int)(left_ns / 1000000) + 1 : 0;
}

/* Keys are answered at once; what only the program writes is shown some times a second. */
static void live_loop(struct app *app)
{
    int64_t next_picture_ns = 0;
    bool changed = true, at_once = true;
    while (!app->stop) {
        int descriptors[2], patience_ms = live_view_patience_ms(app->live);
        if (at_once || (changed && milliseconds_until(next_picture_ns) == 0)) {
            show(app);
            live_view_drawn(app->live);
            next_picture_ns = clock_monotonic_ns() + PICTURE_MS * 1000000;
            changed = false;
        }
        if (changed)
            patience_ms = milliseconds_until(next_picture_ns);
        unsigned count = live_view_descriptors(app->live, descriptors);
        struct input input = terminal_wait_also(app->terminal, descriptors, count, app->unfinished ? 0 : patience_ms);
        bool news = live_view_listen(app);
        changed |= news || input.event == EVENT_NONE;
        at_once = input.event != EVENT_NONE || app->unfinished;
        handle_waiting(app, input);
    }
}

/* With its settings back the terminal makes signals of keys again: these are no longer the UI's. */
static void leave_signals_to_others(void)
{
    sigset_t keys;
    sigemptyset(&keys);
    sigaddset(&keys, SIGINT);
    sigaddset(&keys, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &keys, NULL);
}

int tui_run_live(struct live_run *run, const char *path, struct error *err)
{
    struct app app;
    struct live_view live;
    CLEANUP(terminal_closep) struct terminal *terminal = NULL;
    CLEANUP(trace_unrefp) struct trace *nothing = NULL;
    int result = make_nothing(&nothing, err);
    if (result < 0)
        return result;
    result = live_view_open(&live, run, err);
    if (result < 0)
        return result;
    result = app_init(&app, nothing, path);
    app.live = &live;
    if (result == 0)
        result = terminal_open(&terminal, err);
    app.terminal = terminal;
    if (result == 0)
        live_loop(&app);
    leave_signals_to_others();
    app_finish(&app);
    live_view_close(&live);
    return result;
}
