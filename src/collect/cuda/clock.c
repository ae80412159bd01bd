/* SPDX-License-Identifier: MIT */
/*
 * CUPTI converts the device's times to the clock that it is given, and wants ns. It gets the process' own clock times one fixed
 * factor; device times go back by the same factor, so that both sides go through the same calibration in the merge and a
 * factor that is a little off does no harm.
 */
#include "cuda.h"

#include <time.h>

static uint64_t raw_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Both clocks, read together as closely as in the best of a few tries. */
static void read_pair(uint64_t *ret_ticks, uint64_t *ret_ns)
{
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < 8; i++) {
        uint64_t before = rt_now(), ns = raw_ns(), after = rt_now();
        if (after - before >= best)
            continue;
        best = after - before;
        *ret_ticks = before + best / 2;
        *ret_ns = ns;
    }
}

bool cuda_clock_start(void)
{
    uint64_t ticks, ns;
    read_pair(&cuda.base_ticks, &cuda.base_ns);
    const struct timespec pause = {.tv_nsec = 2000000};
    nanosleep(&pause, 0);
    read_pair(&ticks, &ns);
    if (ticks <= cuda.base_ticks || ns <= cuda.base_ns)
        return false;
    cuda.ns_per_tick = (uint64_t)(((unsigned __int128)(ns - cuda.base_ns) << 32) / (ticks - cuda.base_ticks));
    if (cuda.ns_per_tick == 0)
        return false;
    cuda.ticks_per_ns = ((unsigned __int128)1 << 96) / cuda.ns_per_tick;
    return true;
}

uint64_t cuda_clock_ns(void)
{
    uint64_t ticks = rt_now() - cuda.base_ticks;
    return cuda.base_ns + (uint64_t)((unsigned __int128)ticks * cuda.ns_per_tick >> 32);
}

/* Times before the start are possible: a device's first records. */
uint64_t cuda_clock_ticks(uint64_t ns)
{
    uint64_t distance = ns >= cuda.base_ns ? ns - cuda.base_ns : cuda.base_ns - ns;
    /* ticks_per_ns has at most 34 bits before the point: the product of the halves does not overflow. */
    uint64_t whole = (uint64_t)(cuda.ticks_per_ns >> 64), part = (uint64_t)cuda.ticks_per_ns;
    uint64_t ticks = distance * whole + (uint64_t)((unsigned __int128)distance * part >> 64);
    return ns >= cuda.base_ns ? cuda.base_ticks + ticks : cuda.base_ticks - ticks;
}
