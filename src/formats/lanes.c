/* SPDX-License-Identifier: MIT */
/* Packing overlapping spans into lanes. */
#include "lanes.h"

#include "base/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void lanes_init(struct lanes *lanes)
{
    memset(lanes, 0, sizeof(*lanes));
}

void lanes_reset(struct lanes *lanes)
{
    for (unsigned i = 0; i < LANES_NESTING; i++)
        lanes->nesting[i].depth = 0;
    lanes->nesting_count = 0;
    lanes->heap_count = 0;
    lanes->count = 0;
}

void lanes_finish(struct lanes *lanes)
{
    for (unsigned i = 0; i < LANES_NESTING; i++)
        free(lanes->nesting[i].ends);
    free(lanes->heap);
    lanes_init(lanes);
}

/* 1 placed, 0 does not fit, -ENOMEM. */
static int lane_try(struct lane *lane, int64_t begin_ns, int64_t end_ns)
{
    while (lane->depth && lane->ends[lane->depth - 1] <= begin_ns)
        lane->depth--;
    if (lane->depth && lane->ends[lane->depth - 1] < end_ns)
        return 0;
    if (lane->depth == lane->capacity) {
        int64_t *ends = array_reserve(lane->ends, &lane->capacity, lane->depth + 1, sizeof(*ends));
        if (!ends)
            return -ENOMEM;
        lane->ends = ends;
    }
    lane->ends[lane->depth++] = end_ns;
    return 1;
}

static void heap_sink(struct flat_lane *heap, size_t count, size_t at)
{
    for (;;) {
        size_t least = at;
        for (size_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (heap[child].busy_until_ns < heap[least].busy_until_ns)
                least = child;
        if (least == at)
            return;
        struct flat_lane swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

int64_t lanes_place_apart(struct lanes *lanes, int64_t begin_ns, int64_t end_ns)
{
    if (lanes->heap_count && lanes->heap[0].busy_until_ns <= begin_ns) {
        uint32_t lane = lanes->heap[0].lane;
        lanes->heap[0].busy_until_ns = end_ns;
        heap_sink(lanes->heap, lanes->heap_count, 0);
        return lane;
    }
    struct flat_lane *heap = array_reserve(lanes->heap, &lanes->heap_capacity, lanes->heap_count + 1, sizeof(*heap));
    if (!heap)
        return -ENOMEM;
    lanes->heap = heap;
    size_t at = lanes->heap_count++;
    struct flat_lane added = {.busy_until_ns = end_ns, .lane = lanes->count++};
    for (; at && heap[(at - 1) / 2].busy_until_ns > end_ns; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = added;
    return added.lane;
}

int64_t lanes_place(struct lanes *lanes, int64_t begin_ns, int64_t end_ns)
{
    for (unsigned i = 0; i < lanes->nesting_count; i++) {
        int placed = lane_try(&lanes->nesting[i], begin_ns, end_ns);
        if (placed)
            return placed < 0 ? placed : (int64_t)i;
    }
    if (lanes->nesting_count == LANES_NESTING)
        return lanes_place_apart(lanes, begin_ns, end_ns);
    unsigned lane = lanes->nesting_count++;
    lanes->count++;
    int placed = lane_try(&lanes->nesting[lane], begin_ns, end_ns);
    return placed < 0 ? placed : (int64_t)lane;
}
