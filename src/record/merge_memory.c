/* SPDX-License-Identifier: MIT */
/* Memory in use on devices: collectors tell of what is made and freed, not always in order; here it is summed up in order. */
#include "base/array.h"
#include "base/error.h"
#include "merge_internal.h"

#include <errno.h>
#include <stdlib.h>

struct change {
    process_id process;
    string_id name;
    int32_t device;
    int64_t time_ns, bytes;
};

struct merge_memory {
    struct change *changes;
    size_t count, capacity;
};

static void memory_destroy(void *state)
{
    struct merge_memory *memory = state;
    if (!memory)
        return;
    free(memory->changes);
    free(memory);
}

static int memory_create(struct merge *merge, void **ret_state, struct error *err)
{
    (void)merge;
    *ret_state = calloc(1, sizeof(struct merge_memory));
    return *ret_state ? 0 : error_set(err, -ENOMEM, "merge: out of memory");
}

static int on_memory(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_device_memory *record = (const struct wire_device_memory *)(const void *)header;
    struct merge_memory *memory = merge_state(merge, &merge_part_memory);
    if (!stream->process)
        return 0;
    struct change *grown = array_reserve(memory->changes, &memory->capacity, memory->count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    memory->changes = grown;
    grown[memory->count++] = (struct change){.process = stream->process->process,
                                             .name = merge_string(merge, stream, header->value),
                                             .device = record->device,
                                             .time_ns = merge_time(merge, stream, record->time),
                                             .bytes = record->bytes};
    return 0;
}

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int compare_counters(const struct change *a, const struct change *b)
{
    int by_process = order(a->process.index, b->process.index);
    int by_device = by_process ? by_process : order(a->device, b->device);
    return by_device ? by_device : order(a->name.index, b->name.index);
}

static int compare_changes(const void *first, const void *second)
{
    const struct change *a = first, *b = second;
    int by_counter = compare_counters(a, b);
    int by_time = by_counter ? by_counter : order(a->time_ns, b->time_ns);
    return by_time ? by_time : order(b->bytes, a->bytes); /* at one time, made before freed */
}

static int add_track(struct merge *merge, const struct change *change, track_id *ret_track)
{
    const struct trace_track track = {
        .kind = TRACK_KIND_COUNTER,
        .name = change->name,
        .process = change->process,
        .tid = -1,
        .device = change->device,
        .stream = -1,
        .unit = trace_builder_string(merge->builder, "By"),
        .start_ns = INT64_MIN,
        .end_ns = INT64_MIN,
    };
    return trace_builder_add_track(merge->builder, &track, ret_track);
}

/* What was made before the recording began is freed all the same: a sum never falls below 0. */
static int memory_finish(struct merge *merge, void *state, struct error *err)
{
    const struct merge_memory *memory = state;
    track_id track = {0};
    int64_t sum = 0;
    int code = 0;
    if (memory->count)
        qsort(memory->changes, memory->count, sizeof *memory->changes, compare_changes);
    for (size_t i = 0; i < memory->count && code == 0; i++) {
        const struct change *change = &memory->changes[i];
        if (i == 0 || compare_counters(change, change - 1) != 0) {
            code = add_track(merge, change, &track);
            sum = 0;
        }
        if (__builtin_add_overflow(sum, change->bytes, &sum) || sum < 0)
            sum = 0;
        const struct counter_value value = {change->time_ns, (double)sum};
        if (code == 0)
            code = trace_builder_add_counter(merge->builder, track, &value);
    }
    return code ? error_set_errno(err, code, "merge: cannot add counters of memory") : 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_DEVICE_MEMORY, MERGE_ROWS, on_memory},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_memory = {
    .name = "memory",
    .create = memory_create,
    .destroy = memory_destroy,
    .finish = memory_finish,
    .handlers = handlers,
};
