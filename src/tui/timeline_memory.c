/* SPDX-License-Identifier: MIT */
/* The Timeline tab's choices from one trace to a newer one of the same run: lanes are known again by their labels, a span by its place. */
#include "memory.h"
#include "tab_timeline.h"

#include "base/map.h"

#include <string.h>

/* A lane's own label and those of what it lies in: threads of several processes may be called alike. */
static uint64_t lane_key(const struct timeline *timeline, uint32_t lane)
{
    uint64_t key = 0;
    for (; lane < timeline->lane_count; lane = timeline->lanes[lane].parent)
        key = hash_u64(key ^ hash_bytes(timeline->lanes[lane].name, strlen(timeline->lanes[lane].name)) ^ (uint64_t)timeline->lanes[lane].kind);
    return key;
}

static void add_lane_key(const struct timeline *timeline, uint32_t lane, struct text *out)
{
    memory_add_number(out, lane < timeline->lane_count ? (int64_t)lane_key(timeline, lane) : 0);
}

static void remember_lanes(const struct timeline_tab *tab, struct text *out)
{
    const struct timeline *timeline = tab->timeline;
    int64_t count = 0;
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        count += !timeline->lanes[i].open || timeline->lanes[i].depth_seen;
    memory_add_number(out, count);
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        const struct timeline_lane *lane = &timeline->lanes[i];
        if (lane->open && !lane->depth_seen)
            continue;
        add_lane_key(timeline, i, out);
        memory_add_number(out, lane->open);
        memory_add_number(out, lane->depth_seen);
    }
}

void timeline_remember(struct app *app, void *state, struct text *out)
{
    const struct timeline_tab *tab = state;
    const struct timeline *timeline = tab->timeline;
    (void)app;
    memory_add_number(out, timeline->by_busy);
    memory_add_number(out, tab->depth);
    memory_add_number(out, tab->details_hidden);
    memory_add_number(out, tab->hide_idle);
    memory_add_number(out, tab->marked);
    memory_add_number(out, tab->mark_ns);
    remember_lanes(tab, out);
    memory_add_number(out, (int64_t)tab->selected - (int64_t)tab->top);
    add_lane_key(timeline, tab->selected < timeline->shown_count ? timeline->shown[tab->selected] : LANE_NONE_INDEX, out);
    memory_add_number(out, tab->span.index != ID_NONE);
    if (tab->span.index == ID_NONE)
        return;
    add_lane_key(timeline, tab->facts.lane, out);
    memory_add_number(out, tab->facts.span.begin_ns);
    memory_add_number(out, tab->facts.row);
    memory_add_text(out, trace_text(app->trace, tab->facts.span.name));
}

/* --- in the newer trace ---------------------------------------------------------------------------------------------- */

static void recall_lanes(struct timeline *timeline, const struct map *lanes, struct memory *memory)
{
    for (int64_t count = memory_number(memory); count > 0; count--) {
        uint64_t key = (uint64_t)memory_number(memory), lane;
        bool open = memory_number(memory) != 0;
        unsigned depth_seen = (unsigned)memory_number(memory);
        if (!map_get(lanes, key, &lane))
            continue;
        timeline->lanes[lane].depth_seen = depth_seen;
        if (!open)
            timeline_fold(timeline, (uint32_t)lane, false);
    }
}

/* Times may have moved a little, as a clock is known better later on; what it is called has not. */
static span_id find_span(struct app *app, struct timeline *timeline, const struct map *lanes, struct memory *memory)
{
    uint64_t key = (uint64_t)memory_number(memory), lane;
    int64_t begin_ns = memory_number(memory);
    unsigned row = (unsigned)memory_number(memory);
    const char *name = memory_text(memory);
    struct span_facts facts;
    struct error err = ERROR_INIT;
    if (!map_get(lanes, key, &lane))
        return SPAN_NONE;
    for (int64_t slack_ns = 1; slack_ns <= 100000; slack_ns *= 10) {
        span_id span = timeline_span_at(timeline, (uint32_t)lane, begin_ns, begin_ns + slack_ns, row);
        if (span.index != ID_NONE && timeline_span(timeline, span, &facts, &err) == 0 && strcmp(trace_text(app->trace, facts.span.name), name) == 0)
            return span;
    }
    return SPAN_NONE;
}

void timeline_recall(struct app *app, void *state, struct memory *memory)
{
    struct timeline_tab *tab = state;
    struct timeline *timeline = tab->timeline;
    struct map lanes;
    uint64_t lane;
    map_init(&lanes);
    if (memory_number(memory))
        timeline_sort(timeline, true); /* lanes change their places */
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        map_set(&lanes, lane_key(timeline, i), i);
    tab->depth = (unsigned)memory_number(memory);
    tab->details_hidden = memory_number(memory) != 0;
    tab->hide_idle = memory_number(memory) != 0;
    tab->marked = memory_number(memory) != 0;
    tab->mark_ns = memory_number(memory);
    recall_lanes(timeline, &lanes, memory);
    timeline_refresh_lanes(tab, app->begin_ns, app->end_ns);
    int64_t below_top = memory_number(memory);
    bool known = map_get(&lanes, (uint64_t)memory_number(memory), &lane);
    for (uint32_t i = 0; known && i < timeline->shown_count; i++)
        if (timeline->shown[i] == lane)
            tab->selected = i;
    if (memory_number(memory))
        timeline_choose_span(app, tab, find_span(app, timeline, &lanes, memory));
    tab->top = (int64_t)tab->selected > below_top ? (uint32_t)((int64_t)tab->selected - below_top) : 0;
    map_finish(&lanes);
}
