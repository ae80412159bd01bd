/* SPDX-License-Identifier: MIT */
/*
 * For a drift d the offset at time 0 lies between low(d) = max(lower - d * time) and high(d) = min(upper - d * time). high - low is concave,
 * so what drifts are possible is an interval, found by bisection, and so is what is possible at a time. Only corners of hulls
 * count. The arithmetic is in long double, relative to one limit: far finer than 1 ns.
 */
#include "clock_fit.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define PRUNE_AT 65536
#define STEPS 120

typedef long double real;

static int by_time(const void *left, const void *right)
{
    const struct clock_limit *a = left, *b = right;
    if (a->own_ns != b->own_ns)
        return a->own_ns < b->own_ns ? -1 : 1;
    return (a->offset_ns > b->offset_ns) - (a->offset_ns < b->offset_ns);
}

/* Whether b lies on or beyond the line from a to c, where it says nothing. sign: 1 for lower limits, -1 for upper ones. */
static bool says_nothing(const struct clock_limit *a, const struct clock_limit *b, const struct clock_limit *c, int sign)
{
    real left = (real)(b->offset_ns - a->offset_ns) * (real)(c->own_ns - a->own_ns);
    real right = (real)(c->offset_ns - a->offset_ns) * (real)(b->own_ns - a->own_ns);
    return sign > 0 ? left <= right : left >= right;
}

/* Leaves the corners of the hull. */
static void prune(struct clock_limits *limits, int sign)
{
    struct clock_limit *items = limits->items;
    size_t kept = 0;
    if (limits->count)
        qsort(items, limits->count, sizeof *items, by_time);
    for (size_t i = 0; i < limits->count; i++) {
        struct clock_limit next = items[i];
        if (kept && items[kept - 1].own_ns == next.own_ns) {
            if (sign < 0)
                continue; /* the first of one time is the least */
            kept--;
        }
        while (kept > 1 && says_nothing(&items[kept - 2], &items[kept - 1], &next, sign))
            kept--;
        items[kept++] = next;
    }
    limits->count = limits->pruned_at = kept;
}

void clock_fit_finish(struct clock_fit *fit)
{
    free(fit->lower.items);
    free(fit->upper.items);
    *fit = (struct clock_fit){0};
}

int clock_fit_add(struct clock_fit *fit, bool upper, struct clock_limit limit)
{
    struct clock_limits *limits = upper ? &fit->upper : &fit->lower;
    if (limits->count >= PRUNE_AT && limits->count >= 2 * limits->pruned_at)
        prune(limits, upper ? -1 : 1);
    struct clock_limit *items = array_reserve(limits->items, &limits->capacity, limits->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    limits->items = items;
    items[limits->count++] = limit;
    return 0;
}

/* --- the lines that are possible ---------------------------------------------------------------------------------- */

struct lines {
    const struct clock_fit *fit;
    int64_t own_ns, offset_ns; /* what all is relative to */
    real slack;                /* limits are passed by so much */
    real least, most;          /* drift */
};

static real relative(const struct lines *lines, const struct clock_limit *limit, real drift)
{
    return (real)(limit->offset_ns - lines->offset_ns) - drift * (real)(limit->own_ns - lines->own_ns);
}

static real low(const struct lines *lines, real drift)
{
    const struct clock_limits *limits = &lines->fit->lower;
    real found = relative(lines, &limits->items[0], drift);
    for (size_t i = 1; i < limits->count; i++)
        found = fmaxl(found, relative(lines, &limits->items[i], drift));
    return found - lines->slack;
}

static real high(const struct lines *lines, real drift)
{
    const struct clock_limits *limits = &lines->fit->upper;
    real found = relative(lines, &limits->items[0], drift);
    for (size_t i = 1; i < limits->count; i++)
        found = fminl(found, relative(lines, &limits->items[i], drift));
    return found + lines->slack;
}

/* What is greatest for some drift of [least, most]: all three are concave. */
enum goal { GOAL_ROOM, GOAL_HIGH, GOAL_LOW };

static real value(const struct lines *lines, enum goal goal, real drift, real time)
{
    if (goal == GOAL_ROOM)
        return high(lines, drift) - low(lines, drift);
    return goal == GOAL_HIGH ? high(lines, drift) + drift * time : -(low(lines, drift) + drift * time);
}

static real best_drift(const struct lines *lines, enum goal goal, real time)
{
    real from = lines->least, to = lines->most;
    for (int step = 0; step < STEPS; step++) {
        real a = from + (to - from) / 3, b = to - (to - from) / 3;
        if (value(lines, goal, a, time) < value(lines, goal, b, time))
            from = a;
        else
            to = b;
    }
    return (from + to) / 2;
}

/* The last drift from `inside` towards `outside` for which there is a line. */
static real edge(const struct lines *lines, real inside, real outside)
{
    for (int step = 0; step < STEPS; step++) {
        real middle = (inside + outside) / 2;
        if (value(lines, GOAL_ROOM, middle, 0) >= 0)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

static void find_drifts(struct lines *lines, int64_t *ret_contradiction)
{
    real limit = CLOCK_DRIFT_LIMIT_PPM * 1e-6L;
    lines->least = -limit;
    lines->most = limit;
    real best = best_drift(lines, GOAL_ROOM, 0), room = value(lines, GOAL_ROOM, best, 0);
    lines->slack = room < 0 ? -room / 2 + 0.5L : 0;
    *ret_contradiction = (int64_t)ceill(lines->slack);
    if (value(lines, GOAL_ROOM, -limit, 0) < 0)
        lines->least = edge(lines, best, -limit);
    if (value(lines, GOAL_ROOM, limit, 0) < 0)
        lines->most = edge(lines, best, limit);
}

static void possible(const struct lines *lines, real time, real *ret_low, real *ret_high)
{
    *ret_high = value(lines, GOAL_HIGH, best_drift(lines, GOAL_HIGH, time), time);
    *ret_low = -value(lines, GOAL_LOW, best_drift(lines, GOAL_LOW, time), time);
}

/* From when to when there are limits. */
static void find_stretch(const struct clock_fit *fit, int64_t *ret_begin, int64_t *ret_end)
{
    const struct clock_limits *lower = &fit->lower, *upper = &fit->upper;
    int64_t begin = lower->items[0].own_ns, end = lower->items[lower->count - 1].own_ns;
    *ret_begin = upper->items[0].own_ns < begin ? upper->items[0].own_ns : begin;
    *ret_end = upper->items[upper->count - 1].own_ns > end ? upper->items[upper->count - 1].own_ns : end;
}

int clock_fit_solve(struct clock_fit *fit, struct clock_knot ret_knots[CLOCK_FIT_KNOTS], uint32_t *ret_count, int64_t *ret_contradiction)
{
    int64_t begin, end;
    if (!fit->lower.count || !fit->upper.count)
        return -ENODATA;
    prune(&fit->lower, 1);
    prune(&fit->upper, -1);
    find_stretch(fit, &begin, &end);
    struct lines lines = {.fit = fit, .own_ns = begin, .offset_ns = fit->upper.items[0].offset_ns};
    find_drifts(&lines, ret_contradiction);
    uint32_t count = end > begin + CLOCK_FIT_KNOTS ? CLOCK_FIT_KNOTS : 1;
    real first[2], last[2], length = (real)(end - begin);
    possible(&lines, 0, &first[0], &first[1]);
    possible(&lines, length, &last[0], &last[1]);
    for (uint32_t i = 0; i < count; i++) {
        int64_t distance = count > 1 ? (end - begin) / (count - 1) * i : 0;
        if (i && i == count - 1)
            distance = end - begin;
        real from = (first[0] + first[1]) / 2, to = (last[0] + last[1]) / 2, limits[2];
        real middle = length > 0 ? from + (to - from) * (real)distance / length : from;
        possible(&lines, (real)distance, &limits[0], &limits[1]);
        real bound = fmaxl(limits[1] - middle, middle - limits[0]);
        ret_knots[i] = (struct clock_knot){begin + distance, begin + distance + lines.offset_ns + (int64_t)llroundl(middle),
                                           (int64_t)ceill(fmaxl(bound, 0)) + 1};
    }
    *ret_count = count;
    return 0;
}
