/* SPDX-License-Identifier: MIT */
/*
 * Flows: arrows between spans. A point names a place (thread and time), and the span there is what it means: the enclosing
 * one, or for an "f" without "bp":"e" the next that begins. So points are kept until all spans are known. Points of one
 * (category, name, id) in order of time make a chain; each step of it is a link.
 */
#include "base/array.h"
#include "chrome_import.h"

#include <errno.h>
#include <stdlib.h>

static int add_point(struct chrome_import *import, const struct flow_point *point)
{
    struct flow_point *flows = array_reserve(import->flows, &import->flow_capacity, import->flow_count + 1, sizeof(*flows));
    if (!flows || import->flow_count >= UINT32_MAX)
        return -ENOMEM;
    import->flows = flows;
    flows[import->flow_count] = *point;
    flows[import->flow_count].order = (uint32_t)import->flow_count;
    import->flow_count++;
    return 0;
}

/* PyTorch and others draw "CPU to accelerator" so. */
static bool is_launch(const struct json_view *category)
{
    return json_view_is(category, "ac2g") || json_view_is(category, "async_cpu_to_gpu") || json_view_is(category, "launch");
}

int flow_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, uint32_t track)
{
    const struct chrome_extra *extra = &batch->extras[event->extra];
    if (!extra->id.data && !extra->bind_id.data) {
        foreign_lose(import, CHROME_LOSS_FLOW);
        return 0;
    }
    const struct json_view *id = extra->id.data ? &extra->id : &extra->bind_id;
    string_id name = import_batch_string(import, batch, event->name);
    string_id category = import_batch_string(import, batch, event->category);
    struct flow_point point = {
        .key = hash_u64(hash_bytes(id->data, id->length) ^ hash_u64((uint64_t)name.index << 32 | category.index)),
        .ts_ns = event->ts_ns, .track = track, .handle = ID_NONE,
        .is_next = event->phase == 'f' && !extra->bind_enclosing,
        .is_launch = is_launch(&batch->strings[event->category])};
    return add_point(import, &point);
}

int flow_bind(struct chrome_import *import, const struct chrome_extra *extra, int64_t ts_ns, uint32_t handle)
{
    const struct json_view *id = extra->bind_id.data ? &extra->bind_id : &extra->id;
    if (!id->data) {
        foreign_lose(import, CHROME_LOSS_FLOW);
        return 0;
    }
    struct flow_point point = {.key = hash_u64(hash_bytes(id->data, id->length) + 1), .ts_ns = ts_ns, .handle = handle};
    return add_point(import, &point);
}

#define COMPARE(left, right) ((left) < (right) ? -1 : (left) > (right))

static int compare_by_place(const void *left_item, const void *right_item)
{
    const struct flow_point *left = left_item, *right = right_item;
    int order = COMPARE(left->track, right->track);
    if (!order)
        order = COMPARE(left->ts_ns, right->ts_ns);
    return order ? order : COMPARE(left->order, right->order);
}

static int compare_by_chain(const void *left_item, const void *right_item)
{
    const struct flow_point *left = left_item, *right = right_item;
    int order = COMPARE(left->key, right->key);
    if (!order)
        order = COMPARE(left->ts_ns, right->ts_ns);
    return order ? order : COMPARE(left->order, right->order);
}

/* Enclosing spans before what they enclose. */
static int compare_placed(const void *left_item, const void *right_item)
{
    const struct placed *left = left_item, *right = right_item;
    int order = COMPARE(left->track, right->track);
    if (!order)
        order = COMPARE(left->begin_ns, right->begin_ns);
    return order ? order : -COMPARE(left->end_ns, right->end_ns);
}

/* One sweep over all places: spans and points side by side, with the spans that are open at the sweep's time on a stack. */
struct place_sweep {
    const struct placed *spans;
    size_t count, at;
    size_t *open;
    size_t open_count, open_capacity;
    uint32_t track;
};

static int sweep_to(struct place_sweep *sweep, uint32_t track, int64_t ts_ns)
{
    if (track != sweep->track)
        sweep->open_count = 0;
    sweep->track = track;
    while (sweep->at < sweep->count && sweep->spans[sweep->at].track < track)
        sweep->at++;
    while (sweep->at < sweep->count && sweep->spans[sweep->at].track == track && sweep->spans[sweep->at].begin_ns <= ts_ns) {
        int64_t begin_ns = sweep->spans[sweep->at].begin_ns;
        while (sweep->open_count && sweep->spans[sweep->open[sweep->open_count - 1]].end_ns != INT64_MIN &&
               sweep->spans[sweep->open[sweep->open_count - 1]].end_ns < begin_ns)
            sweep->open_count--;
        size_t *open = array_reserve(sweep->open, &sweep->open_capacity, sweep->open_count + 1, sizeof(*open));
        if (!open)
            return -ENOMEM;
        sweep->open = open;
        open[sweep->open_count++] = sweep->at++;
    }
    return 0;
}

/* The innermost span around the sweep's time; spans that only overlap are looked past. */
static uint32_t enclosing(const struct place_sweep *sweep, int64_t ts_ns)
{
    for (size_t i = sweep->open_count, looked = 0; i-- > 0 && looked < 64; looked++) {
        const struct placed *span = &sweep->spans[sweep->open[i]];
        if (span->end_ns == INT64_MIN || span->end_ns >= ts_ns)
            return span->handle;
    }
    return ID_NONE;
}

/* The next span to begin at or behind ts: one that began at ts exactly is it. */
static uint32_t next_span(const struct place_sweep *sweep, uint32_t track, int64_t ts_ns)
{
    uint32_t found = ID_NONE;
    for (size_t i = sweep->open_count; i-- > 0 && sweep->spans[sweep->open[i]].begin_ns == ts_ns;)
        found = sweep->spans[sweep->open[i]].handle;
    if (found == ID_NONE && sweep->at < sweep->count && sweep->spans[sweep->at].track == track)
        found = sweep->spans[sweep->at].handle;
    return found;
}

static int bind_points(struct chrome_import *import)
{
    struct place_sweep sweep = {.spans = import->placed, .count = import->placed_count, .track = UINT32_MAX};
    if (import->placed_count)
        qsort(import->placed, import->placed_count, sizeof(*import->placed), compare_placed);
    qsort(import->flows, import->flow_count, sizeof(*import->flows), compare_by_place);
    int r = 0;
    for (size_t i = 0; i < import->flow_count && r == 0; i++) {
        struct flow_point *point = &import->flows[i];
        if (point->handle != ID_NONE)
            continue;
        r = sweep_to(&sweep, point->track, point->ts_ns);
        point->handle = point->is_next ? next_span(&sweep, point->track, point->ts_ns) : enclosing(&sweep, point->ts_ns);
        if (point->handle == ID_NONE)
            foreign_lose(import, CHROME_LOSS_FLOW);
    }
    free(sweep.open);
    return r;
}

int flow_end(struct chrome_import *import)
{
    if (!import->flow_count)
        return 0;
    int r = bind_points(import);
    if (r < 0)
        return r;
    qsort(import->flows, import->flow_count, sizeof(*import->flows), compare_by_chain);
    const struct flow_point *from = NULL;
    for (size_t i = 0; i < import->flow_count && r == 0; i++) {
        const struct flow_point *to = &import->flows[i];
        if (to->handle == ID_NONE)
            continue;
        if (from && from->key == to->key && from->handle != to->handle) {
            /* Whoever wrote the file gave both ends one id; what it means is known for launches only. */
            struct trace_link link = {.kind = to->is_launch ? LINK_KIND_LAUNCH : LINK_KIND_DEPEND,
                                      .confidence = to->is_launch ? CONFIDENCE_CERTAIN : CONFIDENCE_HIGH,
                                      .from = {from->handle}, .to = {to->handle}};
            r = trace_builder_add_link(import->builder, &link);
        }
        from = to;
    }
    return r;
}
