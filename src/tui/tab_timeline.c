/* SPDX-License-Identifier: MIT */
/* The Timeline tab: what keys and the mouse do. */
#include "tab_timeline.h"

#include "analysis/path_hops.h"
#include "chart/draw_timeline.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CSV_ROWS_MAX 1000000

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct timeline_tab *tab = calloc(1, sizeof *tab);
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    int result = timeline_create(app->trace, &tab->timeline, err);
    if (result < 0) {
        free(tab);
        return result;
    }
    tab->depth = 4;
    tab->kept = LANE_NONE_INDEX;
    tab->span = SPAN_NONE;
    for (uint32_t i = 0; i < tab->timeline->shown_count; i++) /* the first lane that shows something */
        if (tab->timeline->lanes[tab->timeline->shown[i]].kind > LANE_PROCESS) {
            tab->selected = i;
            break;
        }
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct timeline_tab *tab = state;
    timeline_destroy(tab->timeline);
    free(tab);
}

static void draw(struct app *app, void *state, struct area area)
{
    struct timeline_tab *tab = state;
    int details = timeline_details_rows(app, tab, area.rows);
    tab->label_width = area.columns / 4 > 36 ? 36 : area.columns / 4 < 12 ? 12 : area.columns / 4;
    tab->lanes = (struct area){area.y + 1, tab->label_width, area.rows - 1 - details, area.columns - tab->label_width};
    tab->details = (struct area){area.y + area.rows - details, 0, details, area.columns};
    timeline_draw_lanes(app, tab);
    timeline_draw_details(app, tab);
}

/* --- the window ------------------------------------------------------------------------------------------------------ */

static void set_window(struct app *app, struct timeline_tab *tab, double begin, double end)
{
    double least = 100, first = (double)app->first_ns, last = (double)app->last_ns;
    (void)tab;
    if (end - begin < least) {
        double middle = (begin + end) / 2;
        begin = middle - least / 2;
        end = middle + least / 2;
    }
    if (begin < first) {
        end += first - begin;
        begin = first;
    }
    if (end > last) {
        begin -= end - last;
        end = last;
    }
    app_set_window(app, begin < first ? app->first_ns : (int64_t)begin, (int64_t)end);
}

static void zoom_around(struct app *app, struct timeline_tab *tab, double factor, double centre)
{
    double begin = (double)app->begin_ns, end = (double)app->end_ns;
    set_window(app, tab, centre - (centre - begin) * factor, centre + (end - centre) * factor);
}

static double anchor(const struct app *app, const struct timeline_tab *tab)
{
    double middle = ((double)app->begin_ns + (double)app->end_ns) / 2;
    if (tab->span.index == ID_NONE || tab->facts.span.begin_ns >= app->end_ns || tab->facts.end_ns <= app->begin_ns)
        return middle;
    double begin = (double)(tab->facts.span.begin_ns > app->begin_ns ? tab->facts.span.begin_ns : app->begin_ns);
    double end = (double)(tab->facts.end_ns < app->end_ns ? tab->facts.end_ns : app->end_ns);
    return (begin + end) / 2;
}

static void pan(struct app *app, struct timeline_tab *tab, double part)
{
    double shift = (double)(app->end_ns - app->begin_ns) * part;
    set_window(app, tab, (double)app->begin_ns + shift, (double)app->end_ns + shift);
}

/* --- selection ------------------------------------------------------------------------------------------------------- */

static uint32_t selected_lane(const struct timeline_tab *tab)
{
    return tab->selected < tab->timeline->shown_count ? tab->timeline->shown[tab->selected] : LANE_NONE_INDEX;
}

static void select_lane(struct timeline_tab *tab, uint32_t lane)
{
    struct timeline *timeline = tab->timeline;
    for (uint32_t at = lane; at < timeline->lane_count; at = timeline->lanes[at].parent)
        if (at != lane && !timeline->lanes[at].open)
            timeline_fold(timeline, at, true);
    if (tab->hide_idle && lane < timeline->lane_count && timeline->lanes[lane].idle)
        tab->kept = lane;
    timeline_refresh_lanes(tab, tab->idle_begin_ns, tab->idle_end_ns);
    for (uint32_t i = 0; i < timeline->shown_count; i++)
        if (timeline->shown[i] == lane)
            tab->selected = i;
}

void timeline_refresh_lanes(struct timeline_tab *tab, int64_t begin_ns, int64_t end_ns)
{
    struct timeline *timeline = tab->timeline;
    uint32_t lane = selected_lane(tab);
    tab->idle_begin_ns = begin_ns;
    tab->idle_end_ns = end_ns;
    if (!timeline_hide_idle(timeline, tab->hide_idle, begin_ns, end_ns, tab->kept))
        return;
    tab->selected = 0;
    while (lane != LANE_NONE_INDEX && tab->selected + 1 < timeline->shown_count && timeline->shown[tab->selected] < lane)
        tab->selected++; /* the same, or the next one that is shown */
}

static void toggle_idle(struct app *app, struct timeline_tab *tab)
{
    tab->hide_idle = !tab->hide_idle;
    tab->kept = LANE_NONE_INDEX;
    timeline_refresh_lanes(tab, app->begin_ns, app->end_ns);
    uint32_t hidden = timeline_hidden(tab->timeline);
    if (tab->hide_idle && !hidden)
        app_say(app, "every lane has something in the window; those that have nothing will be hidden");
    else if (tab->hide_idle)
        app_say(app, "hidden: %u lane%s with nothing in the window", hidden, hidden == 1 ? "" : "s");
    else
        app_say(app, "all lanes are shown");
}

bool timeline_choose_span(struct app *app, struct timeline_tab *tab, span_id span)
{
    struct error err = ERROR_INIT;
    if (span.index == ID_NONE || timeline_span(tab->timeline, span, &tab->facts, &err) < 0)
        return false;
    tab->span = span;
    tab->link_count = timeline_links(tab->timeline, span, tab->links, LINKS_MAX, &err);
    if (tab->link_count < 0) {
        tab->link_count = 0;
        app_say(app, "%s", err.text);
    }
    if (tab->facts.lane != LANE_NONE_INDEX)
        select_lane(tab, tab->facts.lane);
    return true;
}

/* Moved by as little as it takes, and wide enough that it is seen. */
static void bring_into_window(struct app *app, struct timeline_tab *tab, int64_t begin_ns, int64_t end_ns)
{
    double begin = (double)begin_ns, end = (double)end_ns, window = (double)(app->end_ns - app->begin_ns);
    if (begin >= (double)app->begin_ns && end <= (double)app->end_ns)
        return;
    if (end - begin > window)
        set_window(app, tab, begin - (end - begin) * 0.05, end + (end - begin) * 0.05);
    else
        set_window(app, tab, (begin + end - window) / 2, (begin + end + window) / 2);
}

static void reveal(struct app *app, struct timeline_tab *tab)
{
    bring_into_window(app, tab, tab->facts.span.begin_ns, tab->facts.end_ns);
}

static void step(struct app *app, struct timeline_tab *tab, bool forward)
{
    int64_t middle_ns = app->begin_ns + (app->end_ns - app->begin_ns) / 2;
    if (timeline_choose_span(app, tab, timeline_step(tab->timeline, selected_lane(tab), tab->span, middle_ns, forward)))
        reveal(app, tab);
    else
        app_say(app, "no span %s this one on this lane", forward ? "behind" : "before");
}

static void next_match(struct app *app, struct timeline_tab *tab, bool forward)
{
    if (!app->searching)
        app_say(app, "there is no search: / begins one");
    else if (timeline_choose_span(app, tab, timeline_find_next(tab->timeline, tab->span, forward)))
        reveal(app, tab);
    else
        app_say(app, "no span matches %s", app->search_text);
}

static void fit(struct app *app, struct timeline_tab *tab)
{
    double begin = (double)tab->facts.span.begin_ns, end = (double)tab->facts.end_ns;
    if (tab->span.index == ID_NONE)
        app_say(app, "no span is selected: . selects one, a click another");
    else
        set_window(app, tab, begin - (end - begin) * 0.1, end + (end - begin) * 0.1);
}

static void mark(struct app *app, struct timeline_tab *tab)
{
    char text[32];
    int64_t time_ns = tab->span.index != ID_NONE ? tab->facts.span.begin_ns : app->begin_ns + (app->end_ns - app->begin_ns) / 2;
    if (tab->marked)
        app_say(app, "from the mark before: %s", format_duration(text, sizeof text, time_ns - tab->mark_ns));
    else
        app_say(app, "marked: select another span to see how far it is");
    tab->marked = true;
    tab->mark_ns = time_ns;
}

/* --- actions --------------------------------------------------------------------------------------------------------- */

static void fold(struct timeline_tab *tab)
{
    struct timeline *timeline = tab->timeline;
    uint32_t lane = selected_lane(tab);
    if (lane == LANE_NONE_INDEX)
        return;
    if (timeline->lanes[lane].kind > LANE_PROCESS && timeline->lanes[lane].parent != LANE_NONE_INDEX)
        lane = timeline->lanes[lane].parent;
    timeline_fold(timeline, lane, !timeline->lanes[lane].open);
    select_lane(tab, lane);
}

static void fold_all(struct timeline_tab *tab)
{
    struct timeline *timeline = tab->timeline;
    bool any_open = false;
    uint32_t lane = selected_lane(tab);
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        any_open |= timeline->lanes[i].kind == LANE_PROCESS && timeline->lanes[i].open;
    if (any_open && lane != LANE_NONE_INDEX && timeline->lanes[lane].kind > LANE_PROCESS)
        lane = timeline->lanes[lane].parent;
    timeline_fold_all(timeline, !any_open);
    if (lane != LANE_NONE_INDEX)
        select_lane(tab, lane);
}

static void move_lane(struct timeline_tab *tab, long by)
{
    long at = (long)tab->selected + by, last = (long)tab->timeline->shown_count - 1;
    tab->selected = (uint32_t)(at < 0 ? 0 : at > last ? (last < 0 ? 0 : last) : at);
}

static void change_depth(struct app *app, struct timeline_tab *tab)
{
    tab->depth = tab->depth == 4 ? 12 : tab->depth == 12 ? 1 : 4;
    for (uint32_t i = 0; i < tab->timeline->lane_count; i++)
        tab->timeline->lanes[i].depth_seen = 0;
    app_say(app, "%u level%s of nesting", tab->depth, tab->depth == 1 ? "" : "s");
}

static void sort(struct app *app, struct timeline_tab *tab)
{
    uint32_t lane = selected_lane(tab);
    track_id track = lane == LANE_NONE_INDEX ? TRACK_NONE : tab->timeline->lanes[lane].track;
    tab->kept = LANE_NONE_INDEX; /* lanes get other numbers */
    if (timeline_sort(tab->timeline, !tab->timeline->by_busy) == 0)
        app_say(app, tab->timeline->by_busy ? "lanes of a process: the busiest first" : "lanes in their own order");
    if (track.index != ID_NONE)
        select_lane(tab, timeline_lane_of(tab->timeline, track));
}

static void cancel(struct timeline_tab *tab)
{
    if (tab->span.index != ID_NONE)
        tab->span = SPAN_NONE;
    else
        tab->marked = false;
}

static void reset(struct timeline_tab *tab)
{
    timeline_sort(tab->timeline, false);
    for (uint32_t i = 0; i < tab->timeline->lane_count; i++)
        tab->timeline->lanes[i].depth_seen = 0;
    tab->marked = false;
}

static void go_to_path(struct app *app, const struct timeline_tab *tab)
{
    struct subject subject = {.kind = SUBJECT_SPAN, .span = tab->span, .name = tab->facts.span.name, .span_kind = (int)tab->facts.span.kind, .stack = STACK_NONE};
    if (tab->span.index == ID_NONE)
        app_say(app, "no span is selected: . selects one, a click another");
    else if (!app_go_to(app, TAB_PATH, &subject) && path_tab_hops(app))
        app_say(app, "the critical path does not run through this span");
    else if (app->current != TAB_PATH)
        app_say(app, "the critical path is not known yet: its tab finds it");
}

static bool act_on_spans(struct app *app, struct timeline_tab *tab, enum action action)
{
    switch (action) {
    case ACTION_NEXT_SPAN: case ACTION_PREVIOUS_SPAN:
        step(app, tab, action == ACTION_NEXT_SPAN);
        return true;
    case ACTION_OUTER_SPAN:
        if (tab->span.index == ID_NONE || !timeline_choose_span(app, tab, tab->facts.span.parent))
            app_say(app, "nothing is around it");
        else
            reveal(app, tab);
        return true;
    case ACTION_SEARCH: case ACTION_NEXT_MATCH: case ACTION_PREVIOUS_MATCH:
        next_match(app, tab, action != ACTION_PREVIOUS_MATCH);
        return true;
    case ACTION_FIT:
        fit(app, tab);
        return true;
    case ACTION_MARK:
        mark(app, tab);
        return true;
    case ACTION_GO_PATH:
        go_to_path(app, tab);
        return true;
    case ACTION_DETAILS:
        tab->details_hidden = !tab->details_hidden;
        return true;
    case ACTION_CANCEL:
        cancel(tab);
        return true;
    default:
        return false;
    }
}

static bool act(struct app *app, void *state, enum action action)
{
    struct timeline_tab *tab = state;
    long page = tab->placed_count > 1 ? tab->placed_count - 1 : 1, all = (long)tab->timeline->shown_count;
    switch (action) {
    case ACTION_PAN_LEFT: case ACTION_PAN_RIGHT:
        pan(app, tab, action == ACTION_PAN_LEFT ? -0.125 : 0.125);
        return true;
    case ACTION_ZOOM_IN: case ACTION_ZOOM_OUT:
        zoom_around(app, tab, action == ACTION_ZOOM_IN ? 0.5 : 2, anchor(app, tab));
        return true;
    case ACTION_UP: case ACTION_DOWN:
        move_lane(tab, action == ACTION_UP ? -1 : 1);
        return true;
    case ACTION_PAGE_UP: case ACTION_PAGE_DOWN:
        move_lane(tab, action == ACTION_PAGE_UP ? -page : page);
        return true;
    case ACTION_FIRST: case ACTION_LAST:
        move_lane(tab, action == ACTION_FIRST ? -all : all);
        return true;
    case ACTION_FOLD:
        fold(tab);
        return true;
    case ACTION_FOLD_ALL:
        fold_all(tab);
        return true;
    case ACTION_DEPTH:
        change_depth(app, tab);
        return true;
    case ACTION_SORT:
        sort(app, tab);
        return true;
    case ACTION_HIDE_IDLE:
        toggle_idle(app, tab);
        return true;
    case ACTION_RESET:
        reset(tab);
        return true;
    default:
        return act_on_spans(app, tab, action);
    }
}

static void click(struct app *app, struct timeline_tab *tab, const struct input *input)
{
    for (int i = 0; i < tab->placed_count; i++) {
        const struct placed_lane *placed = &tab->placed[i];
        if (input->y < placed->y || input->y >= placed->y + placed->rows)
            continue;
        select_lane(tab, placed->lane);
        if (tab->timeline->lanes[placed->lane].kind <= LANE_PROCESS) {
            if (input->x < tab->label_width)
                fold(tab);
            return;
        }
        if (input->x < tab->label_width)
            return;
        double width = timeline_column_ns(app, tab), begin = (double)app->begin_ns + (input->x - tab->lanes.x) * width;
        span_id span = timeline_span_at(tab->timeline, placed->lane, (int64_t)begin, (int64_t)(begin + width), (unsigned)(input->y - placed->y));
        if (!timeline_choose_span(app, tab, span))
            tab->span = SPAN_NONE;
        return;
    }
}

static void mouse(struct app *app, void *state, const struct input *input)
{
    struct timeline_tab *tab = state;
    double under = (double)app->begin_ns + (input->x - tab->lanes.x + 0.5) * timeline_column_ns(app, tab);
    bool wheel = input->mouse == MOUSE_WHEEL_UP || input->mouse == MOUSE_WHEEL_DOWN;
    if (wheel && (input->control || input->y < tab->lanes.y))
        zoom_around(app, tab, input->mouse == MOUSE_WHEEL_UP ? 0.7 : 1 / 0.7, under);
    else if (wheel)
        move_lane(tab, input->mouse == MOUSE_WHEEL_UP ? -1 : 1);
    else if (input->mouse == MOUSE_RIGHT)
        zoom_around(app, tab, 2, under);
    else
        click(app, tab, input);
    if (input->mouse == MOUSE_DOUBLE && tab->span.index != ID_NONE)
        fit(app, tab);
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct timeline_tab *tab = state;
    if (changes & CHANGED_FILTER && timeline_choose(tab->timeline, app->filter) < 0)
        app_say(app, "out of memory for the filter");
    if (changes & CHANGED_SEARCH)
        timeline_search(tab->timeline, app_pattern(app));
}

/* --- other tabs ------------------------------------------------------------------------------------------------------ */

static bool subject(struct app *app, void *state, struct subject *ret_subject)
{
    struct timeline_tab *tab = state;
    (void)app;
    if (tab->span.index == ID_NONE)
        return false;
    *ret_subject = (struct subject){SUBJECT_SPAN, tab->span, tab->facts.span.name, tab->facts.span.kind, tab->facts.span.stack};
    return true;
}

/* A stretch of a lane: the lane is selected, and the window moved to where the stretch is seen. */
static bool show_place(struct app *app, struct timeline_tab *tab, const struct subject *place)
{
    uint32_t lane = timeline_lane_of(tab->timeline, place->track);
    if (lane == LANE_NONE_INDEX)
        return false;
    tab->span = SPAN_NONE;
    select_lane(tab, lane);
    bring_into_window(app, tab, place->begin_ns, place->end_ns);
    return true;
}

static bool show(struct app *app, void *state, const struct subject *wanted)
{
    struct timeline_tab *tab = state;
    if (wanted->kind == SUBJECT_PLACE)
        return show_place(app, tab, wanted);
    span_id span = wanted->kind == SUBJECT_SPAN ? wanted->span : SPAN_NONE;
    if (wanted->kind == SUBJECT_NAME)
        span = timeline_longest(tab->timeline, wanted->name, wanted->span_kind, app->begin_ns, app->end_ns);
    if (!timeline_choose_span(app, tab, span))
        return false;
    reveal(app, tab);
    return true;
}

static void copy(struct app *app, void *state, struct text *out)
{
    struct timeline_tab *tab = state;
    uint32_t lane = selected_lane(tab);
    if (tab->span.index != ID_NONE)
        timeline_add_details(app, tab, out);
    else if (lane != LANE_NONE_INDEX)
        text_add_string(out, tab->timeline->lanes[lane].name);
}

static int csv(struct app *app, void *state, struct text *out, struct error *err)
{
    struct timeline_tab *tab = state;
    struct error why = ERROR_INIT;
    bool cut = false;
    int result = timeline_csv(tab->timeline, app->begin_ns, app->end_ns, CSV_ROWS_MAX, out, &cut, &why);
    if (result < 0)
        return error_set(err, result, "nothing is written: %s", why.text);
    if (cut)
        app_say(app, "the first %d rows; hprofiler export --to csv --window has all", CSV_ROWS_MAX);
    return 0;
}

static int picture(struct app *app, void *state, const struct caption *caption, struct drawing *out, struct error *err)
{
    struct timeline_tab *tab = state;
    bool selected = tab->span.index != ID_NONE;
    const struct path_hops *hops = path_tab_hops(app);
    struct timeline_scene scene = {.timeline = tab->timeline, .first = tab->top, .begin_ns = app->begin_ns, .end_ns = app->end_ns, .depth = tab->depth,
                                   .selected = selected ? &tab->facts : NULL, .links = tab->links,
                                   .link_count = tab->link_count < LINKS_MAX ? (unsigned)tab->link_count : LINKS_MAX,
                                   .hops = hops ? hops->hops : NULL, .hop_count = hops ? hops->count : 0, .marked = tab->marked, .mark_ns = tab->mark_ns};
    return draw_timeline(out, &scene, caption, err);
}

const struct tab tab_timeline = {
    .title = "Timeline", .short_title = "Timeline", .place = KEYS_TIMELINE, .next = {TAB_CALL_TREE, TAB_HOTSPOTS, TAB_PATH, -1}, .create = create, .destroy = destroy, .draw = draw,
    .act = act, .mouse = mouse, .changed = changed, .subject = subject, .show = show, .copy = copy, .csv = csv, .picture = picture, .remember = timeline_remember,
    .recall = timeline_recall,
};
