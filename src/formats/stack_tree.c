/* SPDX-License-Identifier: MIT */
/* All stacks of a trace merged into one tree. */
#include "stack_tree.h"

#include "base/array.h"
#include "base/error.h"
#include "trace/own_code.h"
#include "walk.h"

#include <errno.h>
#include <stdlib.h>

/* Marks get numbers of their own, above any number of names a trace can have. */
#define MARK_KEY_BASE UINT32_C(0xfffffff0)

const char *stack_tree_label(const struct stack_tree *tree, uint32_t node)
{
    switch (tree->nodes[node].mark) {
    case MARK_TRUNCATED:
        return "[truncated stack]";
    case MARK_NO_STACK:
        return "[no stack]";
    case MARK_UNKNOWN:
        return "[unknown]";
    case MARK_OWN:
        return "[hprofiler]";
    case MARK_NONE:
        break;
    }
    return trace_text(tree->trace, tree->nodes[node].label);
}

int stack_frames(const struct trace *trace, stack_id stack, frame_id **frames, size_t *capacity, size_t *ret_count)
{
    uint32_t node_count;
    const struct stack_node *nodes = trace_stacks(trace, &node_count);
    size_t count = 0;
    for (stack_id at = stack; at.index < node_count && count < node_count; at = nodes[at.index].parent)
        count++;
    frame_id *items = array_reserve(*frames, capacity, count + 1, sizeof(*items));
    if (!items)
        return -ENOMEM;
    *frames = items;
    stack_id at = stack;
    for (size_t i = count; i-- > 0; at = nodes[at.index].parent)
        items[i] = nodes[at.index].frame;
    *ret_count = count;
    return 0;
}

static string_id module_path(const struct trace *trace, frame_id id)
{
    uint32_t frame_count, module_count;
    const struct trace_frame *frames = trace_frames(trace, &frame_count);
    const struct trace_module *modules = trace_modules(trace, &module_count);
    bool known = id.index < frame_count && frames[id.index].module.index < module_count;
    return known ? modules[frames[id.index].module.index].path : STRING_NONE;
}

/* The number of a label in a module; UINT32_MAX without memory. */
static uint32_t name_number(struct stack_tree *tree, string_id label, string_id module)
{
    uint64_t key = (uint64_t)label.index << 32 | module.index, number;
    if (map_get(&tree->names, key, &number))
        return (uint32_t)number;
    number = tree->names.count;
    return number >= MARK_KEY_BASE || map_set(&tree->names, key, number) < 0 ? UINT32_MAX : (uint32_t)number;
}

/* The child of a node for a label, made when it is new; UINT32_MAX without memory. */
static uint32_t tree_child(struct stack_tree *tree, uint32_t parent, string_id label, enum stack_tree_mark mark, frame_id frame)
{
    string_id module = mark ? STRING_NONE : module_path(tree->trace, frame);
    uint32_t number = mark ? MARK_KEY_BASE + (uint32_t)mark : name_number(tree, label, module);
    uint64_t key = (uint64_t)parent << 32 | number, found;
    if (number == UINT32_MAX)
        return UINT32_MAX;
    if (map_get(&tree->children, key, &found))
        return (uint32_t)found;
    struct stack_tree_node *nodes = array_reserve(tree->nodes, &tree->capacity, tree->count + 1, sizeof(*nodes));
    if (!nodes)
        return UINT32_MAX;
    tree->nodes = nodes;
    uint32_t node = (uint32_t)tree->count;
    if (tree->count >= UINT32_MAX || map_set(&tree->children, key, node) < 0)
        return UINT32_MAX;
    nodes[tree->count++] = (struct stack_tree_node){.parent = parent, .label = label, .mark = mark, .module = module, .frame = frame};
    return node;
}

static uint32_t tree_program(struct stack_tree *tree, track_id track)
{
    uint32_t track_count, process_count;
    const struct trace_track *tracks = trace_tracks(tree->trace, &track_count);
    const struct trace_process *processes = trace_processes(tree->trace, &process_count);
    string_id label = STRING_NONE;
    if (track.index < track_count && tracks[track.index].process.index < process_count)
        label = processes[tracks[track.index].process.index].command;
    return tree_child(tree, 0, label, label.index ? MARK_NONE : MARK_UNKNOWN, FRAME_NONE);
}

/* Leaves of the stacks that one program had: samples are many, different stacks few. */
struct stack_scratch {
    frame_id *frames;
    size_t capacity;
    struct map leaves; /* stack << 2 | mark: the node */
    uint32_t program;
};

static enum stack_tree_mark mark_of(uint8_t flags)
{
    if (flags & SAMPLE_NO_STACK)
        return MARK_NO_STACK;
    return flags & SAMPLE_TRUNCATED ? MARK_TRUNCATED : MARK_NONE;
}

/* The node of a stack, made when it is new; UINT32_MAX without memory. */
static uint32_t tree_leaf(struct stack_tree *tree, struct stack_scratch *scratch, stack_id stack, enum stack_tree_mark mark,
                          uint32_t program)
{
    uint32_t frame_count;
    const struct trace_frame *frames = trace_frames(tree->trace, &frame_count);
    size_t depth;
    if (stack_frames(tree->trace, stack, &scratch->frames, &scratch->capacity, &depth) < 0)
        return UINT32_MAX;
    uint32_t node = program;
    if (!depth)
        node = tree_child(tree, node, STRING_NONE, MARK_UNKNOWN, FRAME_NONE);
    else if (mark)
        node = tree_child(tree, node, STRING_NONE, mark, FRAME_NONE);
    for (size_t i = 0; i < depth && node != UINT32_MAX; i++) {
        frame_id frame = scratch->frames[i];
        if (trace_frame_is_own(tree->trace, frame)) {
            if (i + 1 == depth && !tree->from_spans)
                node = tree_child(tree, node, STRING_NONE, MARK_OWN, FRAME_NONE);
            continue;
        }
        string_id label = frame.index < frame_count ? frames[frame.index].function : STRING_NONE;
        node = tree_child(tree, node, label, label.index ? MARK_NONE : MARK_UNKNOWN, frame);
    }
    return node;
}

/* The same, remembered. */
static uint32_t find_leaf(struct stack_tree *tree, struct stack_scratch *scratch, stack_id stack, enum stack_tree_mark mark,
                          uint32_t program)
{
    if (program != scratch->program)
        map_clear(&scratch->leaves);
    scratch->program = program;
    uint64_t key = (uint64_t)stack.index << 2 | (unsigned)mark, found;
    if (!map_get(&scratch->leaves, key, &found)) {
        found = tree_leaf(tree, scratch, stack, mark, program);
        if (found == UINT32_MAX || map_set(&scratch->leaves, key, found) < 0)
            return UINT32_MAX;
    }
    return (uint32_t)found;
}

static int tree_add_sample(struct stack_tree *tree, struct stack_scratch *scratch, const struct sample_block *block,
                           uint32_t row, uint32_t program)
{
    stack_id stack = block->stack ? block->stack[row] : STACK_NONE;
    enum stack_tree_mark mark = mark_of(block->flags ? block->flags[row] : 0);
    uint32_t node = find_leaf(tree, scratch, stack, mark, program);
    if (node == UINT32_MAX)
        return -ENOMEM;
    tree->nodes[node].self += block->weight[row];
    tree->total += block->weight[row];
    tree->samples++;
    return 0;
}

static int tree_add_sample_block(struct stack_tree *tree, struct stack_scratch *scratch, uint32_t index, struct error *err)
{
    struct sample_block block;
    int r = trace_samples_get(tree->trace, index, &block, err);
    if (r < 0)
        return r;
    uint32_t program = tree_program(tree, block.info.track);
    for (uint32_t row = 0; row < block.info.count && r == 0; row++) {
        uint8_t event = block.event ? block.event[row] : 0;
        if (block.weight && sample_event_is_cpu(event))
            r = program == UINT32_MAX ? -ENOMEM : tree_add_sample(tree, scratch, &block, row, program);
    }
    trace_samples_put(tree->trace, &block);
    return r < 0 ? error_set(err, r, "export: out of memory for the stacks") : 0;
}

static int tree_from_samples(struct stack_tree *tree, const struct progress *progress, struct error *err)
{
    struct walk walk = walk_begin(tree->trace, progress, "stacks", 1u << FAMILY_SAMPLES);
    int r = 0;
    struct stack_scratch scratch = {.program = UINT32_MAX};
    map_init(&scratch.leaves);
    uint32_t blocks = trace_block_count(tree->trace, FAMILY_SAMPLES);
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        walk_step(&walk);
        r = tree_add_sample_block(tree, &scratch, i, err);
    }
    free(scratch.frames);
    map_finish(&scratch.leaves);
    return r;
}

/* Spans that are open at the sweep's point of one track. */
struct open_span {
    int64_t begin_ns, end_ns, children_ns;
    uint32_t node;
    bool holds;
};
struct span_sweep {
    struct open_span *open;
    size_t count, capacity;
    track_id track;
    struct stack_scratch scratch;
};

static void sweep_close(struct stack_tree *tree, struct span_sweep *sweep)
{
    struct open_span *top = &sweep->open[--sweep->count];
    int64_t duration_ns = top->end_ns - top->begin_ns;
    int64_t self_ns = duration_ns - top->children_ns;
    if (self_ns > 0) {
        tree->nodes[top->node].self += self_ns;
        tree->total += self_ns;
    }
    tree->samples++;
    if (sweep->count)
        sweep->open[sweep->count - 1].children_ns += duration_ns;
}

/* Where a span hangs: below its call stack, where one was taken, else in the span around it. */
static uint32_t sweep_parent(struct stack_tree *tree, struct span_sweep *sweep, const struct span_block *block, uint32_t row)
{
    bool called = block->stack && !stack_id_is(block->stack[row], STACK_NONE);
    if (sweep->count && !called)
        return sweep->open[sweep->count - 1].node;
    uint32_t program = tree_program(tree, block->info.track);
    return called && program != UINT32_MAX ? find_leaf(tree, &sweep->scratch, block->stack[row], MARK_NONE, program) : program;
}

static int sweep_add(struct stack_tree *tree, struct span_sweep *sweep, const struct span_block *block, uint32_t row)
{
    int64_t begin_ns = block->begin_ns[row];
    int64_t end_ns = trace_span_end(tree->trace, block->info.track, begin_ns, block->end_ns[row]);
    if (end_ns < begin_ns)
        end_ns = begin_ns;
    while (sweep->count && sweep->open[sweep->count - 1].end_ns <= begin_ns)
        sweep_close(tree, sweep);
    /* Overlap without nesting (device streams): beside the open ones, not inside. */
    while (sweep->count && (sweep->open[sweep->count - 1].end_ns < end_ns || !sweep->open[sweep->count - 1].holds))
        sweep_close(tree, sweep);
    uint32_t parent = sweep_parent(tree, sweep, block, row);
    if (parent == UINT32_MAX)
        return -ENOMEM;
    string_id label = block->name ? block->name[row] : STRING_NONE;
    uint32_t node = tree_child(tree, parent, label, label.index ? MARK_NONE : MARK_UNKNOWN, FRAME_NONE);
    struct open_span *open = array_reserve(sweep->open, &sweep->capacity, sweep->count + 1, sizeof(*open));
    if (node == UINT32_MAX || !open)
        return -ENOMEM;
    sweep->open = open;
    open[sweep->count++] = (struct open_span){.begin_ns = begin_ns, .end_ns = end_ns, .node = node,
                                                     .holds = trace_span_holds(tree->trace, block->info.track, block->kind ? block->kind[row] : 0)};
    return 0;
}

static int sweep_block(struct stack_tree *tree, struct span_sweep *sweep, uint32_t index, struct error *err)
{
    struct block_info info = trace_block_info(tree->trace, FAMILY_SPANS, index);
    if (!track_id_is(info.track, sweep->track) || info.run)
        while (sweep->count)
            sweep_close(tree, sweep);
    sweep->track = info.track;
    struct span_block block;
    int r = trace_spans_get(tree->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < info.count && r == 0; row++)
        r = sweep_add(tree, sweep, &block, row);
    trace_spans_put(tree->trace, &block);
    return r < 0 ? error_set(err, r, "export: out of memory for the stacks") : 0;
}

static int tree_from_spans(struct stack_tree *tree, const struct progress *progress, struct error *err)
{
    struct walk walk = walk_begin(tree->trace, progress, "spans", 1u << FAMILY_SPANS);
    int r = 0;
    struct span_sweep sweep = {.track = TRACK_NONE, .scratch.program = UINT32_MAX};
    map_init(&sweep.scratch.leaves);
    uint32_t blocks = trace_block_count(tree->trace, FAMILY_SPANS);
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        walk_step(&walk);
        r = sweep_block(tree, &sweep, i, err);
    }
    while (sweep.count)
        sweep_close(tree, &sweep);
    free(sweep.open);
    free(sweep.scratch.frames);
    map_finish(&sweep.scratch.leaves);
    return r;
}

/* Whether any on-CPU sample exists: then samples are what a flame graph shows. */
static int has_on_cpu_samples(const struct trace *trace, bool *ret_found, struct error *err)
{
    *ret_found = false;
    uint32_t blocks = trace_block_count(trace, FAMILY_SAMPLES);
    for (uint32_t i = 0; i < blocks && !*ret_found; i++) {
        struct sample_block block;
        int r = trace_samples_get(trace, i, &block, err);
        if (r < 0)
            return r;
        for (uint32_t row = 0; row < block.info.count && !*ret_found; row++)
            *ret_found = sample_event_is_cpu(block.event ? block.event[row] : 0);
        trace_samples_put(trace, &block);
    }
    return 0;
}

int stack_tree_init(struct stack_tree *tree, const struct trace *trace, const struct progress *progress, struct error *err)
{
    *tree = (struct stack_tree){.trace = trace};
    map_init(&tree->names);
    map_init(&tree->children);
    bool sampled;
    int r = has_on_cpu_samples(trace, &sampled, err);
    if (r < 0)
        return r;
    tree->from_spans = !sampled;
    tree->nodes = array_reserve(NULL, &tree->capacity, 1, sizeof(*tree->nodes));
    if (!tree->nodes)
        return error_set(err, -ENOMEM, "export: out of memory for the stacks");
    tree->nodes[tree->count++] = (struct stack_tree_node){.parent = UINT32_MAX, .mark = MARK_UNKNOWN, .frame = FRAME_NONE};
    return sampled ? tree_from_samples(tree, progress, err) : tree_from_spans(tree, progress, err);
}

void stack_tree_finish(struct stack_tree *tree)
{
    map_finish(&tree->names);
    map_finish(&tree->children);
    free(tree->nodes);
    tree->nodes = NULL;
}
