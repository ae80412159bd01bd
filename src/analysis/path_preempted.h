/* SPDX-License-Identifier: MIT */
/*
 * Time for want of a processor within calls. The rule, for paths and wait states alike: until its release a call waits for who releases it,
 * on a processor or off it. What it is preempted for beyond that - behind its release, or as nothing was to release it - is no wait, and no work of the
 * call's: it is time off the processor. Outside of calls, and in calls that don't wait, the graph has intervals of their own for that.
 */
#ifndef HP_ANALYSIS_PATH_PREEMPTED_H
#define HP_ANALYSIS_PATH_PREEMPTED_H

#include "critical_path.h"

/* Of an interval of work (or of a wait by itself), how long its thread was preempted; measured_ns: by point, the times of the trace. */
int64_t interval_preempted(const struct dependency_graph *graph, const int64_t *measured_ns, uint32_t point);
/* Of an edge's lag, how long the thread that it leads to was. */
int64_t lag_preempted(const struct dependency_graph *graph, const int64_t *measured_ns, uint32_t edge, uint32_t to);
/* Of a step's weight: of work as above; of an edge, how long the thread that it leads to was preempted during its lag. */
int64_t path_step_preempted(const struct critical_path *path, uint32_t step);

#endif
