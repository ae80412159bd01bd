/* SPDX-License-Identifier: MIT */
/* A part of a trace: its tables, metadata and extent. Strings, frames and stacks are taken as rows ask for them. */
#include "select_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"
#include "trace_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY_LIMIT_BYTES ((size_t)1 << 30) /* of the part; more goes to a spill file */

static bool metadata_time(const struct trace *trace, const char *key, int64_t *ret_ns)
{
    const char *text = trace_metadata(trace, key);
    char *end;
    if (!text || !*text)
        return false;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || value <= -MODEL_TIME_LIMIT_NS || value >= MODEL_TIME_LIMIT_NS)
        return false;
    *ret_ns = value;
    return true;
}

struct trace_window trace_window_of(const struct trace *trace)
{
    struct trace_window window = {INT64_MIN, INT64_MAX};
    metadata_time(trace, WINDOW_BEGIN_KEY, &window.begin_ns);
    metadata_time(trace, WINDOW_END_KEY, &window.end_ns);
    return window;
}

bool trace_window_clip(const struct trace_window *window, int64_t *begin_ns, int64_t *end_ns)
{
    if (*begin_ns < window->begin_ns)
        *begin_ns = window->begin_ns;
    if (window->end_ns != INT64_MAX && (*end_ns == INT64_MIN || *end_ns > window->end_ns))
        *end_ns = window->end_ns;
    bool limited = window->begin_ns != INT64_MIN || window->end_ns != INT64_MAX;
    return !limited || *end_ns == INT64_MIN || *begin_ns < *end_ns;
}

void trace_extent(const struct trace *trace, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    const struct trace_window window = trace_window_of(trace);
    int64_t begin_ns, end_ns;
    trace_time_range(trace, &begin_ns, &end_ns);
    bool empty = begin_ns == 0 && end_ns == 0;
    uint32_t count;
    const struct trace_process *processes = trace_processes(trace, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (processes[i].end_ns == INT64_MIN || processes[i].start_ns == INT64_MIN)
            continue;
        begin_ns = empty || processes[i].start_ns < begin_ns ? processes[i].start_ns : begin_ns;
        end_ns = empty || processes[i].end_ns > end_ns ? processes[i].end_ns : end_ns;
        empty = false;
    }
    begin_ns = window.begin_ns > begin_ns ? window.begin_ns : begin_ns;
    end_ns = window.end_ns < end_ns ? window.end_ns : end_ns;
    *ret_begin_ns = begin_ns;
    *ret_end_ns = end_ns > begin_ns ? end_ns : begin_ns;
}

static void *unknown_ids(uint32_t count)
{
    uint32_t *ids = malloc(((size_t)count + 1) * sizeof(*ids));
    for (uint32_t i = 0; ids && i < count; i++)
        ids[i] = NONE_YET;
    return ids;
}

int selected_copy_prepare(struct selected_copy *copy)
{
    copy->string_count = string_table_count(trace_strings(copy->trace));
    trace_frames(copy->trace, &copy->frame_count);
    trace_stacks(copy->trace, &copy->stack_count);
    copy->span_limit = copy->trace->span_limit;
    copy->strings = unknown_ids(copy->string_count);
    copy->frames = unknown_ids(copy->frame_count);
    copy->stacks = unknown_ids(copy->stack_count);
    copy->spans = calloc((size_t)copy->span_limit + 1, sizeof(*copy->spans));
    copy->kept = calloc((size_t)copy->span_limit / 8 + 1, 1);
    return copy->strings && copy->frames && copy->stacks && copy->spans && copy->kept ? 0 : -ENOMEM;
}

void selected_copy_finish(struct selected_copy *copy)
{
    free(copy->strings);
    free(copy->own_nodes);
    free(copy->processes);
    free(copy->tracks);
    free(copy->frames);
    free(copy->stacks);
    free(copy->stack_path);
    free(copy->spans);
    free(copy->kept);
}

string_id copy_string(struct selected_copy *copy, string_id id)
{
    if (id.index >= copy->string_count)
        return STRING_NONE;
    if (copy->strings[id.index].index == NONE_YET)
        copy->strings[id.index] = trace_builder_string(copy->builder, trace_text(copy->trace, id));
    return copy->strings[id.index];
}

static frame_id copy_frame(struct selected_copy *copy, frame_id id)
{
    if (id.index >= copy->frame_count)
        return FRAME_NONE;
    frame_id *known = &copy->frames[id.index];
    if (known->index == NONE_YET) {
        uint32_t count;
        struct trace_frame frame = trace_frames(copy->trace, &count)[id.index];
        if (copy->modules && frame.module.index != ID_NONE)
            frame.module = copy->modules[frame.module.index];
        frame.function = copy_string(copy, frame.function);
        frame.file = copy_string(copy, frame.file);
        if (trace_builder_add_frame(copy->builder, &frame, known) < 0)
            *known = FRAME_NONE;
    }
    return *known;
}

/* Up to a node that is known, then down again. */
stack_id copy_stack(struct selected_copy *copy, stack_id id)
{
    uint32_t count;
    const struct stack_node *nodes = trace_stacks(copy->trace, &count);
    size_t depth = 0;
    for (; id.index < count && copy->stacks[id.index].index == NONE_YET && depth < count; id = nodes[id.index].parent) {
        stack_id *path = array_reserve(copy->stack_path, &copy->stack_path_capacity, depth + 1, sizeof(*path));
        if (!path)
            break; /* the row has what is known of its stack; the builder runs out of memory as well */
        copy->stack_path = path;
        path[depth++] = id;
    }
    stack_id at = id.index < count && copy->stacks[id.index].index != NONE_YET ? copy->stacks[id.index] : STACK_NONE;
    while (depth-- > 0) {
        stack_id node = copy->stack_path[depth];
        if (trace_builder_add_stack(copy->builder, at, copy_frame(copy, nodes[node.index].frame), &at) < 0)
            at = STACK_NONE;
        copy->stacks[node.index] = at;
    }
    return at;
}

stack_id copy_leaf(struct selected_copy *copy, stack_id id)
{
    uint32_t count;
    const struct stack_node *nodes = trace_stacks(copy->trace, &count);
    stack_id leaf = STACK_NONE;
    if (id.index < count && trace_builder_add_stack(copy->builder, STACK_NONE, copy_frame(copy, nodes[id.index].frame), &leaf) < 0)
        return STACK_NONE;
    return leaf;
}

static int copy_nodes(struct selected_copy *copy, const char *clock_domain)
{
    uint32_t count, process_count;
    int result = 0;
    const struct trace_node *nodes = trace_nodes(copy->trace, &count);
    trace_processes(copy->trace, &process_count);
    if (clock_domain) {
        copy->nodes = copy->own_nodes = malloc(((size_t)count + 1) * sizeof(*copy->own_nodes));
        copy->processes = malloc(((size_t)process_count + 1) * sizeof(*copy->processes));
        result = copy->own_nodes && copy->processes ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct trace_node node = {copy_string(copy, nodes[i].name), copy_string(copy, nodes[i].clock_domain)};
        node_id id = NODE_NONE;
        if (!clock_domain || strcmp(trace_text(copy->trace, nodes[i].clock_domain), clock_domain) == 0)
            result = trace_builder_add_node(copy->builder, &node, &id);
        if (clock_domain)
            copy->own_nodes[i] = id;
    }
    return result;
}

/* Of another clock: not taken. */
static bool is_elsewhere(const struct selected_copy *copy, process_id process)
{
    return copy->processes && (process.index == ID_NONE || copy->processes[process.index].index == ID_NONE);
}

static process_id copy_process(const struct selected_copy *copy, process_id process)
{
    if (process.index == ID_NONE || copy->processes)
        return process.index == ID_NONE ? PROCESS_NONE : copy->processes[process.index];
    return (process_id){process.index + copy->process_base};
}

int copy_processes(struct selected_copy *copy)
{
    uint32_t count, nodes;
    int result = 0;
    const struct trace_process *processes = trace_processes(copy->trace, &count);
    trace_nodes(copy->trace, &nodes);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct trace_process process = processes[i];
        process_id id;
        if (copy->nodes && process.node.index < nodes)
            process.node = copy->nodes[process.node.index];
        if (copy->processes)
            copy->processes[i] = PROCESS_NONE;
        if (copy->processes && process.node.index == ID_NONE)
            continue;
        process.parent = copy->processes && process.parent.index >= i ? PROCESS_NONE : copy_process(copy, process.parent);
        process.start_ns = copy_time(copy, process.start_ns);
        process.end_ns = copy_time(copy, process.end_ns);
        process.command = copy_string(copy, process.command);
        process.executable = copy_string(copy, process.executable);
        process.reason = copy_string(copy, process.reason);
        result = trace_builder_add_process(copy->builder, &process, &id);
        if (copy->processes)
            copy->processes[i] = id;
    }
    return result;
}

int copy_tracks(struct selected_copy *copy)
{
    int result = 0;
    const struct trace_track *tracks = trace_tracks(copy->trace, &copy->track_count);
    copy->tracks = malloc(((size_t)copy->track_count + 1) * sizeof(*copy->tracks));
    if (!copy->tracks)
        return -ENOMEM;
    for (uint32_t i = 0; i < copy->track_count && result == 0; i++) {
        struct trace_track track = tracks[i];
        track.name = copy_string(copy, track.name);
        track.unit = copy_string(copy, track.unit);
        copy->tracks[i] = TRACK_NONE;
        if (is_elsewhere(copy, track.process))
            continue;
        track.process = copy_process(copy, track.process);
        track.start_ns = copy_time(copy, track.start_ns);
        track.end_ns = copy_time(copy, track.end_ns);
        if (!copy->match || filter_match_track(copy->match, (track_id){i}))
            result = trace_builder_add_track(copy->builder, &track, &copy->tracks[i]);
    }
    return result;
}

static int copy_modules(struct selected_copy *copy)
{
    uint32_t count;
    int result = 0;
    const struct trace_module *modules = trace_modules(copy->trace, &count);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct trace_module module = {copy_string(copy, modules[i].path), copy_string(copy, modules[i].build_id), modules[i].flags};
        module_id id;
        result = trace_builder_add_module(copy->builder, &module, &id);
    }
    return result;
}

static int copy_groups_and_ledger(struct selected_copy *copy)
{
    uint32_t count;
    int result = 0;
    const struct trace_group *groups = trace_groups(copy->trace, &count);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        struct trace_group group = {groups[i].kind, copy_string(copy, groups[i].name), groups[i].sequence};
        group_id id;
        result = trace_builder_add_group(copy->builder, &group, &id);
    }
    const struct ledger_entry *ledger = trace_ledger(copy->trace, &count);
    bool once = !copy->own_nodes || copy->own_nodes[0].index != ID_NONE; /* the counts of a whole stay one's */
    for (uint32_t i = 0; i < count && once && result == 0; i++)
        result = trace_builder_add_ledger(copy->builder, trace_text(copy->trace, ledger[i].source), ledger[i].seen, ledger[i].recorded,
                                          ledger[i].lost, trace_text(copy->trace, ledger[i].reason));
    return result;
}

/* Beside a part, sums over the whole run would be taken for its own. */
static bool is_whole_run(const char *key)
{
    static const char *const keys[] = {"overhead_ns", "overhead.recorder_ns", "overhead.interrupts_estimated_ns",
                                       "sampling.unsampled_ns", "sampling.page_faults", "sampling.frequency_delivered",
                                       "sampling.cpu_ns", "sampling.excluded_ns", "recording.duration_ns"};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (strcmp(key, keys[i]) == 0)
            return true;
    return false;
}

static int set_where(struct selected_copy *copy, const struct trace_filter *where)
{
    const char *before = trace_metadata(copy->trace, PART_WHERE_KEY);
    struct text text = TEXT_INIT;
    if (before && *before)
        text_addf(&text, "%s,", before);
    trace_filter_describe(where, &text);
    int result = text.failed ? -ENOMEM : trace_builder_set_metadata(copy->builder, PART_WHERE_KEY, text.data ? text.data : "");
    text_finish(&text);
    return result;
}

/* Times are those of the clock itself: its start is its own 0. */
static int set_clock(struct selected_copy *copy, const char *clock_domain)
{
    int result = trace_builder_set_metadata(copy->builder, "clock_domain", clock_domain);
    if (result == 0)
        result = trace_builder_set_metadata(copy->builder, "start_monotonic_raw_ns", "0");
    return result == 0 ? trace_builder_set_metadata(copy->builder, "start_realtime_ns", "0") : result;
}

static int copy_metadata(struct selected_copy *copy, const struct trace_part *part)
{
    int result = 0;
    for (uint32_t i = 0; i < trace_metadata_count(copy->trace) && result == 0; i++) {
        const char *key, *value;
        trace_metadata_at(copy->trace, i, &key, &value);
        if (!is_whole_run(key) || copy->span_kinds)
            result = trace_builder_set_metadata(copy->builder, key, value);
    }
    const char *incomplete = copy->span_kinds ? NULL : trace_incomplete(copy->trace);
    if (result == 0 && incomplete)
        result = trace_builder_set_metadata(copy->builder, INCOMPLETE_KEY, incomplete);
    if (result == 0 && part->clock_domain)
        result = set_clock(copy, part->clock_domain);
    char number[24];
    snprintf(number, sizeof(number), "%" PRId64, copy->begin_ns);
    if (result == 0 && part->has_window)
        result = trace_builder_set_metadata(copy->builder, WINDOW_BEGIN_KEY, number);
    snprintf(number, sizeof(number), "%" PRId64, copy->end_ns);
    if (result == 0 && part->has_window)
        result = trace_builder_set_metadata(copy->builder, WINDOW_END_KEY, number);
    return result == 0 && part->where ? set_where(copy, part->where) : result;
}

/* The window within what the trace tells of: a part says from when to when it is. */
static void set_window(struct selected_copy *copy, const struct trace_part *part)
{
    int64_t begin_ns, end_ns;
    copy->begin_ns = INT64_MIN;
    copy->end_ns = INT64_MAX;
    if (!part->has_window)
        return;
    trace_extent(copy->trace, &begin_ns, &end_ns);
    copy->begin_ns = part->begin_ns > begin_ns ? part->begin_ns : begin_ns;
    copy->end_ns = part->end_ns < end_ns ? part->end_ns : end_ns;
    if (copy->begin_ns > end_ns)
        copy->begin_ns = end_ns;
    if (copy->end_ns < copy->begin_ns)
        copy->end_ns = copy->begin_ns;
}

static int copy_all(struct selected_copy *copy, const struct trace_part *part, struct error *err)
{
    set_window(copy, part);
    int result = selected_copy_prepare(copy);
    if (result == 0)
        result = copy_nodes(copy, part->clock_domain);
    if (result == 0)
        result = copy_processes(copy);
    if (result == 0)
        result = copy_tracks(copy);
    if (result == 0)
        result = copy_modules(copy);
    if (result == 0)
        result = copy_groups_and_ledger(copy);
    if (result == 0)
        result = copy_metadata(copy, part);
    return result < 0 ? result : select_rows(copy, err);
}

int trace_select(const struct trace *trace, const struct trace_part *part, const struct progress *progress,
                 struct trace **ret_trace, struct error *err)
{
    if (part->has_window && part->begin_ns > part->end_ns)
        return error_set(err, -EINVAL, "the window ends before it begins");
    CLEANUP(trace_builder_destroyp) struct trace_builder *builder = NULL;
    CLEANUP(filter_match_destroyp) struct filter_match *match = NULL;
    const struct builder_options options = {.memory_limit_bytes = MEMORY_LIMIT_BYTES};
    int result = trace_builder_create(&options, &builder, err);
    if (result < 0)
        return result;
    if (part->where && (result = filter_match_create(part->where, trace, &match)) < 0)
        return error_set(err, result, "out of memory for the filter");
    struct selected_copy copy = {.trace = trace, .match = match, .span_kinds = part->span_kinds, .builder = builder, .progress = progress};
    struct error detail = ERROR_INIT;
    result = copy_all(&copy, part, &detail);
    selected_copy_finish(&copy);
    if (result < 0 && !detail.code)
        return error_set_errno(err, result, "cannot make a part of the trace");
    return result < 0 ? error_set(err, result, "%s", detail.text) : trace_builder_finish(builder, ret_trace, err);
}

/* --- by clock ----------------------------------------------------------------------------------------------------- */

bool trace_has_several_clocks(const struct trace *trace)
{
    uint32_t count;
    const struct trace_node *nodes = trace_nodes(trace, &count);
    bool differ = false;
    for (uint32_t i = 1; i < count; i++)
        differ |= strcmp(trace_text(trace, nodes[i].clock_domain), trace_text(trace, nodes[0].clock_domain)) != 0;
    return differ && !trace_metadata(trace, "merge.traces");
}

static bool is_known_before(const struct trace *trace, const struct trace_node *nodes, uint32_t node)
{
    for (uint32_t i = 0; i < node; i++)
        if (strcmp(trace_text(trace, nodes[i].clock_domain), trace_text(trace, nodes[node].clock_domain)) == 0)
            return true;
    return false;
}

int trace_split_clocks(const struct trace *trace, const struct progress *progress, struct trace ***ret_parts, uint32_t *ret_count,
                       struct error *err)
{
    uint32_t count, parts = 0;
    int result = 0;
    const struct trace_node *nodes = trace_nodes(trace, &count);
    struct trace **traces = calloc((size_t)count + 1, sizeof(struct trace *));
    if (!traces)
        return error_set(err, -ENOMEM, "out of memory");
    for (uint32_t i = 0; i < count && result == 0; i++) {
        const struct trace_part part = {.clock_domain = trace_text(trace, nodes[i].clock_domain)};
        if (is_known_before(trace, nodes, i))
            continue;
        result = trace_select(trace, &part, progress, &traces[parts], err);
        parts += result == 0;
    }
    if (result == 0) {
        *ret_parts = traces;
        *ret_count = parts;
        return 0;
    }
    while (parts)
        trace_unref(traces[--parts]);
    free(traces);
    return result;
}
