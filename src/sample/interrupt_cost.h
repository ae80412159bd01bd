/* SPDX-License-Identifier: MIT */
/* What one sample costs the program it interrupts, measured on ourselves. */
#ifndef HP_SAMPLE_INTERRUPT_COST_H
#define HP_SAMPLE_INTERRUPT_COST_H

#include "perf_event.h"

/*
 * Runs a loop that reads the clock on the calling thread, sampled as the plan says but more often, and looks at the holes
 * that samples tear into it. Takes about 10 ms. The median in ns, or -errno when it could not be measured.
 */
int64_t interrupt_cost_ns(const struct sampling_plan *plan);

#endif
