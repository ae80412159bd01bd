/* SPDX-License-Identifier: MIT */
/*
 * A round: read every ring, put the records in order of time, apply those that are old enough. Forks, mappings and switches
 * change what is known of tasks; samples are looked up in what was known at their time. A record becomes visible a little
 * after its time, so the youngest few milliseconds stay for the next round.
 */
#include "sampler.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/map.h"
#include "record_order.h"
#include "sample_jobs.h"
#include "sampler_report.h"
#include "tasks.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ORDER_NS = 5000000,      /* the youngest records wait so long */
    PACK_AFTER_NS = 50000000, /* a stack copy that has waited so long at the next round goes to disk */
    END_WAIT_NS = 200000000, /* then the merge unwinds the rest, at our own priority */
    THREADS_A_READING = 32,
    COPY_LIMIT = 256 << 20,  /* of files that would be out of reach after the run */
};

struct sampler {
    struct recording *recording;
    struct event_set *events;
    struct task_table *tasks;
    struct module_log modules;
    struct sample_jobs *jobs;
    struct record_order order;
    bool window_opened, window_closed;
    int64_t exit_ns; /* of the target's last thread, by its record */
    pid_t target;
    int64_t mappings_lost_ns; /* records were lost at this time: mappings are to be read again; 0 = none */
    int64_t mappings_due_ns;  /* but not before this */
};

static void set_frequency(struct recording *recording, unsigned frequency_hz)
{
    recording->plan.frequency_hz = frequency_hz;
    recording->nominal_period_ns = frequency_hz ? 1000000000 / (int64_t)frequency_hz : 0;
}

int sampler_create(struct recording *recording, struct sampler **ret_sampler, struct error *err)
{
    CLEANUP(sampler_destroyp) struct sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return error_set(err, -ENOMEM, "sampling: out of memory");
    sampler->recording = recording;
    recording->clock_shift_ns = perf_clock_shift_ns();
    set_frequency(recording, recording->plan.frequency_hz);
    if (stack_tree_create(0, &recording->stacks) < 0 || module_table_create(&recording->modules) < 0 ||
        task_table_create(recording, &sampler->modules, &sampler->tasks) < 0)
        return error_set(err, -ENOMEM, "sampling: out of memory");
    int r = event_set_create(&recording->plan, recording->log, &sampler->events, err);
    if (r < 0)
        return r;
    task_table_watch_losses(sampler->tasks, sampler->events);
    r = sample_jobs_create(recording, &sampler->modules, &sampler->jobs, err);
    if (r < 0)
        return r;
    sampler_report_plan(recording);
    *ret_sampler = TAKE_PTR(sampler);
    return 0;
}

void sampler_destroy(struct sampler *sampler)
{
    if (!sampler)
        return;
    struct recording *recording = sampler->recording;
    for (size_t i = 0; i < sampler->order.count; i++)
        unwind_job_destroy(sampler->order.records[i].attachment);
    record_order_finish(&sampler->order);
    sample_jobs_destroy(sampler->jobs);
    task_table_destroy(sampler->tasks);
    event_set_destroy(sampler->events);
    module_log_finish(&sampler->modules);
    stack_tree_destroy(recording->stacks);
    module_table_destroy(recording->modules);
    recording->stacks = NULL;
    recording->modules = NULL;
    free(sampler);
}

/* The kernel may have lowered its limit since the plan was made. */
static int add_task(struct sampler *sampler, pid_t tid, struct error *err)
{
    int r = event_set_add_task(sampler->events, tid, err);
    unsigned frequency_hz = event_set_frequency(sampler->events);
    if (frequency_hz != sampler->recording->plan.frequency_hz) {
        set_frequency(sampler->recording, frequency_hz);
        sampler_report_plan(sampler->recording);
    }
    return r;
}

int sampler_follow_target(struct sampler *sampler, pid_t pid, struct error *err)
{
    sampler->target = pid;
    if (task_table_add_root(sampler->tasks, pid, clock_raw_ns()) < 0)
        return error_set(err, -ENOMEM, "sampling: out of memory");
    return add_task(sampler, pid, err);
}

/* Threads that a followed thread has made are followed already: their FORK record says so. */
struct known_threads {
    struct map tids;
};

static bool is_known(const struct known_threads *known, pid_t tid)
{
    uint64_t unused;
    return map_get(&known->tids, (uint32_t)tid, &unused);
}

static int know(struct known_threads *known, pid_t tid)
{
    return map_set(&known->tids, (uint32_t)tid, 0);
}

static int handle_record(void *context, const struct event_record *event);

struct fork_watch {
    struct sampler *sampler;
    struct known_threads *known;
};

static int watch_fork(void *context, const struct event_record *event)
{
    struct fork_watch *watch = context;
    if (event->record.type == PERF_RECORD_FORK && !is_known(watch->known, (pid_t)event->record.tid) &&
        know(watch->known, (pid_t)event->record.tid) < 0)
        return -ENOMEM;
    return handle_record(watch->sampler, event);
}

/* The threads there are now, in memory of the caller's; their number, or -errno. */
static int list_threads(pid_t pid, pid_t **ret_tids, struct error *err)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *directory = opendir(path);
    if (!directory)
        return error_set_errno(err, -errno, "cannot list the threads of process %d", (int)pid);
    size_t count = 0, capacity = 0;
    int r = 0;
    for (struct dirent *entry; r == 0 && (entry = readdir(directory));) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        pid_t *grown = tid > 0 ? array_reserve(*ret_tids, &capacity, count + 1, sizeof(*grown)) : *ret_tids;
        if (tid > 0 && !grown)
            r = error_set(err, -ENOMEM, "sampling: out of memory");
        else if (tid > 0)
            (*ret_tids = grown)[count++] = tid;
    }
    closedir(directory);
    return r < 0 ? r : (int)count;
}

/*
 * Opens events on the threads not followed yet. Returns how many there were, or -errno. A thread on the list that a
 * followed one has made had its FORK record written before it was on the list: reading behind the listing finds it.
 */
static int attach_threads(struct sampler *sampler, pid_t pid, struct fork_watch *watch, struct error *err)
{
    CLEANUP(freep) pid_t *tids = NULL;
    int count = list_threads(pid, &tids, err), added = 0;
    int r = count < 0 ? count : event_set_read(sampler->events, watch_fork, watch);
    for (int i = 0; i < count && r == 0; i++) {
        if (is_known(watch->known, tids[i]))
            continue;
        r = know(watch->known, tids[i]);
        if (r == 0)
            r = add_task(sampler, tids[i], err);
        added += r == 0;
        if (r == -ESRCH)
            r = 0;
        /* The first threads' rings fill while the last ones' events are opened. */
        if (r == 0 && added % THREADS_A_READING == 0)
            r = event_set_read(sampler->events, watch_fork, watch);
    }
    return r < 0 ? r : added;
}

int sampler_attach(struct sampler *sampler, pid_t pid, struct error *err)
{
    struct known_threads known = {0};
    struct fork_watch watch = {sampler, &known};
    int64_t since_ns = clock_raw_ns();
    int r = 1;
    sampler->target = pid;
    /* Until a look at the threads finds no new one; those that come later are made by threads that are followed. */
    for (int attempt = 0; attempt < 100 && r > 0; attempt++)
        r = attach_threads(sampler, pid, &watch, err);
    map_finish(&known.tids);
    if (r < 0)
        return r;
    return task_table_add_running(sampler->tasks, pid, since_ns, err);
}

int sampler_set_enabled(struct sampler *sampler, bool enabled)
{
    return enabled ? event_set_enable(sampler->events) : event_set_disable(sampler->events);
}

int sampler_poll_fd(const struct sampler *sampler)
{
    return event_set_poll_fd(sampler->events);
}

/* First step: keep the record for its turn. A stack copy is taken out of it, as it is most of the bytes. */
static int handle_record(void *context, const struct event_record *event)
{
    struct sampler *sampler = context;
    int64_t time_ns = (int64_t)event->record.time_ns + sampler->recording->clock_shift_ns;
    bool copies = sampler->recording->plan.stack == SAMPLING_STACK_DWARF && event->record.type == PERF_RECORD_SAMPLE;
    struct unwind_job *job = copies ? sample_jobs_copy(&sampler->recording->plan, &event->record.u.sample) : NULL;
    int r = job ? record_order_add(&sampler->order, time_ns, event->role, &event->record, sizeof(event->record), job)
                : record_order_add(&sampler->order, time_ns, event->role, event->raw, event->raw_bytes, NULL);
    if (r < 0) {
        unwind_job_destroy(job);
        sampler->recording->counts.samples_failed++;
    }
    return 0;
}

static void apply_sample(struct sampler *sampler, enum perf_event_role role, const struct perf_record *record, int64_t time_ns,
                         struct unwind_job *job)
{
    struct recording *recording = sampler->recording;
    pid_t pid = (pid_t)record->pid, tid = (pid_t)record->tid;
    bool fault = role == EVENT_FAULTS;
    struct task_thread *thread = task_table_thread(sampler->tasks, pid, tid, time_ns);
    struct task_process *process = task_table_process(sampler->tasks, pid, time_ns);
    int64_t weight = FAULTS_A_SAMPLE;
    if (!fault && thread)
        weight = recording->plan.kernel
                     ? sched_sample(&thread->sched, time_ns, (uint16_t)record->cpu)
                     : sched_sample_bounded(&thread->sched, time_ns, (uint16_t)record->cpu, recording->nominal_period_ns);
    if (time_ns < recording->window_begin_ns || time_ns > recording->window_end_ns || !thread || !process) {
        recording->counts.samples_outside += thread && process && !fault;
        unwind_job_destroy(job);
        return;
    }
    if (weight < 0) /* not known how long it ran: the period asked for */
        weight = recording->plan.event == SAMPLE_EVENT_CPU_CLOCK ? (int64_t)record->u.sample.period
                                                                 : recording->nominal_period_ns;
    if (!fault)
        task_table_note_excluded(sampler->tasks, thread, time_ns);
    *(fault ? &recording->counts.faults_seen : &recording->counts.samples_seen) += 1;
    struct sample_facts facts = {
        .pid = pid,
        .tid = tid,
        .time_ns = time_ns,
        .weight = weight,
        .cpu = record->cpu < UINT16_MAX ? (uint16_t)record->cpu : UINT16_MAX,
        .event = (uint8_t)(fault ? SAMPLE_EVENT_PAGE_FAULT : recording->plan.event),
        .flags = (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL ? SAMPLE_KERNEL : 0,
    };
    if (job)
        sample_jobs_submit(sampler->jobs, &facts, process, job);
    else
        sample_jobs_chain(sampler->jobs, &facts, process, &record->u.sample);
}

static void apply_lost(struct sampler *sampler, enum perf_event_role role, const struct perf_record *record, int64_t time_ns)
{
    bool sideband = role == EVENT_SIDEBAND;
    struct recording_counts *counts = &sampler->recording->counts;
    *(sideband ? &counts->sideband_lost : &counts->samples_lost) += record->u.lost.count;
    if (!sideband)
        task_table_lost_samples(sampler->tasks, task_table_known(sampler->tasks, (pid_t)record->tid), record->u.lost.count);
    if (record->type != PERF_RECORD_LOST || (!sideband && sampler->recording->plan.separate_sideband))
        return;
    task_table_lost(sampler->tasks);
    sampler->mappings_lost_ns = time_ns;
}

static void apply_throttle(struct sampler *sampler, enum perf_event_role role, const struct perf_record *record, int64_t time_ns)
{
    bool begins = record->type == PERF_RECORD_THROTTLE;
    struct task_thread *thread = role == EVENT_SAMPLES ? task_table_known(sampler->tasks, (pid_t)record->tid) : NULL;
    if (begins && !sampler->recording->counts.throttles++)
        log_warning(sampler->recording->log, "the kernel throttles sampling: fewer samples than asked for, each standing for more time");
    if (thread && begins)
        sched_blind(&thread->sched, time_ns);
    else if (thread)
        sched_sighted(&thread->sched, time_ns);
}

static void apply_record(struct sampler *sampler, enum perf_event_role role, const struct perf_record *record, int64_t time_ns)
{
    switch (record->type) {
    case PERF_RECORD_SAMPLE:
        apply_sample(sampler, role, record, time_ns, NULL);
        break;
    case PERF_RECORD_FORK:
        task_table_fork(sampler->tasks, record, time_ns);
        break;
    case PERF_RECORD_EXIT:
        if ((pid_t)record->pid == sampler->target && time_ns > sampler->exit_ns) /* its last thread need not be its first */
            sampler->exit_ns = time_ns;
        task_table_exit(sampler->tasks, record, time_ns);
        break;
    case PERF_RECORD_COMM:
        task_table_comm(sampler->tasks, record, time_ns);
        break;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
        task_table_mmap(sampler->tasks, record, time_ns);
        break;
    case PERF_RECORD_SWITCH:
        task_table_switch(sampler->tasks, record, time_ns);
        break;
    case PERF_RECORD_LOST:
    case PERF_RECORD_LOST_SAMPLES:
        apply_lost(sampler, role, record, time_ns);
        break;
    case PERF_RECORD_THROTTLE:
    case PERF_RECORD_UNTHROTTLE:
        apply_throttle(sampler, role, record, time_ns);
        break;
    default:
        break;
    }
}

static void watch_window(struct sampler *sampler, int64_t time_ns)
{
    const struct recording *recording = sampler->recording;
    if (!sampler->window_opened && time_ns >= recording->window_begin_ns) {
        sampler->window_opened = true;
        if (recording->window_begin_ns)
            task_table_open_window(sampler->tasks, recording->window_begin_ns);
    }
    if (!sampler->window_closed && time_ns > recording->window_end_ns) {
        sampler->window_closed = true;
        task_table_close_window(sampler->tasks, recording->window_end_ns);
    }
}

/* Reading the mappings of ten thousand processes takes longer than a ring takes to fill: doing so at each loss would bring the
 * next. So it is done for a twentieth of the time at most; what comes meanwhile is caught up with then. */
static void read_lost_mappings(struct sampler *sampler)
{
    int64_t begin_ns = clock_raw_ns();
    if (!sampler->mappings_lost_ns || begin_ns < sampler->mappings_due_ns)
        return;
    task_table_read_mappings(sampler->tasks, sampler->mappings_lost_ns);
    int64_t end_ns = clock_raw_ns();
    sampler->mappings_due_ns = end_ns + 20 * (end_ns - begin_ns);
    sampler->mappings_lost_ns = 0;
}

static void apply_ready(struct sampler *sampler, int64_t horizon_ns)
{
    struct record_order *order = &sampler->order;
    size_t ready = record_order_sort(order, horizon_ns);
    for (size_t i = 0; i < ready; i++) {
        struct ordered_record *ordered = &order->records[i];
        struct perf_layout layout = perf_layout_of(&sampler->recording->plan, (enum perf_event_role)ordered->role);
        struct perf_record record;
        watch_window(sampler, ordered->time_ns);
        if (ordered->attachment) {
            memcpy(&record, record_order_raw(order, i), sizeof(record));
            apply_sample(sampler, (enum perf_event_role)ordered->role, &record, ordered->time_ns, TAKE_PTR(ordered->attachment));
        } else if (perf_record_decode(&layout, record_order_raw(order, i), ordered->bytes, &record) == 0) {
            apply_record(sampler, (enum perf_event_role)ordered->role, &record, ordered->time_ns);
        }
    }
    record_order_drop(order, ready);
    read_lost_mappings(sampler);
}

int sampler_round(struct sampler *sampler)
{
    int64_t begin_ns = clock_raw_ns();
    int r = event_set_read(sampler->events, handle_record, sampler);
    apply_ready(sampler, begin_ns - ORDER_NS);
    sample_jobs_collect(sampler->jobs, begin_ns - PACK_AFTER_NS);
    stack_tree_flush(sampler->recording->stacks, sampler->recording->spool, true);
    spool_flush(sampler->recording->spool, true);
    return r;
}

size_t sampler_pids(const struct sampler *sampler, pid_t *pids, size_t room)
{
    return task_table_pids(sampler->tasks, pids, room);
}

static void wait_for_unwinding(struct sampler *sampler)
{
    int64_t deadline_ns = clock_raw_ns() + END_WAIT_NS;
    sample_jobs_collect(sampler->jobs, 0);
    while (sample_jobs_pending(sampler->jobs) && clock_raw_ns() < deadline_ns) {
        usleep(500);
        sample_jobs_collect(sampler->jobs, 0);
    }
    for (int i = 0; i < 1000 && sample_jobs_pending(sampler->jobs); i++) {
        sample_jobs_collect(sampler->jobs, INT64_MAX); /* what a worker holds comes back as a result */
        usleep(1000);
    }
}

int sampler_end(struct sampler *sampler, pid_t pid, int wait_status, int directory_fd)
{
    struct recording *recording = sampler->recording;
    event_set_disable(sampler->events);
    int64_t now_ns = clock_raw_ns(); /* the end, before the unwinding that is left */
    int r = event_set_read(sampler->events, handle_record, sampler);
    apply_ready(sampler, INT64_MAX);
    wait_for_unwinding(sampler);
    watch_window(sampler, now_ns); /* with events off no record may have told that it closed */
    task_table_end(sampler->tasks, now_ns);
    if (wait_status != -1)
        task_table_put_exit(sampler->tasks, pid, wait_status, sampler->exit_ns ? sampler->exit_ns : now_ns);
    pid_t other = 0;
    size_t running = task_table_running(sampler->tasks, pid, &other);
    if (running)
        log_info(recording->log, "the recording ends with its main process; %zu other process%s go%s on (%d%s)", running,
                 running == 1 ? "" : "es", running == 1 ? "es" : "", (int)other, running == 1 ? "" : " ...");
    module_log_copy_hidden(recording, directory_fd, COPY_LIMIT);
    struct event_totals totals;
    event_set_totals(sampler->events, &totals);
    stack_tree_flush(recording->stacks, recording->spool, true);
    sampler_report(recording, &totals);
    spool_flush(recording->spool, true);
    return r;
}
