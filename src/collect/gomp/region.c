/* SPDX-License-Identifier: MIT */
/*
 * Parallel regions and host teams. libgomp is handed gomp_region_thread and a struct gomp_region in place of the outlined
 * function and its data. The encountering thread is the team's thread 0: its part goes into the region's own record; the others
 * write a part each when their work ends, for they may never be heard of again.
 */
#include "gomp.h"

enum { STARTED = 128 };
static struct gomp_region started[STARTED]; /* of GOMP_parallel_start, which returns before the region ends */
static __thread struct gomp_region *innermost __attribute__((tls_model("initial-exec")));
static __thread uint32_t unseen __attribute__((tls_model("initial-exec"))); /* started without a place in the array */

void gomp_region_prepare(struct gomp_call call, struct gomp_region *region, gomp_function function, void *data, unsigned threads, const void *caller, uint32_t stack)
{
    struct gomp_state *state = call.state;
    region->reductions = 0;
    region->function = function;
    region->data = data;
    region->api = call.api;
    region->work.name = 0;
    struct wire_gomp_region *record = &region->record;
    record->header.kind = WIRE_GOMP_REGION;
    record->header.words = sizeof *record / 8;
    record->header.value = stack;
    record->begin = rt_now();
    record->work_begin = 0;
    record->region = gomp_id(state);
    record->code = gomp_code(caller, SPAN_KIND_PARALLEL, state);
    record->task = state->part.task;
    record->own_task = 0;
    record->requested = threads ? threads : (uint32_t)call.api->omp_get_max_threads();
    record->threads = 0;
    record->level = 0;
    record->teams = 0;
    record->reserved = 0;
    record->sequence = 0;
}

void gomp_region_finish(struct gomp_region *region)
{
    region->record.end = rt_now();
    if (!region->record.work_begin) { /* cancelled before it began, or nothing ran it */
        region->record.work_begin = region->record.work_end = region->record.end;
        region->record.threads = 0;
    }
    rt_place place = rt_open(sizeof region->record);
    if (place.record)
        *(struct wire_gomp_region *)place.record = region->record;
    rt_close(place);
}

INLINE void part_begin(struct gomp_state *state, const struct gomp_region *region, uint64_t begin)
{
    state->part.region = region->record.region;
    state->part.region_code = region->record.code;
    state->part.task = 0;
    state->part.sequence = 0;
    state->part.single_kind = 0;
    state->part.work.name = 0;
    if (region->work.name) {
        state->part.work = region->work;
        state->part.work.begin = begin;
    }
}

INLINE void part_end(struct gomp_state *state)
{
    if (UNLIKELY(state->part.work.name))
        gomp_work_end(state);
    if (UNLIKELY(state->part.single_kind))
        gomp_single_end(state, 0);
}

static void part_write(const struct gomp_state *state, const struct gomp_region *region, uint64_t begin, uint64_t end, uint32_t thread, uint32_t threads)
{
    rt_place place = rt_open(sizeof(struct wire_gomp_part));
    if (!place.record)
        return;
    *(struct wire_gomp_part *)place.record = (struct wire_gomp_part){
        .header = {WIRE_GOMP_PART, sizeof(struct wire_gomp_part) / 8, state->part.sequence},
        .begin = begin,
        .end = end,
        .region = region->record.region,
        .code = region->record.code,
        .task = state->part.task,
        .thread = thread,
        .threads = threads,
    };
    rt_close(place);
}

void gomp_region_thread(void *argument)
{
    struct gomp_region *region = argument;
    struct gomp_state *state = &gomp_self;
    const struct gomp_part saved = state->part;
    uint32_t thread = (uint32_t)region->api->omp_get_thread_num(), threads = (uint32_t)region->api->omp_get_num_threads();
    if (thread == 0)
        region->record.level = (uint16_t)region->api->omp_get_level();
    uint64_t begin = rt_now();
    part_begin(state, region, begin);
    region->function(region->data);
    part_end(state);
    uint64_t end = rt_now();
    if (thread == 0) {
        region->record.work_begin = begin;
        region->record.work_end = end;
        region->record.threads = threads;
        region->record.own_task = state->part.task;
        region->record.sequence = state->part.sequence;
    } else {
        part_write(state, region, begin, end, thread, threads);
    }
    state->part = saved;
}

GOMP_EXPORT void GOMP_parallel(gomp_function function, void *data, unsigned threads, unsigned flags)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_region region;
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_parallel(function, data, threads, flags);
        return;
    }
    gomp_region_prepare(call, &region, function, data, threads, CALLER(), gomp_stack());
    call.api->GOMP_parallel(gomp_region_thread, &region, threads, flags);
    gomp_region_finish(&region);
}

GOMP_EXPORT unsigned GOMP_parallel_reductions(gomp_function function, void *data, unsigned threads, unsigned flags)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_region region;
    if (UNLIKELY(call.api->pass))
        return call.api->GOMP_parallel_reductions(function, data, threads, flags);
    gomp_region_prepare(call, &region, function, data, threads, CALLER(), gomp_stack());
    region.reductions = *(void **)data;
    unsigned result = call.api->GOMP_parallel_reductions(gomp_region_thread, &region, threads, flags);
    gomp_region_finish(&region);
    return result;
}

/* The older pair: the caller runs the outlined function itself between the two. */
struct gomp_region *gomp_region_start(struct gomp_call call, gomp_function function, void *data, unsigned threads, const void *caller, uint32_t stack)
{
    for (int i = 0; i < STARTED; i++) {
        uint32_t expected = 0;
        struct gomp_region *region = &started[i];
        if (__atomic_load_n(&region->used, __ATOMIC_ACQUIRE) ||
            !__atomic_compare_exchange_n(&region->used, &expected, 1, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            continue;
        gomp_region_prepare(call, region, function, data, threads, caller, stack);
        region->outer = innermost;
        innermost = region;
        return region;
    }
    unseen++;
    return 0;
}

/* Behind the real start: from here on thread 0 works. */
void gomp_region_started(struct gomp_call call, struct gomp_region *region)
{
    struct gomp_state *state = call.state;
    region->saved = state->part;
    region->record.threads = (uint32_t)call.api->omp_get_num_threads();
    region->record.level = (uint16_t)call.api->omp_get_level();
    region->record.work_begin = rt_now();
    part_begin(state, region, region->record.work_begin);
}

GOMP_EXPORT void GOMP_parallel_start(gomp_function function, void *data, unsigned threads)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_region *region = call.api->pass ? 0 : gomp_region_start(call, function, data, threads, CALLER(), gomp_stack());
    if (UNLIKELY(!region)) {
        call.api->GOMP_parallel_start(function, data, threads);
        return;
    }
    call.api->GOMP_parallel_start(gomp_region_thread, region, threads);
    gomp_region_started(call, region);
}

GOMP_EXPORT void GOMP_parallel_end(void)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_state *state = call.state;
    struct gomp_region *region = innermost;
    if (UNLIKELY(call.api->pass || unseen || !region)) {
        unseen -= unseen != 0;
        call.api->GOMP_parallel_end();
        return;
    }
    part_end(state);
    region->record.work_end = rt_now();
    region->record.own_task = state->part.task;
    region->record.sequence = state->part.sequence;
    state->part = region->saved;
    innermost = region->outer;
    call.api->GOMP_parallel_end();
    gomp_region_finish(region);
    __atomic_store_n(&region->used, 0u, __ATOMIC_RELEASE);
}

/* Host teams: libgomp runs them one after the other on the calling thread. */
struct teams {
    struct gomp_region *region;
    uint32_t team, teams;
};

static void team_run(void *argument)
{
    struct teams *teams = argument;
    struct gomp_region *region = teams->region;
    struct gomp_state *state = &gomp_self;
    const struct gomp_part saved = state->part;
    uint64_t begin = rt_now();
    part_begin(state, region, begin);
    region->function(region->data);
    part_end(state);
    part_write(state, region, begin, rt_now(), teams->team++, teams->teams);
    state->part = saved;
}

GOMP_EXPORT void GOMP_teams_reg(gomp_function function, void *data, unsigned count, unsigned limit, unsigned flags)
{
    struct gomp_call call = gomp_call(CALLER());
    struct gomp_region region;
    if (UNLIKELY(call.api->pass)) {
        call.api->GOMP_teams_reg(function, data, count, limit, flags);
        return;
    }
    gomp_region_prepare(call, &region, function, data, count ? count : 1, CALLER(), gomp_stack());
    struct teams teams = {.region = &region, .teams = region.record.requested};
    region.record.teams = 1;
    region.record.work_begin = region.record.work_end = region.record.begin;
    call.api->GOMP_teams_reg(team_run, &teams, count, limit, flags);
    region.record.threads = teams.team;
    gomp_region_finish(&region);
}
