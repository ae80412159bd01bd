/* SPDX-License-Identifier: MIT */
/* The records of collectors: spans, instants, counters, and links between spans known by correlation. */
#include "base/array.h"
#include "base/error.h"
#include "merge_internal.h"
#include "merge_places.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const layer_names[WIRE_LAYER_COUNT] = {
    [WIRE_LAYER_TEST] = "test",     [WIRE_LAYER_CUDA] = "cuda", [WIRE_LAYER_OPENCL] = "opencl", [WIRE_LAYER_OPENMP] = "openmp",
    [WIRE_LAYER_ROCM] = "rocm",     [WIRE_LAYER_NCCL] = "nccl", [WIRE_LAYER_MPI] = "mpi",       [WIRE_LAYER_USER] = "user",
};

enum { LINKS_WAIT = 1 << 20 }; /* while a recording is followed */

struct pending_link {
    uint64_t from, to; /* keys of correlations */
    uint8_t kind, confidence;
};

struct events {
    string_id layers[WIRE_LAYER_COUNT];
    struct map spans;      /* hash of (process, layer, correlation) -> span handle */
    struct map counters;   /* hash of (process, name, unit, device) -> track */
    struct pending_link *links;
    size_t link_count, link_capacity;
    uint64_t recorded, links_lost;
};

static void events_destroy(void *state)
{
    struct events *events = state;
    if (!events)
        return;
    map_finish(&events->spans);
    map_finish(&events->counters);
    free(events->links);
    free(events);
}

static int events_create(struct merge *merge, void **ret_state, struct error *err)
{
    struct events *events = calloc(1, sizeof *events);
    if (!events)
        return error_set(err, -ENOMEM, "merge: out of memory");
    for (int i = 0; i < WIRE_LAYER_COUNT; i++)
        events->layers[i] = trace_builder_string(merge->builder, layer_names[i]);
    *ret_state = events;
    return 0;
}

static struct events *events_of(struct merge *merge)
{
    return merge_state(merge, &merge_part_events);
}

string_id merge_category(struct merge *merge, const struct merge_stream *stream, uint32_t category, uint8_t layer)
{
    if (category)
        return merge_string(merge, stream, category);
    return layer < WIRE_LAYER_COUNT ? events_of(merge)->layers[layer] : STRING_NONE;
}

/* Fields behind the fixed part, one for each bit of present; those beyond the record's end are absent. */
void merge_payload(struct merge *merge, const struct merge_stream *stream, const struct wire_header *record, uint8_t kind,
                   uint32_t present, bool raw, struct payload *payload)
{
    size_t count = 0;
    const struct payload_field *fields =
        kind > PAYLOAD_JSON && kind < PAYLOAD_COUNT ? payload_fields((enum payload_kind)kind, &count) : NULL;
    uint32_t at = wire_kind_size(record->kind), end = wire_bytes(record);
    *payload = (struct payload){.kind = fields ? (enum payload_kind)kind : PAYLOAD_NONE};
    for (unsigned bit = 0; fields && bit < 32 && at + 8 <= end; bit++) {
        if (!(present >> bit & 1))
            continue;
        uint64_t value;
        memcpy(&value, (const uint8_t *)record + at, sizeof value);
        at += 8;
        if (bit >= count)
            continue;
        payload->present |= 1u << bit;
        if (fields[bit].type == PAYLOAD_TYPE_STRING)
            payload->fields[bit].string = merge_string(merge, stream, (uint32_t)value);
        else if (!raw && strcmp(fields[bit].unit, "ns") == 0)
            payload->fields[bit].u64 = merge_duration(merge, stream, value);
        else
            payload->fields[bit].u64 = value;
    }
}

static uint64_t correlation_key(const struct merge_process *process, unsigned layer, uint64_t correlation)
{
    return hash_u64(process->key ^ hash_u64(correlation << 3 ^ layer));
}

span_id merge_span_find(struct merge *merge, const struct merge_process *process, unsigned layer, uint64_t correlation)
{
    span_id found = SPAN_NONE;
    uint64_t index;
    if (correlation && map_get(&events_of(merge)->spans, correlation_key(process, layer, correlation), &index))
        found.index = (uint32_t)index;
    return found;
}

static int call_parts(struct merge *merge, struct merge_span *span, const span_id *handle)
{
    int code = 0;
    for (size_t i = 0; merge_parts[i] && code == 0; i++) {
        const struct merge_part *part = merge_parts[i];
        if (!(part->layers >> span->layer & 1))
            continue;
        if (handle && part->note)
            code = part->note(merge, merge->states[i], span, *handle);
        else if (!handle && part->prepare)
            code = part->prepare(merge, merge->states[i], span);
    }
    return code;
}

int merge_add_span(struct merge *merge, struct merge_span *span, span_id *ret_handle)
{
    struct events *events = events_of(merge);
    int code = call_parts(merge, span, NULL);
    if (code == 0)
        code = trace_builder_add_span(merge->builder, span->span, span->payload->kind ? span->payload : NULL, ret_handle);
    events->recorded += code == 0;
    if (code == 0 && span->span->correlation)
        code = map_set(&events->spans, correlation_key(span->stream->process, span->layer, span->span->correlation),
                       ret_handle->index);
    return code ? code : call_parts(merge, span, ret_handle);
}

static int on_span(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_span *record = (const struct wire_span *)(const void *)header;
    if (!stream->process)
        return 0;
    struct span span = {
        .track = stream->track,
        .begin_ns = merge_time(merge, stream, record->begin),
        .end_ns = merge_time(merge, stream, record->end),
        .name = merge_string(merge, stream, header->value),
        .category = merge_category(merge, stream, record->category, record->layer),
        .kind = record->span_kind < SPAN_KIND_COUNT ? record->span_kind : SPAN_KIND_UNKNOWN,
        .parent = SPAN_NONE,
        .correlation = record->correlation,
        .stack = STACK_NONE,
    };
    struct payload payload;
    merge_payload(merge, stream, header, record->payload_kind, record->present, false, &payload);
    struct merge_span merge_span = {.stream = stream, .layer = record->layer % WIRE_LAYER_COUNT, .span = &span, .payload = &payload};
    span_id handle;
    int code = merge_call_stack(merge, stream, record->stack, &span.stack);
    return code ? code : merge_add_span(merge, &merge_span, &handle);
}

static int on_instant(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_instant *record = (const struct wire_instant *)(const void *)header;
    if (!stream->process)
        return 0;
    const struct instant instant = {
        .time_ns = merge_time(merge, stream, record->time),
        .name = merge_string(merge, stream, header->value),
        .category = merge_category(merge, stream, record->category, record->layer),
    };
    struct payload payload;
    merge_payload(merge, stream, header, record->payload_kind, record->present, false, &payload);
    int code = trace_builder_add_instant(merge->builder, stream->track, &instant, payload.kind ? &payload : NULL);
    events_of(merge)->recorded += code == 0;
    return code;
}

static int counter_track(struct merge *merge, const struct merge_stream *stream, const struct wire_counter *record,
                         track_id *ret_track)
{
    struct events *events = events_of(merge);
    uint64_t key = hash_u64(stream->process->key ^ hash_u64((uint64_t)record->header.value << 32 | record->unit)) +
                   hash_u64((uint32_t)record->device);
    uint64_t index;
    if (map_get(&events->counters, key, &index)) {
        ret_track->index = (uint32_t)index;
        return 0;
    }
    const struct trace_track track = {
        .kind = TRACK_KIND_COUNTER,
        .name = merge_string(merge, stream, record->header.value),
        .process = stream->process->process,
        .tid = -1,
        .device = record->device,
        .stream = -1,
        .unit = merge_string(merge, stream, record->unit),
        .start_ns = INT64_MIN,
        .end_ns = INT64_MIN,
    };
    int code = trace_builder_add_track(merge->builder, &track, ret_track);
    return code ? code : map_set(&events->counters, key, ret_track->index);
}

static int on_counter(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_counter *record = (const struct wire_counter *)(const void *)header;
    if (!stream->process)
        return 0;
    track_id track;
    int code = counter_track(merge, stream, record, &track);
    if (code)
        return code;
    const struct counter_value value = {merge_time(merge, stream, record->time), record->value};
    code = trace_builder_add_counter(merge->builder, track, &value);
    events_of(merge)->recorded += code == 0;
    return code;
}

static int on_link(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_link *record = (const struct wire_link *)(const void *)header;
    struct events *events = events_of(merge);
    if (!stream->process)
        return 0;
    struct pending_link *links = array_reserve(events->links, &events->link_capacity, events->link_count + 1, sizeof *links);
    if (!links)
        return -ENOMEM;
    events->links = links;
    uint32_t value = header->value;
    links[events->link_count++] = (struct pending_link){
        .from = correlation_key(stream->process, value >> 16 & 0xff, record->from),
        .to = correlation_key(stream->process, value >> 24 & 0xff, record->to),
        .kind = value & 0xff,
        .confidence = value >> 8 & 0xff,
    };
    events->recorded++;
    return 0;
}

/* Of a recording that goes on the other end of a link may still come. */
static int links_resolve(struct merge *merge, struct events *events)
{
    int code = 0;
    size_t kept = 0;
    for (size_t i = 0; i < events->link_count && code == 0; i++) {
        const struct pending_link *pending = &events->links[i];
        uint64_t from, to;
        if (pending->kind >= LINK_KIND_COUNT || pending->confidence >= CONFIDENCE_COUNT ||
            !map_get(&events->spans, pending->from, &from) || !map_get(&events->spans, pending->to, &to)) {
            events->links_lost += !merge->following;
            if (merge->following && kept < LINKS_WAIT)
                events->links[kept++] = *pending;
            continue;
        }
        const struct trace_link link = {
            .kind = pending->kind,
            .confidence = pending->confidence,
            .from = {(uint32_t)from},
            .to = {(uint32_t)to},
        };
        code = trace_builder_add_link(merge->builder, &link);
    }
    events->link_count = kept;
    return code;
}

static int losses_add(struct merge *merge, const struct events *events)
{
    static const char *const reasons[WIRE_LOST_COUNT] = {
#define WIRE_LOST(enumerator, text) text,
        WIRE_LOST_REASONS
#undef WIRE_LOST
    };
    uint64_t lost[WIRE_LOST_COUNT] = {0}, total = 0, untimed = 0;
    for (size_t i = 0; i < merge->process_count; i++) {
        for (int reason = 0; reason < WIRE_LOST_COUNT; reason++) {
            lost[reason] += merge->processes[i]->map->lost[reason];
            total += merge->processes[i]->map->lost[reason];
        }
        untimed += merge->processes[i]->untimed;
    }
    int code = 0;
    if (merge->process_count)
        code = trace_builder_add_ledger(merge->builder, "runtime records", events->recorded + total, events->recorded, 0, "");
    for (int reason = 0; reason < WIRE_LOST_COUNT && code == 0; reason++)
        if (lost[reason])
            code = trace_builder_add_ledger(merge->builder, "runtime records", 0, 0, lost[reason], reasons[reason]);
    if (code == 0 && untimed)
        code = trace_builder_add_ledger(merge->builder, "clock", untimed, 0, untimed,
                                        "killed before its clock was measured twice: times stand at its start");
    if (code == 0 && events->links_lost)
        code = trace_builder_add_ledger(merge->builder, "links", events->links_lost, 0, events->links_lost,
                                        "an end of them was not recorded");
    return code;
}

static int events_finish(struct merge *merge, void *state, struct error *err)
{
    struct events *events = state;
    int code = merge_devices_place(merge);
    if (code == 0)
        code = links_resolve(merge, events);
    if (code == 0)
        code = losses_add(merge, events);
    return code ? error_set_errno(err, code, "merge: cannot add events to the trace") : 0;
}

static int events_round(struct merge *merge, void *state, struct error *err)
{
    int code = merge_devices_place(merge);
    if (code == 0)
        code = links_resolve(merge, state);
    return code ? error_set_errno(err, code, "merge: cannot add events to the trace") : 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_SPAN, MERGE_ROWS, on_span},
    {WIRE_INSTANT, MERGE_ROWS, on_instant},
    {WIRE_COUNTER, MERGE_ROWS, on_counter},
    {WIRE_LINK, MERGE_ROWS, on_link},
    {0, MERGE_LIFE, NULL},
};

const struct merge_part merge_part_events = {
    .name = "events",
    .create = events_create,
    .finish = events_finish,
    .round = events_round,
    .destroy = events_destroy,
    .handlers = handlers,
};
