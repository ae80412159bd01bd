/* SPDX-License-Identifier: MIT */
/*
 * Explicit tasks. A stretch of a task begins when a thread takes it up and ends when the task leaves the thread: by ending, or
 * by being put back to be gone on with later. What a thread does while a task of its waits (a taskwait runs others) are
 * spans inside that stretch, as they are on the thread's stack.
 */
#include "events.h"
#include "record.h"

uint64_t task_identify(struct lane *lane, union omp_data *task)
{
    if (!task)
        return 0;
    if (UNLIKELY(!task->value)) /* its begin was not reported */
        task->value = lane_id(lane) << TASK_ID_SHIFT | TASK_HERE;
    uint64_t id = task_id(task->value);
    struct frame *team = lane->team;
    if (team->count == id)
        team->done = id; /* so its own span will say it */
    return id;
}

static const char *const task_words[] = {"target", "explicit", "undeferred", "untied", "final", "mergeable"};

static unsigned task_type_index(unsigned flags)
{
    return ((flags & OMP_TASK_TARGET) != 0) | ((flags & OMP_TASK_UNDEFERRED) != 0) << 1 | ((flags & OMP_TASK_UNTIED) != 0) << 2 |
           ((flags & OMP_TASK_FINAL) != 0) << 3 | ((flags & OMP_TASK_MERGEABLE) != 0) << 4;
}

static COLD uint32_t task_type_make(struct lane *lane, unsigned index)
{
    char text[64];
    unsigned length = 0;
    for (unsigned word = 0; word < sizeof task_words / sizeof task_words[0]; word++) {
        bool has = word < 2 ? (index & 1) == !word : index >> (word - 1) & 1;
        for (const char *at = task_words[word]; has && *at; at++) {
            if (at == task_words[word] && length)
                text[length++] = ' ';
            text[length++] = *at;
        }
    }
    return lane->task_types[index] = rt_string(text, length);
}

void on_task_create(union omp_data *encountering, const void *frame, union omp_data *task, int flags, int dependences, const void *code)
{
    if (!((unsigned)flags & (OMP_TASK_EXPLICIT | OMP_TASK_TARGET)) || (unsigned)flags & OMP_TASK_TASKWAIT || !task)
        return;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    uint64_t id = lane_id(lane), parent = task_identify(lane, encountering);
    task->value = id << TASK_ID_SHIFT | (uint64_t)code_index(lane, (uintptr_t)code, SPAN_KIND_TASK_CREATE) << TASK_CODE_SHIFT | TASK_IS_EXPLICIT;
    unsigned type = task_type_index((unsigned)flags);
    uint32_t type_name = LIKELY(lane->task_types[type]) ? lane->task_types[type] : task_type_make(lane, type);
    uint32_t stack = lane_stack(lane);
    uint64_t time = now();
    struct record record;
    if (!record_begin(&record, 5, RECORD_SHAPE(SPAN_KIND_TASK_CREATE, PAYLOAD_TASK), lane->names[NAME_TASK_CREATE], time, time))
        return;
    record_field(&record, FIELD_TASK_task, id);
    record_field_if(&record, FIELD_TASK_parent, parent);
    record_field(&record, FIELD_TASK_type, type_name);
    record_field_if(&record, FIELD_TASK_code, (uintptr_t)code);
    record_field_if(&record, FIELD_TASK_region, lane->team->id);
    record_end(&record, stack);
}

void write_task(struct lane *lane, const struct frame *frame, uint64_t end, enum openmp_name reason)
{
    struct record record;
    if (!record_begin(&record, 5, RECORD_SHAPE(SPAN_KIND_TASK, PAYLOAD_TASK), lane->names[NAME_TASK], frame->begin, end))
        return;
    record_field(&record, FIELD_TASK_task, frame->id);
    if (frame->sequence < TASK_PART_MAX)
        record_field(&record, FIELD_TASK_part, frame->sequence);
    if (reason != NAME_NONE)
        record_field(&record, FIELD_TASK_end, lane->names[reason]);
    record_field_if(&record, FIELD_TASK_code, frame->code);
    record_field_if(&record, FIELD_TASK_region, lane->team->id);
    record_end(&record, frame->stack);
}

static const uint8_t reasons[OMP_TASK_STATUS_COUNT] = {
    [OMP_TASK_COMPLETE] = NAME_COMPLETE, [OMP_TASK_YIELD] = NAME_YIELD, [OMP_TASK_CANCEL] = NAME_CANCEL,
    [OMP_TASK_DETACH] = NAME_DETACH,     [OMP_TASK_SWITCH] = NAME_SWITCH,
};

static void stretch_end(struct lane *lane, union omp_data *task, unsigned status, uint64_t time)
{
    uint64_t id = task_id(task->value);
    if (!(task->value & TASK_HERE)) /* discarded before it ran */
        return;
    task->value &= ~(uint64_t)TASK_HERE;
    const struct frame *frame = lane_pop(lane, FRAME_TASK, 0, (const void *)(uintptr_t)id);
    if (UNLIKELY(!frame))
        return;
    write_task(lane, frame, time, reasons[status]);
    if (status != OMP_TASK_COMPLETE && (task->value & TASK_PART_MAX) < TASK_PART_MAX)
        task->value++;
}

static void stretch_begin(struct lane *lane, union omp_data *task, uint64_t time)
{
    task->value |= TASK_HERE;
    uint32_t code = task_code(task->value);
    struct frame *frame = lane_push(lane, FRAME_TASK);
    frame->type = 0;
    frame->id = task_id(task->value);
    frame->owner = (const void *)(uintptr_t)frame->id;
    frame->code = code ? code_table[code] : 0;
    frame->sequence = (uint32_t)task->value & TASK_PART_MAX;
    frame->stack = 0;
    frame->begin = time;
}

void on_task_schedule(union omp_data *prior, int status, union omp_data *next)
{
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane) || status <= 0 || status >= OMP_TASK_STATUS_COUNT || status == OMP_TASK_EARLY_FULFILL || status == OMP_TASKWAIT_COMPLETE)
        return;
    if (status == OMP_TASK_LATE_FULFILL) {
        if (prior && prior->value)
            openmp_fact(WIRE_OPENMP_FULFIL, SPAN_KIND_TASK, task_id(prior->value), 0);
        return;
    }
    uint64_t time = now();
    bool leaves = status == OMP_TASK_COMPLETE || status == OMP_TASK_CANCEL || status == OMP_TASK_DETACH;
    bool resumes = next && next->value & TASK_HERE; /* what lies below on this thread's stack goes on */
    if ((leaves || resumes) && prior && prior != next && prior->value & TASK_IS_EXPLICIT)
        stretch_end(lane, prior, (unsigned)status, time);
    if (next && !resumes && next->value & TASK_IS_EXPLICIT)
        stretch_begin(lane, next, time);
}

void on_task_dependence(union omp_data *first, union omp_data *second)
{
    if (first && second && first->value && second->value)
        openmp_fact(WIRE_OPENMP_DEPEND, SPAN_KIND_TASK, task_id(first->value), task_id(second->value));
}

void on_cancel(union omp_data *task, int flags, const void *code)
{
    static const struct {
        int flag;
        const char *text;
        uint32_t length;
    } whats[] = {
        {OMP_CANCEL_PARALLEL, "cancel parallel", 15}, {OMP_CANCEL_SECTIONS, "cancel sections", 15}, {OMP_CANCEL_LOOP, "cancel loop", 11},
        {OMP_CANCEL_TASKGROUP, "cancel taskgroup", 16},
    };
    if (!lane_get())
        return;
    for (unsigned i = 0; i < sizeof whats / sizeof whats[0]; i++)
        if (flags & whats[i].flag)
            rt_instant(WIRE_LAYER_OPENMP, flags & OMP_CANCEL_DISCARDED_TASK ? rt_string("task discarded", 14) : rt_string(whats[i].text, whats[i].length), 0);
}
