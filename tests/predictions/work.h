/* SPDX-License-Identifier: MIT */
/* Work of a known amount for the programs whose change is predicted: SCALE_<activity> in the environment makes an activity longer or shorter. */
#ifndef PREDICTIONS_WORK_H
#define PREDICTIONS_WORK_H

#include <stdio.h>
#include <stdlib.h>

static volatile unsigned long work_result;

/* Chains of multiplications, each of which waits for the one before: who computes on the other half of a core hardly disturbs it. */
static inline void work(long units)
{
    unsigned long x = 1;
    for (long i = 0; i < 6 * units; i++)
        x = x * 6364136223846793005u + 1;
    work_result = x;
}

static inline long scaled(const char *activity, double units)
{
    char name[64];
    snprintf(name, sizeof name, "SCALE_%s", activity);
    const char *factor = getenv(name);
    return (long)(units * (factor ? atof(factor) : 1));
}

#define ACTIVITY __attribute__((noinline))

#endif
