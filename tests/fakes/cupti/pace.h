/* SPDX-License-Identifier: MIT */
/*
 * Playing a recording at its own pace (CUPTI_RECORDING_PACE=1): a call is not before its time, and when the machine is late all that
 * comes after it is late as well. So a command of a device begins after the call that launched it and ends before the call that
 * waited for it, as it did, on any machine.
 */
#ifndef FAKES_CUPTI_PACE_H
#define FAKES_CUPTI_PACE_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

struct pace_step {
    uint64_t time_ns; /* the recording's */
    int64_t shift_ns; /* from then on */
};
static struct pace_step *pace_steps;
static size_t pace_count, pace_room;

static int pace_is_on(void)
{
    const char *wanted = getenv("CUPTI_RECORDING_PACE");
    return wanted && *wanted == '1';
}

static void pace_add(uint64_t time_ns, int64_t shift_ns)
{
    if (pace_count == pace_room) {
        pace_room = pace_room ? pace_room * 2 : 1024;
        pace_steps = realloc(pace_steps, pace_room * sizeof *pace_steps);
        if (!pace_steps)
            exit(1);
    }
    if (!pace_count || pace_steps[pace_count - 1].shift_ns < shift_ns)
        pace_steps[pace_count++] = (struct pace_step){time_ns, shift_ns};
}

static int64_t pace_shift(uint64_t time_ns)
{
    size_t low = 0, high = pace_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pace_steps[middle].time_ns <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return pace_steps[low ? low - 1 : 0].shift_ns;
}

static void pace_wait(uint64_t time_ns, uint64_t (*clock_ns)(void))
{
    const struct timespec nap = {.tv_nsec = 50000};
    int64_t left_ns;
    while ((left_ns = (int64_t)time_ns + pace_steps[pace_count - 1].shift_ns - (int64_t)clock_ns()) > 0)
        if (left_ns > 200000)
            nanosleep(&nap, NULL);
}

/* The call was made: whatever has happened in it by the recording happened now. */
static void pace_done(uint64_t time_ns, uint64_t (*clock_ns)(void))
{
    pace_add(time_ns, (int64_t)clock_ns() - (int64_t)time_ns);
}

#endif
