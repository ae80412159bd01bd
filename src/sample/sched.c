/* SPDX-License-Identifier: MIT */
/* Records may be lost or arrive a little late, so every transition is accepted from every state and time never runs back. */
#include "sched.h"

static int64_t running_ns(const struct sched_thread *thread, int64_t time_ns)
{
    return thread->state == SCHED_ON_CPU && time_ns > thread->since_ns ? time_ns - thread->since_ns : 0;
}

void sched_start(struct sched_thread *thread, int64_t time_ns, uint16_t cpu)
{
    if (thread->state != SCHED_UNKNOWN)
        return;
    thread->state = SCHED_ON_CPU;
    thread->since_ns = time_ns;
    thread->cpu = cpu;
}

void sched_blind(struct sched_thread *thread, int64_t time_ns)
{
    if (thread->blind || thread->state != SCHED_ON_CPU)
        return;
    thread->blind = true;
    thread->blind_cpu_ns = sched_cpu_ns(thread, time_ns);
}

void sched_sighted(struct sched_thread *thread, int64_t time_ns)
{
    if (thread->blind)
        sched_miss(thread, sched_cpu_ns(thread, time_ns) - thread->blind_cpu_ns);
    thread->blind = false;
}

void sched_miss(struct sched_thread *thread, int64_t missed_ns)
{
    if (missed_ns > 0 && __builtin_add_overflow(thread->missed_ns, missed_ns, &thread->missed_ns))
        thread->missed_ns = INT64_MAX;
}

void sched_out(struct sched_thread *thread, int64_t time_ns, uint16_t cpu, bool preempted)
{
    sched_sighted(thread, time_ns); /* a thread that comes back is sampled again */
    thread->cpu_ns += running_ns(thread, time_ns);
    thread->state = SCHED_OFF_CPU;
    thread->since_ns = time_ns;
    thread->cpu = cpu;
    thread->preempted = preempted;
}

bool sched_in(struct sched_thread *thread, int64_t time_ns, uint16_t cpu, struct sched_span *ret_span)
{
    bool was_off = thread->state == SCHED_OFF_CPU && time_ns >= thread->since_ns;
    if (was_off)
        *ret_span = (struct sched_span){thread->since_ns, time_ns, thread->cpu, cpu, thread->preempted};
    /* On the CPU already: its switch-out was lost, and nothing says how long it ran. That time is not counted. */
    thread->state = SCHED_ON_CPU;
    thread->since_ns = time_ns;
    thread->cpu = cpu;
    return was_off;
}

void sched_forget(struct sched_thread *thread, int64_t time_ns)
{
    thread->cpu_ns = sched_cpu_ns(thread, time_ns);
    thread->sampled_ns = thread->cpu_ns;
    thread->missed_ns = 0;
    thread->blind = false;
    thread->state = SCHED_UNKNOWN;
}

int64_t sched_sample(struct sched_thread *thread, int64_t time_ns, uint16_t cpu)
{
    if (thread->state == SCHED_UNKNOWN) {
        sched_start(thread, time_ns, cpu);
        return -1;
    }
    int64_t now = sched_cpu_ns(thread, time_ns), weight = now - thread->sampled_ns;
    thread->sampled_ns = now;
    return weight > 0 ? weight : -1;
}

int64_t sched_sample_bounded(struct sched_thread *thread, int64_t time_ns, uint16_t cpu, int64_t period_ns)
{
    if (thread->state == SCHED_UNKNOWN) {
        sched_start(thread, time_ns, cpu);
        return -1;
    }
    if (thread->blind && sched_cpu_ns(thread, time_ns) - thread->blind_cpu_ns < period_ns / 2)
        thread->blind_cpu_ns = sched_cpu_ns(thread, time_ns); /* the sample with which it was stopped */
    else
        sched_sighted(thread, time_ns); /* sampling goes on, on another CPU maybe */
    int64_t weight = sched_unsampled_ns(thread, time_ns), missed_ns = thread->missed_ns;
    if (weight > period_ns && weight - period_ns > missed_ns)
        weight = period_ns + missed_ns;
    if (weight > 0)
        thread->sampled_ns += weight;
    if (weight > period_ns)
        thread->missed_ns -= weight - period_ns;
    int64_t rest_ns = sched_unsampled_ns(thread, time_ns);
    if (thread->missed_ns > rest_ns)
        thread->missed_ns = rest_ns > 0 ? rest_ns : 0;
    return weight > 0 ? weight : -1;
}

int64_t sched_take_excess(struct sched_thread *thread, int64_t time_ns, int64_t kept_ns)
{
    int64_t missing_ns = thread->missed_ns + (thread->blind ? sched_cpu_ns(thread, time_ns) - thread->blind_cpu_ns : 0);
    int64_t excess = sched_unsampled_ns(thread, time_ns) - kept_ns;
    if (excess <= missing_ns)
        return 0;
    excess -= missing_ns;
    thread->sampled_ns += excess;
    return excess;
}

int64_t sched_cpu_ns(const struct sched_thread *thread, int64_t time_ns)
{
    return thread->cpu_ns + running_ns(thread, time_ns);
}

int64_t sched_unsampled_ns(const struct sched_thread *thread, int64_t time_ns)
{
    return sched_cpu_ns(thread, time_ns) - thread->sampled_ns;
}
