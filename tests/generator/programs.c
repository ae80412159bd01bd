/* SPDX-License-Identifier: MIT */
/* Programs from a seed: rounds of patterns that real programs have, with random costs. */
#include "sim.h"

#include <string.h>

static const char *const phases[] = {"assemble", "smooth", "pack", "update", "integrate", "project"};
static const char *const loops[] = {"app.c:11 for in smooth()", "app.c:55 for in norm()", "app.c:77 for in gather()"};
static const char *const task_names[] = {"app.c:31 task in factor()", "app.c:33 task in solve()", "app.c:35 task in trail()"};
static const char *const kernels[] = {"stencil_kernel", "gemm_kernel", "reduce_kernel"};
#define PICK(sim, words) (words)[random_below((sim), (uint32_t)(sizeof(words) / sizeof *(words)))]

static uint16_t work_name(struct sim *sim, const char *name)
{
    return name_add(sim, name, true);
}

static uint32_t ranks_of(const struct sim *sim)
{
    return (uint32_t)sim->rank_count;
}

static void compute_all(struct sim *sim)
{
    uint16_t name = work_name(sim, PICK(sim, phases));
    for (uint32_t i = 0; i < ranks_of(sim); i++)
        op_compute(sim, sim->ranks[i].main, name, random_ns(sim, 9000, 160000));
}

static void halo(struct sim *sim)
{
    uint32_t ranks = ranks_of(sim);
    int64_t bytes = random_below(sim, 3) ? random_ns(sim, 8, 4000) : random_ns(sim, 8000, 90000);
    uint16_t name = work_name(sim, PICK(sim, phases));
    for (uint32_t i = 0; i < ranks; i++) {
        uint32_t main = sim->ranks[i].main;
        int32_t left = (int32_t)((i + ranks - 1) % ranks), right = (int32_t)((i + 1) % ranks);
        op_add(sim, main, (struct op){.kind = OP_RECV, .flags = OP_NONBLOCKING, .a = left, .b = 1, .ns = bytes});
        op_add(sim, main, (struct op){.kind = OP_RECV, .flags = OP_NONBLOCKING, .a = right, .b = 2, .ns = bytes});
        op_add(sim, main, (struct op){.kind = OP_SEND, .flags = OP_NONBLOCKING, .a = right, .b = 1, .ns = bytes});
        op_add(sim, main, (struct op){.kind = OP_SEND, .flags = OP_NONBLOCKING, .a = left, .b = 2, .ns = bytes});
        op_compute(sim, main, name, random_ns(sim, 5000, 90000));
        if (random_below(sim, 2)) {
            op_add(sim, main, (struct op){.kind = OP_WAIT, .a = 4});
            continue;
        }
        for (int k = 0; k < 4; k++)
            op_add(sim, main, (struct op){.kind = OP_WAIT, .a = 1});
    }
}

static void ring(struct sim *sim)
{
    uint32_t ranks = ranks_of(sim);
    int64_t bytes = random_ns(sim, 8, 16000);
    for (uint32_t i = 0; i < ranks; i++)
        op_add(sim, sim->ranks[i].main, (struct op){.kind = OP_SENDRECV, .a = (int32_t)((i + 1) % ranks), .b = (int32_t)((i + ranks - 1) % ranks), .ns = bytes});
}

/* Blocking messages between neighbours, some synchronous or large. */
static void pairs(struct sim *sim)
{
    uint32_t first = random_below(sim, 2);
    uint8_t flags = random_below(sim, 3) ? 0 : OP_SYNCHRONOUS;
    for (uint32_t i = first; i + 1 < ranks_of(sim); i += 2) {
        int64_t bytes = random_below(sim, 3) ? random_ns(sim, 8, 4000) : random_ns(sim, 8000, 90000);
        uint32_t from = random_below(sim, 2) ? i : i + 1, to = from == i ? i + 1 : i;
        op_add(sim, sim->ranks[from].main, (struct op){.kind = OP_SEND, .flags = flags, .a = (int32_t)to, .b = 3, .ns = bytes});
        op_add(sim, sim->ranks[to].main, (struct op){.kind = OP_RECV, .a = (int32_t)from, .b = 3, .ns = bytes});
    }
}

static void chain(struct sim *sim)
{
    uint16_t name = work_name(sim, PICK(sim, phases));
    for (uint32_t i = 0; i < ranks_of(sim); i++) {
        uint32_t main = sim->ranks[i].main;
        if (i)
            op_add(sim, main, (struct op){.kind = OP_RECV, .a = (int32_t)i - 1, .b = 4, .ns = 64});
        op_compute(sim, main, name, random_ns(sim, 4000, 40000));
        if (i + 1 < ranks_of(sim))
            op_add(sim, main, (struct op){.kind = OP_SEND, .a = (int32_t)i + 1, .b = 4, .ns = 64});
    }
}

/* Workers hand results to rank 0, which takes them as they come, and answers each. */
static void wildcards(struct sim *sim)
{
    uint16_t work = work_name(sim, PICK(sim, phases)), digest = work_name(sim, "digest");
    for (uint32_t i = 1; i < ranks_of(sim); i++) {
        uint32_t main = sim->ranks[i].main;
        op_compute(sim, main, work, random_ns(sim, 9000, 160000));
        op_add(sim, main, (struct op){.kind = OP_SEND, .a = 0, .b = 5, .ns = 128});
        op_add(sim, main, (struct op){.kind = OP_RECV, .a = 0, .b = 6, .ns = 128});
    }
    for (uint32_t i = 1; i < ranks_of(sim); i++) {
        op_add(sim, sim->ranks[0].main, (struct op){.kind = OP_RECV, .a = ANY, .b = 5, .ns = 128});
        op_compute(sim, sim->ranks[0].main, digest, random_ns(sim, 2000, 9000));
    }
    for (uint32_t i = 1; i < ranks_of(sim); i++)
        op_add(sim, sim->ranks[0].main, (struct op){.kind = OP_SEND, .a = (int32_t)i, .b = 6, .ns = 128});
}

static void collective(struct sim *sim)
{
    collective_add(sim, (enum collective_kind)random_below(sim, COLLECTIVE_INIT), (int32_t)random_below(sim, ranks_of(sim)), (uint64_t)random_ns(sim, 8, 20000));
}

static void team_loops(struct sim *sim)
{
    for (uint32_t rank = 0; rank < ranks_of(sim); rank++) {
        uint32_t region = region_add(sim, rank), count = 1 + random_below(sim, 3), first = sim->ranks[rank].main;
        for (uint32_t k = 0; k < count; k++) {
            uint16_t name = work_name(sim, PICK(sim, loops));
            for (uint32_t i = 0; i < world_threads(sim); i++)
                op_add(sim, first + i, (struct op){.kind = OP_LOOP, .name = name, .ns = random_ns(sim, 9000, 120000)});
            team_barrier_add(sim, region, random_below(sim, 2) ? NAME_LOOP_BARRIER : NAME_TEAM_BARRIER, false);
        }
        region_close(sim, region);
    }
}

static void team_locks(struct sim *sim)
{
    bool critical = random_below(sim, 2);
    uint16_t name = name_add(sim, critical ? "app.c:61 critical in count()" : "app.c:63 lock in count()", critical), work = work_name(sim, PICK(sim, loops));
    for (uint32_t rank = 0; rank < ranks_of(sim); rank++) {
        uint32_t region = region_add(sim, rank), first = sim->ranks[rank].main, count = 1 + random_below(sim, 4);
        uint32_t lock = lock_add(sim, name, critical);
        for (uint32_t k = 0; k < count * world_threads(sim); k++) {
            uint32_t actor = first + k % world_threads(sim);
            op_add(sim, actor, (struct op){.kind = OP_LOOP, .name = work, .ns = random_ns(sim, 3000, 30000)});
            op_add(sim, actor, (struct op){.kind = OP_LOCK, .flags = critical ? OP_CRITICAL : 0, .a = (int32_t)lock});
            op_add(sim, actor, (struct op){.kind = OP_COMPUTE, .flags = OP_BARE, .name = name, .ns = random_ns(sim, 2000, 12000)});
            op_add(sim, actor, (struct op){.kind = OP_UNLOCK, .a = (int32_t)lock});
        }
        region_close(sim, region);
    }
}

/* One thread makes tasks, each of which may depend on some of the last ones; others run them in the barrier. */
static void team_tasks(struct sim *sim)
{
    for (uint32_t rank = 0; rank < ranks_of(sim); rank++) {
        uint32_t region = region_add(sim, rank), first = sim->ranks[rank].main, count = 4 + random_below(sim, 12);
        uint32_t maker = first + random_below(sim, world_threads(sim)), oldest = (uint32_t)sim->task_count;
        op_add(sim, maker, (struct op){.kind = OP_SINGLE_BEGIN});
        for (uint32_t k = 0; k < count; k++) {
            uint32_t task = task_add(sim, work_name(sim, PICK(sim, task_names)), random_ns(sim, 8000, 90000));
            for (uint32_t i = 0; i < 2 && task > oldest && random_below(sim, 2); i++) {
                uint32_t before = task - 1 - random_below(sim, task - oldest < 4 ? task - oldest : 4);
                struct task *row = &sim->tasks[task];
                if (!row->depend_count || row->depends[0] != before)
                    row->depends[row->depend_count++] = before;
            }
            op_add(sim, maker, (struct op){.kind = OP_TASK, .a = (int32_t)task});
            if (random_below(sim, 8) == 0)
                op_add(sim, maker, (struct op){.kind = OP_TASKWAIT});
        }
        op_add(sim, maker, (struct op){.kind = OP_SINGLE_END});
        region_close(sim, region);
    }
}

static int32_t some_stream(struct sim *sim, uint32_t rank)
{
    return (int32_t)(sim->ranks[rank].first_stream + 1 + random_below(sim, sim->ranks[rank].stream_count - 1));
}

static void launches(struct sim *sim, uint32_t rank, uint32_t count)
{
    uint32_t main = sim->ranks[rank].main;
    for (uint32_t k = 0; k < count; k++) {
        if (random_below(sim, 5) == 0)
            op_add(sim, main, (struct op){.kind = OP_COPY, .name = random_below(sim, 2) ? NAME_COPY_IN : NAME_COPY_OUT, .a = some_stream(sim, rank), .b = 65536,
                                          .ns = random_ns(sim, 6000, 30000)});
        else
            op_add(sim, main, (struct op){.kind = OP_LAUNCH, .name = work_name(sim, PICK(sim, kernels)), .a = some_stream(sim, rank), .ns = random_ns(sim, 5000, 90000)});
        if (random_below(sim, 4))
            continue;
        int32_t event = (int32_t)event_add(sim);
        op_add(sim, main, (struct op){.kind = OP_RECORD, .a = some_stream(sim, rank), .b = event});
        if (random_below(sim, 3))
            op_add(sim, main, (struct op){.kind = OP_STREAM_WAIT, .a = some_stream(sim, rank), .b = event});
        else
            op_add(sim, main, (struct op){.kind = OP_SYNC, .flags = OP_EVENT, .b = event});
    }
}

static void device(struct sim *sim)
{
    for (uint32_t rank = 0; rank < ranks_of(sim); rank++) {
        uint32_t main = sim->ranks[rank].main;
        launches(sim, rank, 2 + random_below(sim, 8));
        op_compute(sim, main, work_name(sim, PICK(sim, phases)), random_ns(sim, 5000, 90000));
        uint32_t how = random_below(sim, 4);
        if (how == 0)
            op_add(sim, main, (struct op){.kind = OP_SYNC, .flags = OP_DEVICE});
        else if (how == 1)
            op_add(sim, main, (struct op){.kind = OP_SYNC, .a = some_stream(sim, rank)});
        else if (how == 2)
            op_add(sim, main, (struct op){.kind = OP_COPY, .flags = OP_BLOCKING, .name = NAME_COPY_OUT, .a = (int32_t)sim->ranks[rank].default_stream, .b = 65536,
                                          .ns = random_ns(sim, 6000, 30000)});
    }
}

typedef void pattern_function(struct sim *sim);
enum { MESSAGES = 1, COLLECTIVES = 2, LOOPS = 4, LOCKS = 8, TASKS = 16, DEVICE = 32, WILDCARDS = 64 };
static const struct { unsigned feature; pattern_function *add; } patterns[] = {
    {MESSAGES, halo}, {MESSAGES, ring}, {MESSAGES, pairs}, {MESSAGES, chain}, {WILDCARDS, wildcards}, {COLLECTIVES, collective},
    {LOOPS, team_loops}, {LOCKS, team_locks}, {TASKS, team_tasks}, {DEVICE, device},
};

static const struct kind { const char *name; unsigned features; uint32_t ranks, threads, streams; } kinds[] = {
    {"messages", MESSAGES, 4, 1, 0},
    {"wildcards", MESSAGES | WILDCARDS, 5, 1, 0},
    {"collectives", COLLECTIVES, 6, 1, 0},
    {"mpi", MESSAGES | COLLECTIVES | WILDCARDS, 6, 1, 0},
    {"loops", LOOPS, 1, 4, 0},
    {"locks", LOOPS | LOCKS, 1, 4, 0},
    {"tasks", LOOPS | TASKS, 1, 4, 0},
    {"device", DEVICE, 1, 1, 4},
    {"mpi_openmp", MESSAGES | COLLECTIVES | LOOPS, 4, 3, 0},
    {"mpi_device", MESSAGES | COLLECTIVES | DEVICE, 4, 1, 3},
    {"all", MESSAGES | COLLECTIVES | WILDCARDS | LOOPS | LOCKS | TASKS | DEVICE, 4, 3, 3},
};

void program_kinds(FILE *file)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        fprintf(file, " %s", kinds[i].name);
}

static void make_random(struct sim *sim, const struct kind *kind)
{
    const struct options *options = sim->options;
    world_make(sim, options->ranks ? options->ranks : kind->ranks, options->threads ? options->threads : kind->threads,
               options->streams ? options->streams : kind->streams);
    world_begin(sim);
    const size_t count = sizeof patterns / sizeof *patterns;
    for (uint64_t round = 0; options->spans ? sim->spans_planned < options->spans : round < options->rounds; round++) {
        size_t which = random_below(sim, (uint32_t)count);
        while (!(patterns[which].feature & kind->features))
            which = random_below(sim, (uint32_t)count);
        patterns[which].add(sim);
        compute_all(sim);
    }
    world_end(sim);
}

void program_make(struct sim *sim)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].name, sim->options->kind) == 0) {
            make_random(sim, &kinds[i]);
            return;
        }
    if (!program_constructed(sim))
        fail("no such kind of program");
}
