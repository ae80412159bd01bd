/* SPDX-License-Identifier: MIT */
/*
 * Which function it was: code outside of calls that others waited for is told by the CPU samples that were taken in it. Stretches and samples of a
 * lane are both gone through by time; stretches of several delays may lie over each other. Samples stand for time on a processor: what the
 * scheduler says of the rest is set against them.
 */
#include "wait_internal.h"

#include "base/array.h"
#include "trace/own_code.h"

#include <errno.h>
#include <string.h>

/* Of a delay. */
struct seen {
    uint64_t weight, samples; /* of all its samples: weight in each stretch that holds them, and how many different ones */
    uint64_t last;            /* number of the sample that was added last */
    int64_t time_ns, blocked_ns;
};

struct function_seen {
    uint64_t weight, samples;
};

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
    struct map numbers;    /* delay and function -> place in functions */
    struct function_seen *functions;
    size_t function_count, function_capacity;
    struct seen *seen;     /* by delay */
    uint64_t sample;       /* number of the one that is looked at */
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

/* The innermost function of the program's: the kernel, or the profiler's library, worked for it. */
static string_id function_of(const struct naming *naming, stack_id stack)
{
    for (; stack.index < naming->stack_count; stack = naming->stacks[stack.index].parent) {
        uint32_t frame = naming->stacks[stack.index].frame.index;
        if (frame < naming->frame_count && !(naming->frames[frame].flags & FRAME_KERNEL) && !trace_module_is_own(naming->trace, naming->frames[frame].module))
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

static int add_to_function(struct naming *naming, uint32_t delay, string_id function, uint64_t weight, bool again)
{
    uint64_t key = (uint64_t)delay << 32 | function.index, place = naming->function_count;
    if (!map_get(&naming->numbers, key, &place)) {
        struct function_seen *functions = array_reserve(naming->functions, &naming->function_capacity, naming->function_count + 1, sizeof *functions);
        if (!functions)
            return -ENOMEM;
        naming->functions = functions;
        functions[naming->function_count++] = (struct function_seen){0};
        if (map_set(&naming->numbers, key, place) < 0)
            return -ENOMEM;
    }
    naming->functions[place].weight += weight;
    naming->functions[place].samples += !again;
    return 0;
}

static int add_sample(struct naming *naming, string_id function, uint64_t weight)
{
    int result = 0;
    naming->sample++;
    for (size_t i = 0; i < naming->active_count && result == 0; i++) {
        uint32_t delay = naming->stretches[naming->active[i]].delay;
        struct seen *seen = &naming->seen[delay];
        bool again = seen->last == naming->sample;
        seen->last = naming->sample;
        seen->weight += weight;
        seen->samples += !again;
        result = add_to_function(naming, delay, function, weight, again);
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

/* What samples can stand for at most is the time on a processor; they are no finer than that either. */
static double time_of(const struct seen *seen)
{
    return seen->time_ns > 0 && (uint64_t)seen->time_ns > seen->weight ? (double)seen->time_ns : (double)seen->weight;
}

static void choose(struct naming *naming, size_t found_count)
{
    size_t position = 0;
    uint64_t key, place;
    for (size_t i = 0; i < found_count; i++) {
        const struct seen *seen = &naming->seen[i];
        naming->found[i].samples = seen->samples;
        naming->found[i].blocked_share = seen->time_ns > 0 ? (double)seen->blocked_ns / (double)seen->time_ns : 0;
    }
    while (map_next(&naming->numbers, &position, &key, &place)) {
        struct wait_function *found = &naming->found[key >> 32];
        const struct function_seen *function = &naming->functions[place];
        string_id name = {(uint32_t)key};
        double share = (double)function->weight / time_of(&naming->seen[key >> 32]);
        if (function->samples < WAIT_FUNCTION_SAMPLES || found->blocked_share > WAIT_BLOCKED_SHARE)
            continue;
        /* The pairs come in no order: of equal ones the lower name, by its text, which does not depend on how a trace was put together. */
        if (share > found->share || (share >= found->share && strcmp(trace_text(naming->trace, name), trace_text(naming->trace, found->function)) < 0)) {
            found->function = name;
            found->share = share;
            found->samples = function->samples;
        }
    }
}

/* How long the stretches are, without what the lane was preempted for, and for how much of that it was blocked. */
static int read_times(struct naming *naming, struct error *err)
{
    CLEANUP(preempted_destroyp) struct preempted *blocked = NULL;
    CLEANUP(preempted_destroyp) struct preempted *preempted = NULL;
    uint32_t track_count;
    trace_tracks(naming->trace, &track_count);
    CLEANUP(freep) bool *wanted = calloc((size_t)track_count + 1, sizeof *wanted);
    if (!wanted)
        return -ENOMEM;
    for (size_t i = 0; i < naming->count; i++)
        wanted[naming->stretches[i].lane] = true;
    int result = off_processor_create(naming->trace, "blocked", wanted, &blocked, err);
    if (result == 0)
        result = off_processor_create(naming->trace, "preempted", wanted, &preempted, err);
    for (size_t i = 0; i < naming->count && result == 0; i++) {
        const struct wait_outside *stretch = &naming->stretches[i];
        struct seen *seen = &naming->seen[stretch->delay];
        int64_t length_ns = stretch->end_ns - stretch->begin_ns;
        add_saturated(&seen->time_ns, length_ns - preempted_within(preempted, stretch->lane, stretch->begin_ns, stretch->end_ns));
        add_saturated(&seen->blocked_ns, preempted_within(blocked, stretch->lane, stretch->begin_ns, stretch->end_ns));
    }
    return result;
}

static int read_all_samples(struct naming *naming, struct error *err)
{
    uint32_t blocks = trace_block_count(naming->trace, FAMILY_SAMPLES), lane = ID_NONE;
    int result = 0;
    for (uint32_t i = 0; i < blocks && result == 0; i++) {
        struct sample_block block;
        result = trace_samples_get(naming->trace, i, &block, err);
        if (result < 0)
            break;
        result = read_samples(naming, i, &block, &lane);
        trace_samples_put(naming->trace, &block);
    }
    return result;
}

int wait_functions_find(const struct trace *trace, struct wait_outside *stretches, size_t count, struct wait_function *found, size_t found_count,
                        struct error *err)
{
    struct naming naming = {.trace = trace, .found = found, .stretches = stretches, .count = count};
    for (size_t i = 0; i < found_count; i++)
        found[i] = (struct wait_function){.function = STRING_NONE};
    if (!count || !trace_block_count(trace, FAMILY_SAMPLES))
        return 0;
    naming.stacks = trace_stacks(trace, &naming.stack_count);
    naming.frames = trace_frames(trace, &naming.frame_count);
    naming.seen = calloc(found_count + 1, sizeof *naming.seen);
    if (!naming.seen)
        return -ENOMEM;
    map_init(&naming.numbers);
    qsort(stretches, count, sizeof *stretches, by_lane_and_begin);
    int result = read_all_samples(&naming, err);
    if (result == 0)
        result = read_times(&naming, err);
    if (result == 0)
        choose(&naming, found_count);
    map_finish(&naming.numbers);
    free(naming.functions);
    free(naming.seen);
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
        out->delays[i].samples = found[i].samples;
        out->delays[i].blocked_share = found[i].blocked_share;
    }
    return result;
}
