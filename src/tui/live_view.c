/* SPDX-License-Identifier: MIT */
/* A run that goes on, in the UI. */
#include "live_view.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#define TICK_MS 200            /* the clock of the bottom line */
#define TAKE_NS 300000000      /* between two traces at least */
#define SHARE_OF_DRAWING 4     /* at most a part of this of the time goes into traces that are taken and drawn */
#define KEY_OF_KEYBOARD 0x1d   /* Ctrl-]: takes the keyboard back whatever it means elsewhere */

int live_view_open(struct live_view *live, struct live_run *run, struct error *err)
{
    *live = (struct live_view){.run = run, .status = {.behind_ns = -1}};
    run->status(run->source, &live->status);
    return program_pane_open(&live->pane, run, err);
}

void live_view_close(struct live_view *live)
{
    program_pane_close(&live->pane);
}

bool live_view_runs(const struct live_view *live)
{
    return live->status.stage == LIVE_RUNS;
}

const char *live_view_incomplete(const struct app *app)
{
    const char *reason = trace_incomplete(app->trace);
    return !reason || !app->live                        ? reason
           : app->live->status.stage == LIVE_RUNS       ? "the program runs: this is what is recorded so far"
           : app->live->status.stage == LIVE_ENDED      ? "the whole trace is being made: this is what was recorded until shortly before the end"
                                                        : reason;
}

/* --- what is new ----------------------------------------------------------------------------------------------------- */

static bool has_rows(const struct trace *trace)
{
    for (int family = 0; family < FAMILY_COUNT; family++)
        if (trace_row_count(trace, (enum family)family))
            return true;
    uint32_t calls;
    trace_open_calls(trace, &calls);
    return calls > 0;
}

/* As often as newer traces come, as it has as much drawn anew. */
static bool follow_clock(struct app *app, int64_t now_ns)
{
    struct live_view *live = app->live;
    bool moved = live->has_data && live->status.stage == LIVE_RUNS && app_follow_clock(app, live->status.now_ns);
    if (moved)
        live->taken_ns = now_ns;
    return moved;
}

static bool take_newest(struct app *app)
{
    struct live_view *live = app->live;
    int64_t now_ns = clock_monotonic_ns();
    if (live->paused || now_ns < live->take_ns)
        return false;
    struct trace *newer = live->run->take(live->run->source);
    if (!newer)
        return follow_clock(app, now_ns);
    live->taken_ns = now_ns;
    live->has_data |= has_rows(newer) || live->status.stage == LIVE_COMPLETE;
    app_take_trace(app, newer);
    follow_clock(app, now_ns);
    return true;
}

static void set_typing(struct app *app, bool typing)
{
    app->live->pane.typing = typing;
    if (app->terminal)
        terminal_set_raw(app->terminal, typing); /* Ctrl-C and Ctrl-Z are the program's then */
}

bool live_view_listen(struct app *app)
{
    struct live_view *live = app->live;
    enum live_stage before = live->status.stage;
    bool changed = program_pane_listen(&live->pane);
    live->run->status(live->run->source, &live->status);
    app->stop |= live->status.close;
    changed |= take_newest(app);
    if (live->status.stage != before) {
        app->message[0] = '\0'; /* the bottom line has more to say */
        if (live->pane.typing)
            set_typing(app, false);
    }
    return changed || live->status.stage != before;
}

void live_view_drawn(struct live_view *live)
{
    int64_t now_ns = clock_monotonic_ns(), cost_ns = now_ns - live->taken_ns;
    if (!live->taken_ns)
        return;
    live->taken_ns = 0;
    live->take_ns = now_ns + (cost_ns * SHARE_OF_DRAWING > TAKE_NS ? cost_ns * SHARE_OF_DRAWING : TAKE_NS);
}

int live_view_patience_ms(const struct live_view *live)
{
    bool settled = live->status.stage == LIVE_COMPLETE || live->status.stage == LIVE_FAILED;
    return settled && clock_monotonic_ns() > live->take_ns && !live->pane.unsent.length ? -1 : TICK_MS;
}

unsigned live_view_descriptors(const struct live_view *live, int *descriptors)
{
    unsigned count = 0;
    if (live->run->changed >= 0)
        descriptors[count++] = live->run->changed;
    if (live->pane.terminal >= 0)
        descriptors[count++] = live->pane.terminal;
    return count;
}

/* --- drawing --------------------------------------------------------------------------------------------------------- */

static void add_end(const struct live_status *status, char *text, size_t size)
{
    if (WIFSIGNALED(status->wait_status))
        snprintf(text, size, "ended by signal %d (%s)", WTERMSIG(status->wait_status), strsignal(WTERMSIG(status->wait_status)));
    else
        snprintf(text, size, "ended with status %d", WEXITSTATUS(status->wait_status));
}

static void add_elapsed(int64_t elapsed_ns, char *text, size_t size)
{
    int64_t tenths = elapsed_ns / 100000000, seconds = tenths / 10;
    if (seconds < 100)
        snprintf(text, size, "%lld.%lld s", (long long)seconds, (long long)(tenths % 10));
    else
        snprintf(text, size, "%lld min %02lld s", (long long)(seconds / 60), (long long)(seconds % 60));
}

enum colour live_view_state(const struct live_view *live, char *text, size_t size)
{
    const struct live_status *status = &live->status;
    char elapsed[48], end[96];
    add_elapsed(status->elapsed_ns, elapsed, sizeof elapsed);
    add_end(status, end, sizeof end);
    switch (status->stage) {
    case LIVE_RUNS:
        if (live->paused)
            snprintf(text, size, "running %s, paused: p goes on", elapsed);
        else if (status->behind_ns < 0)
            snprintf(text, size, "running %s, no data yet", elapsed);
        else
            snprintf(text, size, "running %s, data %lld.%lld s old", elapsed, (long long)(status->behind_ns / 1000000000), (long long)(status->behind_ns / 100000000 % 10));
        return live->paused ? COLOUR_WARN : COLOUR_GOOD;
    case LIVE_ENDED:
        snprintf(text, size, "%s; making the whole trace", end);
        return COLOUR_WARN;
    case LIVE_COMPLETE:
        snprintf(text, size, "%s, %s", end, live->paused ? "paused: p shows the whole trace" : "the whole trace");
        return COLOUR_ACCENT;
    default:
        snprintf(text, size, "no more data: %s", *status->problem ? status->problem : "the recorder does not say why");
        return COLOUR_BAD;
    }
}

const char *live_view_question(const struct live_view *live)
{
    return live->asked_to_end ? "kill the program at once?  y: yes   any other key: no" : "end the program, as Ctrl-C would?  y: yes   any other key: no";
}

static void draw_waiting(struct app *app, struct area area)
{
    const struct live_view *live = app->live;
    const char *line = live->status.stage == LIVE_FAILED ? "There will be no data." : "Waiting for the first data.";
    canvas_text(&app->canvas, area.y + 1, 2, area.columns - 4, look_of(COLOUR_DEFAULT), line);
    if (live->run->command)
        canvas_name(&app->canvas, area.y + 3, 2, area.columns - 4, look_of(COLOUR_DIM), live->run->command);
}

struct area live_view_place(struct app *app, struct area area)
{
    return program_pane_place(&app->live->pane, area);
}

void live_view_draw(struct app *app, struct area rest)
{
    if (!app->live->has_data && rest.rows > 0)
        draw_waiting(app, rest);
    program_pane_draw(&app->live->pane, &app->canvas);
}

/* --- keys ------------------------------------------------------------------------------------------------------------ */

static void end_program(struct app *app)
{
    struct live_view *live = app->live;
    live->run->end_target(live->run->source);
    app_say(app, live->asked_to_end ? "the program is killed" : "the program was asked to end; K again kills it");
    live->asked_to_end = true;
}

bool live_view_key(struct app *app, uint32_t key)
{
    struct live_view *live = app->live;
    if (live->confirming) {
        live->confirming = false;
        if (key == 'y' || key == 'Y')
            end_program(app);
        return true;
    }
    if (!live->pane.typing)
        return false;
    if (key == KEY_OF_KEYBOARD)
        set_typing(app, false);
    else
        program_pane_key(&live->pane, key);
    return true;
}

static void toggle_pause(struct app *app)
{
    struct live_view *live = app->live;
    if (live->status.stage == LIVE_COMPLETE && !live->paused) {
        app_say(app, "the run has ended: there is nothing newer");
        return;
    }
    live->paused = !live->paused;
    live->take_ns = 0;
}

static void give_keyboard(struct app *app)
{
    struct program_pane *pane = &app->live->pane;
    if (!live_view_runs(app->live) || pane->terminal < 0) {
        app_say(app, "the program has ended");
        return;
    }
    if (pane->size == PANE_HIDDEN)
        pane->size = PANE_PART;
    set_typing(app, true);
}

static bool act_on_pane(struct app *app, enum action action)
{
    struct program_pane *pane = &app->live->pane;
    switch (action) {
    case ACTION_PROGRAM:
        pane->size = pane->size == PANE_HIDDEN ? PANE_PART : PANE_HIDDEN;
        return true;
    case ACTION_PROGRAM_LARGE:
        pane->size = pane->size == PANE_WHOLE ? PANE_PART : PANE_WHOLE;
        return true;
    case ACTION_PROGRAM_KEYBOARD:
        give_keyboard(app);
        return true;
    case ACTION_NEXT_TAB: case ACTION_PREVIOUS_TAB: case ACTION_TAB_NUMBER: case ACTION_CANCEL:
        if (pane->size == PANE_WHOLE)
            pane->size = PANE_PART;
        return false;
    case ACTION_QUIT: case ACTION_HELP: case ACTION_THEME: case ACTION_REDRAW: case ACTION_EXPORT: case ACTION_COPY:
        return false;
    default: /* tabs that are not seen do nothing */
        return pane->size == PANE_WHOLE && (program_pane_act(pane, action), true);
    }
}

bool live_view_act(struct app *app, enum action action)
{
    struct live_view *live = app->live;
    switch (action) {
    case ACTION_FOLLOW:
        toggle_pause(app);
        return true;
    case ACTION_END_PROGRAM:
        live->confirming = live_view_runs(live);
        if (!live->confirming)
            app_say(app, "the program has ended");
        return true;
    case ACTION_PROGRAM: case ACTION_PROGRAM_LARGE: case ACTION_PROGRAM_KEYBOARD:
        if (live->pane.exists)
            return act_on_pane(app, action);
        app_say(app, "the program has no terminal of ours");
        return true;
    default:
        return act_on_pane(app, action);
    }
}
