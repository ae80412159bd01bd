/* SPDX-License-Identifier: MIT */
/* Violations, counted: the latest cause of each exchange against its effects. */
#include "causality.h"

#include <errno.h>
#include <stdlib.h>

struct latest {
    int64_t time_ns;
    uint32_t clock;
    bool known;
};

static int64_t bound_of(const int64_t *bounds_ns, uint32_t clock)
{
    return bounds_ns && bounds_ns[clock] > 0 ? bounds_ns[clock] : 0;
}

static void judge(const struct causal_event *event, const struct latest *cause, const int64_t *bounds_ns, struct causal_violations *violations)
{
    int64_t early_ns = cause->time_ns - event->time_ns;
    violations->effects++;
    if (early_ns <= 0)
        return;
    violations->violations++;
    violations->worst_ns = early_ns > violations->worst_ns ? early_ns : violations->worst_ns;
    bool unknown = bounds_ns && (bounds_ns[event->clock] < 0 || bounds_ns[cause->clock] < 0);
    if (!unknown && early_ns > bound_of(bounds_ns, event->clock) + bound_of(bounds_ns, cause->clock))
        violations->beyond_bound++;
}

int causality_check(const struct causal_event *events, size_t count, uint32_t exchange_count, const int64_t *bounds_ns,
                    struct causal_violations *ret_violations)
{
    struct latest *causes = calloc((size_t)exchange_count + 1, sizeof *causes);
    if (!causes)
        return -ENOMEM;
    *ret_violations = (struct causal_violations){0};
    for (size_t i = 0; i < count; i++) {
        struct latest *cause = &causes[events[i].exchange];
        if (!events[i].effect && (!cause->known || events[i].time_ns > cause->time_ns))
            *cause = (struct latest){events[i].time_ns, events[i].clock, true};
    }
    for (size_t i = 0; i < count; i++)
        if (events[i].effect && causes[events[i].exchange].known)
            judge(&events[i], &causes[events[i].exchange], bounds_ns, ret_violations);
    free(causes);
    return 0;
}
