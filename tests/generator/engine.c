/* SPDX-License-Identifier: MIT */
/* The clockwork: what comes next, what it costs, and what caused it. */
#include "sim.h"

#include <stdlib.h>
#include <string.h>

_Noreturn void fail(const char *what)
{
    fprintf(stderr, "trace_generator: %s\n", what);
    exit(1);
}

void *grow(void *items, size_t *capacity, size_t count, size_t size)
{
    if (count <= *capacity)
        return items;
    size_t fresh = *capacity ? *capacity * 2 : 16;
    char *grown = realloc(items, fresh * size);
    if (!grown)
        fail("out of memory");
    memset(grown + *capacity * size, 0, (fresh - *capacity) * size);
    *capacity = fresh;
    return grown;
}

uint64_t mix(uint64_t value)
{
    value += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

int64_t draw(struct sim *sim, struct actor *actor, int64_t base_ns)
{
    uint64_t random = mix(sim->seed ^ mix((uint64_t)actor->lane << 40 ^ actor->draws++));
    return base_ns <= 0 ? 0 : base_ns + (int64_t)(random % (uint64_t)(base_ns / 2 + 1));
}

int64_t scaled(const struct sim *sim, uint16_t name, int64_t ns)
{
    bool changed = sim->scale_name == name || (sim->scale_name == SCALE_CODE && sim->name_is_work[name]);
    return changed ? (int64_t)((double)ns * sim->scale + 0.5) : ns;
}

void decide(struct sim *sim, uint64_t value)
{
    sim->decisions = mix(sim->decisions ^ value);
}

static bool wake_before(const struct wake *a, const struct wake *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a->sequence < b->sequence;
}

void wake_add(struct sim *sim, int64_t ns, uint8_t what, uint32_t index)
{
    const struct wake fresh = {.ns = ns, .sequence = sim->wakes++, .what = what, .index = index};
    size_t at = APPEND(sim->heap, sim->heap_count, sim->heap_capacity);
    for (; at && wake_before(&fresh, &sim->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sim->heap[at] = sim->heap[(at - 1) / 2];
    sim->heap[at] = fresh;
}

static struct wake wake_take(struct sim *sim)
{
    const struct wake first = sim->heap[0], last = sim->heap[--sim->heap_count];
    size_t at = 0, child;
    for (; (child = 2 * at + 1) < sim->heap_count; at = child) {
        if (child + 1 < sim->heap_count && wake_before(&sim->heap[child + 1], &sim->heap[child]))
            child++;
        if (!wake_before(&sim->heap[child], &last))
            break;
        sim->heap[at] = sim->heap[child];
    }
    sim->heap[at] = last;
    return first;
}

void pick_offer(struct sim *sim, struct pick *pick, struct moment cause, int64_t lag_ns, uint8_t rule)
{
    int64_t at_ns = cause.ns + lag_ns;
    if (!pick->any || cause.ns > pick->latest_ns) {
        pick->latest_ns = cause.ns;
        pick->latest_node = cause.node;
        pick->latest_rule = rule;
    }
    if (sim->history && sim->options->check) {
        size_t row = APPEND(sim->offered, sim->offered_count, sim->offered_capacity);
        sim->offered[row] = (struct offer){.cause = cause.node, .lag_ns = lag_ns};
    }
    if (pick->any && at_ns == pick->at_ns && cause.node != pick->cause.node)
        pick->tied = true;
    if (pick->any && at_ns <= pick->at_ns)
        return;
    pick->tied = false;
    pick->any = true;
    pick->cause = cause;
    pick->at_ns = at_ns;
    pick->rule = rule;
}

/* Offers belong to the pick whose node is made next; one that is made without pick_offer has its cause for its only offer. */
static void offers_keep(struct sim *sim, uint32_t node, const struct pick *pick)
{
    if (!sim->offered_count && pick->cause.node != NOWHERE) {
        size_t row = APPEND(sim->offers, sim->offer_count, sim->offer_capacity);
        sim->offers[row] = (struct offer){node, pick->cause.node, pick->at_ns - pick->cause.ns};
    }
    for (size_t i = 0; i < sim->offered_count; i++) {
        bool again = false;
        for (size_t k = 0; k < i; k++)
            again |= sim->offered[i].cause == sim->offered[k].cause && sim->offered[i].lag_ns == sim->offered[k].lag_ns;
        if (sim->offered[i].cause == NOWHERE || again)
            continue;
        size_t row = APPEND(sim->offers, sim->offer_count, sim->offer_capacity);
        sim->offers[row] = (struct offer){node, sim->offered[i].cause, sim->offered[i].lag_ns};
    }
    sim->offered_count = 0;
}

struct moment node_add(struct sim *sim, uint32_t lane, const struct pick *pick, uint16_t name)
{
    struct moment moment = {.ns = pick->at_ns, .node = NOWHERE};
    if (sim->history) {
        size_t index = APPEND(sim->nodes, sim->node_count, sim->node_capacity);
        bool undecided = pick->any && pick->latest_ns > pick->cause.ns && pick->latest_node != pick->cause.node;
        sim->nodes[index] = (struct node){.ns = pick->at_ns, .cause = pick->cause.node, .lane = lane, .name = name, 
                                          .rule = pick->rule, .latest = pick->any ? pick->latest_node : pick->cause.node,
                                          .latest_rule = pick->any ? pick->latest_rule : pick->rule, .undecided = undecided, .tied = pick->tied};
        sim->ties += pick->tied;
        sim->undecided += undecided;
        moment.node = (uint32_t)index;
        if (sim->options->check)
            offers_keep(sim, moment.node, pick);
    }
    if (moment.ns >= sim->last.ns)
        sim->last = moment;
    return moment;
}

uint32_t actor_number(const struct sim *sim, const struct actor *actor)
{
    return (uint32_t)(actor - sim->actors);
}

uint16_t actor_name(const struct actor *actor)
{
    return actor->depth ? actor->open[actor->depth - 1].name : 0;
}

void actor_advance(struct sim *sim, struct actor *actor, int64_t ns, uint16_t name)
{
    const struct pick pick = {.cause = actor->now, .at_ns = actor->now.ns + ns, .rule = RULE_LANE};
    if (ns > 0 || actor->now.node == NOWHERE)
        actor->now = node_add(sim, actor->lane, &pick, name);
}

void actor_work(struct sim *sim, struct actor *actor, int64_t ns, uint16_t name)
{
    actor_advance(sim, actor, ns, name);
    actor->useful_ns += ns;
}

void actor_go_on(struct sim *sim, struct actor *actor)
{
    actor->waiting = WAIT_NOTHING;
    actor->at++;
    wake_add(sim, actor->now.ns, 0, actor_number(sim, actor));
}

void actor_open(struct sim *sim, struct actor *actor, uint16_t name)
{
    if (actor->depth == OPEN_SPANS)
        fail("spans nest too deeply");
    actor->open[actor->depth++] = (struct open_span){actor->now.ns, token_new(sim), name};
}

struct open_span actor_close(struct actor *actor)
{
    if (!actor->depth)
        fail("more spans are closed than open");
    return actor->open[--actor->depth];
}

struct wait_sum *wait_sum(const struct sim *sim, enum pattern pattern, uint32_t lane, uint32_t cause_lane)
{
    return &sim->waits[((size_t)pattern * sim->lane_count + lane) * (sim->lane_count + 1) + cause_lane];
}

void wait_note(struct sim *sim, enum pattern pattern, uint32_t lane, const struct moment *cause, int64_t ns, int64_t limit_ns)
{
    ns = ns < limit_ns ? ns : limit_ns;
    if (!sim->history || ns <= 0)
        return;
    uint32_t cause_lane = cause ? sim->nodes[cause->node].lane : (uint32_t)sim->lane_count;
    if (!sim->waits && !(sim->waits = calloc(PATTERN_COUNT * sim->lane_count * (sim->lane_count + 1), sizeof *sim->waits)))
        fail("out of memory");
    struct wait_sum *sum = wait_sum(sim, pattern, lane, cause_lane);
    sum->ns += ns;
    sum->count++;
}

static void compute(struct sim *sim, struct actor *actor, const struct op *op)
{
    if ((op->flags & OP_BARE) || (sim->options->bare && sim->rank_count > 1)) {
        actor_work(sim, actor, scaled(sim, op->name, op->ns), actor_name(actor));
    } else {
        int64_t begin_ns = actor->now.ns;
        actor_work(sim, actor, scaled(sim, op->name, op->ns), op->name);
        emit_call(sim, actor, begin_ns, token_new(sim), op->name, SPAN_KIND_RANGE, CATEGORY_NONE, NULL);
    }
    actor_go_on(sim, actor);
}

static void range(struct sim *sim, struct actor *actor, const struct op *op)
{
    if (op->kind == OP_RANGE_BEGIN) {
        actor_open(sim, actor, op->name);
    } else {
        const struct open_span open = actor_close(actor);
        emit_call(sim, actor, open.begin_ns, open.token, open.name, SPAN_KIND_RANGE, CATEGORY_NONE, NULL);
    }
    actor_go_on(sim, actor);
}

static void perform_device(struct sim *sim, struct actor *actor, const struct op *op)
{
    switch (op->kind) {
    case OP_LAUNCH: device_launch(sim, actor, op); break;
    case OP_COPY: device_copy(sim, actor, op); break;
    case OP_RECORD: device_record(sim, actor, op); break;
    case OP_STREAM_WAIT: device_stream_wait(sim, actor, op); break;
    case OP_SYNC: device_sync(sim, actor, op); break;
    default: fail("an operation that does not exist");
    }
}

static void perform_openmp(struct sim *sim, struct actor *actor, const struct op *op)
{
    switch (op->kind) {
    case OP_PARALLEL_BEGIN: region_begin(sim, actor, op); break;
    case OP_PARALLEL_END: region_end(sim, actor, op); break;
    case OP_PART: region_part(sim, actor, op); break;
    case OP_LOOP: team_loop(sim, actor, op); break;
    case OP_TEAM_BARRIER: team_barrier_enter(sim, actor, op); break;
    case OP_LOCK: lock_ask(sim, actor, op); break;
    case OP_UNLOCK: lock_give(sim, actor, op); break;
    case OP_SINGLE_BEGIN: single_begin(sim, actor); break;
    case OP_SINGLE_END: single_end(sim, actor); break;
    case OP_TASK: task_make(sim, actor, op); break;
    case OP_TASKWAIT: task_wait(sim, actor); break;
    default: perform_device(sim, actor, op);
    }
}

static void perform(struct sim *sim, struct actor *actor, const struct op *op)
{
    switch (op->kind) {
    case OP_COMPUTE: compute(sim, actor, op); break;
    case OP_RANGE_BEGIN:
    case OP_RANGE_END: range(sim, actor, op); break;
    case OP_SEND: mpi_send(sim, actor, op); break;
    case OP_RECV: mpi_receive(sim, actor, op); break;
    case OP_SENDRECV: mpi_sendrecv(sim, actor, op); break;
    case OP_WAIT: mpi_wait(sim, actor, op); break;
    case OP_COLLECTIVE: collective_enter(sim, actor, op); break;
    default: perform_openmp(sim, actor, op);
    }
}

/* There is some code of the program before each operation but its first and a worker's wait for work. */
static bool gap_is_due(const struct actor *actor)
{
    return !actor->ready && actor->at && actor->ops[actor->at].kind != OP_PART;
}

static void step(struct sim *sim, struct actor *actor)
{
    if (actor->running != NOWHERE) {
        task_end(sim, actor);
        return;
    }
    if (actor->waiting != WAIT_NOTHING)
        return;
    if (actor->at == actor->op_count) {
        actor->finished = true;
        return;
    }
    if (gap_is_due(actor)) {
        int64_t ns = draw(sim, actor, sim->costs.gap_ns);
        actor_work(sim, actor, sim->scale_name == SCALE_CODE ? (int64_t)((double)ns * sim->scale + 0.5) : ns, actor_name(actor));
        actor->ready = true;
        wake_add(sim, actor->now.ns, 0, actor_number(sim, actor));
        return;
    }
    actor->ready = false;
    perform(sim, actor, &actor->ops[actor->at]);
}

static void start(struct sim *sim, struct actor *actor)
{
    actor->now.node = NOWHERE;
    if (actor->thread == 0) {
        const struct pick pick = {.cause = {0, NOWHERE}, .at_ns = actor->now.ns, .rule = RULE_START};
        sim->begin_ns = actor->now.ns < sim->begin_ns ? actor->now.ns : sim->begin_ns;
        actor->now = node_add(sim, actor->lane, &pick, 0);
    }
    wake_add(sim, actor->now.ns, 0, actor_number(sim, actor));
}

void sim_run(struct sim *sim)
{
    sim->begin_ns = INT64_MAX;
    sim->last = (struct moment){INT64_MIN, NOWHERE};
    for (size_t i = 0; i < sim->actor_count; i++)
        start(sim, &sim->actors[i]);
    while (sim->heap_count) {
        const struct wake wake = wake_take(sim);
        if (wake.what)
            mpi_arrive(sim, wake.index);
        else
            step(sim, &sim->actors[wake.index]);
    }
    for (size_t i = 0; i < sim->actor_count; i++)
        if (!sim->actors[i].finished && sim->actors[i].at < sim->actors[i].op_count) {
            const struct actor *actor = &sim->actors[i];
            fprintf(stderr, "trace_generator: rank %d thread %d hangs in operation %zu of kind %d\n", actor->rank, actor->thread, actor->at,
                    actor->ops[actor->at].kind);
            fail("the program deadlocks");
        }
    sim->end_ns = sim->last.ns;
}

uint16_t name_add(struct sim *sim, const char *name, bool work)
{
    for (size_t i = 0; i < sim->name_count; i++)
        if (strcmp(sim->names[i], name) == 0)
            return (uint16_t)i;
    size_t row = APPEND(sim->names, sim->name_count, sim->name_capacity);
    sim->names[row] = strdup(name);
    sim->name_is_work = realloc(sim->name_is_work, sim->name_capacity * sizeof *sim->name_is_work);
    if (!sim->names[row] || !sim->name_is_work)
        fail("out of memory");
    sim->name_is_work[row] = work;
    return (uint16_t)row;
}

void sim_init(struct sim *sim, const struct options *options)
{
    *sim = (struct sim){.options = options, .seed = mix(options->seed), .scale_name = -1, .free_message = NOWHERE, .free_receive = NOWHERE};
    sim->costs = (struct costs){
        .gap_ns = 60, .send_ns = 700, .inject_ns = 300, .latency_ns = 1300, .ns_per_kb = 90, .receive_ns = 400, .post_ns = 250, .wait_ns = 300,
        .collective_ns = 2100, .init_ns = 90000, .eager_bytes = 4096, .fork_ns = 1100, .barrier_ns = 2300, .join_ns = 900, .lock_ns = 90,
        .create_ns = 320, .pick_ns = 260, .launch_call_ns = 2400, .launch_ns = 4100, .stream_gap_ns = 900, .sync_ns = 1700,
    };
    static const char *const names[NAME_COUNT] = {
        [NAME_NONE] = "",
#define NAME(enumerator, text) [NAME_##enumerator] = text,
#include "names.def"
    };
    for (size_t i = 0; i < NAME_COUNT; i++)
        name_add(sim, names[i], false);
}

void sim_finish(struct sim *sim)
{
    for (size_t i = 0; i < sim->actor_count; i++) {
        free(sim->actors[i].ops);
        free(sim->actors[i].requests);
    }
    for (size_t i = 0; i < sim->rank_count; i++)
        free(sim->ranks[i].channel_ns);
    for (size_t i = 0; i < sim->task_count; i++)
        free(sim->tasks[i].followers);
    for (size_t i = 0; i < sim->name_count; i++)
        free((void *)(uintptr_t)sim->names[i]);
    void *const owned[] = {sim->actors, sim->lanes, sim->ranks, sim->collectives, sim->regions, sim->barriers, sim->locks, sim->tasks, sim->events, sim->names,
                           sim->name_ids, sim->name_is_work, sim->planted, sim->heap, sim->nodes, sim->offers, sim->offered, sim->messages, sim->receives,
                           sim->tokens, sim->links, sim->members, sim->waits};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    trace_builder_destroy(sim->builder);
    *sim = (struct sim){0};
}
