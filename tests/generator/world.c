/* SPDX-License-Identifier: MIT */
/* What programs are made of: ranks, threads, streams, and operations on their lists. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_STREAM_NUMBER = 7, FIRST_STREAM_NUMBER = 13 };

uint32_t random_below(struct sim *sim, uint32_t limit)
{
    return limit ? (uint32_t)(mix((sim->seed + 77) ^ mix(++sim->program_draws)) % limit) : 0;
}

int64_t random_ns(struct sim *sim, int64_t least, int64_t most)
{
    return least + (int64_t)(mix((sim->seed + 78) ^ mix(++sim->program_draws)) % (uint64_t)(most - least + 1));
}

void op_add(struct sim *sim, uint32_t actor, struct op op)
{
    struct actor *of = &sim->actors[actor];
    size_t row = APPEND(of->ops, of->op_count, of->op_capacity);
    of->ops[row] = op;
    sim->spans_planned += !(op.flags & OP_BARE) && op.kind != OP_RANGE_BEGIN && op.kind != OP_PARALLEL_BEGIN && op.kind != OP_SINGLE_BEGIN && op.kind != OP_UNLOCK;
    sim->spans_planned += op.kind == OP_LAUNCH || op.kind == OP_COPY || op.kind == OP_TASK || op.kind == OP_PARALLEL_END;
}

void op_compute(struct sim *sim, uint32_t actor, uint16_t name, int64_t ns)
{
    op_add(sim, actor, (struct op){.kind = OP_COMPUTE, .name = name, .ns = ns});
}

uint32_t world_threads(const struct sim *sim)
{
    return (uint32_t)(sim->actor_count / sim->rank_count);
}

static uint32_t lane_add(struct sim *sim, uint32_t process)
{
    size_t row = APPEND(sim->lanes, sim->lane_count, sim->lane_capacity);
    sim->lanes[row] = (struct lane){.process = process, .end = {INT64_MIN, NOWHERE}, .gate = {INT64_MIN, NOWHERE}};
    return (uint32_t)row;
}

static void threads_add(struct sim *sim, uint32_t rank, uint32_t threads)
{
    sim->ranks[rank].main = (uint32_t)sim->actor_count;
    for (uint32_t i = 0; i < threads; i++) {
        size_t row = APPEND(sim->actors, sim->actor_count, sim->actor_capacity);
        sim->actors[row] = (struct actor){.lane = lane_add(sim, rank), .process = rank, .rank = (int32_t)rank, .thread = (int32_t)i, .running = NOWHERE};
        sim->actors[row].now = (struct moment){0, NOWHERE};
    }
}

void world_make(struct sim *sim, uint32_t ranks, uint32_t threads, uint32_t streams)
{
    for (uint32_t i = 0; i < ranks; i++) {
        size_t row = APPEND(sim->ranks, sim->rank_count, sim->rank_capacity);
        struct rank *rank = &sim->ranks[row];
        *rank = (struct rank){.arrived_first = NOWHERE, .arrived_last = NOWHERE, .posted_first = NOWHERE, .posted_last = NOWHERE};
        rank->channel_ns = calloc(ranks, sizeof *rank->channel_ns);
        if (!rank->channel_ns)
            fail("out of memory");
        threads_add(sim, i, threads);
        sim->actors[rank->main].now.ns = random_ns(sim, 1, 20000);
        rank = &sim->ranks[row];
        for (uint32_t k = 0; k < streams; k++) {
            uint32_t lane = lane_add(sim, i);
            sim->lanes[lane].stream = true;
            sim->lanes[lane].is_default = k == 0;
            sim->lanes[lane].number = k ? FIRST_STREAM_NUMBER + (int32_t)k - 1 : DEFAULT_STREAM_NUMBER;
            if (k == 0)
                rank->first_stream = rank->default_stream = lane;
        }
        rank->stream_count = streams;
    }
}

void world_begin(struct sim *sim)
{
    uint16_t prepare = name_add(sim, "prepare", true);
    if (sim->rank_count > 1)
        collective_add(sim, COLLECTIVE_INIT, 0, 0);
    for (size_t i = 0; i < sim->rank_count; i++)
        op_compute(sim, sim->ranks[i].main, prepare, random_ns(sim, 4000, 9000));
}

void world_end(struct sim *sim)
{
    uint16_t finish = name_add(sim, "finish", true);
    for (size_t i = 0; i < sim->rank_count; i++) {
        uint32_t main = sim->ranks[i].main;
        if (sim->ranks[i].stream_count)
            op_add(sim, main, (struct op){.kind = OP_SYNC, .flags = OP_DEVICE});
        op_compute(sim, main, finish, random_ns(sim, 4000, 9000));
    }
    if (sim->rank_count > 1)
        collective_add(sim, COLLECTIVE_FINALIZE, 0, 0);
}

void collective_add(struct sim *sim, enum collective_kind kind, int32_t root, uint64_t bytes)
{
    size_t row = APPEND(sim->collectives, sim->collective_count, sim->collective_capacity);
    bool counted = kind != COLLECTIVE_INIT && kind != COLLECTIVE_FINALIZE;
    sim->collectives[row] = (struct collective){.kind = (uint8_t)kind, .root = root, .bytes = kind == COLLECTIVE_BARRIER ? 0 : bytes,
                                                .sequence = counted ? ++sim->sequences : 0};
    for (size_t i = 0; i < sim->rank_count; i++)
        op_add(sim, sim->ranks[i].main, (struct op){.kind = OP_COLLECTIVE, .a = (int32_t)row});
}

uint32_t region_add(struct sim *sim, uint32_t rank)
{
    size_t row = APPEND(sim->regions, sim->region_count, sim->region_capacity);
    sim->regions[row] = (struct region){.first_actor = sim->ranks[rank].main, .threads = world_threads(sim)};
    op_add(sim, sim->ranks[rank].main, (struct op){.kind = OP_PARALLEL_BEGIN, .a = (int32_t)row});
    for (uint32_t i = 1; i < world_threads(sim); i++)
        op_add(sim, sim->ranks[rank].main + i, (struct op){.kind = OP_PART, .a = (int32_t)row});
    return (uint32_t)row;
}

void team_barrier_add(struct sim *sim, uint32_t region, uint16_t name, bool final)
{
    size_t row = APPEND(sim->barriers, sim->barrier_count, sim->barrier_capacity);
    sim->barriers[row] = (struct team_barrier){.region = region, .name = name, .final = final, .explicit_one = name == NAME_TEAM_BARRIER};
    for (uint32_t i = 0; i < sim->regions[region].threads; i++)
        op_add(sim, sim->regions[region].first_actor + i, (struct op){.kind = OP_TEAM_BARRIER, .a = (int32_t)row});
}

void region_close(struct sim *sim, uint32_t region)
{
    team_barrier_add(sim, region, NAME_FINAL_BARRIER, true);
    op_add(sim, sim->regions[region].first_actor, (struct op){.kind = OP_PARALLEL_END, .a = (int32_t)region});
}

uint32_t event_add(struct sim *sim)
{
    size_t row = APPEND(sim->events, sim->event_count, sim->event_capacity);
    sim->events[row].covered = (struct moment){INT64_MIN, NOWHERE};
    return (uint32_t)row;
}

uint32_t lock_add(struct sim *sim, uint16_t name, bool critical)
{
    size_t row = APPEND(sim->locks, sim->lock_count, sim->lock_capacity);
    sim->locks[row] = (struct lock){.name = name, .critical = critical, .before_ns = INT64_MIN};
    return (uint32_t)row;
}

uint32_t task_add(struct sim *sim, uint16_t name, int64_t ns)
{
    size_t row = APPEND(sim->tasks, sim->task_count, sim->task_capacity);
    sim->tasks[row] = (struct task){.name = name, .ns = ns, .lag_ns = random_ns(sim, sim->costs.pick_ns, sim->costs.pick_ns * 3 / 2)};
    return (uint32_t)row;
}
