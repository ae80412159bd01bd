/* SPDX-License-Identifier: MIT */
/*
 * Traced calls and what they launched as rows of a calling context tree. All spans of a lane go through one sweep of nesting, in
 * which only those that have a node take part: a call has its own time without that of others within it, a graph without its nodes.
 */
#include "calling_context_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "trace/nesting.h"

#include <errno.h>

#define NO_NODE UINT32_MAX

/* One stack and name of spans. */
struct call {
    stack_id stack;
    struct context_span span;
    uint32_t node; /* NO_NODE: not asked for yet */
};

struct spans {
    struct context_building *building;
    const struct context_options *options;
    const struct trace_track *tracks;
    uint32_t track_count, columns;
    struct call *calls;
    size_t call_count, call_capacity;
    struct map numbers;      /* (stack, name) to a call */
    struct map launched;     /* (call, name) to a node */
    uint32_t *call_of;       /* by span: number of the call that it is, or that launched it, from 1; NULL: not needed */
    uint64_t span_count;
    struct nesting nesting;
};

static bool on_device(const struct spans *spans, track_id track)
{
    if (track.index >= spans->track_count)
        return false;
    enum track_kind kind = spans->tracks[track.index].kind;
    return kind == TRACK_KIND_STREAM || kind == TRACK_KIND_DEVICE;
}

static int call_number(struct spans *spans, const struct span_block *block, uint32_t row, uint32_t *ret_number)
{
    struct context_span span = {block->name ? block->name[row] : STRING_NONE, block->category ? block->category[row] : STRING_NONE,
                                block->kind ? block->kind[row] : 0, CONTEXT_CALL};
    uint64_t key = (uint64_t)block->stack[row].index << 32 | span.name.index, number;
    if (!map_get(&spans->numbers, key, &number)) {
        struct call *calls = array_reserve(spans->calls, &spans->call_capacity, spans->call_count + 1, sizeof *calls);
        if (!calls)
            return -ENOMEM;
        spans->calls = calls;
        number = spans->call_count++;
        calls[number] = (struct call){block->stack[row], span, NO_NODE};
        if (map_set(&spans->numbers, key, number) < 0)
            return -ENOMEM;
    }
    *ret_number = (uint32_t)number;
    return 0;
}

static int call_node(struct spans *spans, uint32_t number, const struct context_span *work, uint32_t *ret_node)
{
    struct call *call = &spans->calls[number];
    struct context_building *building = spans->building;
    int result = 0;
    (void)work;
    if (call->node == NO_NODE && spans->options->bottom_up) {
        result = context_child_span(building, 0, &call->span, &call->node);
        result = result < 0 ? result : context_stack_node(building, call->stack, false, call->node, &call->node);
    } else if (call->node == NO_NODE) {
        result = context_stack_node(building, call->stack, false, 0, &call->node);
        result = result < 0 ? result : context_child_span(building, call->node, &call->span, &call->node);
    }
    *ret_node = call->node;
    return result;
}

/* What a call launched: below the call, or, bottom-up, above it. */
static int launched_node(struct spans *spans, uint32_t number, const struct context_span *work, uint32_t *ret_node)
{
    const struct call *call = &spans->calls[number];
    struct context_building *building = spans->building;
    uint64_t key = (uint64_t)number << 32 | work->name.index, known;
    int result;
    if (map_get(&spans->launched, key, &known)) {
        *ret_node = (uint32_t)known;
        return 0;
    }
    if (spans->options->bottom_up) {
        result = context_child_span(building, 0, work, ret_node);
        result = result < 0 ? result : context_child_span(building, *ret_node, &call->span, ret_node);
        result = result < 0 ? result : context_stack_node(building, call->stack, false, *ret_node, ret_node);
    } else {
        result = call_node(spans, number, NULL, ret_node);
        result = result < 0 ? result : context_child_span(building, *ret_node, work, ret_node);
    }
    return result < 0 ? result : map_set(&spans->launched, key, *ret_node);
}

/* --- going through the spans ----------------------------------------------------------------------------------------- */

typedef int row_handler(struct spans *spans, const struct span_block *block, uint32_t row);

static int each_span(struct spans *spans, bool of_devices, row_handler *handle, struct error *err)
{
    const struct trace *trace = spans->building->trace;
    const struct context_options *options = spans->options;
    track_id lane = TRACK_NONE;
    int result = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS) && result == 0; i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, i);
        struct span_block block;
        if (on_device(spans, info.track) != of_devices)
            continue;
        if (info.track.index != lane.index || trace_is_growing(trace))
            nesting_close_all(&spans->nesting);
        lane = info.track;
        if (options->has_window && !spans->call_of && (info.end_ns < options->window_begin_ns || info.begin_ns > options->window_end_ns))
            continue;
        result = trace_spans_scan(trace, i, spans->columns, &block, err);
        if (result < 0)
            break;
        for (uint32_t row = 0; row < info.count && result == 0; row++)
            result = handle(spans, &block, row);
        trace_spans_put(trace, &block);
    }
    nesting_close_all(&spans->nesting);
    return result;
}

static bool is_call(const struct spans *spans, const struct span_block *block, uint32_t row)
{
    return block->stack && block->stack[row].index < spans->building->stack_count;
}

/* Cut to the window; false: it lies outside. */
static bool times_of(const struct spans *spans, const struct span_block *block, uint32_t row, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    const struct context_options *options = spans->options;
    int64_t begin_ns = block->begin_ns[row], end_ns = trace_span_end(spans->building->trace, block->info.track, begin_ns, block->end_ns[row]);
    bool cut = options->has_window;
    *ret_begin_ns = cut && begin_ns < options->window_begin_ns ? options->window_begin_ns : begin_ns;
    *ret_end_ns = cut && end_ns > options->window_end_ns ? options->window_end_ns : end_ns;
    return !cut || (end_ns >= options->window_begin_ns && begin_ns <= options->window_end_ns);
}

typedef int node_finder(struct spans *spans, uint32_t call, const struct context_span *work, uint32_t *ret_node);

/* A span that the filter doesn't want only takes its time from what it is in. */
static int count_span(struct spans *spans, const struct span_block *block, uint32_t row, uint32_t call, node_finder *find)
{
    const struct context_span work = {block->name ? block->name[row] : STRING_NONE, block->category ? block->category[row] : STRING_NONE,
                                      block->kind ? block->kind[row] : 0, CONTEXT_LAUNCHED};
    struct filter_match *match = spans->building->match;
    int64_t begin_ns, end_ns;
    uint32_t node = NO_NODE, parent;
    int result = 0;
    if (!times_of(spans, block, row, &begin_ns, &end_ns))
        return 0;
    if (!match || filter_match_span(match, block, row))
        result = find(spans, call, &work, &node);
    if (result < 0)
        return result;
    if (spans->options->measure != CONTEXT_CALL_COUNT)
        return nesting_add(&spans->nesting, begin_ns, end_ns, 0, node, trace_span_holds(spans->building->trace, block->info.track, work.kind), &parent);
    if (node != NO_NODE)
        context_count(spans->building, node, 1, 1);
    return 0;
}

static void closed(void *context, const struct nesting_entry *entry)
{
    struct spans *spans = context;
    if (entry->tag != NO_NODE)
        context_count(spans->building, entry->tag, 1, entry->end_ns - entry->begin_ns - entry->children_ns);
}

/* How much of what was traced the tree has. */
static void count_call(struct spans *spans, const struct span_block *block, uint32_t row)
{
    struct calling_context *context = spans->building->context;
    int64_t begin_ns, end_ns;
    if (!times_of(spans, block, row, &begin_ns, &end_ns) || (spans->building->match && !filter_match_span(spans->building->match, block, row)))
        return;
    bool has_stack = is_call(spans, block, row);
    context->calls++;
    context->calls_ns += end_ns - begin_ns;
    context->calls_with_stack += has_stack;
    context->calls_with_stack_ns += has_stack ? end_ns - begin_ns : 0;
}

static int add_call(struct spans *spans, const struct span_block *block, uint32_t row)
{
    uint32_t number;
    count_call(spans, block, row);
    if (!is_call(spans, block, row))
        return 0;
    int result = call_number(spans, block, row, &number);
    return result < 0 ? result : count_span(spans, block, row, number, call_node);
}

/* --- devices --------------------------------------------------------------------------------------------------------- */

static int number_call(struct spans *spans, const struct span_block *block, uint32_t row)
{
    uint64_t span = (uint64_t)block->info.first + row;
    uint32_t number;
    if (!is_call(spans, block, row) || span >= spans->span_count)
        return 0;
    int result = call_number(spans, block, row, &number);
    if (result == 0)
        spans->call_of[span] = number + 1;
    return result;
}

static int follow_links(struct spans *spans, struct error *err)
{
    const struct trace *trace = spans->building->trace;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        int result = trace_links_get(trace, i, &block, err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count; row++) {
            span_id from = block.from[row], to = block.to[row];
            bool launch = block.kind && block.kind[row] == LINK_KIND_LAUNCH;
            if (launch && from.index < spans->span_count && to.index < spans->span_count && spans->call_of[from.index] && !spans->call_of[to.index])
                spans->call_of[to.index] = spans->call_of[from.index];
        }
        trace_links_put(trace, &block);
    }
    return 0;
}

/* Nodes of a graph are launched by the call that launched the graph. */
static int add_work(struct spans *spans, const struct span_block *block, uint32_t row)
{
    uint64_t span = (uint64_t)block->info.first + row;
    span_id parent = block->parent ? block->parent[row] : SPAN_NONE;
    uint32_t number = span < spans->span_count ? spans->call_of[span] : 0;
    if (!number && parent.index < spans->span_count)
        number = spans->call_of[span] = spans->call_of[parent.index];
    return number ? count_span(spans, block, row, number - 1, launched_node) : 0;
}

static int add_devices(struct spans *spans, struct error *err)
{
    spans->span_count = trace_row_count(spans->building->trace, FAMILY_SPANS);
    spans->call_of = calloc(spans->span_count + 1, sizeof *spans->call_of);
    if (!spans->call_of)
        return -ENOMEM;
    int result = each_span(spans, false, number_call, err);
    if (result == 0)
        result = follow_links(spans, err);
    return result < 0 ? result : each_span(spans, true, add_work, err);
}

int context_add_spans(struct context_building *building, struct error *err)
{
    struct spans spans = {.building = building, .options = building->options, .nesting = {.closed = closed}};
    spans.nesting.context = &spans;
    spans.tracks = trace_tracks(building->trace, &spans.track_count);
    spans.columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) | SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) |
                    SPAN_COLUMN_BIT(SPAN_COLUMN_CATEGORY) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND) | SPAN_COLUMN_BIT(SPAN_COLUMN_PARENT) |
                    SPAN_COLUMN_BIT(SPAN_COLUMN_STACK) | (building->options->where ? filter_span_columns(building->options->where) : 0);
    map_init(&spans.numbers);
    map_init(&spans.launched);
    int result = building->options->measure == CONTEXT_DEVICE_TIME ? add_devices(&spans, err) : each_span(&spans, false, add_call, err);
    map_finish(&spans.numbers);
    map_finish(&spans.launched);
    nesting_finish(&spans.nesting);
    free(spans.calls);
    free(spans.call_of);
    return result;
}

bool trace_has_call_stacks(const struct trace *trace)
{
    struct spans spans = {0};
    uint32_t stack_count;
    bool found = false;
    spans.tracks = trace_tracks(trace, &spans.track_count);
    trace_stacks(trace, &stack_count);
    for (uint32_t i = 0; stack_count && i < trace_block_count(trace, FAMILY_SPANS) && !found; i++) {
        struct block_info info = trace_block_info(trace, FAMILY_SPANS, i);
        struct span_block block;
        struct error err = ERROR_INIT;
        if (on_device(&spans, info.track) || trace_spans_scan(trace, i, SPAN_COLUMN_BIT(SPAN_COLUMN_STACK), &block, &err) < 0)
            continue;
        for (uint32_t row = 0; block.stack && row < info.count && !found; row++)
            found = block.stack[row].index < stack_count;
        trace_spans_put(trace, &block);
    }
    return found;
}
