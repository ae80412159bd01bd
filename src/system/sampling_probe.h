/* SPDX-License-Identifier: MIT */
/* Which ways of sampling work here: each is really tried, on this process, for a few milliseconds. */
#ifndef HP_SYSTEM_SAMPLING_PROBE_H
#define HP_SYSTEM_SAMPLING_PROBE_H

#include <stdbool.h>

struct probe_result {
    bool works;
    int error;        /* errno of what was refused; 0 when it works, or opens but counts nothing */
    bool counts_zero; /* it opens, but nothing is counted: seen with half-emulated PMUs */
};

struct sampling_probe {
    struct probe_result cycles;        /* hardware cycles, user code */
    struct probe_result cpu_clock;     /* kernel software clock, user code */
    struct probe_result kernel;        /* the kernel's own frames too */
    struct probe_result every_process; /* one event per CPU over all processes */
    struct probe_result branch_stack;  /* LBR */
    struct probe_result switches;      /* context-switch records */
    struct probe_result timers;        /* per-thread CPU timers: the way without perf events */
};

/* Tens of milliseconds of CPU time; nothing stays open. */
void sampling_probe_run(struct sampling_probe *ret_probe);

#endif
