/* SPDX-License-Identifier: MIT */
/* The records of processes' and threads' lives, and what /proc says of those that already run. */
#ifndef HP_RECORD_TASK_NOTES_H
#define HP_RECORD_TASK_NOTES_H

#include "recording.h"
#include "sample/sched.h"

void task_note_process(struct recording *recording, pid_t pid, pid_t parent, uint32_t flags, int64_t time_ns, const char *name);
void task_note_exec(struct recording *recording, pid_t pid, const char *path, uint32_t flags, int64_t time_ns);
void task_note_thread(struct recording *recording, pid_t pid, pid_t tid, uint32_t flags, int64_t time_ns);
void task_note_thread_end(struct recording *recording, pid_t pid, pid_t tid, int64_t time_ns);
void task_note_name(struct recording *recording, pid_t pid, pid_t tid, const char *name, int64_t time_ns);
void task_note_off_cpu(struct recording *recording, pid_t pid, pid_t tid, const struct sched_span *span, uint64_t *lost);
/* CPU time that was spent in code which the kernel does not let us sample. */
void task_note_excluded(struct recording *recording, pid_t pid, pid_t tid, uint16_t cpu, int64_t time_ns, int64_t weight_ns);

int task_read_comm(pid_t pid, pid_t tid, char *ret_name, size_t size);
void task_read_executable(pid_t pid, char *ret_path, size_t size); /* "" when it cannot be read */
pid_t task_read_parent(pid_t pid);                                 /* 0 when unknown */
uint64_t task_read_start_ticks(pid_t pid);                         /* field 22 of its stat; 0 when unknown */

#endif
