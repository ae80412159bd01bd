/* SPDX-License-Identifier: MIT */
/*
 * Building the tree. Stacks of a trace form a tree of frames already: each of its nodes is mapped to one of ours once, so a
 * sum of samples costs one look-up, however deep its stack. Bottom-up trees walk each distinct stack from its leaf.
 */
#include "calling_context_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/saturated.h"
#include "trace/own_code.h"

#include <errno.h>
#include <string.h>

#define BOTTOM_UP_DEPTH_MAX 2048 /* callers beyond are shown as missing: each distinct stack has nodes of its own here */
#define NO_FUNCTION UINT64_MAX
#define OWN_CODE (UINT64_MAX - 1) /* beyond the modules of any function */

static int new_node(struct context_building *building, uint32_t parent, frame_id frame, uint32_t flags, uint32_t *ret_node)
{
    struct calling_context *context = building->context;
    struct context_node *nodes = array_reserve(context->nodes, &building->capacity, (size_t)context->count + 1, sizeof(*nodes));
    if (!nodes || context->count == UINT32_MAX - 1)
        return -ENOMEM;
    context->nodes = nodes;
    struct context_node node = {.parent = parent, .first_child = ID_NONE, .next_sibling = ID_NONE, .frame = frame,
                                .module = MODULE_NONE, .flags = flags,
                                .depth = parent == ID_NONE ? 0 : nodes[parent].depth + 1};
    if (frame.index < building->frame_count) {
        const struct trace_frame *source = &building->frames[frame.index];
        node.function = source->function;
        node.module = source->module;
        node.flags |= (source->flags & FRAME_KERNEL ? CONTEXT_KERNEL : 0) |
                      (source->flags & FRAME_INLINED ? CONTEXT_INLINED : 0);
    }
    nodes[context->count] = node;
    *ret_node = context->count++;
    return 0;
}

/* What is below a node is looked up by (parent, number): `what` is numbered first. *ret_new: the node has to be made. */
static int find_child(struct context_building *building, uint32_t parent, uint64_t what, uint64_t *ret_key, uint32_t *ret_node)
{
    uint64_t number, node;
    if (!map_get(&building->children[0], what, &number)) {
        number = building->children[0].count;
        if (map_set(&building->children[0], what, number) < 0)
            return -ENOMEM;
    }
    *ret_key = (uint64_t)parent << 32 | number;
    *ret_node = map_get(&building->children[1], *ret_key, &node) ? (uint32_t)node : NOT_MAPPED;
    return 0;
}

static int child_of(struct context_building *building, uint32_t parent, frame_id frame, uint32_t *ret_node)
{
    uint64_t what = NO_FUNCTION, key;
    bool known = frame.index < building->frame_count;
    if (known)
        what = (uint64_t)building->frames[frame.index].function.index << 32 | building->frames[frame.index].module.index;
    int result = find_child(building, parent, what, &key, ret_node);
    if (result == 0 && *ret_node == NOT_MAPPED) {
        result = new_node(building, parent, frame, 0, ret_node);
        return result < 0 ? result : map_set(&building->children[1], key, *ret_node);
    }
    if (result == 0 && known && !(building->frames[frame.index].flags & FRAME_INLINED))
        building->context->nodes[*ret_node].flags &= ~(uint32_t)CONTEXT_INLINED;
    return result;
}

static bool is_own(const struct context_building *building, frame_id frame)
{
    uint32_t module = frame.index < building->frame_count ? building->frames[frame.index].module.index : ID_NONE;
    return building->own_modules && module < building->module_count && building->own_modules[module];
}

/* One node for the profiler's own code that samples ended in below `parent`. Of traced calls it is no part: they stand there. */
static int add_own_code(struct context_building *building, uint32_t parent, uint32_t *ret_node)
{
    uint64_t key;
    *ret_node = parent;
    if (building->options->measure != CONTEXT_SAMPLES)
        return 0;
    int result = find_child(building, parent, OWN_CODE, &key, ret_node);
    if (result < 0 || *ret_node != NOT_MAPPED)
        return result;
    result = new_node(building, parent, FRAME_NONE, CONTEXT_OWN, ret_node);
    return result < 0 ? result : map_set(&building->children[1], key, *ret_node);
}

int context_child_span(struct context_building *building, uint32_t parent, const struct context_span *span, uint32_t *ret_node)
{
    uint64_t key;
    /* Modules end before these numbers: no function is taken for a call of its name. */
    uint64_t what = (uint64_t)span->name.index << 32 | (span->flag == CONTEXT_CALL ? ID_NONE - 1 : ID_NONE - 2);
    int result = find_child(building, parent, what, &key, ret_node);
    if (result < 0 || *ret_node != NOT_MAPPED)
        return result;
    result = new_node(building, parent, FRAME_NONE, span->flag, ret_node);
    if (result < 0)
        return result;
    struct context_node *node = &building->context->nodes[*ret_node];
    node->function = span->name;
    node->category = span->category;
    node->span_kind = span->kind;
    return map_set(&building->children[1], key, *ret_node);
}

/* A node under the root that is no function. */
static int special_node(struct context_building *building, uint32_t flags, uint32_t *node)
{
    return *node != NOT_MAPPED ? 0 : new_node(building, 0, FRAME_NONE, flags, node);
}

/* Top-down: our node for a stack; what lies above it on the way to the root is mapped first. */
static int map_stack(struct context_building *building, uint32_t stack, bool is_truncated, uint32_t *ret_node)
{
    uint32_t *node_of = building->node_of[is_truncated], node = 0;
    if (is_truncated) {
        int result = special_node(building, CONTEXT_TRUNCATED, &building->truncated);
        if (result < 0)
            return result;
        node = building->truncated;
    }
    size_t depth = 0;
    for (uint32_t at = stack; at < building->stack_count; at = building->stacks[at].parent.index) {
        if (node_of[at] != NOT_MAPPED) {
            node = node_of[at];
            break;
        }
        uint32_t *path = array_reserve(building->path, &building->path_capacity, depth + 1, sizeof(*path));
        if (!path)
            return -ENOMEM;
        building->path = path;
        path[depth++] = at;
    }
    while (depth-- > 0) {
        uint32_t at = building->path[depth];
        int result = is_own(building, building->stacks[at].frame) ? 0 : child_of(building, node, building->stacks[at].frame, &node);
        if (result < 0)
            return result;
        node_of[at] = node;
    }
    if (is_own(building, building->stacks[stack].frame))
        return add_own_code(building, node, ret_node);
    *ret_node = node;
    return 0;
}

/* Bottom-up, below `node`: the chain of callers ends with the root frame. */
static int add_callers(struct context_building *building, uint32_t stack, bool is_truncated, uint32_t node, uint32_t *ret_node)
{
    uint32_t depth = 0;
    int result = is_own(building, building->stacks[stack].frame) ? add_own_code(building, node, &node) : 0;
    for (; stack < building->stack_count && depth < BOTTOM_UP_DEPTH_MAX && result == 0; depth++) {
        if (!is_own(building, building->stacks[stack].frame))
            result = child_of(building, node, building->stacks[stack].frame, &node);
        stack = building->stacks[stack].parent.index;
    }
    if (result == 0 && (stack < building->stack_count || is_truncated)) {
        result = child_of(building, node, FRAME_NONE, &node);
        building->context->nodes[node].flags |= CONTEXT_TRUNCATED;
    }
    *ret_node = node;
    return result;
}

int context_stack_node(struct context_building *building, stack_id stack, bool is_truncated, uint32_t below, uint32_t *ret_node)
{
    if (stack.index >= building->stack_count) {
        int result = special_node(building, CONTEXT_NO_STACK, &building->no_stack);
        *ret_node = building->no_stack;
        return result;
    }
    return building->options->bottom_up ? add_callers(building, stack.index, is_truncated, below, ret_node)
                                        : map_stack(building, stack.index, is_truncated, ret_node);
}

void context_count(struct context_building *building, uint32_t node, uint64_t count, int64_t weight)
{
    building->context->nodes[node].self_count += count;
    add_saturated(&building->context->nodes[node].self_weight, weight);
}

static int add_row(struct context_building *building, const struct sample_aggregate *row)
{
    uint32_t events = building->options->events ? building->options->events : SAMPLE_EVENTS_CPU, node = 0;
    if (!(events >> row->event & 1))
        return 0;
    if (building->match && !filter_match_stack(building->match, row->track, row->stack, row->event))
        return 0;
    int result = context_stack_node(building, row->stack, row->flags & SAMPLE_TRUNCATED, 0, &node);
    if (result == 0)
        context_count(building, node, row->count, row->weight);
    return result;
}

static int add_stored_sums(struct context_building *building, struct error *err)
{
    const struct sample_aggregate *rows;
    uint32_t count;
    int result = trace_sample_aggregates(building->trace, &rows, &count, err);
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = add_row(building, &rows[i]);
    return result;
}

static int add_samples(struct context_building *building, struct error *err)
{
    const struct context_options *options = building->options;
    int result = 0;
    for (uint32_t i = 0; i < trace_block_count(building->trace, FAMILY_SAMPLES) && result == 0; i++) {
        struct block_info info = trace_block_info(building->trace, FAMILY_SAMPLES, i);
        struct sample_block block;
        if (info.end_ns < options->window_begin_ns || info.begin_ns > options->window_end_ns)
            continue;
        result = trace_samples_get(building->trace, i, &block, err);
        if (result < 0)
            break;
        for (uint32_t row = 0; row < info.count && result == 0; row++) {
            if (block.time_ns[row] < options->window_begin_ns || block.time_ns[row] > options->window_end_ns)
                continue;
            struct sample_aggregate sample = {.track = info.track, .stack = block.stack ? block.stack[row] : STACK_NONE,
                                              .event = block.event ? block.event[row] : 0,
                                              .flags = block.flags ? block.flags[row] : 0, .count = 1,
                                              .weight = block.weight[row]};
            result = add_row(building, &sample);
        }
        trace_samples_put(building->trace, &block);
    }
    return result;
}

struct sibling {
    const struct trace *trace;
    const struct context_node *node;
    uint32_t index;
};

static int sibling_order(const void *left, const void *right)
{
    const struct sibling *a = left, *b = right;
    if (a->node->parent != b->node->parent)
        return a->node->parent < b->node->parent ? -1 : 1;
    if (a->node->total_weight != b->node->total_weight)
        return a->node->total_weight > b->node->total_weight ? -1 : 1;
    int order = strcmp(trace_text(a->trace, a->node->function), trace_text(b->trace, b->node->function));
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Totals from the children's totals, then the lists of children in order. */
static int total_and_order(struct context_building *building)
{
    struct context_node *nodes = building->context->nodes;
    uint32_t count = building->context->count;
    for (uint32_t i = count; i-- > 0;) {
        nodes[i].total_count += nodes[i].self_count;
        add_saturated(&nodes[i].total_weight, nodes[i].self_weight);
        if (nodes[i].parent != ID_NONE) {
            nodes[nodes[i].parent].total_count += nodes[i].total_count;
            add_saturated(&nodes[nodes[i].parent].total_weight, nodes[i].total_weight);
        }
    }
    CLEANUP(freep) struct sibling *siblings = malloc((count + (size_t)1) * sizeof(*siblings));
    if (!siblings)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        siblings[i] = (struct sibling){building->trace, &nodes[i], i};
    qsort(siblings, count, sizeof(*siblings), sibling_order);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t parent = siblings[i].node->parent, index = siblings[i].index;
        if (parent == ID_NONE)
            continue;
        nodes[index].next_sibling = nodes[parent].first_child;
        nodes[parent].first_child = index;
    }
    return 0;
}

/* Modules are asked once: stacks have the same few. */
static int find_own_code(struct context_building *building)
{
    trace_modules(building->trace, &building->module_count);
    if (building->options->own_frames || !building->module_count)
        return 0;
    building->own_modules = calloc(building->module_count, sizeof(*building->own_modules));
    for (uint32_t i = 0; building->own_modules && i < building->module_count; i++)
        building->own_modules[i] = trace_module_is_own(building->trace, (module_id){i});
    return building->own_modules ? 0 : -ENOMEM;
}

static int prepare(struct context_building *building)
{
    uint32_t root;
    building->stacks = trace_stacks(building->trace, &building->stack_count);
    building->frames = trace_frames(building->trace, &building->frame_count);
    building->no_stack = building->truncated = NOT_MAPPED;
    for (int i = 0; i < 2; i++) {
        size_t bytes = ((size_t)building->stack_count + 1) * sizeof(uint32_t);
        building->node_of[i] = malloc(bytes);
        if (!building->node_of[i])
            return -ENOMEM;
        memset(building->node_of[i], 0xff, bytes);
    }
    if (building->options->where && filter_match_create(building->options->where, building->trace, &building->match) < 0)
        return -ENOMEM;
    building->context = calloc(1, sizeof(*building->context));
    if (!building->context)
        return -ENOMEM;
    building->context->measure = building->options->measure;
    if (find_own_code(building) < 0)
        return -ENOMEM;
    return new_node(building, ID_NONE, FRAME_NONE, 0, &root);
}

int calling_context_create(const struct trace *trace, const struct context_options *options,
                           struct calling_context **ret_context, struct error *err)
{
    static const struct context_options defaults;
    struct map children[2];
    struct context_building building = {.trace = trace, .options = options ? options : &defaults, .children = children};
    struct error reason = ERROR_INIT;
    map_init(&children[0]);
    map_init(&children[1]);
    int result = prepare(&building);
    if (result == 0 && building.options->measure != CONTEXT_SAMPLES)
        result = context_add_spans(&building, &reason);
    else if (result == 0)
        result = building.options->has_window ? add_samples(&building, &reason) : add_stored_sums(&building, &reason);
    if (result == 0)
        result = total_and_order(&building);
    map_finish(&children[0]);
    map_finish(&children[1]);
    filter_match_destroy(building.match);
    free(building.path);
    free(building.own_modules);
    free(building.node_of[0]);
    free(building.node_of[1]);
    if (result < 0) {
        calling_context_destroy(building.context);
        return error_set(err, result, "%s", reason.code ? reason.text : "out of memory for a call tree");
    }
    *ret_context = building.context;
    return 0;
}

void calling_context_destroy(struct calling_context *context)
{
    if (!context)
        return;
    free(context->nodes);
    free(context);
}
