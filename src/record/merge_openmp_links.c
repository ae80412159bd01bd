/* SPDX-License-Identifier: MIT */
/*
 * What caused what: a region's threads start with it and end into it, the team's parts of a barrier belong together, a task runs
 * after it was made and after those that it depends on, a wait ends after the tasks it waits for, a lock goes from one to the next.
 * All by ids that the runtime gave: certain.
 */
#include "merge_openmp.h"

#include "wire/kinds.h"

#include <stdlib.h>

static int link_add(struct merge *merge, enum link_kind kind, span_id from, span_id to)
{
    const struct trace_link link = {.kind = kind, .confidence = CONFIDENCE_CERTAIN, .from = from, .to = to};
    return trace_builder_add_link(merge->builder, &link);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_times(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int teams_link(struct merge *merge, struct openmp *openmp)
{
    int code = 0;
    for (size_t i = 0; i < openmp->members.count && code == 0; i++) {
        const struct openmp_member *member = &openmp->members.items[i];
        uint64_t region;
        if (!map_get(&openmp->regions, member->region, &region)) {
            openmp->unmatched++;
            continue;
        }
        const span_id parallel = {(uint32_t)region};
        code = link_add(merge, LINK_KIND_FORK, parallel, member->span);
        if (code == 0)
            code = link_add(merge, LINK_KIND_JOIN, member->span, parallel);
    }
    return code;
}

static int compare_barriers(const void *left, const void *right)
{
    const struct openmp_barrier *a = left, *b = right;
    int order = compare_numbers(a->region, b->region);
    order = order ? order : compare_numbers(a->sequence, b->sequence);
    return order ? order : compare_numbers(a->span.index, b->span.index);
}

/* A barrier that one thread comes to holds nobody up. */
static int barriers_group(struct merge *merge, struct openmp *openmp)
{
    struct openmp_barrier *items = openmp->barriers.items;
    size_t count = openmp->barriers.count;
    if (count)
        qsort(items, count, sizeof *items, compare_barriers);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && items[next].region == items[first].region && items[next].sequence == items[first].sequence;)
            next++;
        if (next - first < 2)
            continue;
        const struct trace_group group = {.kind = LINK_KIND_BARRIER, .name = items[first].name, .sequence = items[first].sequence};
        group_id id;
        int code = trace_builder_add_group(merge->builder, &group, &id);
        for (size_t i = first; i < next && code == 0; i++) {
            const struct group_member member = {.group = id, .span = items[i].span, .rank = -1};
            code = trace_builder_add_member(merge->builder, &member);
        }
        if (code)
            return code;
    }
    return 0;
}

static int compare_stretches(const void *left, const void *right)
{
    const struct openmp_stretch *a = left, *b = right;
    int order = compare_numbers(a->task, b->task);
    order = order ? order : compare_times(a->begin_ns, b->begin_ns);
    return order ? order : compare_numbers(a->span.index, b->span.index);
}

/* Stretches are sorted by task and time: the first of this task's, NULL if none was recorded. */
static const struct openmp_stretch *stretch_first(const struct openmp *openmp, uint64_t task)
{
    const struct openmp_stretch *items = openmp->stretches.items;
    size_t low = 0, high = openmp->stretches.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].task < task)
            low = middle + 1;
        else
            high = middle;
    }
    return low < openmp->stretches.count && items[low].task == task ? &items[low] : NULL;
}

static const struct openmp_stretch *stretch_last(const struct openmp *openmp, uint64_t task)
{
    const struct openmp_stretch *items = openmp->stretches.items;
    size_t low = 0, high = openmp->stretches.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].task <= task)
            low = middle + 1;
        else
            high = middle;
    }
    return low && items[low - 1].task == task ? &items[low - 1] : NULL;
}

static int tasks_link(struct merge *merge, struct openmp *openmp)
{
    int code = 0;
    if (openmp->stretches.count)
        qsort(openmp->stretches.items, openmp->stretches.count, sizeof *openmp->stretches.items, compare_stretches);
    for (size_t i = 1; i < openmp->stretches.count && code == 0; i++)
        if (openmp->stretches.items[i].task == openmp->stretches.items[i - 1].task)
            code = link_add(merge, LINK_KIND_TASK, openmp->stretches.items[i - 1].span, openmp->stretches.items[i].span);
    for (size_t i = 0; i < openmp->creates.count && code == 0; i++) {
        const struct openmp_stretch *first = stretch_first(openmp, openmp->creates.items[i].task);
        if (first && first->span.index != openmp->creates.items[i].span.index)
            code = link_add(merge, LINK_KIND_TASK, openmp->creates.items[i].span, first->span);
        openmp->not_run += !first;
    }
    for (size_t i = 0; i < openmp->depends.count && code == 0; i++) {
        const struct openmp_stretch *from = stretch_last(openmp, openmp->depends.items[i].first);
        const struct openmp_stretch *to = stretch_first(openmp, openmp->depends.items[i].second);
        if (from && to)
            code = link_add(merge, LINK_KIND_DEPEND, from->span, to->span);
        else
            openmp->unmatched++;
    }
    return code;
}

static int compare_creates(const void *left, const void *right)
{
    const struct openmp_create *a = left, *b = right;
    int order = compare_numbers(a->parent, b->parent);
    order = order ? order : compare_times(a->time_ns, b->time_ns);
    return order ? order : compare_numbers(a->span.index, b->span.index);
}

/* Creates are sorted by parent and time: the first of this parent's that was made at `from_ns` or later. */
static size_t create_first(const struct openmp *openmp, uint64_t parent, int64_t from_ns)
{
    const struct openmp_create *items = openmp->creates.items;
    size_t low = 0, high = openmp->creates.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (items[middle].parent < parent || (items[middle].parent == parent && items[middle].time_ns < from_ns))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* When a task was through; its event's time if it was detached. */
static bool ended_in(const struct openmp *openmp, const struct openmp_stretch *last, const struct openmp_wait *wait)
{
    uint64_t fulfilled;
    int64_t end = last->end_ns;
    if (map_get(&openmp->fulfilled, last->task, &fulfilled) && (int64_t)fulfilled > end)
        end = (int64_t)fulfilled;
    return end >= wait->begin_ns && end <= wait->end_ns;
}

/* What is left to be looked at for one wait: damaged records may make a task its own ancestor. */
struct search {
    const struct openmp_wait *wait;
    int64_t from_ns;           /* tasks made before this are through */
    size_t budget;
    unsigned generation;
};
enum { GENERATIONS = 256, LOOKS = 64 /* at a task by all waits together, on average: as deep as groups are nested */ };

/* A wait ends after the tasks that ended in it: the waiting task's children, in a group those that were made in it, and theirs. */
static int wait_link(struct merge *merge, const struct openmp *openmp, struct search *search, uint64_t parent)
{
    const struct openmp_create *items = openmp->creates.items;
    const struct openmp_wait *wait = search->wait;
    for (size_t at = create_first(openmp, parent, search->from_ns); at < openmp->creates.count && search->budget; at++) {
        if (items[at].parent != parent || items[at].time_ns > wait->end_ns)
            break;
        search->budget--;
        const struct openmp_stretch *last = stretch_last(openmp, items[at].task);
        int code = last && ended_in(openmp, last, wait) ? link_add(merge, LINK_KIND_JOIN, last->span, wait->span) : 0;
        if (code == 0 && wait->group && search->generation < GENERATIONS) {
            search->generation++;
            code = wait_link(merge, openmp, search, items[at].task);
            search->generation--;
        }
        if (code)
            return code;
    }
    return 0;
}

static int compare_waits(const void *left, const void *right)
{
    const struct openmp_wait *a = left, *b = right;
    int order = compare_numbers(a->task, b->task);
    order = order ? order : compare_times(a->begin_ns, b->begin_ns);
    return order ? order : compare_numbers(a->span.index, b->span.index);
}

static int waits_link(struct merge *merge, struct openmp *openmp)
{
    struct openmp_wait *items = openmp->waits.items;
    int code = 0;
    if (openmp->creates.count)
        qsort(openmp->creates.items, openmp->creates.count, sizeof *openmp->creates.items, compare_creates);
    if (openmp->waits.count)
        qsort(items, openmp->waits.count, sizeof *items, compare_waits);
    uint64_t task = 0;
    size_t left = openmp->creates.count * LOOKS + ((size_t)1 << 16);
    int64_t through_ns = INT64_MIN; /* the task's last taskwait: all children made before it have ended */
    for (size_t i = 0; i < openmp->waits.count && code == 0; i++) {
        if (items[i].task != task)
            through_ns = INT64_MIN;
        task = items[i].task;
        struct search search = {.wait = &items[i], .from_ns = items[i].group ? items[i].begin_ns : through_ns};
        size_t budget = search.budget = left < openmp->creates.count ? left : openmp->creates.count;
        code = wait_link(merge, openmp, &search, task);
        left -= budget - search.budget;
        openmp->waits_unlinked += !left && openmp->creates.count;
        if (!items[i].group)
            through_ns = items[i].begin_ns;
    }
    return code;
}

static int compare_locks(const void *left, const void *right)
{
    const struct openmp_lock *a = left, *b = right;
    int order = compare_numbers(a->lock, b->lock);
    order = order ? order : compare_times(a->had_ns, b->had_ns);
    return order ? order : compare_numbers(a->span.index, b->span.index);
}

/* Who asked for a lock while another had it got it from that other. */
static int locks_link(struct merge *merge, struct openmp *openmp)
{
    struct openmp_lock *items = openmp->locks.items;
    int code = 0;
    if (openmp->locks.count)
        qsort(items, openmp->locks.count, sizeof *items, compare_locks);
    for (size_t i = 1; i < openmp->locks.count && code == 0; i++) {
        const struct openmp_lock *before = &items[i - 1], *lock = &items[i];
        if (before->lock == lock->lock && before->released_ns != INT64_MIN && lock->begin_ns < before->released_ns)
            code = link_add(merge, LINK_KIND_LOCK, before->span, lock->span);
    }
    return code;
}

int openmp_links_add(struct merge *merge, struct openmp *openmp)
{
    int code = teams_link(merge, openmp);
    if (code == 0)
        code = barriers_group(merge, openmp);
    if (code == 0)
        code = tasks_link(merge, openmp);
    if (code == 0)
        code = waits_link(merge, openmp);
    return code ? code : locks_link(merge, openmp);
}
