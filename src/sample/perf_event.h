/* SPDX-License-Identifier: MIT */
/* Opening kernel events: what this machine allows, and the steps down from what was asked to what can be had. */
#ifndef HP_SAMPLE_PERF_EVENT_H
#define HP_SAMPLE_PERF_EVENT_H

#include "perf_record.h"
#include "trace/event.h"

#include <sys/types.h>

struct error;
struct log;

enum sampling_stack { SAMPLING_STACK_NONE, SAMPLING_STACK_FP, SAMPLING_STACK_DWARF, SAMPLING_STACK_LBR };

struct sampling_request {
    unsigned frequency_hz;
    enum sampling_stack stack;
    uint32_t stack_copy_bytes; /* SAMPLING_STACK_DWARF; 0 = the default, more than the kernel takes is cut */
    bool enable_on_exec;       /* armed by the target's exec; else events run from the start (attach) */
    bool start_disabled;       /* samples wait for perf_events_enable (--delay); mappings and switches are followed at once */
};

/* What was agreed with the kernel. */
struct sampling_plan {
    enum sample_event event;  /* CYCLES or CPU_CLOCK */
    enum sampling_stack stack;
    unsigned frequency_hz;    /* after clamping */
    uint32_t stack_copy_bytes;
    bool kernel;              /* the kernel's own code is sampled too */
    bool build_ids;           /* mappings come with build ids */
    bool enable_on_exec, start_disabled;
    bool separate_sideband;   /* mappings and switches have a ring of their own, which stack copies cannot flood */
    struct perf_layout layout;
};

enum { STACK_COPY_DEFAULT = 32768, STACK_COPY_MAXIMUM = 64512 };

/*
 * Finds the best plan the kernel grants, by opening events on the calling thread: cycles, else cpu-clock; with kernel
 * code, else without; LBR, else frame pointers. Each step down is one warning to the log. -EACCES (-EPERM, -ENOSYS) when the kernel
 * refuses every sampling event: the error's text says why and who can change it.
 */
int sampling_plan_make(const struct sampling_request *request, const struct log *log, struct sampling_plan *ret_plan,
                       struct error *err);

/*
 * The kernel refuses a frequency over its limit, which it lowers by itself at any time, when interrupts take long. Whether that may be
 * why it refused this plan (-EINVAL): then the plan has the limit of now, and can be tried again.
 */
bool sampling_plan_lower(struct sampling_plan *plan);

enum { FAULTS_A_SAMPLE = 250 };

enum perf_event_role { EVENT_SAMPLES, EVENT_SIDEBAND, EVENT_FAULTS, EVENT_ROLES };
/* Opens one event of the plan on (pid, cpu); pid 0 is the caller. Returns the descriptor (close-on-exec) or -errno. */
int perf_event_open_planned(const struct sampling_plan *plan, enum perf_event_role role, pid_t pid, int cpu, bool inherit);

/* How a role's samples are laid out: those of page faults have no period. */
struct perf_layout perf_layout_of(const struct sampling_plan *plan, enum perf_event_role role);

/* Numbers under /proc/sys/kernel; -1 when they cannot be read. */
long perf_sysctl(const char *name);
/* How much the host's CLOCK_MONOTONIC(_RAW) must be shifted to be ours: other than 0 in a time namespace. */
int64_t perf_clock_shift_ns(void);

#endif
