/* SPDX-License-Identifier: MIT */
/*
 * Two maps, pid -> process and tid -> thread. Processes share their parent's mappings until either maps something new
 * (address_map_clone), so that a build which forks ten thousand times costs little.
 */
#include "tasks_internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/map.h"
#include "task_notes.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SAME_FORK_NS = 1000000 };

int task_table_create(struct recording *recording, struct module_log *modules, struct task_table **ret_table)
{
    struct task_table *table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    table->recording = recording;
    table->modules = modules;
    map_init(&table->processes);
    map_init(&table->threads);
    *ret_table = table;
    return 0;
}

void map_view_release(struct map_view *view)
{
    if (!view || --view->references)
        return;
    address_map_destroy(view->map);
    free(view);
}

static void forget_view(struct task_process *process)
{
    map_view_release(process->view);
    process->view = NULL;
}

static void process_free(struct task_process *process)
{
    forget_view(process);
    address_map_destroy(process->map);
    free(process);
}

void task_table_destroy(struct task_table *table)
{
    if (!table)
        return;
    size_t position = 0;
    uint64_t key, value;
    while (map_next(&table->processes, &position, &key, &value))
        process_free((struct task_process *)(uintptr_t)value);
    position = 0;
    while (map_next(&table->threads, &position, &key, &value))
        free((void *)(uintptr_t)value);
    map_finish(&table->processes);
    map_finish(&table->threads);
    free(table);
}

static struct task_process *find_process(const struct task_table *table, pid_t pid)
{
    uint64_t value;
    return map_get(&table->processes, (uint32_t)pid, &value) ? (struct task_process *)(uintptr_t)value : NULL;
}

struct task_thread *task_table_known(const struct task_table *table, pid_t tid)
{
    uint64_t value;
    return map_get(&table->threads, (uint32_t)tid, &value) ? (struct task_thread *)(uintptr_t)value : NULL;
}

static struct task_process *new_process(struct task_table *table, pid_t pid, const struct task_process *parent)
{
    struct task_process *process = calloc(1, sizeof(*process));
    if (!process)
        return NULL;
    process->pid = pid;
    int r = parent ? address_map_clone(parent->map, pid, &process->map)
                   : address_map_create(table->recording->modules, pid, &process->map);
    if (r < 0 || map_set(&table->processes, (uint32_t)pid, (uintptr_t)process) < 0) {
        process_free(process);
        return NULL;
    }
    return process;
}

static struct task_thread *new_thread(struct task_table *table, struct task_process *process, pid_t tid, int64_t time_ns)
{
    struct task_thread *thread = calloc(1, sizeof(*thread));
    if (!thread)
        return NULL;
    thread->tid = tid;
    thread->pid = process->pid;
    thread->born_ns = thread->last_ns = time_ns;
    if (map_set(&table->threads, (uint32_t)tid, (uintptr_t)thread) < 0) {
        free(thread);
        return NULL;
    }
    process->live_threads++;
    return thread;
}

static void add_cpu_time(struct task_table *table, struct task_thread *thread, int64_t time_ns)
{
    if (table->closed)
        return;
    task_table_ask_losses(table, thread, time_ns);
    task_table_note_excluded(table, thread, time_ns);
    table->recording->counts.cpu_ns += sched_cpu_ns(&thread->sched, time_ns);
    table->recording->counts.unsampled_ns += sched_unsampled_ns(&thread->sched, time_ns);
}

/* A thread is over: its CPU time goes into the sums. */
static void end_thread(struct task_table *table, struct task_thread *thread, int64_t time_ns)
{
    add_cpu_time(table, thread, time_ns);
    map_remove(&table->threads, (uint32_t)thread->tid);
    free(thread);
}

int task_table_add_root(struct task_table *table, pid_t pid, int64_t time_ns)
{
    struct task_process *process = new_process(table, pid, NULL);
    if (!process || !new_thread(table, process, pid, time_ns))
        return -ENOMEM;
    process->root = true;
    task_note_process(table->recording, pid, getpid(), WIRE_PROCESS_ROOT, time_ns, "");
    task_note_thread(table->recording, pid, pid, 0, time_ns);
    return 0;
}

static void add_running_thread(struct task_table *table, struct task_process *process, pid_t tid, int64_t since_ns)
{
    /* Born now, as a fork of before that is still to be read may be its own; noted as there from the beginning. */
    struct task_thread *thread = task_table_known(table, tid) ? NULL : new_thread(table, process, tid, clock_raw_ns());
    if (!thread)
        return;
    task_note_thread(table->recording, process->pid, tid, WIRE_PROCESS_ATTACHED, since_ns);
    if (task_read_comm(process->pid, tid, thread->name, sizeof(thread->name)) == 0)
        task_note_name(table->recording, process->pid, tid, thread->name, since_ns);
}

int task_table_add_running(struct task_table *table, pid_t pid, int64_t since_ns, struct error *err)
{
    struct task_process *process = find_process(table, pid);
    char path[64], executable[4096];
    if (!process) {
        process = new_process(table, pid, NULL);
        if (!process)
            return error_set(err, -ENOMEM, "out of memory");
        int r = address_map_load(process->map, err);
        if (r < 0)
            return r;
        task_read_executable(pid, executable, sizeof(executable));
        task_note_process(table->recording, pid, task_read_parent(pid), WIRE_PROCESS_ATTACHED, since_ns, "");
        task_note_exec(table->recording, pid, executable, WIRE_PROCESS_ATTACHED, since_ns);
        module_log_map_all(table->modules, table->recording, process->map, pid, since_ns);
    }
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return error_set_errno(err, -errno, "cannot list the threads of process %d", (int)pid);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            add_running_thread(table, process, (pid_t)strtol(entry->d_name, NULL, 10), since_ns);
    closedir(directory);
    return 0;
}

struct task_process *task_table_process(struct task_table *table, pid_t pid, int64_t time_ns)
{
    struct task_process *process = find_process(table, pid);
    if (process)
        return process;
    process = new_process(table, pid, NULL);
    if (!process)
        return NULL;
    task_note_process(table->recording, pid, 0, 0, time_ns, "");
    if (address_map_load(process->map, NULL) == 0)
        module_log_map_all(table->modules, table->recording, process->map, pid, time_ns);
    return process;
}

struct task_thread *task_table_thread(struct task_table *table, pid_t pid, pid_t tid, int64_t time_ns)
{
    struct task_thread *thread = task_table_known(table, tid);
    if (thread) {
        thread->last_ns = time_ns;
        return thread;
    }
    struct task_process *process = task_table_process(table, pid, time_ns);
    thread = process ? new_thread(table, process, tid, time_ns) : NULL;
    if (thread)
        task_note_thread(table->recording, pid, tid, 0, time_ns);
    return thread;
}

/* A program's name is noted behind its exec, so that it is not taken for the one before. */
static void note_exec(struct task_table *table, struct task_process *process, const char *path)
{
    task_note_exec(table->recording, process->pid, path, 0, process->exec_ns);
    task_note_name(table->recording, process->pid, process->pid, process->exec_name, process->exec_ns);
    process->exec_pending = false;
}

/* The end of a thread, and of its process when it was the last. */
static void bury(struct task_table *table, struct task_thread *thread, int64_t time_ns)
{
    pid_t pid = thread->pid, tid = thread->tid;
    end_thread(table, thread, time_ns);
    task_note_thread_end(table->recording, pid, tid, time_ns);
    struct task_process *process = find_process(table, pid);
    if (!process || --process->live_threads)
        return;
    if (process->exec_pending)
        note_exec(table, process, "");
    if (!process->root)
        task_table_put_exit(table, pid, -1, time_ns);
    map_remove(&table->processes, (uint32_t)pid);
    process_free(process);
}

void task_table_fork(struct task_table *table, const struct perf_record *record, int64_t time_ns)
{
    pid_t pid = (pid_t)record->pid, tid = (pid_t)record->tid, parent_pid = (pid_t)record->u.task.parent_pid;
    struct task_thread *known = task_table_known(table, tid);
    if (known && time_ns < known->born_ns + SAME_FORK_NS) /* told by more than one event, or attached already */
        return;
    if (known) /* its end was lost, and its number is used again */
        bury(table, known, time_ns);
    const struct task_thread *maker = task_table_known(table, (pid_t)record->u.task.parent_tid);
    const char *name = maker ? maker->name : ""; /* until it gives itself another */
    struct task_process *process = find_process(table, pid);
    if (!process) {
        process = new_process(table, pid, find_process(table, parent_pid));
        if (!process)
            return;
        task_note_process(table->recording, pid, parent_pid, 0, time_ns, name);
    }
    struct task_thread *thread = new_thread(table, process, tid, time_ns);
    if (!thread)
        return;
    snprintf(thread->name, sizeof(thread->name), "%s", name);
    task_note_thread(table->recording, pid, tid, 0, time_ns);
    if (name[0])
        task_note_name(table->recording, pid, tid, name, time_ns);
}

void task_table_exit(struct task_table *table, const struct perf_record *record, int64_t time_ns)
{
    struct task_thread *thread = task_table_known(table, (pid_t)record->tid);
    if (thread)
        bury(table, thread, time_ns);
}

void task_table_put_exit(struct task_table *table, pid_t pid, int wait_status, int64_t time_ns)
{
    struct wire_process_exit exit_record = {
        .header = {WIRE_PROCESS_EXIT, sizeof(exit_record) / 8, 0}, .time_ns = time_ns, .pid = pid, .wait_status = wait_status};
    recording_put(table->recording, SPOOL_KEEP, &exit_record.header, NULL);
}

void task_table_comm(struct task_table *table, const struct perf_record *record, int64_t time_ns)
{
    pid_t pid = (pid_t)record->pid, tid = (pid_t)record->tid;
    struct task_thread *thread = task_table_thread(table, pid, tid, time_ns);
    struct task_process *process = find_process(table, pid);
    if (!thread || !process)
        return;
    if (record->u.comm.exec) {
        if (process->exec_pending) /* the program before mapped nothing that we saw */
            note_exec(table, process, "");
        struct address_map *empty;
        if (address_map_create(table->recording->modules, pid, &empty) < 0)
            return;
        forget_view(process);
        address_map_destroy(process->map);
        process->map = empty;
        process->generation++;
        process->exec_pending = true;
        process->exec_ns = time_ns;
        snprintf(process->exec_name, sizeof(process->exec_name), "%s", record->u.comm.name);
        sched_start(&thread->sched, time_ns, (uint16_t)record->cpu);
    } else {
        task_note_name(table->recording, pid, tid, record->u.comm.name, time_ns);
    }
    snprintf(thread->name, sizeof(thread->name), "%s", record->u.comm.name);
}

void task_table_mmap(struct task_table *table, const struct perf_record *record, int64_t time_ns)
{
    const struct perf_mmap_record *map = &record->u.mmap;
    struct task_process *process = find_process(table, (pid_t)record->pid);
    if (!process)
        return;
    if (process->exec_pending && map->path[0] == '/' && strncmp(map->path, "//anon", 6) != 0)
        note_exec(table, process, map->path);
    struct mapping_info mapping = {
        .start = map->start,
        .length = map->length,
        .file_offset = map->file_offset,
        .device = map->device,
        .inode = map->inode,
        .inode_generation = map->inode_generation,
        .path = map->path,
        .build_id = map->build_id_size ? map->build_id : NULL,
        .build_id_size = map->build_id_size,
        .executable = record->type == PERF_RECORD_MMAP ? !(record->misc & PERF_RECORD_MISC_MMAP_DATA)
                                                       : map->protection & PROT_EXEC,
        .time_ns = time_ns,
    };
    forget_view(process);
    module_log_map(table->modules, table->recording, process->map, process->pid, &mapping);
}

/* Only what lies in the recording's window. */
static void note_off_cpu(struct task_table *table, const struct task_thread *thread, const struct sched_span *span)
{
    const struct recording *recording = table->recording;
    struct sched_span inside = *span;
    if (inside.begin_ns < recording->window_begin_ns)
        inside.begin_ns = recording->window_begin_ns;
    if (inside.end_ns > recording->window_end_ns)
        inside.end_ns = recording->window_end_ns;
    if (inside.end_ns < inside.begin_ns)
        return;
    uint64_t failed = 0;
    table->recording->counts.switches_seen++;
    task_note_off_cpu(table->recording, thread->pid, thread->tid, &inside, &failed);
    table->recording->counts.switches_kept += !failed;
}

void task_table_switch(struct task_table *table, const struct perf_record *record, int64_t time_ns)
{
    struct task_thread *thread = task_table_known(table, (pid_t)record->tid);
    if (!thread) {
        /* An exiting thread's last switch comes behind its EXIT record: it must not come to life again. */
        if (record->u.context_switch.out)
            return;
        thread = task_table_thread(table, (pid_t)record->pid, (pid_t)record->tid, time_ns);
        if (!thread)
            return;
    }
    thread->last_ns = time_ns;
    if (record->u.context_switch.out) {
        sched_out(&thread->sched, time_ns, (uint16_t)record->cpu, record->u.context_switch.preempted);
        return;
    }
    struct sched_span span;
    if (sched_in(&thread->sched, time_ns, (uint16_t)record->cpu, &span))
        note_off_cpu(table, thread, &span);
}

static void read_mappings_again(struct task_table *table, struct task_process *process, int64_t time_ns)
{
    forget_view(process);
    if (address_map_load(process->map, NULL) == 0)
        module_log_map_all(table->modules, table->recording, process->map, process->pid, time_ns);
}

void task_table_lost(struct task_table *table)
{
    size_t position = 0;
    uint64_t key, value;
    while (map_next(&table->threads, &position, &key, &value)) {
        struct task_thread *thread = (struct task_thread *)(uintptr_t)value;
        sched_forget(&thread->sched, thread->last_ns);
    }
}

void task_table_read_mappings(struct task_table *table, int64_t time_ns)
{
    size_t position = 0;
    uint64_t key, value;
    while (map_next(&table->processes, &position, &key, &value))
        read_mappings_again(table, (struct task_process *)(uintptr_t)value, time_ns);
}

/* What is off the CPU when the recording ends has been waiting until now at least. */
static void end_waiting(struct task_table *table, struct task_thread *thread, int64_t time_ns)
{
    struct sched_thread copy = thread->sched;
    struct sched_span span;
    if (copy.state == SCHED_OFF_CPU && sched_in(&copy, time_ns, copy.cpu, &span))
        note_off_cpu(table, thread, &span);
}

void task_table_end(struct task_table *table, int64_t time_ns)
{
    size_t position = 0;
    uint64_t key, value;
    while (map_next(&table->threads, &position, &key, &value)) {
        struct task_thread *thread = (struct task_thread *)(uintptr_t)value;
        end_waiting(table, thread, time_ns);
        add_cpu_time(table, thread, time_ns);
    }
}

void task_table_open_window(struct task_table *table, int64_t time_ns)
{
    size_t position = 0;
    uint64_t key, value;
    while (map_next(&table->threads, &position, &key, &value)) {
        struct sched_thread *sched = &((struct task_thread *)(uintptr_t)value)->sched;
        sched->cpu_ns = sched->sampled_ns = 0;
        if (sched->state == SCHED_ON_CPU && sched->since_ns < time_ns)
            sched->since_ns = time_ns;
    }
    table->recording->counts.cpu_ns = table->recording->counts.unsampled_ns = 0;
}

void task_table_close_window(struct task_table *table, int64_t time_ns)
{
    size_t position = 0;
    uint64_t key, value;
    while (map_next(&table->threads, &position, &key, &value))
        add_cpu_time(table, (struct task_thread *)(uintptr_t)value, time_ns);
    table->closed = true;
}

struct map_view *task_process_view(struct task_process *process)
{
    if (!process->view) {
        struct map_view *view = calloc(1, sizeof(*view));
        if (!view || address_map_snapshot(process->map, &view->map) < 0) {
            free(view);
            return NULL;
        }
        view->references = 1;
        process->view = view;
    }
    process->view->references++;
    return process->view;
}

size_t task_table_running(const struct task_table *table, pid_t except, pid_t *ret_pid)
{
    size_t position = 0, count = 0;
    uint64_t key, value;
    while (map_next(&table->processes, &position, &key, &value)) {
        pid_t pid = (pid_t)key;
        if (pid == except || (kill(pid, 0) < 0 && errno == ESRCH))
            continue;
        *ret_pid = pid;
        count++;
    }
    return count;
}

size_t task_table_pids(const struct task_table *table, pid_t *pids, size_t room)
{
    size_t position = 0, count = 0;
    uint64_t key, value;
    while (map_next(&table->processes, &position, &key, &value)) {
        if (count < room)
            pids[count] = (pid_t)key;
        count++;
    }
    return count;
}
