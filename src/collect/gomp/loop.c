/* SPDX-License-Identifier: MIT */
/*
 * Loops whose chunks libgomp hands out: a call that begins the loop and brings the first chunk, calls for the next ones. Each is
 * there for long and for unsigned long long. A span covers a thread's part of the loop and says how many iterations it was
 * handed; loops with a static schedule are shared out by the compiler's own code and never get here.
 */
#include "gomp.h"

/* How many steps lead from start to end. */
INLINE uint64_t steps(uint64_t start, uint64_t end, int64_t step)
{
    if (LIKELY(step == 1))
        return end - start;
    if (step == 0)
        return 0;
    return step > 0 ? (end - start + (uint64_t)step - 1) / (uint64_t)step : (start - end + (0 - (uint64_t)step) - 1) / (0 - (uint64_t)step);
}

/* Of the whole loop, which may be empty. */
INLINE uint64_t signed_steps(long start, long end, long step)
{
    return (step > 0 ? start < end : end < start) ? steps((uint64_t)start, (uint64_t)end, step) : 0;
}
INLINE uint64_t unsigned_steps(bool up, ull start, ull end, ull step)
{
    return (up ? start < end : end < start) ? steps(start, end, (int64_t)step) : 0;
}

INLINE void count_chunk(struct gomp_work *work, bool more, uint64_t start, uint64_t end)
{
    if (LIKELY(more))
        work->done += steps(start, end, work->step);
}

struct loop {
    enum gomp_name schedule;
    uint64_t iterations, chunk;
    int64_t step;
    unsigned dimensions;
};

static void loop_begin(struct gomp_state *state, uint64_t begin, const struct loop *loop, const void *caller, uint32_t stack)
{
    struct gomp_work work = {
        .begin = begin,
        .iterations = loop->iterations,
        .chunk = loop->chunk,
        .step = loop->step,
        .name = NAME_GOMP_LOOP,
        .schedule = (uint16_t)loop->schedule,
        .dimensions = (uint16_t)loop->dimensions,
        .kind = SPAN_KIND_LOOP,
        .stack = stack,
    };
    work.code = gomp_code(caller, SPAN_KIND_LOOP, state);
    gomp_work_begin(state, &work);
}

/* The `schedule` that GOMP_loop_start is given: the top bit says that it need not be monotonic. */
static enum gomp_name schedule_name(long schedule, bool ordered)
{
    static const uint8_t names[][2] = {
        {NAME_GOMP_RUNTIME, NAME_GOMP_ORDERED_RUNTIME}, {NAME_GOMP_STATIC, NAME_GOMP_ORDERED_STATIC}, {NAME_GOMP_DYNAMIC, NAME_GOMP_ORDERED_DYNAMIC},
        {NAME_GOMP_GUIDED, NAME_GOMP_ORDERED_GUIDED},   {NAME_GOMP_AUTO, NAME_GOMP_AUTO},
    };
    unsigned long kind = (unsigned long)schedule & 0x7ffffffful;
    return kind < sizeof names / sizeof names[0] ? names[kind][ordered] : NAME_GOMP_RUNTIME;
}

/* One function a row: START(name, its parameters, the arguments for the real one, a struct loop). first and last are the chunk's bounds. */
#define START(name, parameters, arguments, ...)                                                                        \
    GOMP_EXPORT bool name parameters                                                                                   \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass))                                                                                  \
            return call.api->name arguments;                                                                           \
        uint64_t begin = rt_now();                                                                                     \
        bool more = call.api->name arguments;                                                                          \
        const struct loop loop = {__VA_ARGS__};                                                                        \
        loop_begin(call.state, begin, &loop, CALLER(), gomp_stack());                                                  \
        if (first)                                                                                                     \
            count_chunk(&call.state->part.work, more, (uint64_t)*first, (uint64_t)*last);                              \
        return more;                                                                                                   \
    }
#define NEXT(name, TYPE)                                                                                               \
    GOMP_EXPORT bool name(TYPE *first, TYPE *last)                                                                     \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass))                                                                                  \
            return call.api->name(first, last);                                                                        \
        bool more = call.api->name(first, last);                                                                       \
        count_chunk(&call.state->part.work, more, (uint64_t)*first, (uint64_t)*last);                                  \
        return more;                                                                                                   \
    }
#define CHUNKED(part, schedule)                                                                                        \
    START(GOMP_loop_##part##_start, (long start, long end, long step, long chunk, long *first, long *last),            \
          (start, end, step, chunk, first, last), schedule, signed_steps(start, end, step), (uint64_t)chunk, step, 0)  \
    START(GOMP_loop_ull_##part##_start, (bool up, ull start, ull end, ull step, ull chunk, ull *first, ull *last),     \
          (up, start, end, step, chunk, first, last), schedule, unsigned_steps(up, start, end, step), chunk, (int64_t)step, 0) \
    NEXT(GOMP_loop_##part##_next, long)                                                                                \
    NEXT(GOMP_loop_ull_##part##_next, ull)
#define FREE(part, schedule)                                                                                           \
    START(GOMP_loop_##part##_start, (long start, long end, long step, long *first, long *last),                        \
          (start, end, step, first, last), schedule, signed_steps(start, end, step), 0, step, 0)                       \
    START(GOMP_loop_ull_##part##_start, (bool up, ull start, ull end, ull step, ull *first, ull *last),                \
          (up, start, end, step, first, last), schedule, unsigned_steps(up, start, end, step), 0, (int64_t)step, 0)    \
    NEXT(GOMP_loop_##part##_next, long)                                                                                \
    NEXT(GOMP_loop_ull_##part##_next, ull)
CHUNKED(static, NAME_GOMP_STATIC)
CHUNKED(dynamic, NAME_GOMP_DYNAMIC)
CHUNKED(guided, NAME_GOMP_GUIDED)
CHUNKED(nonmonotonic_dynamic, NAME_GOMP_DYNAMIC)
CHUNKED(nonmonotonic_guided, NAME_GOMP_GUIDED)
CHUNKED(ordered_static, NAME_GOMP_ORDERED_STATIC)
CHUNKED(ordered_dynamic, NAME_GOMP_ORDERED_DYNAMIC)
CHUNKED(ordered_guided, NAME_GOMP_ORDERED_GUIDED)
FREE(runtime, NAME_GOMP_RUNTIME)
FREE(nonmonotonic_runtime, NAME_GOMP_RUNTIME)
FREE(maybe_nonmonotonic_runtime, NAME_GOMP_RUNTIME)
FREE(ordered_runtime, NAME_GOMP_ORDERED_RUNTIME)

/* Loops whose iterations depend on earlier ones: the outermost of `count` nested ones is shared out, from 0 to counts[0]. */
#define DOACROSS(part, schedule)                                                                                       \
    START(GOMP_loop_doacross_##part##_start, (unsigned count, long *counts, long chunk, long *first, long *last),      \
          (count, counts, chunk, first, last), schedule, (uint64_t)counts[0], (uint64_t)chunk, 1, count)               \
    START(GOMP_loop_ull_doacross_##part##_start, (unsigned count, ull *counts, ull chunk, ull *first, ull *last),      \
          (count, counts, chunk, first, last), schedule, counts[0], chunk, 1, count)
DOACROSS(static, NAME_GOMP_STATIC)
DOACROSS(dynamic, NAME_GOMP_DYNAMIC)
DOACROSS(guided, NAME_GOMP_GUIDED)
START(GOMP_loop_doacross_runtime_start, (unsigned count, long *counts, long *first, long *last), (count, counts, first, last),
      NAME_GOMP_RUNTIME, (uint64_t)counts[0], 0, 1, count)
START(GOMP_loop_ull_doacross_runtime_start, (unsigned count, ull *counts, ull *first, ull *last), (count, counts, first, last),
      NAME_GOMP_RUNTIME, counts[0], 0, 1, count)

/* Since GCC 9, for loops with reductions over tasks and the like. first may be NULL: then the caller shares out by itself. */
#define GENERAL(part, ordered)                                                                                         \
    START(GOMP_loop_##part,                                                                                            \
          (long start, long end, long step, long schedule, long chunk, long *first, long *last, uintptr_t *reductions, void **memory), \
          (start, end, step, schedule, chunk, first, last, reductions, memory),                                        \
          schedule_name(schedule, ordered), signed_steps(start, end, step), (uint64_t)chunk, step, 0)                  \
    START(GOMP_loop_ull_##part,                                                                                        \
          (bool up, ull start, ull end, ull step, long schedule, ull chunk, ull *first, ull *last, uintptr_t *reductions, void **memory), \
          (up, start, end, step, schedule, chunk, first, last, reductions, memory),                                    \
          schedule_name(schedule, ordered), unsigned_steps(up, start, end, step), chunk, (int64_t)step, 0)
GENERAL(start, false)
GENERAL(ordered_start, true)
START(GOMP_loop_doacross_start,
      (unsigned count, long *counts, long schedule, long chunk, long *first, long *last, uintptr_t *reductions, void **memory),
      (count, counts, schedule, chunk, first, last, reductions, memory), schedule_name(schedule, false), (uint64_t)counts[0], (uint64_t)chunk, 1, count)
START(GOMP_loop_ull_doacross_start,
      (unsigned count, ull *counts, long schedule, ull chunk, ull *first, ull *last, uintptr_t *reductions, void **memory),
      (count, counts, schedule, chunk, first, last, reductions, memory), schedule_name(schedule, false), counts[0], chunk, 1, count)

/* Regions that are a loop as a whole: each thread begins with the loop. */

static void loop_of_region(struct gomp_region *region, enum gomp_name schedule, long start, long end, long step, long chunk)
{
    region->work = (struct gomp_work){
        .iterations = signed_steps(start, end, step),
        .chunk = (uint64_t)chunk,
        .step = step,
        .code = region->record.code,
        .stack = region->record.header.value,
        .name = NAME_GOMP_LOOP,
        .schedule = (uint16_t)schedule,
        .kind = SPAN_KIND_LOOP,
    };
}

#define PARALLEL_LOOP(name, schedule, chunk_, parameters, arguments)                                                   \
    GOMP_EXPORT void GOMP_parallel_loop_##name(gomp_function function, void *data, unsigned threads, long start, long end, long step parameters) \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        struct gomp_region region;                                                                                     \
        if (UNLIKELY(call.api->pass)) {                                                                                \
            call.api->GOMP_parallel_loop_##name(function, data, threads, start, end, step arguments);                  \
            return;                                                                                                    \
        }                                                                                                              \
        gomp_region_prepare(call, &region, function, data, threads, CALLER(), gomp_stack());                           \
        loop_of_region(&region, schedule, start, end, step, chunk_);                                                   \
        call.api->GOMP_parallel_loop_##name(gomp_region_thread, &region, threads, start, end, step arguments);         \
        gomp_region_finish(&region);                                                                                   \
    }
#define PARALLEL_LOOP_START(name, schedule, chunk_, parameters, arguments)                                             \
    GOMP_EXPORT void GOMP_parallel_loop_##name##_start(gomp_function function, void *data, unsigned threads, long start, long end, long step parameters) \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        struct gomp_region *region = call.api->pass ? 0 : gomp_region_start(call, function, data, threads, CALLER(), gomp_stack()); \
        if (UNLIKELY(!region)) {                                                                                       \
            call.api->GOMP_parallel_loop_##name##_start(function, data, threads, start, end, step arguments);          \
            return;                                                                                                    \
        }                                                                                                              \
        loop_of_region(region, schedule, start, end, step, chunk_);                                                    \
        call.api->GOMP_parallel_loop_##name##_start(gomp_region_thread, region, threads, start, end, step arguments);  \
        gomp_region_started(call, region);                                                                             \
    }
#define COMMA ,
PARALLEL_LOOP(static, NAME_GOMP_STATIC, chunk, COMMA long chunk COMMA unsigned flags, COMMA chunk COMMA flags)
PARALLEL_LOOP(dynamic, NAME_GOMP_DYNAMIC, chunk, COMMA long chunk COMMA unsigned flags, COMMA chunk COMMA flags)
PARALLEL_LOOP(guided, NAME_GOMP_GUIDED, chunk, COMMA long chunk COMMA unsigned flags, COMMA chunk COMMA flags)
PARALLEL_LOOP(nonmonotonic_dynamic, NAME_GOMP_DYNAMIC, chunk, COMMA long chunk COMMA unsigned flags, COMMA chunk COMMA flags)
PARALLEL_LOOP(nonmonotonic_guided, NAME_GOMP_GUIDED, chunk, COMMA long chunk COMMA unsigned flags, COMMA chunk COMMA flags)
PARALLEL_LOOP(runtime, NAME_GOMP_RUNTIME, 0, COMMA unsigned flags, COMMA flags)
PARALLEL_LOOP(nonmonotonic_runtime, NAME_GOMP_RUNTIME, 0, COMMA unsigned flags, COMMA flags)
PARALLEL_LOOP(maybe_nonmonotonic_runtime, NAME_GOMP_RUNTIME, 0, COMMA unsigned flags, COMMA flags)
PARALLEL_LOOP_START(static, NAME_GOMP_STATIC, chunk, COMMA long chunk, COMMA chunk)
PARALLEL_LOOP_START(dynamic, NAME_GOMP_DYNAMIC, chunk, COMMA long chunk, COMMA chunk)
PARALLEL_LOOP_START(guided, NAME_GOMP_GUIDED, chunk, COMMA long chunk, COMMA chunk)
PARALLEL_LOOP_START(runtime, NAME_GOMP_RUNTIME, 0, , )
