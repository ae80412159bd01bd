/* SPDX-License-Identifier: MIT */
/* What the kernel says of a process. */
#ifndef HP_BASE_PROCESS_H
#define HP_BASE_PROCESS_H

#include <stdint.h>
#include <sys/types.h>

/* A number of /proc/PID/stat by its field there (4 or later); 0 when there is no such process. */
uint64_t process_stat_number(pid_t pid, int field);
/* When it started, on CLOCK_REALTIME as it goes now; INT64_MIN when there is no such process. */
int64_t process_start_realtime_ns(pid_t pid);

#endif
