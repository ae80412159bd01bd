/* SPDX-License-Identifier: MIT */
/*
 * Waits among the threads of a process: barriers, locks, tasks. A barrier is over when its last thread has come and its last task has
 * run; tasks that a thread runs while it waits are no waiting.
 */
#include "wait_internal.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

/* A thread's part of a barrier. */
struct part {
    uint32_t span, lane;
    uint32_t last_task;             /* ID_NONE: it ran none */
    int64_t begin_ns, end_ns;       /* waiting */
    int64_t task_end_ns;            /* of the last task it ran; INT64_MIN: none */
    uint8_t pattern;
};

/* Time of tasks that a lane ran within [begin, end) of a span, and the last of them. */
static int64_t tasks_within(const struct span_table *table, uint32_t span, int64_t begin_ns, int64_t end_ns, uint32_t *ret_last)
{
    int64_t covered_ns = begin_ns, sum_ns = 0;
    uint32_t last = table->track_first[table->track[span] + 1];
    for (uint32_t at = span + 1; at < last && table->begin_ns[at] < end_ns; at++) {
        if (table->kind[at] != SPAN_KIND_TASK || table->end_ns[at] <= covered_ns)
            continue;
        int64_t from_ns = table->begin_ns[at] > covered_ns ? table->begin_ns[at] : covered_ns;
        covered_ns = table->end_ns[at] < end_ns ? table->end_ns[at] : end_ns;
        sum_ns += covered_ns > from_ns ? covered_ns - from_ns : 0;
        if (ret_last)
            *ret_last = at;
    }
    return sum_ns;
}

/* The waiting part of a barrier, taskwait or taskgroup: the whole span where nothing else is known. */
static int waiting_part(struct wait_building *building, uint32_t span, int64_t *ret_begin_ns, int64_t *ret_end_ns, uint8_t *ret_pattern)
{
    const struct span_table *table = building->table;
    struct payload payload;
    uint64_t start_ns = 0, wait_ns = 0;
    int result = span_table_payload(building->table, span, &payload, building->err);
    *ret_begin_ns = table->begin_ns[span];
    *ret_end_ns = table->end_ns[span];
    if (result < 0 || payload.kind != PAYLOAD_BARRIER)
        return result;
    uint64_t whole_ns = (uint64_t)(*ret_end_ns - *ret_begin_ns);
    if (payload_field(&payload, FIELD_BARRIER_wait_start_ns, &start_ns) && start_ns <= whole_ns)
        *ret_begin_ns += (int64_t)start_ns;
    if (payload_field(&payload, FIELD_BARRIER_wait_ns, &wait_ns) && wait_ns <= (uint64_t)(*ret_end_ns - *ret_begin_ns))
        *ret_end_ns = *ret_begin_ns + (int64_t)wait_ns;
    const char *type = payload.present >> FIELD_BARRIER_type & 1 ? trace_text(building->trace, payload.fields[FIELD_BARRIER_type].string) : "";
    if (strcmp(type, "explicit") == 0)
        *ret_pattern = WAIT_OMP_EXPLICIT_BARRIER;
    else if (strcmp(type, "barrier") == 0)
        *ret_pattern = WAIT_OMP_BARRIER;
    return 0;
}

static int part_read(struct wait_building *building, uint32_t span, struct part *ret_part)
{
    const struct span_table *table = building->table;
    *ret_part = (struct part){.span = span, .lane = table->track[span], .last_task = ID_NONE, .task_end_ns = INT64_MIN,
                               .pattern = WAIT_OMP_IMPLICIT_BARRIER};
    int result = waiting_part(building, span, &ret_part->begin_ns, &ret_part->end_ns, &ret_part->pattern);
    tasks_within(table, span, ret_part->begin_ns, ret_part->end_ns, &ret_part->last_task);
    if (ret_part->last_task != ID_NONE)
        ret_part->task_end_ns = table->end_ns[ret_part->last_task];
    return result;
}

/* What opened the barrier: the last thread's coming or the last task's end. */
struct opening {
    int64_t time_ns;
    uint32_t cause, lane;
};

static struct opening opening_of(const struct part *parts, size_t count)
{
    struct opening opening = {.time_ns = INT64_MIN, .cause = ID_NONE};
    for (size_t i = 0; i < count; i++) {
        const struct part *part = &parts[i];
        if (part->begin_ns > opening.time_ns)
            opening = (struct opening){part->begin_ns, part->span, part->lane};
        if (part->task_end_ns > opening.time_ns)
            opening = (struct opening){part->task_end_ns, part->last_task, part->lane};
    }
    return opening;
}

static int part_waits(struct wait_building *building, const struct part *part, const struct opening *opening)
{
    const struct span_table *table = building->table;
    int64_t until_ns = opening->time_ns < part->end_ns ? opening->time_ns : part->end_ns;
    int64_t tasks_ns = tasks_within(table, part->span, part->begin_ns, until_ns, NULL);
    struct wait_state state = {.span = {part->span}, .lane = {part->lane}, .cause = {opening->cause}, .cause_lane = {opening->lane},
                               .begin_ns = part->begin_ns, .time_ns = until_ns - part->begin_ns - tasks_ns,
                               .pattern = part->pattern,
                               .confidence = CONFIDENCE_CERTAIN};
    int result = part->lane == opening->lane ? 0 : wait_add(building, &state);
    state = (struct wait_state){.span = {part->span}, .lane = {part->lane}, .cause = SPAN_NONE, .cause_lane = TRACK_NONE,
                                .begin_ns = until_ns, .time_ns = part->end_ns - until_ns, .pattern = WAIT_OMP_BARRIER_COMPLETION,
                                .confidence = CONFIDENCE_CERTAIN};
    return result ? result : wait_add_released(building, &state);
}

static int barrier_waits(struct wait_building *building, const struct part *parts, size_t count)
{
    struct opening opening = opening_of(parts, count);
    uint32_t event = building->event_count++;
    int result = 0;
    for (size_t i = 0; i < count && result == 0; i++) {
        result = part_waits(building, &parts[i], &opening);
        if (result == 0)
            result = wait_add_step(building, parts[i].lane, event, parts[i].end_ns);
    }
    return result;
}

static int find_barriers(struct wait_building *building)
{
    uint32_t group_count;
    const struct trace_group *groups = trace_groups(building->trace, &group_count);
    CLEANUP(freep) struct part *parts = NULL;
    size_t capacity = 0;
    int result = 0;
    for (size_t first = 0, next; first < building->member_count && result == 0; first = next) {
        const struct group_member *members = building->members;
        uint32_t group = members[first].group.index;
        for (next = first; next < building->member_count && members[next].group.index == group;)
            next++;
        if (group >= group_count || groups[group].kind != LINK_KIND_BARRIER)
            continue;
        struct part *grown = array_reserve(parts, &capacity, next - first, sizeof *parts);
        if (!grown)
            return -ENOMEM;
        parts = grown;
        for (size_t i = first; i < next && result == 0; i++)
            result = part_read(building, members[i].span.index, &parts[i - first]);
        if (result == 0)
            result = barrier_waits(building, parts, next - first);
    }
    return result;
}

/* Threads begin their parts of a region in step with the one that forked them. */
static int find_forks(struct wait_building *building)
{
    const struct span_table *table = building->table;
    struct map events;
    int result = 0;
    map_init(&events);
    for (size_t i = 0; i < building->link_count && result == 0; i++) {
        const struct trace_link *link = &building->links[i];
        uint64_t event;
        if (link->kind != LINK_KIND_FORK)
            continue;
        if (!map_get(&events, link->from.index, &event)) {
            event = building->event_count++;
            result = map_set(&events, link->from.index, event);
        }
        if (result == 0)
            result = wait_add_step(building, table->track[link->to.index], (uint32_t)event, table->begin_ns[link->to.index]);
    }
    map_finish(&events);
    return result;
}

/* Who waited for a lock waited for whoever gave it back: those of whom a link tells; others found it free. */
static int find_locks(struct wait_building *building)
{
    const struct span_table *table = building->table;
    int result = 0;
    for (size_t i = 0; i < building->link_count && result == 0; i++) {
        const struct trace_link *link = &building->links[i];
        struct payload payload;
        uint64_t wait_ns = 0;
        if (link->kind != LINK_KIND_LOCK || table->track[link->from.index] == table->track[link->to.index])
            continue;
        uint32_t span = link->to.index;
        result = span_table_payload(building->table, span, &payload, building->err);
        if (result < 0 || payload.kind != PAYLOAD_LOCK || !payload_field(&payload, FIELD_LOCK_wait_ns, &wait_ns))
            continue;
        uint8_t pattern = table->kind[span] == SPAN_KIND_CRITICAL  ? WAIT_OMP_CRITICAL
                          : table->kind[span] == SPAN_KIND_ORDERED ? WAIT_OMP_ORDERED
                                                                   : WAIT_OMP_LOCK;
        const struct wait_state state = {.span = {span}, .lane = {table->track[span]}, .cause = link->from,
                                         .cause_lane = {table->track[link->from.index]}, .begin_ns = table->begin_ns[span],
                                         .time_ns = (int64_t)wait_ns, .pattern = pattern, .confidence = (uint8_t)link->confidence};
        result = wait_add(building, &state);
    }
    return result;
}

/* An ordered part waits for its turn: whose turn it was is told by no link of some runtimes. */
static int find_ordered(struct wait_building *building)
{
    const struct span_table *table = building->table;
    struct map linked;
    int result = 0;
    map_init(&linked);
    for (size_t i = 0; i < building->link_count && result == 0; i++)
        if (building->links[i].kind == LINK_KIND_LOCK)
            result = map_set(&linked, building->links[i].to.index, 1);
    for (uint32_t span = 0; span < table->count && result == 0; span++) {
        struct payload payload;
        uint64_t wait_ns = 0, known;
        if (table->kind[span] != SPAN_KIND_ORDERED || map_get(&linked, span, &known))
            continue;
        result = span_table_payload(building->table, span, &payload, building->err);
        if (result < 0 || payload.kind != PAYLOAD_LOCK || !payload_field(&payload, FIELD_LOCK_wait_ns, &wait_ns))
            continue;
        const struct wait_state state = {.span = {span}, .lane = {table->track[span]}, .cause = SPAN_NONE, .cause_lane = TRACK_NONE,
                                         .begin_ns = table->begin_ns[span], .time_ns = (int64_t)wait_ns, .pattern = WAIT_OMP_ORDERED,
                                         .confidence = CONFIDENCE_CERTAIN};
        result = wait_add(building, &state);
    }
    map_finish(&linked);
    return result;
}

/* A wait for tasks ends with the last of them. */
static int find_taskwaits(struct wait_building *building)
{
    const struct span_table *table = building->table;
    struct map last; /* wait -> its latest task */
    int result = 0;
    map_init(&last);
    for (size_t i = 0; i < building->link_count && result == 0; i++) {
        const struct trace_link *link = &building->links[i];
        uint64_t known;
        if (link->kind == LINK_KIND_JOIN && table->kind[link->from.index] == SPAN_KIND_TASK &&
            (!map_get(&last, link->to.index, &known) || table->end_ns[link->from.index] > table->end_ns[known]))
            result = map_set(&last, link->to.index, link->from.index);
    }
    for (uint32_t span = 0; span < table->count && result == 0; span++) {
        int64_t begin_ns, end_ns;
        uint8_t ignored;
        uint64_t task;
        if (table->kind[span] != SPAN_KIND_TASKWAIT && table->kind[span] != SPAN_KIND_TASKGROUP)
            continue;
        result = waiting_part(building, span, &begin_ns, &end_ns, &ignored);
        bool known = map_get(&last, span, &task) && table->track[task] != table->track[span];
        if (result < 0 || !known)
            continue;
        const struct wait_state state = {.span = {span}, .lane = {table->track[span]}, .cause = {(uint32_t)task},
                                         .cause_lane = {table->track[task]}, .begin_ns = begin_ns,
                                         .time_ns = end_ns - begin_ns - tasks_within(table, span, begin_ns, end_ns, NULL),
                                         .pattern = WAIT_OMP_TASKWAIT, .confidence = CONFIDENCE_CERTAIN};
        result = wait_add(building, &state);
    }
    map_finish(&last);
    return result;
}

int wait_find_openmp(struct wait_building *building)
{
    static int (*const parts[])(struct wait_building *) = {find_barriers, find_forks, find_locks, find_ordered, find_taskwaits};
    int result = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && result == 0; i++)
        result = parts[i](building);
    return result;
}
