/* SPDX-License-Identifier: MIT */
/*
 * Everything of sampling: modules, the tree of stacks, samples, time off the CPU. Nodes are named when a sample first needs
 * them; a node's parent has a lower number, so that chains end.
 */
#include "base/array.h"
#include "base/error.h"
#include "merge_maps.h"
#include "merge_modules.h"
#include "merge_places.h"
#include "merge_unwind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAXIMUM = 4096, NODES_MAXIMUM = 1 << 28 };
#define STACK_UNRESOLVED (UINT32_MAX - 1)

struct merged_node {
    struct wire_stack_node node;
    int64_t raw_ns;
    uint32_t stack; /* of the trace; STACK_UNRESOLVED before the first use */
    bool known;
};

struct merge_samples {
    struct merge *merge;
    struct merge_modules *modules;
    struct merge_maps *maps;
    struct merge_unwind *unwind;
    struct merged_node *nodes; /* by number; 0 is not used */
    size_t node_count, node_capacity;
    string_id category, blocked, preempted;
    struct wire_sample *late; /* while following: their nodes had not come yet */
    size_t late_count, late_capacity;
    bool last_try;           /* of these */
    bool ended;              /* the recorder wrote its ledger */
    uint64_t cpu_samples, timer_samples, off_cpu;
    int64_t timer_ns;        /* CPU time that the timers' samples stand for */
    uint64_t missing_stacks; /* samples whose nodes are not there (damaged, or recycled) */
};

static void samples_destroy(void *state)
{
    struct merge_samples *samples = state;
    if (!samples)
        return;
    merge_unwind_destroy(samples->unwind);
    merge_maps_destroy(samples->maps);
    merge_modules_destroy(samples->modules);
    free(samples->nodes);
    free(samples->late);
    free(samples);
}

static int samples_create(struct merge *merge, void **ret_state, struct error *err)
{
    struct merge_samples *samples = calloc(1, sizeof(*samples));
    if (!samples || merge_modules_create(merge, &samples->modules) < 0 ||
        merge_maps_create(merge, samples->modules, &samples->maps) < 0 ||
        merge_unwind_create(merge, samples->modules, samples->maps, &samples->unwind) < 0) {
        samples_destroy(samples);
        return error_set(err, -ENOMEM, "out of memory");
    }
    samples->merge = merge;
    struct trace_builder *builder = merge_builder(merge);
    samples->category = trace_builder_string(builder, "cpu");
    samples->blocked = trace_builder_string(builder, "blocked");
    samples->preempted = trace_builder_string(builder, "preempted");
    *ret_state = samples;
    return 0;
}

static struct merge_samples *state_of(struct merge *merge)
{
    return merge_state(merge, &merge_part_samples);
}

struct merge_modules *merge_samples_modules(struct merge *merge)
{
    return state_of(merge)->modules;
}

struct merge_maps *merge_samples_maps(struct merge *merge)
{
    return state_of(merge)->maps;
}

static int on_module(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    return merge_modules_note(state_of(merge)->modules, (const struct wire_module *)(const void *)header);
}

static int on_mapping(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    return merge_maps_note(state_of(merge)->maps, (const struct wire_mapping *)(const void *)header);
}

static int on_target_maps(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    if (!stream->process)
        return 0;
    return merge_maps_note_target(state_of(merge)->maps, stream, (const struct wire_target_maps *)(const void *)header);
}

static int reserve_nodes(struct merge_samples *samples, size_t count)
{
    if (count <= samples->node_count)
        return 0;
    struct merged_node *grown = array_reserve(samples->nodes, &samples->node_capacity, count, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    samples->nodes = grown;
    memset(grown + samples->node_count, 0, (count - samples->node_count) * sizeof(*grown));
    samples->node_count = count;
    return 0;
}

static int on_stack_nodes(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct merge_samples *samples = state_of(merge);
    const struct wire_stack_nodes *record = (const struct wire_stack_nodes *)(const void *)header;
    const struct wire_stack_node *nodes = (const struct wire_stack_node *)(record + 1);
    size_t room = (wire_bytes(header) - sizeof(*record)) / sizeof(*nodes);
    size_t count = header->value < room ? header->value : room;
    /* Numbers are dense: far ahead of what is there means damage, not a reason to reserve gigabytes. */
    if (record->first + count > NODES_MAXIMUM || record->first > samples->node_count + (1 << 22))
        return 0;
    int r = reserve_nodes(samples, record->first + count);
    if (r < 0)
        return r;
    for (size_t i = 0; i < count; i++)
        samples->nodes[record->first + i] = (struct merged_node){nodes[i], record->time_ns, STACK_UNRESOLVED, true};
    return 0;
}

static int resolve_node(struct merge_samples *samples, struct merged_node *node, stack_id parent)
{
    stack_id stack;
    struct module *module = merge_modules_by_number(samples->modules, node->node.module);
    int r = merge_modules_push(samples->modules, parent, module, node->node.address, node->raw_ns, &stack);
    if (r == 0)
        node->stack = stack.index;
    return r;
}

/* The trace's stack for a node: NONE when it, or one of its callers, is not there. */
static int stack_of(struct merge_samples *samples, uint32_t number, stack_id *ret_stack)
{
    uint32_t chain[DEPTH_MAXIMUM];
    size_t depth = 0;
    stack_id stack = STACK_NONE;
    for (uint32_t at = number; at;) {
        if (at >= samples->node_count || !samples->nodes[at].known || depth == DEPTH_MAXIMUM) {
            samples->missing_stacks++;
            *ret_stack = STACK_NONE;
            return 0;
        }
        if (samples->nodes[at].stack != STACK_UNRESOLVED) {
            stack.index = samples->nodes[at].stack;
            break;
        }
        chain[depth++] = at;
        uint32_t parent = samples->nodes[at].node.parent;
        at = parent < at ? parent : UINT32_MAX; /* an upward link is damage */
    }
    int r = 0;
    while (depth > 0 && r == 0) {
        struct merged_node *node = &samples->nodes[chain[--depth]];
        r = resolve_node(samples, node, stack);
        stack.index = node->stack;
    }
    *ret_stack = stack;
    return r;
}

static int keep_late(struct merge_samples *samples, const struct wire_sample *record)
{
    struct wire_sample *grown = array_reserve(samples->late, &samples->late_capacity, samples->late_count + 1, sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    samples->late = grown;
    grown[samples->late_count++] = *record;
    return 0;
}

static bool must_wait(const struct merge_samples *samples, const struct wire_sample *record)
{
    uint32_t node = record->header.value;
    bool known = node < samples->node_count && samples->nodes[node].known;
    return merge_is_following(samples->merge) && !samples->last_try && node && !known && !(record->flags & SAMPLE_EXCLUDED);
}

static int on_sample(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct merge_samples *samples = state_of(merge);
    const struct wire_sample *record = (const struct wire_sample *)(const void *)header;
    if (must_wait(samples, record))
        return keep_late(samples, record);
    struct sample sample = {
        .time_ns = merge_time_raw(merge, record->time_ns),
        .weight = record->weight,
        .cpu = record->cpu,
        .event = record->event < SAMPLE_EVENT_COUNT ? record->event : SAMPLE_EVENT_CPU_CLOCK,
        .flags = record->flags,
    };
    bool excluded = sample.flags & SAMPLE_EXCLUDED;
    int r = excluded ? merge_modules_push_excluded(samples->modules, &sample.stack)
                     : stack_of(samples, header->value, &sample.stack);
    if (r < 0)
        return r;
    samples->cpu_samples += !excluded && sample.event != SAMPLE_EVENT_PAGE_FAULT;
    track_id track = merge_thread_at(merge, record->pid, record->tid, sample.time_ns);
    return trace_builder_add_sample(merge_builder(merge), track, &sample);
}

/* The sampler writes nodes at the end of its round, the samples meanwhile: by the next round of ours they are there, or lost. */
static int add_late(struct merge_samples *samples)
{
    int r = 0;
    samples->last_try = true;
    for (size_t i = 0; i < samples->late_count && (r == 0 || r == -EINVAL); i++)
        r = on_sample(samples->merge, NULL, &samples->late[i].header);
    samples->last_try = false;
    samples->late_count = 0;
    return r == -EINVAL ? 0 : r;
}

static int samples_between(struct merge *merge, void *state, struct error *err)
{
    struct merge_samples *samples = state;
    (void)merge;
    int r = merge_modules_open(samples->modules, err);
    if (r < 0)
        return r;
    r = merge_maps_prepare(samples->maps);
    if (r < 0)
        return error_set_errno(err, r, "cannot put the recording's mappings in order");
    r = add_late(samples);
    return r < 0 ? error_set_errno(err, r, "cannot add samples to the trace") : 0;
}

static int on_off_cpu(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    struct merge_samples *samples = state_of(merge);
    const struct wire_off_cpu *record = (const struct wire_off_cpu *)(const void *)header;
    samples->off_cpu++;
    string_id reason = header->value == WIRE_OFF_CPU_PREEMPTED ? samples->preempted : samples->blocked;
    int64_t begin_ns = merge_time_raw(merge, record->begin_ns);
    const struct span span = {
        .track = merge_sched_at(merge, record->pid, record->tid, begin_ns),
        .begin_ns = begin_ns,
        .end_ns = merge_time_raw(merge, record->end_ns),
        .name = reason,
        .category = samples->category,
        .kind = SPAN_KIND_BLOCKED,
        .parent = SPAN_NONE,
        .stack = STACK_NONE,
    };
    const struct payload payload = {
        .kind = PAYLOAD_BLOCKED, .present = 3, .fields = {{.string = reason}, {.u64 = record->from_cpu}}};
    span_id handle;
    return trace_builder_add_span(merge_builder(merge), &span, &payload, &handle);
}

static void count_raw(struct merge_samples *samples, uint8_t event, uint64_t weight)
{
    if (event == SAMPLE_EVENT_TIMER) {
        samples->timer_samples++;
        samples->timer_ns += (int64_t)weight;
    } else if (event != SAMPLE_EVENT_PAGE_FAULT) {
        samples->cpu_samples++;
    }
}

static int on_chain_sample(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_chain_sample *record = (const struct wire_chain_sample *)(const void *)header;
    count_raw(state_of(merge), record->event, record->weight);
    return merge_unwind_chain(state_of(merge)->unwind, stream, record);
}

static int on_stack_sample(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_stack_sample *record = (const struct wire_stack_sample *)(const void *)header;
    count_raw(state_of(merge), record->event, record->weight);
    return merge_unwind_stack(state_of(merge)->unwind, stream, record);
}

static int on_sampling_end(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    state_of(merge)->ended = true;
    return 0;
}

/* The recorder writes the ledger of what the kernel gave; of samples that targets took of themselves, and of a recording
 * that was cut off, only what is there can be counted. */
static int add_ledger(struct merge_samples *samples)
{
    struct trace_builder *builder = merge_builder(samples->merge);
    static const char cut_off[] = "the recording was cut off: how many were lost is not known";
    int r = 0;
    if (samples->timer_samples) {
        char hertz[32];
        r = trace_builder_add_ledger(builder, "cpu samples", samples->timer_samples, samples->timer_samples, 0, "");
        snprintf(hertz, sizeof(hertz), "%.1f", (double)samples->timer_samples * 1e9 / (double)(samples->timer_ns ? samples->timer_ns : 1));
        if (r == 0 && samples->timer_ns > 0)
            r = trace_builder_set_metadata(builder, "sampling.frequency_delivered", hertz);
    }
    if (!samples->ended && samples->cpu_samples && r == 0)
        r = trace_builder_add_ledger(builder, "cpu samples", samples->cpu_samples, samples->cpu_samples, 0, cut_off);
    if (!samples->ended && samples->off_cpu && r == 0)
        r = trace_builder_add_ledger(builder, "context switches", samples->off_cpu, samples->off_cpu, 0, cut_off);
    if (samples->missing_stacks && r == 0)
        r = trace_builder_add_ledger(builder, "call stacks", samples->missing_stacks, 0, samples->missing_stacks,
                                     "nodes are damaged or were recycled: samples without a stack");
    return r;
}

static int samples_finish(struct merge *merge, void *state, struct error *err)
{
    struct merge_samples *samples = state;
    int r = merge_unwind_finish(samples->unwind);
    if (r == 0)
        r = add_ledger(samples);
    return r < 0 ? error_set_errno(err, r, "cannot add samples to the trace") : 0;
}

static int samples_round(struct merge *merge, void *state, struct error *err)
{
    struct merge_samples *samples = state;
    (void)merge;
    int r = merge_unwind_finish(samples->unwind);
    return r < 0 ? error_set_errno(err, r, "cannot add samples to the trace") : 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_MODULE, MERGE_LIFE, on_module},
    {WIRE_MAPPING, MERGE_LIFE, on_mapping},
    {WIRE_TARGET_MAPS, MERGE_LIFE, on_target_maps},
    {WIRE_STACK_NODES, MERGE_LIFE, on_stack_nodes},
    {WIRE_SAMPLING_END, MERGE_LIFE, on_sampling_end},
    {WIRE_SAMPLE, MERGE_ROWS, on_sample},
    {WIRE_OFF_CPU, MERGE_ROWS, on_off_cpu},
    {WIRE_CHAIN_SAMPLE, MERGE_ROWS, on_chain_sample},
    {WIRE_STACK_SAMPLE, MERGE_ROWS, on_stack_sample},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_samples = {
    .name = "samples",
    .create = samples_create,
    .between = samples_between,
    .finish = samples_finish,
    .round = samples_round,
    .destroy = samples_destroy,
    .handlers = handlers,
};
