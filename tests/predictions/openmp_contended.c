/* SPDX-License-Identifier: MIT */
/* More threads than processors: what one of them no longer needs the others get. */
#include "work.h"

#include <omp.h>

static ACTIVITY void greedy(long units) { work(units); }
static ACTIVITY void modest(long units) { work(units); }

int main(void)
{
    long greedy_units = scaled("greedy", 6e6), modest_units = scaled("modest", 3e6);
    for (int step = 0; step < 40; step++) {
#pragma omp parallel
        if (omp_get_thread_num() == 0)
            greedy(greedy_units);
        else
            modest(modest_units);
    }
    return 0;
}
