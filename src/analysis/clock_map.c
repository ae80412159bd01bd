/* SPDX-License-Identifier: MIT */
/* Knots and the lines between them. */
#include "clock_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 wide;

static int by_time(const void *left, const void *right)
{
    const struct clock_knot *a = left, *b = right;
    if (a->own_ns != b->own_ns)
        return a->own_ns < b->own_ns ? -1 : 1;
    return (a->bound_ns > b->bound_ns) - (a->bound_ns < b->bound_ns);
}

int clock_map_init(struct clock_map *map, const struct clock_knot *knots, uint32_t count)
{
    struct clock_knot *copy = count ? malloc(count * sizeof *copy) : NULL;
    uint32_t kept = 0;
    if (!copy)
        return count ? -ENOMEM : -EINVAL;
    memcpy(copy, knots, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, by_time);
    for (uint32_t i = 0; i < count; i++)
        if (!kept || copy[i].own_ns != copy[kept - 1].own_ns)
            copy[kept++] = copy[i];
    for (uint32_t i = 1; i < kept; i++)
        if (copy[i].other_ns <= copy[i - 1].other_ns) {
            free(copy);
            return -EINVAL;
        }
    *map = (struct clock_map){copy, kept};
    return 0;
}

void clock_map_finish(struct clock_map *map)
{
    free(map->knots);
    *map = (struct clock_map){0};
}

void clock_map_move(struct clock_map *map, int64_t move_ns)
{
    for (uint32_t i = 0; i < map->count; i++) {
        map->knots[i].other_ns += move_ns;
        map->knots[i].bound_ns += move_ns < 0 ? -move_ns : move_ns;
    }
}

/* a * b / c, rounded to the nearest; c > 0. */
static int64_t scale(int64_t a, int64_t b, int64_t c)
{
    wide product = (wide)a * b * 2, whole = (wide)c * 2;
    wide rounded = product >= 0 ? (product + c) / whole : -((-product + c) / whole);
    return (int64_t)rounded;
}

/* How much the other clock gains on this one over `distance`, beyond the knots: between what the bounds allow the nearest to nothing. */
static int64_t gain_beyond(const struct clock_map *map, int64_t distance)
{
    const struct clock_knot *first = &map->knots[0], *last = &map->knots[map->count - 1];
    if (map->count < 2)
        return 0;
    int64_t length = last->own_ns - first->own_ns, gain = last->other_ns - first->other_ns - length;
    int64_t slack = first->bound_ns + last->bound_ns;
    gain = gain > slack ? gain - slack : gain < -slack ? gain + slack : 0;
    gain = gain > length / 2 ? length / 2 : gain < -length / 2 ? -length / 2 : gain; /* no clock: but time must go forward */
    return scale(gain, distance, length);
}

int64_t clock_map_at(const struct clock_map *map, int64_t own_ns)
{
    const struct clock_knot *first = &map->knots[0], *last = &map->knots[map->count - 1];
    if (own_ns <= first->own_ns)
        return first->other_ns - (first->own_ns - own_ns) - gain_beyond(map, first->own_ns - own_ns);
    if (own_ns >= last->own_ns)
        return last->other_ns + (own_ns - last->own_ns) + gain_beyond(map, own_ns - last->own_ns);
    uint32_t low = 0, high = map->count - 1;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(map->knots[middle].own_ns <= own_ns ? &low : &high) = middle;
    }
    const struct clock_knot *a = &map->knots[low], *b = &map->knots[high];
    return a->other_ns + scale(b->other_ns - a->other_ns, own_ns - a->own_ns, b->own_ns - a->own_ns);
}

static int64_t growth_beyond(const struct clock_map *map, int64_t distance)
{
    const struct clock_knot *first = &map->knots[0], *last = &map->knots[map->count - 1];
    int64_t most = scale(distance, (map->count > 1 ? 2 : 1) * CLOCK_DRIFT_LIMIT_PPM, 1000000);
    if (map->count < 2)
        return most;
    int64_t growth = scale(2 * (first->bound_ns + last->bound_ns), distance, last->own_ns - first->own_ns);
    return growth < most ? growth : most;
}

int64_t clock_map_bound(const struct clock_map *map, int64_t own_ns)
{
    const struct clock_knot *first = &map->knots[0], *last = &map->knots[map->count - 1];
    if (own_ns <= first->own_ns)
        return first->bound_ns + growth_beyond(map, first->own_ns - own_ns);
    if (own_ns >= last->own_ns)
        return last->bound_ns + growth_beyond(map, own_ns - last->own_ns);
    uint32_t i = 1;
    while (map->knots[i].own_ns < own_ns)
        i++;
    const struct clock_knot *a = &map->knots[i - 1], *b = &map->knots[i];
    return a->bound_ns + scale(b->bound_ns - a->bound_ns, own_ns - a->own_ns, b->own_ns - a->own_ns) + 1; /* the lines are rounded */
}

int64_t clock_map_worst_bound(const struct clock_map *map)
{
    int64_t worst = 0;
    for (uint32_t i = 0; i < map->count; i++)
        worst = map->knots[i].bound_ns > worst ? map->knots[i].bound_ns : worst;
    return worst;
}

double clock_map_drift_ppm(const struct clock_map *map)
{
    const struct clock_knot *first = &map->knots[0], *last = &map->knots[map->count - 1];
    if (map->count < 2)
        return 0;
    int64_t length = last->own_ns - first->own_ns;
    return (double)(last->other_ns - first->other_ns - length) * 1e6 / (double)length;
}
