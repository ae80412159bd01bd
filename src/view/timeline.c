/* SPDX-License-Identifier: MIT */
/* Lanes of the timeline: which there are, their order, which are shown, and what the filter and the search choose. */
#include "timeline_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "trace/lod.h"

#include <errno.h>
#include <string.h>

struct making {
    struct timeline *timeline;
    struct timeline_inside *inside;
    const struct trace_track *tracks;
    const struct trace_process *processes;
    const struct trace_node *nodes;
    uint32_t track_count, process_count, node_count;
    uint64_t *rows[FAMILY_COUNT]; /* by track */
    uint32_t *sched_of;           /* by track: the scheduler's lane of a thread */
    size_t capacity;
};

static const char *lane_text(struct making *making, struct text *text)
{
    const char *copy = text->failed ? NULL : arena_strndup(&making->inside->arena, text->data ? text->data : "", text->length);
    text_finish(text);
    return copy ? copy : "";
}

static int add_lane(struct making *making, const struct timeline_lane *lane)
{
    struct timeline *timeline = making->timeline;
    struct timeline_lane *lanes = array_reserve(timeline->lanes, &making->capacity, timeline->lane_count + (size_t)1, sizeof *lanes);
    if (!lanes)
        return -ENOMEM;
    timeline->lanes = lanes;
    lanes[timeline->lane_count++] = *lane;
    return 0;
}

static int count_rows(struct making *making)
{
    static const enum family families[] = {FAMILY_SPANS, FAMILY_SAMPLES, FAMILY_COUNTERS};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
        uint64_t *rows = calloc(making->track_count + (size_t)1, sizeof *rows);
        making->rows[families[f]] = rows;
        if (!rows)
            return -ENOMEM;
        for (uint32_t i = 0; i < trace_block_count(making->timeline->trace, families[f]); i++) {
            struct block_info info = trace_block_info(making->timeline->trace, families[f], i);
            if (info.track.index < making->track_count)
                rows[info.track.index] += info.count;
        }
    }
    return 0;
}

/* The thread that a scheduler's lane tells of: same process, same number. */
static int pair_threads(struct making *making)
{
    making->sched_of = malloc((making->track_count + (size_t)1) * sizeof *making->sched_of);
    if (!making->sched_of)
        return -ENOMEM;
    memset(making->sched_of, 0xff, (making->track_count + (size_t)1) * sizeof *making->sched_of);
    uint32_t thread = UINT32_MAX;
    for (uint32_t i = 0; i < making->track_count; i++) { /* they are made one after the other: the nearest thread before */
        if (making->tracks[i].kind == TRACK_KIND_THREAD)
            thread = i;
        if (making->tracks[i].kind != TRACK_KIND_SCHED)
            continue;
        bool near = thread != UINT32_MAX && making->tracks[thread].tid == making->tracks[i].tid;
        for (uint32_t j = near ? thread : 0; j < making->track_count; j++) {
            if (making->tracks[j].kind == TRACK_KIND_THREAD && making->tracks[j].tid == making->tracks[i].tid &&
                making->tracks[j].process.index == making->tracks[i].process.index) {
                making->sched_of[j] = i;
                break;
            }
        }
    }
    return 0;
}

static enum lane_kind lane_kind_of(enum track_kind kind)
{
    switch (kind) {
    case TRACK_KIND_THREAD:
        return LANE_THREAD;
    case TRACK_KIND_STREAM: case TRACK_KIND_DEVICE:
        return LANE_STREAM;
    case TRACK_KIND_COUNTER:
        return LANE_COUNTER;
    default:
        return LANE_OTHER;
    }
}

static const char *track_label(struct making *making, const struct trace_track *track)
{
    struct text text = TEXT_INIT;
    const char *name = trace_text(making->timeline->trace, track->name);
    text_add_line(&text, name, strnlen(name, 300));
    if (track->kind == TRACK_KIND_THREAD && track->tid >= 0)
        text_addf(&text, text.length ? " %d" : "thread %d", track->tid);
    if (track->kind == TRACK_KIND_STREAM && !text.length)
        text_addf(&text, "stream %d", track->stream);
    if (!text.length)
        text_add_string(&text, track_kind_name(track->kind));
    return lane_text(making, &text);
}

static bool is_paired(const struct making *making, uint32_t track)
{
    if (making->tracks[track].kind != TRACK_KIND_SCHED)
        return false;
    for (uint32_t i = track; i-- > 0 && track - i < 8;)
        if (making->sched_of[i] == track)
            return true;
    for (uint32_t i = 0; i < making->track_count; i++)
        if (making->sched_of[i] == track)
            return true;
    return false;
}

/* They are sorted by track. */
static void find_calls(const struct making *making, struct timeline_lane *lane)
{
    uint32_t count;
    const struct open_call *calls = trace_open_calls(making->timeline->trace, &count);
    while (lane->first_call < count && calls[lane->first_call].track.index < lane->track.index)
        lane->first_call++;
    while (lane->first_call + lane->calls < count && calls[lane->first_call + lane->calls].track.index == lane->track.index)
        lane->calls++;
}

static int add_track(struct making *making, uint32_t track, uint32_t parent, uint32_t level)
{
    uint32_t sched = making->sched_of[track];
    struct timeline_lane lane = {
        .kind = lane_kind_of(making->tracks[track].kind), .parent = parent, .level = level, .process = making->tracks[track].process,
        .track = {track}, .sched = {sched}, .spans = making->rows[FAMILY_SPANS][track], .samples = making->rows[FAMILY_SAMPLES][track]};
    bool off_cpu = sched != UINT32_MAX && making->rows[FAMILY_SPANS][sched];
    find_calls(making, &lane);
    bool empty = !lane.spans && !lane.calls && !lane.samples && !making->rows[FAMILY_COUNTERS][track] && !off_cpu;
    if (empty || is_paired(making, track))
        return 0;
    lane.name = track_label(making, &making->tracks[track]);
    making->inside->lane_of_track[track] = making->timeline->lane_count;
    if (sched != UINT32_MAX)
        making->inside->lane_of_track[sched] = making->timeline->lane_count;
    return add_lane(making, &lane);
}

/* Tracks of one process: threads, streams, then counters. `lists` chains tracks by process. */
static int add_tracks(struct making *making, const uint32_t *first, const uint32_t *next, uint32_t process, uint32_t parent, uint32_t level)
{
    static const enum lane_kind order[] = {LANE_THREAD, LANE_OTHER, LANE_STREAM, LANE_COUNTER};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        for (uint32_t track = first[process]; track != UINT32_MAX; track = next[track]) {
            if (lane_kind_of(making->tracks[track].kind) != order[k])
                continue;
            int result = add_track(making, track, parent, level);
            if (result < 0)
                return result;
        }
    }
    return 0;
}

static const char *process_label(struct making *making, uint32_t process, uint32_t *ret_head)
{
    struct text text = TEXT_INIT;
    const struct trace_process *facts = &making->processes[process];
    const char *name = trace_text(making->timeline->trace, facts->command);
    text_add_line(&text, name, strnlen(name, 300));
    *ret_head = (uint32_t)text.length;
    if (facts->rank >= 0)
        text_addf(&text, "%srank %d", text.length ? " " : "", facts->rank);
    text_addf(&text, "%s%d", text.length ? " " : "process ", facts->pid);
    return lane_text(making, &text);
}

static int add_process(struct making *making, const uint32_t *first, const uint32_t *next, uint32_t process, uint32_t parent, uint32_t level)
{
    struct timeline *timeline = making->timeline;
    uint32_t self = timeline->lane_count;
    struct timeline_lane lane = {.kind = LANE_PROCESS, .parent = parent, .level = level, .process = {process}, .track = TRACK_NONE,
                                 .sched = TRACK_NONE, .open = true};
    lane.name = process_label(making, process, &lane.name_head);
    int result = add_lane(making, &lane);
    if (result == 0)
        result = add_tracks(making, first, next, process, self, level + 1);
    if (result < 0)
        return result;
    timeline->lanes[self].children = timeline->lane_count - self - 1;
    if (!timeline->lanes[self].children)
        timeline->lane_count = self; /* nothing was recorded of it */
    return 0;
}

static int add_node(struct making *making, const uint32_t *first, const uint32_t *next, uint32_t node)
{
    struct timeline *timeline = making->timeline;
    uint32_t self = timeline->lane_count, level = making->node_count > 1;
    int result = 0;
    if (level) {
        const char *name = node < making->node_count ? trace_text(timeline->trace, making->nodes[node].name) : "";
        struct text text = TEXT_INIT;
        text_add_line(&text, name, strnlen(name, 300));
        struct timeline_lane lane = {.kind = LANE_NODE, .parent = LANE_NONE_INDEX, .process = PROCESS_NONE, .track = TRACK_NONE,
                                     .sched = TRACK_NONE, .open = true, .name = lane_text(making, &text)};
        result = add_lane(making, &lane);
    }
    for (uint32_t i = 0; i < making->process_count && result == 0; i++)
        if (making->processes[i].node.index == node)
            result = add_process(making, first, next, i, level ? self : LANE_NONE_INDEX, level);
    if (result == 0 && level) {
        timeline->lanes[self].children = timeline->lane_count - self - 1;
        if (!timeline->lanes[self].children)
            timeline->lane_count = self;
    }
    return result;
}

/* Lanes in the order of nodes, processes and tracks; tracks of no process stand at the end. */
static int add_lanes(struct making *making)
{
    uint32_t count = making->process_count;
    CLEANUP(freep) uint32_t *first = malloc((count + (size_t)1) * sizeof *first);
    CLEANUP(freep) uint32_t *next = malloc((making->track_count + (size_t)1) * sizeof *next);
    if (!first || !next)
        return -ENOMEM;
    memset(first, 0xff, (count + (size_t)1) * sizeof *first);
    for (uint32_t i = making->track_count; i-- > 0;) {
        uint32_t process = making->tracks[i].process.index < count ? making->tracks[i].process.index : count;
        next[i] = first[process];
        first[process] = i;
    }
    int result = 0;
    for (uint32_t i = 0; i < making->node_count && result == 0; i++)
        result = add_node(making, first, next, i);
    for (uint32_t i = 0; i < count && result == 0; i++)
        if (making->processes[i].node.index >= making->node_count)
            result = add_process(making, first, next, i, LANE_NONE_INDEX, 0);
    return result == 0 ? add_tracks(making, first, next, count, LANE_NONE_INDEX, 0) : result;
}

/* Blocks of a finished trace are sorted by track: each lane has a stretch of them. */
static void find_blocks(struct making *making)
{
    struct timeline *timeline = making->timeline;
    uint32_t count = trace_block_count(timeline->trace, FAMILY_SPANS);
    bool growing = trace_is_growing(timeline->trace);
    for (uint32_t i = 0; i < count && !growing; i++) {
        uint32_t track = trace_block_info(timeline->trace, FAMILY_SPANS, i).track.index;
        uint32_t lane = track < making->track_count ? making->inside->lane_of_track[track] : LANE_NONE_INDEX;
        if (lane >= timeline->lane_count || timeline->lanes[lane].track.index != track)
            continue;
        if (timeline->lanes[lane].end_block == 0)
            timeline->lanes[lane].first_block = i;
        timeline->lanes[lane].end_block = i + 1;
    }
    for (uint32_t i = 0; i < timeline->lane_count && growing; i++)
        timeline->lanes[i].end_block = timeline->lanes[i].track.index < making->track_count ? count : 0;
}

/* Names that spans have: their kinds and categories, for colours where only a name is known. */
static int learn_names(struct timeline *timeline, struct error *err)
{
    struct timeline_inside *inside = inside_of(timeline);
    const struct span_aggregate *rows;
    uint32_t count;
    int result = trace_span_aggregates(timeline->trace, &rows, &count, err);
    if (result < 0)
        return result;
    inside->name_count = string_table_count(trace_strings(timeline->trace));
    inside->names = calloc(inside->name_count + (size_t)1, sizeof *inside->names);
    if (!inside->names)
        return error_set(err, -ENOMEM, "out of memory for a timeline");
    for (uint32_t i = 0; i < count; i++) {
        struct name_facts *facts = rows[i].name.index < inside->name_count ? &inside->names[rows[i].name.index] : NULL;
        if (facts && (!facts->known || rows[i].total_ns > facts->total_ns))
            *facts = (struct name_facts){rows[i].total_ns, rows[i].category, (uint8_t)rows[i].kind, true, true, -1};
    }
    return 0;
}

const struct name_facts *timeline_name(const struct timeline *timeline, string_id name)
{
    static const struct name_facts unknown = {.chosen = true};
    const struct timeline_inside *inside = inside_of(timeline);
    return name.index < inside->name_count ? &inside->names[name.index] : &unknown;
}

static void making_finish(struct making *making)
{
    for (int i = 0; i < FAMILY_COUNT; i++)
        free(making->rows[i]);
    free(making->sched_of);
}

static int make_lanes(struct timeline *timeline)
{
    struct making making = {.timeline = timeline, .inside = inside_of(timeline)};
    making.tracks = trace_tracks(timeline->trace, &making.track_count);
    making.processes = trace_processes(timeline->trace, &making.process_count);
    making.nodes = trace_nodes(timeline->trace, &making.node_count);
    making.inside->track_count = making.track_count;
    making.inside->lane_of_track = malloc((making.track_count + (size_t)1) * sizeof(uint32_t));
    if (!making.inside->lane_of_track)
        return -ENOMEM;
    memset(making.inside->lane_of_track, 0xff, (making.track_count + (size_t)1) * sizeof(uint32_t));
    int result = count_rows(&making);
    if (result == 0)
        result = pair_threads(&making);
    if (result == 0)
        result = add_lanes(&making);
    if (result == 0)
        find_blocks(&making);
    making_finish(&making);
    return result;
}

int timeline_create(struct trace *trace, struct timeline **ret_timeline, struct error *err)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline || !(timeline->inside = calloc(1, sizeof(struct timeline_inside))))
        return error_set(err, -ENOMEM, "out of memory for a timeline");
    arena_init(&inside_of(timeline)->arena);
    timeline->trace = trace_ref(trace);
    trace_time_range(trace, &timeline->first_ns, &timeline->last_ns);
    timeline->now_ns = timeline->last_ns;
    int result = make_lanes(timeline);
    if (result == 0 && !(timeline->shown = malloc((timeline->lane_count + (size_t)1) * sizeof *timeline->shown)))
        result = -ENOMEM;
    if (result < 0)
        return error_set(err, result, "out of memory for a timeline");
    timeline_show_lanes(timeline);
    result = learn_names(timeline, err);
    if (result < 0)
        return result;
    *ret_timeline = TAKE_PTR(timeline);
    return 0;
}

void timeline_destroy(struct timeline *timeline)
{
    struct timeline_inside *inside = timeline ? inside_of(timeline) : NULL;
    if (inside) {
        timeline_forget_pictures(timeline);
        arena_finish(&inside->arena);
        filter_match_destroy(inside->match);
        free(inside->lane_of_track);
        free(inside->names);
        free(inside->in_order);
        free(inside->slots);
        free(inside);
    }
    if (timeline) {
        trace_unref(timeline->trace);
        free(timeline->lanes);
        free(timeline->shown);
    }
    free(timeline);
}

void timeline_fold(struct timeline *timeline, uint32_t lane, bool open)
{
    if (lane < timeline->lane_count)
        timeline->lanes[lane].open = open;
    timeline_show_lanes(timeline);
}

void timeline_fold_all(struct timeline *timeline, bool open)
{
    for (uint32_t i = 0; i < timeline->lane_count; i++)
        if (timeline->lanes[i].kind == LANE_PROCESS)
            timeline->lanes[i].open = open;
    timeline_show_lanes(timeline);
}

uint32_t timeline_lane_of(const struct timeline *timeline, track_id track)
{
    const struct timeline_inside *inside = inside_of(timeline);
    return track.index < inside->track_count ? inside->lane_of_track[track.index] : LANE_NONE_INDEX;
}

int timeline_choose(struct timeline *timeline, const struct trace_filter *filter)
{
    struct timeline_inside *inside = inside_of(timeline);
    const struct span_aggregate *rows;
    uint32_t count;
    filter_match_destroy(TAKE_PTR(inside->match));
    inside->filter = filter;
    timeline_forget_pictures(timeline);
    if (filter && filter_match_create(filter, timeline->trace, &inside->match) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < inside->name_count; i++)
        inside->names[i].chosen = !filter;
    int result = trace_span_aggregates(timeline->trace, &rows, &count, NULL);
    for (uint32_t i = 0; i < count && result == 0 && filter; i++)
        if (rows[i].name.index < inside->name_count && filter_match_sums(inside->match, &rows[i]))
            inside->names[rows[i].name.index].chosen = true;
    return result;
}

void timeline_search(struct timeline *timeline, const regex_t *pattern)
{
    struct timeline_inside *inside = inside_of(timeline);
    inside->pattern = pattern;
    for (uint32_t i = 0; i < inside->name_count; i++)
        inside->names[i].found = -1;
    timeline_forget_pictures(timeline);
}

bool timeline_name_found(struct timeline *timeline, string_id name)
{
    struct timeline_inside *inside = inside_of(timeline);
    if (!inside->pattern || name.index >= inside->name_count)
        return false;
    int8_t *found = &inside->names[name.index].found;
    if (*found < 0)
        *found = regexec(inside->pattern, trace_text(timeline->trace, name), 0, NULL, 0) == 0;
    return *found;
}
