/* SPDX-License-Identifier: MIT */
/* Functions, modules and threads from samples: each distinct stack is walked once, whatever number of samples has it.
 */
#include "summary_build.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

static int out_of_memory(struct summary_build *build)
{
    return error_set(build->err, -ENOMEM, "out of memory while summing up samples");
}

static int new_function(struct summary_build *build, const struct trace_frame *frame, uint32_t *ret_function)
{
    struct summary *summary = build->summary;
    struct summary_function *functions =
        array_reserve(summary->functions, &build->function_capacity, summary->function_count + 1, sizeof *functions);
    if (!functions)
        return -ENOMEM;
    summary->functions = functions;
    uint32_t *last_seen =
        array_reserve(build->last_seen, &build->last_seen_capacity, summary->function_count + 1, sizeof *last_seen);
    if (!last_seen)
        return -ENOMEM;
    build->last_seen = last_seen;
    last_seen[summary->function_count] = 0;
    const char *name = frame ? trace_text(build->trace, frame->function) : "[unknown]", *module = "";
    if (frame && frame->module.index < build->module_count)
        module = trace_text(build->trace, build->modules[frame->module.index].path);
    name = *name ? name : "[unknown]";
    functions[summary->function_count] = (struct summary_function){.number = (uint32_t)summary->function_count,
                                                                   .name = name,
                                                                   .category = "cpu",
                                                                   .module = module,
                                                                   .is_start = summary_is_start(name, module)};
    *ret_function = (uint32_t)summary->function_count++;
    return 0;
}

/* One function for all its frames: its lines and its inlined copies are not told apart here. */
static int function_of_frame(struct summary_build *build, frame_id id, uint32_t *ret_function)
{
    bool known = id.index < build->frame_count;
    uint32_t *cached = &build->frame_function[known ? id.index : build->frame_count];
    if (*cached == UINT32_MAX) {
        const struct trace_frame *frame = known ? &build->frames[id.index] : NULL;
        uint64_t key = frame ? (uint64_t)frame->function.index << 32 | frame->module.index : UINT64_MAX, value;
        if (!map_get(&build->function_index, key, &value)) {
            uint32_t function;
            if (new_function(build, frame, &function) < 0 || map_set(&build->function_index, key, function) < 0)
                return -ENOMEM;
            value = function;
        }
        *cached = (uint32_t)value;
    }
    *ret_function = *cached;
    return 0;
}

static int add_to_module(struct summary_build *build, frame_id leaf, uint64_t count, int64_t weight_ns)
{
    struct summary *summary = build->summary;
    uint32_t module = leaf.index < build->frame_count ? build->frames[leaf.index].module.index : ID_NONE;
    bool known = module < build->module_count;
    uint32_t *index = &build->module_index[known ? module : build->module_count];
    if (*index == UINT32_MAX) {
        struct summary_module *modules =
            array_reserve(summary->modules, &build->module_capacity, summary->module_count + 1, sizeof *modules);
        if (!modules)
            return -ENOMEM;
        summary->modules = modules;
        modules[summary->module_count] =
            (struct summary_module){.name = known ? trace_text(build->trace, build->modules[module].path) : ""};
        *index = (uint32_t)summary->module_count++;
    }
    summary->modules[*index].count += count;
    add_saturated(&summary->modules[*index].self_ns, weight_ns);
    return 0;
}

/* Fills build->walk; a sample without a stack has one unknown function. */
static int walk_stack(struct summary_build *build, stack_id at, size_t *ret_count)
{
    size_t count = 0;
    do {
        bool known = at.index < build->stack_count;
        uint32_t *walk = array_reserve(build->walk, &build->walk_capacity, count + 1, sizeof *walk);
        if (!walk)
            return -ENOMEM;
        build->walk = walk;
        if (function_of_frame(build, known ? build->stacks[at.index].frame : FRAME_NONE, &walk[count++]) < 0)
            return -ENOMEM;
        at = known ? build->stacks[at.index].parent : STACK_NONE;
    } while (at.index < build->stack_count);
    *ret_count = count;
    return 0;
}

static int add_stack(struct summary_build *build, const struct sample_aggregate *row)
{
    struct summary *summary = build->summary;
    uint32_t serial = ++build->serial;
    frame_id leaf = row->stack.index < build->stack_count ? build->stacks[row->stack.index].frame : FRAME_NONE;
    size_t count, starts = 0;
    if (walk_stack(build, row->stack, &count) < 0)
        return -ENOMEM;
    while (starts < count && summary->functions[build->walk[count - 1 - starts]].is_start)
        starts++;
    add_saturated(&summary->functions[build->walk[0]].self_ns, row->weight);
    for (size_t i = 0; i < count; i++) {
        struct summary_function *function = &summary->functions[build->walk[i]];
        if (build->last_seen[build->walk[i]] == serial)
            continue;
        build->last_seen[build->walk[i]] = serial;
        function->count += row->count;
        add_saturated(&function->total_ns, row->weight);
        if (i + starts >= count)
            add_saturated(&function->start_ns, row->weight);
    }
    if (!(row->flags & SAMPLE_EXCLUDED) && summary_count_call(build, row, count, starts) < 0) /* nobody knows who called it */
        return -ENOMEM;
    return add_to_module(build, leaf, row->count, row->weight);
}

static void add_to_thread(struct summary_build *build, const struct sample_aggregate *row)
{
    if (row->track.index >= build->track_count)
        return;
    uint32_t process = build->tracks[row->track.index].process.index, thread = build->track_thread[row->track.index];
    if (process < build->process_count)
        add_saturated(&build->process_cpu_ns[process], row->weight);
    if (thread != UINT32_MAX) {
        add_saturated(&build->summary->threads[thread].cpu_ns, row->weight);
        build->summary->threads[thread].samples += row->count;
    }
}

static void add_truncated(struct summary *summary, const struct sample_aggregate *row)
{
    enum sample_cut cut = sample_cut_of(row->flags);
    summary->samples_truncated += row->count;
    summary->samples_cut[cut < SAMPLE_CUT_COUNT ? cut : SAMPLE_CUT_UNKNOWN] += row->count;
}

/* CPU time in no sample: it has a row of its own, and counts none. */
static int add_excluded(struct summary_build *build, const struct sample_aggregate *row)
{
    struct sample_aggregate uncounted = *row;
    uncounted.count = 0;
    add_saturated(&build->summary->sampled_ns, row->weight);
    add_saturated(&build->summary->excluded_ns, row->weight);
    add_to_thread(build, &uncounted);
    return add_stack(build, &uncounted) < 0 ? out_of_memory(build) : 0;
}

static int add_row(struct summary_build *build, const struct sample_aggregate *row)
{
    struct summary *summary = build->summary;
    if (row->event == SAMPLE_EVENT_PAGE_FAULT)
        summary->fault_samples += row->count;
    if (!sample_event_is_cpu(row->event))
        return 0;
    if (row->flags & SAMPLE_EXCLUDED)
        return add_excluded(build, row);
    summary->samples += row->count;
    add_saturated(&summary->sampled_ns, row->weight);
    if (row->flags & SAMPLE_KERNEL) {
        summary->samples_kernel += row->count;
        add_saturated(&summary->kernel_ns, row->weight);
    }
    if (row->flags & SAMPLE_NO_STACK)
        summary->samples_without_stack += row->count;
    else if (row->flags & SAMPLE_TRUNCATED)
        add_truncated(summary, row);
    add_to_thread(build, row);
    return add_stack(build, row) < 0 ? out_of_memory(build) : 0;
}

/* --- with a filter: the samples themselves, summed by stack within a block -----------------------------------------
 */

struct rows {
    struct map index; /* stack, event, flags -> row */
    struct sample_aggregate *items;
    size_t count, capacity;
};

static int sum_sample(struct rows *rows, const struct sample_block *block, uint32_t i)
{
    uint32_t stack = block->stack ? block->stack[i].index : ID_NONE;
    uint8_t event = block->event ? block->event[i] : 0, flags = block->flags ? block->flags[i] : 0;
    uint64_t key = (uint64_t)stack | (uint64_t)event << 32 | (uint64_t)flags << 40, index;
    if (!map_get(&rows->index, key, &index)) {
        struct sample_aggregate *items = array_reserve(rows->items, &rows->capacity, rows->count + 1, sizeof *items);
        if (!items)
            return -ENOMEM;
        rows->items = items;
        index = rows->count++;
        items[index] =
            (struct sample_aggregate){.track = block->info.track, .stack = {stack}, .event = event, .flags = flags};
        if (map_set(&rows->index, key, index) < 0)
            return -ENOMEM;
    }
    rows->items[index].count++;
    add_saturated(&rows->items[index].weight, block->weight ? block->weight[i] : 0);
    return 0;
}

static int add_filtered_block(struct summary_build *build, struct rows *rows, uint32_t number)
{
    struct sample_block block;
    if (!filter_match_track(build->match, trace_block_info(build->trace, FAMILY_SAMPLES, number).track))
        return 0;
    int result = trace_samples_get(build->trace, number, &block, build->err);
    if (result < 0)
        return result;
    rows->count = 0;
    map_clear(&rows->index);
    for (uint32_t i = 0; i < block.info.count && result == 0; i++)
        if (filter_match_sample(build->match, &block, i))
            result = sum_sample(rows, &block, i);
    trace_samples_put(build->trace, &block);
    if (result < 0)
        return out_of_memory(build);
    for (size_t i = 0; i < rows->count && result == 0; i++)
        result = add_row(build, &rows->items[i]);
    return result;
}

static int add_filtered(struct summary_build *build)
{
    struct rows rows = {0};
    uint32_t blocks = trace_block_count(build->trace, FAMILY_SAMPLES);
    int result = 0;
    map_init(&rows.index);
    for (uint32_t i = 0; i < blocks && result == 0; i++) {
        progress_update(build->progress, "reading samples", i, blocks);
        result = add_filtered_block(build, &rows, i);
    }
    map_finish(&rows.index);
    free(rows.items);
    return result;
}

int summary_add_samples(struct summary_build *build)
{
    if (build->match)
        return add_filtered(build);
    const struct sample_aggregate *rows;
    uint32_t count;
    int result = trace_sample_aggregates(build->trace, &rows, &count, build->err);
    for (uint32_t i = 0; i < count && result == 0; i++)
        result = add_row(build, &rows[i]);
    return result;
}
