/* SPDX-License-Identifier: MIT */
/* Work of a known amount for the programs whose change is predicted: SCALE_<activity> in the environment makes an activity longer or shorter. */
#ifndef PREDICTIONS_WORK_H
#define PREDICTIONS_WORK_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static volatile double work_result;

/* A chain of square roots: its time is the processor's, not the memory's. */
static inline void work(long units)
{
    double x = 1;
    for (long i = 0; i < units; i++)
        x = sqrt(x + (double)i);
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
