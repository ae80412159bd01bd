/* SPDX-License-Identifier: MIT */
/* OMPT's records in the short form (struct wire_openmp_region, _part, _sync), as the spans that they stand for. */
#include "merge_openmp.h"

#include "wire/kinds.h"

#include <errno.h>

static void set_number(struct payload *payload, unsigned position, uint64_t value)
{
    payload->present |= 1u << position;
    payload->fields[position].u64 = value;
}

static void set_text(struct merge *merge, struct payload *payload, unsigned position, const char *text)
{
    payload->present |= 1u << position;
    payload->fields[position].string = trace_builder_string(merge->builder, text);
}

static int add(struct merge *merge, const struct merge_stream *stream, const char *name, enum span_kind kind, uint64_t begin, uint64_t end,
               struct payload *payload)
{
    struct span span = {
        .track = stream->track,
        .begin_ns = merge_time(merge, stream, begin),
        .end_ns = merge_time(merge, stream, end),
        .name = trace_builder_string(merge->builder, name),
        .category = merge_category(merge, stream, 0, WIRE_LAYER_OPENMP),
        .kind = kind,
        .parent = SPAN_NONE,
        .stack = STACK_NONE,
    };
    struct merge_span merge_span = {.stream = stream, .layer = WIRE_LAYER_OPENMP, .span = &span, .payload = payload};
    span_id handle;
    int code = merge_add_span(merge, &merge_span, &handle);
    merge->refused_records += code == -EINVAL;
    return code == -EINVAL ? 0 : code;
}

static uint64_t code_of(struct merge *merge, const struct merge_stream *stream, uint32_t value)
{
    return openmp_names_code(openmp_of(merge)->names, stream, value & ((1u << WIRE_OPENMP_CODE_BITS) - 1));
}

struct part {
    uint64_t begin, length, region, code, task;
    uint32_t thread, threads;
};

static int add_part(struct merge *merge, const struct merge_stream *stream, const struct part *part)
{
    struct payload payload = {.kind = PAYLOAD_TEAM};
    set_number(&payload, FIELD_TEAM_region, part->region);
    set_number(&payload, FIELD_TEAM_thread, part->thread);
    set_number(&payload, FIELD_TEAM_threads, part->threads);
    if (part->code)
        set_number(&payload, FIELD_TEAM_code, part->code);
    if (part->task)
        set_number(&payload, FIELD_TEAM_task, part->task);
    return add(merge, stream, "implicit task", SPAN_KIND_IMPLICIT_TASK, part->begin, part->begin + part->length, &payload);
}

int openmp_ahead_region(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_openmp_region *record = (const struct wire_openmp_region *)(const void *)header;
    if (!stream->process || record->threads < 2)
        return 0;
    return map_set(&openmp_of(merge)->ends, openmp_key(stream, record->region), record->begin + record->length);
}

int openmp_on_region(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_openmp_region *record = (const struct wire_openmp_region *)(const void *)header;
    if (!stream->process)
        return 0;
    uint64_t code = code_of(merge, stream, header->value);
    const struct part part = {.begin = record->begin + record->part_begin, .length = record->part_length, .region = record->region, .code = code,
                              .task = record->task & WIRE_OPENMP_OWN_TASK ? record->region + 1 : 0, .threads = record->threads};
    struct payload payload = {.kind = PAYLOAD_REGION};
    set_number(&payload, FIELD_REGION_region, record->region);
    if (record->requested)
        set_number(&payload, FIELD_REGION_requested, record->requested);
    set_number(&payload, FIELD_REGION_threads, record->threads);
    set_number(&payload, FIELD_REGION_level, header->value >> WIRE_OPENMP_CODE_BITS & 0xfff);
    if (code)
        set_number(&payload, FIELD_REGION_code, code);
    set_text(merge, &payload, FIELD_REGION_hook, "ompt");
    if (record->task & ~WIRE_OPENMP_OWN_TASK)
        set_number(&payload, FIELD_REGION_encountering_task, record->task & ~WIRE_OPENMP_OWN_TASK);
    int result = add_part(merge, stream, &part);
    if (result)
        return result;
    return add(merge, stream, header->value >> 24 & 1 ? "teams" : "parallel", SPAN_KIND_PARALLEL, record->begin, record->begin + record->length, &payload);
}

int openmp_on_part(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_openmp_part *record = (const struct wire_openmp_part *)(const void *)header;
    if (!stream->process)
        return 0;
    const struct part part = {.begin = record->begin, .length = record->length, .region = record->region,
                              .code = code_of(merge, stream, header->value), .thread = record->thread, .threads = record->threads};
    return add_part(merge, stream, &part);
}

int openmp_on_sync(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    static const char *const types[16] = {
        [WIRE_OPENMP_BARRIER] = "barrier",     [WIRE_OPENMP_IMPLICIT] = "implicit", [WIRE_OPENMP_EXPLICIT] = "explicit",
        [WIRE_OPENMP_IMPLEMENTATION] = "implementation", [WIRE_OPENMP_WORKSHARE] = "workshare", [WIRE_OPENMP_PARALLEL] = "parallel",
        [WIRE_OPENMP_TEAMS] = "teams",
    };
    const struct wire_openmp_sync *record = (const struct wire_openmp_sync *)(const void *)header;
    if (!stream->process)
        return 0;
    const char *type = types[header->value >> WIRE_OPENMP_CODE_BITS & 0xf];
    uint64_t region = record->region & ((1ull << 40) - 1), code = code_of(merge, stream, header->value);
    struct payload payload = {.kind = PAYLOAD_BARRIER};
    if (region)
        set_number(&payload, FIELD_BARRIER_region, region);
    if (type)
        set_text(merge, &payload, FIELD_BARRIER_type, type);
    set_number(&payload, FIELD_BARRIER_sequence, header->value >> 16 | record->region >> 40 << 16);
    set_number(&payload, FIELD_BARRIER_wait_start_ns, merge_duration(merge, stream, record->wait_start));
    uint32_t wait = record->wait_start < record->length ? record->length - record->wait_start : 0;
    set_number(&payload, FIELD_BARRIER_wait_ns, merge_duration(merge, stream, wait));
    if (code)
        set_number(&payload, FIELD_BARRIER_code, code);
    return add(merge, stream, "barrier", SPAN_KIND_BARRIER, record->begin, record->begin + record->length, &payload);
}
