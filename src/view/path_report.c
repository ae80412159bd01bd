/* SPDX-License-Identifier: MIT */
/* From a trace to all that is shown of its critical path. */
#include "path_report.h"

#include "analysis/path_shown.h"
#include "base/error.h"
#include "base/progress.h"
#include "base/thread_pool.h"

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

/* Parts of a report that need nothing of each other. */
enum { PART_ROWS, PART_HOPS, PART_IMBALANCE, PART_SLACK, PART_COUNT };

struct filling {
    struct path_report *report;
    const struct trace *trace;
    const struct path_report_options *options;
    const struct activity_sums *sums; /* of a path that was found in shares */
    int activities_result, results[PART_COUNT];
    struct error activities_err, errs[PART_COUNT];
};

static void name_activities(void *context)
{
    struct filling *filling = context;
    filling->activities_result =
        activities_create(filling->trace, NULL, &filling->report->activities, &filling->activities_err);
}

/* Activities are named beside the graph: both go through all spans, the graph takes much longer. */
static int fill_bases(struct filling *filling, const struct progress *progress, struct error *err)
{
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    bool beside = thread_pool_create(1, &pool) == 0 && thread_pool_submit(pool, name_activities, filling) == 0;
    int result = dependency_graph_create(filling->trace, NULL, progress, &filling->report->graph, err);
    if (beside)
        thread_pool_wait(pool);
    else
        name_activities(filling);
    if (result == 0 && filling->activities_result < 0)
        return error_set(err, filling->activities_result, "%s", filling->activities_err.text);
    return result;
}

static int fill_rows(struct filling *filling, struct error *err)
{
    struct path_report *report = filling->report;
    int result = path_parts_create(report->path, report->activities, report->where, &report->parts, err);
    return result ? result
                  : path_rows_create(report->path, report->parts, report->where, filling->options->by, &report->rows, err);
}

static void fill_part(void *context, size_t part)
{
    struct filling *filling = context;
    struct path_report *report = filling->report;
    struct error *err = &filling->errs[part];
    int result = 0;
    switch (part) {
    case PART_ROWS: result = fill_rows(filling, err); break;
    case PART_HOPS:
        result = path_hops_create(report->path, report->activities, report->where, &report->hops, err);
        break;
    case PART_IMBALANCE:
        result = path_imbalance_create(report->path, report->activities, report->where, filling->sums, &report->imbalance, err);
        break;
    default:
        if (!report->slack)
            result = path_slack_create(report->path, report->activities, report->where, &report->slack, err);
        break;
    }
    filling->results[part] = result;
}

static int fill_parts(struct filling *filling, struct error *err)
{
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    if (thread_pool_create(0, &pool) == 0)
        thread_pool_for(pool, PART_COUNT, fill_part, filling);
    else
        for (size_t part = 0; part < PART_COUNT; part++)
            fill_part(filling, part);
    for (size_t part = 0; part < PART_COUNT; part++)
        if (filling->results[part] < 0)
            return error_set(err, filling->results[part], "%s", filling->errs[part].text);
    return 0;
}

static int fill(struct filling *filling, const struct progress *progress, struct error *err)
{
    struct path_report *report = filling->report;
    int result = report->graph ? 0 : fill_bases(filling, progress, err);
    if (result == 0 && filling->options->where)
        result = activity_set_create(filling->trace, filling->options->where, &report->where, err);
    if (result == 0 && progress_cancelled(progress))
        result = error_set(err, -ECANCELED, "stopped");
    progress_update(progress, "finding the critical path", 0, 0);
    if (result == 0 && !report->path)
        result = critical_path_create(report->graph, &report->path, err);
    if (result == 0 && progress_cancelled(progress))
        result = error_set(err, -ECANCELED, "stopped");
    progress_update(progress, "composition, hops and slack", 0, 0);
    return result ? result : fill_parts(filling, err);
}

int path_report_create(const struct trace *trace, const struct path_report_options *options,
                       const struct progress *progress, struct path_report **ret_report, struct error *err)
{
    CLEANUP(path_report_destroyp) struct path_report *report = calloc(1, sizeof *report);
    if (!report)
        return error_set(err, -ENOMEM, "out of memory");
    report->by = options->by;
    struct filling filling = {.report = report, .trace = trace, .options = options};
    int result = fill(&filling, progress, err);
    if (result == 0)
        *ret_report = TAKE_PTR(report);
    return result;
}

int path_report_of_graph(struct dependency_graph *graph, struct activities *activities, enum path_dimension by,
                         const struct progress *progress, struct path_report **ret_report, struct error *err)
{
    const struct path_report_options options = {.by = by};
    CLEANUP(path_report_destroyp) struct path_report *report = calloc(1, sizeof *report);
    if (!report) {
        activities_destroy(activities);
        dependency_graph_destroy(graph);
        return error_set(err, -ENOMEM, "out of memory");
    }
    report->by = by;
    report->graph = graph;
    report->activities = activities;
    struct filling filling = {.report = report, .trace = graph->trace, .options = &options};
    int result = fill(&filling, progress, err);
    if (result == 0)
        *ret_report = TAKE_PTR(report);
    return result;
}

int path_report_of_shown(struct shown_path *shown, struct activities *activities, enum path_dimension by, const struct progress *progress,
                         struct path_report **ret_report, struct error *err)
{
    const struct path_report_options options = {.by = by};
    CLEANUP(path_report_destroyp) struct path_report *report = calloc(1, sizeof *report);
    struct filling filling = {.report = report, .trace = shown->graph->trace, .options = &options, .sums = &shown->sums};
    if (!report) {
        activities_destroy(activities);
        return error_set(err, -ENOMEM, "out of memory");
    }
    shown_path_name(shown, activities);
    report->by = by;
    report->graph = TAKE_PTR(shown->graph);
    report->path = TAKE_PTR(shown->path);
    report->activities = activities;
    int result = path_slack_of_rows(TAKE_PTR(shown->slack), shown->slack_count, &report->slack);
    shown->slack_count = 0;
    result = result < 0 ? error_set(err, result, "out of memory") : fill(&filling, progress, err);
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
