/* SPDX-License-Identifier: MIT */
/*
 * What is shown of a path that was found in shares: each packs the points of its lanes that matter for it (those on the path and beside it, its nodes, the ends of its lanes),
 * and what it sums over all its points. In one place that becomes a graph without the rest, and a path through it.
 */
#ifndef HP_ANALYSIS_PATH_SHOWN_H
#define HP_ANALYSIS_PATH_SHOWN_H

#include "graph_frame.h"
#include "graph_share.h"
#include "path_imbalance.h"
#include "path_slack.h"
#include "path_whole.h"

/* activities: of the share's spans, and preempted: of its threads; NULL for a share without lanes. From then on the share's tails are slacks. */
int path_shown_pack(struct graph_share *share, const struct activities *activities, const struct preempted *preempted,
                    const struct share_steps *steps, struct parcel *shown);

struct shown_path {
    struct dependency_graph *graph; /* its counts are the whole's */
    struct critical_path *path;     /* without slack_ns */
    struct slack_row *slack;        /* their activities are spans yet, or SPAN_NONE's number, until shown_path_name */
    size_t slack_count;
    struct activity_sums sums;      /* likewise */
};
/* Of all shares, in their order, the frame's own behind them. */
int path_shown_create(struct graph_frame *frame, const struct path_whole *whole, struct parcel *shown, uint32_t count, const struct trace *trace,
                      struct shown_path *ret_shown, struct error *err);
void shown_path_name(struct shown_path *shown, const struct activities *activities);
void shown_path_finish(struct shown_path *shown);

#endif
