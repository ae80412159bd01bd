/* SPDX-License-Identifier: MIT */
/*
 * From one clock to another: knots at which both were compared, straight lines between them. All in ns of the two clocks; products have
 * 128 bits. Each knot has its bound: how far off the second clock's time may be there.
 */
#ifndef HP_ANALYSIS_CLOCK_MAP_H
#define HP_ANALYSIS_CLOCK_MAP_H

#include <stdint.h>

struct clock_knot {
    int64_t own_ns, other_ns;
    int64_t bound_ns;
};

struct clock_map {
    struct clock_knot *knots; /* by own_ns, none twice; at least one */
    uint32_t count;
};

#define CLOCK_DRIFT_LIMIT_PPM 500 /* what no clock is expected to run fast or slow by */

/* Takes a copy of the knots, in order of time; of several at one time the best one stays. -ENOMEM, or -EINVAL without a knot or where
 * the other clock doesn't go forward. */
int clock_map_init(struct clock_map *map, const struct clock_knot *knots, uint32_t count);
void clock_map_finish(struct clock_map *map);
/* Adds to all times of the other clock; the bounds have it. */
void clock_map_move(struct clock_map *map, int64_t move_ns);

/*
 * Beyond the knots the line goes on with as little drift as the knots and their bounds allow; with one knot, with none. The bound grows
 * by what the slope may be off, at most twice the drift limit.
 */
int64_t clock_map_at(const struct clock_map *map, int64_t own_ns);
int64_t clock_map_bound(const struct clock_map *map, int64_t own_ns);
int64_t clock_map_worst_bound(const struct clock_map *map);   /* between the first and the last knot */
double clock_map_drift_ppm(const struct clock_map *map);      /* of the other clock against this one, over all knots */

#endif
