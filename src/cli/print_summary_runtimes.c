/* SPDX-License-Identifier: MIT */
/* The parts "openmp", "devices" and "ranges" of a summary's JSON. */
#include "print_summary.h"

#include <stdio.h>

void json_summary_openmp(struct json *json, const struct summary *summary)
{
    const struct summary_openmp *openmp = summary->openmp;
    if (!openmp) {
        json_null(json, "openmp");
        return;
    }
    json_open(json, "openmp", '{');
    json_open(json, "regions", '[');
    for (size_t i = 0; i < openmp->region_count; i++) {
        const struct summary_region *region = &openmp->regions[i];
        json_open(json, NULL, '{');
        json_string(json, "name", region->name);
        json_u64(json, "count", region->count);
        json_i64(json, "total_ns", region->total_ns);
        json_i64(json, "max_ns", region->max_ns);
        json_optional(json, "threads", region->threads);
        json_u64(json, "barriers", region->barriers);
        json_i64(json, "barrier_wait_ns", region->barrier_wait_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_u64(json, "tasks", openmp->tasks);
    json_i64(json, "task_ns", openmp->task_ns);
    json_i64(json, "lock_wait_ns", openmp->lock_wait_ns);
    json_i64(json, "other_wait_ns", openmp->other_wait_ns);
    json_close(json, '}');
}

void json_summary_devices(struct json *json, const struct summary *summary)
{
    json_open(json, "devices", '[');
    for (size_t i = 0; i < summary->device_count; i++) {
        const struct summary_device *device = &summary->devices[i];
        json_open(json, NULL, '{');
        json_i64(json, "device", device->device);
        json_string(json, "name", device->name);
        json_string(json, "category", device->category);
        json_i64(json, "pid", device->pid);
        json_u64(json, "lanes", device->lanes);
        json_i64(json, "busy_ns", device->busy_ns);
        json_i64(json, "idle_ns", device->idle_ns);
        json_u64(json, "kernels", device->kernels);
        json_i64(json, "kernel_ns", device->kernel_ns);
        json_u64(json, "copies", device->copies);
        json_i64(json, "copy_ns", device->copy_ns);
        json_u64(json, "copy_bytes", device->copy_bytes);
        json_i64(json, "fill_ns", device->fill_ns);
        json_i64(json, "other_ns", device->other_ns);
        json_i64(json, "busy_kernel_ns", device->busy_kernel_ns);
        json_i64(json, "busy_copy_ns", device->busy_copy_ns);
        json_i64(json, "busy_other_ns", device->busy_other_ns);
        json_i64(json, "overlap_ns", device->overlap_ns);
        json_open(json, "idle", '{');
        for (int idle = 0; idle < DEVICE_IDLE_COUNT; idle++) {
            char key[32];
            snprintf(key, sizeof key, "%s_ns", device_idle_name((enum device_idle)idle));
            json_i64(json, key, device->idle_by_ns[idle]);
        }
        json_close(json, '}');
        json_close(json, '}');
    }
    json_close(json, ']');
}

void json_summary_ranges(struct json *json, const struct summary *summary)
{
    json_open(json, "ranges", '[');
    for (size_t i = 0; i < summary->range_count; i++) {
        const struct summary_range *range = &summary->ranges[i];
        const struct summary_device *device = &summary->devices[range->device];
        json_open(json, NULL, '{');
        json_string(json, "name", range->name);
        json_string(json, "group", range->group);
        json_i64(json, "device", device->device);
        json_string(json, "category", device->category);
        json_i64(json, "pid", device->pid);
        json_u64(json, "count", range->count);
        json_u64(json, "works", range->works);
        json_i64(json, "host_ns", range->host_ns);
        json_i64(json, "span_ns", range->span_ns);
        json_i64(json, "busy_ns", range->busy_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
}
