/* SPDX-License-Identifier: MIT */
/* One thread's life on and off the CPU, from its switch records and samples. Pure bookkeeping: times in, spans out. */
#ifndef HP_SAMPLE_SCHED_H
#define HP_SAMPLE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

enum sched_state { SCHED_UNKNOWN, SCHED_ON_CPU, SCHED_OFF_CPU };

struct sched_thread {
    enum sched_state state;
    bool preempted;          /* how it left the CPU */
    uint16_t cpu;            /* where it runs or last ran */
    int64_t since_ns;        /* begin of the present state */
    int64_t cpu_ns;          /* CPU time known so far, without the stretch that is running */
    int64_t sampled_ns;      /* CPU time that samples already stand for */
    int64_t missed_ns;       /* CPU time in which no sample could be taken, wherever it was spent: the next samples stand for it */
    int64_t blind_cpu_ns;    /* cpu_ns when its sampling was stopped */
    bool blind;
};

struct sched_span {
    int64_t begin_ns, end_ns;
    uint16_t from_cpu, to_cpu;
    bool preempted;
};

/* The thread is known to run on this CPU from now on (exec, first sample). */
void sched_start(struct sched_thread *thread, int64_t time_ns, uint16_t cpu);
void sched_out(struct sched_thread *thread, int64_t time_ns, uint16_t cpu, bool preempted);
/* True when this ends a stretch off the CPU, which is then in *ret_span. */
bool sched_in(struct sched_thread *thread, int64_t time_ns, uint16_t cpu, struct sched_span *ret_span);
/* Records were lost: what the thread does is unknown until its next record. */
void sched_forget(struct sched_thread *thread, int64_t time_ns);
/* The CPU time that a sample taken now stands for: all since the sample before. -1 when it is not known. */
int64_t sched_sample(struct sched_thread *thread, int64_t time_ns, uint16_t cpu);
/* The kernel stops the thread's sampling for a while (it throttles), and goes on. What it runs for meanwhile is missed. */
void sched_blind(struct sched_thread *thread, int64_t time_ns);
void sched_sighted(struct sched_thread *thread, int64_t time_ns);
/* Samples that were taken, but got lost, would have stood for this. */
void sched_miss(struct sched_thread *thread, int64_t missed_ns);
/*
 * Where some code is excluded from sampling, the clock ticks there too but gives no sample: then a sample stands for one
 * period and for what was missed, and what is left over was spent in that code. Up to kept_ns of it stays for the samples to come, as each CPU's
 * clock has its own phase: a thread that moves between them has samples further apart and closer than a period.
 */
int64_t sched_sample_bounded(struct sched_thread *thread, int64_t time_ns, uint16_t cpu, int64_t period_ns);
int64_t sched_take_excess(struct sched_thread *thread, int64_t time_ns, int64_t kept_ns);
/* CPU time up to now; sched_unsampled is the part of it that no sample stands for. */
int64_t sched_cpu_ns(const struct sched_thread *thread, int64_t time_ns);
int64_t sched_unsampled_ns(const struct sched_thread *thread, int64_t time_ns);

#endif
