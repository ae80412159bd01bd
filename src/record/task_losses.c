/* SPDX-License-Identifier: MIT */
/*
 * CPU time that no sample stands for, where the kernel's code may not be sampled: what was spent in that code, told apart from
 * samples that were lost or, by a kernel that throttles, never taken.
 */
#include "task_notes.h"
#include "tasks_internal.h"

enum {
    KEPT_PERIODS = 2, /* of CPU time without a sample are not taken for the kernel's: the next sample may come late */
    ASK_PERIODS = 16, /* without a sample at a thread's end are worth asking how many were lost */
};

void task_table_note_excluded(struct task_table *table, struct task_thread *thread, int64_t time_ns)
{
    struct recording *recording = table->recording;
    if (table->closed || recording->plan.kernel || !recording->nominal_period_ns)
        return;
    int64_t excess_ns = sched_take_excess(&thread->sched, time_ns, KEPT_PERIODS * recording->nominal_period_ns);
    if (excess_ns > 0)
        task_note_excluded(recording, thread->pid, thread->tid, thread->sched.cpu, time_ns, excess_ns);
}

void task_table_watch_losses(struct task_table *table, const struct event_set *events)
{
    table->events = events;
}

void task_table_lost_samples(struct task_table *table, struct task_thread *thread, uint64_t count)
{
    uint64_t told = count < table->told_early ? count : table->told_early;
    table->told_early -= told;
    count -= told;
    int64_t missed_ns;
    if (thread && !table->recording->plan.kernel)
        sched_miss(&thread->sched,
                   __builtin_mul_overflow(count, table->recording->nominal_period_ns, &missed_ns) ? INT64_MAX : missed_ns);
}

/* A ring that stays full tells of what it lost with its next record, and at a thread's end there may be none. */
void task_table_ask_losses(struct task_table *table, struct task_thread *thread, int64_t time_ns)
{
    const struct recording *recording = table->recording;
    int64_t period_ns = recording->nominal_period_ns;
    if (recording->plan.kernel || !recording->plan.separate_sideband || !table->events || period_ns <= 0)
        return;
    int64_t unsampled = sched_unsampled_ns(&thread->sched, time_ns) / period_ns;
    if (unsampled < ASK_PERIODS)
        return;
    uint64_t known = recording->counts.samples_lost + table->told_early, lost = event_set_lost_samples(table->events);
    uint64_t untold = lost > known ? lost - known : 0;
    uint64_t count = untold < (uint64_t)unsampled ? untold : (uint64_t)unsampled;
    table->told_early += count;
    sched_miss(&thread->sched, (int64_t)count * period_ns);
}
