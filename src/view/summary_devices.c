/* SPDX-License-Identifier: MIT */
/* What ran on devices: sums by kind over their lanes, and when anything ran at all. */
#include "summary_build.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct stretch {
    uint32_t device;
    int64_t begin_ns, end_ns;
};

struct devices_build {
    struct summary_build *build;
    size_t device_capacity;
    struct map index;          /* hash of (process, device, category) -> place in devices */
    struct stretch *stretches; /* in which a lane was busy, those that touch joined */
    size_t stretch_count, stretch_capacity;
};

static const char *device_name(const struct summary_build *build, const struct trace_track *lane)
{
    for (uint32_t i = 0; i < build->track_count; i++) {
        const struct trace_track *track = &build->tracks[i];
        if (track->kind == TRACK_KIND_DEVICE && process_id_is(track->process, lane->process) && track->device == lane->device)
            return trace_text(build->trace, track->name);
    }
    return "";
}

static int device_of(struct devices_build *devices, const struct trace_track *lane, string_id category, uint32_t *ret_index)
{
    struct summary *summary = devices->build->summary;
    uint64_t key = hash_u64(hash_u64((uint64_t)lane->process.index << 32 | (uint32_t)lane->device) ^ category.index), index;
    if (map_get(&devices->index, key, &index)) {
        *ret_index = (uint32_t)index;
        return 0;
    }
    struct summary_device *rows = array_reserve(summary->devices, &devices->device_capacity, summary->device_count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    summary->devices = rows;
    bool known = lane->process.index < devices->build->process_count;
    rows[summary->device_count] = (struct summary_device){
        .name = device_name(devices->build, lane), .category = trace_text(devices->build->trace, category), .device = lane->device,
        .pid = known ? devices->build->processes[lane->process.index].pid : -1};
    *ret_index = (uint32_t)summary->device_count++;
    return map_set(&devices->index, key, *ret_index);
}

static void add_kind(struct summary_device *device, enum span_kind kind, const struct payload *payload, int64_t length_ns)
{
    if (kind == SPAN_KIND_KERNEL || kind == SPAN_KIND_GRAPH) {
        device->kernels++;
        add_time(&device->kernel_ns, length_ns);
    } else if (kind == SPAN_KIND_COPY) {
        device->copies++;
        add_time(&device->copy_ns, length_ns);
        if (payload->kind == PAYLOAD_COPY && payload->present >> FIELD_COPY_bytes & 1)
            device->copy_bytes += payload->fields[FIELD_COPY_bytes].u64;
    } else {
        add_time(kind == SPAN_KIND_FILL ? &device->fill_ns : &device->other_ns, length_ns);
    }
}

/* Rows of a lane come by begin: what touches the stretch before goes on with it. */
static int add_stretch(struct devices_build *devices, uint32_t device, bool first, int64_t begin_ns, int64_t end_ns)
{
    struct stretch *last = devices->stretch_count ? &devices->stretches[devices->stretch_count - 1] : NULL;
    if (!first && last && last->device == device && begin_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return 0;
    }
    struct stretch *stretches = array_reserve(devices->stretches, &devices->stretch_capacity, devices->stretch_count + 1, sizeof *stretches);
    if (!stretches)
        return -ENOMEM;
    devices->stretches = stretches;
    stretches[devices->stretch_count++] = (struct stretch){device, begin_ns, end_ns};
    return 0;
}

static bool runs_on_device(enum span_kind kind)
{
    return kind != SPAN_KIND_SYNC && kind != SPAN_KIND_WAIT && kind != SPAN_KIND_RANGE;
}

static int add_block(struct devices_build *devices, const struct span_block *block, bool *first)
{
    struct summary_build *build = devices->build;
    const struct trace_track *lane = &build->tracks[block->info.track.index];
    for (uint32_t row = 0; row < block->info.count; row++) {
        enum span_kind kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
        struct payload payload;
        uint32_t device;
        if (!runs_on_device(kind) || (build->match && !filter_match_span(build->match, block, row)))
            continue;
        int result = device_of(devices, lane, block->category ? block->category[row] : STRING_NONE, &device);
        if (result == 0)
            result = span_payload(block, row, &payload);
        if (result < 0)
            return result;
        int64_t end_ns = trace_span_end(build->trace, block->info.track, block->begin_ns[row], block->end_ns[row]);
        build->summary->devices[device].lanes += *first;
        add_kind(&build->summary->devices[device], kind, &payload, time_between(block->begin_ns[row], end_ns));
        result = add_stretch(devices, device, *first, block->begin_ns[row], end_ns);
        *first = false;
        if (result < 0)
            return result;
    }
    return 0;
}

static int add_blocks(struct devices_build *devices)
{
    struct summary_build *build = devices->build;
    track_id track = TRACK_NONE;
    bool first = true;
    int result = 0;
    for (uint32_t i = 0; i < trace_block_count(build->trace, FAMILY_SPANS) && result == 0; i++) {
        struct block_info info = trace_block_info(build->trace, FAMILY_SPANS, i);
        struct span_block block;
        if (info.track.index >= build->track_count || build->tracks[info.track.index].kind != TRACK_KIND_STREAM ||
            (build->match && !filter_match_track(build->match, info.track)))
            continue;
        first |= !track_id_is(track, info.track);
        track = info.track;
        result = trace_spans_get(build->trace, i, &block, build->err);
        if (result < 0)
            return result;
        result = add_block(devices, &block, &first);
        trace_spans_put(build->trace, &block);
    }
    return result < 0 ? error_set_errno(build->err, result, "cannot sum up what ran on devices") : 0;
}

static int by_device_and_begin(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    int order = (a->device > b->device) - (a->device < b->device);
    return order ? order : (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Busy while any lane is; idle between the first begin and the last end otherwise. */
static void add_busy(struct devices_build *devices)
{
    struct summary_device *rows = devices->build->summary->devices;
    if (devices->stretch_count)
        qsort(devices->stretches, devices->stretch_count, sizeof *devices->stretches, by_device_and_begin);
    for (size_t i = 0; i < devices->stretch_count;) {
        struct stretch joined = devices->stretches[i++];
        while (i < devices->stretch_count && devices->stretches[i].device == joined.device && devices->stretches[i].begin_ns <= joined.end_ns) {
            joined.end_ns = devices->stretches[i].end_ns > joined.end_ns ? devices->stretches[i].end_ns : joined.end_ns;
            i++;
        }
        add_time(&rows[joined.device].busy_ns, time_between(joined.begin_ns, joined.end_ns));
        if (i < devices->stretch_count && devices->stretches[i].device == joined.device)
            add_time(&rows[joined.device].idle_ns, time_between(joined.end_ns, devices->stretches[i].begin_ns));
    }
}

static int by_process_and_device(const void *left, const void *right)
{
    const struct summary_device *a = left, *b = right;
    int order = (a->pid > b->pid) - (a->pid < b->pid);
    order = order ? order : (a->device > b->device) - (a->device < b->device);
    return order ? order : strcmp(a->category, b->category);
}

int summary_add_devices(struct summary_build *build)
{
    struct devices_build devices = {.build = build};
    int result = add_blocks(&devices);
    add_busy(&devices);
    map_finish(&devices.index);
    free(devices.stretches);
    if (build->summary->device_count)
        qsort(build->summary->devices, build->summary->device_count, sizeof *build->summary->devices, by_process_and_device);
    return result;
}
