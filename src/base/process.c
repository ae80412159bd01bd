/* SPDX-License-Identifier: MIT */
/* Reading /proc/PID/stat: the name in it may hold anything, so that fields are counted from its closing bracket. */
#include "base/process.h"

#include "base/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define START_FIELD 22

uint64_t process_stat_number(pid_t pid, int field)
{
    char path[64], line[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof(line), file))
        return 0;
    const char *at = strrchr(line, ')');
    for (int i = 2; at && i < field; i++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

int64_t process_start_realtime_ns(pid_t pid)
{
    uint64_t ticks = process_stat_number(pid, START_FIELD);
    long ticks_per_s = sysconf(_SC_CLK_TCK);
    struct timespec realtime, since_boot;
    if (!ticks || ticks_per_s <= 0 || clock_gettime(CLOCK_REALTIME, &realtime) < 0 || clock_gettime(CLOCK_BOOTTIME, &since_boot) < 0)
        return INT64_MIN;
    int64_t boot_ns = (int64_t)(realtime.tv_sec - since_boot.tv_sec) * 1000000000 + realtime.tv_nsec - since_boot.tv_nsec;
    return boot_ns + (int64_t)(ticks * (1000000000 / (uint64_t)ticks_per_s));
}
