/* SPDX-License-Identifier: MIT */
/*
 * The traces of one run of several nodes, or of several ranks, as one trace on one clock (docs/merge-nodes.md): clocks are aligned by what
 * processes compared, else through messages, else by what the user assumes, else it is refused. Messages and collectives are
 * joined across traces, what seems to come in before it went out is counted, and mended only if asked for.
 */
#ifndef HP_ANALYSIS_NODE_MERGE_H
#define HP_ANALYSIS_NODE_MERGE_H

#include "base/text.h"
#include "causality.h"
#include "clock_alignment.h"
#include "exchanges.h"

/* In the metadata of a merged trace: see docs/merge-nodes.md. */
#define CLOCK_REFERENCE_KEY "clock.reference"
#define CLOCK_NODE_KEY "clock.node."
#define CORRECTION_TRACK "clock correction" /* a counter for each clock that was mended */

struct clock_assumption {
    const char *node;  /* glob over node names */
    int64_t ahead_ns;  /* its real-time clock shows so much more than the reference's */
};

struct node_merge_options {
    const struct clock_assumption *assumptions;
    size_t assumption_count;
    bool repair;
};

struct node_report {
    char *name;                      /* own */
    struct text ranks;               /* "0-3,8"; empty: none known */
    enum clock_source source;
    char *via;                       /* own; node that it was compared with; NULL: the reference, or one without a trace */
    int64_t offset_ns;               /* the reference's clock less this node's, at begin_ns */
    double drift_ppm;
    int64_t bound_ns;                /* -1 = not known */
    int64_t begin_ns, end_ns;        /* what was recorded of it, on the axis of the whole */
};

/* Where one of the traces lies in the whole. */
struct merge_place {
    int64_t start_raw_ns, start_ns;  /* of the trace, on its own clock; of the whole, on the reference's */
    struct clock_knot *knots;        /* own; from its clock to the reference's; none: it is the reference's */
    uint32_t knot_count, node_count, track_count;
    node_id *nodes;                  /* own; by its nodes: those of the whole */
};

struct node_merge_report {
    struct merge_place *places;      /* by trace */
    uint32_t place_count;
    struct node_report *nodes;       /* in the order of the trace's nodes */
    uint32_t node_count;
    uint32_t ranks, world_size;      /* in the traces, and of the program; 0 = not known */
    uint64_t messages, collectives;  /* joined across traces */
    uint64_t incomplete_collectives, unmatched_ends;
    struct causal_violations measured; /* by the clocks as they were measured */
    int64_t settled_ns;              /* by how much at most a clock was moved within its bound, so that less is violated */
    struct causal_violations before, after; /* of the repair */
    bool repaired;
    uint64_t moved_events, unmended;
    int64_t largest_shift_ns;
    struct text notes;               /* lines that the user should see */
};
void node_merge_report_finish(struct node_merge_report *report);

/* names: of the traces, for messages. */
int node_merge(const struct trace *const *traces, const char *const *names, uint32_t count, const struct node_merge_options *options,
               const struct progress *progress, struct trace **ret_trace, struct node_merge_report *ret_report, struct error *err);

#endif
