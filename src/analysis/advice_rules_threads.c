/* SPDX-License-Identifier: MIT */
/* The advisor's rules on threads, OpenMP, the processors, and on the data itself. */
#include "advice_internal.h"

#include "base/text.h"

bool advice_judge_REGION_IMBALANCE(const struct advice_facts *facts, struct advice *advice)
{
    const struct advice_region *worst = NULL;
    double spread_ns = 0;
    for (size_t i = 0; i < facts->region_count; i++)
        if (!worst || facts->regions[i].spread_ns > worst->spread_ns)
            worst = &facts->regions[i];
    for (uint32_t i = 0; i < facts->process_count; i++)
        spread_ns = facts->by_process[i].spread_ns > spread_ns ? facts->by_process[i].spread_ns : spread_ns;
    if (!worst || spread_ns <= 0)
        return false;
    advice_bound_by(facts, advice, spread_ns < 9e18 ? (int64_t)spread_ns : INT64_MAX);
    advice->subject = ADVICE_ABOUT_SPANS;
    advice->name = worst->name;
    advice->kind = SPAN_KIND_PARALLEL;
    advice_evidence(advice, "regions", "", (double)facts->region_count);
    advice_evidence(advice, "the worst ran", "", (double)worst->count);
    advice_evidence(advice, "its time", "ns", (double)worst->total_ns);
    advice_evidence(advice, "its threads waited", "ns", (double)worst->wait_ns);
    advice_evidence(advice, "its threads", "", (double)worst->threads);
    return true;
}

bool advice_judge_LOCK_WAITS(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane(facts, ADVICE_SUM_LOCK, advice))
        return false;
    advice_about_longest(facts, ADVICE_SUM_LOCK, advice);
    advice_evidence(advice, "waited", "ns", (double)advice->bound_ns);
    advice_evidence(advice, "waits of all threads", "", (double)facts->sums.count[ADVICE_SUM_LOCK]);
    advice_evidence(advice, "of all threads", "ns", (double)facts->sums.total_ns[ADVICE_SUM_LOCK]);
    advice_evidence(advice, "longest of all", "ns", (double)facts->sums.longest[ADVICE_SUM_LOCK].longest_ns);
    return true;
}

bool advice_judge_FINE_TASKS(const struct advice_facts *facts, struct advice *advice)
{
    double made = (double)facts->sums.count[ADVICE_SUM_TASK_MAKING], made_ns = (double)facts->sums.total_ns[ADVICE_SUM_TASK_MAKING];
    if (!facts->tasks || !advice_by_lane(facts, ADVICE_SUM_TASK_MAKING, advice))
        return false;
    advice_about_longest(facts, ADVICE_SUM_TASK_MAKING, advice);
    advice_evidence(advice, "tasks of all threads", "", made);
    advice_evidence(advice, "mean task", "ns", (double)facts->task_ns / made);
    advice_evidence(advice, "mean making of one", "ns", made_ns / made);
    return (double)facts->task_ns < 10 * made_ns;
}

bool advice_judge_SERIAL_PART(const struct advice_facts *facts, struct advice *advice)
{
    int64_t serial_ns = -1, mpi_ns = 0;
    double bound_ns = 0;
    const struct advice_process *worst = NULL;
    for (uint32_t i = 0; i < facts->process_count; i++) {
        const struct advice_process *process = &facts->by_process[i];
        int64_t outside_ns = facts->run_ns - process->parallel_ns - process->mpi_ns;
        double gain_ns = process->threads ? (double)outside_ns * (1 - 1 / (double)process->threads) : 0;
        if (process->threads < 2 || outside_ns < 0 || gain_ns <= bound_ns)
            continue;
        bound_ns = gain_ns;
        serial_ns = outside_ns;
        mpi_ns = process->mpi_ns;
        worst = process;
    }
    if (!worst)
        return false;
    advice_bound_by(facts, advice, (int64_t)bound_ns);
    advice_evidence(advice, "outside of regions", "ns", (double)serial_ns);
    advice_evidence(advice, "in regions", "ns", (double)worst->parallel_ns);
    if (mpi_ns)
        advice_evidence(advice, "in MPI", "ns", (double)mpi_ns);
    advice_evidence(advice, "threads", "", (double)worst->threads);
    return true;
}

/* --- the processors ------------------------------------------------------------------------------------------------------ */

/* The thread that has most is named: its own time first. The share is of all threads. */
static void of_cpu_time(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice, const char *what)
{
    advice->share_percent = advice_percent((double)facts->sums.total_ns[sum], (double)facts->cpu_ns);
    advice_evidence(advice, what, "ns", (double)advice->bound_ns);
    advice_evidence(advice, "all threads together", "ns", (double)facts->sums.total_ns[sum]);
    advice_evidence(advice, "of their CPU time", "ns", (double)facts->cpu_ns);
}

bool advice_judge_HOT_FUNCTION(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane(facts, ADVICE_SUM_FUNCTION, advice))
        return false;
    advice->subject = ADVICE_ABOUT_FUNCTION;
    advice->name = facts->hot;
    of_cpu_time(facts, ADVICE_SUM_FUNCTION, advice, "self time");
    advice_evidence(advice, "samples of all", "", (double)facts->samples);
    return true;
}

bool advice_judge_KERNEL_TIME(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane(facts, ADVICE_SUM_KERNEL, advice))
        return false;
    of_cpu_time(facts, ADVICE_SUM_KERNEL, advice, "in the kernel");
    return true;
}

bool advice_judge_PAGE_FAULTS(const struct advice_facts *facts, struct advice *advice)
{
    uint64_t faults;
    const char *counted = trace_metadata(facts->trace, "sampling.page_faults");
    if (!advice_by_lane(facts, ADVICE_SUM_FAULT, advice))
        return false;
    of_cpu_time(facts, ADVICE_SUM_FAULT, advice, "handling faults");
    if (counted && parse_u64(counted, &faults) == 0)
        advice_evidence(advice, "faults of all", "", (double)faults);
    return true;
}

bool advice_judge_PREEMPTED(const struct advice_facts *facts, struct advice *advice)
{
    uint32_t threads = 0;
    if (!advice_by_lane(facts, ADVICE_SUM_PREEMPTED, advice))
        return false;
    for (uint32_t i = 0; i < facts->track_count; i++)
        threads += facts->sums.time_ns[ADVICE_SUM_PREEMPTED][i] > 0;
    advice_evidence(advice, "without a processor", "ns", (double)advice->bound_ns);
    advice_evidence(advice, "threads of all processes that were", "", (double)threads);
    advice_evidence(advice, "all threads together", "ns", (double)facts->sums.total_ns[ADVICE_SUM_PREEMPTED]);
    return true;
}

/* A process that hardly uses the CPU is at a prompt, or waits for others: unless what it waits in was traced there is nothing to say. */
#define BUSY_PERCENT 5

static double life_of(const struct advice_facts *facts, uint32_t process)
{
    const struct trace_process *of = &facts->processes[process];
    bool known = of->start_ns != INT64_MIN && of->end_ns != INT64_MIN && of->end_ns > of->start_ns;
    double life_ns = known ? (double)of->end_ns - (double)of->start_ns : (double)facts->run_ns;
    return life_ns < (double)facts->run_ns ? life_ns : (double)facts->run_ns;
}

bool advice_judge_BLOCKED(const struct advice_facts *facts, struct advice *advice)
{
    uint32_t most = facts->busiest_main.index;
    int64_t blocked_ns = -1;
    for (uint32_t i = 0; i < facts->track_count && most < facts->track_count; i++) {
        const struct trace_track *track = &facts->tracks[i];
        if (track->kind == TRACK_KIND_SCHED && track->process.index == facts->tracks[most].process.index && track->tid == facts->tracks[most].tid)
            blocked_ns = facts->sums.time_ns[ADVICE_SUM_BLOCKED][i];
    }
    if (blocked_ns < 0)
        return false;
    int64_t called_ns = facts->sums.time_ns[ADVICE_SUM_SYNC][most] + facts->sums.time_ns[ADVICE_SUM_MPI][most];
    if (!called_ns && advice_percent((double)facts->busiest_cpu_ns, life_of(facts, facts->tracks[most].process.index)) < BUSY_PERCENT)
        return false;
    advice->lane = (track_id){most};
    advice_bound_by(facts, advice, blocked_ns > facts->explained_ns ? blocked_ns - facts->explained_ns : 0);
    advice_evidence(advice, "blocked", "ns", (double)blocked_ns);
    if (facts->beside_ns)
        advice_evidence(advice, "of that while other threads had work", "ns", (double)facts->beside_ns);
    advice_evidence(advice, "on the CPU", "ns", (double)facts->sums.time_ns[ADVICE_SUM_CPU][most]);
    if (facts->explained_ns > facts->beside_ns)
        advice_evidence(advice, "of that in traced calls", "ns", (double)(facts->explained_ns - facts->beside_ns));
    return true;
}

/* Threads beside the main one that compute and wait in turns: OpenMP's waits are told by rules of their own. */
#define WORKER_WAITS 10

static uint32_t thread_of(const struct advice_facts *facts, const struct trace_track *sched)
{
    for (uint32_t i = 0; i < facts->track_count; i++)
        if (facts->tracks[i].kind == TRACK_KIND_THREAD && facts->tracks[i].process.index == sched->process.index && facts->tracks[i].tid == sched->tid)
            return i;
    return ID_NONE;
}

static uint64_t stretches_of(const struct advice_facts *facts, uint32_t sched)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < trace_block_count(facts->trace, FAMILY_SPANS); i++) {
        struct block_info info = trace_block_info(facts->trace, FAMILY_SPANS, i);
        count += info.track.index == sched ? info.count : 0;
    }
    return count;
}

/* Without what it was preempted for: then it had work. */
static bool is_blocked_worker(const struct advice_facts *facts, uint32_t sched, uint32_t *ret_thread)
{
    const struct trace_track *track = &facts->tracks[sched];
    int64_t blocked_ns = facts->sums.time_ns[ADVICE_SUM_BLOCKED][sched];
    if (track->kind != TRACK_KIND_SCHED || blocked_ns <= 0 || track->process.index >= facts->process_count ||
        track->tid == facts->processes[track->process.index].pid)
        return false;
    uint32_t thread = thread_of(facts, track);
    if (thread == ID_NONE || facts->by_process[track->process.index].threads)
        return false;
    const struct trace_track *lives = &facts->tracks[thread];
    bool known = lives->start_ns != INT64_MIN && lives->end_ns != INT64_MIN && lives->end_ns > lives->start_ns;
    double life_ns = (known ? (double)lives->end_ns - (double)lives->start_ns : (double)facts->run_ns) - (double)facts->sums.time_ns[ADVICE_SUM_PREEMPTED][sched];
    *ret_thread = thread;
    return 2 * (double)blocked_ns > life_ns && advice_percent((double)facts->sums.time_ns[ADVICE_SUM_CPU][thread], life_ns) >= BUSY_PERCENT &&
           stretches_of(facts, sched) >= WORKER_WAITS;
}

bool advice_judge_BLOCKED_WORKERS(const struct advice_facts *facts, struct advice *advice)
{
    uint64_t workers = 0, waits = 0;
    int64_t most_ns = 0, all_ns = 0;
    if (!facts->surveyed && !string_is(facts->backends.openmp, STRING_NONE))
        return false; /* too large a trace to tell OpenMP's threads from others */
    for (uint32_t i = 0; i < facts->track_count; i++) {
        uint32_t thread;
        if (!is_blocked_worker(facts, i, &thread))
            continue;
        int64_t blocked_ns = facts->sums.time_ns[ADVICE_SUM_BLOCKED][i];
        workers++;
        add_saturated(&all_ns, blocked_ns);
        if (blocked_ns <= most_ns)
            continue;
        most_ns = blocked_ns;
        waits = stretches_of(facts, i);
        advice->lane = (track_id){thread};
    }
    if (workers < 2)
        return false;
    advice_bound_by(facts, advice, most_ns);
    advice_evidence(advice, "blocked", "ns", (double)most_ns);
    advice_evidence(advice, "times off its processor", "", (double)waits);
    advice_evidence(advice, "on the CPU", "ns", (double)facts->sums.time_ns[ADVICE_SUM_CPU][advice->lane.index]);
    advice_evidence(advice, "threads that are", "", (double)workers);
    advice_evidence(advice, "all of these blocked", "ns", (double)all_ns);
    return true;
}

/* --- the data ------------------------------------------------------------------------------------------------------------ */

bool advice_judge_BROKEN_STACKS(const struct advice_facts *facts, struct advice *advice)
{
    const char *asked = trace_metadata(facts->trace, "sampling.callgraph");
    if (!asked || !*asked || !facts->samples_with_stack || (asked[0] == 'n' && asked[1] == 'o'))
        return false;
    advice->share_percent = advice_percent((double)facts->samples_broken, (double)facts->samples_with_stack);
    advice_evidence(advice, "samples with a stack", "", (double)facts->samples_with_stack);
    advice_evidence(advice, "broken", "", (double)facts->samples_broken);
    return facts->samples_broken > 0;
}

bool advice_judge_DATA_LOST(const struct advice_facts *facts, struct advice *advice)
{
    if (!facts->seen || !facts->lost)
        return false;
    advice->share_percent = advice_percent((double)facts->lost, (double)facts->seen);
    advice->name = facts->lost_source;
    advice_evidence(advice, "seen", "", (double)facts->seen);
    advice_evidence(advice, "lost", "", (double)facts->lost);
    return true;
}
