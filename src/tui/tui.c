/* SPDX-License-Identifier: MIT */
/* The UI's loop. */
#include "tui.h"

#include "app.h"

#include <errno.h>

#define GROWTH_MS 500 /* how often a growing trace is looked at */

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
    struct app app;
    CLEANUP(terminal_closep) struct terminal *terminal = NULL;
    int result = app_init(&app, trace, path);
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
