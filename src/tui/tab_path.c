/* SPDX-License-Identifier: MIT */
/* The Critical Path tab: what the run's time hung on - composition, hops, who made whom wait, near paths. */
#include "list_view.h"
#include "path_job.h"

#include "system/proc_file.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Up to so many spans nobody notices that the path is found; up to so many it begins by itself, of more one is asked first. */
#define SPANS_AT_ONCE 100000
#define SPANS_UNASKED 3000000
/* What a span costs, as measured with ten million of them on two processors: 9 s, 1.9 GB. */
#define NS_PER_SPAN 900
#define BYTES_PER_SPAN 190
#define POLL_MS 50

struct path_tab {
    struct list_view list; /* first: the app remembers it */
    struct path_list rows;
    struct path_result found; /* no report: not yet */
    struct path_job *job;     /* NULL: none runs */
    bool agreed;              /* the user wants it, however long it takes */
    char problem[256];
};

static void forget(struct path_tab *tab)
{
    path_job_drop(TAKE_PTR(tab->job));
    path_result_finish(&tab->found);
    path_list_finish(&tab->rows);
    grid_clear(&tab->list.grid);
    tab->problem[0] = '\0';
}

static void fill(struct app *app, struct path_tab *tab)
{
    if (path_list_fill(app->trace, tab->found.report, &tab->found.blame, &tab->list.grid, &tab->rows) < 0)
        app_say(app, "out of memory for the rows of the critical path");
    grid_search(&tab->list.grid, app_pattern(app));
}

/* Lanes of a run that goes on are not in order yet, which would read as damage. */
static void set_problem(struct app *app, struct path_tab *tab, const struct error *err)
{
    bool is_early = app->live && trace_is_growing(app->trace);
    snprintf(tab->problem, sizeof tab->problem, "%.250s", is_early ? "The critical path comes when the program has ended." : err->text);
}

static void start(struct app *app, struct path_tab *tab)
{
    struct error err = ERROR_INIT;
    int result;
    if (!app->terminal || trace_row_count(app->trace, FAMILY_SPANS) <= SPANS_AT_ONCE) {
        result = path_find(app->trace, app->filter_text, &tab->found, &err);
        if (result == 0)
            fill(app, tab);
    } else {
        result = path_job_start(app->trace, app->filter_text, &tab->job, &err);
    }
    if (result < 0)
        set_problem(app, tab, &err);
}

static bool must_ask(const struct app *app, const struct path_tab *tab)
{
    return !tab->agreed && trace_row_count(app->trace, FAMILY_SPANS) > SPANS_UNASKED;
}

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct path_tab *tab = calloc(1, sizeof *tab);
    (void)app;
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    grid_init(&tab->list.grid, path_list_columns, PATH_LIST_COLUMNS);
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct path_tab *tab = state;
    forget(tab);
    grid_finish(&tab->list.grid);
    free(tab);
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct path_tab *tab = state;
    bool idle = !tab->found.report && !tab->job && !*tab->problem;
    if (!(changes & CHANGED_FILTER) && !idle) { /* a path has no window: it is of the whole run */
        grid_search(&tab->list.grid, app_pattern(app));
        return;
    }
    forget(tab);
    if (!must_ask(app, tab))
        start(app, tab);
}

/* --- drawing --------------------------------------------------------------------------------------------------------- */

static uint64_t memory_available(void)
{
    char text[8192], value[64];
    if (!proc_read_text("", "/proc/meminfo", text, sizeof text) || !proc_find_value(text, "MemAvailable", value, sizeof value))
        return 0;
    return strtoull(value, NULL, 10) * 1024;
}

static void draw_question(struct app *app, struct area area)
{
    uint64_t spans = trace_row_count(app->trace, FAMILY_SPANS), needed = spans * BYTES_PER_SPAN, available = memory_available();
    char count[32], time[32], bytes[32], rest[32];
    struct canvas *canvas = &app->canvas;
    int width = area.columns - 4;
    canvas_textf(canvas, area.y + 1, 2, width, look_of(COLOUR_DEFAULT), "This trace has %s spans. Finding its critical path takes", format_count(count, sizeof count, spans));
    canvas_textf(canvas, area.y + 2, 2, width, look_of(COLOUR_DEFAULT), "about %s on an idle machine and %s of memory", format_duration(time, sizeof time, (int64_t)(spans * NS_PER_SPAN)),
                 format_bytes(bytes, sizeof bytes, needed));
    if (available)
        canvas_textf(canvas, area.y + 3, 2, width, look_of(available < needed ? COLOUR_BAD : COLOUR_DEFAULT), "(%s are free here).", format_bytes(rest, sizeof rest, available));
    canvas_text(canvas, area.y + 5, 2, width, look_bold(COLOUR_ACCENT), "Space finds it.");
    canvas_text(canvas, area.y + 6, 2, width, look_of(COLOUR_DIM), "The other tabs can be used meanwhile; Esc stops it.");
}

static void draw_progress(struct app *app, struct path_tab *tab, struct area area)
{
    char what[64], elapsed[32], bar[128];
    uint64_t done, total;
    int64_t elapsed_ns;
    struct canvas *canvas = &app->canvas;
    path_job_progress(tab->job, what, sizeof what, &done, &total, &elapsed_ns);
    canvas_text(canvas, area.y + 1, 2, area.columns - 4, look_of(COLOUR_DEFAULT), "Finding the critical path ...");
    canvas_textf(canvas, area.y + 3, 2, area.columns - 4, look_of(COLOUR_DEFAULT), "%s  (%s)", what,
                 format_duration(elapsed, sizeof elapsed, elapsed_ns / 100000000 * 100000000));
    if (total) {
        format_bar(bar, sizeof bar, (double)done / (double)total, 1, 30, canvas->utf8);
        canvas_text(canvas, area.y + 4, 2, 30, look_of(COLOUR_ACCENT), bar);
    }
    canvas_text(canvas, area.y + 6, 2, area.columns - 4, look_of(COLOUR_DIM), "The other tabs can be used meanwhile; Esc stops it.");
}

static void look_after_job(struct app *app, struct path_tab *tab)
{
    struct error err = ERROR_INIT;
    if (!path_job_wait(tab->job, POLL_MS)) {
        app->unfinished = true; /* draw its progress again */
        return;
    }
    if (path_job_take(TAKE_PTR(tab->job), &tab->found, &err) < 0)
        set_problem(app, tab, &err);
    else
        fill(app, tab);
}

static void draw(struct app *app, void *state, struct area area)
{
    struct path_tab *tab = state;
    if (tab->job)
        look_after_job(app, tab);
    if (tab->job)
        draw_progress(app, tab, area);
    else if (*tab->problem)
        canvas_text(&app->canvas, area.y + 1, 2, area.columns - 4, look_of(COLOUR_DEFAULT), tab->problem);
    else if (!tab->found.report)
        draw_question(app, area);
    else
        list_draw(&tab->list, app, area);
}

static bool act(struct app *app, void *state, enum action action)
{
    struct path_tab *tab = state;
    if (action == ACTION_FIND_PATH && !tab->job && !tab->found.report) {
        tab->agreed = true;
        tab->problem[0] = '\0';
        start(app, tab);
        return true;
    }
    if (action == ACTION_CANCEL && tab->job) {
        forget(tab);
        tab->agreed = false;
        snprintf(tab->problem, sizeof tab->problem, "Stopped. Space finds the critical path.");
        return true;
    }
    return action != ACTION_SORT && action != ACTION_REVERSE && list_act(&tab->list, app, action);
}

/* --- other tabs ------------------------------------------------------------------------------------------------------ */

static bool subject(struct app *app, void *state, struct subject *ret_subject)
{
    struct path_tab *tab = state;
    const struct grid_row *row = list_row(&tab->list);
    if (!row || !row->id || row->id > tab->rows.count)
        return false;
    const struct path_target *target = &tab->rows.targets[row->id - 1];
    struct subject subject = {.kind = SUBJECT_SPAN, .span = target->span, .name = STRING_NONE, .span_kind = -1, .stack = STACK_NONE, .track = target->track,
                              .begin_ns = target->begin_ns, .end_ns = target->end_ns};
    if (target->kind == PATH_TARGET_LONGEST)
        subject.span = path_list_longest(app->trace, target->name, target->track);
    if (target->kind == PATH_TARGET_PLACE)
        subject.kind = SUBJECT_PLACE;
    if (target->kind == PATH_TARGET_FUNCTION) {
        subject.kind = SUBJECT_FUNCTION;
        subject.name = target->name;
    }
    *ret_subject = subject;
    return target->kind != PATH_TARGET_NONE && (subject.kind != SUBJECT_SPAN || subject.span.index != ID_NONE);
}

/* Back to a row that led away: it is still selected. */
static bool leads_to(struct app *app, struct path_tab *tab, const struct subject *wanted)
{
    struct subject now;
    return subject(app, tab, &now) && now.kind == wanted->kind && now.span.index == wanted->span.index && string_is(now.name, wanted->name) &&
           now.begin_ns == wanted->begin_ns;
}

static bool show(struct app *app, void *state, const struct subject *wanted)
{
    struct path_tab *tab = state;
    if (!tab->found.report || leads_to(app, tab, wanted))
        return tab->found.report != NULL;
    uint64_t row = wanted->kind == SUBJECT_SPAN ? path_list_find(&tab->rows, tab->found.report, wanted->span) : 0;
    if (row)
        list_select_id(&tab->list, row);
    return row != 0;
}

const struct path_hops *path_tab_hops(const struct app *app)
{
    const struct path_tab *tab = app->tabs[TAB_PATH].state;
    return tab && tab->found.report ? tab->found.report->hops : NULL;
}

static bool offers(const struct app *app, const void *state, enum action action)
{
    const struct path_tab *tab = state;
    (void)app;
    return action != ACTION_FIND_PATH || (!tab->job && !tab->found.report);
}

const struct tab tab_path = {
    .title = "Critical Path", .short_title = "Path", .place = KEYS_TEXTS | KEYS_PATH, .next = {TAB_TIMELINE, TAB_HOTSPOTS, TAB_CALL_TREE, -1}, .create = create,
    .destroy = destroy, .draw = draw, .act = act, .offers = offers, .mouse = list_click, .changed = changed, .subject = subject, .show = show, .copy = list_copy, .csv = list_csv,
    .is_list = true,
};
