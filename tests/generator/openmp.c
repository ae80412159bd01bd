/* SPDX-License-Identifier: MIT */
/*
 * Parallel regions as a runtime with OMPT reports them: the master's part lies in the region's span, a worker's last barrier and its
 * part end with the region. Barriers are left after all have come and all tasks are through. Locks go to who asked first.
 */
#include "sim.h"

#include <stdlib.h>

void region_number(const struct sim *sim, uint32_t region, struct payload *payload, unsigned position)
{
    (void)sim;
    put_number(payload, position, region + 1);
}

static void emit_part(struct sim *sim, const struct actor *actor, int64_t begin_ns, int64_t end_ns, uint32_t token)
{
    const struct region *region = &sim->regions[actor->region];
    struct payload payload = {.kind = PAYLOAD_TEAM};
    region_number(sim, actor->region, &payload, FIELD_TEAM_region);
    put_number(&payload, FIELD_TEAM_thread, (uint64_t)actor->thread);
    put_number(&payload, FIELD_TEAM_threads, region->threads);
    if (actor->made_tasks)
        put_number(&payload, FIELD_TEAM_task, (UINT64_C(1) << 32) + actor_number(sim, actor));
    const struct emitted emitted = {.lane = actor->lane, .token = token, .parent = TOKEN_NONE, .begin_ns = begin_ns, .end_ns = end_ns,
                                    .name = NAME_PART, .kind = SPAN_KIND_IMPLICIT_TASK, .category = CATEGORY_OPENMP};
    emit_span(sim, &emitted, &payload);
    emit_link(sim, LINK_KIND_FORK, region->parallel_token, token);
    emit_link(sim, LINK_KIND_JOIN, token, region->parallel_token);
}

static void part_begin(struct sim *sim, struct actor *actor, uint32_t region)
{
    actor->region = region;
    actor->barrier_sequence = 0;
    actor->made_tasks = false;
    actor_open(sim, actor, NAME_PART);
}

static void worker_start(struct sim *sim, struct actor *actor, uint32_t number)
{
    struct pick pick = {0};
    int64_t lag_ns = draw(sim, actor, sim->costs.fork_ns);
    pick_offer(sim, &pick, sim->regions[number].forked, lag_ns, RULE_FORK);
    if (actor->now.node != NOWHERE || !sim->history)
        pick_offer(sim, &pick, actor->now, lag_ns, RULE_LANE);
    actor->now = node_add(sim, actor->lane, &pick, 0);
    wait_note(sim, PATTERN_FORK, actor->lane, &sim->regions[number].forked, actor->now.ns - sim->regions[number].forked.ns, INT64_MAX);
    part_begin(sim, actor, number);
    actor_go_on(sim, actor);
}

void region_begin(struct sim *sim, struct actor *actor, const struct op *op)
{
    struct region *region = &sim->regions[op->a];
    region->open = true;
    region->forked = actor->now;
    region->ready_first = region->ready_last = NOWHERE;
    region->ends = calloc(region->threads, sizeof *region->ends);
    if (!region->ends)
        fail("out of memory");
    actor_open(sim, actor, NAME_PARALLEL);
    region->parallel_token = actor->open[actor->depth - 1].token;
    actor_advance(sim, actor, draw(sim, actor, sim->costs.fork_ns / 2), NAME_PARALLEL);
    part_begin(sim, actor, (uint32_t)op->a);
    for (uint32_t i = 1; i < region->threads; i++) {
        struct actor *worker = &sim->actors[region->first_actor + i];
        if (worker->waiting == WAIT_PART && worker->ops[worker->at].a == op->a)
            worker_start(sim, worker, (uint32_t)op->a);
    }
    actor_go_on(sim, actor);
}

void region_part(struct sim *sim, struct actor *actor, const struct op *op)
{
    actor->waiting = WAIT_PART;
    if (sim->regions[op->a].open)
        worker_start(sim, actor, (uint32_t)op->a);
}

static void emit_barrier(struct sim *sim, const struct actor *actor, int64_t begin_ns, int64_t end_ns, uint32_t token, uint16_t name, bool explicit_one,
                         uint64_t sequence)
{
    struct payload payload = {.kind = PAYLOAD_BARRIER};
    region_number(sim, actor->region, &payload, FIELD_BARRIER_region);
    const char *type = sim->options->gomp ? (name == NAME_FINAL_BARRIER ? "parallel" : "barrier") : explicit_one ? "explicit" : "implicit";
    put_text(sim, &payload, FIELD_BARRIER_type, type);
    put_number(&payload, FIELD_BARRIER_sequence, sequence);
    put_number(&payload, FIELD_BARRIER_wait_start_ns, 0);
    put_number(&payload, FIELD_BARRIER_wait_ns, (uint64_t)(end_ns - begin_ns));
    const struct emitted emitted = {.lane = actor->lane, .token = token, .parent = TOKEN_NONE, .begin_ns = begin_ns, .end_ns = end_ns, .name = name,
                                    .kind = SPAN_KIND_BARRIER, .category = CATEGORY_OPENMP};
    emit_span(sim, &emitted, &payload);
}

void region_end(struct sim *sim, struct actor *actor, const struct op *op)
{
    struct region *region = &sim->regions[op->a];
    const struct open_span part = actor_close(actor);
    actor_advance(sim, actor, draw(sim, actor, sim->costs.join_ns), NAME_PART);
    int64_t part_end_ns = actor->now.ns;
    const struct open_span parallel = actor_close(actor);
    actor_advance(sim, actor, draw(sim, actor, sim->costs.join_ns), NAME_PARALLEL);
    struct payload payload = {.kind = PAYLOAD_REGION};
    region_number(sim, (uint32_t)op->a, &payload, FIELD_REGION_region);
    put_number(&payload, FIELD_REGION_requested, region->threads);
    put_number(&payload, FIELD_REGION_threads, region->threads);
    put_number(&payload, FIELD_REGION_level, 1);
    put_text(sim, &payload, FIELD_REGION_hook, sim->options->gomp ? "gomp" : "ompt");
    emit_call(sim, actor, parallel.begin_ns, parallel.token, NAME_PARALLEL, SPAN_KIND_PARALLEL, CATEGORY_OPENMP, &payload);
    if (!sim->options->gomp)
        emit_part(sim, actor, part.begin_ns, part_end_ns, part.token);
    for (uint32_t i = sim->options->gomp ? 0 : 1; i < region->threads; i++) {
        struct actor worker = sim->actors[region->first_actor + i];
        const struct worker_end *end = &region->ends[i];
        worker.region = (uint32_t)op->a;
        emit_barrier(sim, &worker, end->barrier_ns, actor->now.ns, end->barrier_token, NAME_FINAL_BARRIER, false, end->sequence);
        emit_part(sim, &worker, end->part_ns, actor->now.ns, end->part_token);
        wait_note(sim, PATTERN_TEAM_BARRIER_COMPLETION, worker.lane, NULL, actor->now.ns - end->opened_ns, INT64_MAX);
    }
    free(region->ends);
    region->ends = NULL;
    actor_go_on(sim, actor);
}

void team_loop(struct sim *sim, struct actor *actor, const struct op *op)
{
    int64_t begin_ns = actor->now.ns;
    actor_work(sim, actor, scaled(sim, op->name, op->ns), sim->options->gomp ? actor_name(actor) : op->name);
    if (sim->options->gomp) {
        actor_go_on(sim, actor);
        return;
    }
    struct payload payload = {.kind = PAYLOAD_WORK};
    region_number(sim, actor->region, &payload, FIELD_WORK_region);
    put_number(&payload, FIELD_WORK_iterations, 1000);
    put_text(sim, &payload, FIELD_WORK_schedule, "static");
    emit_call(sim, actor, begin_ns, token_new(sim), op->name, SPAN_KIND_LOOP, CATEGORY_OPENMP, &payload);
    actor_go_on(sim, actor);
}

/* This one's way out of a barrier: after whoever came last, or after the last task. */
static void barrier_leave(struct sim *sim, const struct team_barrier *barrier, struct actor *actor, const struct moment *last, bool tied, bool own)
{
    struct pick pick = {0};
    struct moment before = actor->now;
    int64_t lag_ns = draw(sim, actor, sim->costs.barrier_ns);
    pick_offer(sim, &pick, before, lag_ns, RULE_LANE);
    if (!own)
        pick_offer(sim, &pick, *last, lag_ns, RULE_BARRIER);
    pick.tied |= tied;
    actor->now = node_add(sim, actor->lane, &pick, barrier->name);
    if (!own)
        wait_note(sim, barrier->explicit_one ? PATTERN_EXPLICIT_BARRIER : PATTERN_IMPLICIT_BARRIER, actor->lane, last,
                  last->ns - actor->begin_ns - actor->tasks_ns, actor->now.ns - actor->begin_ns);
    if (!barrier->final || (!actor->thread && !sim->options->gomp))
        wait_note(sim, PATTERN_TEAM_BARRIER_COMPLETION, actor->lane, NULL, actor->now.ns - last->ns, INT64_MAX);
    if (barrier->final && (actor->thread || sim->options->gomp)) {
        struct worker_end *end = &sim->regions[barrier->region].ends[actor->thread];
        const struct open_span part = actor->thread ? actor_close(actor) : actor->open[actor->depth - 1];
        *end = (struct worker_end){part.begin_ns, actor->begin_ns, last->ns, part.token, actor->token, actor->barrier_sequence};
    } else {
        emit_barrier(sim, actor, actor->begin_ns, actor->now.ns, actor->token, barrier->name, barrier->explicit_one, actor->barrier_sequence);
    }
    actor->barrier_sequence++;
    actor_go_on(sim, actor);
}

void team_barrier_check(struct sim *sim, const struct actor *actor)
{
    const struct team_barrier *barrier = &sim->barriers[actor->barrier];
    const struct region *region = &sim->regions[barrier->region];
    if (actor->waiting != WAIT_BARRIER || barrier->entered < region->threads || region->tasks_open)
        return;
    struct actor *team = &sim->actors[region->first_actor];
    uint32_t last = 0;
    bool tied = false;
    for (uint32_t i = 1; i < region->threads; i++) {
        tied = team[i].now.ns == team[last].now.ns || (tied && team[i].now.ns < team[last].now.ns);
        if (team[i].now.ns > team[last].now.ns)
            last = i;
    }
    const struct moment latest = team[last].now;
    uint32_t group = region->threads > 1 ? emit_group(sim, LINK_KIND_BARRIER, barrier->name, team[0].barrier_sequence) : 0;
    for (uint32_t i = 0; i < region->threads; i++) {
        if (region->threads > 1)
            emit_member(sim, group, team[i].token, -1);
        barrier_leave(sim, barrier, &team[i], &latest, tied, i == last);
    }
}

void team_barrier_enter(struct sim *sim, struct actor *actor, const struct op *op)
{
    actor->waiting = WAIT_BARRIER;
    actor->barrier = (uint32_t)op->a;
    actor->tasks_ns = 0;
    actor->begin_ns = actor->now.ns;
    actor->token = token_new(sim);
    sim->barriers[op->a].entered++;
    task_take(sim, actor);
    if (actor->running == NOWHERE)
        team_barrier_check(sim, actor);
}

static void lock_have(struct sim *sim, struct actor *actor, struct lock *lock, const struct moment *released)
{
    struct pick pick = {0};
    struct moment asked = actor->entered;
    pick_offer(sim, &pick, asked, actor->wait_cost_ns, RULE_LANE);
    if (released)
        pick_offer(sim, &pick, *released, actor->wait_cost_ns, RULE_LOCK);
    actor->now = node_add(sim, actor->lane, &pick, lock->name);
    if (released)
        wait_note(sim, lock->critical ? PATTERN_CRITICAL : PATTERN_LOCK, actor->lane, released, actor->now.ns - asked.ns, actor->now.ns - asked.ns);
    lock->held = true;
    lock->asked_ns = asked.ns;
    lock->had_ns = actor->now.ns;
    decide(sim, (uint64_t)(lock - sim->locks) << 32 ^ actor->lane);
    if (lock->critical) {
        actor_open(sim, actor, lock->name);
        actor->open[actor->depth - 1].begin_ns = asked.ns;
    } else {
        actor->lock_token = token_new(sim);
    }
    actor_go_on(sim, actor);
}

void lock_ask(struct sim *sim, struct actor *actor, const struct op *op)
{
    struct lock *lock = &sim->locks[op->a];
    actor->entered = actor->now;
    actor->wait_cost_ns = draw(sim, actor, sim->costs.lock_ns);
    if (!lock->held) {
        lock_have(sim, actor, lock, NULL);
        return;
    }
    size_t capacity = sizeof lock->queue / sizeof *lock->queue;
    if (lock->queue_count == capacity)
        fail("too many threads wait for a lock");
    lock->queue[(lock->queue_first + lock->queue_count++) % capacity] = actor_number(sim, actor);
    actor->waiting = WAIT_LOCK;
}

void lock_give(struct sim *sim, struct actor *actor, const struct op *op)
{
    struct lock *lock = &sim->locks[op->a];
    struct payload payload = {.kind = PAYLOAD_LOCK};
    put_number(&payload, FIELD_LOCK_lock, 0x5000 + (uint64_t)op->a * 64);
    put_text(sim, &payload, FIELD_LOCK_type, lock->critical ? "critical" : "lock");
    put_number(&payload, FIELD_LOCK_wait_ns, (uint64_t)(lock->had_ns - lock->asked_ns));
    put_number(&payload, FIELD_LOCK_held_ns, (uint64_t)(actor->now.ns - lock->had_ns));
    uint32_t token = lock->critical ? actor_close(actor).token : actor->lock_token;
    const struct emitted emitted = {.lane = actor->lane, .token = token, .parent = TOKEN_NONE, .begin_ns = lock->asked_ns,
                                    .end_ns = lock->critical ? actor->now.ns : lock->had_ns, .name = lock->name,
                                    .kind = lock->critical ? SPAN_KIND_CRITICAL : SPAN_KIND_LOCK, .category = CATEGORY_OPENMP};
    emit_span(sim, &emitted, &payload);
    if (lock->before_ns > lock->asked_ns)
        emit_link(sim, LINK_KIND_LOCK, lock->before_token, token);
    lock->before_token = token;
    lock->before_ns = actor->now.ns;
    lock->held = false;
    struct moment released = actor->now;
    actor_go_on(sim, actor);
    if (!lock->queue_count)
        return;
    struct actor *next = &sim->actors[lock->queue[lock->queue_first]];
    lock->queue_first = (lock->queue_first + 1) % (uint32_t)(sizeof lock->queue / sizeof *lock->queue);
    lock->queue_count--;
    lock_have(sim, next, lock, &released);
}

void single_begin(struct sim *sim, struct actor *actor)
{
    actor_open(sim, actor, NAME_SINGLE);
    actor_go_on(sim, actor);
}

void single_end(struct sim *sim, struct actor *actor)
{
    const struct open_span open = actor_close(actor);
    struct payload payload = {.kind = PAYLOAD_WORK};
    region_number(sim, actor->region, &payload, FIELD_WORK_region);
    emit_call(sim, actor, open.begin_ns, open.token, NAME_SINGLE, SPAN_KIND_SINGLE, CATEGORY_OPENMP, &payload);
    actor_go_on(sim, actor);
}
