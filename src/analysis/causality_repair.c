/* SPDX-License-Identifier: MIT */
/*
 * The controlled logical clock. Events of one clock and time are one knot, which gets one corrected time.
 *
 * Forward: a knot keeps its time unless an effect in it would come before its causes: then the clock jumps there. Behind a jump the clock
 * runs a little slow until it has lost what it is ahead. Knots are taken in the order of causality: a clock stops at an effect whose causes
 * are not all placed, and goes on when they are.
 * Backward: what lies before a jump is moved towards it, less and less with the distance, so that no stretch shrinks and the jump is
 * spread; but no cause is moved beyond its effects.
 */
#include "causality.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOWER 100 /* behind a jump 1 % of the time that passes makes up for it */
#define SPREAD 10  /* before a jump 10 % of the time is added */
#define LENGTH_MAX_NS (INT64_C(1) << 60)
#define NOBODY UINT32_MAX

struct knot {
    int64_t time_ns, corrected_ns;
    size_t first; /* event */
    uint32_t count;
};

struct exchange {
    uint32_t pending;       /* causes that are not placed yet */
    uint32_t waiting;       /* the first clock that stopped for it */
    int64_t ready_ns;       /* the latest cause placed */
    int64_t least_effect_ns;
};

struct clock {
    size_t first_knot, knot_count, next;
    uint32_t next_waiting;  /* for the same exchange */
    bool queued;
};

struct repair {
    struct causal_event *events;
    size_t event_count, knot_count;
    struct knot *knots;
    struct exchange *exchanges;
    struct clock *clocks;
    uint32_t *queue;        /* clocks that can go on */
    uint32_t clock_count, exchange_count, queue_count;
    struct causal_repair *result;
};

static int by_clock_and_time(const void *left, const void *right)
{
    const struct causal_event *a = left, *b = right;
    if (a->clock != b->clock)
        return a->clock < b->clock ? -1 : 1;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    if (a->exchange != b->exchange)
        return a->exchange < b->exchange ? -1 : 1;
    return a->effect - b->effect;
}

static void make_knots(struct repair *repair)
{
    struct knot *knots = repair->knots;
    if (!repair->event_count || !knots)
        return;
    qsort(repair->events, repair->event_count, sizeof *repair->events, by_clock_and_time);
    for (size_t i = 0; i < repair->event_count; i++) {
        const struct causal_event *event = &repair->events[i];
        struct clock *clock = &repair->clocks[event->clock];
        struct knot *last = clock->knot_count ? &knots[repair->knot_count - 1] : NULL;
        if (!last)
            clock->first_knot = repair->knot_count;
        if (!last || last->time_ns != event->time_ns) {
            knots[repair->knot_count++] = (struct knot){event->time_ns, event->time_ns, i, 0};
            clock->knot_count++;
        }
        knots[repair->knot_count - 1].count++;
        repair->exchanges[event->exchange].pending += !event->effect;
    }
}

/* --- forward ------------------------------------------------------------------------------------------------------ */

/* The exchange that an effect of the knot waits for; causes in the knot itself keep nobody waiting. */
static uint32_t find_obstacle(const struct repair *repair, const struct knot *knot)
{
    for (uint32_t i = 0; i < knot->count;) {
        const struct causal_event *events = &repair->events[knot->first];
        uint32_t exchange = events[i].exchange, own_causes = 0;
        bool effect = false;
        for (; i < knot->count && events[i].exchange == exchange; i++) {
            own_causes += !events[i].effect;
            effect |= events[i].effect;
        }
        if (effect && repair->exchanges[exchange].pending > own_causes)
            return exchange;
    }
    return NOBODY;
}

static void wake(struct repair *repair, struct exchange *exchange)
{
    while (exchange->waiting != NOBODY) {
        struct clock *clock = &repair->clocks[exchange->waiting];
        if (!clock->queued)
            repair->queue[repair->queue_count++] = exchange->waiting;
        clock->queued = true;
        exchange->waiting = clock->next_waiting;
        clock->next_waiting = NOBODY;
    }
}

static void place_knot(struct repair *repair, const struct knot *previous, struct knot *knot)
{
    const struct causal_event *events = &repair->events[knot->first];
    if (previous) {
        int64_t passed = knot->time_ns - previous->time_ns, slow = previous->corrected_ns + passed - passed / SLOWER;
        knot->corrected_ns = slow > knot->time_ns ? slow : knot->time_ns;
    }
    for (uint32_t i = 0; i < knot->count; i++) {
        const struct exchange *exchange = &repair->exchanges[events[i].exchange];
        if (events[i].effect && exchange->ready_ns > knot->corrected_ns)
            knot->corrected_ns = exchange->ready_ns;
    }
    for (uint32_t i = 0; i < knot->count; i++) {
        struct exchange *exchange = &repair->exchanges[events[i].exchange];
        if (events[i].effect)
            continue;
        exchange->ready_ns = knot->corrected_ns > exchange->ready_ns ? knot->corrected_ns : exchange->ready_ns;
        if (--exchange->pending == 0)
            wake(repair, exchange);
    }
}

/* Up to the next effect that has to wait. `force`: its next knot is placed whatever it waits for. */
static void go_on(struct repair *repair, uint32_t number, bool force)
{
    struct clock *clock = &repair->clocks[number];
    struct knot *knots = &repair->knots[clock->first_knot];
    for (; clock->next < clock->knot_count; clock->next++) {
        uint32_t obstacle = force ? NOBODY : find_obstacle(repair, &knots[clock->next]);
        if (obstacle != NOBODY) {
            clock->next_waiting = repair->exchanges[obstacle].waiting;
            repair->exchanges[obstacle].waiting = number;
            return;
        }
        place_knot(repair, clock->next ? &knots[clock->next - 1] : NULL, &knots[clock->next]);
        force = false;
    }
}

/* Clocks wait for each other in a ring, which the truth can't: the one that is furthest behind goes first. */
static bool break_ring(struct repair *repair)
{
    uint32_t found = NOBODY;
    int64_t least = INT64_MAX;
    for (uint32_t i = 0; i < repair->clock_count; i++) {
        const struct clock *clock = &repair->clocks[i];
        int64_t time = clock->next < clock->knot_count ? repair->knots[clock->first_knot + clock->next].time_ns : INT64_MAX;
        if (time < least) {
            least = time;
            found = i;
        }
    }
    if (found == NOBODY)
        return false;
    struct exchange *exchange = &repair->exchanges[find_obstacle(repair, &repair->knots[repair->clocks[found].first_knot + repair->clocks[found].next])];
    uint32_t *at = &exchange->waiting;
    while (*at != found)
        at = &repair->clocks[*at].next_waiting;
    *at = repair->clocks[found].next_waiting;
    repair->result->unmended++;
    go_on(repair, found, true);
    return true;
}

static void forward(struct repair *repair)
{
    for (uint32_t i = 0; i < repair->clock_count; i++)
        go_on(repair, i, false);
    do {
        while (repair->queue_count) {
            uint32_t number = repair->queue[--repair->queue_count];
            repair->clocks[number].queued = false;
            go_on(repair, number, false);
        }
    } while (break_ring(repair));
}

/* --- backward ----------------------------------------------------------------------------------------------------- */

static int64_t limit_of(const struct repair *repair, const struct knot *knot)
{
    int64_t limit = INT64_MAX;
    for (uint32_t i = 0; i < knot->count; i++) {
        const struct causal_event *event = &repair->events[knot->first + i];
        int64_t effect_ns = repair->exchanges[event->exchange].least_effect_ns;
        if (!event->effect && effect_ns < limit)
            limit = effect_ns;
    }
    return limit;
}

static void backward(struct repair *repair)
{
    for (size_t i = 0; i < repair->knot_count; i++)
        for (uint32_t event = 0; event < repair->knots[i].count; event++) {
            const struct causal_event *own = &repair->events[repair->knots[i].first + event];
            struct exchange *exchange = &repair->exchanges[own->exchange];
            if (own->effect && repair->knots[i].corrected_ns < exchange->least_effect_ns)
                exchange->least_effect_ns = repair->knots[i].corrected_ns;
        }
    for (uint32_t i = 0; i < repair->clock_count; i++) {
        struct knot *knots = &repair->knots[repair->clocks[i].first_knot];
        for (size_t k = repair->clocks[i].knot_count; k > 1; k--) {
            int64_t passed = knots[k - 1].time_ns - knots[k - 2].time_ns, wanted = knots[k - 1].corrected_ns - passed - passed / SPREAD;
            int64_t limit = limit_of(repair, &knots[k - 2]);
            wanted = wanted < limit ? wanted : limit;
            if (wanted > knots[k - 2].corrected_ns)
                knots[k - 2].corrected_ns = wanted;
        }
    }
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static int64_t shift_of(const struct knot *knot)
{
    return knot->corrected_ns - knot->time_ns;
}

/* In how long a shift grows or decays; times are of a run, so that 36 years are enough. */
static int64_t length_of(int64_t shift_ns, int64_t factor)
{
    return shift_ns > LENGTH_MAX_NS / factor ? LENGTH_MAX_NS : shift_ns * factor;
}

/* Only where the shift changes; at both ends it goes back to nothing as slowly as anywhere. */
static int make_map(const struct knot *knots, size_t count, struct clock_map *ret_map)
{
    struct clock_knot *out = calloc(count + 2, sizeof *out);
    uint32_t used = 0;
    if (!out)
        return -ENOMEM;
    int64_t first = shift_of(&knots[0]), last = shift_of(&knots[count - 1]);
    if (first)
        out[used++] = (struct clock_knot){knots[0].time_ns - length_of(first, SPREAD), knots[0].time_ns - length_of(first, SPREAD), 0};
    for (size_t i = 0; i < count; i++)
        if (i == 0 || i == count - 1 || shift_of(&knots[i]) != shift_of(&knots[i - 1]) || shift_of(&knots[i]) != shift_of(&knots[i + 1]))
            out[used++] = (struct clock_knot){knots[i].time_ns, knots[i].corrected_ns, 0};
    if (last)
        out[used++] = (struct clock_knot){knots[count - 1].time_ns + length_of(last, SLOWER), knots[count - 1].time_ns + length_of(last, SLOWER), 0};
    int code = clock_map_init(ret_map, out, used);
    free(out);
    return code;
}

static int make_result(struct repair *repair)
{
    struct causal_repair *result = repair->result;
    for (uint32_t i = 0; i < repair->clock_count; i++) {
        const struct clock *clock = &repair->clocks[i];
        int64_t largest = 0;
        for (size_t k = 0; k < clock->knot_count; k++) {
            const struct knot *knot = &repair->knots[clock->first_knot + k];
            result->moved_events += shift_of(knot) ? knot->count : 0;
            largest = shift_of(knot) > largest ? shift_of(knot) : largest;
        }
        result->largest_shift_ns = largest > result->largest_shift_ns ? largest : result->largest_shift_ns;
        int code = largest ? make_map(&repair->knots[clock->first_knot], clock->knot_count, &result->clocks[i]) : 0;
        if (code)
            return code;
    }
    return 0;
}

static int prepare(struct repair *repair)
{
    repair->knots = calloc(repair->event_count + 1, sizeof *repair->knots);
    repair->exchanges = calloc((size_t)repair->exchange_count + 1, sizeof *repair->exchanges);
    repair->clocks = calloc((size_t)repair->clock_count + 1, sizeof *repair->clocks);
    repair->queue = calloc((size_t)repair->clock_count + 1, sizeof *repair->queue);
    repair->result->clocks = calloc((size_t)repair->clock_count + 1, sizeof *repair->result->clocks);
    if (!repair->knots || !repair->exchanges || !repair->clocks || !repair->queue || !repair->result->clocks)
        return -ENOMEM;
    for (uint32_t i = 0; i < repair->exchange_count; i++)
        repair->exchanges[i] = (struct exchange){.waiting = NOBODY, .ready_ns = INT64_MIN, .least_effect_ns = INT64_MAX};
    for (uint32_t i = 0; i < repair->clock_count; i++)
        repair->clocks[i].next_waiting = NOBODY;
    return 0;
}

int causality_repair(struct causal_event *events, size_t count, uint32_t exchange_count, uint32_t clock_count, struct causal_repair *ret_repair)
{
    struct causal_repair result = {.clock_count = clock_count};
    struct repair repair = {.events = events, .event_count = count, .exchange_count = exchange_count, .clock_count = clock_count,
                            .result = &result};
    int code = prepare(&repair);
    if (code == 0) {
        make_knots(&repair);
        forward(&repair);
        backward(&repair);
        code = make_result(&repair);
    }
    free(repair.knots);
    free(repair.exchanges);
    free(repair.clocks);
    free(repair.queue);
    if (code)
        causal_repair_finish(&result);
    else
        *ret_repair = result;
    return code;
}

void causal_repair_finish(struct causal_repair *repair)
{
    for (uint32_t i = 0; repair->clocks && i < repair->clock_count; i++)
        clock_map_finish(&repair->clocks[i]);
    free(repair->clocks);
    *repair = (struct causal_repair){0};
}

int64_t causal_repair_time(const struct causal_repair *repair, uint32_t clock, int64_t time_ns)
{
    const struct clock_map *map = &repair->clocks[clock];
    return map->count ? clock_map_at(map, time_ns) : time_ns;
}
