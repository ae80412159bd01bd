/* SPDX-License-Identifier: MIT */
/* All that is shown of a critical path: the graph, the path, what it consists of, its hops, and what other lanes did
 * meanwhile. */
#ifndef HP_VIEW_PATH_REPORT_H
#define HP_VIEW_PATH_REPORT_H

#include "analysis/path_hops.h"
#include "analysis/path_imbalance.h"
#include "analysis/path_slack.h"
#include "path_rows.h"

struct progress;
struct text;
struct text_look;

struct path_report_options {
    const struct trace_filter
        *where; /* NULL = the whole path; else the part of it that matches: the path itself stays what it is */
    enum path_dimension by;
};

struct path_report {
    struct dependency_graph *graph;
    struct activities *activities;
    struct critical_path *path;
    struct activity_set *where; /* NULL = everything */
    struct path_parts *parts;
    struct path_rows *rows;
    enum path_dimension by;
    struct path_hops *hops;
    struct path_imbalance *imbalance;
    struct path_slack *slack;
};

int path_report_create(const struct trace *trace, const struct path_report_options *options,
                       const struct progress *progress, struct path_report **ret_report, struct error *err);
/* The same of a graph that was put together from pieces, and its activities: both are taken over. Not PATH_BY_PATH, for which spans are read. */
int path_report_of_graph(struct dependency_graph *graph, struct activities *activities, enum path_dimension by,
                         const struct progress *progress, struct path_report **ret_report, struct error *err);
/* The same of a path that was found in shares: what is shown of it is taken over, as are the activities. */
struct shown_path;
int path_report_of_shown(struct shown_path *shown, struct activities *activities, enum path_dimension by, const struct progress *progress,
                         struct path_report **ret_report, struct error *err);
void path_report_destroy(struct path_report *report);
DEFINE_CLEANUP(struct path_report *, path_report_destroy)

/* As text; top: rows of each table, 0 = all. */
void path_report_draw(const struct path_report *report, uint64_t top, const struct text_look *look, struct text *out);
/* Only what a path consists of. */
void path_rows_draw(const struct path_rows *rows, enum path_dimension by, int64_t whole_ns, uint64_t top,
                    const struct text_look *look, struct text *out);

/* The trace with the path as a track of its own beside all others. */
int path_track_add(const struct trace *trace, const struct path_report *report, const struct progress *progress,
                   struct trace **ret_trace, struct error *err);

/* A hop as a part, for its name, kind and category. */
struct path_part path_hop_part(const struct path_hop *hop);

#endif
