/* SPDX-License-Identifier: MIT */
/* Our own process' clocks. */
#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t clock)
{
    struct timespec now = {0};
    (void)clock_gettime(clock, &now); /* all five clocks exist on every kernel we run on */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_raw_ns(void)
{
    return read_ns(CLOCK_MONOTONIC_RAW);
}

int64_t clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_realtime_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t clock_process_cpu_ns(void)
{
    return read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_thread_cpu_ns(void)
{
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}
