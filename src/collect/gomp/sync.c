/* SPDX-License-Identifier: MIT */
/* Barriers, waits for tasks, ordered blocks and cancellation. What GCC calls a barrier is also the end of a static loop or single. */
#include "gomp.h"

#include <stdarg.h>

INLINE uint64_t barrier_begin(struct gomp_state *state)
{
    uint64_t begin = rt_now();
    if (UNLIKELY(state->part.single_kind))
        gomp_single_end(state, begin);
    return begin;
}

GOMP_EXPORT void GOMP_barrier(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_barrier();
        return;
    }
    uint64_t begin = barrier_begin(call.state);
    call.api->GOMP_barrier();
    gomp_write_wait(call.state, NAME_GOMP_BARRIER, begin, begin, gomp_code(CALLER(), SPAN_KIND_BARRIER, call.state), gomp_stack());
}

GOMP_EXPORT bool GOMP_barrier_cancel(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass))
        return call.api->GOMP_barrier_cancel();
    uint64_t begin = barrier_begin(call.state);
    bool cancelled = call.api->GOMP_barrier_cancel();
    gomp_write_wait(call.state, NAME_GOMP_BARRIER, begin, begin, gomp_code(CALLER(), SPAN_KIND_BARRIER, call.state), gomp_stack());
    return cancelled;
}

/* The barrier at the end of a loop, sections or scope with reductions over tasks. */
GOMP_EXPORT void GOMP_workshare_task_reduction_unregister(bool cancelled)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_workshare_task_reduction_unregister(cancelled);
        return;
    }
    uint64_t begin = barrier_begin(call.state);
    call.api->GOMP_workshare_task_reduction_unregister(cancelled);
    if (!cancelled)
        gomp_write_wait(call.state, NAME_GOMP_REDUCTION, begin, begin, gomp_code(CALLER(), SPAN_KIND_BARRIER, call.state), gomp_stack());
}

GOMP_EXPORT void GOMP_taskwait(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_taskwait();
        return;
    }
    uint64_t begin = rt_now();
    call.api->GOMP_taskwait();
    gomp_write_wait(call.state, NAME_GOMP_TASKWAIT, begin, begin, gomp_code(CALLER(), SPAN_KIND_TASKWAIT, call.state), gomp_stack());
}

GOMP_EXPORT void GOMP_taskwait_depend(void **depend)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_taskwait_depend(depend);
        return;
    }
    uint64_t begin = rt_now();
    call.api->GOMP_taskwait_depend(depend);
    gomp_write_wait(call.state, NAME_GOMP_TASKWAIT, begin, begin, gomp_code(CALLER(), SPAN_KIND_TASKWAIT, call.state), gomp_stack());
}

/* These two wait for nothing. */
GOMP_EXPORT void GOMP_taskwait_depend_nowait(void **depend)
{
    gomp_call(CALLER()).api->GOMP_taskwait_depend_nowait(depend);
}

GOMP_EXPORT void GOMP_taskyield(void)
{
    gomp_call(CALLER()).api->GOMP_taskyield();
}

GOMP_EXPORT void GOMP_taskgroup_start(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (LIKELY(!call.api->pass)) {
        struct gomp_state *state = call.state;
        if (state->group_count < GOMP_GROUPS)
            state->groups[state->group_count] = (struct gomp_held){.begin = rt_now(), .code = gomp_code(CALLER(), SPAN_KIND_TASKGROUP, state), .stack = gomp_stack()};
        state->group_count++;
    }
    call.api->GOMP_taskgroup_start();
}

GOMP_EXPORT void GOMP_taskgroup_end(void)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_state *state = call.state;
    if (UNLIKELY(call.api->pass || !state->group_count)) {
        call.api->GOMP_taskgroup_end();
        return;
    }
    uint64_t begin = rt_now();
    call.api->GOMP_taskgroup_end();
    uint32_t index = --state->group_count;
    if (LIKELY(index < GOMP_GROUPS))
        gomp_write_wait(state, NAME_GOMP_TASKGROUP, state->groups[index].begin, begin, state->groups[index].code, state->groups[index].stack);
}

/* A wait for the turn of an iteration. */
static void write_turn(struct gomp_state *state, enum gomp_name type, const struct gomp_held *turn, uint64_t end)
{
    struct rt_span span;
    gomp_span(&span, NAME_GOMP_ORDERED, SPAN_KIND_ORDERED, PAYLOAD_LOCK, turn->begin, end);
    span.stack = turn->stack;
    gomp_field_if(&span, FIELD_LOCK_lock, state->part.region); /* one order a loop, and a loop at a time in a region */
    rt_field(&span, FIELD_LOCK_type, gomp_name(type));
    rt_field(&span, FIELD_LOCK_wait_ns, turn->had - turn->begin);
    if (end != turn->had)
        rt_field(&span, FIELD_LOCK_held_ns, end - turn->had);
    gomp_field_if(&span, FIELD_LOCK_code, turn->code);
    rt_span(&span);
}

GOMP_EXPORT void GOMP_ordered_start(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_ordered_start();
        return;
    }
    struct gomp_state *state = call.state;
    struct gomp_held turn = {.begin = rt_now(), .code = gomp_code(CALLER(), SPAN_KIND_ORDERED, state), .stack = gomp_stack()};
    call.api->GOMP_ordered_start();
    turn.had = rt_now();
    gomp_held_push(state, &turn);
}

GOMP_EXPORT void GOMP_ordered_end(void)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_held turn;
    call.api->GOMP_ordered_end();
    if (LIKELY(!call.api->pass) && gomp_held_pop(call.state, 0, &turn))
        write_turn(call.state, NAME_GOMP_ORDERED, &turn, rt_now());
}

GOMP_EXPORT void GOMP_doacross_post(long *counts)
{
    gomp_call(CALLER()).api->GOMP_doacross_post(counts);
}

GOMP_EXPORT void GOMP_doacross_ull_post(ull *counts)
{
    gomp_call(CALLER()).api->GOMP_doacross_ull_post(counts);
}

/* libgomp reads as many numbers as the loop has dimensions; those of a loop that we haven't seen begin may be all of these. */
#define MORE(v) v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13], v[14]
enum { DIMENSIONS = 16 };

INLINE unsigned dimensions(const struct gomp_state *state)
{
    unsigned count = state->part.work.name ? state->part.work.dimensions : 0;
    return count && count < DIMENSIONS ? count : DIMENSIONS;
}

/* Inlined: the caller's frame stays the innermost of the stack. */
INLINE void doacross_waited(const struct gomp_call *call, struct gomp_held *turn, const void *caller)
{
    turn->had = rt_now();
    if (call->api->pass)
        return;
    turn->stack = gomp_stack();
    gomp_code(caller, SPAN_KIND_ORDERED, call->state);
    write_turn(call->state, NAME_GOMP_DOACROSS, turn, turn->had);
}

GOMP_EXPORT void GOMP_doacross_wait(long first, ...)
{
    struct gomp_call call = gomp_call(CALLER());
    long more[DIMENSIONS - 1] = {0};
    va_list list;
    va_start(list, first);
    for (unsigned i = 0; i + 1 < dimensions(call.state); i++)
        more[i] = va_arg(list, long);
    va_end(list);
    struct gomp_held turn = {.begin = rt_now(), .code = (uint64_t)(uintptr_t)CALLER()};
    call.api->GOMP_doacross_wait(first, MORE(more));
    doacross_waited(&call, &turn, CALLER());
}

GOMP_EXPORT void GOMP_doacross_ull_wait(ull first, ...)
{
    struct gomp_call call = gomp_call(CALLER());
    ull more[DIMENSIONS - 1] = {0};
    va_list list;
    va_start(list, first);
    for (unsigned i = 0; i + 1 < dimensions(call.state); i++)
        more[i] = va_arg(list, ull);
    va_end(list);
    struct gomp_held turn = {.begin = rt_now(), .code = (uint64_t)(uintptr_t)CALLER()};
    call.api->GOMP_doacross_ull_wait(first, MORE(more));
    doacross_waited(&call, &turn, CALLER());
}

GOMP_EXPORT bool GOMP_cancel(int which, bool really)
{
    struct gomp_call call = gomp_call(CALLER());
    bool cancelled = call.api->GOMP_cancel(which, really);
    if (cancelled && really && !call.api->pass)
        rt_instant(WIRE_LAYER_OPENMP, gomp_name(NAME_GOMP_CANCEL), 0);
    return cancelled;
}

GOMP_EXPORT bool GOMP_cancellation_point(int which)
{
    return gomp_call(CALLER()).api->GOMP_cancellation_point(which);
}
