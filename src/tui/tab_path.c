/* SPDX-License-Identifier: MIT */
/* The Critical Path tab: what the run's time hung on - composition, hops, who made whom wait, near paths. */
#include "list_view.h"

#include "analysis/wait_states.h"
#include "base/array.h"
#include "view/lane_label.h"
#include "view/path_report.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPANS_MAX 3000000 /* a graph of more takes longer than one wants to wait before a screen */
#define COMPOSITION_MAX 200
#define HOPS_MAX 2000
#define BLAME_MAX 100
#define NEAR_MAX 50

enum { COLUMN_TIME, COLUMN_PERCENT, COLUMN_BAR, COLUMN_COUNT, COLUMN_SURE, COLUMN_LANE, COLUMN_NAME, COLUMNS };
static const struct grid_column columns[COLUMNS] = {
    [COLUMN_TIME] = {.title = "time", .width = 10, .right = true},
    [COLUMN_PERCENT] = {.title = "%", .width = 5, .right = true},
    [COLUMN_BAR] = {.title = "", .width = 8, .bar = true, .drop = 4},
    [COLUMN_COUNT] = {.title = "count", .width = 8, .right = true, .drop = 3},
    [COLUMN_SURE] = {.title = "proof", .width = 11, .drop = 2},
    [COLUMN_LANE] = {.title = "lane", .width = 22, .drop = 1},
    [COLUMN_NAME] = {.title = "what", .width = 24},
};

/* What Enter leads to, by row id - 1. */
struct path_tab {
    struct list_view list;
    struct path_report *report;
    span_id *spans;
    size_t span_count, span_capacity;
    char problem[256];
};

static uint64_t row_id(struct path_tab *tab, span_id span)
{
    span_id *spans = array_reserve(tab->spans, &tab->span_capacity, tab->span_count + 1, sizeof *spans);
    if (!spans)
        return 0;
    tab->spans = spans;
    spans[tab->span_count++] = span;
    return tab->span_count;
}

static struct grid_row *add(struct path_tab *tab, span_id span, int64_t time_ns, uint64_t count, const char *sure, const char *lane, const char *name)
{
    struct grid *grid = &tab->list.grid;
    char text[32];
    double whole = (double)tab->report->path->length_ns;
    struct grid_row *row = grid_add(grid, row_id(tab, span), GRID_PLAIN);
    if (!row)
        return NULL;
    grid_set(grid, COLUMN_TIME, (double)time_ns, format_duration(text, sizeof text, time_ns));
    grid_set(grid, COLUMN_PERCENT, (double)time_ns, format_percent(text, sizeof text, (double)time_ns, whole));
    grid_set(grid, COLUMN_BAR, whole > 0 ? (double)time_ns / whole : 0, "");
    grid_set(grid, COLUMN_COUNT, (double)count, count ? format_count(text, sizeof text, count) : "");
    grid_set(grid, COLUMN_SURE, 0, sure);
    grid_set(grid, COLUMN_LANE, 0, lane);
    grid_set(grid, COLUMN_NAME, 0, name);
    return row;
}

static void add_line(struct grid *grid, const char *text)
{
    if (grid_add(grid, 0, GRID_FREE))
        grid_set(grid, 0, 0, text);
}

/* --- parts ----------------------------------------------------------------------------------------------------------- */

static void add_head(struct path_tab *tab)
{
    const struct critical_path *path = tab->report->path;
    char length[32], makespan[32], explained[32], low[32], high[32], text[400];
    grid_heading(&tab->list.grid, "Critical path", "of the whole run: nothing on it can take less without a shorter run");
    snprintf(text, sizeof text, "%s long, of a run of %s; %s of it explained", format_duration(length, sizeof length, path->length_ns),
             format_duration(makespan, sizeof makespan, path->makespan_ns), format_duration(explained, sizeof explained, path->explained_ns));
    add_line(&tab->list.grid, text);
    if (path->length_low_ns != path->length_high_ns) {
        snprintf(text, sizeof text, "within what the clocks of its lanes allow: %s to %s", format_duration(low, sizeof low, path->length_low_ns),
                 format_duration(high, sizeof high, path->length_high_ns));
        add_line(&tab->list.grid, text);
    }
}

static void add_composition(struct path_tab *tab)
{
    const struct path_rows *rows = tab->report->rows;
    grid_heading(&tab->list.grid, "Composition", "what was done on which lane; proof: the least sure of its edges");
    for (size_t i = 0; i < rows->count && i < COMPOSITION_MAX; i++) {
        const struct path_row *row = &rows->rows[i];
        char name[600];
        snprintf(name, sizeof name, "%s%s%.500s", row->category, *row->category ? " " : "", *row->name ? row->name : row->kind);
        struct grid_row *shown = add(tab, SPAN_NONE, row->time_ns, row->count, row->explained ? confidence_name((enum confidence)row->confidence) : "unexplained", row->lane, name);
        if (shown && !row->explained)
            shown->style = GRID_WARN;
    }
}

static void add_hop(struct app *app, struct path_tab *tab, const struct path_fold *fold, uint32_t at)
{
    struct path_hop hop = path_fold_hop(tab->report->hops, fold, at);
    struct path_part part = path_hop_part(&hop);
    struct text name = TEXT_INIT, lane = TEXT_INIT;
    bool unexplained = part.state == PATH_UNEXPLAINED || part.state == PATH_START;
    path_part_name(app->trace, tab->report->activities, &part, &name);
    text_add_lane_label(&lane, app->trace, hop.track);
    struct grid_row *row = add(tab, hop.span, hop.duration_ns, fold->repeats, unexplained ? "unexplained" : confidence_name((enum confidence)hop.confidence),
                               lane.data ? lane.data : "", name.data ? name.data : path_state_name((enum path_state)hop.state));
    if (row && unexplained)
        row->style = GRID_WARN;
    else if (row && part.state == PATH_EDGE)
        row->style = GRID_DIM;
    if (row)
        row->depth = fold->repeats > 1;
    text_finish(&name);
    text_finish(&lane);
}

static void add_hops(struct app *app, struct path_tab *tab)
{
    const struct path_hops *hops = tab->report->hops;
    size_t shown = 0;
    grid_heading(&tab->list.grid, "Hops", "in order of time; repeated sequences once, indented, with their count; Enter: on the timeline");
    for (size_t f = 0; f < hops->fold_count && shown < HOPS_MAX; f++)
        for (uint32_t at = 0; at < hops->folds[f].period; at++, shown++)
            add_hop(app, tab, &hops->folds[f], at);
}

static void add_blame(struct app *app, struct path_tab *tab)
{
    CLEANUP(freep) struct wait_blame *rows = NULL;
    struct error err = ERROR_INIT;
    size_t count = 0;
    if (wait_blame_create(app->trace, NULL, &rows, &count, &err) < 0) {
        add_line(&tab->list.grid, err.text);
        return;
    }
    if (count)
        grid_heading(&tab->list.grid, "Blame", "waits of all lanes, by who made them wait");
    for (size_t i = 0; i < count && i < BLAME_MAX; i++) {
        struct text lane = TEXT_INIT, name = TEXT_INIT;
        const char *cause = trace_text(app->trace, rows[i].cause), *victim = trace_text(app->trace, rows[i].victim);
        text_add_lane_label(&lane, app->trace, rows[i].cause_lane);
        text_addf(&name, "%s made ", *cause ? cause : "its code");
        text_add_lane_label(&name, app->trace, rows[i].victim_lane);
        text_addf(&name, " wait in %s", *victim ? victim : "no call");
        add(tab, SPAN_NONE, rows[i].time_ns, rows[i].count, confidence_name((enum confidence)rows[i].confidence), lane.data ? lane.data : "unknown", name.data ? name.data : "");
        text_finish(&lane);
        text_finish(&name);
    }
}

static void add_near(struct app *app, struct path_tab *tab)
{
    const struct critical_path *path = tab->report->path;
    const struct dependency_graph *graph = tab->report->graph;
    if (path->near_count)
        grid_heading(&tab->list.grid, "Near paths", "ways that would be critical if they took so much longer");
    for (uint32_t i = 0; i < path->near_count && i < NEAR_MAX; i++) {
        const struct near_path *near = &path->near_paths[i];
        uint32_t lane = graph->lane[near->from];
        struct text label = TEXT_INIT;
        if (lane != LANE_NONE)
            text_add_lane_label(&label, app->trace, graph->lanes[lane].track);
        add(tab, graph->span[near->from], near->slack_ns, 0, near->edge != EDGE_NONE ? confidence_name(graph->edges[near->edge].confidence) : "certain",
            label.data ? label.data : "", near->edge != EDGE_NONE ? edge_rule_text(graph->edges[near->edge].rule) : "along its lane");
        text_finish(&label);
    }
}

/* --- the tab --------------------------------------------------------------------------------------------------------- */

static void remake(struct app *app, struct path_tab *tab)
{
    struct error err = ERROR_INIT;
    struct path_report_options options = {.where = app->filter, .by = PATH_BY_ACTIVITY};
    path_report_destroy(TAKE_PTR(tab->report));
    grid_clear(&tab->list.grid);
    tab->span_count = 0;
    tab->problem[0] = '\0';
    if (trace_row_count(app->trace, FAMILY_SPANS) > SPANS_MAX)
        snprintf(tab->problem, sizeof tab->problem, "This trace has so many spans that the path takes a while: `hprofiler critical-path TRACE` finds it.");
    else if (path_report_create(app->trace, &options, NULL, &tab->report, &err) < 0)
        snprintf(tab->problem, sizeof tab->problem, "%.250s", err.text);
    if (!tab->report)
        return;
    add_head(tab);
    add_composition(tab);
    add_blame(app, tab);
    add_near(app, tab);
    add_hops(app, tab);
    grid_search(&tab->list.grid, app_pattern(app));
}

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct path_tab *tab = calloc(1, sizeof *tab);
    (void)app;
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    grid_init(&tab->list.grid, columns, COLUMNS);
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct path_tab *tab = state;
    grid_finish(&tab->list.grid);
    path_report_destroy(tab->report);
    free(tab->spans);
    free(tab);
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct path_tab *tab = state;
    if ((changes & CHANGED_FILTER) || (!tab->report && !*tab->problem)) /* a path has no window: it is of the whole run */
        remake(app, tab);
    else
        grid_search(&tab->list.grid, app_pattern(app));
}

static void draw(struct app *app, void *state, struct area area)
{
    struct path_tab *tab = state;
    if (*tab->problem)
        canvas_text(&app->canvas, area.y + 1, 2, area.columns - 4, look_of(COLOUR_DEFAULT), tab->problem);
    else
        list_draw(&tab->list, app, area);
}

static bool act(struct app *app, void *state, enum action action)
{
    struct path_tab *tab = state;
    return action != ACTION_SORT && action != ACTION_REVERSE && list_act(&tab->list, app, action);
}

static bool subject(struct app *app, void *state, struct subject *ret_subject)
{
    struct path_tab *tab = state;
    const struct grid_row *row = list_row(&tab->list);
    (void)app;
    if (!row || !row->id || row->id > tab->span_count || tab->spans[row->id - 1].index == ID_NONE)
        return false;
    *ret_subject = (struct subject){SUBJECT_SPAN, tab->spans[row->id - 1], STRING_NONE, -1, STACK_NONE};
    return true;
}

static bool show(struct app *app, void *state, const struct subject *wanted)
{
    struct path_tab *tab = state;
    (void)app;
    for (size_t i = 0; wanted->kind == SUBJECT_SPAN && i < tab->span_count; i++)
        if (tab->spans[i].index == wanted->span.index) {
            list_select_id(&tab->list, i + 1);
            return true;
        }
    return false;
}

const struct path_hops *path_tab_hops(const struct app *app)
{
    const struct path_tab *tab = app->tabs[TAB_PATH].state;
    return tab && tab->report ? tab->report->hops : NULL;
}

const struct tab tab_path = {
    .title = "Critical Path", .short_title = "Path", .place = KEYS_TEXTS, .next = {TAB_TIMELINE, -1}, .create = create, .destroy = destroy, .draw = draw, .act = act,
    .mouse = list_click, .changed = changed, .subject = subject, .show = show, .copy = list_copy, .csv = list_csv, .is_list = true,
};
