/* SPDX-License-Identifier: MIT */
/* Loops whose last thread has most to do, and a serial part between them. */
#include "work.h"

#include <omp.h>

static ACTIVITY void serial(long units) { work(units); }

static ACTIVITY void unequal(long units)
{
#pragma omp parallel
    work(units * (1 + omp_get_thread_num()));
}

static ACTIVITY void equal(long units)
{
#pragma omp parallel
    work(units);
}

int main(void)
{
    long serial_units = scaled("serial", 1e6), unequal_units = scaled("unequal", 2e6), equal_units = scaled("equal", 2e6);
    for (int step = 0; step < 60; step++) {
        serial(serial_units);
        unequal(unequal_units);
        equal(equal_units);
    }
    return 0;
}
