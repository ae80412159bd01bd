/* SPDX-License-Identifier: MIT */
/* The summary of a trace: numbers and texts ready to be shown, without a screen. Definitions: docs/metrics.md. */
#ifndef HP_VIEW_SUMMARY_H
#define HP_VIEW_SUMMARY_H

#include "analysis/aggregate.h"
#include "analysis/device_activity.h"
#include "base/cleanup.h"
#include "table.h"
#include "trace/filter.h"
#include "trace/trace.h"

#include <stdint.h>

struct progress;

/* A number that may be missing. */
struct optional_i64 {
    bool known;
    int64_t value;
};

/* Off-CPU spans are a group of their own: they lie beside what threads do, and are all of two names. */
enum summary_group { SUMMARY_SAMPLES, SUMMARY_SPANS, SUMMARY_OFF_CPU, SUMMARY_GROUPS };

/* Of a function that samples ended in: who called it, with the self time that this caller stands for. */
struct summary_caller {
    const char *name, *module; /* "[start of the thread]", "[unknown]": no function of the trace */
    uint64_t count;
    int64_t self_ns;
};

struct summary_function {
    enum summary_group group;
    uint32_t number; /* in the order of their discovery */
    const char *name, *category, *module; /* "" = absent */
    uint64_t count;                       /* samples that show it, or spans */
    int64_t total_ns, self_ns;
    int64_t min_ns, max_ns; /* of spans */
    double percent;         /* self time in the self time of all functions of the same group */
    int64_t start_ns;       /* of total: as what runs before the thread's own function (_start, clone, ...) */
    const struct summary_caller *callers; /* by self time; the nearest other function up the stack */
    size_t caller_count;
    bool is_start; /* by its name and module */
};

struct summary_module {
    const char *name;
    uint64_t count;
    int64_t self_ns;
};

struct summary_thread {
    const char *name, *process; /* thread and program names */
    int32_t pid, tid;
    uint64_t samples;
    int64_t cpu_ns;                               /* sum of its samples' weights */
    struct optional_i64 blocked_ns, preempted_ns; /* from switch records */
    struct optional_i64 life_ns;
};

struct summary_process {
    const char *command, *executable, *reason;
    int32_t pid, rank, wait_status; /* wait_status -1 = unknown */
    bool replaced;                  /* by the next generation, with an exec: this one has no exit status */
    uint32_t generation;
    int64_t start_ns;
    struct optional_i64 end_ns;
    int64_t cpu_ns; /* sum of its samples' weights */
    bool attached;
};

/* What the threads of one rank did in MPI. */
struct summary_mpi_rank {
    int32_t rank, pid;
    uint64_t calls;
    int64_t mpi_ns, send_ns, receive_ns, wait_ns, collective_ns, init_ns, other_ns; /* mpi_ns: all of them together */
    uint64_t messages_sent, messages_received, bytes_sent, bytes_received;          /* point to point */
    uint64_t collective_bytes_sent, collective_bytes_received;
    struct optional_i64 life_ns;
};

struct summary_mpi_comm {
    uint64_t comm; /* identity, as payloads have it */
    char name[64]; /* "" = none */
    struct optional_i64 size;
    uint64_t calls, messages, bytes; /* messages, bytes: sent on it, collectives' included */
    int64_t time_ns;
};

struct summary_mpi {
    const char *library; /* "" = not known */
    struct optional_i64 world_size;
    struct summary_mpi_rank *ranks; /* by rank */
    size_t rank_count;
    struct summary_mpi_comm *comms; /* by time */
    size_t comm_count;
};

/* Parallel regions of one construct in the program. */
struct summary_region {
    const char *name;
    uint64_t count, barriers;            /* barriers: spans, one a thread */
    int64_t total_ns, max_ns;
    int64_t barrier_wait_ns;             /* of all threads */
    struct optional_i64 threads;         /* of the largest team */
};

struct summary_openmp {
    struct summary_region *regions; /* by time */
    size_t region_count;
    uint64_t tasks;                 /* stretches of explicit tasks */
    int64_t task_ns, lock_wait_ns;
    int64_t other_wait_ns;          /* at barriers whose region was not recorded */
};

/* What ran on one device of one process by one backend. */
struct summary_device {
    const char *name, *category; /* "" = not known */
    int32_t device, pid;
    uint64_t lanes, kernels, copies;
    int64_t kernel_ns, copy_ns, fill_ns, other_ns; /* sums: lanes overlap */
    uint64_t copy_bytes;
    int64_t busy_ns, idle_ns;    /* of the time from the first begin to the last end: something ran, nothing did */
    int64_t busy_kernel_ns, busy_copy_ns, busy_other_ns; /* busy_ns: with kernels; with copies and fills only; with neither */
    int64_t overlap_ns;          /* of busy_kernel_ns: with copies, too */
    int64_t idle_by_ns[DEVICE_IDLE_COUNT];
};

/* Ranges of one name, projected on one device: the work that was launched inside them. */
struct summary_range {
    const char *name, *group; /* "" = none */
    size_t device;            /* in devices */
    uint64_t count, works;    /* ranges; pieces of work */
    int64_t host_ns;          /* of the ranges themselves */
    int64_t span_ns, busy_ns; /* from the first begin to the last end of a range's work; some of it ran */
};

struct summary {
    struct trace *trace; /* texts point into it */
    int64_t duration_ns; /* of everything that is in the trace */
    struct optional_i64 run_ns; /* the program's run, where only a part of it was recorded: duration_ns is that part's */
    struct optional_i64 exit_status, overhead_ns, start_realtime_ns;
    int wait_status; /* of the program that was run; -1 = unknown */

    struct summary_function *functions; /* group by group, each by self time */
    size_t function_count, group_count[SUMMARY_GROUPS];
    struct summary_caller *callers; /* of all functions */
    struct summary_module *modules; /* by self time */
    size_t module_count;
    struct summary_thread *threads; /* by CPU time */
    size_t thread_count;
    struct summary_process *processes; /* in the trace's order */
    size_t process_count;
    const struct ledger_entry *ledger;
    uint32_t ledger_count;
    struct summary_mpi *mpi; /* NULL = no call of MPI is in the trace */
    struct summary_openmp *openmp; /* NULL = nothing of OpenMP */
    struct summary_device *devices; /* by process and device */
    size_t device_count;
    struct device_activities *activities; /* what devices[] was made from */
    struct off_cpu_times *off_cpu;        /* by track; what blocked and preempted times were made from */
    struct summary_range *ranges; /* by busy time */
    size_t range_count;

    /* Of samples of CPU time: */
    uint64_t samples, samples_kernel, samples_truncated, samples_without_stack;
    uint64_t samples_cut[SAMPLE_CUT_COUNT]; /* the truncated ones by what ended them */
    int64_t sampled_ns, kernel_ns;
    bool cpu_known;      /* CPU time was measured: else all of it is unknown, not 0 */
    int64_t excluded_ns; /* the part of sampled_ns in code that could not be sampled: measured, in no sample */
    struct optional_i64 unsampled_ns; /* CPU time behind each thread's last sample: no sample stands for it */
    double asked_hz, frequency_hz, delivered_hz; /* asked for, set, samples by CPU time; 0 = not known */
    uint64_t fault_samples;
    struct optional_i64 blocked_ns, preempted_ns; /* if switch records were taken and --where does not leave them out */
    bool filtered; /* --where left something out: whole-run numbers do not apply */
};

int summary_create(struct trace *trace, const struct trace_filter *where, const struct progress *progress,
                   struct summary **ret_summary, struct error *err);
void summary_destroy(struct summary *summary);
DEFINE_CLEANUP(struct summary *, summary_destroy)

/* As a shell has it: the status, 128+N for signal N; unknown for -1. */
struct optional_i64 summary_exit_status(int wait_status);

/* The text for people: `top` functions, 0 = all. */
void summary_draw(const struct summary *summary, uint64_t top, const struct text_look *look, struct text *out);

#endif
