/* SPDX-License-Identifier: MIT */
/* Parallel regions and the implicit tasks of their teams. */
#include "events.h"
#include "record.h"

INLINE void parallel_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    struct record record;
    if (!record_begin(&record, 7, RECORD_SHAPE(SPAN_KIND_PARALLEL, PAYLOAD_REGION), lane->names[frame->sequence ? NAME_TEAMS : NAME_PARALLEL], frame->begin, end))
        return;
    record_field(&record, FIELD_REGION_region, frame->id);
    record_field_if(&record, FIELD_REGION_requested, frame->index);
    record_field_if(&record, FIELD_REGION_threads, frame->threads);
    record_field(&record, FIELD_REGION_level, frame->level);
    record_field_if(&record, FIELD_REGION_code, frame->code);
    record_field(&record, FIELD_REGION_hook, lane->names[NAME_HOOK]);
    record_field_if(&record, FIELD_REGION_encountering_task, frame->done);
    record_end(&record, frame->stack);
}

void write_parallel(struct lane *lane, const struct frame *frame, uint64_t end)
{
    parallel_write(lane, frame, end);
}

void on_parallel_begin(union omp_data *encountering, const void *runtime_frame, union omp_data *parallel, unsigned requested, int flags, const void *code)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    const struct frame *team = lane_team(lane);
    struct frame *frame = lane_push(lane, FRAME_PARALLEL);
    frame->type = 0;
    frame->sequence = (flags & OMP_PARALLEL_LEAGUE) != 0;
    frame->level = (uint16_t)((team ? team->level : 0) + 1);
    frame->code = (uintptr_t)code;
    frame->id = lane_id(lane);
    frame->owner = frame; /* a runtime may move a region's data, not what stands in it */
    frame->threads = 0;
    frame->index = requested;
    frame->done = encountering ? task_id(encountering->value) : 0;
    frame->stack = lane_stack(lane);
    code_index(lane, frame->code, SPAN_KIND_PARALLEL);
    /* The team's threads read the frame in their first events, before which the region can't end. */
    parallel->pointer = frame == &lane->spare ? 0 : frame;
    frame->begin = now();
}

void on_parallel_end(union omp_data *parallel, union omp_data *encountering, int flags, const void *code)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    const struct frame *frame = lane_pop(lane, FRAME_PARALLEL, 0, parallel->pointer);
    if (LIKELY(frame))
        parallel_write(lane, frame, now());
    parallel->pointer = 0;
}

INLINE void implicit_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    struct record record;
    if (!record_begin(&record, 5, RECORD_SHAPE(SPAN_KIND_IMPLICIT_TASK, PAYLOAD_TEAM), lane->names[NAME_IMPLICIT_TASK], frame->begin, end))
        return;
    record_field(&record, FIELD_TEAM_region, frame->id);
    record_field(&record, FIELD_TEAM_thread, frame->index);
    record_field(&record, FIELD_TEAM_threads, frame->threads);
    record_field_if(&record, FIELD_TEAM_code, frame->code);
    record_field_if(&record, FIELD_TEAM_task, frame->done);
    record_end(&record, frame->stack);
}

void write_implicit(struct lane *lane, const struct frame *frame, uint64_t end)
{
    implicit_write(lane, frame, end);
}

static void implicit_begin(struct lane *lane, union omp_data *parallel, union omp_data *task, unsigned threads, unsigned index)
{
    uint64_t begin = now();
    struct frame *region = parallel ? parallel->pointer : 0;
    /* The program's own initial task belongs to no region that began: its frame only says who is the parent of what it makes. */
    struct frame *frame = lane_push(lane, region ? FRAME_IMPLICIT : FRAME_INITIAL);
    frame->type = 0;
    frame->level = region ? region->level : 0;
    frame->stack = 0;
    frame->begin = begin;
    frame->code = region ? region->code : 0;
    frame->id = region ? region->id : 0;
    frame->owner = 0;
    frame->threads = threads;
    frame->index = index;
    frame->sequence = 0;
    frame->count = lane_id(lane);
    frame->done = 0;
    if (LIKELY(task))
        task->value = frame->count << TASK_ID_SHIFT | TASK_HERE;
    if (region && index == 0)
        region->threads = threads;
    frame->outer = lane->team;
    if (LIKELY(frame != &lane->spare))
        lane->team = (int32_t)(frame - lane->frames);
}

void on_implicit_task(int endpoint, union omp_data *parallel, union omp_data *task, unsigned threads, unsigned index, int flags)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    if (endpoint == OMP_BEGIN) {
        implicit_begin(lane, parallel, task, threads, index);
        return;
    }
    /* It is the innermost team that ends. */
    const struct frame *team = lane_team(lane);
    struct frame *frame = lane_pop(lane, team ? (enum frame_kind)team->kind : FRAME_IMPLICIT, 0, 0);
    if (UNLIKELY(!frame))
        return;
    lane->team = frame->outer;
    if (frame->kind == FRAME_IMPLICIT)
        implicit_write(lane, frame, now());
}
