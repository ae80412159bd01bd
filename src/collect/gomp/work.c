/* SPDX-License-Identifier: MIT */
/* Loops, sections, single and scope as a thread sees them: begun by a call, ended by a call or by the barrier behind them. */
#include "gomp.h"

void gomp_work_begin(struct gomp_state *state, const struct gomp_work *work)
{
    if (UNLIKELY(state->part.work.name))
        gomp_work_end(state);
    if (UNLIKELY(state->part.single_kind))
        gomp_single_end(state, 0);
    state->part.work = *work;
}

void gomp_work_end(struct gomp_state *state)
{
    struct gomp_work *work = &state->part.work;
    struct rt_span span;
    if (UNLIKELY(!work->name))
        return;
    gomp_span(&span, work->name, work->kind, PAYLOAD_WORK, work->begin, rt_now());
    span.stack = work->stack;
    gomp_field_if(&span, FIELD_WORK_region, state->part.region);
    gomp_field_if(&span, FIELD_WORK_iterations, work->iterations);
    gomp_field_if(&span, FIELD_WORK_chunk, work->chunk);
    if (work->schedule)
        rt_field(&span, FIELD_WORK_schedule, gomp_name(work->schedule));
    gomp_field_if(&span, FIELD_WORK_code, work->code);
    rt_field(&span, FIELD_WORK_iterations_done, work->done);
    rt_span(&span);
    work->name = 0;
}

/* end 0: nothing said when the block ended (nowait): what is known is the call that began it. */
void gomp_single_end(struct gomp_state *state, uint64_t end)
{
    struct gomp_part *part = &state->part;
    struct rt_span span;
    enum gomp_name name = part->single_kind == SPAN_KIND_SINGLE ? NAME_GOMP_SINGLE : NAME_GOMP_SCOPE;
    gomp_span(&span, name, part->single_kind, PAYLOAD_WORK, part->single_begin, end ? end : part->single_begin);
    span.stack = part->single_stack;
    gomp_field_if(&span, FIELD_WORK_region, part->region);
    gomp_field_if(&span, FIELD_WORK_code, part->single_code);
    rt_span(&span);
    part->single_kind = 0;
}

static void single_begin(struct gomp_state *state, unsigned kind, uint64_t begin, const void *caller, uint32_t stack)
{
    struct gomp_part *part = &state->part;
    if (UNLIKELY(part->single_kind))
        gomp_single_end(state, 0);
    part->single_kind = kind;
    part->single_begin = begin;
    part->single_stack = stack;
    part->single_code = gomp_code(caller, kind, state);
}

GOMP_EXPORT bool GOMP_single_start(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass))
        return call.api->GOMP_single_start();
    uint64_t begin = rt_now();
    bool mine = call.api->GOMP_single_start();
    if (mine)
        single_begin(call.state, SPAN_KIND_SINGLE, begin, CALLER(), gomp_stack());
    return mine;
}

/* single with copyprivate: NULL for the thread that runs the block, which says by copy_end when it has; the others wait. */
GOMP_EXPORT void *GOMP_single_copy_start(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass))
        return call.api->GOMP_single_copy_start();
    uint64_t begin = rt_now();
    void *data = call.api->GOMP_single_copy_start();
    if (!data)
        single_begin(call.state, SPAN_KIND_SINGLE, begin, CALLER(), gomp_stack());
    else
        gomp_write_wait(call.state, NAME_GOMP_COPYPRIVATE, begin, begin, gomp_code(CALLER(), SPAN_KIND_BARRIER, call.state), gomp_stack());
    return data;
}

GOMP_EXPORT void GOMP_single_copy_end(void *data)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_single_copy_end(data);
        return;
    }
    uint64_t begin = rt_now();
    if (call.state->part.single_kind)
        gomp_single_end(call.state, begin);
    call.api->GOMP_single_copy_end(data);
    gomp_write_wait(call.state, NAME_GOMP_COPYPRIVATE, begin, begin, gomp_code(CALLER(), SPAN_KIND_BARRIER, call.state), gomp_stack());
}

GOMP_EXPORT void GOMP_scope_start(uintptr_t *reductions)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_scope_start(reductions);
        return;
    }
    uint64_t begin = rt_now();
    call.api->GOMP_scope_start(reductions);
    single_begin(call.state, SPAN_KIND_WORKSHARE, begin, CALLER(), gomp_stack());
}

/* sections */

static void sections_begin(struct gomp_state *state, uint64_t begin, unsigned count, unsigned section, const void *caller, uint32_t stack)
{
    struct gomp_work work = {.begin = begin, .iterations = count, .done = section != 0, .name = NAME_GOMP_SECTIONS, .kind = SPAN_KIND_SECTIONS, .stack = stack};
    work.code = gomp_code(caller, SPAN_KIND_SECTIONS, state);
    gomp_work_begin(state, &work);
}

GOMP_EXPORT unsigned GOMP_sections_start(unsigned count)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass))
        return call.api->GOMP_sections_start(count);
    uint64_t begin = rt_now();
    unsigned section = call.api->GOMP_sections_start(count);
    sections_begin(call.state, begin, count, section, CALLER(), gomp_stack());
    return section;
}

GOMP_EXPORT unsigned GOMP_sections2_start(unsigned count, uintptr_t *reductions, void **memory)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass))
        return call.api->GOMP_sections2_start(count, reductions, memory);
    uint64_t begin = rt_now();
    unsigned section = call.api->GOMP_sections2_start(count, reductions, memory);
    sections_begin(call.state, begin, count, section, CALLER(), gomp_stack());
    return section;
}

GOMP_EXPORT unsigned GOMP_sections_next(void)
{
    struct gomp_call call = gomp_call(CALLER());
    if (UNLIKELY(call.api->pass))
        return call.api->GOMP_sections_next();
    unsigned section = call.api->GOMP_sections_next();
    call.state->part.work.done += section != 0;
    return section;
}

static void sections_of_region(struct gomp_region *region, unsigned count)
{
    region->work = (struct gomp_work){
        .iterations = count,
        .code = region->record.code,
        .stack = region->record.header.value,
        .name = NAME_GOMP_SECTIONS,
        .kind = SPAN_KIND_SECTIONS,
    };
}

GOMP_EXPORT void GOMP_parallel_sections(gomp_function function, void *data, unsigned threads, unsigned count, unsigned flags)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_region region;
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_parallel_sections(function, data, threads, count, flags);
        return;
    }
    gomp_region_prepare(call, &region, function, data, threads, CALLER(), gomp_stack());
    sections_of_region(&region, count);
    call.api->GOMP_parallel_sections(gomp_region_thread, &region, threads, count, flags);
    gomp_region_finish(&region);
}

GOMP_EXPORT void GOMP_parallel_sections_start(gomp_function function, void *data, unsigned threads, unsigned count)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_region *region = call.api->pass ? 0 : gomp_region_start(call, function, data, threads, CALLER(), gomp_stack());
    if (UNLIKELY(!region)) {
        call.api->GOMP_parallel_sections_start(function, data, threads, count);
        return;
    }
    sections_of_region(region, count);
    call.api->GOMP_parallel_sections_start(gomp_region_thread, region, threads, count);
    gomp_region_started(call, region);
}

/* The ends: the barrier behind a loop or sections is part of the call. */

INLINE uint64_t work_ends(struct gomp_state *state)
{
    gomp_work_end(state);
    return rt_now();
}

#define END_WITH_BARRIER(name)                                                                                         \
    GOMP_EXPORT void name(void)                                                                                        \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass)) {                                                                                \
            call.api->name();                                                                                          \
            return;                                                                                                    \
        }                                                                                                              \
        uint64_t begin = work_ends(call.state);                                                                        \
        call.api->name();                                                                                              \
        gomp_write_wait(call.state, NAME_GOMP_WORKSHARE, begin, begin, gomp_code(CALLER(), SPAN_KIND_BARRIER, call.state), gomp_stack()); \
    }
#define END_WITH_CANCEL(name)                                                                                          \
    GOMP_EXPORT bool name(void)                                                                                        \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (UNLIKELY(call.api->pass))                                                                                  \
            return call.api->name();                                                                                   \
        uint64_t begin = work_ends(call.state);                                                                        \
        bool cancelled = call.api->name();                                                                             \
        gomp_write_wait(call.state, NAME_GOMP_WORKSHARE, begin, begin, gomp_code(CALLER(), SPAN_KIND_BARRIER, call.state), gomp_stack()); \
        return cancelled;                                                                                              \
    }
#define END_NOWAIT(name)                                                                                               \
    GOMP_EXPORT void name(void)                                                                                        \
    {                                                                                                                  \
        struct gomp_call call = gomp_call(CALLER());                                                                   \
        if (LIKELY(!call.api->pass))                                                                                   \
            gomp_work_end(call.state);                                                                                 \
        call.api->name();                                                                                              \
    }
END_WITH_BARRIER(GOMP_loop_end)
END_WITH_BARRIER(GOMP_sections_end)
END_WITH_CANCEL(GOMP_loop_end_cancel)
END_WITH_CANCEL(GOMP_sections_end_cancel)
END_NOWAIT(GOMP_loop_end_nowait)
END_NOWAIT(GOMP_sections_end_nowait)
