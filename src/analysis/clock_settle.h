/* SPDX-License-Identifier: MIT */
/*
 * Clocks are known within bounds; where a message comes in before it went out, not all that the bounds allow is possible. The least moves
 * of whole clocks are looked for that leave no such message: a system of differences, move(to) - move(from) >= what is missing.
 */
#ifndef HP_ANALYSIS_CLOCK_SETTLE_H
#define HP_ANALYSIS_CLOCK_SETTLE_H

#include "causality.h"

/*
 * Events of one exchange stand together. bounds_ns: by clock, how far it may be moved; -1: not at all. ret_moves_ns: by clock, what is to be
 * added to its times, 0 for the reference. -ERANGE: bounds don't allow it, or nothing would do; -ENOMEM.
 */
int clock_settle(const struct causal_event *events, size_t count, uint32_t clock_count, uint32_t reference, const int64_t *bounds_ns,
                 int64_t *ret_moves_ns);

#endif
