/* SPDX-License-Identifier: MIT */
/* Parallel regions and the implicit tasks of their teams. */
#include "events.h"
#include "record.h"

static void implicit_span(struct lane *lane, const struct frame *frame, uint64_t end)
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

static COLD void parallel_span(struct lane *lane, const struct frame *frame, uint64_t end)
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

/* Thread 0's part is kept in its region's frame, to be written with it: wait_begin, waited, count. */
#define PART_IS_REGION UINT64_MAX
static COLD void region_as_spans(struct lane *lane, const struct frame *frame, uint64_t end)
{
    openmp_fact_at(end, WIRE_OPENMP_REGION_END, SPAN_KIND_PARALLEL, frame->id, 0);
    if (frame->waited) {
        struct frame part = {.begin = frame->begin, .code = frame->code, .id = frame->id, .threads = frame->threads, .done = frame->count};
        uint64_t part_end = end;
        if (frame->waited != PART_IS_REGION) {
            part.begin = frame->wait_begin;
            part_end = frame->wait_begin + frame->waited - 1;
        }
        implicit_span(lane, &part, part_end);
    }
    parallel_span(lane, frame, end);
}

INLINE void region_short(const struct frame *frame, uint64_t length)
{
    uint64_t *words = rt_record(sizeof(struct wire_openmp_region));
    if (UNLIKELY(!words))
        return;
    uint32_t value = frame->slot | (uint32_t)frame->level << WIRE_OPENMP_CODE_BITS | frame->sequence << 24;
    words[0] = (uint64_t)value << 32 | sizeof(struct wire_openmp_region) / 8 << 16 | WIRE_OPENMP_REGION;
    words[1] = frame->begin;
    bool same = frame->waited == PART_IS_REGION;
    uint64_t part_begin = same ? 0 : frame->wait_begin - frame->begin, part_length = same ? length : frame->waited - 1;
    words[2] = length | part_begin << 32;
    words[3] = part_length | (uint64_t)frame->index << 32 | (uint64_t)frame->threads << 48;
    words[4] = frame->id;
    words[5] = frame->done | (frame->count ? WIRE_OPENMP_OWN_TASK : 0);
    rt_commit(sizeof(struct wire_openmp_region));
}

INLINE void region_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    uint64_t length = end - frame->begin;
    if (UNLIKELY(length > UINT32_MAX || !frame->waited || frame->threads > UINT16_MAX || frame->long_form)) {
        region_as_spans(lane, frame, end);
        return;
    }
    region_short(frame, length);
}

void write_parallel(struct lane *lane, const struct frame *frame, uint64_t end)
{
    region_write(lane, frame, end);
}

INLINE void region_begin(struct lane *lane, struct frame *frame, const union omp_data *encountering, unsigned requested, int flags, uint64_t code)
{
    frame->sequence = (flags & OMP_PARALLEL_LEAGUE) != 0;
    frame->level = lane->team->level + 1;
    frame->code = code;
    frame->owner = 0;
    frame->threads = 0;
    frame->index = requested;
    frame->done = encountering ? task_id(encountering->value) : 0;
    frame->waited = 0;
}

static COLD void parallel_begin_slowly(union omp_data *encountering, union omp_data *parallel, unsigned requested, int flags, const void *code)
{
    struct lane *lane = lane_get();
    if (!lane)
        return;
    struct frame *frame = lane_push(lane, FRAME_PARALLEL);
    region_begin(lane, frame, encountering, requested, flags, (uintptr_t)code);
    frame->id = lane_ids(lane);
    frame->stack = lane_stack(lane);
    frame->slot = code_index(lane, frame->code, SPAN_KIND_PARALLEL);
    frame->long_form = frame->stack || (frame->code && !frame->slot) || requested > UINT16_MAX || frame->level > 0xfff;
    /* The team's threads read the frame in their first events, before which the region can't end. */
    parallel->pointer = frame == &lane->spare ? 0 : frame;
    frame->begin = now();
}

void on_parallel_begin(union omp_data *encountering, const void *runtime_frame, union omp_data *parallel, unsigned requested, int flags, const void *code)
{
    struct lane *lane = lane_at_hand();
    uint32_t slot;
    if (UNLIKELY(!lane || !code_known(lane, (uintptr_t)code, &slot) || requested > UINT16_MAX || lane->id_limit - lane->next_id < 2 ||
                 lane->team->level >= 0xfff)) {
        parallel_begin_slowly(encountering, parallel, requested, flags, code);
        return;
    }
    struct frame *frame = ++lane->top;
    frame->shape = FRAME_SHAPE(FRAME_PARALLEL, 0);
    region_begin(lane, frame, encountering, requested, flags, (uintptr_t)code);
    frame->id = lane->next_id;
    lane->next_id += 2;
    frame->stack = 0;
    frame->slot = slot;
    parallel->pointer = frame;
    frame->begin = now();
}

static COLD void parallel_end_slowly(void)
{
    struct lane *lane = lane_get();
    if (!lane)
        return;
    const struct frame *frame = lane_pop(lane, FRAME_PARALLEL, 0, 0);
    if (frame)
        region_write(lane, frame, now());
}

/* It is this thread's innermost region that ends. Its data are no more to be touched: a runtime may have given the team, and them with
 * it, to another region by now. */
void on_parallel_end(union omp_data *parallel, union omp_data *encountering, int flags, const void *code)
{
    struct lane *lane = lane_at_hand();
    struct frame *frame = lane ? lane->top : 0;
    if (UNLIKELY(!lane || frame->shape != FRAME_SHAPE(FRAME_PARALLEL, 0) || !frame->waited || frame->threads > UINT16_MAX)) {
        parallel_end_slowly();
        return;
    }
    uint64_t length = now() - frame->begin;
    if (UNLIKELY(length > UINT32_MAX)) {
        parallel_end_slowly();
        return;
    }
    lane->top = frame - 1;
    region_short(frame, length);
}

/* Thread 0's part is kept in its region's frame, to be written with it. */
INLINE bool implicit_keep(struct frame *region, const struct frame *frame, uint64_t end)
{
    if (frame->index != 0 || region->kind != FRAME_PARALLEL || region->id != frame->id || region->waited)
        return false;
    region->wait_begin = frame->begin;
    region->waited = end - frame->begin + 1;
    region->count = frame->done;
    return true;
}

static COLD void implicit_write(struct lane *lane, const struct frame *frame, uint64_t end)
{
    uint64_t length = end - frame->begin;
    if (implicit_keep(lane->top, frame, end))
        return;
    if (UNLIKELY(length > UINT32_MAX || frame->threads > UINT16_MAX || frame->done || (frame->code && !frame->slot))) {
        implicit_span(lane, frame, end);
        return;
    }
    rt_put4((uint64_t)frame->slot << 32 | sizeof(struct wire_openmp_part) / 8 << 16 | WIRE_OPENMP_PART, frame->begin,
            length | (uint64_t)frame->index << 32 | (uint64_t)frame->threads << 48, frame->id);
}

void write_implicit(struct lane *lane, const struct frame *frame, uint64_t end)
{
    implicit_write(lane, frame, end);
}

static void implicit_begin(struct lane *lane, union omp_data *parallel, union omp_data *task, unsigned threads, unsigned index)
{
    struct frame *region = parallel ? parallel->pointer : 0;
    /* A team of one is as long as its region: the same readings of the clock serve both. */
    uint64_t begin = region && region == lane->top && threads == 1 ? region->begin : now();
    /* The program's own initial task belongs to no region that began: its frame only says who is the parent of what it makes. */
    struct frame *frame = lane_push(lane, region ? FRAME_IMPLICIT : FRAME_INITIAL);
    frame->level = region ? region->level : 0;
    frame->stack = 0;
    frame->begin = begin;
    frame->code = region ? region->code : 0;
    frame->id = region ? region->id : 0;
    frame->owner = 0;
    frame->threads = threads;
    frame->index = index;
    frame->sequence = 0;
    frame->slot = region ? region->slot : 0;
    frame->count = region && index == 0 ? region->id + 1 : lane_id(lane);
    frame->done = 0;
    if (LIKELY(task))
        task->value = frame->count << TASK_ID_SHIFT | TASK_HERE;
    if (region && index == 0)
        region->threads = threads;
    frame->outer = lane->team;
    if (LIKELY(frame != &lane->spare))
        lane->team = frame;
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
    struct frame *frame = lane_pop(lane, lane->team->kind == FRAME_INITIAL ? FRAME_INITIAL : FRAME_IMPLICIT, 0, 0);
    if (UNLIKELY(!frame))
        return;
    lane->team = frame->outer;
    if (UNLIKELY(frame->kind != FRAME_IMPLICIT))
        return;
    if (frame->threads == 1 && lane->top->kind == FRAME_PARALLEL && lane->top->id == frame->id) {
        lane->top->waited = PART_IS_REGION;
        lane->top->count = frame->done;
        return;
    }
    uint64_t end = now();
    if (!implicit_keep(lane->top, frame, end))
        implicit_write(lane, frame, end);
}
