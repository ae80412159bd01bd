/* SPDX-License-Identifier: MIT */
/*
 * Which function it was: code outside of calls that others waited for is told by the CPU samples that were taken in it. Stretches and samples of a
 * lane are both gone through by time; stretches of several delays may lie over each other.
 */
#include "wait_internal.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

struct naming {
    const struct trace *trace;
    struct wait_function *found;
    const struct stack_node *stacks;
    const struct trace_frame *frames;
    uint32_t stack_count, frame_count;
    struct wait_outside *stretches;
    size_t count;
    uint32_t *active;      /* stretches that hold the time that is looked at */
    size_t active_count, active_capacity;
    size_t next;           /* the first stretch that has not begun */
    struct map weights;    /* delay and function -> weight */
    uint64_t *sampled;     /* by delay: weight of all samples */
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_lane_and_begin(const void *left, const void *right)
{
    const struct wait_outside *a = left, *b = right;
    int order = COMPARE(a->lane, b->lane);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    order = order ? order : COMPARE(a->end_ns, b->end_ns);
    return order ? order : COMPARE(a->delay, b->delay);
}

/* The innermost function of the program's: the kernel worked for it. */
static string_id function_of(const struct naming *naming, stack_id stack)
{
    for (; stack.index < naming->stack_count; stack = naming->stacks[stack.index].parent) {
        uint32_t frame = naming->stacks[stack.index].frame.index;
        if (frame < naming->frame_count && !(naming->frames[frame].flags & FRAME_KERNEL))
            return naming->frames[frame].function;
    }
    return STRING_NONE;
}

static int activate(struct naming *naming, uint32_t lane, int64_t time_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < naming->active_count; i++)
        if (naming->stretches[naming->active[i]].end_ns > time_ns)
            naming->active[kept++] = naming->active[i];
    naming->active_count = kept;
    for (; naming->next < naming->count && naming->stretches[naming->next].lane == lane && naming->stretches[naming->next].begin_ns <= time_ns; naming->next++) {
        if (naming->stretches[naming->next].end_ns <= time_ns)
            continue;
        uint32_t *active = array_reserve(naming->active, &naming->active_capacity, naming->active_count + 1, sizeof *active);
        if (!active)
            return -ENOMEM;
        naming->active = active;
        active[naming->active_count++] = (uint32_t)naming->next;
    }
    return 0;
}

static int add_sample(struct naming *naming, string_id function, uint64_t weight)
{
    int result = 0;
    for (size_t i = 0; i < naming->active_count && result == 0; i++) {
        uint32_t delay = naming->stretches[naming->active[i]].delay;
        uint64_t key = (uint64_t)delay << 32 | function.index, sum = 0;
        map_get(&naming->weights, key, &sum);
        naming->sampled[delay] += weight;
        result = map_set(&naming->weights, key, sum + weight);
    }
    return result;
}

static size_t first_of_lane(const struct naming *naming, uint32_t lane)
{
    size_t low = 0, high = naming->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (naming->stretches[middle].lane < lane)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int read_samples(struct naming *naming, uint32_t number, const struct sample_block *block, uint32_t *lane)
{
    uint32_t track = block->info.track.index;
    int result = 0;
    if (number == 0 || track != *lane) {
        naming->next = first_of_lane(naming, track);
        naming->active_count = 0;
        *lane = track;
    }
    for (uint32_t row = 0; row < block->info.count && result == 0; row++) {
        uint8_t event = block->event ? block->event[row] : 0;
        if (!sample_event_is_cpu(event) || (block->flags && block->flags[row] & SAMPLE_EXCLUDED))
            continue;
        result = activate(naming, track, block->time_ns[row]);
        string_id function = naming->active_count && block->stack ? function_of(naming, block->stack[row]) : STRING_NONE;
        if (result == 0 && !string_is(function, STRING_NONE) && block->weight && block->weight[row] > 0)
            result = add_sample(naming, function, (uint64_t)block->weight[row]);
    }
    return result;
}

static void choose(struct naming *naming)
{
    size_t position = 0;
    uint64_t key, weight;
    while (map_next(&naming->weights, &position, &key, &weight)) {
        struct wait_function *found = &naming->found[key >> 32];
        string_id function = {(uint32_t)key};
        double share = (double)weight / (double)naming->sampled[key >> 32];
        /* The pairs come in no order: of equal ones the lower name, by its text, which does not depend on how a trace was put together. */
        if (share > found->share || (share >= found->share && strcmp(trace_text(naming->trace, function), trace_text(naming->trace, found->function)) < 0))
            *found = (struct wait_function){function, share};
    }
}

int wait_functions_find(const struct trace *trace, struct wait_outside *stretches, size_t count, struct wait_function *found, size_t found_count,
                        struct error *err)
{
    struct naming naming = {.trace = trace, .found = found, .stretches = stretches, .count = count};
    uint32_t blocks = trace_block_count(trace, FAMILY_SAMPLES), lane = ID_NONE;
    for (size_t i = 0; i < found_count; i++)
        found[i] = (struct wait_function){STRING_NONE, 0};
    if (!count || !blocks)
        return 0;
    naming.stacks = trace_stacks(trace, &naming.stack_count);
    naming.frames = trace_frames(trace, &naming.frame_count);
    naming.sampled = calloc(found_count + 1, sizeof *naming.sampled);
    if (!naming.sampled)
        return -ENOMEM;
    map_init(&naming.weights);
    qsort(stretches, count, sizeof *stretches, by_lane_and_begin);
    int result = 0;
    for (uint32_t i = 0; i < blocks && result == 0; i++) {
        struct sample_block block;
        result = trace_samples_get(trace, i, &block, err);
        if (result < 0)
            break;
        result = read_samples(&naming, i, &block, &lane);
        trace_samples_put(trace, &block);
    }
    if (result == 0)
        choose(&naming);
    map_finish(&naming.weights);
    free(naming.sampled);
    free(naming.active);
    return result;
}

int wait_name_functions(struct wait_building *building, struct wait_outside *stretches, size_t count)
{
    struct wait_states *out = building->out;
    CLEANUP(freep) struct wait_function *found = calloc(out->delay_count + 1, sizeof *found);
    int result = found ? wait_functions_find(building->trace, stretches, count, found, out->delay_count, building->err) : -ENOMEM;
    for (size_t i = 0; i < out->delay_count && result == 0; i++) {
        out->delays[i].function = found[i].function;
        out->delays[i].function_share = found[i].share;
    }
    return result;
}
