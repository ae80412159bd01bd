/* SPDX-License-Identifier: MIT */
/* Sums of times that stop where 63 bits end: those of hostile files, and sums over many lanes, can be longer than any time. */
#ifndef HP_BASE_SATURATED_H
#define HP_BASE_SATURATED_H

#include <stdint.h>

static inline void add_saturated(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = value > 0 ? INT64_MAX : INT64_MIN;
}

#endif
