/* SPDX-License-Identifier: MIT */
/* One function per kind of record. */
#include "task_notes.h"

#include "base/process.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void task_note_process(struct recording *recording, pid_t pid, pid_t parent, uint32_t flags, int64_t time_ns, const char *name)
{
    struct wire_process_start record = {
        .header = {.kind = WIRE_PROCESS_START},
        .time_ns = time_ns,
        .pid = pid,
        .parent_pid = parent,
        .flags = flags,
        /* Only for the few that are there from the start: reading it for each fork of a build would cost more than the fork. */
        .start_ticks = flags & (WIRE_PROCESS_ROOT | WIRE_PROCESS_ATTACHED) ? task_read_start_ticks(pid) : 0,
    };
    recording_put_text(recording, &record.header, sizeof(record), name, strlen(name));
}

void task_note_exec(struct recording *recording, pid_t pid, const char *path, uint32_t flags, int64_t time_ns)
{
    struct wire_process_exec record = {.header = {.kind = WIRE_PROCESS_EXEC}, .time_ns = time_ns, .pid = pid, .flags = flags};
    recording_put_text(recording, &record.header, sizeof(record), path, strlen(path));
}

void task_note_thread(struct recording *recording, pid_t pid, pid_t tid, uint32_t flags, int64_t time_ns)
{
    struct wire_task_start record = {
        .header = {WIRE_TASK_START, sizeof(record) / 8, flags}, .time_ns = time_ns, .pid = pid, .tid = tid};
    recording_put(recording, SPOOL_KEEP, &record.header, NULL);
}

void task_note_thread_end(struct recording *recording, pid_t pid, pid_t tid, int64_t time_ns)
{
    struct wire_task_exit record = {
        .header = {WIRE_TASK_EXIT, sizeof(record) / 8, 0}, .time_ns = time_ns, .pid = pid, .tid = tid};
    recording_put(recording, SPOOL_KEEP, &record.header, NULL);
}

void task_note_name(struct recording *recording, pid_t pid, pid_t tid, const char *name, int64_t time_ns)
{
    struct wire_task_name record = {.header = {.kind = WIRE_TASK_NAME}, .time_ns = time_ns, .pid = pid, .tid = tid};
    recording_put_text(recording, &record.header, sizeof(record), name, strlen(name));
}

void task_note_off_cpu(struct recording *recording, pid_t pid, pid_t tid, const struct sched_span *span, uint64_t *lost)
{
    struct wire_off_cpu record = {
        .header = {WIRE_OFF_CPU, sizeof(record) / 8, span->preempted ? WIRE_OFF_CPU_PREEMPTED : WIRE_OFF_CPU_BLOCKED},
        .begin_ns = span->begin_ns,
        .end_ns = span->end_ns,
        .pid = pid,
        .tid = tid,
        .from_cpu = span->from_cpu,
        .to_cpu = span->to_cpu,
    };
    recording_put(recording, SPOOL_DENSE, &record.header, lost);
}

void task_note_excluded(struct recording *recording, pid_t pid, pid_t tid, uint16_t cpu, int64_t time_ns, int64_t weight_ns)
{
    struct wire_sample record = {
        .header = {WIRE_SAMPLE, sizeof(record) / 8, 0},
        .time_ns = time_ns,
        .weight = weight_ns,
        .pid = pid,
        .tid = tid,
        .cpu = cpu,
        .event = (uint8_t)recording->plan.event,
        .flags = SAMPLE_EXCLUDED,
    };
    recording_put(recording, SPOOL_DENSE, &record.header, NULL);
    recording->counts.excluded_ns += weight_ns;
}

int task_read_comm(pid_t pid, pid_t tid, char *ret_name, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)pid, (int)tid);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    if (!file || !fgets(ret_name, (int)size, file))
        return -ENOENT;
    ret_name[strcspn(ret_name, "\n")] = 0;
    return 0;
}

void task_read_executable(pid_t pid, char *ret_path, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    ssize_t length = readlink(path, ret_path, size - 1);
    ret_path[length < 0 ? 0 : length] = 0;
}

pid_t task_read_parent(pid_t pid)
{
    return (pid_t)process_stat_number(pid, 4);
}

uint64_t task_read_start_ticks(pid_t pid)
{
    return process_stat_number(pid, 22);
}
