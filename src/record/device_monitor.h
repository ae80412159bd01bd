/* SPDX-License-Identifier: MIT */
/* Slow counters of the machine's GPUs while a target runs: power, clocks, memory, use. Read from outside the target. */
#ifndef HP_RECORD_DEVICE_MONITOR_H
#define HP_RECORD_DEVICE_MONITOR_H

#include "recording.h"

struct device_monitor;

/* NULL when there is no memory. Where there are no GPUs nothing is read. The recording must outlive it. */
struct device_monitor *device_monitor_start(struct recording *recording);
/* Reads once more and ends. NULL is allowed. */
void device_monitor_stop(struct device_monitor *monitor);
DEFINE_CLEANUP(struct device_monitor *, device_monitor_stop)

#endif
