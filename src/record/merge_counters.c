/* SPDX-License-Identifier: MIT */
/*
 * Counters that the recorder read from outside the targets. Of devices: a track for each device and name, with the first process of the
 * recording. Of a process' resident memory: a track of each program that it was.
 */
#include "base/error.h"
#include "base/map.h"
#include "merge_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct merge_counters {
    struct map tracks;   /* hash of (device, name) -> track */
    struct map resident; /* process -> track */
};

static void counters_destroy(void *state)
{
    struct merge_counters *counters = state;
    if (!counters)
        return;
    map_finish(&counters->tracks);
    map_finish(&counters->resident);
    free(counters);
}

static int counters_create(struct merge *merge, void **ret_state, struct error *err)
{
    (void)merge;
    *ret_state = calloc(1, sizeof(struct merge_counters));
    return *ret_state ? 0 : error_set(err, -ENOMEM, "merge: out of memory");
}

static int track_get(struct merge *merge, int32_t device, const char *name, const char *unit, track_id *ret_track)
{
    struct merge_counters *counters = merge_state(merge, &merge_part_counters);
    string_id name_id = trace_builder_string(merge->builder, name);
    uint64_t key = hash_u64((uint64_t)(uint32_t)device << 32 | name_id.index), index;
    if (map_get(&counters->tracks, key, &index)) {
        ret_track->index = (uint32_t)index;
        return 0;
    }
    const struct trace_track track = {
        .kind = TRACK_KIND_COUNTER,
        .name = name_id,
        .process = {0},
        .tid = -1,
        .device = device,
        .stream = -1,
        .unit = trace_builder_string(merge->builder, unit),
        .start_ns = INT64_MIN,
        .end_ns = INT64_MIN,
    };
    int code = trace_builder_add_track(merge->builder, &track, ret_track);
    return code ? code : map_set(&counters->tracks, key, ret_track->index);
}

static int on_counter(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_device_counter *record = (const struct wire_device_counter *)(const void *)header;
    const char *name = (const char *)(record + 1);
    size_t room = wire_bytes(header) - sizeof *record, bytes = header->value < room ? header->value : room;
    size_t name_bytes = strnlen(name, bytes);
    if (stream->process || name_bytes >= bytes || strnlen(name + name_bytes + 1, bytes - name_bytes - 1) == bytes - name_bytes - 1)
        return 0; /* not two texts */
    if (!trace_builder_process(merge->builder, (process_id){0}))
        return 0;
    track_id track;
    int code = track_get(merge, record->device, name, name + name_bytes + 1, &track);
    const struct counter_value value = {merge_time_raw(merge, record->time_ns), record->value};
    return code ? code : trace_builder_add_counter(merge->builder, track, &value);
}

static int resident_track(struct merge *merge, process_id process, track_id *ret_track)
{
    struct merge_counters *counters = merge_state(merge, &merge_part_counters);
    uint64_t index;
    if (map_get(&counters->resident, process.index, &index)) {
        ret_track->index = (uint32_t)index;
        return 0;
    }
    const struct trace_track track = {
        .kind = TRACK_KIND_COUNTER,
        .name = trace_builder_string(merge->builder, RESIDENT_TRACK),
        .process = process,
        .tid = -1,
        .device = -1,
        .stream = -1,
        .unit = trace_builder_string(merge->builder, "By"),
        .start_ns = INT64_MIN,
        .end_ns = INT64_MIN,
    };
    int code = trace_builder_add_track(merge->builder, &track, ret_track);
    return code ? code : map_set(&counters->resident, process.index, ret_track->index);
}

static int on_resident(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_resident *record = (const struct wire_resident *)(const void *)header;
    const struct counter_value value = {merge_time_raw(merge, record->time_ns), (double)record->bytes};
    if (stream->process)
        return 0;
    process_id process = merge_process_at(merge, record->pid, value.time_ns);
    track_id track;
    int code = trace_builder_process(merge->builder, process) ? resident_track(merge, process, &track) : -ENOMEM;
    return code ? code : trace_builder_add_counter(merge->builder, track, &value);
}

static const struct merge_handler handlers[] = {
    {WIRE_DEVICE_COUNTER, MERGE_ROWS, on_counter},
    {WIRE_RESIDENT, MERGE_ROWS, on_resident},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_counters = {
    .name = "counters",
    .create = counters_create,
    .destroy = counters_destroy,
    .handlers = handlers,
};
