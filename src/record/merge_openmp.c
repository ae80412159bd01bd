/* SPDX-License-Identifier: MIT */
/*
 * OpenMP, from whichever collector: spans get their names, and what belongs together is gathered by the ids in their payloads
 * until all spans are there.
 */
#include "merge_openmp.h"

#include "base/array.h"
#include "base/error.h"
#include "wire/kinds.h"

#include <errno.h>
#include <stdlib.h>

uint64_t openmp_key(const struct merge_stream *stream, uint64_t number)
{
    return hash_u64(stream->process->key ^ hash_u64(number));
}

struct openmp *openmp_of(struct merge *merge)
{
    return merge_state(merge, &merge_part_openmp);
}

static void openmp_destroy(void *state)
{
    struct openmp *openmp = state;
    if (!openmp)
        return;
    map_finish(&openmp->regions);
    map_finish(&openmp->ends);
    map_finish(&openmp->fulfilled);
    free(openmp->members.items);
    free(openmp->barriers.items);
    free(openmp->stretches.items);
    free(openmp->creates.items);
    free(openmp->waits.items);
    free(openmp->locks.items);
    free(openmp->depends.items);
    openmp_names_destroy(openmp->names);
    free(openmp);
}

static int openmp_create(struct merge *merge, void **ret_state, struct error *err)
{
    struct openmp *openmp = calloc(1, sizeof *openmp);
    if (!openmp || openmp_names_create(merge, &openmp->names) < 0) {
        free(openmp);
        return error_set(err, -ENOMEM, "merge: out of memory");
    }
    openmp->complete = trace_builder_string(merge->builder, "complete");
    *ret_state = openmp;
    return 0;
}

/* The next free item of a list, NULL when memory is out. */
#define LIST_ADD(list)                                                                                                           \
    (list_reserve((void **)&(list)->items, &(list)->capacity, (list)->count, sizeof *(list)->items) ? &(list)->items[(list)->count++] : NULL)
static bool list_reserve(void **items, size_t *capacity, size_t count, size_t item_size)
{
    void *larger = array_reserve(*items, capacity, count + 1, item_size);
    if (larger)
        *items = larger;
    return larger;
}

static int fact_early(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_openmp_fact *fact = (const struct wire_openmp_fact *)(const void *)header;
    struct openmp *openmp = openmp_of(merge);
    if (!stream->process)
        return 0;
    if ((header->value & 0xff) == WIRE_OPENMP_REGION_END)
        return map_set(&openmp->ends, openmp_key(stream, fact->first), fact->time);
    if ((header->value & 0xff) != WIRE_OPENMP_CODE)
        return 0;
    return openmp_names_add(openmp->names, stream, fact->first, fact->second, header->value >> 8 & 0xfff, header->value >> 20);
}

static int fact_row(struct merge *merge, const struct merge_stream *stream, const struct wire_header *header)
{
    const struct wire_openmp_fact *fact = (const struct wire_openmp_fact *)(const void *)header;
    struct openmp *openmp = openmp_of(merge);
    if (!stream->process)
        return 0;
    switch (header->value & 0xff) {
    case WIRE_OPENMP_DEPEND: {
        struct openmp_pair *pair = LIST_ADD(&openmp->depends);
        if (!pair)
            return -ENOMEM;
        *pair = (struct openmp_pair){openmp_key(stream, fact->first), openmp_key(stream, fact->second)};
        return 0;
    }
    case WIRE_OPENMP_FULFIL:
        return map_set(&openmp->fulfilled, openmp_key(stream, fact->first), (uint64_t)merge_time(merge, stream, fact->time));
    case WIRE_OPENMP_UNPAIRED:
        openmp->unpaired += fact->first;
        openmp->too_deep += fact->second;
        return 0;
    case WIRE_OPENMP_ABSENT:
        openmp->absent |= fact->first;
        return 0;
    default:
        return 0;
    }
}

static bool has(const struct payload *payload, unsigned position)
{
    return payload->present >> position & 1;
}

/*
 * A thread that waits at a region's end may be told only when it is called to the next region, or never: its part, and its wait,
 * end with the region at the latest.
 */
static void end_with_region(struct merge *merge, const struct openmp *openmp, struct merge_span *span)
{
    struct payload *payload = span->payload;
    unsigned position = payload->kind == PAYLOAD_TEAM ? FIELD_TEAM_region : FIELD_BARRIER_region;
    uint64_t end;
    if ((payload->kind != PAYLOAD_TEAM && payload->kind != PAYLOAD_BARRIER) || !has(payload, position) ||
        !map_get(&openmp->ends, openmp_key(span->stream, payload->fields[position].u64), &end))
        return;
    int64_t end_ns = merge_time(merge, span->stream, end);
    if (span->span->end_ns <= end_ns || span->span->begin_ns > end_ns)
        return;
    uint64_t late = (uint64_t)span->span->end_ns - (uint64_t)end_ns;
    span->span->end_ns = end_ns;
    if (payload->kind == PAYLOAD_BARRIER && has(payload, FIELD_BARRIER_wait_ns))
        payload->fields[FIELD_BARRIER_wait_ns].u64 -= late < payload->fields[FIELD_BARRIER_wait_ns].u64 ? late : payload->fields[FIELD_BARRIER_wait_ns].u64;
}

static int prepare(struct merge *merge, void *state, struct merge_span *span)
{
    struct openmp *openmp = state;
    if (span->stream->process)
        end_with_region(merge, openmp, span);
    return openmp_names_apply(merge, openmp->names, span);
}

static int note_barrier(struct openmp *openmp, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    if (has(payload, FIELD_BARRIER_sequence) && has(payload, FIELD_BARRIER_region)) {
        struct openmp_barrier *barrier = LIST_ADD(&openmp->barriers);
        if (!barrier)
            return -ENOMEM;
        *barrier = (struct openmp_barrier){openmp_key(span->stream, payload->fields[FIELD_BARRIER_region].u64),
                                           payload->fields[FIELD_BARRIER_sequence].u64, handle, span->span->name};
    }
    if (has(payload, FIELD_BARRIER_task)) {
        struct openmp_wait *wait = LIST_ADD(&openmp->waits);
        if (!wait)
            return -ENOMEM;
        *wait = (struct openmp_wait){openmp_key(span->stream, payload->fields[FIELD_BARRIER_task].u64), span->span->begin_ns,
                                     span->span->end_ns, handle, span->span->kind == SPAN_KIND_TASKGROUP};
    }
    return 0;
}

static int note_task(struct openmp *openmp, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    if (!has(payload, FIELD_TASK_task))
        return 0;
    uint64_t task = openmp_key(span->stream, payload->fields[FIELD_TASK_task].u64);
    bool made = span->span->kind == SPAN_KIND_TASK_CREATE, has_parent = has(payload, FIELD_TASK_parent);
    if (made || has_parent) { /* libgomp's tasks of a taskloop: who their parent is stands where they run */
        struct openmp_create *create = LIST_ADD(&openmp->creates);
        if (!create)
            return -ENOMEM;
        uint64_t parent = has_parent ? openmp_key(span->stream, payload->fields[FIELD_TASK_parent].u64) : 0;
        *create = (struct openmp_create){task, parent, span->span->begin_ns, handle};
    }
    if (made)
        return 0;
    struct openmp_stretch *stretch = LIST_ADD(&openmp->stretches);
    if (!stretch)
        return -ENOMEM;
    bool complete = has(payload, FIELD_TASK_end) && payload->fields[FIELD_TASK_end].string.index == openmp->complete.index;
    *stretch = (struct openmp_stretch){task, span->span->begin_ns, span->span->end_ns, handle, complete};
    return 0;
}

/* A length in a record may be anything. */
static int64_t later(int64_t time_ns, uint64_t length_ns)
{
    int64_t sum;
    return length_ns > INT64_MAX || __builtin_add_overflow(time_ns, (int64_t)length_ns, &sum) ? INT64_MAX : sum;
}

static int note_lock(struct openmp *openmp, const struct merge_span *span, span_id handle)
{
    const struct payload *payload = span->payload;
    if (!has(payload, FIELD_LOCK_lock) || !has(payload, FIELD_LOCK_wait_ns))
        return 0;
    struct openmp_lock *lock = LIST_ADD(&openmp->locks);
    if (!lock)
        return -ENOMEM;
    int64_t had = later(span->span->begin_ns, payload->fields[FIELD_LOCK_wait_ns].u64);
    *lock = (struct openmp_lock){openmp_key(span->stream, payload->fields[FIELD_LOCK_lock].u64), span->span->begin_ns, had,
                                 has(payload, FIELD_LOCK_held_ns) ? later(had, payload->fields[FIELD_LOCK_held_ns].u64) : INT64_MIN, handle};
    return 0;
}

static int note(struct merge *merge, void *state, const struct merge_span *span, span_id handle)
{
    struct openmp *openmp = state;
    const struct payload *payload = span->payload;
    switch (payload->kind) {
    case PAYLOAD_REGION:
        return span->span->kind == SPAN_KIND_PARALLEL && has(payload, FIELD_REGION_region)
                   ? map_set(&openmp->regions, openmp_key(span->stream, payload->fields[FIELD_REGION_region].u64), handle.index)
                   : 0;
    case PAYLOAD_TEAM: {
        struct openmp_member *member = LIST_ADD(&openmp->members);
        if (!member)
            return -ENOMEM;
        *member = (struct openmp_member){openmp_key(span->stream, payload->fields[FIELD_TEAM_region].u64), handle};
        return 0;
    }
    case PAYLOAD_BARRIER:
        return note_barrier(openmp, span, handle);
    case PAYLOAD_TASK:
        return note_task(openmp, span, handle);
    case PAYLOAD_LOCK:
        return note_lock(openmp, span, handle);
    default:
        return 0;
    }
}

/* What a runtime doesn't report, in words, by OMPT's number of the event. */
static int absent_add(struct merge *merge, uint64_t absent)
{
    static const struct {
        uint8_t event;
        const char *reason;
    } reasons[] = {
        {16, "the runtime doesn't report waiting in barriers"},  {17, "the runtime doesn't report locks given back"},
        {19, "the runtime doesn't report task dependences"},      {20, "the runtime doesn't report loops, sections and single"},
        {21, "the runtime doesn't report masked"},                {23, "the runtime doesn't report barriers and taskwait"},
        {26, "the runtime doesn't report waiting for locks"},     {27, "the runtime doesn't report locks"},
        {31, "the runtime doesn't report reductions"},            {32, "the runtime doesn't report pieces of loops: iterations by thread are unknown"},
        {5, "the runtime doesn't report task creation"},          {6, "the runtime doesn't report task scheduling"},
        {3, "the runtime doesn't report parallel regions"},       {7, "the runtime doesn't report implicit tasks"},
    };
    int code = 0;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0] && code == 0; i++)
        if (absent >> reasons[i].event & 1)
            code = trace_builder_add_ledger(merge->builder, "openmp", 0, 0, 0, reasons[i].reason);
    return code;
}

static int openmp_finish(struct merge *merge, void *state, struct error *err)
{
    struct openmp *openmp = state;
    int code = openmp_links_add(merge, openmp);
    if (code == 0)
        code = absent_add(merge, openmp->absent);
    if (code == 0 && openmp->unpaired)
        code = trace_builder_add_ledger(merge->builder, "openmp", openmp->unpaired, 0, openmp->unpaired,
                                        "events of which the runtime reported only the begin or the end");
    if (code == 0 && openmp->too_deep)
        code = trace_builder_add_ledger(merge->builder, "openmp", openmp->too_deep, 0, openmp->too_deep, "constructs nested too deep");
    if (code == 0 && openmp->waits_unlinked)
        code = trace_builder_add_ledger(merge->builder, "openmp waits", openmp->waits_unlinked, 0, openmp->waits_unlinked, "too many look at the same tasks: their links are not complete");
    if (code == 0 && openmp->unmatched)
        code = trace_builder_add_ledger(merge->builder, "openmp links", openmp->unmatched, 0, openmp->unmatched, "an end of them was not recorded");
    if (code == 0 && openmp->not_run)
        code = trace_builder_add_ledger(merge->builder, "openmp", openmp->not_run, 0, 0, "tasks that were made and did not run: cancelled, or the program ended before");
    return code ? error_set_errno(err, code, "merge: cannot add what belongs together in OpenMP") : 0;
}

static const struct merge_handler handlers[] = {
    {WIRE_OPENMP_FACT, MERGE_AHEAD, fact_early},
    {WIRE_OPENMP_FACT, MERGE_ROWS, fact_row},
    {WIRE_OPENMP_REGION, MERGE_AHEAD, openmp_ahead_region},
    {WIRE_OPENMP_REGION, MERGE_ROWS, openmp_on_region},
    {WIRE_OPENMP_PART, MERGE_ROWS, openmp_on_part},
    {WIRE_OPENMP_SYNC, MERGE_ROWS, openmp_on_sync},
    {0, 0, NULL},
};

const struct merge_part merge_part_openmp = {
    .name = "openmp",
    .layers = 1u << WIRE_LAYER_OPENMP,
    .prepare = prepare,
    .note = note,
    .create = openmp_create,
    .ahead = "openmp",
    .finish = openmp_finish,
    .destroy = openmp_destroy,
    .handlers = handlers,
};
