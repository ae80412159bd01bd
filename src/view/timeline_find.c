/* SPDX-License-Identifier: MIT */
/* Single spans of the timeline: under the cursor, the next one, what the search finds, and their links. Sorting and the ruler. */
#include "timeline_internal.h"

#include "base/error.h"
#include "trace/lod.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FOUND 1 /* ends a visit */

int timeline_span(struct timeline *timeline, span_id span, struct span_facts *ret_facts, struct error *err)
{
    struct span_block block;
    uint32_t index, row;
    if (timeline_open_call(timeline, span, ret_facts))
        return 0;
    if (!trace_span_find(timeline->trace, span, &index, &row))
        return error_set(err, -ENOENT, "there is no such span");
    int result = trace_spans_get(timeline->trace, index, &block, err);
    if (result < 0)
        return result;
    *ret_facts = (struct span_facts){
        .id = span,
        .span = {.track = block.info.track, .begin_ns = block.begin_ns[row], .end_ns = block.end_ns[row],
                 .name = block.name ? block.name[row] : STRING_NONE, .category = block.category ? block.category[row] : STRING_NONE,
                 .kind = block.kind ? block.kind[row] : 0, .parent = block.parent ? block.parent[row] : SPAN_NONE,
                 .correlation = block.correlation ? block.correlation[row] : 0, .stack = block.stack ? block.stack[row] : STACK_NONE},
        .lane = timeline_lane_of(timeline, block.info.track),
        .unfinished = block.end_ns[row] == INT64_MIN,
    };
    ret_facts->end_ns = trace_span_end(timeline->trace, block.info.track, block.begin_ns[row], block.end_ns[row]);
    ret_facts->payload.kind = PAYLOAD_NONE;
    if (span_payload(&block, row, &ret_facts->payload) < 0 || ret_facts->payload.kind == PAYLOAD_JSON)
        ret_facts->payload = (struct payload){.kind = PAYLOAD_NONE}; /* JSON would live with the block only */
    trace_spans_put(timeline->trace, &block);
    return 0;
}

struct looking {
    struct timeline *timeline;
    struct row_slots slots;
    unsigned row;          /* wanted at most */
    span_id best, from;
    int64_t best_ns, from_ns, begin_ns, end_ns;
    unsigned best_row;
    string_id name;
    int kind;
    bool forward, found_only;
};

static int look_at(void *context, const struct visited_span *span)
{
    struct looking *looking = context;
    unsigned row = row_slots_take(&looking->slots, span->begin_ns, span->end_ns);
    int64_t from_ns = span->begin_ns > looking->begin_ns ? span->begin_ns : looking->begin_ns;
    int64_t to_ns = span->end_ns < looking->end_ns ? span->end_ns : looking->end_ns;
    if (row > looking->row || to_ns < from_ns)
        return 0;
    bool deeper = looking->best.index == ID_NONE || row > looking->best_row;
    if (deeper || (row == looking->best_row && to_ns - from_ns > looking->best_ns)) {
        looking->best = span->id;
        looking->best_row = row;
        looking->best_ns = to_ns - from_ns;
    }
    return 0;
}

span_id timeline_span_at(struct timeline *timeline, uint32_t lane, int64_t begin_ns, int64_t end_ns, unsigned row)
{
    struct looking looking = {.timeline = timeline, .row = row, .best = SPAN_NONE, .begin_ns = begin_ns, .end_ns = end_ns};
    looking.slots.limit = TIMELINE_DEPTH_MAX;
    if (lane < timeline->lane_count && (timeline->lanes[lane].spans || timeline->lanes[lane].calls))
        timeline_visit(timeline, lane, begin_ns, end_ns > begin_ns ? end_ns : begin_ns + 1, 0, look_at, &looking, NULL);
    return looking.best;
}

/* Whether a block's row is one that the search is for. */
static bool row_found(struct timeline *timeline, const struct span_block *block, uint32_t row)
{
    return timeline_name_found(timeline, block->name ? block->name[row] : STRING_NONE);
}

/* Calls that have not ended stand behind the other spans of their lane. */
static span_id step_to_open(const struct timeline *timeline, const struct timeline_lane *lane, span_id from, bool forward)
{
    uint32_t call = ID_NONE - 1 - from.index;
    bool here = call >= lane->first_call && call < lane->first_call + lane->calls;
    if (forward && lane->calls && !here)
        return open_call_id(lane->first_call);
    call += forward ? 1 : UINT32_MAX;
    return here && call >= lane->first_call && call < lane->first_call + lane->calls ? open_call_id(call) : SPAN_NONE;
}

static int look_for_last(void *context, const struct visited_span *span)
{
    struct looking *looking = context;
    if (!span->open && span->begin_ns < looking->end_ns && (looking->best.index == ID_NONE || span->begin_ns >= looking->best_ns)) {
        looking->best = span->id;
        looking->best_ns = span->begin_ns;
    }
    return 0;
}

/* The last one that has ended. */
static span_id last_ended(const struct timeline *timeline, uint32_t lane)
{
    struct looking looking = {.best = SPAN_NONE, .end_ns = timeline->now_ns};
    for (int64_t back_ns = 1000000; looking.best.index == ID_NONE && back_ns < INT64_MAX / 10; back_ns *= 10)
        timeline_visit(timeline, lane, timeline->now_ns - back_ns, timeline->now_ns, 0, look_for_last, &looking, NULL);
    return looking.best;
}

/* Span ids go up with begin within a track of a finished trace: the next is the next id. */
span_id timeline_step(struct timeline *timeline, uint32_t lane, span_id from, int64_t from_ns, bool forward)
{
    const struct timeline_lane *facts = lane < timeline->lane_count ? &timeline->lanes[lane] : NULL;
    struct span_facts open;
    uint32_t index, row;
    if (facts && timeline_open_call(timeline, from, &open) && open.lane == lane) {
        span_id next = step_to_open(timeline, facts, from, forward);
        return next.index == ID_NONE && !forward && facts->spans ? last_ended(timeline, lane) : next;
    }
    if (!facts || !facts->spans)
        return facts && facts->calls ? open_call_id(facts->first_call) : SPAN_NONE;
    bool here = from.index != ID_NONE && trace_span_find(timeline->trace, from, &index, &row) &&
                trace_block_info(timeline->trace, FAMILY_SPANS, index).track.index == facts->track.index;
    if (!here)
        return timeline_span_at(timeline, lane, from_ns, from_ns + 1, TIMELINE_DEPTH_MAX).index != ID_NONE
                   ? timeline_span_at(timeline, lane, from_ns, from_ns + 1, TIMELINE_DEPTH_MAX)
                   : (span_id){trace_block_info(timeline->trace, FAMILY_SPANS, facts->first_block).first};
    span_id next = {forward ? from.index + 1 : from.index - 1};
    bool ended = trace_span_find(timeline->trace, next, &index, &row) &&
                 trace_block_info(timeline->trace, FAMILY_SPANS, index).track.index == facts->track.index;
    return ended ? next : forward ? step_to_open(timeline, facts, from, true) : SPAN_NONE;
}

static span_id search_block(struct timeline *timeline, uint32_t index, span_id from, bool forward)
{
    struct span_block block;
    span_id found = SPAN_NONE;
    if (trace_spans_get_columns(timeline->trace, index, SPAN_COLUMN_BIT(SPAN_COLUMN_NAME), &block, NULL) < 0)
        return SPAN_NONE;
    for (uint32_t i = 0; i < block.info.count && found.index == ID_NONE; i++) {
        uint32_t row = forward ? i : block.info.count - 1 - i, id = block.info.first + row;
        bool beyond = from.index == ID_NONE || (forward ? id > from.index : id < from.index);
        if (beyond && row_found(timeline, &block, row))
            found = (span_id){id};
    }
    trace_spans_put(timeline->trace, &block);
    return found;
}

span_id timeline_find_next(struct timeline *timeline, span_id from, bool forward)
{
    uint32_t count = trace_block_count(timeline->trace, FAMILY_SPANS), start = forward || !count ? 0 : count - 1, row;
    if (!inside_of(timeline)->pattern || !count)
        return SPAN_NONE;
    if (from.index != ID_NONE && !trace_span_find(timeline->trace, from, &start, &row))
        from = SPAN_NONE;
    for (uint32_t i = 0; i <= count; i++) { /* once around, and the rest of the first block */
        uint32_t index = forward ? (start + i) % count : (start + count - i % count) % count;
        span_id found = search_block(timeline, index, i == 0 ? from : SPAN_NONE, forward);
        if (found.index != ID_NONE && timeline_lane_of(timeline, trace_block_info(timeline->trace, FAMILY_SPANS, index).track) != LANE_NONE_INDEX)
            return found;
    }
    return SPAN_NONE;
}

static int compare_longest(void *context, const struct visited_span *span)
{
    struct looking *looking = context;
    const struct span_block *block = span->block;
    if (!block->name || !string_is(block->name[span->row], looking->name))
        return 0;
    if (looking->kind >= 0 && (block->kind ? block->kind[span->row] : 0) != looking->kind)
        return 0;
    if (looking->best.index == ID_NONE || span->end_ns - span->begin_ns > looking->best_ns) {
        looking->best = span->id;
        looking->best_ns = span->end_ns - span->begin_ns;
    }
    return 0;
}

span_id timeline_longest(struct timeline *timeline, string_id name, int kind, int64_t begin_ns, int64_t end_ns)
{
    struct looking looking = {.timeline = timeline, .best = SPAN_NONE, .name = name, .kind = kind};
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
    for (uint32_t lane = 0; lane < timeline->lane_count; lane++)
        if (timeline->lanes[lane].spans)
            timeline_visit(timeline, lane, begin_ns, end_ns, columns, compare_longest, &looking, NULL);
    return looking.best;
}

int timeline_links(struct timeline *timeline, span_id span, struct span_link *links, unsigned capacity, struct error *err)
{
    int count = 0;
    for (uint32_t i = 0; i < trace_block_count(timeline->trace, FAMILY_LINKS); i++) {
        struct link_block block;
        int result = trace_links_get(timeline->trace, i, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count; row++) {
            bool out = block.from[row].index == span.index, in = block.to[row].index == span.index;
            if (!out && !in)
                continue;
            if ((unsigned)count < capacity)
                links[count] = (struct span_link){out ? block.to[row] : block.from[row], block.kind ? block.kind[row] : 0,
                                                  block.confidence ? block.confidence[row] : 0, out};
            count += count < INT_MAX;
        }
        trace_links_put(timeline->trace, &block);
    }
    return count;
}

void timeline_link_times(enum link_kind kind, const struct span_facts *from, const struct span_facts *to, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
    bool from_begin = kind == LINK_KIND_LAUNCH || kind == LINK_KIND_FORK || kind == LINK_KIND_MESSAGE;
    bool to_end = kind == LINK_KIND_MESSAGE || kind == LINK_KIND_JOIN;
    *ret_from_ns = from_begin ? from->span.begin_ns : from->end_ns;
    *ret_to_ns = to_end ? to->end_ns : to->span.begin_ns;
}

/* --- order ----------------------------------------------------------------------------------------------------------- */

static int64_t busy_of(const struct timeline *timeline, const struct timeline_lane *lane)
{
    const struct lod *lod;
    int64_t busy_ns = 0;
    enum family family = lane->spans ? FAMILY_SPANS : FAMILY_SAMPLES;
    if (lane->track.index == ID_NONE || (!lane->spans && !lane->samples) || trace_lod(timeline->trace, family, lane->track, &lod, NULL) < 0 || !lod->level_count)
        return 0;
    const struct lod_level *level = &lod->levels[lod->level_count - 1];
    for (uint32_t i = 0; i < level->count; i++)
        busy_ns += level->buckets[i].busy_ns;
    return busy_ns;
}

static int busier(const void *left, const void *right)
{
    const struct timeline_lane *a = left, *b = right;
    if ((a->kind == LANE_COUNTER) != (b->kind == LANE_COUNTER))
        return a->kind == LANE_COUNTER ? 1 : -1;
    return (a->busy_ns < b->busy_ns) - (a->busy_ns > b->busy_ns);
}

/* Lanes of one process among each other: they follow it, and none of them has lanes below. */
static void sort_processes(struct timeline *timeline)
{
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        timeline->lanes[i].busy_ns = busy_of(timeline, &timeline->lanes[i]);
    }
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        if (timeline->lanes[i].kind == LANE_PROCESS)
            qsort(&timeline->lanes[i + 1], timeline->lanes[i].children, sizeof *timeline->lanes, busier);
}

int timeline_sort(struct timeline *timeline, bool by_busy)
{
    struct timeline_inside *inside = inside_of(timeline);
    size_t size = timeline->lane_count * sizeof *timeline->lanes;
    if (by_busy == timeline->by_busy)
        return 0;
    if (by_busy && !(inside->in_order = malloc(size + 1)))
        return -ENOMEM;
    timeline->by_busy = by_busy;
    if (by_busy) {
        memcpy(inside->in_order, timeline->lanes, size);
        sort_processes(timeline);
    } else {
        memcpy(timeline->lanes, inside->in_order, size);
        free(TAKE_PTR(inside->in_order));
    }
    for (uint32_t i = 0; i < timeline->lane_count; i++) {
        const struct timeline_lane *lane = &timeline->lanes[i];
        if (lane->track.index < inside->track_count)
            inside->lane_of_track[lane->track.index] = i;
        if (lane->sched.index < inside->track_count)
            inside->lane_of_track[lane->sched.index] = i;
    }
    inside->idle_begin_ns = inside->idle_end_ns = 0; /* lanes have other numbers */
    timeline_forget_pictures(timeline);
    timeline_fold(timeline, LANE_NONE_INDEX, true);
    return 0;
}

/* --- ruler ----------------------------------------------------------------------------------------------------------- */

int64_t timeline_ruler_step(int64_t window_ns, unsigned columns)
{
    int64_t least = columns >= 24 ? window_ns / (columns / 14) : window_ns, step = 1;
    while (step < least && step < INT64_MAX / 10) {
        if (step * 2 >= least)
            return step * 2;
        if (step * 5 >= least)
            return step * 5;
        step *= 10;
    }
    return step;
}

char *timeline_time_label(char *text, size_t size, int64_t time_ns, int64_t step_ns)
{
    static const struct {
        int64_t ns;
        const char *name;
        int digits;
    } units[] = {{1000000000, "s", 9}, {1000000, "ms", 6}, {1000, "us", 3}, {1, "ns", 0}};
    int64_t size_ns = time_ns < 0 ? -time_ns : time_ns;
    size_t unit = size_ns >= 1000000000 || step_ns >= 1000000000 ? 0 : size_ns >= 1000000 || step_ns >= 1000000 ? 1 : size_ns >= 1000 || step_ns >= 1000 ? 2 : 3;
    int decimals = 0;
    int64_t part = units[unit].ns;
    while (decimals < units[unit].digits && step_ns % part) {
        part /= 10;
        decimals++;
    }
    if (!time_ns)
        snprintf(text, size, "0");
    else
        snprintf(text, size, "%.*f %s", decimals, (double)time_ns / (double)units[unit].ns, units[unit].name);
    return text;
}
