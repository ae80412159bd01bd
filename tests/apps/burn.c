/* SPDX-License-Identifier: MIT */
/* CPU time in functions of known names and known shares. */
#include "actions.h"

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

__attribute__((noinline)) void burn(unsigned cpu_ms)
{
    static volatile uint64_t sink;
    int64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns < (int64_t)cpu_ms * 1000000)
        for (unsigned turn = 0; turn < 20000; turn++)
            sink = sink * 6364136223846793005u + turn;
}

static int burn_action(char **words)
{
    burn((unsigned)atoi(words[0]));
    return act(words + 1);
}

static volatile uint64_t share_sink;

#define BURN_SHARE(name)                                                                                               \
    __attribute__((noinline)) static void name(unsigned turns)                                                         \
    {                                                                                                                  \
        for (unsigned turn = 0; turn < turns; turn++)                                                                  \
            share_sink = share_sink * 6364136223846793005u + turn;                                                     \
    }
BURN_SHARE(burn_one_tenth)
BURN_SHARE(burn_three_tenths)
BURN_SHARE(burn_six_tenths)

/* shares MS: 10, 30 and 60 % of the time in three functions. */
static int shares(char **words)
{
    int64_t end_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) + (int64_t)atoi(words[0]) * 1000000;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end_ns) {
        burn_one_tenth(10000);
        burn_three_tenths(30000);
        burn_six_tenths(60000);
    }
    return act(words + 1);
}

/* forever: until killed. */
_Noreturn static int forever(char **words)
{
    for (;;)
        burn(100);
}

/* sleep MS: wall time without CPU time. */
static int sleep_action(char **words)
{
    long ms = atol(words[0]);
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&rest, &rest) < 0)
        ;
    return act(words + 1);
}

const struct action burn_actions[] = {
    {"burn", 1, burn_action}, {"shares", 1, shares}, {"forever", 0, forever}, {"sleep", 1, sleep_action}, {0},
};
