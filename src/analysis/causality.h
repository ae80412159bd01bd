/* SPDX-License-Identifier: MIT */
/*
 * Nothing comes in before it went out: exchanges (a message, a collective) have causes and effects, and no effect may come before one of
 * the causes. Where clocks are off it seems so: those are violations, to be counted, and mended if asked for, by a controlled
 * logical clock with forward and backward amortisation (Becker, Rabenseifner, Wolf, Linford: Parallel Computing 35, 2009).
 */
#ifndef HP_ANALYSIS_CAUSALITY_H
#define HP_ANALYSIS_CAUSALITY_H

#include "clock_map.h"

#include <stdbool.h>
#include <stddef.h>

struct causal_event {
    int64_t time_ns;   /* on the common axis */
    uint32_t clock;    /* whose time it is */
    uint32_t exchange;
    bool effect;       /* else a cause */
};

struct causal_violations {
    uint64_t effects;      /* of exchanges with a cause */
    uint64_t violations;   /* effects that come before a cause */
    uint64_t beyond_bound; /* by more than the bounds of the two clocks allow: not the clocks' fault alone */
    int64_t worst_ns;      /* the longest time that an effect comes too early */
};
/* bounds_ns: by clock, -1 = not known; NULL: no bounds. 0 or -ENOMEM. */
int causality_check(const struct causal_event *events, size_t count, uint32_t exchange_count, const int64_t *bounds_ns,
                    struct causal_violations *ret_violations);

struct causal_repair {
    struct clock_map *clocks; /* by clock: from its time to the corrected time; no knots where nothing moves */
    uint32_t clock_count;
    uint64_t moved_events;
    uint64_t unmended;        /* effects that would have to come before themselves */
    int64_t largest_shift_ns;
};
/* Moves times forward only, whole clocks at a time, so that all that lies on one keeps its order. Events are sorted in place. */
int causality_repair(struct causal_event *events, size_t count, uint32_t exchange_count, uint32_t clock_count, struct causal_repair *ret_repair);
void causal_repair_finish(struct causal_repair *repair);
int64_t causal_repair_time(const struct causal_repair *repair, uint32_t clock, int64_t time_ns);

#endif
