/* SPDX-License-Identifier: MIT */
/* Worksharing: each thread's part of loops, sections, single and the rest, and what masked threads do. */
#include "events.h"
#include "record.h"

static const struct {
    uint8_t kind, name, schedule;
} works[OMP_WORK_COUNT] = {
    [OMP_WORK_LOOP] = {SPAN_KIND_LOOP, NAME_LOOP, NAME_NONE},
    [OMP_WORK_SECTIONS] = {SPAN_KIND_SECTIONS, NAME_SECTIONS, NAME_NONE},
    [OMP_WORK_SINGLE_EXECUTOR] = {SPAN_KIND_SINGLE, NAME_SINGLE, NAME_NONE},
    [OMP_WORK_WORKSHARE] = {SPAN_KIND_WORKSHARE, NAME_WORKSHARE, NAME_NONE},
    [OMP_WORK_DISTRIBUTE] = {SPAN_KIND_WORKSHARE, NAME_DISTRIBUTE, NAME_NONE},
    [OMP_WORK_TASKLOOP] = {SPAN_KIND_LOOP, NAME_TASKLOOP, NAME_TASKLOOP},
    [OMP_WORK_SCOPE] = {SPAN_KIND_WORKSHARE, NAME_SCOPE, NAME_NONE},
    [OMP_WORK_LOOP_STATIC] = {SPAN_KIND_LOOP, NAME_LOOP, NAME_STATIC},
    [OMP_WORK_LOOP_DYNAMIC] = {SPAN_KIND_LOOP, NAME_LOOP, NAME_DYNAMIC},
    [OMP_WORK_LOOP_GUIDED] = {SPAN_KIND_LOOP, NAME_LOOP, NAME_GUIDED},
    [OMP_WORK_LOOP_OTHER] = {SPAN_KIND_LOOP, NAME_LOOP, NAME_OTHER},
};

static bool counts(unsigned type)
{
    return works[type].kind == SPAN_KIND_LOOP || type == OMP_WORK_SECTIONS || type == OMP_WORK_DISTRIBUTE;
}

void write_work(struct lane *lane, const struct frame *frame, uint64_t end)
{
    bool masked = frame->kind == FRAME_MASKED;
    unsigned type = frame->type;
    struct record record;
    uint64_t shape = RECORD_SHAPE(masked ? SPAN_KIND_MASKED : works[type].kind, PAYLOAD_WORK);
    if (!record_begin(&record, 5, shape, lane->names[masked ? NAME_MASKED : works[type].name], frame->begin, end))
        return;
    record_field_if(&record, FIELD_WORK_region, lane->team->id);
    if (!masked && counts(type))
        record_field(&record, FIELD_WORK_iterations, frame->count);
    if (!masked)
        record_field_if(&record, FIELD_WORK_schedule, works[type].schedule ? lane->names[works[type].schedule] : 0);
    record_field_if(&record, FIELD_WORK_code, frame->code);
    if (frame->done)
        record_field(&record, FIELD_WORK_iterations_done, frame->done - 1);
    record_end(&record, frame->stack);
}

static void work_begin(struct lane *lane, enum frame_kind kind, unsigned type, uint64_t count, const void *code)
{
    unsigned span_kind = kind == FRAME_MASKED ? SPAN_KIND_MASKED : works[type].kind;
    struct frame *frame = lane_push(lane, kind);
    frame->type = (uint8_t)type;
    frame->owner = 0;
    frame->code = (uintptr_t)code;
    frame->count = count;
    frame->done = 0;
    frame->stack = lane_stack(lane);
    code_index(lane, frame->code, span_kind);
    frame->begin = now();
}

static void work_end(struct lane *lane, enum frame_kind kind, unsigned type)
{
    uint64_t end = now();
    const struct frame *frame = lane_pop(lane, kind, type, 0);
    if (LIKELY(frame))
        write_work(lane, frame, end);
}

void on_work(int type, int endpoint, union omp_data *parallel, union omp_data *task, uint64_t count, const void *code)
{
    /* Who finds a single taken does nothing there. */
    if (type <= 0 || type >= OMP_WORK_COUNT || !works[type].kind || type == OMP_WORK_SINGLE_OTHER)
        return;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    if (endpoint != OMP_END)
        work_begin(lane, FRAME_WORK, (unsigned)type, count, code);
    if (endpoint != OMP_BEGIN)
        work_end(lane, FRAME_WORK, (unsigned)type);
}

/* A piece of the innermost worksharing construct. */
void on_dispatch(union omp_data *parallel, union omp_data *task, int kind, union omp_data instance)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    struct frame *frame = lane->top;
    if (frame->kind != FRAME_WORK)
        return;
    const struct omp_chunk *chunk = instance.pointer;
    uint64_t pieces = 1;
    if (kind == OMP_DISPATCH_LOOP_CHUNK || kind == OMP_DISPATCH_DISTRIBUTE_CHUNK)
        pieces = chunk ? chunk->iterations : 0;
    else if (kind != OMP_DISPATCH_ITERATION && kind != OMP_DISPATCH_SECTION)
        return;
    frame->done += pieces + (frame->done == 0);
}

void on_masked(int endpoint, union omp_data *parallel, union omp_data *task, const void *code)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    if (endpoint != OMP_END)
        work_begin(lane, FRAME_MASKED, 0, 0, code);
    if (endpoint != OMP_BEGIN)
        work_end(lane, FRAME_MASKED, 0);
}
