/* SPDX-License-Identifier: MIT */
/* The UI's loop. */
#include "tui.h"

#include "app.h"

#include <errno.h>

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

/* Keys that wait already are handled before the next picture: held down, they must not queue up. */
static void handle_waiting(struct app *app, struct input input)
{
    for (int i = 0; input.event != EVENT_NONE && !app->stop && i < 64; i++) {
        app_handle(app, &input);
        if (input.event == EVENT_RESIZE)
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
        show(&app);
        handle_waiting(&app, terminal_wait(terminal, app.unfinished ? 0 : -1));
    }
    app_finish(&app);
    return result;
}
