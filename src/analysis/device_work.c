/* SPDX-License-Identifier: MIT */
/* Rows of what ran on devices: from their lanes, then from links who launched each and what it waited for, then those calls' times. */
#include "device_work.h"

#include "base/array.h"
#include "base/error.h"
#include "base/map.h"
#include "base/progress.h"
#include "device_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * What lies on lanes of devices and is none of their work: ranges, faults, operations of NCCL, which begin when they are enqueued. Lanes of
 * no device are for what goes on beside the program's calls; but NCCL does not say on which device its kernels ran.
 */
static bool is_foreign(enum span_kind kind, int32_t device)
{
    if (device < 0 && kind != SPAN_KIND_KERNEL)
        return true;
    return kind == SPAN_KIND_RANGE || kind == SPAN_KIND_FAULT || kind == SPAN_KIND_COLLECTIVE || kind == SPAN_KIND_SEND || kind == SPAN_KIND_RECV;
}

static uint8_t class_of(const struct device_works *works, enum span_kind kind, string_id name, string_id category)
{
    switch (kind) {
    case SPAN_KIND_SYNC:
    case SPAN_KIND_WAIT:
        return WORK_NONE;
    case SPAN_KIND_KERNEL: {
        const char *text = trace_text(works->trace, name), *backend = trace_text(works->trace, category);
        return strncmp(text, "nccl", 4) == 0 || strcmp(backend, "nccl") == 0 ? WORK_COLLECTIVE : WORK_COMPUTE;
    }
    case SPAN_KIND_GRAPH:
        return WORK_COMPUTE;
    case SPAN_KIND_COPY:
    case SPAN_KIND_FILL:
        return WORK_MEMORY;
    default:
        return WORK_OTHER;
    }
}

static int device_of(struct device_works *works, struct map *known, const struct trace_track *lane, string_id category, uint16_t *ret_device)
{
    struct device_activities *activities = works->activities;
    uint64_t key = hash_u64(hash_u64((uint64_t)lane->process.index << 32 | (uint32_t)lane->device) ^ category.index), index;
    if (!map_get(known, key, &index)) {
        struct device_activity *rows =
            array_reserve(activities->devices, &works->device_capacity, activities->device_count + 1, sizeof *rows);
        if (!rows || activities->device_count > UINT16_MAX)
            return -ENOMEM;
        activities->devices = rows;
        index = activities->device_count;
        rows[index] = (struct device_activity){.process = lane->process, .category = category, .device = lane->device};
        if (map_set(known, key, index) < 0)
            return -ENOMEM;
        activities->device_count++;
    }
    *ret_device = (uint16_t)index;
    return 0;
}

static int add_sums(struct device_activity *device, const struct span_block *block, uint32_t row, const struct device_work *work)
{
    enum span_kind kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
    struct payload payload;
    if (work->class & (WORK_COMPUTE | WORK_COLLECTIVE)) {
        device->kernels++;
        sum_time(&device->kernel_sum_ns, work->begin_ns, work->end_ns);
    } else if (kind == SPAN_KIND_COPY) {
        int result = span_payload(block, row, &payload);
        if (result < 0)
            return result;
        device->copies++;
        sum_time(&device->copy_sum_ns, work->begin_ns, work->end_ns);
        if (payload.kind == PAYLOAD_COPY && payload.present >> FIELD_COPY_bytes & 1)
            device->copy_bytes += payload.fields[FIELD_COPY_bytes].u64;
    } else {
        sum_time(kind == SPAN_KIND_FILL ? &device->fill_sum_ns : &device->other_sum_ns, work->begin_ns, work->end_ns);
    }
    return 0;
}

static int add_row(struct device_works *works, struct map *devices, const struct span_block *block, uint32_t row, bool *counted)
{
    enum span_kind kind = block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN;
    string_id name = block->name ? block->name[row] : STRING_NONE, category = block->category ? block->category[row] : STRING_NONE;
    if (is_foreign(kind, works->tracks[block->info.track.index].device))
        return 0;
    struct device_work *rows = array_reserve(works->rows, &works->capacity, works->count + 1, sizeof *rows);
    if (!rows)
        return -ENOMEM;
    works->rows = rows;
    struct device_work *work = &rows[works->count];
    *work = (struct device_work){
        .begin_ns = block->begin_ns[row], .end_ns = trace_span_end(works->trace, block->info.track, block->begin_ns[row], block->end_ns[row]),
        .call_begin_ns = INT64_MIN, .span = {block->info.first + row}, .launch = block->parent ? block->parent[row] : SPAN_NONE,
        .lane = block->info.track, .thread = TRACK_NONE, .class = class_of(works, kind, name, category)};
    work->chosen = work->class && (!works->match || filter_match_span(works->match, block, row));
    int result = device_of(works, devices, &works->tracks[work->lane.index], category, &work->device);
    if (result < 0)
        return result;
    works->count++;
    if (!work->chosen)
        return 0;
    struct device_activity *device = &works->activities->devices[work->device];
    device->lanes += !*counted;
    *counted = true;
    return add_sums(device, block, row, work);
}

static int read_lanes(struct device_works *works, struct map *devices, const struct progress *progress)
{
    uint32_t blocks = trace_block_count(works->trace, FAMILY_SPANS);
    track_id lane = TRACK_NONE;
    bool counted = false;
    int result = 0;
    for (uint32_t i = 0; i < blocks && result == 0; i++) {
        struct block_info info = trace_block_info(works->trace, FAMILY_SPANS, i);
        struct span_block block;
        if (info.track.index >= works->track_count || works->tracks[info.track.index].kind != TRACK_KIND_STREAM)
            continue;
        counted &= track_id_is(lane, info.track);
        lane = info.track;
        result = trace_spans_get(works->trace, i, &block, works->err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < info.count && result == 0; row++)
            result = add_row(works, devices, &block, row, &counted);
        trace_spans_put(works->trace, &block);
        progress_update(progress, "reading lanes of devices", i + 1, blocks);
    }
    return result < 0 ? error_set_errno(works->err, result, "cannot sum up what ran on devices") : 0;
}

static int by_span(const void *left, const void *right)
{
    const struct device_work *a = left, *b = right;
    return (a->span.index > b->span.index) - (a->span.index < b->span.index);
}

static bool is_of_lane(const struct device_works *works, span_id span, track_id lane)
{
    uint32_t block, row;
    return trace_span_find(works->trace, span, &block, &row) && track_id_is(trace_block_info(works->trace, FAMILY_SPANS, block).track, lane);
}

static void add_link(struct device_works *works, enum link_kind kind, span_id from, span_id to)
{
    const struct device_work key = {.span = to};
    if (kind != LINK_KIND_LAUNCH && kind != LINK_KIND_DEPEND && kind != LINK_KIND_EVENT)
        return;
    struct device_work *work = bsearch(&key, works->rows, works->count, sizeof key, by_span);
    if (work && kind == LINK_KIND_LAUNCH)
        work->launch = from;
    else if (work)
        work->depends |= !is_of_lane(works, from, work->lane);
}

static int read_links(struct device_works *works)
{
    if (works->count)
        qsort(works->rows, works->count, sizeof *works->rows, by_span);
    for (uint32_t i = 0; i < trace_block_count(works->trace, FAMILY_LINKS) && works->count; i++) {
        struct link_block block;
        int result = trace_links_get(works->trace, i, &block, works->err);
        if (result < 0)
            return result;
        for (uint32_t row = 0; row < block.info.count; row++)
            add_link(works, block.kind ? block.kind[row] : 0, block.from[row], block.to[row]);
        trace_links_put(works->trace, &block);
    }
    return 0;
}

/* Streams that waited for recorded events, or the default stream. */
static int read_order(struct device_works *works)
{
    const struct device_order *order = NULL;
    int result = works->count ? device_order_of(works->trace, &order, works->err) : 0;
    for (size_t i = 0; result == 0 && order && i < order->relation_count; i++) {
        const struct device_relation *relation = &order->relations[i];
        const struct device_work key = {.span = relation->to};
        struct device_work *work = NULL;
        if (relation->kind == DEVICE_RELATION_EVENT || relation->kind == DEVICE_RELATION_DEFAULT_STREAM)
            work = bsearch(&key, works->rows, works->count, sizeof key, by_span);
        if (work)
            work->depends = true;
    }
    return result;
}

static int by_launch(const void *left, const void *right)
{
    const struct device_work *a = left, *b = right;
    return (a->launch.index > b->launch.index) - (a->launch.index < b->launch.index);
}

/* Only threads launch: a span of a graph has the graph above it. */
static bool is_call(const struct device_works *works, track_id track)
{
    return track.index < works->track_count && works->tracks[track.index].kind == TRACK_KIND_THREAD;
}

static int read_calls(struct device_works *works)
{
    struct span_block block = {.info.count = 0};
    int result = 0;
    if (works->count)
        qsort(works->rows, works->count, sizeof *works->rows, by_launch);
    for (size_t i = 0; i < works->count; i++) {
        struct device_work *work = &works->rows[i];
        uint32_t number, row;
        if (work->launch.index - block.info.first >= block.info.count) {
            if (!trace_span_find(works->trace, work->launch, &number, &row) ||
                !is_call(works, trace_block_info(works->trace, FAMILY_SPANS, number).track))
                continue;
            if (block.info.count)
                trace_spans_put(works->trace, &block);
            block.info.count = 0;
            result = trace_spans_get_columns(works->trace, number, SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END),
                                             &block, works->err);
            if (result < 0)
                return result;
        }
        row = work->launch.index - block.info.first;
        work->thread = block.info.track;
        work->call_begin_ns = block.begin_ns[row];
        work->call_end_ns = trace_span_end(works->trace, work->thread, block.begin_ns[row], block.end_ns[row]);
    }
    if (block.info.count)
        trace_spans_put(works->trace, &block);
    return 0;
}

int device_works_read(struct device_works *works, const struct progress *progress)
{
    struct map devices;
    map_init(&devices);
    int result = read_lanes(works, &devices, progress);
    map_finish(&devices);
    if (result == 0)
        result = read_links(works);
    if (result == 0)
        result = read_order(works);
    return result == 0 ? read_calls(works) : result;
}
