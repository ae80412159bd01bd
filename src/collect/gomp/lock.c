/* SPDX-License-Identifier: MIT */
/* Critical, atomic and the locks of the OpenMP library: how long a thread waited, how long it held. */
#include "gomp.h"

void gomp_held_push(struct gomp_state *state, const struct gomp_held *held)
{
    if (LIKELY(state->held_count < GOMP_HELD))
        state->held[state->held_count] = *held;
    state->held_count++;
}

/* The innermost with this identity, taken out; false: it was not seen, or there was no room for it. */
bool gomp_held_pop(struct gomp_state *state, uint64_t lock, struct gomp_held *ret_held)
{
    if (UNLIKELY(state->held_count > GOMP_HELD)) {
        state->held_count--;
        return false;
    }
    for (uint32_t i = state->held_count; i-- > 0;) {
        if (state->held[i].lock != lock)
            continue;
        *ret_held = state->held[i];
        state->held_count--;
        for (; i < state->held_count; i++)
            state->held[i] = state->held[i + 1];
        return true;
    }
    return false;
}

struct shape {
    enum gomp_name type;
    unsigned span_kind;
    bool whole;                 /* the span lasts until the release, not only until it was had */
};
static const struct shape critical = {NAME_GOMP_CRITICAL, SPAN_KIND_CRITICAL, true};
static const struct shape atomic = {NAME_GOMP_ATOMIC, SPAN_KIND_CRITICAL, true};
static const struct shape lock_shape = {NAME_GOMP_LOCK, SPAN_KIND_LOCK, false};
static const struct shape nest_lock_shape = {NAME_GOMP_NEST_LOCK, SPAN_KIND_LOCK, false};

INLINE void had(struct gomp_state *state, uint64_t lock, uint64_t begin, const struct shape *shape, const void *caller)
{
    const struct gomp_held held = {.lock = lock, .begin = begin, .had = rt_now(), .code = gomp_code(caller, shape->span_kind, state), .stack = gomp_stack()};
    gomp_held_push(state, &held);
}

INLINE void released(struct gomp_state *state, uint64_t lock, const struct shape *shape)
{
    uint64_t end = rt_now();
    struct gomp_held held;
    if (UNLIKELY(!gomp_held_pop(state, lock, &held)))
        return;
    struct rt_span span;
    gomp_span(&span, shape->type, shape->span_kind, PAYLOAD_LOCK, held.begin, shape->whole ? end : held.had);
    span.stack = held.stack;
    rt_field(&span, FIELD_LOCK_lock, lock);
    rt_field(&span, FIELD_LOCK_type, gomp_name(shape->type));
    rt_field(&span, FIELD_LOCK_wait_ns, held.had - held.begin);
    rt_field(&span, FIELD_LOCK_held_ns, end - held.had);
    gomp_field_if(&span, FIELD_LOCK_code, held.code);
    rt_span(&span);
}

/* The unnamed ones are one a runtime: its tables stand for them. */
INLINE uint64_t unnamed(const struct gomp_api *api, unsigned which)
{
    return (uint64_t)(uintptr_t)api + which;
}

#define TAKE(name, parameters, arguments, lock, shape)                                                                 \
    GOMP_EXPORT void name parameters                                                                                   \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass)) {                                                                                \
            call.api->name arguments;                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        uint64_t begin = rt_now();                                                                                     \
        call.api->name arguments;                                                                                      \
        had(call.state, lock, begin, &shape, CALLER());                                                                \
    }
/* The record is written behind the release, so that nobody waits for it. */
#define GIVE(name, parameters, arguments, lock, shape)                                                                 \
    GOMP_EXPORT void name parameters                                                                                   \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass)) {                                                                                \
            call.api->name arguments;                                                                                  \
            return;                                                                                                    \
        }                                                                                                              \
        call.api->name arguments;                                                                                      \
        released(call.state, lock, &shape);                                                                            \
    }
#define TRY(name, shape)                                                                                               \
    GOMP_EXPORT int name(void *lock)                                                                                   \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass))                                                                                  \
            return call.api->name(lock);                                                                               \
        uint64_t begin = rt_now();                                                                                     \
        int result = call.api->name(lock);                                                                             \
        if (result)                                                                                                    \
            had(call.state, (uint64_t)(uintptr_t)lock, begin, &shape, CALLER());                                       \
        return result;                                                                                                 \
    }
#define ADDRESS(pointer) (uint64_t)(uintptr_t)(pointer)

TAKE(GOMP_critical_start, (void), (), unnamed(call.api, 0), critical)
GIVE(GOMP_critical_end, (void), (), unnamed(call.api, 0), critical)
TAKE(GOMP_critical_name_start, (void **name), (name), ADDRESS(name), critical)
GIVE(GOMP_critical_name_end, (void **name), (name), ADDRESS(name), critical)
TAKE(GOMP_atomic_start, (void), (), unnamed(call.api, 1), atomic)
GIVE(GOMP_atomic_end, (void), (), unnamed(call.api, 1), atomic)

TAKE(omp_set_lock, (void *lock), (lock), ADDRESS(lock), lock_shape)
GIVE(omp_unset_lock, (void *lock), (lock), ADDRESS(lock), lock_shape)
TRY(omp_test_lock, lock_shape)
TAKE(omp_set_nest_lock, (void *lock), (lock), ADDRESS(lock), nest_lock_shape)
GIVE(omp_unset_nest_lock, (void *lock), (lock), ADDRESS(lock), nest_lock_shape)
TRY(omp_test_nest_lock, nest_lock_shape)
/* Fortran's: the lock stands where the pointer to it points, or is pointed to from there; either way it is the same each time. */
TAKE(omp_set_lock_, (void *lock), (lock), ADDRESS(lock), lock_shape)
GIVE(omp_unset_lock_, (void *lock), (lock), ADDRESS(lock), lock_shape)
TRY(omp_test_lock_, lock_shape)
TAKE(omp_set_nest_lock_, (void *lock), (lock), ADDRESS(lock), nest_lock_shape)
GIVE(omp_unset_nest_lock_, (void *lock), (lock), ADDRESS(lock), nest_lock_shape)
TRY(omp_test_nest_lock_, nest_lock_shape)
