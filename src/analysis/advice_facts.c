/* SPDX-License-Identifier: MIT */
/* What the advisor reads of what traces store as sums: no span is looked at here. */
#include "advice_internal.h"

#include "aggregate.h"
#include "base/error.h"
#include "wait_states.h"

#include <errno.h>
#include <string.h>

int advice_read_sums(struct advice_facts *facts, struct error *err)
{
    const struct span_aggregate *rows;
    uint32_t count;
    int result = trace_span_aggregates(facts->trace, &rows, &count, err);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        if (rows[i].kind == SPAN_KIND_KERNEL) {
            facts->kernels += rows[i].count;
            add_saturated(&facts->kernel_ns, rows[i].total_ns);
        } else if (rows[i].kind == SPAN_KIND_LAUNCH) {
            facts->launches += rows[i].count;
            add_saturated(&facts->launch_ns, rows[i].total_ns);
        }
    }
    return result;
}

/* --- samples ------------------------------------------------------------------------------------------------------------- */

struct sampled {
    const struct trace_frame *frames;
    const struct stack_node *stacks;
    uint32_t frame_count, stack_count;
    bool *faults;       /* by frame: the kernel handles a fault */
    struct map by_name; /* function -> CPU time */
};

static const struct trace_frame *leaf_of(const struct sampled *sampled, stack_id stack)
{
    uint32_t frame = stack.index < sampled->stack_count ? sampled->stacks[stack.index].frame.index : ID_NONE;
    return frame < sampled->frame_count ? &sampled->frames[frame] : NULL;
}

/* A stack's parent has a lower number; a damaged file's may not: the walk ends there. */
static bool is_fault(const struct sampled *sampled, stack_id stack)
{
    for (uint32_t at = stack.index; at < sampled->stack_count;) {
        uint32_t frame = sampled->stacks[at].frame.index, parent = sampled->stacks[at].parent.index;
        if (frame < sampled->frame_count && sampled->faults[frame])
            return true;
        if (parent >= at)
            return false;
        at = parent;
    }
    return false;
}

static int add_sample(struct advice_facts *facts, struct sampled *sampled, const struct sample_aggregate *row)
{
    const struct trace_frame *leaf = leaf_of(sampled, row->stack);
    uint64_t before = 0;
    facts->samples += row->count;
    add_saturated(&facts->cpu_ns, row->weight);
    advice_sum_add(facts, ADVICE_SUM_CPU, row->track.index, row->weight);
    if (row->flags & SAMPLE_KERNEL)
        advice_sum_add(facts, ADVICE_SUM_KERNEL, row->track.index, row->weight);
    if (!(row->flags & SAMPLE_NO_STACK)) {
        facts->samples_with_stack += row->count;
        facts->samples_broken += row->flags & SAMPLE_TRUNCATED ? row->count : 0;
    }
    if (is_fault(sampled, row->stack))
        advice_sum_add(facts, ADVICE_SUM_FAULT, row->track.index, row->weight);
    if (!leaf || string_is(leaf->function, STRING_NONE) || leaf->flags & (FRAME_KERNEL | FRAME_UNSYMBOLIZED))
        return 0;
    map_get(&sampled->by_name, leaf->function.index, &before);
    return map_set(&sampled->by_name, leaf->function.index, before + (uint64_t)(row->weight > 0 ? row->weight : 0));
}

static void find_hot(struct advice_facts *facts, const struct sampled *sampled)
{
    size_t position = 0;
    uint64_t name, time_ns;
    facts->hot = STRING_NONE;
    while (map_next(&sampled->by_name, &position, &name, &time_ns))
        if ((int64_t)time_ns > facts->hot_ns || ((int64_t)time_ns == facts->hot_ns && name < facts->hot.index)) {
            facts->hot = (string_id){(uint32_t)name};
            facts->hot_ns = (int64_t)time_ns;
        }
}

static int read_rows(struct advice_facts *facts, struct sampled *sampled, struct error *err)
{
    const struct sample_aggregate *rows;
    uint32_t count;
    int result = trace_sample_aggregates(facts->trace, &rows, &count, err);
    for (uint32_t i = 0; i < count && result == 0; i++)
        if (sample_event_is_cpu(rows[i].event) && !(rows[i].flags & SAMPLE_EXCLUDED))
            result = add_sample(facts, sampled, &rows[i]);
    find_hot(facts, sampled);
    for (uint32_t i = 0; i < count && result == 0; i++) {
        const struct trace_frame *leaf = leaf_of(sampled, rows[i].stack);
        if (facts->hot_ns > 0 && leaf && sample_event_is_cpu(rows[i].event) && !(rows[i].flags & SAMPLE_EXCLUDED) && string_is(leaf->function, facts->hot))
            advice_sum_add(facts, ADVICE_SUM_FUNCTION, rows[i].track.index, rows[i].weight);
    }
    return result;
}

int advice_read_samples(struct advice_facts *facts, struct error *err)
{
    struct sampled sampled = {0};
    sampled.frames = trace_frames(facts->trace, &sampled.frame_count);
    sampled.stacks = trace_stacks(facts->trace, &sampled.stack_count);
    sampled.faults = calloc((size_t)sampled.frame_count + 1, sizeof *sampled.faults);
    if (!sampled.faults)
        return error_set(err, -ENOMEM, "advice: out of memory");
    for (uint32_t i = 0; i < sampled.frame_count; i++) {
        const char *name = trace_text(facts->trace, sampled.frames[i].function);
        sampled.faults[i] = (sampled.frames[i].flags & FRAME_KERNEL) && (strstr(name, "page_fault") || strcmp(name, "handle_mm_fault") == 0);
    }
    map_init(&sampled.by_name);
    int result = read_rows(facts, &sampled, err);
    map_finish(&sampled.by_name);
    free(sampled.faults);
    facts->have[ADVICE_NEED_SAMPLES] = facts->samples >= ADVICE_SAMPLES_MIN;
    return result;
}

/* --- the scheduler -------------------------------------------------------------------------------------------------------- */

int advice_read_switches(struct advice_facts *facts, struct error *err)
{
    CLEANUP(freep) struct off_cpu_times *own = NULL;
    uint32_t count = facts->track_count;
    int result = facts->off_cpu ? 0 : aggregate_off_cpu(facts->trace, NULL, &own, &count, err);
    const struct off_cpu_times *times = facts->off_cpu ? facts->off_cpu : own;
    for (uint32_t i = 0; result == 0 && i < count; i++) {
        if (times[i].blocked_known)
            advice_sum_add(facts, ADVICE_SUM_BLOCKED, i, times[i].blocked_ns);
        if (times[i].preempted_known)
            advice_sum_add(facts, ADVICE_SUM_PREEMPTED, i, times[i].preempted_ns);
        facts->have[ADVICE_NEED_SWITCHES] |= times[i].blocked_known || times[i].preempted_known;
    }
    return result;
}

void advice_read_ledger(struct advice_facts *facts)
{
    uint32_t count;
    const struct ledger_entry *rows = trace_ledger(facts->trace, &count);
    facts->have[ADVICE_NEED_LEDGER] = count > 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!rows[i].seen || rows[i].lost > rows[i].seen)
            continue;
        if (!facts->seen || (double)rows[i].lost * (double)facts->seen > (double)facts->lost * (double)rows[i].seen) {
            facts->lost = rows[i].lost;
            facts->seen = rows[i].seen;
            facts->lost_source = rows[i].source;
        }
    }
}

/* --- waits of ranks for each other ---------------------------------------------------------------------------------------- */

static int sum_of_pattern(uint8_t pattern)
{
    switch (pattern) {
    case WAIT_LATE_SENDER:
    case WAIT_WRONG_ORDER_SAME:
    case WAIT_WRONG_ORDER_OTHER: return ADVICE_SUM_LATE_SENDER;
    case WAIT_LATE_RECEIVER: return ADVICE_SUM_LATE_RECEIVER;
    case WAIT_BARRIER:
    case WAIT_NXN:
    case WAIT_EARLY_REDUCE:
    case WAIT_LATE_BROADCAST:
    case WAIT_EARLY_SCAN: return ADVICE_SUM_COLLECTIVE;
    default: return -1;
    }
}

static void find_late(struct advice_facts *facts, const struct wait_blame *rows, size_t count, int64_t *caused_ns, enum advice_sum sum)
{
    memset(caused_ns, 0, facts->track_count * sizeof *caused_ns);
    for (size_t i = 0; i < count; i++)
        if (sum_of_pattern(rows[i].pattern) == (int)sum && rows[i].cause_lane.index < facts->track_count)
            add_saturated(&caused_ns[rows[i].cause_lane.index], rows[i].time_ns);
    for (uint32_t i = 0; i < facts->track_count; i++)
        if (caused_ns[i] > 0 && (facts->late[sum].index == ID_NONE || caused_ns[i] > caused_ns[facts->late[sum].index]))
            facts->late[sum] = (track_id){i};
}

int advice_read_waits(struct advice_facts *facts, const struct progress *progress, struct error *err)
{
    CLEANUP(freep) struct wait_blame *rows = NULL;
    CLEANUP(freep) int64_t *caused_ns = calloc((size_t)facts->track_count + 1, sizeof *caused_ns);
    size_t count = 0;
    if (!caused_ns)
        return error_set(err, -ENOMEM, "advice: out of memory");
    int result = wait_blame_create(facts->trace, progress, &rows, &count, err);
    if (result < 0)
        return result;
    for (size_t i = 0; i < count; i++) {
        int sum = sum_of_pattern(rows[i].pattern);
        if (sum < 0)
            continue;
        struct advice_name *longest = &facts->sums.longest[sum];
        advice_sum_add(facts, (enum advice_sum)sum, rows[i].victim_lane.index, rows[i].time_ns);
        facts->sums.count[sum] += rows[i].count - 1;
        if (rows[i].time_ns > longest->longest_ns)
            *longest = (struct advice_name){rows[i].victim, SPAN_KIND_UNKNOWN, rows[i].time_ns};
    }
    for (enum advice_sum sum = ADVICE_SUM_LATE_SENDER; sum <= ADVICE_SUM_COLLECTIVE; sum++)
        find_late(facts, rows, count, caused_ns, sum);
    facts->have[ADVICE_NEED_WAITS] = true;
    return 0;
}
