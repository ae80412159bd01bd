/* SPDX-License-Identifier: MIT */
/* The Hotspots tab: functions and spans by the time they took in the window. */
#include "list_view.h"

#include "view/display_name.h"
#include "view/hotspots.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMN_SELF, COLUMN_PERCENT, COLUMN_BAR, COLUMN_TOTAL, COLUMN_COUNT, COLUMN_MEAN, COLUMN_MIN, COLUMN_MAX, COLUMN_WHERE, COLUMN_NAME, COLUMNS };
static const struct grid_column columns[COLUMNS] = {
    [COLUMN_SELF] = {.title = "self", .width = 9, .right = true, .csv = "self_ns"},
    [COLUMN_PERCENT] = {.title = "%", .width = 5, .right = true, .csv = ""},
    [COLUMN_BAR] = {.title = "", .width = 8, .bar = true, .drop = 6},
    [COLUMN_TOTAL] = {.title = "total", .width = 9, .right = true, .drop = 1, .csv = "total_ns"},
    [COLUMN_COUNT] = {.title = "count", .width = 10, .right = true, .drop = 3, .csv = "count"},
    [COLUMN_MEAN] = {.title = "mean", .width = 9, .right = true, .drop = 7, .csv = "mean_ns"},
    [COLUMN_MIN] = {.title = "min", .width = 9, .right = true, .drop = 9, .csv = "min_ns"},
    [COLUMN_MAX] = {.title = "max", .width = 9, .right = true, .drop = 8, .csv = "max_ns"},
    [COLUMN_WHERE] = {.title = "module/category", .width = 16, .drop = 4, .sorts_up = true, .csv = "module_or_category"},
    [COLUMN_NAME] = {.title = "name", .width = 24, .sorts_up = true},
};

struct hotspots_tab {
    struct list_view list;
    struct hotspots *hotspots;
};

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct hotspots_tab *tab = calloc(1, sizeof *tab);
    (void)app;
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    grid_init(&tab->list.grid, columns, COLUMNS);
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct hotspots_tab *tab = state;
    grid_finish(&tab->list.grid);
    hotspots_destroy(tab->hotspots);
    free(tab);
}

static const char *where_text(struct app *app, const struct hotspot *row)
{
    uint32_t count;
    const struct trace_module *modules = trace_modules(app->trace, &count);
    if (row->group != HOTSPOT_SAMPLES)
        return row->category.index ? trace_text(app->trace, row->category) : span_kind_name(row->kind);
    const char *path = row->module.index < count ? trace_text(app->trace, modules[row->module.index].path) : "";
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void add_times(struct grid *grid, const struct hotspot *row, const struct time_unit *unit)
{
    char text[32];
    int64_t mean_ns = row->count ? row->total_ns / (int64_t)row->count : 0;
    grid_set(grid, COLUMN_SELF, (double)row->self_ns, format_in_unit(text, sizeof text, row->self_ns, unit));
    grid_set(grid, COLUMN_TOTAL, (double)row->total_ns, format_in_unit(text, sizeof text, row->total_ns, unit));
    grid_set(grid, COLUMN_COUNT, (double)row->count, format_count(text, sizeof text, row->count));
    if (row->group == HOTSPOT_SAMPLES)
        return; /* a sample has no length */
    grid_set(grid, COLUMN_MEAN, (double)mean_ns, format_duration(text, sizeof text, mean_ns));
    grid_set(grid, COLUMN_MIN, (double)row->min_ns, format_duration(text, sizeof text, row->min_ns));
    grid_set(grid, COLUMN_MAX, (double)row->max_ns, format_duration(text, sizeof text, row->max_ns));
}

static void add_row(struct app *app, struct hotspots_tab *tab, size_t index, const struct time_unit *unit)
{
    struct grid *grid = &tab->list.grid;
    const struct hotspot *row = &tab->hotspots->rows[index];
    double whole = (double)tab->hotspots->self_ns[row->group];
    struct text name = TEXT_INIT;
    char text[32];
    struct grid_row *shown = grid_add(grid, index + 1, row->self_ns ? GRID_PLAIN : GRID_DIM);
    if (!shown)
        return;
    shown->colour = (uint8_t)(row->group == HOTSPOT_SAMPLES     ? palette_for_frame(row->module.index, row->name.index, false)
                              : span_kind_waits(row->kind) ? COLOUR_WAIT_TEXT
                                                           : palette_for_span(row->kind, row->category, row->name));
    add_times(grid, row, unit);
    grid_set(grid, COLUMN_PERCENT, (double)row->self_ns, format_percent(text, sizeof text, (double)row->self_ns, whole));
    grid_set(grid, COLUMN_BAR, whole > 0 ? (double)row->self_ns / whole : 0, "");
    grid_set(grid, COLUMN_WHERE, 0, where_text(app, row));
    text_add_display_name(&name, trace_text(app->trace, row->name));
    grid_set(grid, COLUMN_NAME, 0, name.length ? name.data : row->group == HOTSPOT_SAMPLES ? "[unknown]" : span_kind_name(row->kind));
    text_finish(&name);
}

static void fill(struct app *app, struct hotspots_tab *tab)
{
    static const char *const titles[HOTSPOT_GROUPS] = {"Functions", "Spans", "Off the CPU"};
    static const char *const explanations[HOTSPOT_GROUPS] = {"by CPU samples; total: with what they call", "self: without what they contain on their lane",
                                                             "times in which threads were blocked or preempted"};
    const struct hotspots *hotspots = tab->hotspots;
    struct grid *grid = &tab->list.grid;
    size_t index = 0;
    grid_clear(grid);
    for (int group = 0; group < HOTSPOT_GROUPS; group++) {
        const struct time_unit *unit = time_unit_for(hotspots->largest_ns[group]);
        char explanation[96];
        snprintf(explanation, sizeof explanation, "in %s, %s", unit->name, explanations[group]);
        if (hotspots->group_count[group])
            grid_heading(grid, titles[group], explanation);
        for (size_t end = index + hotspots->group_count[group]; index < end; index++)
            add_row(app, tab, index, unit);
    }
    if (!hotspots->count && grid_add(grid, 0, GRID_FREE))
        grid_set(grid, 0, 0, app->filter ? "nothing matches the filter in this window" : "no span and no sample lies in this window");
    if (grid->sort_column >= 0)
        grid_sort(grid, grid->sort_column, grid->sort_up);
    grid_search(grid, app_pattern(app));
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct hotspots_tab *tab = state;
    struct error err = ERROR_INIT;
    struct hotspot_options options = {.where = app->filter, .has_window = !app_window_is_all(app), .begin_ns = app->begin_ns, .end_ns = app->end_ns};
    if (!(changes & (CHANGED_WINDOW | CHANGED_FILTER))) {
        grid_search(&tab->list.grid, app_pattern(app));
        return;
    }
    hotspots_destroy(TAKE_PTR(tab->hotspots));
    if (hotspots_create(app->trace, &options, &tab->hotspots, &err) < 0) {
        grid_clear(&tab->list.grid);
        app_say(app, "%s", err.text);
        return;
    }
    fill(app, tab);
}

static void draw(struct app *app, void *state, struct area area)
{
    struct hotspots_tab *tab = state;
    list_draw(&tab->list, app, area);
}

static bool act(struct app *app, void *state, enum action action)
{
    struct hotspots_tab *tab = state;
    if (action == ACTION_RESET || action == ACTION_CANCEL) {
        tab->list.grid.sort_column = -1;
        if (tab->hotspots)
            fill(app, tab);
        return true;
    }
    return list_act(&tab->list, app, action);
}

static bool subject(struct app *app, void *state, struct subject *ret_subject)
{
    struct hotspots_tab *tab = state;
    const struct grid_row *row = list_row(&tab->list);
    (void)app;
    if (!row || !tab->hotspots || row->id > tab->hotspots->count)
        return false;
    const struct hotspot *hotspot = &tab->hotspots->rows[row->id - 1];
    *ret_subject = (struct subject){hotspot->group == HOTSPOT_SAMPLES ? SUBJECT_FUNCTION : SUBJECT_NAME, SPAN_NONE, hotspot->name,
                                    hotspot->group == HOTSPOT_SAMPLES ? -1 : (int)hotspot->kind, STACK_NONE};
    return true;
}

static bool show(struct app *app, void *state, const struct subject *wanted)
{
    struct hotspots_tab *tab = state;
    (void)app;
    for (size_t i = 0; tab->hotspots && i < tab->hotspots->count; i++) {
        const struct hotspot *row = &tab->hotspots->rows[i];
        bool function = row->group == HOTSPOT_SAMPLES, wants_function = wanted->kind == SUBJECT_FUNCTION || wanted->kind == SUBJECT_STACK;
        if (!string_is(row->name, wanted->name) || function != wants_function || (!function && wanted->span_kind >= 0 && wanted->span_kind != (int)row->kind))
            continue;
        list_select_id(&tab->list, i + 1);
        return true;
    }
    return false;
}

const struct tab tab_hotspots = {
    .title = "Hotspots", .short_title = "Hotspots", .place = KEYS_LISTS, .next = {TAB_TIMELINE, TAB_CALL_TREE, TAB_FLAME, -1}, .create = create, .destroy = destroy, .draw = draw,
    .act = act, .mouse = list_click, .changed = changed, .subject = subject, .show = show, .copy = list_copy, .csv = list_csv, .is_list = true,
};
