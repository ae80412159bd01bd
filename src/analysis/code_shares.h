/* SPDX-License-Identifier: MIT */
/*
 * How much of each stretch of a program's code lies in the functions that a filter asks for. A stretch with enough CPU
 * samples is judged by its own; a shorter one by those of all short stretches like it: same lane, same activity, same
 * neighbours on both sides.
 */
#ifndef HP_ANALYSIS_CODE_SHARES_H
#define HP_ANALYSIS_CODE_SHARES_H

#include "activities.h"
#include "dependency_graph.h"

/* One share (0 to 1) by point: of the interval before it if that is code; else 0. The caller frees. `set`: of the same
 * filter; what has no samples at all takes its lane's share. */
int code_shares_create(const struct dependency_graph *graph, const struct activities *activities,
                       const struct trace_filter *filter, const struct activity_set *set, float **ret_shares,
                       struct error *err);
/* Whether shares are needed: the set has parts of lanes' code. */
bool code_shares_needed(const struct activity_set *set);

#endif
