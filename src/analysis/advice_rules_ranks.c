/* SPDX-License-Identifier: MIT */
/* The advisor's rules on MPI. */
#include "advice_internal.h"

static int64_t life_of(const struct advice_facts *facts, const struct trace_process *process)
{
    int64_t life_ns;
    if (process->start_ns == INT64_MIN || process->end_ns == INT64_MIN || __builtin_sub_overflow(process->end_ns, process->start_ns, &life_ns))
        return facts->run_ns;
    return life_ns > 0 && life_ns < facts->run_ns ? life_ns : facts->run_ns;
}

bool advice_judge_RANK_IMBALANCE(const struct advice_facts *facts, struct advice *advice)
{
    double sum_ns = 0;
    int64_t heaviest_ns = -1, lightest_ns = INT64_MAX;
    for (uint32_t i = 0; i < facts->process_count; i++) {
        const struct advice_process *process = &facts->by_process[i];
        if (!process->mpi_ns)
            continue;
        int64_t outside_ns = life_of(facts, &facts->processes[i]) - process->mpi_ns;
        sum_ns += (double)outside_ns;
        lightest_ns = outside_ns < lightest_ns ? outside_ns : lightest_ns;
        if (outside_ns > heaviest_ns) {
            heaviest_ns = outside_ns;
            advice->lane = process->mpi_lane;
        }
    }
    if (heaviest_ns < 0)
        return false;
    double average_ns = sum_ns / (double)facts->ranks;
    advice_bound_by(facts, advice, heaviest_ns - (int64_t)average_ns);
    advice_evidence(advice, "ranks", "", (double)facts->ranks);
    advice_evidence(advice, "the heaviest outside of MPI", "ns", (double)heaviest_ns);
    advice_evidence(advice, "the average", "ns", average_ns);
    advice_evidence(advice, "the lightest", "ns", (double)lightest_ns);
    return true;
}

bool advice_judge_SMALL_MESSAGES(const struct advice_facts *facts, struct advice *advice)
{
    if (!facts->small_messages || !advice_by_lane_and_name(facts, ADVICE_SUM_SMALL_MESSAGE, advice))
        return false;
    advice_evidence(advice, "messages below 1 KiB", "", (double)facts->small_messages);
    advice_evidence(advice, "of all messages", "", (double)facts->messages);
    advice_evidence(advice, "their mean size", "By", (double)facts->small_message_bytes / (double)facts->small_messages);
    advice_evidence(advice, "time of all ranks", "ns", (double)facts->sums.total_ns[ADVICE_SUM_SMALL_MESSAGE]);
    return 2 * facts->small_messages > facts->messages;
}

bool advice_judge_MPI_STARTUP(const struct advice_facts *facts, struct advice *advice)
{
    if (!advice_by_lane_and_name(facts, ADVICE_SUM_INIT, advice))
        return false;
    advice_evidence(advice, "ranks", "", (double)facts->ranks);
    advice_evidence(advice, "average of all ranks", "ns", (double)facts->sums.total_ns[ADVICE_SUM_INIT] / (double)facts->ranks);
    return true;
}

static bool waits(const struct advice_facts *facts, enum advice_sum sum, struct advice *advice)
{
    if (!advice_by_lane_and_name(facts, sum, advice))
        return false;
    advice_evidence(advice, "waited", "ns", (double)advice->bound_ns);
    advice_evidence(advice, "waits of all ranks", "", (double)facts->sums.count[sum]);
    advice_evidence(advice, "of all ranks", "ns", (double)facts->sums.total_ns[sum]);
    uint32_t late = facts->late[sum].index;
    uint32_t process = late < facts->track_count ? facts->tracks[late].process.index : ID_NONE;
    if (process < facts->process_count && facts->processes[process].rank >= 0)
        advice_evidence(advice, "mostly for rank", "", (double)facts->processes[process].rank);
    return true;
}

bool advice_judge_LATE_SENDERS(const struct advice_facts *facts, struct advice *advice)
{
    return waits(facts, ADVICE_SUM_LATE_SENDER, advice);
}

bool advice_judge_LATE_RECEIVERS(const struct advice_facts *facts, struct advice *advice)
{
    return waits(facts, ADVICE_SUM_LATE_RECEIVER, advice);
}

bool advice_judge_COLLECTIVE_WAITS(const struct advice_facts *facts, struct advice *advice)
{
    return waits(facts, ADVICE_SUM_COLLECTIVE, advice);
}
