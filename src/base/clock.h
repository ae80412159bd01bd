/* SPDX-License-Identifier: MIT */
/* Our own process' clocks, in integer nanoseconds. Raw ticks and their calibration are wire's (wire/clock.h). */
#ifndef HP_BASE_CLOCK_H
#define HP_BASE_CLOCK_H

#include <stdint.h>

int64_t clock_raw_ns(void);       /* CLOCK_MONOTONIC_RAW: the time axis of recordings */
int64_t clock_monotonic_ns(void); /* CLOCK_MONOTONIC: for time-outs and progress */
int64_t clock_realtime_ns(void);  /* since the epoch */
int64_t clock_process_cpu_ns(void);
int64_t clock_thread_cpu_ns(void); /* of the calling thread */

#endif
