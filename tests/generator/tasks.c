/* SPDX-License-Identifier: MIT */
/*
 * Explicit tasks: ready when they are made and what they depend on is over; whoever waits in a barrier or taskwait takes the oldest
 * ready one. A task that becomes ready while threads are free goes to the first of them.
 */
#include "sim.h"

#include <stdlib.h>

static uint64_t task_id(uint32_t task)
{
    return 1000 + (uint64_t)task;
}

static bool is_free(const struct actor *actor)
{
    return (actor->waiting == WAIT_BARRIER || actor->waiting == WAIT_TASKS) && actor->running == NOWHERE;
}

static void task_begin(struct sim *sim, struct actor *actor, uint32_t number)
{
    struct task *task = &sim->tasks[number];
    struct pick pick = {0};
    struct moment free_since = actor->now;
    pick_offer(sim, &pick, free_since, task->lag_ns, RULE_LANE);
    pick_offer(sim, &pick, task->made, task->lag_ns, RULE_TASK_CREATE);
    for (uint32_t i = 0; i < task->depend_count; i++)
        if (task->waited_for[i])
            pick_offer(sim, &pick, sim->tasks[task->depends[i]].finished, task->lag_ns, RULE_TASK_DEPEND);
    actor->now = node_add(sim, actor->lane, &pick, actor->waiting == WAIT_TASKS ? NAME_TASKWAIT : sim->barriers[actor->barrier].name);
    decide(sim, (uint64_t)number << 32 ^ actor->lane);
    task->begin_ns = actor->now.ns;
    task->token = token_new(sim);
    actor->running = number;
    actor_work(sim, actor, scaled(sim, task->name, task->ns), task->name);
    actor->tasks_ns += actor->now.ns - task->begin_ns;
    wake_add(sim, actor->now.ns, 0, actor_number(sim, actor));
}

void task_take(struct sim *sim, struct actor *actor)
{
    struct region *region = &sim->regions[actor->region];
    uint32_t first = region->ready_first;
    if (first == NOWHERE)
        return;
    region->ready_first = sim->tasks[first].next;
    if (region->ready_first == NOWHERE)
        region->ready_last = NOWHERE;
    task_begin(sim, actor, first);
}

static void task_ready(struct sim *sim, uint32_t number)
{
    struct region *region = &sim->regions[sim->tasks[number].region];
    for (uint32_t i = 0; i < region->threads; i++) {
        struct actor *actor = &sim->actors[region->first_actor + i];
        if (is_free(actor) && actor->region == sim->tasks[number].region) {
            task_begin(sim, actor, number);
            return;
        }
    }
    sim->tasks[number].next = NOWHERE;
    *(region->ready_last == NOWHERE ? &region->ready_first : &sim->tasks[region->ready_last].next) = number;
    region->ready_last = number;
}

static void put_task(const struct sim *sim, uint32_t number, struct payload *payload)
{
    put_number(payload, FIELD_TASK_task, task_id(number));
    region_number(sim, sim->tasks[number].region, payload, FIELD_TASK_region);
}

void task_make(struct sim *sim, struct actor *actor, const struct op *op)
{
    uint32_t number = (uint32_t)op->a;
    struct task *task = &sim->tasks[number];
    actor_work(sim, actor, draw(sim, actor, sim->costs.create_ns), actor_name(actor)); /* what is recorded is a moment behind it */
    task->made = actor->now;
    task->creator = actor_number(sim, actor);
    task->region = actor->region;
    task->create_token = token_new(sim);
    task->open_depends = 0;
    actor->made_tasks = true;
    actor->children_open++;
    sim->regions[actor->region].tasks_open++;
    for (uint32_t i = 0; i < task->depend_count; i++) {
        struct task *before = &sim->tasks[task->depends[i]];
        task->waited_for[i] = !before->done;
        if (before->done)
            continue;
        task->open_depends++;
        size_t row = APPEND(before->followers, before->follower_count, before->follower_capacity);
        before->followers[row] = number;
    }
    struct payload payload = {.kind = PAYLOAD_TASK};
    put_task(sim, number, &payload);
    put_number(&payload, FIELD_TASK_parent, (UINT64_C(1) << 32) + task->creator);
    put_text(sim, &payload, FIELD_TASK_type, "explicit");
    emit_call(sim, actor, actor->now.ns, task->create_token, NAME_TASK_CREATE, SPAN_KIND_TASK_CREATE, CATEGORY_OPENMP, &payload);
    actor_go_on(sim, actor);
    if (!task->open_depends)
        task_ready(sim, number);
}

static void taskwait_over(struct sim *sim, struct actor *actor)
{
    struct pick pick = {0};
    struct moment before = actor->now;
    pick_offer(sim, &pick, before, actor->wait_cost_ns, RULE_LANE);
    if (actor->last_child.ns > before.ns)
        pick_offer(sim, &pick, actor->last_child, actor->wait_cost_ns, RULE_TASKWAIT);
    actor->now = node_add(sim, actor->lane, &pick, NAME_TASKWAIT);
    if (pick.rule == RULE_TASKWAIT)
        wait_note(sim, PATTERN_TASKWAIT, actor->lane, &pick.cause, pick.cause.ns - actor->begin_ns - actor->tasks_ns, actor->now.ns - actor->begin_ns);
    struct payload payload = {.kind = PAYLOAD_BARRIER};
    region_number(sim, actor->region, &payload, FIELD_BARRIER_region);
    put_text(sim, &payload, FIELD_BARRIER_type, "taskwait");
    put_number(&payload, FIELD_BARRIER_wait_start_ns, 0);
    put_number(&payload, FIELD_BARRIER_wait_ns, (uint64_t)(actor->now.ns - actor->begin_ns));
    put_number(&payload, FIELD_BARRIER_task, (UINT64_C(1) << 32) + actor_number(sim, actor));
    emit_call(sim, actor, actor->begin_ns, actor->token, NAME_TASKWAIT, SPAN_KIND_TASKWAIT, CATEGORY_OPENMP, &payload);
    actor_go_on(sim, actor);
}

void task_wait(struct sim *sim, struct actor *actor)
{
    actor->waiting = WAIT_TASKS;
    actor->tasks_ns = 0;
    actor->begin_ns = actor->now.ns;
    actor->token = token_new(sim);
    actor->wait_cost_ns = draw(sim, actor, sim->costs.join_ns);
    if (!actor->children_open) {
        taskwait_over(sim, actor);
        return;
    }
    task_take(sim, actor);
}

static void emit_task(struct sim *sim, const struct actor *actor, uint32_t number)
{
    const struct task *task = &sim->tasks[number];
    struct payload payload = {.kind = PAYLOAD_TASK};
    put_task(sim, number, &payload);
    put_number(&payload, FIELD_TASK_part, 0);
    put_text(sim, &payload, FIELD_TASK_end, "complete");
    emit_call(sim, actor, task->begin_ns, task->token, task->name, SPAN_KIND_TASK, CATEGORY_OPENMP, &payload);
    emit_link(sim, LINK_KIND_TASK, task->create_token, task->token);
    for (uint32_t i = 0; i < task->depend_count; i++)
        if (task->waited_for[i])
            emit_link(sim, LINK_KIND_DEPEND, sim->tasks[task->depends[i]].token, task->token);
    const struct actor *creator = &sim->actors[task->creator];
    if (creator->waiting == WAIT_TASKS)
        emit_link(sim, LINK_KIND_JOIN, task->token, creator->token);
}

void task_end(struct sim *sim, struct actor *actor)
{
    uint32_t number = actor->running;
    struct task *task = &sim->tasks[number];
    struct actor *creator = &sim->actors[task->creator];
    emit_task(sim, actor, number);
    task->done = true;
    task->finished = actor->now;
    actor->running = NOWHERE;
    creator->children_open--;
    creator->last_child = actor->now;
    sim->regions[task->region].tasks_open--;
    if (creator->waiting == WAIT_TASKS && creator->running == NOWHERE && !creator->children_open)
        taskwait_over(sim, creator);
    for (size_t i = 0; i < task->follower_count; i++)
        if (--sim->tasks[task->followers[i]].open_depends == 0)
            task_ready(sim, task->followers[i]);
    if (actor->waiting == WAIT_TASKS && actor->running == NOWHERE && !actor->children_open)
        taskwait_over(sim, actor);
    if (is_free(actor))
        task_take(sim, actor);
    if (is_free(actor))
        team_barrier_check(sim, actor);
}
