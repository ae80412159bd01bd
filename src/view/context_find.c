/* SPDX-License-Identifier: MIT */
/* Nodes of a calling context tree by what they stand for. */
#include "call_tree.h"

#include "base/error.h"
#include "trace/own_code.h"

#include <string.h>

#define CALL_FLAGS (CONTEXT_CALL | CONTEXT_LAUNCHED)
#define DEPTH_MAX 256

static uint32_t child_with(const struct calling_context *context, uint32_t parent, const struct trace_frame *frame)
{
    for (uint32_t child = context->nodes[parent].first_child; child != ID_NONE; child = context->nodes[child].next_sibling)
        if (!(context->nodes[child].flags & CALL_FLAGS) && string_is(context->nodes[child].function, frame->function) &&
            context->nodes[child].module.index == frame->module.index)
            return child;
    return ID_NONE;
}

static uint32_t child_span(const struct calling_context *context, uint32_t parent, string_id name, uint32_t flag)
{
    for (uint32_t child = context->nodes[parent].first_child; child != ID_NONE; child = context->nodes[child].next_sibling)
        if (context->nodes[child].flags & flag && string_is(context->nodes[child].function, name))
            return child;
    return ID_NONE;
}

/* Frames of a stack that trees have, innermost first; of a deeper one the outermost DEPTH_MAX. */
static uint32_t frames_of(const struct trace *trace, stack_id stack, uint32_t *path)
{
    uint32_t stack_count, depth = 0;
    const struct stack_node *stacks = trace_stacks(trace, &stack_count);
    for (; stack.index < stack_count; stack = stacks[stack.index].parent) {
        if (trace_frame_is_own(trace, stacks[stack.index].frame))
            continue;
        if (depth == DEPTH_MAX)
            memmove(path, path + 1, --depth * sizeof *path);
        path[depth++] = stacks[stack.index].frame.index;
    }
    return depth;
}

uint32_t context_find_stack(const struct trace *trace, const struct calling_context *context, stack_id stack)
{
    uint32_t frame_count, path[DEPTH_MAX], depth = frames_of(trace, stack, path), node = 0;
    const struct trace_frame *frames = trace_frames(trace, &frame_count);
    while (depth-- > 0 && path[depth] < frame_count) {
        uint32_t child = child_with(context, node, &frames[path[depth]]);
        if (child == ID_NONE)
            break;
        node = child;
    }
    return node ? node : ID_NONE;
}

/* Down from a node by a stack's callers. */
static uint32_t find_callers(const struct trace *trace, const struct calling_context *context, uint32_t node, stack_id stack)
{
    uint32_t frame_count, path[DEPTH_MAX], depth = frames_of(trace, stack, path);
    const struct trace_frame *frames = trace_frames(trace, &frame_count);
    for (uint32_t i = 0; i < depth && path[i] < frame_count; i++) {
        uint32_t child = child_with(context, node, &frames[path[i]]);
        if (child == ID_NONE)
            break;
        node = child;
    }
    return node;
}

static uint32_t find_heaviest(const struct calling_context *context, string_id name, bool is_span, int span_kind)
{
    uint32_t best = ID_NONE;
    for (uint32_t i = 1; i < context->count; i++) {
        const struct context_node *node = &context->nodes[i];
        if (!string_is(node->function, name) || ((node->flags & CALL_FLAGS) != 0) != is_span || (span_kind >= 0 && node->span_kind != span_kind))
            continue;
        if (best == ID_NONE || node->total_weight > context->nodes[best].total_weight)
            best = i;
    }
    return best;
}

uint32_t context_find_function(const struct calling_context *context, string_id function)
{
    return find_heaviest(context, function, false, -1);
}

uint32_t context_find_named_span(const struct calling_context *context, string_id name, int span_kind)
{
    return find_heaviest(context, name, true, span_kind);
}

/* --- spans ----------------------------------------------------------------------------------------------------------- */

struct named_span {
    string_id name;
    stack_id stack;
    span_id parent;
    bool is_call; /* of a thread */
};

static bool read_span(const struct trace *trace, span_id span, struct named_span *ret_span)
{
    uint32_t at, row, count;
    struct span_block block;
    struct error err = ERROR_INIT;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    if (span.index == ID_NONE || !trace_span_find(trace, span, &at, &row) || trace_spans_get(trace, at, &block, &err) < 0)
        return false;
    enum track_kind kind = block.info.track.index < count ? tracks[block.info.track.index].kind : TRACK_KIND_THREAD;
    *ret_span = (struct named_span){block.name ? block.name[row] : STRING_NONE, block.stack ? block.stack[row] : STACK_NONE,
                                    block.parent ? block.parent[row] : SPAN_NONE, kind != TRACK_KIND_STREAM && kind != TRACK_KIND_DEVICE};
    trace_spans_put(trace, &block);
    return true;
}

/* The first span that launched this one, as links are stored. */
static span_id launch_of(const struct trace *trace, span_id span)
{
    span_id launch = SPAN_NONE;
    for (uint32_t i = 0; span.index != ID_NONE && i < trace_block_count(trace, FAMILY_LINKS) && launch.index == ID_NONE; i++) {
        struct link_block block;
        struct error err = ERROR_INIT;
        if (trace_links_get(trace, i, &block, &err) < 0)
            break;
        for (uint32_t row = 0; row < block.info.count && launch.index == ID_NONE; row++)
            if (block.to[row].index == span.index && block.kind && block.kind[row] == LINK_KIND_LAUNCH)
                launch = block.from[row];
        trace_links_put(trace, &block);
    }
    return launch;
}

uint32_t context_find_span(const struct trace *trace, const struct calling_context *context, bool bottom_up, span_id id)
{
    struct named_span span, call;
    uint32_t node = 0;
    if (!read_span(trace, id, &span))
        return ID_NONE;
    if (span.is_call) {
        call = span;
    } else {
        span_id launch = launch_of(trace, id);
        launch = launch.index == ID_NONE ? launch_of(trace, span.parent) : launch; /* a graph's node */
        if (!read_span(trace, launch, &call))
            return ID_NONE;
    }
    if (bottom_up) {
        node = span.is_call ? 0 : child_span(context, 0, span.name, CONTEXT_LAUNCHED);
        node = node == ID_NONE ? node : child_span(context, node, call.name, CONTEXT_CALL);
        return node == ID_NONE ? node : find_callers(trace, context, node, call.stack);
    }
    node = context_find_stack(trace, context, call.stack);
    node = node == ID_NONE ? node : child_span(context, node, call.name, CONTEXT_CALL);
    return span.is_call || node == ID_NONE ? node : child_span(context, node, span.name, CONTEXT_LAUNCHED);
}

/* --- searching ------------------------------------------------------------------------------------------------------- */

static bool node_matches(const struct trace *trace, const struct context_node *node, const regex_t *pattern)
{
    struct text name = TEXT_INIT;
    context_node_name(trace, node, &name);
    bool matches = name.data && regexec(pattern, name.data, 0, NULL, 0) == 0;
    text_finish(&name);
    return matches;
}

uint32_t context_find_next(const struct trace *trace, const struct calling_context *context, const regex_t *pattern, uint32_t from, bool forward)
{
    uint32_t count = context->count;
    for (uint32_t i = 1; i <= count; i++) {
        uint32_t at = (uint32_t)((forward ? (uint64_t)from + i : (uint64_t)from + 2 * (uint64_t)count - i) % count);
        if (at && node_matches(trace, &context->nodes[at], pattern))
            return at;
    }
    return ID_NONE;
}
