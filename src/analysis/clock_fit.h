/* SPDX-License-Identifier: MIT */
/*
 * One clock against another from messages alone. A message that came in at b of this clock and was sent at a of the other says that
 * the other clock was at least at a when this one was at b: a lower limit of their offset; one in the other direction is an upper limit.
 * The clocks differ by a line, within the drift limit; all lines between the limits are possible. What is taken is the middle of what is
 * possible at the first and at the last limit; half the width is its bound.
 */
#ifndef HP_ANALYSIS_CLOCK_FIT_H
#define HP_ANALYSIS_CLOCK_FIT_H

#include "clock_map.h"

#include <stdbool.h>
#include <stddef.h>

struct clock_limit {
    int64_t own_ns, offset_ns; /* other - own */
};
struct clock_limits {
    struct clock_limit *items;
    size_t count, capacity;
    size_t pruned_at;          /* how many there were when those that say nothing were last thrown away */
};

struct clock_fit {
    struct clock_limits lower, upper;
};
void clock_fit_finish(struct clock_fit *fit);
int clock_fit_add(struct clock_fit *fit, bool upper, struct clock_limit limit); /* 0 or -ENOMEM */

#define CLOCK_FIT_KNOTS 5
/* -ENODATA unless there are limits on both sides. ret_contradiction: by how many ns limits had to be passed, as no line fits them
 * all (the clocks don't drift evenly, or a message is not what it seems); it is part of the bounds. */
int clock_fit_solve(struct clock_fit *fit, struct clock_knot ret_knots[CLOCK_FIT_KNOTS], uint32_t *ret_count, int64_t *ret_contradiction);

#endif
