/* SPDX-License-Identifier: MIT */
/*
 * Which lanes are shown: those that are not in a folded one and, where idle ones are hidden, that have something in the window. A lane of
 * few spans is looked at span by span; of many the finest buckets say it, which are narrow then.
 */
#include "timeline_internal.h"

#include "trace/lod.h"

#define FEW_ROWS 8192

static int found(void *context, const struct visited_span *span)
{
    (void)context;
    (void)span;
    return 1;
}

/* Whether any bucket of the finest level has something that begins or runs in the window. */
static bool any_in_buckets(const struct timeline *timeline, enum family family, track_id track, int64_t begin_ns, int64_t end_ns)
{
    const struct lod *lod;
    if (trace_lod(timeline->trace, family, track, &lod, NULL) < 0)
        return true; /* nobody knows: then it is shown */
    if (!lod->level_count)
        return false;
    const struct lod_level *level = &lod->levels[0];
    int64_t first = lod_bucket_of(level, begin_ns), last = lod_bucket_of(level, timeline_end(timeline, end_ns) - 1);
    for (int64_t i = first < 0 ? 0 : first; i <= last && i < (int64_t)level->count; i++)
        if (level->buckets[i].count || (family == FAMILY_SPANS && level->buckets[i].busy_ns))
            return true;
    return false;
}

static bool has_something(const struct timeline *timeline, uint32_t index)
{
    const struct timeline_inside *inside = inside_of(timeline);
    const struct timeline_lane *lane = &timeline->lanes[index];
    int64_t begin_ns = inside->idle_begin_ns, end_ns = inside->idle_end_ns;
    if (lane->kind == LANE_COUNTER) /* its value holds until the next one */
        return true;
    if (lane->samples && any_in_buckets(timeline, FAMILY_SAMPLES, lane->track, begin_ns, end_ns))
        return true;
    if (lane->spans > FEW_ROWS)
        return lane->calls || any_in_buckets(timeline, FAMILY_SPANS, lane->track, begin_ns, end_ns);
    return (lane->spans || lane->calls) && timeline_visit(timeline, index, begin_ns, end_ns, 0, found, NULL, NULL) != 0;
}

/* Counters alone keep no process on the screen. */
static void mark_idle(struct timeline *timeline)
{
    struct timeline_inside *inside = inside_of(timeline);
    inside->idle_count = 0;
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        timeline->lanes[i].idle = timeline->lanes[i].kind <= LANE_PROCESS || !has_something(timeline, i);
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        const struct timeline_lane *lane = &timeline->lanes[i];
        if (lane->idle || lane->kind == LANE_COUNTER)
            continue;
        for (uint32_t at = lane->parent; at != LANE_NONE_INDEX; at = timeline->lanes[at].parent)
            timeline->lanes[at].idle = false;
    }
    if (inside->kept < timeline->lane_count)
        for (uint32_t at = inside->kept; at != LANE_NONE_INDEX; at = timeline->lanes[at].parent)
            timeline->lanes[at].idle = false;
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        struct timeline_lane *lane = &timeline->lanes[i];
        if (lane->kind == LANE_COUNTER && lane->parent != LANE_NONE_INDEX && timeline->lanes[lane->parent].idle)
            lane->idle = true;
        inside->idle_count += lane->idle && lane->kind > LANE_PROCESS;
    }
}

void timeline_show_lanes(struct timeline *timeline)
{
    bool hide = inside_of(timeline)->hide_idle;
    timeline->shown_count = 0;
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        const struct timeline_lane *lane = &timeline->lanes[i];
        if (!hide || !lane->idle)
            timeline->shown[timeline->shown_count++] = i;
        if (lane->kind <= LANE_PROCESS && (!lane->open || (hide && lane->idle)))
            i += lane->children;
    }
}

bool timeline_hide_idle(struct timeline *timeline, bool hide, int64_t begin_ns, int64_t end_ns, uint32_t kept)
{
    struct timeline_inside *inside = inside_of(timeline);
    bool same = begin_ns == inside->idle_begin_ns && end_ns == inside->idle_end_ns && kept == inside->kept;
    if (hide == inside->hide_idle && (!hide || same))
        return false;
    inside->hide_idle = hide;
    inside->idle_begin_ns = begin_ns;
    inside->idle_end_ns = end_ns;
    inside->kept = kept;
    if (hide)
        mark_idle(timeline);
    timeline_show_lanes(timeline);
    return true;
}

uint32_t timeline_hidden(const struct timeline *timeline)
{
    const struct timeline_inside *inside = inside_of(timeline);
    return inside->hide_idle ? inside->idle_count : 0;
}
