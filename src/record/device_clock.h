/* SPDX-License-Identifier: MIT */
/*
 * A device's clock against ours, from what a collector learnt of it: pairs of both, read together, or bounds only ("the
 * device's time d lay before, or after, our time t"). Pairs are joined by straight pieces. Bounds leave a corridor in which a
 * line must lie; the one in its middle is taken, and how far another could be from it is the error bound. Conversion never
 * changes the order of two times.
 */
#ifndef HP_RECORD_DEVICE_CLOCK_H
#define HP_RECORD_DEVICE_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clock_point {
    int64_t host_ns, device_ns;
    uint64_t spread_ns; /* of a pair: twice its error bound */
    int32_t order;      /* 0 = pair; -1 = the device's time was before host_ns; 1 = after */
};

struct device_clock {
    struct clock_point *pairs; /* ascending; empty: by the line */
    size_t pair_count;
    int64_t host_ns, device_ns; /* a point of the line */
    double drift;               /* host ns per device ns, less 1 */
    int64_t error_ns;           /* -1 = unknown (bounds on one side only) */
    uint64_t points, contradictions; /* given; and those that the result does not satisfy */
};

/* Times on either side must lie within 2^60 ns of 0: the caller counts a device's from an origin. Sorts the points. 0, -ENODATA for no points at all, or -ENOMEM. */
int device_clock_fit(struct clock_point *points, size_t count, struct device_clock *ret_clock);
/* Leaves out the bounds that others make needless. */
int device_clock_thin(struct clock_point *points, size_t *count);
void device_clock_finish(struct device_clock *clock);
int64_t device_clock_at(const struct device_clock *clock, int64_t device_ns);

#endif
