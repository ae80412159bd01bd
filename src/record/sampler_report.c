/* SPDX-License-Identifier: MIT */
/* Metadata keys begin with "sampling."; docs/sampling.md says what each means. */
#include "sampler_report.h"

#include "base/clock.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

static void report_ledger(struct recording *recording, const struct event_totals *totals)
{
    const struct recording_counts *counts = &recording->counts;
    bool apart = recording->plan.separate_sideband; /* else a ring that is full says how much it lost, and not of what */
    uint64_t lost = totals->lost_known ? totals->lost_samples : counts->samples_lost, samples_lost = apart ? lost : 0;
    recording_put_ledger(recording, "cpu samples", counts->samples_seen + samples_lost, counts->samples_kept, samples_lost,
                         samples_lost ? "the kernel's ring was full" : "");
    if (counts->samples_failed)
        recording_put_ledger(recording, "cpu samples", 0, 0, counts->samples_failed, "no memory or no room on disk");
    if (counts->faults_seen)
        recording_put_ledger(recording, "page fault samples", counts->faults_seen, counts->faults_kept,
                             counts->faults_seen - counts->faults_kept, "");
    recording_put_ledger(recording, "context switches", counts->switches_seen, counts->switches_kept,
                         counts->switches_seen - counts->switches_kept, "");
    if (counts->sideband_lost)
        recording_put_ledger(recording, "kernel notes", counts->sideband_lost, 0, counts->sideband_lost,
                             "the kernel's ring was full: mappings were read again, switches are missing");
    if (lost && !apart)
        recording_put_ledger(recording, "kernel notes", lost, 0, lost,
                             "the kernel's ring was full: samples and switches are missing, mappings were read again");
    if (totals->bad_records)
        recording_put_ledger(recording, "kernel notes", totals->bad_records, 0, totals->bad_records,
                             "bytes in a ring that are no record");
}

static void report_callgraph(struct recording *recording)
{
    static const char *const names[] = {
        [SAMPLING_STACK_NONE] = "none", [SAMPLING_STACK_FP] = "fp", [SAMPLING_STACK_DWARF] = "dwarf", [SAMPLING_STACK_LBR] = "lbr"};
    const struct sampling_plan *plan = &recording->plan;
    if (plan->stack == SAMPLING_STACK_DWARF)
        recording_put_metadata(recording, "sampling.callgraph", "dwarf,%u", plan->stack_copy_bytes);
    else
        recording_put_metadata(recording, "sampling.callgraph", "%s", names[plan->stack]);
}

void sampler_report_plan(struct recording *recording)
{
    report_callgraph(recording);
    recording_put_metadata(recording, "sampling.event", "%s", sample_event_name(recording->plan.event));
    recording_put_metadata(recording, "sampling.kernel", "%s", recording->plan.kernel ? "yes" : "no");
    if (!recording->plan.kernel)
        recording_put_metadata(recording, "sampling.paranoid", "%ld", perf_sysctl("perf_event_paranoid"));
    recording_put_metadata(recording, "sampling.frequency", "%u", recording->plan.frequency_hz);
}

void sampler_report(struct recording *recording, const struct event_totals *totals)
{
    const struct recording_counts *counts = &recording->counts;
    const struct wire_sampling_end end = {{WIRE_SAMPLING_END, sizeof(end) / 8, 0}, clock_raw_ns()};
    report_ledger(recording, totals);
    if (counts->cpu_ns > 0) {
        recording_put_metadata(recording, "sampling.frequency_delivered", "%.1f",
                               (double)counts->samples_seen * 1e9 / (double)counts->cpu_ns);
        recording_put_metadata(recording, "sampling.cpu_ns", "%" PRId64, counts->cpu_ns);
        recording_put_metadata(recording, "sampling.unsampled_ns", "%" PRId64, counts->unsampled_ns);
        if (!recording->plan.kernel)
            recording_put_metadata(recording, "sampling.excluded_ns", "%" PRId64, counts->excluded_ns);
    }
    if (totals->faults_known)
        recording_put_metadata(recording, "sampling.page_faults", "%" PRIu64, totals->faults);
    if (counts->throttles)
        recording_put_metadata(recording, "sampling.throttles", "%" PRIu64, counts->throttles);
    if (counts->samples_packed)
        recording_put_metadata(recording, "sampling.stacks_packed", "%" PRIu64, counts->samples_packed);
    if (counts->samples_outside)
        recording_put_metadata(recording, "sampling.outside_window", "%" PRIu64, counts->samples_outside);
    struct stack_tree_statistics stacks;
    stack_tree_statistics(recording->stacks, &stacks);
    recording_put_metadata(recording, "sampling.stack_nodes", "%" PRIu64, stacks.nodes);
    recording_put(recording, SPOOL_KEEP, &end.header, NULL);
}
