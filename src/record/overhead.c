/* SPDX-License-Identifier: MIT */
/* Two parts: our own CPU time, measured; the interrupts in the target, estimated from the cost of one, measured on ourselves. */
#include "overhead.h"

#include "sample/interrupt_cost.h"

#include <inttypes.h>

void overhead_report(struct recording *recording, bool sampling, int64_t own_cpu_ns)
{
    recording_put_metadata(recording, "overhead.recorder_ns", "%" PRId64, own_cpu_ns);
    int64_t total_ns = own_cpu_ns;
    uint64_t samples = recording->counts.samples_seen + recording->counts.faults_seen;
    if (sampling && samples) {
        int64_t cost_ns = interrupt_cost_ns(&recording->plan);
        if (cost_ns > 0) {
            recording_put_metadata(recording, "overhead.interrupt_ns", "%" PRId64, cost_ns);
            recording_put_metadata(recording, "overhead.interrupts_estimated_ns", "%" PRIu64, (uint64_t)cost_ns * samples);
            total_ns += cost_ns * (int64_t)samples;
        }
    }
    recording_put_metadata(recording, OVERHEAD_TOTAL, "%" PRId64, total_ns);
}
