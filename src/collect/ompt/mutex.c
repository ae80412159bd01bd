/* SPDX-License-Identifier: MIT */
/*
 * Critical, atomic and ordered are spans from asking to giving back, as they nest. Locks need not nest: theirs is the asking
 * alone, with the time they were held; written when they are given back.
 */
#include "events.h"
#include "record.h"

static const struct {
    uint8_t kind, name;
} mutexes[OMP_MUTEX_COUNT] = {
    [OMP_MUTEX_LOCK] = {SPAN_KIND_LOCK, NAME_LOCK},
    [OMP_MUTEX_TEST_LOCK] = {SPAN_KIND_LOCK, NAME_LOCK},
    [OMP_MUTEX_NEST_LOCK] = {SPAN_KIND_LOCK, NAME_NEST_LOCK},
    [OMP_MUTEX_TEST_NEST_LOCK] = {SPAN_KIND_LOCK, NAME_NEST_LOCK},
    [OMP_MUTEX_CRITICAL] = {SPAN_KIND_CRITICAL, NAME_CRITICAL},
    [OMP_MUTEX_ATOMIC] = {SPAN_KIND_CRITICAL, NAME_ATOMIC},
    [OMP_MUTEX_ORDERED] = {SPAN_KIND_ORDERED, NAME_ORDERED},
};

/* released: 0 = not known */
static void mutex_write(struct lane *lane, const struct held *held, uint64_t end, uint64_t released)
{
    struct record record;
    uint32_t name = lane->names[mutexes[held->type].name];
    if (!record_begin(&record, 5, RECORD_SHAPE(mutexes[held->type].kind, PAYLOAD_LOCK), name, held->begin, end))
        return;
    record_field(&record, FIELD_LOCK_lock, held->lock);
    record_field(&record, FIELD_LOCK_type, name);
    record_field(&record, FIELD_LOCK_wait_ns, held->had - held->begin);
    if (released)
        record_field(&record, FIELD_LOCK_held_ns, released - held->had);
    record_field_if(&record, FIELD_LOCK_code, held->code);
    record_end(&record, held->stack);
}

void write_mutex(struct lane *lane, const struct frame *frame, uint64_t end)
{
    const struct held held = {.lock = frame->count, .begin = frame->begin, .had = frame->wait_begin, .code = frame->code,
                              .stack = frame->stack, .type = frame->type};
    mutex_write(lane, &held, end, end);
}

void on_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t mutex, const void *code)
{
    if (kind <= 0 || kind >= OMP_MUTEX_COUNT)
        return;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    struct held *pending = &lane->pending;
    pending->lock = mutex;
    pending->type = (uint8_t)kind;
    pending->code = (uintptr_t)code;
    pending->stack = lane_stack(lane);
    code_index(lane, pending->code, mutexes[kind].kind);
    pending->begin = now();
}

void on_mutex_acquired(int kind, uint64_t mutex, const void *code)
{
    if (kind <= 0 || kind >= OMP_MUTEX_COUNT)
        return;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    struct held held = lane->pending;
    held.had = now();
    if (UNLIKELY(held.lock != mutex || !held.begin)) /* nobody told of the asking */
        held = (struct held){.lock = mutex, .begin = held.had, .had = held.had, .code = (uintptr_t)code, .type = (uint8_t)kind};
    lane->pending.begin = 0;
    if (mutexes[kind].kind == SPAN_KIND_LOCK) {
        if (LIKELY(lane->held_count < LANE_LOCKS))
            lane->held[lane->held_count++] = held;
        else
            mutex_write(lane, &held, held.had, 0);
        return;
    }
    struct frame *frame = lane_push(lane, FRAME_MUTEX);
    frame->type = (uint8_t)kind;
    frame->owner = 0;
    frame->begin = held.begin;
    frame->wait_begin = held.had;
    frame->code = held.code;
    frame->count = mutex;
    frame->stack = held.stack;
}

static void lock_released(struct lane *lane, uint64_t mutex)
{
    uint64_t end = now();
    for (uint32_t i = lane->held_count; i-- > 0;) {
        if (lane->held[i].lock != mutex)
            continue;
        mutex_write(lane, &lane->held[i], lane->held[i].had, end);
        lane->held_count--;
        for (; i < lane->held_count; i++)
            lane->held[i] = lane->held[i + 1];
        return;
    }
    lane->unpaired++;
}

void on_mutex_released(int kind, uint64_t mutex, const void *code)
{
    if (kind <= 0 || kind >= OMP_MUTEX_COUNT)
        return;
    struct lane *lane = lane_get();
    if (UNLIKELY(!lane))
        return;
    if (mutexes[kind].kind == SPAN_KIND_LOCK) {
        lock_released(lane, mutex);
        return;
    }
    uint64_t end = now();
    const struct frame *frame = lane_pop(lane, FRAME_MUTEX, (unsigned)kind, 0);
    if (LIKELY(frame))
        write_mutex(lane, frame, end);
}

void mutex_flush(struct lane *lane)
{
    for (uint32_t i = 0; i < lane->held_count; i++)
        mutex_write(lane, &lane->held[i], lane->held[i].had, 0);
    lane->held_count = 0;
}
