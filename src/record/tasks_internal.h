/* SPDX-License-Identifier: MIT */
/* The table of tasks, for the files that it is made of. */
#ifndef HP_RECORD_TASKS_INTERNAL_H
#define HP_RECORD_TASKS_INTERNAL_H

#include "base/map.h"
#include "tasks.h"

struct task_table {
    struct recording *recording;
    struct module_log *modules;
    struct map processes, threads; /* values are pointers */
    bool closed;                   /* the recording's window: CPU time is added up already */
    const struct event_set *events;
    uint64_t told_early;           /* lost samples that a thread's end asked for, before their record came */
};

/* A thread ends, or all do: what was lost of its samples, and not told of yet, is asked for. */
void task_table_ask_losses(struct task_table *table, struct task_thread *thread, int64_t time_ns);

#endif
