/* SPDX-License-Identifier: MIT */
/*
 * Sums of spans under a filter, and times off the CPU, several threads at once. Whatever the filter leaves out still takes
 * its time from what encloses it: self time means the same with and without a filter.
 */
#ifndef HP_ANALYSIS_AGGREGATE_H
#define HP_ANALYSIS_AGGREGATE_H

#include "trace/filter.h"

struct progress;

/*
 * Rows as trace_span_aggregates has them, largest total first, of the spans that match; where = NULL: all. The caller
 * frees *ret_rows. Filters on name, category and kind are answered from the stored sums, others read all matching tracks.
 */
int aggregate_spans(const struct trace *trace, const struct trace_filter *where, const struct progress *progress,
                    struct span_aggregate **ret_rows, uint32_t *ret_count, struct error *err);

/*
 * Off-CPU times of one scheduler lane (TRACK_KIND_SCHED). A time is not known of other tracks, of lanes without records,
 * of threads that the filter leaves out, and where the filter asks for other spans by name, category, kind or path.
 */
struct off_cpu_times {
    bool blocked_known, preempted_known;
    uint64_t count;
    int64_t blocked_ns, preempted_ns;
};
/* One entry a track. The caller frees *ret_times. */
int aggregate_off_cpu(const struct trace *trace, const struct trace_filter *where, struct off_cpu_times **ret_times,
                      uint32_t *ret_count, struct error *err);

#endif
