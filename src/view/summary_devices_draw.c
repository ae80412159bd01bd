/* SPDX-License-Identifier: MIT */
/* The tables of devices in a summary, and of the ranges that the program named, by what they made devices do. */
#include "summary_draw.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>

#define DEVICES_SHOWN 16
#define RANGES_SHOWN 10

static void cell_device(struct table *table, const struct summary_device *device)
{
    table_cell(table, device->category);
    if (*device->name)
        table_cellf(table, "%" PRId32 " %s", device->device, device->name);
    else
        table_cellf(table, "%" PRId32, device->device);
    table_cellf(table, "%" PRId32, device->pid);
}

static int64_t window_of(const struct summary_device *device)
{
    return device->busy_ns + device->idle_ns;
}

static void add_device_row(struct drawing *drawing, struct table *table, const struct summary_device *device)
{
    char bytes[32];
    table_row(table);
    draw_cell_time(table, drawing, device->busy_ns);
    draw_cell_percent(table, (double)device->busy_ns, (double)window_of(device));
    draw_cell_time(table, drawing, device->idle_ns);
    draw_cell_time(table, drawing, device->kernel_ns);
    draw_cell_count(table, device->kernels);
    draw_cell_time(table, drawing, device->copy_ns);
    draw_cell_count(table, device->copies);
    table_cell(table, format_bytes(bytes, sizeof bytes, device->copy_bytes));
    draw_cell_time(table, drawing, device->fill_ns + device->other_ns);
    draw_cell_count(table, device->lanes);
    cell_device(table, device);
}

static void add_idle_row(struct drawing *drawing, struct table *table, const struct summary_device *device)
{
    table_row(table);
    draw_cell_time(table, drawing, device->idle_ns);
    for (int idle = 0; idle < DEVICE_IDLE_COUNT; idle++)
        draw_cell_time(table, drawing, device->idle_by_ns[idle]);
    draw_cell_time(table, drawing, device->busy_kernel_ns);
    draw_cell_time(table, drawing, device->busy_copy_ns);
    draw_cell_time(table, drawing, device->overlap_ns);
    cell_device(table, device);
}

static void draw_idle(struct drawing *drawing, size_t shown)
{
    static const struct table_column columns[] = {
        {"idle", ALIGN_RIGHT, SHRINK_NEVER, 0},       {"host late", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"launch latency", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"dependency", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"other", ALIGN_RIGHT, SHRINK_NEVER, 0},     {"kernels", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"copies only", ALIGN_RIGHT, SHRINK_DROP, 0}, {"both", ALIGN_RIGHT, SHRINK_DROP, 0},       {"by", ALIGN_LEFT, SHRINK_DROP, 0},
        {"device", ALIGN_LEFT, SHRINK_END, 8},        {"pid", ALIGN_RIGHT, SHRINK_DROP, 0},
    };
    const struct summary *summary = drawing->summary;
    int64_t largest_ns = 0, idle_ns = 0;
    for (size_t i = 0; i < shown; i++) {
        const struct summary_device *device = &summary->devices[i];
        largest_ns = device->idle_ns > largest_ns ? device->idle_ns : largest_ns;
        largest_ns = device->busy_kernel_ns > largest_ns ? device->busy_kernel_ns : largest_ns;
        idle_ns |= device->idle_ns;
    }
    if (!idle_ns)
        return;
    draw_table_heading(drawing, "Why devices were idle", largest_ns, "and when kernels ran, or copies");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++)
        add_idle_row(drawing, table, &summary->devices[i]);
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
}

void draw_devices(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"busy", ALIGN_RIGHT, SHRINK_NEVER, 0},   {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},     {"idle", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"kernels", ALIGN_RIGHT, SHRINK_DROP, 0}, {"count", ALIGN_RIGHT, SHRINK_DROP, 0},  {"copies", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"count", ALIGN_RIGHT, SHRINK_DROP, 0},   {"bytes", ALIGN_RIGHT, SHRINK_DROP, 0},  {"other", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"lanes", ALIGN_RIGHT, SHRINK_DROP, 0},   {"by", ALIGN_LEFT, SHRINK_DROP, 0},      {"device", ALIGN_LEFT, SHRINK_END, 8},
        {"pid", ALIGN_RIGHT, SHRINK_DROP, 0},
    };
    const struct summary *summary = drawing->summary;
    size_t shown = draw_limit(drawing, summary->device_count, DEVICES_SHOWN);
    int64_t largest_ns = 0;
    for (size_t i = 0; i < shown; i++)
        largest_ns = window_of(&summary->devices[i]) > largest_ns ? window_of(&summary->devices[i]) : largest_ns;
    if (!shown)
        return;
    draw_table_heading(drawing, "Devices", largest_ns, "busy: anything ran, from the first to the last thing that did");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++)
        add_device_row(drawing, table, &summary->devices[i]);
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, summary->device_count, "devices", -1);
    draw_idle(drawing, shown);
}

void draw_ranges(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"busy", ALIGN_RIGHT, SHRINK_NEVER, 0},  {"span", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"%", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"host", ALIGN_RIGHT, SHRINK_NEVER, 0},  {"count", ALIGN_RIGHT, SHRINK_DROP, 0}, {"work", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"range", ALIGN_LEFT, SHRINK_MIDDLE, 16}, {"of", ALIGN_LEFT, SHRINK_DROP, 0},    {"by", ALIGN_LEFT, SHRINK_DROP, 0},
        {"device", ALIGN_LEFT, SHRINK_END, 8},   {"pid", ALIGN_RIGHT, SHRINK_DROP, 0},
    };
    const struct summary *summary = drawing->summary;
    size_t shown = draw_limit(drawing, summary->range_count, RANGES_SHOWN);
    int64_t largest_ns = 0;
    for (size_t i = 0; i < shown; i++)
        largest_ns = summary->ranges[i].host_ns > largest_ns ? summary->ranges[i].host_ns : largest_ns;
    if (!shown)
        return;
    draw_table_heading(drawing, "Ranges on devices", largest_ns, "work launched inside: from its first begin to its last end, busy in that");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_range *range = &summary->ranges[i];
        table_row(table);
        draw_cell_time(table, drawing, range->busy_ns);
        draw_cell_time(table, drawing, range->span_ns);
        draw_cell_percent(table, (double)range->busy_ns, (double)range->span_ns);
        draw_cell_time(table, drawing, range->host_ns);
        draw_cell_count(table, range->count);
        draw_cell_count(table, range->works);
        table_cell(table, *range->name ? range->name : "[unnamed]");
        table_cell(table, range->group);
        cell_device(table, &summary->devices[range->device]);
    }
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, summary->range_count, "ranges", -1);
}
