/* SPDX-License-Identifier: MIT */
/*
 * Bounds: with x = device time and y = host time - device time, both from some origin, a line y = offset + drift * x has to
 * stay below all upper bounds and above all lower ones. For one drift the room between them is margin(drift), a concave
 * function: its maximum is found by ternary search over the corners of the two convex hulls.
 */
#include "device_clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DRIFT_LIMIT 500e-6 /* clocks of machines and devices differ by less */
enum { SEARCH_STEPS = 200, ERROR_SLOPES = 33 };

struct corner {
    int64_t x, y;
    size_t point;
};

struct corridor {
    struct corner *upper, *lower; /* corners of the hulls */
    size_t upper_count, lower_count;
    int64_t first_x, last_x;
};

static int by_device_time(const void *left, const void *right)
{
    const struct clock_point *a = left, *b = right;
    if (a->device_ns != b->device_ns)
        return a->device_ns < b->device_ns ? -1 : 1;
    return (a->host_ns > b->host_ns) - (a->host_ns < b->host_ns);
}

/* Does the middle one of three corners stand out (towards side -1: below, 1: above)? */
static bool stands_out(struct corner a, struct corner b, struct corner c, int side)
{
    __int128 turn = (__int128)(b.x - a.x) * (c.y - a.y) - (__int128)(b.y - a.y) * (c.x - a.x);
    return side < 0 ? turn > 0 : turn < 0;
}

static size_t hull_add(struct corner *hull, size_t count, struct corner corner, int side)
{
    if (count && hull[count - 1].x == corner.x) {
        if (side < 0 ? hull[count - 1].y <= corner.y : hull[count - 1].y >= corner.y)
            return count;
        count--;
    }
    while (count >= 2 && !stands_out(hull[count - 2], hull[count - 1], corner, side))
        count--;
    hull[count] = corner;
    return count + 1;
}

static double reach(const struct corner *corners, size_t count, double drift, int side)
{
    double found = side < 0 ? HUGE_VAL : -HUGE_VAL;
    for (size_t i = 0; i < count; i++) {
        double value = (double)corners[i].y - drift * (double)corners[i].x;
        found = side < 0 ? fmin(found, value) : fmax(found, value);
    }
    return found;
}

static double ceiling_at(const struct corridor *corridor, double drift)
{
    return reach(corridor->upper, corridor->upper_count, drift, -1);
}

static double floor_at(const struct corridor *corridor, double drift)
{
    return reach(corridor->lower, corridor->lower_count, drift, 1);
}

static double margin(const struct corridor *corridor, double drift)
{
    return ceiling_at(corridor, drift) - floor_at(corridor, drift);
}

static double widest_drift(const struct corridor *corridor)
{
    double low = -DRIFT_LIMIT, high = DRIFT_LIMIT;
    for (int i = 0; i < SEARCH_STEPS; i++) {
        double left = low + (high - low) / 3, right = high - (high - low) / 3;
        if (margin(corridor, left) < margin(corridor, right))
            low = left;
        else
            high = right;
    }
    return (low + high) / 2;
}

/* The drift nearest to `from` on the way to `inside` whose margin reaches `least`. */
static double first_drift(const struct corridor *corridor, double from, double inside, double least)
{
    if (margin(corridor, from) >= least)
        return from;
    for (int i = 0; i < 100; i++) {
        double middle = (from + inside) / 2;
        if (margin(corridor, middle) >= least)
            inside = middle;
        else
            from = middle;
    }
    return inside;
}

/* How far another line through the corridor can be from this one, at either end of what was bounded. */
static double error_of(const struct corridor *corridor, double offset, double drift, double best)
{
    double low = first_drift(corridor, -DRIFT_LIMIT, best, 0), high = first_drift(corridor, DRIFT_LIMIT, best, 0), error = 0;
    for (int i = 0; i < ERROR_SLOPES; i++) {
        double other = low + (high - low) * i / (ERROR_SLOPES - 1);
        for (int end = 0; end < 2; end++) {
            double x = (double)(end ? corridor->last_x : corridor->first_x), own = offset + drift * x;
            error = fmax(error, fabs(ceiling_at(corridor, other) + other * x - own));
            error = fmax(error, fabs(floor_at(corridor, other) + other * x - own));
        }
    }
    return error;
}

/* Short recordings say little of the drift: of the lines with nearly as much room as the best the one with least drift. */
static void corridor_solve(const struct corridor *corridor, struct device_clock *clock)
{
    double drift = 0, offset;
    if (!corridor->upper_count || !corridor->lower_count) {
        offset = corridor->upper_count ? ceiling_at(corridor, 0) : floor_at(corridor, 0);
        clock->error_ns = -1;
    } else {
        double best = widest_drift(corridor), room = margin(corridor, best);
        drift = room > 0 ? first_drift(corridor, 0, best, room * 0.95) : best;
        offset = (ceiling_at(corridor, drift) + floor_at(corridor, drift)) / 2;
        clock->error_ns = (int64_t)ceil(fmin(room > 0 ? error_of(corridor, offset, drift, best) : -room / 2, 1e18));
    }
    clock->drift = drift;
    clock->host_ns += (int64_t)llround(offset);
}

/* Of sorted points; corridor->upper is to be freed. */
static int corridor_make(const struct clock_point *points, size_t count, struct corridor *corridor)
{
    struct corner *corners = calloc(2 * count, sizeof(*corners));
    if (!corners)
        return -ENOMEM;
    *corridor = (struct corridor){.upper = corners, .lower = corners + count};
    for (size_t i = 0; i < count; i++) {
        int64_t x = points[i].device_ns - points[0].device_ns;
        struct corner corner = {x, points[i].host_ns - points[0].host_ns - x, i};
        if (points[i].order < 0)
            corridor->upper_count = hull_add(corridor->upper, corridor->upper_count, corner, -1);
        else if (points[i].order > 0)
            corridor->lower_count = hull_add(corridor->lower, corridor->lower_count, corner, 1);
        corridor->last_x = x;
    }
    return 0;
}

static int bounds_fit(const struct clock_point *points, size_t count, struct device_clock *clock)
{
    struct corridor corridor;
    int r = corridor_make(points, count, &corridor);
    if (r < 0)
        return r;
    clock->device_ns = points[0].device_ns;
    clock->host_ns = points[0].host_ns;
    corridor_solve(&corridor, clock);
    free(corridor.upper);
    return 0;
}

int device_clock_thin(struct clock_point *points, size_t *count)
{
    struct corridor corridor;
    if (*count == 0)
        return 0;
    qsort(points, *count, sizeof(*points), by_device_time);
    int r = corridor_make(points, *count, &corridor);
    if (r < 0)
        return r;
    size_t upper = 0, lower = 0, kept = 0;
    for (size_t i = 0; i < *count; i++) {
        bool keep = points[i].order == 0;
        if (upper < corridor.upper_count && corridor.upper[upper].point == i) {
            keep = true;
            upper++;
        }
        if (lower < corridor.lower_count && corridor.lower[lower].point == i) {
            keep = true;
            lower++;
        }
        if (keep)
            points[kept++] = points[i];
    }
    *count = kept;
    free(corridor.upper);
    return 0;
}

static int pairs_take(const struct clock_point *points, size_t count, struct device_clock *clock)
{
    clock->pairs = calloc(count, sizeof(*clock->pairs));
    if (!clock->pairs)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct clock_point *last = clock->pair_count ? &clock->pairs[clock->pair_count - 1] : NULL;
        if (points[i].order != 0)
            continue;
        if (last && points[i].device_ns == last->device_ns)
            continue;
        if (last && points[i].host_ns < last->host_ns) {
            clock->contradictions++;
            continue;
        }
        clock->pairs[clock->pair_count++] = points[i];
        int64_t error = (int64_t)(points[i].spread_ns / 2 + points[i].spread_ns % 2);
        clock->error_ns = error > clock->error_ns ? error : clock->error_ns;
    }
    const struct clock_point *first = &clock->pairs[0], *last = &clock->pairs[clock->pair_count - 1];
    clock->device_ns = first->device_ns;
    clock->host_ns = first->host_ns;
    if (clock->pair_count > 1)
        clock->drift = (double)(last->host_ns - first->host_ns) / (double)(last->device_ns - first->device_ns) - 1;
    if (fabs(clock->drift) > DRIFT_LIMIT)
        clock->drift = 0; /* two pairs so near each other that their errors make the slope */
    return 0;
}

static uint64_t bounds_broken(const struct clock_point *points, size_t count, const struct device_clock *clock)
{
    uint64_t broken = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t difference = device_clock_at(clock, points[i].device_ns) - points[i].host_ns, slack = (int64_t)points[i].spread_ns + 1;
        broken += (points[i].order < 0 && difference > slack) || (points[i].order > 0 && difference < -slack);
    }
    return broken;
}

int device_clock_fit(struct clock_point *points, size_t count, struct device_clock *ret_clock)
{
    struct device_clock clock = {.points = count};
    bool pairs = false;
    if (count == 0)
        return -ENODATA;
    qsort(points, count, sizeof(*points), by_device_time);
    for (size_t i = 0; i < count && !pairs; i++)
        pairs = points[i].order == 0;
    int r = pairs ? pairs_take(points, count, &clock) : bounds_fit(points, count, &clock);
    if (r < 0)
        return r;
    clock.contradictions += bounds_broken(points, count, &clock);
    *ret_clock = clock;
    return 0;
}

void device_clock_finish(struct device_clock *clock)
{
    free(clock->pairs);
    *clock = (struct device_clock){0};
}

static int64_t on_line(int64_t host_ns, int64_t device_ns, double drift, int64_t at_ns)
{
    int64_t distance = at_ns - device_ns;
    return host_ns + distance + llround((double)distance * drift);
}

int64_t device_clock_at(const struct device_clock *clock, int64_t device_ns)
{
    if (!clock->pair_count)
        return on_line(clock->host_ns, clock->device_ns, clock->drift, device_ns);
    const struct clock_point *pairs = clock->pairs, *last = &pairs[clock->pair_count - 1];
    if (device_ns <= pairs[0].device_ns)
        return on_line(pairs[0].host_ns, pairs[0].device_ns, clock->drift, device_ns);
    if (device_ns >= last->device_ns)
        return on_line(last->host_ns, last->device_ns, clock->drift, device_ns);
    size_t low = 0, high = clock->pair_count - 1;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (pairs[middle].device_ns <= device_ns)
            low = middle;
        else
            high = middle;
    }
    __int128 part = (__int128)(device_ns - pairs[low].device_ns) * (pairs[high].host_ns - pairs[low].host_ns);
    return pairs[low].host_ns + (int64_t)(part / (pairs[high].device_ns - pairs[low].device_ns));
}
