/* SPDX-License-Identifier: MIT */
/* What ran on devices, and for which of the ranges that the program named: device_activity's rows with names for them. */
#include "summary_build.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct devices_build {
    struct summary_build *build;
    const struct device_activities *activities;
    size_t *place; /* by number of the device in activities: its place in the summary */
};

static const char *device_name(const struct summary_build *build, const struct device_activity *activity)
{
    for (uint32_t i = 0; i < build->track_count; i++) {
        const struct trace_track *track = &build->tracks[i];
        if (track->kind == TRACK_KIND_DEVICE && process_id_is(track->process, activity->process) && track->device == activity->device)
            return trace_text(build->trace, track->name);
    }
    return "";
}

static void fill_device(const struct summary_build *build, const struct device_activity *activity, struct summary_device *device)
{
    bool known = activity->process.index < build->process_count;
    *device = (struct summary_device){
        .name = device_name(build, activity), .category = trace_text(build->trace, activity->category), .device = activity->device,
        .pid = known ? build->processes[activity->process.index].pid : -1, .lanes = activity->lanes, .kernels = activity->kernels,
        .copies = activity->copies, .kernel_ns = activity->kernel_sum_ns, .copy_ns = activity->copy_sum_ns, .fill_ns = activity->fill_sum_ns,
        .other_ns = activity->other_sum_ns, .copy_bytes = activity->copy_bytes, .idle_ns = activity->idle_ns,
        .busy_kernel_ns = activity->kernel_ns, .busy_copy_ns = activity->copy_ns, .busy_other_ns = activity->other_ns,
        .overlap_ns = activity->overlap_ns};
    add_saturated(&device->busy_ns, activity->kernel_ns);
    add_saturated(&device->busy_ns, activity->copy_ns);
    add_saturated(&device->busy_ns, activity->other_ns);
    memcpy(device->idle_by_ns, activity->idle_by_ns, sizeof device->idle_by_ns);
}

struct order {
    struct summary_device device;
    size_t number;
};

static int by_process_and_device(const void *left, const void *right)
{
    const struct order *x = left, *y = right;
    const struct summary_device *a = &x->device, *b = &y->device;
    int order = (a->pid > b->pid) - (a->pid < b->pid);
    order = order ? order : (a->device > b->device) - (a->device < b->device);
    order = order ? order : strcmp(a->category, b->category);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

/* A device on which nothing ran that the filter wants can still have ranges whose work ran there. */
static int add_devices(struct devices_build *devices)
{
    struct summary *summary = devices->build->summary;
    size_t count = devices->activities->device_count;
    CLEANUP(freep) struct order *rows = malloc((count + 1) * sizeof *rows);
    CLEANUP(freep) bool *wanted = calloc(count + 1, sizeof *wanted);
    summary->devices = calloc(count + 1, sizeof *summary->devices);
    if (!rows || !wanted || !summary->devices)
        return -ENOMEM;
    for (size_t i = 0; i < devices->activities->range_count; i++)
        wanted[devices->activities->ranges[i].device] = true;
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!wanted[i] && !devices->activities->devices[i].lanes)
            continue;
        rows[kept].number = i;
        fill_device(devices->build, &devices->activities->devices[i], &rows[kept++].device);
    }
    qsort(rows, kept, sizeof *rows, by_process_and_device);
    for (size_t i = 0; i < kept; i++) {
        devices->place[rows[i].number] = i;
        summary->devices[summary->device_count++] = rows[i].device;
    }
    return 0;
}

static uint64_t range_key(const struct device_range *range)
{
    return hash_u64(hash_u64((uint64_t)range->name.index << 32 | range->group.index) ^ range->device);
}

static void sum_range(struct summary_range *row, const struct device_range *range)
{
    row->count++;
    row->works += range->count;
    add_saturated(&row->host_ns, range->host_ns);
    add_saturated(&row->span_ns, time_between(range->begin_ns, range->end_ns));
    add_saturated(&row->busy_ns, range->busy_ns);
}

static int by_busy(const void *left, const void *right)
{
    const struct summary_range *a = left, *b = right;
    int order = (a->busy_ns < b->busy_ns) - (a->busy_ns > b->busy_ns);
    order = order ? order : (a->device > b->device) - (a->device < b->device);
    order = order ? order : strcmp(a->name, b->name);
    return order ? order : strcmp(a->group, b->group);
}

static int add_ranges(struct devices_build *devices)
{
    struct summary *summary = devices->build->summary;
    const struct device_activities *activities = devices->activities;
    struct map known;
    int result = 0;
    summary->ranges = calloc(activities->range_count + 1, sizeof *summary->ranges);
    if (!summary->ranges)
        return -ENOMEM;
    map_init(&known);
    for (size_t i = 0; i < activities->range_count && result == 0; i++) {
        const struct device_range *range = &activities->ranges[i];
        uint64_t index;
        if (!map_get(&known, range_key(range), &index)) {
            index = summary->range_count++;
            summary->ranges[index] = (struct summary_range){.name = trace_text(summary->trace, range->name),
                                                            .group = trace_text(summary->trace, range->group),
                                                            .device = devices->place[range->device]};
            result = map_set(&known, range_key(range), index);
        }
        sum_range(&summary->ranges[index], range);
    }
    map_finish(&known);
    qsort(summary->ranges, summary->range_count, sizeof *summary->ranges, by_busy);
    return result;
}

int summary_add_devices(struct summary_build *build)
{
    struct device_activities *activities = NULL;
    int result = device_activities_create(build->trace, build->where, build->progress, &activities, build->err);
    if (result < 0)
        return result;
    build->summary->activities = activities;
    CLEANUP(freep) size_t *place = calloc(activities->device_count + 1, sizeof *place);
    struct devices_build devices = {.build = build, .activities = activities, .place = place};
    result = place ? add_devices(&devices) : -ENOMEM;
    if (result == 0)
        result = add_ranges(&devices);
    return result < 0 ? error_set_errno(build->err, result, "cannot sum up what ran on devices") : 0;
}
