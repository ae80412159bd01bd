/* SPDX-License-Identifier: MIT */
/*
 * The lanes of a graph: which tracks are some, what is known of each, all cut at once, then put into the builder one behind the other.
 * Processes that did nothing that was traced (a shell around the program) have none, nor has a launcher of ranks: they'd wait from begin to
 * end for what nothing tells. Where no process did anything, all have one: in a piece, what was done in the others counts as well.
 */
#include "base/array.h"
#include "base/map.h"
#include "base/thread_pool.h"
#include "clock_alignment.h"
#include "graph_cut.h"
#include "graph_piece.h"
#include "trace/select.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

struct lanes {
    struct graph_rules *rules;
    const struct trace_track *tracks;
    uint32_t track_count;
    struct blocks {
        uint32_t first, count;
    } *blocks;                 /* of spans, by track */
    bool *active;              /* by process: some of its threads have spans */
    bool *launcher;            /* by process */
    bool any_active;
    bool *sampled;             /* by track */
    struct trace_window window;
    bool part;                 /* what is not in the trace may have been */
    struct map scheds;         /* (process, tid) -> its scheduler's track */
    struct cut_track *cuts;
    size_t count;
    uint8_t *names;
    uint32_t *text_numbers;
};

int cut_add_point(struct cut_track *track, int64_t time_ns, enum interval_kind kind, uint32_t span, uint32_t class_of_wait)
{
    struct cut_point *points = array_reserve(track->points, &track->capacity, track->count + 1, sizeof *points);
    if (!points)
        return -ENOMEM;
    track->points = points;
    if (track->count && !points[track->count - 1].last && time_ns < points[track->count - 1].time_ns)
        time_ns = points[track->count - 1].time_ns; /* the lock's length and the span's were read apart */
    points[track->count++] = (struct cut_point){time_ns, span, class_of_wait, (uint8_t)kind, false};
    return 0;
}

static uint64_t thread_key(const struct trace_track *track)
{
    return (uint64_t)track->process.index << 32 | (uint32_t)track->tid;
}

static int find_blocks(struct lanes *lanes, struct error *err)
{
    const struct trace *trace = lanes->rules->trace;
    uint32_t count = trace_block_count(trace, FAMILY_SPANS);
    for (uint32_t i = 0; i < count; i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, i);
        struct blocks *blocks = &lanes->blocks[info.track.index];
        if (info.run != 0 || (blocks->count && blocks->first + blocks->count != i))
            return error_set(err, -EINVAL, "the trace is not finished: what depends on what is known when its recording has ended");
        if (!blocks->count)
            blocks->first = i;
        blocks->count++;
    }
    return 0;
}

static int look_at_recording(struct lanes *lanes)
{
    const struct trace *trace = lanes->rules->trace;
    lanes->window = trace_window_of(trace);
    lanes->part = lanes->window.begin_ns != INT64_MIN || lanes->window.end_ns != INT64_MAX || trace_metadata(trace, PART_WHERE_KEY);
    lanes->sampled = calloc((size_t)lanes->track_count + 1, sizeof *lanes->sampled);
    if (!lanes->sampled)
        return -ENOMEM;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SAMPLES); i++) {
        uint32_t track = trace_block_info(trace, FAMILY_SAMPLES, i).track.index;
        if (track < lanes->track_count)
            lanes->sampled[track] = true;
    }
    return 0;
}

static bool is_host(const struct lanes *lanes, uint32_t track)
{
    return lanes->tracks[track].kind == TRACK_KIND_THREAD && !track_id_is((track_id){track}, TRACK_NONE);
}

/* Processes without a rank that ranks descend from. */
static void leave_out_launchers(struct lanes *lanes, uint32_t process_count)
{
    const struct trace_process *processes = trace_processes(lanes->rules->trace, &process_count);
    lanes->any_active = lanes->rules->others_active;
    for (uint32_t i = 0; i < process_count; i++) {
        uint32_t at = i;
        for (uint32_t steps = 0; processes[i].rank >= 0 && at < process_count && steps < process_count; steps++) {
            lanes->launcher[at] |= processes[at].rank < 0;
            at = processes[at].parent.index;
        }
    }
    for (uint32_t i = 0; i < process_count; i++)
        lanes->any_active |= lanes->active[i] &= !lanes->launcher[i];
}

static int look_at_tracks(struct lanes *lanes, uint32_t process_count)
{
    lanes->active = calloc((size_t)process_count + 1, sizeof *lanes->active);
    lanes->launcher = calloc((size_t)process_count + 1, sizeof *lanes->launcher);
    if (!lanes->active || !lanes->launcher)
        return -ENOMEM;
    for (uint32_t i = 0; i < lanes->track_count; i++) {
        const struct trace_track *track = &lanes->tracks[i];
        if (track->kind == TRACK_KIND_SCHED && lanes->blocks[i].count && map_set(&lanes->scheds, thread_key(track), i) < 0)
            return -ENOMEM;
        if (is_host(lanes, i) && lanes->blocks[i].count && track->process.index < process_count)
            lanes->active[track->process.index] = true;
    }
    leave_out_launchers(lanes, process_count);
    return 0;
}

static bool is_main(const struct lanes *lanes, const struct trace_track *track)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(lanes->rules->trace, &count);
    return track->process.index < count && processes[track->process.index].pid == track->tid;
}

/* A runtime's own thread begins with its part of a region: what it does between regions is wait for the next. */
static int first_kind(struct lanes *lanes, uint32_t track, uint8_t *ret_kind, struct error *err)
{
    struct span_block block;
    *ret_kind = SPAN_KIND_COUNT;
    if (!lanes->blocks[track].count)
        return 0;
    int code = trace_spans_scan(lanes->rules->trace, lanes->blocks[track].first, SPAN_COLUMN_BIT(SPAN_COLUMN_KIND), &block, err);
    if (code < 0)
        return code;
    *ret_kind = block.kind ? block.kind[0] : SPAN_KIND_UNKNOWN;
    trace_spans_put(lanes->rules->trace, &block);
    return 0;
}

/* What the recording was limited to; else from the first to the last that is in it. */
static void recorded_range(const struct lanes *lanes, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    trace_time_range(lanes->rules->trace, ret_begin_ns, ret_end_ns);
    if (lanes->window.begin_ns != INT64_MIN)
        *ret_begin_ns = lanes->window.begin_ns;
    if (lanes->window.end_ns != INT64_MAX)
        *ret_end_ns = lanes->window.end_ns;
}

/* Of a main thread: its process', as far as it was recorded. Who was attached to lives on. False: nothing of it was recorded. */
static bool main_life(const struct lanes *lanes, const struct trace_track *track, int64_t *ret_start_ns, int64_t *ret_end_ns)
{
    uint32_t count;
    const struct trace_process *process = &trace_processes(lanes->rules->trace, &count)[track->process.index];
    int64_t begin_ns, end_ns;
    recorded_range(lanes, &begin_ns, &end_ns);
    *ret_start_ns = process->attached || process->start_ns < begin_ns ? begin_ns : process->start_ns;
    *ret_end_ns = process->end_ns != INT64_MIN ? process->end_ns : track->end_ns;
    if (process->attached && *ret_end_ns == INT64_MIN)
        *ret_end_ns = end_ns;
    return trace_window_clip(&lanes->window, ret_start_ns, ret_end_ns);
}

/* Of other threads it is known that they were there before their first span, not what they did behind their last. */
static void tell_life(struct lanes *lanes, const struct trace_track *track, struct cut_track *cut)
{
    int64_t begin_ns, end_ns;
    recorded_range(lanes, &begin_ns, &end_ns);
    cut->start_ns = cut->end_ns = INT64_MIN;
    if (is_main(lanes, track)) {
        if (!main_life(lanes, track, &cut->start_ns, &cut->end_ns))
            cut->start_ns = cut->end_ns = INT64_MIN;
    } else if (!cut->worker && track->start_ns != INT64_MIN) {
        cut->start_ns = track->start_ns < begin_ns ? begin_ns : track->start_ns;
    }
}

/* The worst of the clocks of a process' devices: which of them is this lane's is not kept. */
static int64_t device_bound(const struct trace *trace, int32_t pid)
{
    int64_t worst_ns = 0;
    for (uint32_t i = 0;; i++) {
        char key[64];
        snprintf(key, sizeof key, "clock.device.%" PRIu32 ".pid", i);
        const char *owner = trace_metadata(trace, key);
        if (!owner)
            return worst_ns;
        snprintf(key, sizeof key, "clock.device.%" PRIu32 ".error_ns", i);
        const char *error = trace_metadata(trace, key);
        int64_t bound_ns = error && atoi(owner) == pid ? strtoll(error, NULL, 10) : 0;
        if (bound_ns > worst_ns && bound_ns < INT64_MAX / 4)
            worst_ns = bound_ns;
    }
}

/* How far off a node's times may be; 0 where it is not known: graph_rules_edge knows that. */
static int64_t node_bound(const struct trace *trace, node_id node)
{
    int64_t bound_ns = clock_bound_of_node(trace, node);
    return bound_ns > 0 && bound_ns < INT64_MAX / 4 ? bound_ns : 0;
}

static int add_cut(struct lanes *lanes, uint32_t number, struct error *err)
{
    const struct trace_track *track = &lanes->tracks[number];
    const struct trace *trace = lanes->rules->trace;
    uint32_t process_count;
    const struct trace_process *processes = trace_processes(trace, &process_count);
    struct cut_track cut = {.rules = lanes->rules, .names = lanes->names, .text_numbers = lanes->text_numbers, .track = {number}, .sched = TRACK_NONE,
                            .first_block = lanes->blocks[number].first, .block_count = lanes->blocks[number].count,
                            .start_ns = INT64_MIN, .end_ns = INT64_MIN, .err = ERROR_INIT};
    uint64_t sched;
    uint8_t kind;
    int code = 0;
    if (track->kind == TRACK_KIND_THREAD) {
        code = first_kind(lanes, number, &kind, err);
        cut.worker = kind == SPAN_KIND_IMPLICIT_TASK && !is_main(lanes, track);
        tell_life(lanes, track, &cut);
        if (map_get(&lanes->scheds, thread_key(track), &sched)) {
            cut.sched.index = (uint32_t)sched;
            cut.sched_first_block = lanes->blocks[sched].first;
            cut.sched_block_count = lanes->blocks[sched].count;
        }
        cut.unknown = lanes->part && !cut.block_count && !cut.sched_block_count && !lanes->sampled[number];
        string_table_find(trace_strings(trace), "preempted", strlen("preempted"), &cut.preempted);
    } else if (track->process.index < process_count) {
        cut.clock_bound_ns = device_bound(trace, processes[track->process.index].pid);
    }
    if (track->process.index < process_count)
        cut.clock_bound_ns += node_bound(trace, processes[track->process.index].node);
    lanes->cuts[lanes->count++] = cut;
    return code;
}

static bool is_lane(const struct lanes *lanes, uint32_t number)
{
    const struct trace_track *track = &lanes->tracks[number];
    if (track->kind == TRACK_KIND_STREAM) /* no stream's number: ranges from a start to an end, a driver's own work, pages that move by themselves */
        return lanes->blocks[number].count > 0 && track->stream >= 0;
    if (!is_host(lanes, number) || lanes->launcher[track->process.index])
        return false;
    int64_t start_ns, end_ns;
    return lanes->blocks[number].count || (is_main(lanes, track) && (!lanes->any_active || lanes->active[track->process.index]) &&
                                           main_life(lanes, track, &start_ns, &end_ns));
}

static void cut_one(void *context, size_t index)
{
    struct lanes *lanes = context;
    struct cut_track *cut = &lanes->cuts[index];
    cut->code = lanes->tracks[cut->track.index].kind == TRACK_KIND_STREAM ? cut_stream(cut) : cut_thread(cut);
    progress_update(lanes->rules->progress, "cutting lanes", index + 1, lanes->count);
}

static int push_points(struct graph_builder *builder, const struct cut_track *cut)
{
    uint32_t number;
    int code = 0;
    for (size_t i = 0; i < cut->count && code == 0; i++) {
        const struct cut_point *point = &cut->points[i];
        if (i == 0 || cut->points[i - 1].last)
            code = graph_builder_add_lane(builder, cut->track, cut->clock_bound_ns, &number);
        if (code == 0)
            code = graph_builder_add_point(builder, point->time_ns, (enum interval_kind)point->kind, (span_id){point->span},
                                           point->class_of_wait, &number);
    }
    return code;
}

/* Spans of one track stand together: their points' numbers move with the lane. */
static void move_numbers(const struct lanes *lanes, const struct cut_track *cut, uint32_t by)
{
    const struct trace *trace = lanes->rules->trace;
    for (uint32_t i = 0; i < cut->block_count; i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, cut->first_block + i);
        for (uint32_t span = info.first; span < info.first + info.count; span++) {
            lanes->rules->begin_point[span] += by;
            lanes->rules->end_point[span] += by;
        }
    }
}

static int push_extras(struct graph_rules *rules, const struct cut_track *cut, uint32_t by, size_t *capacity)
{
    struct graph_extra_point *extras = array_reserve(rules->extras, capacity, rules->extra_count + cut->extra_count, sizeof *extras);
    if (!extras)
        return cut->extra_count ? -ENOMEM : 0;
    rules->extras = extras;
    for (size_t i = 0; i < cut->extra_count; i++)
        extras[rules->extra_count++] = (struct graph_extra_point){cut->extras[i].span, cut->extras[i].point + by, cut->extras[i].which};
    return 0;
}

static int by_span(const void *left, const void *right)
{
    const struct graph_extra_point *a = left, *b = right;
    int order = (a->span > b->span) - (a->span < b->span);
    return order ? order : (a->which > b->which) - (a->which < b->which);
}

static int push_lanes(struct lanes *lanes, struct error *err)
{
    struct graph_rules *rules = lanes->rules;
    size_t capacity = 0;
    for (size_t i = 0; i < lanes->count; i++) {
        struct cut_track *cut = &lanes->cuts[i];
        uint32_t by = rules->builder->point_count;
        if (cut->code < 0)
            return error_set(err, cut->code, "%s", cut->err.text[0] ? cut->err.text : "the lanes need more memory than there is");
        int code = push_points(rules->builder, cut);
        if (code == 0)
            code = push_extras(rules, cut, by, &capacity);
        if (code < 0)
            return error_set(err, code, "the lanes of the dependency graph are too long, or need more memory than there is");
        move_numbers(lanes, cut, by);
        free(cut->points);
        cut->points = NULL;
    }
    if (rules->extra_count)
        qsort(rules->extras, rules->extra_count, sizeof *rules->extras, by_span);
    return 0;
}

static int cut_all(struct lanes *lanes, struct error *err)
{
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    int code = 0;
    lanes->cuts = calloc((size_t)lanes->track_count + 1, sizeof *lanes->cuts);
    if (!lanes->cuts)
        return error_set(err, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < lanes->track_count && code == 0; i++)
        code = is_lane(lanes, i) ? add_cut(lanes, i, err) : 0;
    if (code == 0 && (code = thread_pool_create(0, &pool)) < 0)
        return error_set(err, code, "cannot start threads");
    if (code == 0)
        thread_pool_for(pool, lanes->count, cut_one, lanes);
    return code ? code : push_lanes(lanes, err);
}

static int look(struct lanes *lanes, struct error *err)
{
    uint32_t process_count;
    trace_processes(lanes->rules->trace, &process_count);
    lanes->tracks = trace_tracks(lanes->rules->trace, &lanes->track_count);
    lanes->blocks = calloc((size_t)lanes->track_count + 1, sizeof *lanes->blocks);
    map_init(&lanes->scheds);
    int code = lanes->blocks ? find_blocks(lanes, err) : error_set(err, -ENOMEM, "out of memory");
    if (code == 0 && look_at_tracks(lanes, process_count) < 0)
        code = error_set(err, -ENOMEM, "out of memory");
    return code;
}

static void lanes_finish(struct lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++) {
        free(lanes->cuts[i].points);
        free(lanes->cuts[i].extras);
    }
    free(lanes->cuts);
    free(lanes->blocks);
    free(lanes->active);
    free(lanes->launcher);
    free(lanes->sampled);
    free(lanes->names);
    free(lanes->text_numbers);
    map_finish(&lanes->scheds);
}

int graph_lanes_cut(struct graph_rules *rules, struct error *err)
{
    struct lanes lanes = {.rules = rules, .names = cut_names(rules->trace), .text_numbers = cut_text_numbers(rules->trace)};
    int code = look(&lanes, err);
    if (code == 0 && (!lanes.names || !lanes.text_numbers || look_at_recording(&lanes) < 0))
        code = error_set(err, -ENOMEM, "out of memory");
    if (code == 0)
        code = cut_all(&lanes, err);
    lanes_finish(&lanes);
    return code;
}

int graph_piece_is_active(const struct trace *piece, bool *ret_active, struct error *err)
{
    struct graph_rules rules = {.trace = piece};
    struct lanes lanes = {.rules = &rules};
    int code = look(&lanes, err);
    *ret_active = lanes.any_active;
    lanes_finish(&lanes);
    return code;
}
