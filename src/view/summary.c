/* SPDX-License-Identifier: MIT */
/* Building a summary: tables of processes and threads, then samples, then spans, then the order in which they are
 * shown. */
#include "run_length.h"
#include "summary_build.h"

#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int out_of_memory(struct error *err)
{
    return error_set(err, -ENOMEM, "out of memory while making the summary");
}

static struct optional_i64 metadata_number(const struct trace *trace, const char *key)
{
    const char *text = trace_metadata(trace, key);
    char *end;
    if (!text || !*text)
        return (struct optional_i64){0};
    errno = 0;
    long long value = strtoll(text, &end, 10);
    return (struct optional_i64){!errno && !*end, value};
}

/* Each exec of the program that was run is a process of its own; the last of them has ended. A later one may have got
 * its pid. */
static int root_wait_status(const struct summary_build *build)
{
    const struct trace_process *ended = NULL;
    for (uint32_t i = 0; i < build->process_count; i++) {
        const struct trace_process *process = &build->processes[i];
        if (process->pid == build->processes[0].pid && process->node.index == build->processes[0].node.index &&
            process->exit_status != -1 && (!ended || process->start_ns < ended->start_ns))
            ended = process;
    }
    return ended ? ended->exit_status : -1;
}

struct optional_i64 summary_exit_status(int wait_status)
{
    int32_t status = wait_exit_status(wait_status);
    struct optional_i64 known = {status >= 0, status >= 0 ? status : 0};
    return known;
}

static struct optional_i64 exit_status(const struct summary_build *build)
{
    struct optional_i64 status = metadata_number(build->trace, "exit_status");
    return status.known ? status : summary_exit_status(build->summary->wait_status);
}

/* --- tables --------------------------------------------------------------------------------------------------------
 */

static int load_tables(struct summary_build *build)
{
    build->tracks = trace_tracks(build->trace, &build->track_count);
    build->processes = trace_processes(build->trace, &build->process_count);
    build->frames = trace_frames(build->trace, &build->frame_count);
    build->modules = trace_modules(build->trace, &build->module_count);
    build->stacks = trace_stacks(build->trace, &build->stack_count);
    build->frame_function = malloc(((size_t)build->frame_count + 1) * sizeof *build->frame_function);
    build->module_index = malloc(((size_t)build->module_count + 1) * sizeof *build->module_index);
    build->track_thread = malloc(((size_t)build->track_count + 1) * sizeof *build->track_thread);
    build->process_cpu_ns = calloc((size_t)build->process_count + 1, sizeof *build->process_cpu_ns);
    if (!build->frame_function || !build->module_index || !build->track_thread || !build->process_cpu_ns)
        return out_of_memory(build->err);
    memset(build->frame_function, 0xff, ((size_t)build->frame_count + 1) * sizeof *build->frame_function);
    memset(build->module_index, 0xff, ((size_t)build->module_count + 1) * sizeof *build->module_index);
    memset(build->track_thread, 0xff, ((size_t)build->track_count + 1) * sizeof *build->track_thread);
    return 0;
}

/* As far as it was recorded. What ends after the recording has an end that may not be known, which does not matter. */
static struct optional_i64 life_of(const struct summary_build *build, const struct trace_track *track)
{
    int64_t start_ns = track->start_ns, end_ns = track->end_ns;
    if (build->window_begin_ns.known && start_ns != INT64_MIN && start_ns < build->window_begin_ns.value)
        start_ns = build->window_begin_ns.value;
    if (build->window_end_ns.known && (end_ns == INT64_MIN || end_ns > build->window_end_ns.value))
        end_ns = build->window_end_ns.value;
    if (start_ns == INT64_MIN || end_ns == INT64_MIN)
        return (struct optional_i64){0};
    return (struct optional_i64){true, start_ns < end_ns ? time_between(start_ns, end_ns) : 0};
}

static void fill_thread(struct summary_build *build, const struct trace_track *track, struct summary_thread *thread)
{
    bool known = track->process.index < build->process_count;
    const struct trace_process *process = known ? &build->processes[track->process.index] : NULL;
    thread->name = trace_text(build->trace, track->name);
    thread->process = process ? trace_text(build->trace, process->command) : "";
    thread->pid = process ? process->pid : -1;
    thread->tid = track->tid;
    thread->life_ns = life_of(build, track);
}

struct thread_index {
    struct map first; /* process and tid -> the first of these threads */
    struct map exact; /* and when it began -> thread: a thread's number may be used again */
};

static uint64_t exact_key(uint64_t key, int64_t start_ns)
{
    return hash_u64(key ^ hash_u64((uint64_t)start_ns));
}

static int add_thread(struct summary_build *build, struct thread_index *threads, const struct trace_track *track, uint32_t *ret_index)
{
    struct summary *summary = build->summary;
    uint64_t key = (uint64_t)track->process.index << 32 | (uint32_t)track->tid, unused;
    *ret_index = (uint32_t)summary->thread_count++;
    fill_thread(build, track, &summary->threads[*ret_index]);
    int result = map_get(&threads->first, key, &unused) ? 0 : map_set(&threads->first, key, *ret_index);
    return result < 0 ? result : map_set(&threads->exact, exact_key(key, track->start_ns), *ret_index);
}

/* A scheduler's lane belongs to the thread of its number that began when it did, else to the first of that number. */
static int add_sched(struct summary_build *build, struct thread_index *threads, const struct trace_track *track, uint32_t *ret_index)
{
    uint64_t key = (uint64_t)track->process.index << 32 | (uint32_t)track->tid, index;
    if ((track->start_ns == INT64_MIN || !map_get(&threads->exact, exact_key(key, track->start_ns), &index)) &&
        !map_get(&threads->first, key, &index))
        return add_thread(build, threads, track, ret_index);
    *ret_index = (uint32_t)index;
    return 0;
}

static int add_threads(struct summary_build *build)
{
    struct thread_index threads;
    int result = 0;
    build->summary->threads = calloc((size_t)build->track_count + 1, sizeof *build->summary->threads);
    if (!build->summary->threads)
        return out_of_memory(build->err);
    map_init(&threads.first);
    map_init(&threads.exact);
    for (uint32_t i = 0; i < build->track_count && result == 0; i++)
        if (build->tracks[i].kind == TRACK_KIND_THREAD)
            result = add_thread(build, &threads, &build->tracks[i], &build->track_thread[i]);
    for (uint32_t i = 0; i < build->track_count && result == 0; i++)
        if (build->tracks[i].kind == TRACK_KIND_SCHED)
            result = add_sched(build, &threads, &build->tracks[i], &build->track_thread[i]);
    map_finish(&threads.first);
    map_finish(&threads.exact);
    return result < 0 ? out_of_memory(build->err) : 0;
}

static uint64_t moment_key(const struct trace_process *process, int64_t time_ns)
{
    return hash_u64(hash_u64((uint64_t)process->node.index << 32 | (uint32_t)process->pid) ^ (uint64_t)time_ns);
}

/* Where an exec ended a process, the next generation of its pid began at that very moment. */
static int find_replaced(struct summary_build *build)
{
    struct map begun;
    int result = 0;
    map_init(&begun);
    for (uint32_t i = 0; i < build->process_count && result == 0; i++)
        if (build->processes[i].generation > 0)
            result = map_set(&begun, moment_key(&build->processes[i], build->processes[i].start_ns), i);
    for (uint32_t i = 0; i < build->process_count && result == 0; i++) {
        const struct trace_process *process = &build->processes[i];
        uint64_t next;
        build->summary->processes[i].replaced =
            process->exit_status == -1 && process->end_ns != INT64_MIN &&
            map_get(&begun, moment_key(process, process->end_ns), &next) &&
            build->processes[next].generation == process->generation + 1;
    }
    map_finish(&begun);
    return result < 0 ? out_of_memory(build->err) : 0;
}

static int add_processes(struct summary_build *build)
{
    struct summary *summary = build->summary;
    summary->processes = calloc((size_t)build->process_count + 1, sizeof *summary->processes);
    if (!summary->processes)
        return out_of_memory(build->err);
    for (uint32_t i = 0; i < build->process_count; i++) {
        const struct trace_process *process = &build->processes[i];
        summary->processes[i] = (struct summary_process){
            .command = trace_text(build->trace, process->command),
            .executable = trace_text(build->trace, process->executable),
            .reason = trace_text(build->trace, process->reason),
            .pid = process->pid,
            .rank = process->rank,
            .wait_status = process->exit_status,
            .generation = process->generation,
            .start_ns = process->start_ns,
            .end_ns = {process->end_ns != INT64_MIN, process->end_ns},
            .cpu_ns = build->process_cpu_ns[i],
            .attached = process->attached,
        };
    }
    summary->process_count = build->process_count;
    return find_replaced(build);
}

/* --- order ---------------------------------------------------------------------------------------------------------
 */

static int by_time(int64_t left, int64_t right)
{
    return (left < right) - (left > right); /* greatest first */
}

static int compare_functions(const void *left, const void *right)
{
    const struct summary_function *a = left, *b = right;
    int order = (a->group > b->group) - (a->group < b->group);
    order = order ? order : by_time(a->self_ns, b->self_ns);
    order = order ? order : by_time(a->total_ns, b->total_ns);
    order = order ? order : strcmp(a->name, b->name);
    return order ? order : strcmp(a->module, b->module);
}

static int compare_modules(const void *left, const void *right)
{
    const struct summary_module *a = left, *b = right;
    int order = by_time(a->self_ns, b->self_ns);
    return order ? order : strcmp(a->name, b->name);
}

static int compare_threads(const void *left, const void *right)
{
    const struct summary_thread *a = left, *b = right;
    int order = by_time(a->cpu_ns, b->cpu_ns);
    order = order ? order : (a->pid > b->pid) - (a->pid < b->pid);
    return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

static void set_percents(struct summary_function *functions, size_t count)
{
    double whole = 0;
    for (size_t i = 0; i < count; i++)
        whole += (double)functions[i].self_ns;
    for (size_t i = 0; i < count; i++)
        functions[i].percent = whole > 0 ? 100 * (double)functions[i].self_ns / whole : 0;
}

/* With a filter, threads that nothing matched are none of the answer. */
static void drop_idle_threads(struct summary *summary)
{
    size_t kept = 0;
    for (size_t i = 0; i < summary->thread_count; i++) {
        const struct summary_thread *thread = &summary->threads[i];
        if (thread->samples || thread->blocked_ns.value || thread->preempted_ns.value)
            summary->threads[kept++] = *thread;
    }
    summary->thread_count = kept;
}

/* Those that ended before the recording began, or came after it. */
static void drop_unrecorded_threads(struct summary *summary)
{
    size_t kept = 0;
    for (size_t i = 0; i < summary->thread_count; i++) {
        const struct summary_thread *thread = &summary->threads[i];
        bool lived = !thread->life_ns.known || thread->life_ns.value > 0;
        if (lived || thread->samples || thread->cpu_ns || thread->blocked_ns.value || thread->preempted_ns.value)
            summary->threads[kept++] = *thread;
    }
    summary->thread_count = kept;
}

static void drop_unrecorded_processes(const struct summary_build *build)
{
    struct summary *summary = build->summary;
    size_t kept = 0;
    for (size_t i = 0; i < summary->process_count; i++) {
        const struct summary_process *process = &summary->processes[i];
        bool before = build->window_begin_ns.known && process->end_ns.known && process->end_ns.value < build->window_begin_ns.value;
        bool after = build->window_end_ns.known && process->start_ns > build->window_end_ns.value;
        if ((!before && !after) || process->cpu_ns)
            summary->processes[kept++] = *process;
    }
    summary->process_count = kept;
}

static void put_in_order(struct summary *summary)
{
    struct summary_function *group = summary->functions;
    if (summary->function_count)
        qsort(summary->functions, summary->function_count, sizeof *summary->functions, compare_functions);
    for (size_t i = 0; i < summary->function_count; i++)
        summary->group_count[summary->functions[i].group]++;
    for (size_t i = 0; i < SUMMARY_GROUPS && summary->function_count; i++) {
        set_percents(group, summary->group_count[i]);
        group += summary->group_count[i];
    }
    if (summary->module_count)
        qsort(summary->modules, summary->module_count, sizeof *summary->modules, compare_modules);
    if (summary->filtered)
        drop_idle_threads(summary);
    else if (summary->run_ns.known)
        drop_unrecorded_threads(summary);
    qsort(summary->threads, summary->thread_count, sizeof *summary->threads, compare_threads);
}

/* The recorder knows CPU time exactly where switches were recorded; else the samples' own weights, which are measured
 * CPU time, tell the rate. */
static void add_rates(struct summary_build *build)
{
    struct summary *summary = build->summary;
    const char *set = trace_metadata(build->trace, "sampling.frequency");
    const char *delivered = trace_metadata(build->trace, "sampling.frequency_delivered");
    const char *asked = trace_metadata(build->trace, "sampling.frequency_asked");
    if (set)
        parse_double(set, &summary->frequency_hz);
    if (!asked || parse_double(asked, &summary->asked_hz) < 0)
        summary->asked_hz = summary->frequency_hz;
    if (delivered)
        parse_double(delivered, &summary->delivered_hz);
    else if (set && summary->samples && summary->sampled_ns > 0 && !summary->filtered)
        summary->delivered_hz = (double)summary->samples * 1e9 / (double)summary->sampled_ns;
    if (!summary->samples)
        summary->delivered_hz = 0;
}

static int build_all(struct summary_build *build)
{
    struct summary *summary = build->summary;
    build->window_begin_ns = metadata_number(build->trace, "recording.begin_ns");
    build->window_end_ns = metadata_number(build->trace, "recording.end_ns");
    int result = load_tables(build);
    if (result == 0)
        result = add_threads(build);
    if (result == 0)
        result = summary_add_samples(build);
    if (result == 0)
        result = summary_add_spans(build);
    if (result == 0)
        result = add_processes(build);
    if (result == 0)
        result = summary_add_runtimes(build);
    if (result == 0)
        result = summary_add_devices(build);
    if (result < 0)
        return result;
    summary->cpu_known = summary->samples > 0 || trace_metadata(build->trace, "sampling.event");
    summary->ledger = trace_ledger(build->trace, &summary->ledger_count);
    struct run_length length = run_length_of(build->trace);
    summary->duration_ns = length.recorded_ns;
    summary->run_ns = (struct optional_i64){length.partial, length.run_ns};
    summary->wait_status = root_wait_status(build);
    summary->exit_status = exit_status(build);
    summary->overhead_ns = metadata_number(build->trace, "overhead_ns");
    summary->unsampled_ns = metadata_number(build->trace, "sampling.unsampled_ns");
    summary->start_realtime_ns = metadata_number(build->trace, "start_realtime_ns");
    add_rates(build);
    drop_unrecorded_processes(build);
    put_in_order(summary);
    return summary_add_callers(build);
}

int summary_create(struct trace *trace, const struct trace_filter *where, const struct progress *progress,
                   struct summary **ret_summary, struct error *err)
{
    CLEANUP(summary_destroyp) struct summary *summary = calloc(1, sizeof *summary);
    CLEANUP(filter_match_destroyp) struct filter_match *match = NULL;
    if (!summary)
        return out_of_memory(err);
    summary->trace = trace_ref(trace);
    summary->filtered = where != NULL;
    if (where && filter_match_create(where, trace, &match) < 0)
        return out_of_memory(err);
    struct summary_build build = {
        .trace = trace, .summary = summary, .where = where, .match = match, .progress = progress, .err = err};
    map_init(&build.function_index);
    map_init(&build.call_index);
    int result = build_all(&build);
    map_finish(&build.function_index);
    map_finish(&build.call_index);
    free(build.calls);
    free(build.walk);
    free(build.frame_function);
    free(build.last_seen);
    free(build.module_index);
    free(build.track_thread);
    free(build.process_cpu_ns);
    if (result == 0)
        *ret_summary = TAKE_PTR(summary);
    return result;
}

void summary_destroy(struct summary *summary)
{
    if (!summary)
        return;
    trace_unref(summary->trace);
    summary_destroy_mpi(summary->mpi);
    summary_destroy_openmp(summary->openmp);
    device_activities_destroy(summary->activities);
    free(summary->off_cpu);
    free(summary->devices);
    free(summary->ranges);
    free(summary->functions);
    free(summary->callers);
    free(summary->modules);
    free(summary->threads);
    free(summary->processes);
    free(summary);
}
