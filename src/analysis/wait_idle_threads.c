/* SPDX-License-Identifier: MIT */
/*
 * Threads of OpenMP's without anything to do: between their parts of regions, while the thread that forks for them runs alone (idle
 * threads) or a region with a smaller team (limited parallelism); in regions that they take part in, what forking and joining takes.
 */
#include "wait_internal.h"

#include "base/array.h"
#include "trace/select.h"

#include <errno.h>

struct stretch {
    uint32_t lane, span;
    uint32_t region; /* of a part; a region's own */
    int64_t begin_ns, end_ns;
};

struct idle {
    struct wait_building *building;
    struct stretch *parts, *regions; /* threads' parts of regions of other threads; outermost regions by who forked */
    size_t part_count, part_capacity, region_count, region_capacity;
    uint32_t *owner;                 /* by track: who forks for this thread; ID_NONE: nobody */
};

#define COMPARE(left, right) (((left) > (right)) - ((left) < (right)))

static int by_lane(const void *left, const void *right)
{
    const struct stretch *a = left, *b = right;
    int order = COMPARE(a->lane, b->lane);
    order = order ? order : COMPARE(a->begin_ns, b->begin_ns);
    return order ? order : COMPARE(a->span, b->span);
}

static int stretch_add(struct stretch **stretches, size_t *count, size_t *capacity, const struct span_table *table, uint32_t span,
                       uint32_t region)
{
    struct stretch *grown = array_reserve(*stretches, capacity, *count + 1, sizeof *grown);
    if (!grown)
        return -ENOMEM;
    *stretches = grown;
    grown[(*count)++] = (struct stretch){table->track[span], span, region, table->begin_ns[span], table->end_ns[span]};
    return 0;
}

/* Regions of a lane that lie within another of its regions are left out: they are sorted by begin. */
static void keep_outermost(struct stretch *stretches, size_t *count)
{
    size_t kept = 0;
    for (size_t i = 0; i < *count; i++)
        if (!kept || stretches[kept - 1].lane != stretches[i].lane || stretches[i].begin_ns >= stretches[kept - 1].end_ns)
            stretches[kept++] = stretches[i];
    *count = kept;
}

static int read_parts(struct idle *idle)
{
    const struct wait_building *building = idle->building;
    const struct span_table *table = building->table;
    int result = 0;
    for (size_t i = 0; i < building->link_count && result == 0; i++) {
        uint32_t region = building->links[i].from.index, part = building->links[i].to.index;
        if (building->links[i].kind != LINK_KIND_FORK)
            continue;
        result = stretch_add(&idle->regions, &idle->region_count, &idle->region_capacity, table, region, region);
        if (result < 0 || table->track[region] == table->track[part])
            continue;
        result = stretch_add(&idle->parts, &idle->part_count, &idle->part_capacity, table, part, region);
        idle->owner[table->track[part]] = table->track[region];
    }
    if (idle->region_count)
        qsort(idle->regions, idle->region_count, sizeof *idle->regions, by_lane);
    if (idle->part_count)
        qsort(idle->parts, idle->part_count, sizeof *idle->parts, by_lane);
    keep_outermost(idle->regions, &idle->region_count);
    keep_outermost(idle->parts, &idle->part_count);
    return result;
}

/* A thread's time without work, between its parts of two regions (ID_NONE: before the first, behind the last). */
struct gap {
    uint32_t lane, before, behind;
};

static int add_idle(struct idle *idle, const struct gap *gap, uint32_t region, int64_t begin_ns, int64_t end_ns)
{
    uint32_t lane = gap->lane;
    uint8_t pattern = region == ID_NONE ? WAIT_OMP_IDLE : region == gap->before || region == gap->behind ? WAIT_OMP_FORK : WAIT_OMP_LIMITED;
    const struct wait_state state = {.span = SPAN_NONE, .lane = {lane}, .cause = {region}, .cause_lane = {idle->owner[lane]}, .begin_ns = begin_ns,
                                     .time_ns = end_ns - begin_ns, .pattern = pattern,
                                     .confidence = CONFIDENCE_HIGH};
    bool released = region != ID_NONE && region == gap->behind && region != gap->before; /* its part of the region is there for it */
    return released ? wait_add_released(idle->building, &state) : wait_add(idle->building, &state);
}

/* Shares a thread's gap out among the regions of its owner that ran meanwhile and the times between them. */
static int share_gap(struct idle *idle, const struct gap *gap, int64_t begin_ns, int64_t end_ns)
{
    size_t low = 0, high = idle->region_count;
    uint32_t owner = idle->owner[gap->lane];
    int result = 0;
    while (low < high) { /* the first region of the owner's that ends behind the begin */
        size_t middle = low + (high - low) / 2;
        const struct stretch *region = &idle->regions[middle];
        if (region->lane < owner || (region->lane == owner && region->end_ns <= begin_ns))
            low = middle + 1;
        else
            high = middle;
    }
    for (; result == 0 && low < idle->region_count && idle->regions[low].lane == owner && idle->regions[low].begin_ns < end_ns; low++) {
        const struct stretch *region = &idle->regions[low];
        if (region->begin_ns > begin_ns) {
            result = add_idle(idle, gap, ID_NONE, begin_ns, region->begin_ns);
            begin_ns = region->begin_ns;
        }
        int64_t until_ns = region->end_ns < end_ns ? region->end_ns : end_ns;
        if (result == 0)
            result = add_idle(idle, gap, region->span, begin_ns, until_ns);
        begin_ns = until_ns;
    }
    return result ? result : add_idle(idle, gap, ID_NONE, begin_ns, end_ns);
}

/* From the process' begin to its end, as far as they are known; else the trace's. */
static void life_of(const struct wait_building *building, uint32_t lane, int64_t *ret_begin_ns, int64_t *ret_end_ns)
{
    uint32_t count, process = building->table->tracks[lane].process.index;
    const struct trace_process *processes = trace_processes(building->trace, &count);
    trace_time_range(building->trace, ret_begin_ns, ret_end_ns);
    if (process >= count)
        return;
    if (!processes[process].attached || processes[process].start_ns > *ret_begin_ns)
        *ret_begin_ns = processes[process].start_ns;
    if (processes[process].end_ns != INT64_MIN)
        *ret_end_ns = processes[process].end_ns;
    const struct trace_window window = trace_window_of(building->trace);
    trace_window_clip(&window, ret_begin_ns, ret_end_ns);
}

static int idle_of(struct idle *idle, const struct stretch *parts, size_t count)
{
    int64_t at_ns, end_ns;
    struct gap gap = {.lane = parts[0].lane, .before = ID_NONE};
    int result = 0;
    life_of(idle->building, gap.lane, &at_ns, &end_ns);
    for (size_t i = 0; i < count && result == 0; i++) {
        gap.behind = parts[i].region;
        if (parts[i].begin_ns > at_ns)
            result = share_gap(idle, &gap, at_ns, parts[i].begin_ns);
        gap.before = parts[i].region;
        at_ns = parts[i].end_ns > at_ns ? parts[i].end_ns : at_ns;
    }
    gap.behind = ID_NONE;
    return result == 0 && end_ns > at_ns ? share_gap(idle, &gap, at_ns, end_ns) : result;
}

int wait_find_idle_threads(struct wait_building *building)
{
    struct idle idle = {.building = building};
    idle.owner = array_resize_exact(NULL, building->table->track_count + (size_t)1, sizeof *idle.owner);
    if (!idle.owner)
        return -ENOMEM;
    for (uint32_t track = 0; track < building->table->track_count; track++)
        idle.owner[track] = ID_NONE;
    int result = read_parts(&idle);
    for (size_t first = 0, next; first < idle.part_count && result == 0; first = next) {
        for (next = first + 1; next < idle.part_count && idle.parts[next].lane == idle.parts[first].lane;)
            next++;
        result = idle_of(&idle, &idle.parts[first], next - first);
    }
    free(idle.owner);
    free(idle.parts);
    free(idle.regions);
    return result;
}
