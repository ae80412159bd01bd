/* SPDX-License-Identifier: MIT */
/* Barriers, taskwait, taskgroup, reductions: the region and the waiting in it, as one span. */
#include "events.h"
#include "record.h"

static const struct {
    uint8_t kind, name, type;
    bool barrier; /* the whole team comes to it */
    bool joins;   /* waits for tasks that its own task has made */
    bool waits_at_once; /* nothing of the program runs between its begin and its wait's */
} syncs[OMP_SYNC_COUNT] = {
    [OMP_SYNC_BARRIER] = {SPAN_KIND_BARRIER, NAME_BARRIER, NAME_BARRIER, true, false, true},
    [OMP_SYNC_IMPLICIT] = {SPAN_KIND_BARRIER, NAME_BARRIER, NAME_IMPLICIT, true, false, true},
    [OMP_SYNC_EXPLICIT] = {SPAN_KIND_BARRIER, NAME_BARRIER, NAME_EXPLICIT, true, false, true},
    [OMP_SYNC_IMPLEMENTATION] = {SPAN_KIND_BARRIER, NAME_BARRIER, NAME_IMPLEMENTATION, true, false, true},
    [OMP_SYNC_TASKWAIT] = {SPAN_KIND_TASKWAIT, NAME_TASKWAIT, NAME_TASKWAIT, false, true, true},
    [OMP_SYNC_TASKGROUP] = {SPAN_KIND_TASKGROUP, NAME_TASKGROUP, NAME_TASKGROUP, false, true, false},
    [OMP_SYNC_REDUCTION] = {SPAN_KIND_REDUCTION, NAME_REDUCTION, NAME_REDUCTION, false, false, false},
    [OMP_SYNC_IMPLICIT_WORKSHARE] = {SPAN_KIND_BARRIER, NAME_BARRIER, NAME_WORKSHARE, true, false, true},
    [OMP_SYNC_IMPLICIT_PARALLEL] = {SPAN_KIND_BARRIER, NAME_BARRIER, NAME_PARALLEL, true, false, true},
    [OMP_SYNC_TEAMS] = {SPAN_KIND_BARRIER, NAME_BARRIER, NAME_TEAMS, true, false, true},
};

INLINE void sync_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    unsigned type = frame->type;
    struct record record;
    if (!record_begin(&record, 7, RECORD_SHAPE(syncs[type].kind, PAYLOAD_BARRIER), lane->names[syncs[type].name], frame->begin, end))
        return;
    record_field_if(&record, FIELD_BARRIER_region, lane_region(lane));
    record_field(&record, FIELD_BARRIER_type, lane->names[syncs[type].type]);
    if (syncs[type].barrier)
        record_field(&record, FIELD_BARRIER_sequence, frame->sequence);
    if (frame->wait_end) {
        record_field(&record, FIELD_BARRIER_wait_start_ns, frame->wait_begin - frame->begin);
        record_field(&record, FIELD_BARRIER_wait_ns, frame->waited);
    }
    record_field_if(&record, FIELD_BARRIER_code, frame->code);
    record_field_if(&record, FIELD_BARRIER_task, frame->id);
    record_end(&record, frame->stack);
}

void write_sync(struct lane *lane, const struct frame *frame, uint64_t end)
{
    sync_write(lane, frame, end);
}

static void sync_begin(struct lane *lane, unsigned kind, union omp_data *task, const void *code)
{
    struct frame *team = lane_team(lane);
    struct frame *frame = lane_push(lane, FRAME_SYNC);
    frame->type = (uint8_t)kind;
    frame->owner = 0;
    frame->code = code ? (uintptr_t)code : team ? team->code : 0;
    frame->id = syncs[kind].joins ? task_identify(lane, task) : 0;
    frame->stack = lane_stack(lane);
    frame->wait_end = 0;
    frame->waited = 0;
    if (syncs[kind].barrier && team)
        frame->sequence = team->sequence++;
    code_index(lane, (uintptr_t)code, syncs[kind].kind);
    frame->begin = now();
}

static void sync_end(struct lane *lane, unsigned kind)
{
    const struct frame *frame = lane_pop(lane, FRAME_SYNC, kind, 0);
    if (UNLIKELY(!frame))
        return;
    bool at_once = tool.adjacent && frame->wait_end;
    sync_write(lane, frame, at_once ? frame->wait_end : now());
}

void on_sync_region(int kind, int endpoint, union omp_data *parallel, union omp_data *task, const void *code)
{
    if (kind <= 0 || kind >= OMP_SYNC_COUNT)
        return;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    if (endpoint != OMP_END)
        sync_begin(lane, (unsigned)kind, task, code);
    if (endpoint != OMP_BEGIN)
        sync_end(lane, (unsigned)kind);
}

/* The frame that waits: on top, as tasks that ran meanwhile are gone by the wait's end. */
void on_sync_wait(int kind, int endpoint, union omp_data *parallel, union omp_data *task, const void *code)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane || !lane->depth))
        return;
    struct frame *frame = &lane->frames[lane->depth - 1];
    if (UNLIKELY(frame->kind != FRAME_SYNC || frame->type != kind))
        return;
    if (endpoint != OMP_END) {
        uint64_t begin = tool.adjacent && syncs[kind].waits_at_once && !frame->wait_end ? frame->begin : now();
        if (!frame->wait_end)
            frame->wait_begin = begin;
        frame->wait_end = begin; /* until it is known */
    }
    if (endpoint != OMP_BEGIN && frame->wait_end) {
        uint64_t end = now();
        frame->waited += end - frame->wait_end;
        frame->wait_end = end;
    }
}
