/* SPDX-License-Identifier: MIT */
/* Programs whose critical path is known before they run: one part is made longer than all that runs beside it. */
#include "sim.h"

#include <string.h>

static void plant(struct sim *sim, uint16_t name, uint32_t lane, int64_t ns)
{
    for (size_t i = 0; i < sim->planted_count; i++)
        if (sim->planted[i].name == name && sim->planted[i].lane == lane) {
            sim->planted[i].ns += ns;
            return;
        }
    size_t row = APPEND(sim->planted, sim->planted_count, sim->planted_capacity);
    sim->planted[row] = (struct planted){name, lane, ns};
}

static uint32_t main_lane(const struct sim *sim, uint32_t rank)
{
    return sim->actors[sim->ranks[rank].main].lane;
}

static uint32_t rounds_of(const struct sim *sim)
{
    return sim->options->rounds;
}

/* One rank is the slowest before each allreduce; in the second half it may be another one. */
static void bottleneck(struct sim *sim)
{
    uint32_t ranks = (uint32_t)sim->rank_count;
    uint16_t work = name_add(sim, "work", true);
    for (uint32_t round = 0; round < rounds_of(sim); round++) {
        uint32_t slow = (round < rounds_of(sim) / 2 ? sim->options->planted : sim->options->moved) % ranks;
        for (uint32_t i = 0; i < ranks; i++) {
            int64_t ns = i == slow ? random_ns(sim, 300000, 320000) : random_ns(sim, 60000, 200000);
            op_compute(sim, sim->ranks[i].main, work, ns);
            if (i == slow)
                plant(sim, work, main_lane(sim, i), ns);
        }
        collective_add(sim, COLLECTIVE_ALLREDUCE, 0, 64);
    }
}

/* Items go from rank to rank; the slow stage works on all of them without a pause, the others only fill and drain the pipe. */
static void pipeline(struct sim *sim)
{
    uint32_t ranks = (uint32_t)sim->rank_count, slow = sim->options->planted % ranks;
    uint16_t work = name_add(sim, "stage", true);
    for (uint32_t item = 0; item < rounds_of(sim); item++)
        for (uint32_t i = 0; i < ranks; i++) {
            uint32_t main = sim->ranks[i].main;
            int64_t ns = i == slow ? random_ns(sim, 90000, 95000) : random_ns(sim, 20000, 40000);
            if (i)
                op_add(sim, main, (struct op){.kind = OP_RECV, .a = (int32_t)i - 1, .b = 1, .ns = 512});
            op_compute(sim, main, work, ns);
            if (i + 1 < ranks)
                op_add(sim, main, (struct op){.kind = OP_SEND, .a = (int32_t)i + 1, .b = 1, .ns = 512});
            if (i == slow || (i < slow && item == 0) || (i > slow && item + 1 == rounds_of(sim)))
                plant(sim, work, main_lane(sim, i), ns);
        }
}

/* Rank 0 is late with each message, the others wait for it. */
static void late_sender(struct sim *sim)
{
    uint16_t slow = name_add(sim, "slow", true), quick = name_add(sim, "quick", true);
    for (uint32_t round = 0; round < rounds_of(sim); round++) {
        int64_t ns = random_ns(sim, 200000, 220000);
        op_compute(sim, sim->ranks[0].main, slow, ns);
        plant(sim, slow, main_lane(sim, 0), ns);
        for (uint32_t i = 1; i < sim->rank_count; i++) {
            op_add(sim, sim->ranks[0].main, (struct op){.kind = OP_SEND, .a = (int32_t)i, .b = 1, .ns = 64});
            op_compute(sim, sim->ranks[i].main, quick, random_ns(sim, 10000, 50000));
            op_add(sim, sim->ranks[i].main, (struct op){.kind = OP_RECV, .a = 0, .b = 1, .ns = 64});
        }
    }
}

/* Rank i of n computes (i + 1) / n of the last one's time: load balance (n + 1) / 2n. */
static void stairs(struct sim *sim)
{
    uint16_t work = name_add(sim, "step", true);
    for (uint32_t round = 0; round < rounds_of(sim); round++) {
        for (uint32_t i = 0; i < sim->rank_count; i++) {
            int64_t ns = 1000000 / (int64_t)sim->rank_count * (i + 1);
            op_compute(sim, sim->ranks[i].main, work, ns);
            if (i + 1 == sim->rank_count)
                plant(sim, work, main_lane(sim, i), ns);
        }
        collective_add(sim, COLLECTIVE_BARRIER, 0, 0);
    }
}

static void team_slow_thread(struct sim *sim)
{
    uint32_t threads = world_threads(sim), slow = sim->options->planted % threads;
    uint16_t loop = name_add(sim, "app.c:11 for in smooth()", true);
    for (uint32_t round = 0; round < rounds_of(sim); round++) {
        uint32_t region = region_add(sim, 0);
        for (uint32_t i = 0; i < threads; i++) {
            int64_t ns = i == slow ? random_ns(sim, 200000, 210000) : random_ns(sim, 40000, 120000);
            op_add(sim, i, (struct op){.kind = OP_LOOP, .name = loop, .ns = ns});
            if (i == slow)
                plant(sim, loop, sim->actors[i].lane, ns);
        }
        team_barrier_add(sim, region, NAME_LOOP_BARRIER, false);
        region_close(sim, region);
    }
}

/* Tasks of which each depends on the one before it, and short ones that depend on nothing. */
static void task_chain(struct sim *sim)
{
    uint16_t link = name_add(sim, "app.c:31 task in factor()", true), filler = name_add(sim, "app.c:33 task in solve()", true);
    uint32_t region = region_add(sim, 0), before = NOWHERE;
    op_add(sim, 0, (struct op){.kind = OP_SINGLE_BEGIN});
    for (uint32_t round = 0; round < rounds_of(sim); round++) {
        int64_t ns = random_ns(sim, 100000, 120000);
        uint32_t task = task_add(sim, link, ns);
        if (before != NOWHERE)
            sim->tasks[task].depends[sim->tasks[task].depend_count++] = before;
        before = task;
        plant(sim, link, NOWHERE, ns);
        op_add(sim, 0, (struct op){.kind = OP_TASK, .a = (int32_t)task});
        op_add(sim, 0, (struct op){.kind = OP_TASK, .a = (int32_t)task_add(sim, filler, random_ns(sim, 5000, 15000))});
    }
    op_add(sim, 0, (struct op){.kind = OP_SINGLE_END});
    region_close(sim, region);
}

/* A long kernel in one stream, a short one in another, and one that waits for both: the long one and that are on the path. */
static void two_streams(struct sim *sim)
{
    int32_t first = (int32_t)sim->ranks[0].first_stream + 1, second = first + 1;
    uint16_t big = name_add(sim, "big_kernel", true), small = name_add(sim, "small_kernel", true), last = name_add(sim, "last_kernel", true);
    for (uint32_t round = 0; round < rounds_of(sim); round++) {
        int64_t big_ns = random_ns(sim, 150000, 160000), last_ns = random_ns(sim, 40000, 60000);
        int32_t event = (int32_t)event_add(sim);
        op_add(sim, 0, (struct op){.kind = OP_LAUNCH, .name = big, .a = first, .ns = big_ns});
        op_add(sim, 0, (struct op){.kind = OP_RECORD, .a = first, .b = event});
        op_add(sim, 0, (struct op){.kind = OP_LAUNCH, .name = small, .a = second, .ns = random_ns(sim, 20000, 60000)});
        op_add(sim, 0, (struct op){.kind = OP_STREAM_WAIT, .a = second, .b = event});
        op_add(sim, 0, (struct op){.kind = OP_LAUNCH, .name = last, .a = second, .ns = last_ns});
        op_add(sim, 0, (struct op){.kind = OP_SYNC, .a = second});
        plant(sim, big, (uint32_t)first, big_ns);
        plant(sim, last, (uint32_t)second, last_ns);
    }
}

bool program_constructed(struct sim *sim)
{
    static const struct { const char *name; void (*make)(struct sim *sim); uint32_t ranks, threads, streams; } kinds[] = {
        {"bottleneck", bottleneck, 6, 1, 0}, {"pipeline", pipeline, 5, 1, 0},          {"late_sender", late_sender, 4, 1, 0}, {"stairs", stairs, 4, 1, 0},
        {"slow_thread", team_slow_thread, 1, 4, 0}, {"task_chain", task_chain, 1, 3, 0}, {"two_streams", two_streams, 1, 1, 3},
    };
    const struct options *options = sim->options;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, options->kind) == 0) {
            world_make(sim, options->ranks ? options->ranks : kinds[i].ranks, options->threads ? options->threads : kinds[i].threads, kinds[i].streams);
            world_begin(sim);
            kinds[i].make(sim);
            world_end(sim);
            return true;
        }
    return false;
}
