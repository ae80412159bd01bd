/* SPDX-License-Identifier: MIT */
/*
 * A filter bound to a trace. What a term says about a string, a track, a kind or a stack is found once and remembered, so a
 * row costs a few loads. Paths of spans are interned as (path of the parent, name): a trace has few distinct ones.
 */
#include "filter_internal.h"

#include "base/map.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

enum verdict { VERDICT_UNKNOWN, VERDICT_NO, VERDICT_YES };

#define PATH_DEPTH_MAX 1024 /* enclosing spans (or frames) that a path can have; the outermost beyond are cut */

struct filter_match {
    const struct trace_filter *filter;
    const struct trace *trace;
    const struct trace_track *tracks;
    uint32_t track_count, string_count, stack_count;
    uint8_t *track_verdicts;
    uint8_t kinds[256];
    bool has_name, has_category, has_path;
    uint8_t *name_verdicts, *category_verdicts; /* per string, all terms of that key together */
    uint8_t *stack_verdicts;
    struct map first_threads, exact_threads;    /* process and tid (and begin) -> track of the thread; of tests of threads */
    struct map span_paths;                      /* span id -> path number, for spans that enclose others */
    struct map path_children;                   /* (parent path number << 32 | name) -> path number */
    struct path_entry {
        uint32_t parent;                        /* path number; ID_NONE at the root */
        string_id name;
        uint8_t verdict;
    } *paths;
    uint32_t path_count;
    size_t path_capacity;
};

static bool number_matches(const char *glob, int64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "%lld", (long long)value);
    return glob_match(glob, text);
}

static bool process_matches(const struct filter_match *match, const struct filter_term *term, process_id id)
{
    uint32_t count, node_count;
    const struct trace_process *processes = trace_processes(match->trace, &count);
    if (id.index >= count)
        return false;
    const struct trace_process *process = &processes[id.index];
    const struct trace_node *nodes = trace_nodes(match->trace, &node_count);
    switch (term->key) {
    case FILTER_NODE:
        return process->node.index < node_count && glob_match(term->glob, trace_text(match->trace, nodes[process->node.index].name));
    case FILTER_RANK:
        return process->rank >= 0 && number_matches(term->glob, process->rank);
    default:
        return glob_match(term->glob, trace_text(match->trace, process->command)) || number_matches(term->glob, process->pid);
    }
}

static uint64_t thread_key(const struct trace_track *track)
{
    return (uint64_t)track->process.index << 32 | (uint32_t)track->tid;
}

static uint64_t exact_thread_key(const struct trace_track *track)
{
    return hash_u64(thread_key(track) ^ hash_u64((uint64_t)track->start_ns));
}

/* A number may be used again: the first thread that had it, and each by when it began. */
static int index_threads(struct filter_match *match)
{
    int result = 0;
    for (uint32_t i = 0; i < match->track_count && result == 0; i++) {
        const struct trace_track *track = &match->tracks[i];
        uint64_t unused;
        if (track->kind != TRACK_KIND_THREAD)
            continue;
        if (!map_get(&match->first_threads, thread_key(track), &unused))
            result = map_set(&match->first_threads, thread_key(track), i);
        if (result == 0)
            result = map_set(&match->exact_threads, exact_thread_key(track), i);
    }
    return result;
}

/* The scheduler's lane of a thread may have no name of its own. */
static const char *thread_name(const struct filter_match *match, const struct trace_track *track)
{
    uint64_t thread;
    const char *name = trace_text(match->trace, track->name);
    if (track->kind != TRACK_KIND_SCHED || *name)
        return name;
    bool found = track->start_ns != INT64_MIN && map_get(&match->exact_threads, exact_thread_key(track), &thread);
    if (!found && !map_get(&match->first_threads, thread_key(track), &thread))
        return name;
    return trace_text(match->trace, match->tracks[thread].name);
}

/* What is unknown (no rank, no device ...) matches nothing, not even '*'. */
static bool track_term_holds(const struct filter_match *match, const struct filter_term *term, const struct trace_track *track)
{
    switch (term->key) {
    case FILTER_NODE:
    case FILTER_RANK:
    case FILTER_PROCESS:
        return process_matches(match, term, track->process);
    case FILTER_THREAD:
        return track->tid >= 0 && (glob_match(term->glob, thread_name(match, track)) ||
                                   number_matches(term->glob, track->tid));
    case FILTER_DEVICE:
        return track->device >= 0 && number_matches(term->glob, track->device);
    case FILTER_STREAM:
        return track->stream >= 0 && number_matches(term->glob, track->stream);
    default:
        return true; /* of rows, not of tracks */
    }
}

bool filter_match_track(struct filter_match *match, track_id track)
{
    if (track.index >= match->track_count)
        return match->filter->count == 0;
    uint8_t *verdict = &match->track_verdicts[track.index];
    if (*verdict == VERDICT_UNKNOWN) {
        bool holds = true;
        for (size_t i = 0; i < match->filter->count && holds; i++)
            holds = track_term_holds(match, &match->filter->terms[i], &match->tracks[track.index]);
        *verdict = holds ? VERDICT_YES : VERDICT_NO;
    }
    return *verdict == VERDICT_YES;
}

static bool text_holds(const struct filter_match *match, enum filter_key key, const char *text)
{
    for (size_t i = 0; i < match->filter->count; i++) {
        if (match->filter->terms[i].key == key && !glob_match(match->filter->terms[i].glob, text))
            return false;
    }
    return true;
}

static bool string_holds(const struct filter_match *match, enum filter_key key, uint8_t *verdicts, string_id string)
{
    if (string.index >= match->string_count)
        return false;
    uint8_t *verdict = &verdicts[string.index];
    if (*verdict == VERDICT_UNKNOWN)
        *verdict = text_holds(match, key, trace_text(match->trace, string)) ? VERDICT_YES : VERDICT_NO;
    return *verdict == VERDICT_YES;
}

/* The names joined by '/' are tested by all path terms. names: from the innermost outwards. */
static bool joined_holds(const struct filter_match *match, const string_id *names, size_t count)
{
    struct text text = TEXT_INIT;
    for (size_t i = count; i-- > 0;) {
        text_add_string(&text, trace_text(match->trace, names[i]));
        if (i)
            text_add_char(&text, '/');
    }
    bool holds = !text.failed && text_holds(match, FILTER_PATH, text.data ? text.data : "");
    text_finish(&text);
    return holds;
}

static bool stack_holds(struct filter_match *match, stack_id stack)
{
    if (stack.index >= match->stack_count)
        return text_holds(match, FILTER_PATH, "");
    uint8_t *verdict = &match->stack_verdicts[stack.index];
    if (*verdict == VERDICT_UNKNOWN) {
        uint32_t stack_count, frame_count;
        const struct stack_node *stacks = trace_stacks(match->trace, &stack_count);
        const struct trace_frame *frames = trace_frames(match->trace, &frame_count);
        string_id names[PATH_DEPTH_MAX];
        size_t depth = 0;
        for (uint32_t i = stack.index; i < stack_count && depth < PATH_DEPTH_MAX; i = stacks[i].parent.index)
            names[depth++] = stacks[i].frame.index < frame_count ? frames[stacks[i].frame.index].function : STRING_NONE;
        *verdict = joined_holds(match, names, depth) ? VERDICT_YES : VERDICT_NO;
    }
    return *verdict == VERDICT_YES;
}

/* The number of path `parent`/`name`; ID_NONE on ENOMEM. */
static uint32_t path_child(struct filter_match *match, uint32_t parent, string_id name)
{
    uint64_t key = (uint64_t)parent << 32 | name.index, number;
    if (map_get(&match->path_children, key, &number))
        return (uint32_t)number;
    if (match->path_count == match->path_capacity) {
        size_t capacity = match->path_capacity ? match->path_capacity * 2 : 64;
        struct path_entry *paths = realloc(match->paths, capacity * sizeof(*paths));
        if (!paths)
            return ID_NONE;
        match->paths = paths;
        match->path_capacity = capacity;
    }
    if (map_set(&match->path_children, key, match->path_count) < 0)
        return ID_NONE;
    match->paths[match->path_count] = (struct path_entry){parent, name, VERDICT_UNKNOWN};
    return match->path_count++;
}

/* Name and parent of a span anywhere in the trace. */
static bool span_at(const struct filter_match *match, uint32_t span, string_id *ret_name, uint32_t *ret_parent)
{
    uint32_t index, row;
    struct span_block block;
    uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT);
    if (!trace_span_find(match->trace, (span_id){span}, &index, &row) ||
        trace_spans_get_columns(match->trace, index, columns, &block, NULL) < 0)
        return false;
    *ret_name = block.name ? block.name[row] : STRING_NONE;
    *ret_parent = block.parent ? block.parent[row].index : ID_NONE;
    trace_spans_put(match->trace, &block);
    return true;
}

/* The path of a span that encloses others: upwards until one is known (or the root), then down again. */
static uint32_t path_of(struct filter_match *match, uint32_t span)
{
    uint32_t chain[PATH_DEPTH_MAX];
    string_id names[PATH_DEPTH_MAX];
    size_t depth = 0;
    uint64_t number = ID_NONE;
    while (span != ID_NONE && depth < PATH_DEPTH_MAX && !map_get(&match->span_paths, span, &number)) {
        uint32_t parent;
        if (!span_at(match, span, &names[depth], &parent))
            break;
        chain[depth++] = span;
        span = parent;
    }
    uint32_t path = (uint32_t)number;
    while (depth-- > 0) {
        path = path_child(match, path, names[depth]);
        (void)map_set(&match->span_paths, chain[depth], path); /* a memory of it; without one it is found again */
    }
    return path;
}

static bool path_holds(struct filter_match *match, uint32_t parent, string_id name)
{
    uint32_t path = path_child(match, parent == ID_NONE ? ID_NONE : path_of(match, parent), name);
    if (path == ID_NONE)
        return false;
    if (match->paths[path].verdict == VERDICT_UNKNOWN) {
        string_id names[PATH_DEPTH_MAX];
        size_t depth = 0;
        for (uint32_t i = path; i != ID_NONE && depth < PATH_DEPTH_MAX; i = match->paths[i].parent)
            names[depth++] = match->paths[i].name;
        match->paths[path].verdict = joined_holds(match, names, depth) ? VERDICT_YES : VERDICT_NO;
    }
    return match->paths[path].verdict == VERDICT_YES;
}

bool filter_match_sums(struct filter_match *match, const struct span_aggregate *row)
{
    return match->kinds[(uint8_t)row->kind] == VERDICT_YES &&
           (!match->has_name || string_holds(match, FILTER_NAME, match->name_verdicts, row->name)) &&
           (!match->has_category || string_holds(match, FILTER_CATEGORY, match->category_verdicts, row->category));
}

bool filter_match_span(struct filter_match *match, const struct span_block *block, uint32_t row)
{
    if (!filter_match_track(match, block->info.track) || match->kinds[block->kind ? block->kind[row] : 0] != VERDICT_YES)
        return false;
    string_id name = block->name ? block->name[row] : STRING_NONE;
    if (match->has_name && !string_holds(match, FILTER_NAME, match->name_verdicts, name))
        return false;
    if (match->has_category && !string_holds(match, FILTER_CATEGORY, match->category_verdicts,
                                             block->category ? block->category[row] : STRING_NONE))
        return false;
    return !match->has_path || path_holds(match, block->parent ? block->parent[row].index : ID_NONE, name);
}

bool filter_match_point(struct filter_match *match, track_id track, string_id name, string_id category)
{
    if (!filter_match_track(match, track) || match->kinds[SPAN_KIND_UNKNOWN] != VERDICT_YES)
        return false;
    if (match->has_name && !string_holds(match, FILTER_NAME, match->name_verdicts, name))
        return false;
    if (match->has_category && !string_holds(match, FILTER_CATEGORY, match->category_verdicts, category))
        return false;
    return !match->has_path || path_holds(match, ID_NONE, name);
}

/* Samples are of a kind by what they count. */
static enum span_kind sample_kind(uint8_t event)
{
    switch (event) {
    case SAMPLE_EVENT_SWITCH: return SPAN_KIND_BLOCKED;
    case SAMPLE_EVENT_PAGE_FAULT: return SPAN_KIND_FAULT;
    case SAMPLE_EVENT_GPU_PC: return SPAN_KIND_KERNEL;
    default: return SPAN_KIND_COMPUTE;
    }
}

static string_id leaf_function(const struct filter_match *match, stack_id stack)
{
    uint32_t stack_count, frame_count;
    const struct stack_node *stacks = trace_stacks(match->trace, &stack_count);
    const struct trace_frame *frames = trace_frames(match->trace, &frame_count);
    if (stack.index >= stack_count || stacks[stack.index].frame.index >= frame_count)
        return STRING_NONE;
    return frames[stacks[stack.index].frame.index].function;
}

bool filter_match_stack(struct filter_match *match, track_id track, stack_id stack, uint8_t event)
{
    if (!filter_match_track(match, track) || match->kinds[sample_kind(event)] != VERDICT_YES)
        return false;
    if (match->has_name && !string_holds(match, FILTER_NAME, match->name_verdicts, leaf_function(match, stack)))
        return false;
    if (match->has_category && !string_holds(match, FILTER_CATEGORY, match->category_verdicts, STRING_NONE))
        return false;
    return !match->has_path || stack_holds(match, stack);
}

bool filter_match_sample(struct filter_match *match, const struct sample_block *block, uint32_t row)
{
    return filter_match_stack(match, block->info.track, block->stack ? block->stack[row] : STACK_NONE,
                              block->event ? block->event[row] : 0);
}

uint32_t filter_span_columns(const struct trace_filter *filter)
{
    uint32_t columns = 0;
    for (size_t i = 0; filter && i < filter->count; i++) {
        switch (filter->terms[i].key) {
        case FILTER_NAME: columns |= SPAN_COLUMN_BIT(SPAN_COLUMN_NAME); break;
        case FILTER_CATEGORY: columns |= SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY); break;
        case FILTER_KIND: columns |= SPAN_COLUMN_BIT(SPAN_COLUMN_KIND); break;
        case FILTER_PATH: columns |= SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT); break;
        default: break;
        }
    }
    return columns;
}

bool filter_match_needs_rows(const struct trace_filter *filter)
{
    for (size_t i = 0; filter && i < filter->count; i++) {
        enum filter_key key = filter->terms[i].key;
        if (key != FILTER_NAME && key != FILTER_CATEGORY && key != FILTER_KIND)
            return true;
    }
    return false;
}

bool filter_chooses_rows(const struct trace_filter *filter)
{
    return filter_span_columns(filter) != 0;
}

static void judge_kinds(struct filter_match *match)
{
    for (unsigned kind = 0; kind < 256; kind++) {
        const char *name = span_kind_name(kind < SPAN_KIND_COUNT ? (enum span_kind)kind : SPAN_KIND_UNKNOWN);
        match->kinds[kind] = text_holds(match, FILTER_KIND, name) ? VERDICT_YES : VERDICT_NO;
    }
}

int filter_match_create(const struct trace_filter *filter, const struct trace *trace, struct filter_match **ret_match)
{
    static const struct trace_filter everything;
    CLEANUP(filter_match_destroyp) struct filter_match *match = calloc(1, sizeof(*match));
    if (!match)
        return -ENOMEM;
    map_init(&match->first_threads);
    map_init(&match->exact_threads);
    map_init(&match->span_paths);
    map_init(&match->path_children);
    match->filter = filter ? filter : &everything;
    match->trace = trace;
    match->tracks = trace_tracks(trace, &match->track_count);
    match->string_count = string_table_count(trace_strings(trace));
    trace_stacks(trace, &match->stack_count);
    bool has_thread = false;
    for (size_t i = 0; i < match->filter->count; i++) {
        has_thread |= match->filter->terms[i].key == FILTER_THREAD;
        match->has_name |= match->filter->terms[i].key == FILTER_NAME;
        match->has_category |= match->filter->terms[i].key == FILTER_CATEGORY;
        match->has_path |= match->filter->terms[i].key == FILTER_PATH;
    }
    match->track_verdicts = calloc((size_t)match->track_count + 1, 1);
    match->name_verdicts = calloc(match->has_name ? match->string_count : 1, 1);
    match->category_verdicts = calloc(match->has_category ? match->string_count : 1, 1);
    match->stack_verdicts = calloc(match->has_path ? (size_t)match->stack_count + 1 : 1, 1);
    if (!match->track_verdicts || !match->name_verdicts || !match->category_verdicts || !match->stack_verdicts)
        return -ENOMEM;
    if (has_thread && index_threads(match) < 0)
        return -ENOMEM;
    judge_kinds(match);
    *ret_match = TAKE_PTR(match);
    return 0;
}

void filter_match_destroy(struct filter_match *match)
{
    if (!match)
        return;
    map_finish(&match->first_threads);
    map_finish(&match->exact_threads);
    map_finish(&match->span_paths);
    map_finish(&match->path_children);
    free(match->track_verdicts);
    free(match->name_verdicts);
    free(match->category_verdicts);
    free(match->stack_verdicts);
    free(match->paths);
    free(match);
}
