/* SPDX-License-Identifier: MIT */
/* The processes and threads that are being followed, as the kernel's records tell of them, and the notes of their lives. */
#ifndef HP_RECORD_TASKS_H
#define HP_RECORD_TASKS_H

#include "module_log.h"
#include "recording.h"
#include "sample/event_set.h"
#include "sample/sched.h"

struct task_table;

/* A process' mappings at one time, shared by the samples that wait to be unwound. One thread counts the references. */
struct map_view {
    struct address_map *map;
    unsigned references;
};
void map_view_release(struct map_view *view);

enum { TASK_NAME_BYTES = 16 }; /* the kernel's own limit */

struct task_process {
    pid_t pid;
    uint32_t generation;
    unsigned live_threads;
    bool root;             /* the target itself: its end is noted by whoever waits for it */
    bool exec_pending;     /* has called exec; the new program's path comes with its first mapping */
    int64_t exec_ns;
    char exec_name[TASK_NAME_BYTES];
    struct address_map *map;
    struct map_view *view; /* of the map as it is now; NULL until somebody asks */
};
struct task_thread {
    pid_t tid, pid;
    int64_t born_ns;
    int64_t last_ns;       /* of its latest record */
    char name[TASK_NAME_BYTES];
    struct sched_thread sched;
};

int task_table_create(struct recording *recording, struct module_log *modules, struct task_table **ret_table);
void task_table_destroy(struct task_table *table);
DEFINE_CLEANUP(struct task_table *, task_table_destroy)

/* Whom to ask for samples that were lost and not told of yet. */
void task_table_watch_losses(struct task_table *table, const struct event_set *events);

/* The target, or a process that is attached to with all its threads, names and mappings. */
int task_table_add_root(struct task_table *table, pid_t pid, int64_t time_ns);
/* since_ns: from when on its records may come, before the first event was opened. */
int task_table_add_running(struct task_table *table, pid_t pid, int64_t since_ns, struct error *err);
/* Found, or made when its first record was lost. NULL when out of memory. */
struct task_process *task_table_process(struct task_table *table, pid_t pid, int64_t time_ns);
struct task_thread *task_table_thread(struct task_table *table, pid_t pid, pid_t tid, int64_t time_ns);
/* NULL when no record has told of it, or its end has come. */
struct task_thread *task_table_known(const struct task_table *table, pid_t tid);

void task_table_fork(struct task_table *table, const struct perf_record *record, int64_t time_ns);
void task_table_exit(struct task_table *table, const struct perf_record *record, int64_t time_ns);
void task_table_comm(struct task_table *table, const struct perf_record *record, int64_t time_ns);
void task_table_mmap(struct task_table *table, const struct perf_record *record, int64_t time_ns);
void task_table_switch(struct task_table *table, const struct perf_record *record, int64_t time_ns);
/* Where the kernel's code is not sampled: notes the CPU time up to now that no user code's sample can stand for. */
void task_table_note_excluded(struct task_table *table, struct task_thread *thread, int64_t time_ns);
/* Where the kernel's code is not sampled: so many samples were lost, of this thread for all one knows (NULL: of one that has ended). */
void task_table_lost_samples(struct task_table *table, struct task_thread *thread, uint64_t count);
/* Sideband records were lost: nobody's state is known. Mappings are read anew from /proc by the second, once a round. */
void task_table_lost(struct task_table *table);
void task_table_read_mappings(struct task_table *table, int64_t time_ns);
/* The recording's window opens: CPU time counts from here. It closes: CPU time is added up and counts no more. */
void task_table_open_window(struct task_table *table, int64_t time_ns);
void task_table_close_window(struct task_table *table, int64_t time_ns);
/* The end of the recording: closes what is open and adds the CPU time up. */
void task_table_end(struct task_table *table, int64_t time_ns);
void task_table_put_exit(struct task_table *table, pid_t pid, int wait_status, int64_t time_ns);

/* A reference to the process' mappings of now; NULL when out of memory. */
struct map_view *task_process_view(struct task_process *process);
/* How many processes other than `except` still run: the recording ends without them. Names the first in ret_pid. */
size_t task_table_running(const struct task_table *table, pid_t except, pid_t *ret_pid);

/* Pids of the processes that are followed, up to `room` of them. Returns how many there are. */
size_t task_table_pids(const struct task_table *table, pid_t *pids, size_t room);

#endif
