/* SPDX-License-Identifier: MIT */
/*
 * To be preloaded: CLOCK_MONOTONIC_RAW runs HP_SKEW_PPM parts in a million fast, counted from HP_SKEW_EPOCH_NS. Time namespaces move a
 * clock and cannot make it drift; so nodes whose clocks drift apart are made on one machine, with the very programs that users have.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *time)
{
    int result = (int)syscall(SYS_clock_gettime, clock, time);
    const char *ppm = getenv("HP_SKEW_PPM"), *epoch = getenv("HP_SKEW_EPOCH_NS");
    if (result != 0 || clock != CLOCK_MONOTONIC_RAW || !ppm || !epoch)
        return result;
    int64_t now = (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
    now += (int64_t)((__int128)(now - atoll(epoch)) * atoll(ppm) / 1000000);
    time->tv_sec = now / 1000000000;
    time->tv_nsec = now % 1000000000;
    return 0;
}
