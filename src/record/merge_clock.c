/* SPDX-License-Identifier: MIT */
/*
 * From ticks to ns. The kernel's CLOCK_MONOTONIC_RAW is itself a fixed multiple of the counter, so one line through two pairs
 * far apart is as exact as those pairs, and no time ever steps.
 */
#include "base/array.h"
#include "merge_internal.h"

#include <errno.h>
#include <stdlib.h>

#define SHIFT 48
#define RAW_LIMIT_NS (INT64_C(1) << 60) /* 36 years: what is beyond is no time, and differences stay far from overflow */
#define LEAST_BASE_NS 50000 /* two readings of 50 ns each over less than this would bend times by more than 0.2 % */

int clock_pairs_add(struct clock_pairs *pairs, const struct wire_calibration *record)
{
    if (record->raw_ns <= -RAW_LIMIT_NS || record->raw_ns >= RAW_LIMIT_NS)
        return 0;
    struct clock_pair *items = array_reserve(pairs->items, &pairs->capacity, pairs->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    pairs->items = items;
    items[pairs->count++] = (struct clock_pair){record->ticks, record->raw_ns, record->spread};
    return 0;
}

static int by_ticks(const void *left, const void *right)
{
    const struct clock_pair *a = left, *b = right;
    return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

/* The pair that was read in the shortest time among [from, to). */
static const struct clock_pair *best(const struct clock_pair *items, size_t from, size_t to)
{
    const struct clock_pair *found = &items[from];
    for (size_t i = from; i < to; i++)
        if (items[i].spread < found->spread)
            found = &items[i];
    return found;
}

void clock_line_fit(struct clock_pairs *pairs, struct clock_line *ret_line)
{
    if (pairs->count < 2)
        return;
    qsort(pairs->items, pairs->count, sizeof *pairs->items, by_ticks);
    size_t part = pairs->count / 4 ? pairs->count / 4 : 1;
    const struct clock_pair *first = best(pairs->items, 0, part);
    const struct clock_pair *last = best(pairs->items, pairs->count - part, pairs->count);
    if (last->raw_ns - first->raw_ns < LEAST_BASE_NS) {
        first = &pairs->items[0];
        last = &pairs->items[pairs->count - 1];
    }
    if (last->raw_ns - first->raw_ns < LEAST_BASE_NS || last->ticks <= first->ticks)
        return;
    unsigned __int128 span = (unsigned __int128)(uint64_t)(last->raw_ns - first->raw_ns) << SHIFT;
    unsigned __int128 factor = span / (last->ticks - first->ticks);
    if (factor == 0 || factor >> 62)
        return; /* under 2^-48 or over 16384 ns a tick: no clock */
    *ret_line = (struct clock_line){true, first->ticks, first->raw_ns, (uint64_t)factor};
}

int64_t clock_line_at(const struct clock_line *line, uint64_t ticks)
{
    bool later = ticks >= line->ticks;
    uint64_t distance = later ? ticks - line->ticks : line->ticks - ticks;
    unsigned __int128 half = (unsigned __int128)1 << (SHIFT - 1);
    uint64_t ns = (uint64_t)(((unsigned __int128)distance * line->factor + half) >> SHIFT), base = (uint64_t)line->ns;
    return (int64_t)(later ? base + ns : base - ns); /* ticks may be anything */
}

static int64_t pairs_length_ns(const struct clock_pairs *pairs)
{
    int64_t first = INT64_MAX, last = INT64_MIN;
    for (size_t i = 0; i < pairs->count; i++) {
        first = pairs->items[i].raw_ns < first ? pairs->items[i].raw_ns : first;
        last = pairs->items[i].raw_ns > last ? pairs->items[i].raw_ns : last;
    }
    return pairs->count ? last - first : 0;
}

/* Lines through pairs twice as far apart are better; ones that are a little better are not worth times that shift. */
void merge_lines_forget(struct merge *merge)
{
    int64_t length_ns = pairs_length_ns(&merge->pairs);
    if (length_ns < 2 * merge->lines_length_ns)
        return;
    merge->lines_length_ns = length_ns;
    for (size_t i = 0; i < merge->process_count; i++)
        merge->processes[i]->line_tried = false;
}
