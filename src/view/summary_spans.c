/* SPDX-License-Identifier: MIT */
/* Sums of spans by name, and the off-CPU times of threads: the analysis makes them, here they get their texts. */
#include "summary_build.h"

#include "analysis/aggregate.h"
#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

static int add_function(struct summary_build *build, const struct span_aggregate *row)
{
    struct summary *summary = build->summary;
    struct summary_function *functions =
        array_reserve(summary->functions, &build->function_capacity, summary->function_count + 1, sizeof *functions);
    if (!functions)
        return error_set(build->err, -ENOMEM, "out of memory while summing up spans");
    const char *name = trace_text(build->trace, row->name), *category = trace_text(build->trace, row->category);
    const char *kind = row->kind == SPAN_KIND_UNKNOWN ? "" : span_kind_name(row->kind);
    summary->functions = functions;
    functions[summary->function_count] = (struct summary_function){
        .number = (uint32_t)summary->function_count,
        .group = row->kind == SPAN_KIND_BLOCKED ? SUMMARY_OFF_CPU : SUMMARY_SPANS,
        .name = *name           ? name
                : kind && *kind ? kind
                                : "[unnamed]",
        .category = *category ? category
                    : kind    ? kind
                              : "",
        .module = "",
        .count = row->count,
        .total_ns = row->total_ns,
        .self_ns = row->self_ns,
        .min_ns = row->min_ns,
        .max_ns = row->max_ns,
    };
    summary->function_count++;
    return 0;
}

static void add_optional(struct optional_i64 *sum, int64_t value)
{
    sum->known = true;
    add_saturated(&sum->value, value);
}

static void add_off_cpu(struct summary_build *build, const struct off_cpu_times *times, uint32_t track)
{
    struct summary *summary = build->summary;
    uint32_t thread = track < build->track_count ? build->track_thread[track] : UINT32_MAX;
    if (thread == UINT32_MAX)
        return;
    struct summary_thread *sums = &summary->threads[thread];
    if (times->blocked_known) {
        add_optional(&sums->blocked_ns, times->blocked_ns);
        add_optional(&summary->blocked_ns, times->blocked_ns);
    }
    if (times->preempted_known) {
        add_optional(&sums->preempted_ns, times->preempted_ns);
        add_optional(&summary->preempted_ns, times->preempted_ns);
    }
}

int summary_add_spans(struct summary_build *build)
{
    CLEANUP(freep) struct span_aggregate *rows = NULL;
    uint32_t track_count, row_count;
    int result = aggregate_off_cpu(build->trace, build->where, &build->summary->off_cpu, &track_count, build->err);
    if (result < 0)
        return result;
    for (uint32_t i = 0; i < track_count; i++)
        add_off_cpu(build, &build->summary->off_cpu[i], i);
    result = aggregate_spans(build->trace, build->where, build->progress, &rows, &row_count, build->err);
    for (uint32_t i = 0; i < row_count && result == 0; i++)
        result = add_function(build, &rows[i]);
    return result;
}
