/* SPDX-License-Identifier: MIT */
/*
 * Who computes, and when. Processes: those that use MPI; where nobody does, those that use OpenMP; else those that use devices. Threads:
 * a process' main one, and OpenMP's that take part in its regions.
 */
#include "efficiency_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "trace/select.h"

#include <errno.h>
#include <string.h>

struct candidate { /* by process of the trace */
    bool uses[BACKEND_NCCL + 1];
    uint32_t main;     /* track; ID_NONE = none yet */
    int64_t begin_ns, end_ns;
    int64_t born_ns, gone_ns;
    bool recorded;     /* something of its life */
    bool init, finalize;
};

struct finding {
    struct efficiency_reading *reading;
    const struct trace_process *processes;
    uint32_t process_count;
    struct candidate *candidates;
    bool *worker; /* by track: takes part in regions of other threads */
    int64_t born_ns, gone_ns; /* from the first to the last moment of those that count */
};

static uint32_t process_of(const struct finding *finding, uint32_t track)
{
    uint32_t process = finding->reading->table->tracks[track].process.index;
    return process < finding->process_count ? process : ID_NONE;
}

static void start_candidates(struct finding *finding)
{
    const struct trace_window window = trace_window_of(finding->reading->trace);
    int64_t begin_ns, end_ns;
    trace_time_range(finding->reading->trace, &begin_ns, &end_ns);
    end_ns = window.end_ns != INT64_MAX && window.end_ns > end_ns ? window.end_ns : end_ns;
    for (uint32_t i = 0; i < finding->process_count; i++) {
        const struct trace_process *process = &finding->processes[i];
        finding->candidates[i] = (struct candidate){.main = ID_NONE, .begin_ns = process->start_ns, .end_ns = end_ns};
        if (process->attached && process->start_ns < begin_ns)
            finding->candidates[i].begin_ns = begin_ns;
        if (process->end_ns != INT64_MIN)
            finding->candidates[i].end_ns = process->end_ns;
        finding->candidates[i].recorded = trace_window_clip(&window, &finding->candidates[i].begin_ns, &finding->candidates[i].end_ns);
        finding->candidates[i].born_ns = finding->candidates[i].begin_ns;
        finding->candidates[i].gone_ns = finding->candidates[i].end_ns;
    }
}

static bool is_init(const char *name)
{
    return strcmp(name, "MPI_Init") == 0 || strcmp(name, "MPI_Init_thread") == 0;
}

/* Spans come by track, then begin. MPI's main thread is the one that called MPI_Init, or the first that called anything. */
static void look_at_span(struct finding *finding, uint32_t span)
{
    const struct span_table *table = finding->reading->table;
    uint32_t track = table->track[span], process = process_of(finding, track);
    if (process == ID_NONE || table->tracks[track].kind != TRACK_KIND_THREAD)
        return;
    struct candidate *candidate = &finding->candidates[process];
    enum backend backend = backend_of(&finding->reading->backends, table->category[span]);
    candidate->uses[backend] = true;
    if (backend != BACKEND_MPI)
        return;
    const char *name = trace_text(finding->reading->trace, table->name[span]);
    if (is_init(name)) {
        candidate->main = track;
        candidate->begin_ns = table->end_ns[span];
        candidate->init = true;
    } else if (strcmp(name, "MPI_Finalize") == 0) {
        candidate->end_ns = table->begin_ns[span];
        candidate->finalize = true;
    }
    if (candidate->main == ID_NONE)
        candidate->main = track;
}

/* Forks tell who takes part in whose regions; without MPI, who forks first is a process' main thread. */
static void look_at_forks(struct finding *finding)
{
    const struct efficiency_reading *reading = finding->reading;
    const struct span_table *table = reading->table;
    for (size_t i = 0; i < reading->link_count; i++) {
        const struct trace_link *link = &reading->links[i];
        if (link->kind != LINK_KIND_FORK || link->from.index >= table->count || link->to.index >= table->count)
            continue;
        uint32_t owner = table->track[link->from.index], part = table->track[link->to.index];
        finding->worker[part] |= owner != part;
    }
    for (size_t i = 0; i < reading->link_count; i++) {
        const struct trace_link *link = &reading->links[i];
        if (link->kind != LINK_KIND_FORK || link->from.index >= table->count)
            continue;
        uint32_t owner = table->track[link->from.index], process = process_of(finding, owner);
        if (process != ID_NONE && finding->candidates[process].main == ID_NONE && !finding->worker[owner])
            finding->candidates[process].main = owner;
    }
}

static void look_at_main_threads(struct finding *finding)
{
    const struct span_table *table = finding->reading->table;
    for (uint32_t track = 0; track < table->track_count; track++) {
        uint32_t process = process_of(finding, track);
        if (process != ID_NONE && table->tracks[track].kind == TRACK_KIND_THREAD && finding->candidates[process].main == ID_NONE &&
            table->tracks[track].tid == finding->processes[process].pid)
            finding->candidates[process].main = track;
    }
}

static int thread_add(struct efficiency *out, size_t *capacity, uint32_t track, bool main)
{
    struct efficiency_thread *threads = array_reserve(out->threads, capacity, out->thread_count + 1, sizeof *threads);
    if (!threads)
        return -ENOMEM;
    out->threads = threads;
    threads[out->thread_count++] = (struct efficiency_thread){.track = {track}, .main = main};
    return 0;
}

static int add_threads(struct finding *finding, struct efficiency_process *process, size_t *capacity)
{
    struct efficiency *out = finding->reading->out;
    const struct span_table *table = finding->reading->table;
    uint32_t main = finding->candidates[process->process.index].main;
    process->first_thread = (uint32_t)out->thread_count;
    int result = thread_add(out, capacity, main, true);
    for (uint32_t track = 0; track < table->track_count && result == 0; track++) {
        if (track == main || process_of(finding, track) != process->process.index || table->tracks[track].kind != TRACK_KIND_THREAD)
            continue;
        if (finding->worker[track])
            result = thread_add(out, capacity, track, false);
        else
            out->other_threads++;
    }
    process->thread_count = (uint32_t)out->thread_count - process->first_thread;
    return result;
}

static bool counts(const struct candidate *candidate, enum backend backend)
{
    return candidate->recorded && candidate->main != ID_NONE && (candidate->uses[backend] || (backend == BACKEND_DEVICE && candidate->uses[BACKEND_NCCL]));
}

/* The backend whose processes count; BACKEND_OTHER: there is none. */
static enum backend chosen_backend(const struct finding *finding)
{
    static const enum backend order[] = {BACKEND_MPI, BACKEND_OPENMP, BACKEND_DEVICE};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        for (uint32_t process = 0; process < finding->process_count; process++)
            if (counts(&finding->candidates[process], order[i]))
                return order[i];
    return BACKEND_OTHER;
}

static int add_process(struct finding *finding, uint32_t index, size_t *capacity)
{
    struct efficiency_reading *reading = finding->reading;
    struct efficiency *out = reading->out;
    const struct candidate *candidate = &finding->candidates[index];
    struct efficiency_process *process = &out->processes[out->process_count];
    *process = (struct efficiency_process){.process = {index}};
    reading->bounds[out->process_count++] = (struct efficiency_bounds){candidate->begin_ns, candidate->end_ns};
    out->inputs.mpi |= candidate->uses[BACKEND_MPI];
    out->inputs.openmp |= candidate->uses[BACKEND_OPENMP];
    out->whole_life |= !candidate->init || !candidate->finalize;
    if (candidate->begin_ns < out->begin_ns)
        out->begin_ns = candidate->begin_ns;
    if (candidate->end_ns > out->end_ns)
        out->end_ns = candidate->end_ns;
    if (candidate->born_ns < finding->born_ns)
        finding->born_ns = candidate->born_ns;
    if (candidate->gone_ns > finding->gone_ns)
        finding->gone_ns = candidate->gone_ns;
    return add_threads(finding, process, capacity);
}

static int choose(struct finding *finding)
{
    struct efficiency_reading *reading = finding->reading;
    struct efficiency *out = reading->out;
    int64_t begin_ns = out->begin_ns, end_ns = out->end_ns;
    size_t capacity = 0;
    int result = 0;
    enum backend backend = chosen_backend(finding);
    if (backend == BACKEND_OTHER)
        return error_set(reading->err, -ENODATA, "the trace has no MPI, no OpenMP and no calls to a device's runtime: nothing to tell the efficiency of");
    out->processes = calloc(finding->process_count + (size_t)1, sizeof *out->processes);
    reading->bounds = calloc(finding->process_count + (size_t)1, sizeof *reading->bounds);
    if (!out->processes || !reading->bounds)
        return -ENOMEM;
    out->begin_ns = finding->born_ns = INT64_MAX;
    out->end_ns = finding->gone_ns = INT64_MIN;
    for (uint32_t i = 0; i < finding->process_count && result == 0; i++)
        if (counts(&finding->candidates[i], backend))
            result = add_process(finding, i, &capacity);
    if (reading->part) { /* where nobody lives, nothing is useful */
        out->begin_ns = begin_ns > finding->born_ns ? begin_ns : finding->born_ns;
        out->end_ns = end_ns < finding->gone_ns ? end_ns : finding->gone_ns;
    }
    if (result == 0 && out->end_ns <= out->begin_ns)
        return error_set(reading->err, -EINVAL, "nothing lies between MPI_Init and MPI_Finalize, or in the window");
    return result;
}

int efficiency_find_threads(struct efficiency_reading *reading)
{
    struct finding finding = {.reading = reading};
    finding.processes = trace_processes(reading->trace, &finding.process_count);
    finding.candidates = calloc(finding.process_count + (size_t)1, sizeof *finding.candidates);
    finding.worker = calloc(reading->table->track_count + (size_t)1, sizeof *finding.worker);
    int result = finding.candidates && finding.worker ? 0 : -ENOMEM;
    if (result == 0) {
        start_candidates(&finding);
        for (uint32_t span = 0; span < reading->table->count; span++)
            look_at_span(&finding, span);
        look_at_forks(&finding);
        look_at_main_threads(&finding);
        result = choose(&finding);
    }
    free(finding.candidates);
    free(finding.worker);
    return result;
}
