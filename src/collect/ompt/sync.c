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

static COLD void sync_span(struct lane *lane, const struct frame *frame, uint64_t end)
{
    unsigned type = frame->type;
    struct record record;
    if (!record_begin(&record, 7, RECORD_SHAPE(syncs[type].kind, PAYLOAD_BARRIER), lane->names[syncs[type].name], frame->begin, end))
        return;
    record_field_if(&record, FIELD_BARRIER_region, lane->team->id);
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

INLINE void sync_short(const struct lane *lane, const struct frame *frame, uint64_t length, uint64_t wait_start)
{
    uint32_t value = frame->slot | (uint32_t)frame->type << WIRE_OPENMP_CODE_BITS | frame->sequence << 16;
    uint64_t header = (uint64_t)value << 32 | sizeof(struct wire_openmp_sync) / 8 << 16 | WIRE_OPENMP_SYNC;
    uint64_t region = (lane->team->id & ((1ull << 40) - 1)) | (uint64_t)(frame->sequence >> 16) << 40;
    rt_put4(header, frame->begin, length | wait_start << 32, region);
}

INLINE void sync_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    uint64_t length = end - frame->begin;
    if (UNLIKELY(length > UINT32_MAX || frame->long_form || !syncs[frame->type].barrier || frame->wait_end != end ||
                 frame->wait_begin + frame->waited != end)) {
        sync_span(lane, frame, end);
        return;
    }
    sync_short(lane, frame, length, frame->wait_begin - frame->begin);
}

void write_sync(struct lane *lane, const struct frame *frame, uint64_t end)
{
    sync_write(lane, frame, end);
}

/*
 * Where a runtime reports the begin of a region and of its wait in one go, and their ends as well, the wait's events say nothing new:
 * one reading of the clock stands for both.
 */
INLINE bool waits_throughout(unsigned kind)
{
    return tool.adjacent && syncs[kind].waits_at_once;
}

static COLD void sync_begin(struct lane *lane, unsigned kind, union omp_data *task, const void *code)
{
    struct frame *team = lane->team;
    struct frame *frame = lane_push(lane, FRAME_SYNC);
    frame->type = (uint8_t)kind;
    frame->owner = 0;
    frame->id = UNLIKELY(syncs[kind].joins) ? task_identify(lane, task) : 0;
    frame->stack = lane_stack(lane);
    frame->wait_end = 0;
    frame->waited = 0;
    if (LIKELY(syncs[kind].barrier))
        frame->sequence = team->sequence++;
    frame->code = code ? (uintptr_t)code : team->code;
    frame->slot = code ? code_index(lane, (uintptr_t)code, syncs[kind].kind) : team->slot;
    frame->long_form = frame->stack || (frame->code && !frame->slot);
    frame->begin = now();
}

static COLD void sync_end(struct lane *lane, unsigned kind)
{
    struct frame *frame = lane_pop(lane, FRAME_SYNC, kind, 0);
    if (UNLIKELY(!frame))
        return;
    uint64_t end = now();
    if (waits_throughout(kind)) {
        frame->wait_begin = frame->begin;
        frame->wait_end = end;
        frame->waited = end - frame->begin;
    }
    sync_write(lane, frame, end);
}

static COLD void sync_slowly(int kind, int endpoint, union omp_data *task, const void *code)
{
    if (kind <= 0 || kind >= OMP_SYNC_COUNT)
        return;
    struct lane *lane = lane_get();
    if (!lane)
        return;
    if (endpoint != OMP_END)
        sync_begin(lane, (unsigned)kind, task, code);
    if (endpoint != OMP_BEGIN)
        sync_end(lane, (unsigned)kind);
}

/* A barrier that waits from begin to end costs two readings of the clock, a frame and a short record: the path that counts. */
#define SHORT_SYNCS (1u << OMP_SYNC_BARRIER | 1u << OMP_SYNC_IMPLICIT | 1u << OMP_SYNC_EXPLICIT | 1u << OMP_SYNC_IMPLEMENTATION | \
                     1u << OMP_SYNC_IMPLICIT_WORKSHARE | 1u << OMP_SYNC_IMPLICIT_PARALLEL | 1u << OMP_SYNC_TEAMS)

static __attribute__((noinline)) void barrier_begin(unsigned kind, union omp_data *task, const void *code)
{
    struct lane *lane = lane_at_hand();
    uint32_t slot = 0;
    if (UNLIKELY(!lane || !code_known(lane, (uintptr_t)code, &slot))) {
        sync_slowly((int)kind, OMP_BEGIN, task, code);
        return;
    }
    struct frame *team = lane->team, *frame = lane->top + 1;
    lane->top = frame;
    frame->shape = FRAME_SHAPE(FRAME_SYNC, kind);
    frame->owner = 0;
    frame->stack = 0;
    frame->id = 0;
    frame->sequence = team->sequence++;
    frame->code = (uintptr_t)code;
    frame->slot = slot;
    frame->wait_end = 0;
    frame->begin = now();
}

static __attribute__((noinline)) void barrier_end(unsigned kind)
{
    uint64_t end = now();
    struct lane *lane = lane_self;
    struct frame *frame = lane && lane->magic == LANE_MAGIC ? lane->top : 0;
    uint64_t length = end - (frame ? frame->begin : 0);
    if (UNLIKELY(!frame || frame->shape != FRAME_SHAPE(FRAME_SYNC, kind) || length > UINT32_MAX)) {
        sync_slowly((int)kind, OMP_END, 0, 0);
        return;
    }
    lane->top = frame - 1;
    sync_short(lane, frame, length, 0);
}

void on_sync_region(int kind, int endpoint, union omp_data *parallel, union omp_data *task, const void *code)
{
    bool is_short = (unsigned)kind < OMP_SYNC_COUNT && SHORT_SYNCS >> kind & 1 && tool.adjacent;
    if (LIKELY(is_short && endpoint == OMP_BEGIN))
        barrier_begin((unsigned)kind, task, code);
    else if (LIKELY(is_short && endpoint == OMP_END))
        barrier_end((unsigned)kind);
    else
        sync_slowly(kind, endpoint, task, code);
}

/* The frame that waits: on top, as tasks that ran meanwhile are gone by the wait's end. */
void on_sync_wait(int kind, int endpoint, union omp_data *parallel, union omp_data *task, const void *code)
{
    if (LIKELY((unsigned)kind < OMP_SYNC_COUNT && SHORT_SYNCS >> kind & 1 && tool.adjacent))
        return;
    if (kind <= 0 || kind >= OMP_SYNC_COUNT || waits_throughout((unsigned)kind))
        return;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    struct frame *frame = lane->top;
    if (UNLIKELY(frame->kind != FRAME_SYNC || frame->type != kind))
        return;
    uint64_t time = now();
    if (endpoint != OMP_END) {
        if (!frame->wait_end)
            frame->wait_begin = time;
        frame->wait_end = time; /* until it is known */
    }
    if (endpoint != OMP_BEGIN && frame->wait_end) {
        frame->waited += time - frame->wait_end;
        frame->wait_end = time;
    }
}
