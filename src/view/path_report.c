/* SPDX-License-Identifier: MIT */
/* From a trace to all that is shown of its critical path. */
#include "path_report.h"

#include "base/error.h"
#include "base/progress.h"

#include <errno.h>

struct path_part path_hop_part(const struct path_hop *hop)
{
    return (struct path_part){.activity = hop->activity,
                              .track = hop->track,
                              .state = hop->state,
                              .rule = hop->rule,
                              .confidence = hop->confidence,
                              .frame = FRAME_NONE,
                              .time_ns = hop->duration_ns,
                              .count = 1};
}

static int fill(struct path_report *report, const struct trace *trace, const struct path_report_options *options,
                const struct progress *progress, struct error *err)
{
    int result = dependency_graph_create(trace, NULL, progress, &report->graph, err);
    if (result == 0)
        result = activities_create(trace, progress, &report->activities, err);
    if (result == 0 && options->where)
        result = activity_set_create(trace, options->where, &report->where, err);
    progress_update(progress, "finding the critical path", 0, 0);
    if (result == 0)
        result = critical_path_create(report->graph, &report->path, err);
    if (result == 0)
        result = path_parts_create(report->path, report->activities, report->where, &report->parts, err);
    if (result == 0)
        result = path_rows_create(report->path, report->parts, report->where, options->by, &report->rows, err);
    if (result == 0)
        result = path_hops_create(report->path, report->activities, report->where, &report->hops, err);
    if (result == 0)
        result = path_imbalance_create(report->path, report->activities, &report->imbalance, err);
    if (result == 0)
        result = path_slack_create(report->path, report->activities, report->where, &report->slack, err);
    return result;
}

int path_report_create(const struct trace *trace, const struct path_report_options *options,
                       const struct progress *progress, struct path_report **ret_report, struct error *err)
{
    CLEANUP(path_report_destroyp) struct path_report *report = calloc(1, sizeof *report);
    if (!report)
        return error_set(err, -ENOMEM, "out of memory");
    report->by = options->by;
    int result = fill(report, trace, options, progress, err);
    if (result == 0)
        *ret_report = TAKE_PTR(report);
    return result;
}

void path_report_destroy(struct path_report *report)
{
    if (!report)
        return;
    path_slack_destroy(report->slack);
    path_imbalance_destroy(report->imbalance);
    path_hops_destroy(report->hops);
    path_rows_destroy(report->rows);
    path_parts_destroy(report->parts);
    critical_path_destroy(report->path);
    activity_set_destroy(report->where);
    activities_destroy(report->activities);
    dependency_graph_destroy(report->graph);
    free(report);
}
