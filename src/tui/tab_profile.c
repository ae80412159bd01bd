/* SPDX-License-Identifier: MIT */
/* The Profile tab: the run at a glance - what it did with its time, by category, device and function, and what could be better. */
#include "list_view.h"
#include "live_view.h"

#include "analysis/device_activity.h"
#include "view/advice_lines.h"
#include "view/display_name.h"
#include "view/hotspots.h"
#include "view/units.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOP 12
#define DEVICE_SPANS_MAX 300000
#define CATEGORIES_MAX 64
#define ADVICE_ID (UINT64_C(1) << 32) /* and more: rows of advice; lower ones are hotspots */
#define JUDGED_ID (ADVICE_ID - 1)     /* what was judged: leads nowhere */
#define ADVICE_CELLS 74               /* its texts are wrapped for the least screen */

static const struct grid_column columns[] = {
    {.title = "", .width = 10, .right = true, .csv = "time_ns"},
    {.title = "", .width = 5, .right = true, .csv = ""},
    {.title = "", .width = 12, .bar = true, .drop = 2},
    {.title = "", .width = 12, .right = true, .drop = 1, .csv = "count"},
    {.title = "", .width = 44, .csv = "name"}};
enum { COLUMN_TIME, COLUMN_PERCENT, COLUMN_BAR, COLUMN_COUNT, COLUMN_NAME };

struct profile_tab {
    struct list_view list;
    struct hotspots *hotspots;
    struct advices *advices; /* of the whole run, whatever window and filter are; NULL: not yet, or advice_problem */
    char advice_problem[256];
};

static void add(struct grid *grid, uint64_t id, int64_t time_ns, double whole, const char *count, const char *name, enum colour colour)
{
    char text[32];
    struct grid_row *row = grid_add(grid, id, GRID_PLAIN);
    if (!row)
        return;
    row->colour = (uint8_t)colour;
    grid_set(grid, COLUMN_TIME, (double)time_ns, format_duration(text, sizeof text, time_ns));
    grid_set(grid, COLUMN_PERCENT, 0, format_percent(text, sizeof text, (double)time_ns, whole));
    grid_set(grid, COLUMN_BAR, whole > 0 ? (double)time_ns / whole : 0, "");
    grid_set(grid, COLUMN_COUNT, 0, count);
    grid_set(grid, COLUMN_NAME, 0, name);
}

/* --- by kind --------------------------------------------------------------------------------------------------------- */

struct category {
    string_id category;
    enum span_kind kind;
    int64_t self_ns;
    uint64_t count;
};

static int more_time(const void *left, const void *right)
{
    const struct category *a = left, *b = right;
    return (a->self_ns < b->self_ns) - (a->self_ns > b->self_ns);
}

static size_t sum_categories(const struct hotspots *hotspots, struct category *categories)
{
    size_t count = 0;
    for (size_t i = 0; i < hotspots->count; i++) {
        const struct hotspot *row = &hotspots->rows[i];
        size_t at = 0;
        if (row->group != HOTSPOT_SPANS)
            continue;
        while (at < count && !(string_is(categories[at].category, row->category) && categories[at].kind == row->kind))
            at++;
        if (at == count && count == CATEGORIES_MAX)
            continue;
        if (at == count)
            categories[count++] = (struct category){row->category, row->kind, 0, 0};
        categories[at].self_ns += row->self_ns;
        categories[at].count += row->count;
    }
    qsort(categories, count, sizeof *categories, more_time);
    return count;
}

static void add_categories(struct app *app, struct profile_tab *tab)
{
    struct category categories[CATEGORIES_MAX] = {0};
    size_t count = sum_categories(tab->hotspots, categories);
    if (count)
        grid_heading(&tab->list.grid, "Time in spans", "self time of all lanes, by backend and kind");
    for (size_t i = 0; i < count; i++) {
        char name[160], calls[32];
        const char *category = trace_text(app->trace, categories[i].category);
        snprintf(name, sizeof name, "%.100s%s%s%s", category, *category ? " " : "", span_kind_name(categories[i].kind),
                 span_kind_waits(categories[i].kind) ? "  (waits)" : "");
        add(&tab->list.grid, 0, categories[i].self_ns, (double)tab->hotspots->self_ns[HOTSPOT_SPANS],
            format_count(calls, sizeof calls, categories[i].count), name,
            span_kind_waits(categories[i].kind) ? COLOUR_WAIT_TEXT : palette_for_span(categories[i].kind, categories[i].category, STRING_NONE));
    }
}

/* --- hotspots -------------------------------------------------------------------------------------------------------- */

static void add_top(struct app *app, struct profile_tab *tab, enum hotspot_group group, const char *title, const char *explanation)
{
    const struct hotspots *hotspots = tab->hotspots;
    unsigned shown = 0;
    if (hotspots->group_count[group])
        grid_heading(&tab->list.grid, title, explanation);
    for (size_t i = 0; i < hotspots->count && shown < TOP; i++) {
        const struct hotspot *row = &hotspots->rows[i];
        char count[32];
        struct text name = TEXT_INIT;
        if (row->group != group || !row->self_ns)
            continue;
        text_add_display_name(&name, trace_text(app->trace, row->name));
        add(&tab->list.grid, i + 1, row->self_ns, (double)hotspots->self_ns[group], format_count(count, sizeof count, row->count),
            name.length ? name.data : span_kind_name(row->kind),
            group == HOTSPOT_SAMPLES ? palette_for_frame(row->module.index, row->name.index, false)
            : span_kind_waits(row->kind) ? COLOUR_WAIT_TEXT : palette_for_span(row->kind, row->category, row->name));
        text_finish(&name);
        shown++;
    }
}

/* --- the run --------------------------------------------------------------------------------------------------------- */

static void add_line(struct grid *grid, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_line(struct grid *grid, const char *format, ...)
{
    char text[600];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (grid_add(grid, 0, GRID_FREE))
        grid_set(grid, 0, 0, text);
}

static void add_cpu(struct app *app, struct profile_tab *tab)
{
    const struct hotspots *hotspots = tab->hotspots;
    int64_t window_ns = app->end_ns - app->begin_ns, cpu_ns = hotspots->self_ns[HOTSPOT_SAMPLES];
    char text[32], off[32];
    if (trace_row_count(app->trace, FAMILY_SAMPLES))
        add_line(&tab->list.grid, "on the CPU %s by samples: %.2f CPUs busy on average", format_duration(text, sizeof text, cpu_ns), (double)cpu_ns / (double)window_ns);
    if (hotspots->group_count[HOTSPOT_OFF_CPU])
        add_line(&tab->list.grid, "off the CPU %s, of all threads together", format_duration(off, sizeof off, hotspots->self_ns[HOTSPOT_OFF_CPU]));
}

/* Spans on lanes of devices. */
static uint64_t count_device_spans(struct app *app)
{
    uint32_t track_count;
    uint64_t rows = 0;
    const struct trace_track *tracks = trace_tracks(app->trace, &track_count);
    for (uint32_t i = 0; i < trace_block_count(app->trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(app->trace, FAMILY_SPANS, i);
        bool device = info.track.index < track_count && (tracks[info.track.index].kind == TRACK_KIND_STREAM || tracks[info.track.index].kind == TRACK_KIND_DEVICE);
        rows += device ? info.count : 0;
    }
    return rows;
}

static void add_device(struct app *app, struct profile_tab *tab, const struct device_activity *device)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(app->trace, &count);
    char name[300], kernels[32], copies[32], idle[32];
    int64_t whole_ns = device->end_ns - device->begin_ns;
    snprintf(name, sizeof name, "device %d of %s %d: %s kernels, %s copied, idle %s", device->device, trace_text(app->trace, device->category),
             device->process.index < count ? processes[device->process.index].pid : -1, format_count(kernels, sizeof kernels, device->kernels),
             format_bytes(copies, sizeof copies, device->copy_bytes), format_duration(idle, sizeof idle, device->idle_ns));
    add(&tab->list.grid, 0, whole_ns - device->idle_ns, (double)whole_ns, "busy", name, COLOUR_DEFAULT);
}

static void add_devices(struct app *app, struct profile_tab *tab)
{
    struct device_activities *activities;
    struct error err = ERROR_INIT;
    uint64_t spans = count_device_spans(app);
    if (!spans)
        return;
    grid_heading(&tab->list.grid, "Devices", "in the whole run: something ran, of the time from the first begin to the last end");
    if (spans > DEVICE_SPANS_MAX) {
        add_line(&tab->list.grid, "more spans than are summed up while one waits: `hprofiler summary` has them");
        return;
    }
    if (device_activities_create(app->trace, app->filter, NULL, &activities, &err) < 0) {
        add_line(&tab->list.grid, "%s", err.text);
        return;
    }
    for (size_t i = 0; i < activities->device_count; i++)
        add_device(app, tab, &activities->devices[i]);
    device_activities_destroy(activities);
}

/* --- advice ---------------------------------------------------------------------------------------------------------- */

static void make_advice(struct app *app, struct profile_tab *tab)
{
    struct error err = ERROR_INIT;
    if (tab->advices || *tab->advice_problem)
        return;
    if (trace_is_growing(app->trace))
        snprintf(tab->advice_problem, sizeof tab->advice_problem, "once the recording is over");
    else if (advices_create(app->trace, NULL, NULL, &tab->advices, &err) < 0)
        snprintf(tab->advice_problem, sizeof tab->advice_problem, "%.200s", err.text);
}

static enum colour severity_colour(uint8_t severity)
{
    return severity == ADVICE_HIGH ? COLOUR_BAD : severity == ADVICE_LOW || severity == ADVICE_DATA ? COLOUR_DEFAULT : COLOUR_WARN;
}

static void add_advice(struct app *app, struct profile_tab *tab)
{
    const struct advices *advices = tab->advices;
    if (!advices || !advices->count)
        return;
    grid_heading(&tab->list.grid, "Advice", "what each could give back of the run at most; why: below");
    for (size_t i = 0; i < advices->count; i++) {
        const struct advice *advice = &advices->rows[i];
        struct text title = TEXT_INIT;
        text_add_advice_title(&title, app->trace, advice);
        add(&tab->list.grid, ADVICE_ID + i, advice->bound_ns < 0 ? 0 : advice->bound_ns, (double)advices->run_ns,
            advice_severity_name(advice->severity), title.data ? title.data : "", severity_colour(advice->severity));
        if (advice->bound_ns < 0) { /* not a time */
            grid_set(&tab->list.grid, COLUMN_TIME, -1, "");
            grid_set(&tab->list.grid, COLUMN_PERCENT, -1, "");
        }
        text_finish(&title);
    }
}

/* A line of the grid for each line of the text. */
static void add_wrapped(struct grid *grid, uint64_t id, const char *prefix, const struct text *text)
{
    const struct text_look look = {.width = ADVICE_CELLS, .utf8 = true};
    struct text wrapped = TEXT_INIT;
    text_add_string(&wrapped, prefix);
    text_add_wrapped(&wrapped, &look, text_cells(prefix, strlen(prefix)), 4, text->data ? text->data : "");
    for (char *line = wrapped.data, *end; line && *line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = '\0';
        else
            end = line + strlen(line);
        if (grid_add(grid, id, GRID_FREE))
            grid_set(grid, 0, 0, line);
    }
    text_finish(&wrapped);
}

static void add_reasons(struct app *app, struct profile_tab *tab)
{
    const struct advices *advices = tab->advices;
    struct grid *grid = &tab->list.grid;
    struct text judged = TEXT_INIT;
    grid_heading(grid, "Why", "the numbers behind the advice, and what to do: of the whole run");
    if (advices)
        text_add_advice_judged(&judged, advices);
    else
        text_addf(&judged, "no advice: %s", tab->advice_problem);
    add_wrapped(grid, JUDGED_ID, "", &judged);
    text_finish(&judged);
    for (size_t i = 0; advices && i < advices->count; i++) {
        const struct advice *advice = &advices->rows[i];
        struct text text = TEXT_INIT;
        text_add_advice_title(&text, app->trace, advice);
        add_wrapped(grid, ADVICE_ID + i, "", &text);
        text_clear(&text);
        text_add_advice_evidence(&text, app->trace, advice);
        add_wrapped(grid, ADVICE_ID + i, "    ", &text);
        text_clear(&text);
        text_addf(&text, "%s (%s)", advice_rule_text(advice->rule)->remedy, advice_rule_text(advice->rule)->id);
        add_wrapped(grid, ADVICE_ID + i, "    ", &text);
        text_finish(&text);
    }
}

static void fill(struct app *app, struct profile_tab *tab)
{
    struct grid *grid = &tab->list.grid;
    const char *command = trace_metadata(app->trace, "command");
    char length[32], begin[32], title[400];
    grid_clear(grid);
    snprintf(title, sizeof title, "%.300s", command && *command ? command : app->path);
    grid_heading(grid, title, "");
    if (app_window_is_all(app))
        add_line(grid, "all of it: %s", format_duration(length, sizeof length, app->end_ns - app->begin_ns));
    else
        add_line(grid, "the Timeline's window: %s from %s on", format_duration(length, sizeof length, app->end_ns - app->begin_ns), format_duration(begin, sizeof begin, app->begin_ns));
    add_cpu(app, tab);
    if (live_view_incomplete(app))
        add_line(grid, "%s", live_view_incomplete(app));
    make_advice(app, tab);
    add_advice(app, tab);
    add_devices(app, tab);
    add_categories(app, tab);
    add_top(app, tab, HOTSPOT_SAMPLES, "Functions", "by CPU samples, self time");
    add_top(app, tab, HOTSPOT_SPANS, "Spans", "self time: without what they contain");
    add_reasons(app, tab);
    grid_search(grid, app_pattern(app));
}

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct profile_tab *tab = calloc(1, sizeof *tab);
    (void)app;
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    grid_init(&tab->list.grid, columns, sizeof columns / sizeof *columns);
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct profile_tab *tab = state;
    grid_finish(&tab->list.grid);
    hotspots_destroy(tab->hotspots);
    advices_destroy(tab->advices);
    free(tab);
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct profile_tab *tab = state;
    struct error err = ERROR_INIT;
    struct hotspot_options options = {.where = app->filter, .has_window = !app_window_is_all(app), .begin_ns = app->begin_ns, .end_ns = app->end_ns};
    if (!(changes & (CHANGED_WINDOW | CHANGED_FILTER))) {
        grid_search(&tab->list.grid, app_pattern(app));
        return;
    }
    hotspots_destroy(TAKE_PTR(tab->hotspots));
    if (hotspots_create(app->trace, &options, &tab->hotspots, &err) < 0)
        app_say(app, "%s", err.text);
    else
        fill(app, tab);
}

static void draw(struct app *app, void *state, struct area area)
{
    struct profile_tab *tab = state;
    list_draw(&tab->list, app, area);
}

static bool act(struct app *app, void *state, enum action action)
{
    struct profile_tab *tab = state;
    return action != ACTION_SORT && action != ACTION_REVERSE && list_act(&tab->list, app, action);
}

/* A function, spans of a name, or else the lane. */
static bool advice_subject(const struct app *app, const struct advice *advice, struct subject *ret_subject)
{
    span_id span = advice_lane_span(app->trace, advice);
    if (advice->subject == ADVICE_ABOUT_FUNCTION)
        *ret_subject = (struct subject){SUBJECT_FUNCTION, SPAN_NONE, advice->name, -1, STACK_NONE};
    else if (advice->subject == ADVICE_ABOUT_SPANS)
        *ret_subject = (struct subject){SUBJECT_NAME, SPAN_NONE, advice->name, advice->kind == SPAN_KIND_UNKNOWN ? -1 : advice->kind, STACK_NONE};
    else if (span.index != ID_NONE)
        *ret_subject = (struct subject){SUBJECT_SPAN, span, STRING_NONE, SPAN_KIND_COUNT, STACK_NONE}; /* of no kind: only the Timeline has it */
    else
        return false;
    return true;
}

static bool subject(struct app *app, void *state, struct subject *ret_subject)
{
    struct profile_tab *tab = state;
    const struct grid_row *row = list_row(&tab->list);
    if (row && tab->advices && row->id >= ADVICE_ID && row->id - ADVICE_ID < tab->advices->count)
        return advice_subject(app, &tab->advices->rows[row->id - ADVICE_ID], ret_subject);
    if (!row || !row->id || !tab->hotspots || row->id > tab->hotspots->count)
        return false;
    const struct hotspot *hotspot = &tab->hotspots->rows[row->id - 1];
    *ret_subject = (struct subject){hotspot->group == HOTSPOT_SAMPLES ? SUBJECT_FUNCTION : SUBJECT_NAME, SPAN_NONE, hotspot->name,
                                    hotspot->group == HOTSPOT_SAMPLES ? -1 : (int)hotspot->kind, STACK_NONE};
    return true;
}

static bool show(struct app *app, void *state, const struct subject *wanted)
{
    (void)app;
    (void)state;
    return wanted->kind != SUBJECT_NONE; /* the selection is as it was left */
}

const struct tab tab_profile = {
    .title = "Profile", .short_title = "Profile", .place = KEYS_TEXTS, .next = {TAB_HOTSPOTS, TAB_TIMELINE, -1}, .create = create, .destroy = destroy, .draw = draw, .act = act, .mouse = list_click,
    .changed = changed, .subject = subject, .show = show, .copy = list_copy, .csv = list_csv, .is_list = true,
};
