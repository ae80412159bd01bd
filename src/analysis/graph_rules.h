/* SPDX-License-Identifier: MIT */
/*
 * Between the cut lanes of a graph and the rules that find its edges. graph_lanes.c has put every lane's points into the builder when
 * the rules begin; each rule looks at the trace's spans, links and groups, maps spans to points, and adds joins and edges. Only the
 * files of the graph itself include this.
 *
 * Lanes. A host thread is one lane. A device's stream is one lane whose commands stand one behind the other, IDLE between them; where
 * more than a few commands of a track overlapped (a queue out of order, graphs whose nodes run side by side) each command is a lane of
 * its own, all of the same track: then only edges order them. A graph's span around its nodes' is IDLE there: it ends with them. Blocking host calls were cut as WAIT: SYNC, and API, LAUNCH, ALLOC and COPY whose payload says `blocking`,
 * and what graph_lanes.c lists for MPI and OpenMP. Where a rule finds that such a call needed no release it says so by
 * graph_rules_explain; where one finds that a call not listed did wait, graph_rules_await.
 */
#ifndef HP_ANALYSIS_GRAPH_RULES_H
#define HP_ANALYSIS_GRAPH_RULES_H

#include "base/progress.h"
#include "graph_internal.h"

struct graph_rules {
    const struct trace *trace;
    struct graph_builder *builder;
    const struct graph_options *options; /* never NULL */
    const struct progress *progress;
    uint32_t span_count;
    uint32_t first_track;                /* what the trace's tracks are numbered from in the whole that it is a piece of */
    uint32_t *begin_point, *end_point;   /* by span id; POINT_NONE for what lies on no lane */
    uint8_t *kind;                       /* by span id: enum span_kind */
    uint64_t doubtful;                   /* edges whose confidence fell for losses */
    struct graph_extra_point {
        uint32_t span, point;
        uint8_t which;
    } *extras;                           /* by span */
    size_t extra_count;
    bool *unclocked;                     /* by node: its clock was never compared; NULL: all were */
    bool lost_anywhere;                  /* the ledger has lost records, and doesn't say where */
    bool *numbered;                      /* by process: its calls' numbers would show where something is missing */
    struct graph_loss {                  /* where they do: by process and time */
        uint32_t process;
        int64_t begin_ns, end_ns;
    } *losses;
    size_t loss_count, loss_capacity;
    bool piece;                          /* of a graph that is put together elsewhere: nothing is known of other processes */
    bool others_active;                  /* but whether some of them did something */
    uint32_t before_nccl;                /* edges of a piece that were there before those of NCCL, which are found elsewhere, would come */
    struct span_block near;              /* where the last payload was asked for */
    bool near_held;
};

/* Room for what is known by span, and that; builder, trace and options are there. */
int graph_rules_init(struct graph_rules *rules);
void graph_rules_finish(struct graph_rules *rules);

/* Rules in files of their own: 0 or -errno with err set. */
int graph_rules_mpi(struct graph_rules *rules, struct error *err);
int graph_rules_openmp(struct graph_rules *rules, struct error *err);
int graph_rules_device(struct graph_rules *rules, struct error *err); /* streams, launches, syncs, NCCL, buffers */
int graph_rules_processor(struct graph_rules *rules, struct error *err);
int graph_rules_nccl(struct graph_rules *rules, struct error *err);

/* What graph_rules_processor needs of a piece's lanes; its edges of all pieces' lanes, which are numbered from first_lanes on. */
struct parcel;
int graph_processor_pack(struct graph_rules *rules, struct parcel *parcel, struct error *err);
int graph_processor_join(struct graph_rules *rules, struct parcel *pieces, const uint32_t *first_lanes, size_t count);
int graph_rules_inferred(struct graph_rules *rules, struct error *err);

static inline int64_t graph_rules_time(const struct graph_rules *rules, uint32_t point)
{
    return rules->builder->columns.time_ns[point];
}
static inline bool graph_rules_has(const struct graph_rules *rules, span_id span)
{
    return span.index < rules->span_count && rules->end_point[span.index] != POINT_NONE;
}
/* Of a span that is on a lane. */
static inline uint32_t graph_rules_begin(const struct graph_rules *rules, span_id span)
{
    return rules->begin_point[span.index];
}
static inline uint32_t graph_rules_end(const struct graph_rules *rules, span_id span)
{
    return rules->end_point[span.index];
}
static inline int64_t graph_rules_begin_ns(const struct graph_rules *rules, span_id span)
{
    return graph_rules_time(rules, rules->begin_point[span.index]);
}
static inline int64_t graph_rules_end_ns(const struct graph_rules *rules, span_id span)
{
    return graph_rules_time(rules, rules->end_point[span.index]);
}
/* The lane of a point, by binary search. */
uint32_t graph_rules_lane(const struct graph_rules *rules, uint32_t point);
track_id graph_rules_track(const struct graph_rules *rules, uint32_t point);
/* The lane's last point at or before a time; POINT_NONE before its first. */
uint32_t graph_rules_point_before(const struct graph_rules *rules, uint32_t lane, int64_t time_ns);

/* Points for the sake of one span that are neither its begin nor its end: a lock was had, given back; a group begins to wait. POINT_NONE
 * where there is none. */
enum graph_extra { GRAPH_EXTRA_HAD, GRAPH_EXTRA_RELEASED, GRAPH_EXTRA_WAITS };
uint32_t graph_rules_extra(const struct graph_rules *rules, span_id span, enum graph_extra which);

/*
 * Adds an edge, unless the options leave its rule out. Confidence falls by one where records of either end's process were lost (what
 * was lost may have been the true cause). 0 or -errno; an edge that is not wanted is 0.
 */
int graph_rules_edge(struct graph_rules *rules, uint32_t from, uint32_t to, enum edge_rule rule, enum confidence confidence,
                     uint32_t class_of_lag);
/* The class of lags that may be compared: never 0. `size` counts by its magnitude, `endpoints` as it is. */
uint32_t graph_rules_class(enum edge_rule rule, uint64_t endpoints, uint64_t size);
/* One number for a pair of points' nodes: transfers within a machine are no measure for those between two. */
uint64_t graph_rules_nodes(const struct graph_rules *rules, uint32_t from, uint32_t to);
/* The interval that ends at this point needed no release: it is WORK. */
static inline void graph_rules_explain(struct graph_rules *rules, uint32_t point)
{
    graph_builder_explain(rules->builder, point);
}
/* The interval that ends at this point waited: it is WAIT, and UNEXPLAINED unless an edge into the point releases it. */
static inline void graph_rules_await(struct graph_rules *rules, uint32_t point)
{
    rules->builder->columns.interval[point] = INTERVAL_WAIT;
}

/* All spans of these kinds (bits by enum span_kind) in order of their ids. Without `payloads`: payload columns may be absent. What a
 * callback returns other than 0 ends it. */
struct graph_row {
    const struct span_block *block;
    uint32_t row;
    span_id span;
};
int graph_rules_each_span(struct graph_rules *rules, uint64_t kinds, bool payloads, int (*each)(void *context, const struct graph_row *row),
                          void *context, struct error *err);
/* The same for who needs nothing but the ids: rows have no block, and none is read. */
int graph_rules_each_id(struct graph_rules *rules, uint64_t kinds, int (*each)(void *context, const struct graph_row *row), void *context);
/* The payload of one span; rows near each other are quick. PAYLOAD_NONE where there is none. Strings and numbers only: no JSON. */
int graph_rules_payload(struct graph_rules *rules, span_id span, struct payload *ret_payload);
/* All links of these kinds (bits by enum link_kind) both of whose spans are on lanes. */
int graph_rules_each_link(struct graph_rules *rules, uint32_t kinds, int (*each)(void *context, const struct trace_link *link), void *context,
                          struct error *err);
/* All groups of a kind, each with its members that are on lanes, in the order of the trace. */
struct graph_group {
    group_id id;
    const struct trace_group *group;
    const struct group_member *members;
    uint32_t count;
};
int graph_rules_each_group(struct graph_rules *rules, enum link_kind kind, int (*each)(void *context, const struct graph_group *group),
                           void *context, struct error *err);

/* graph_lanes.c: cuts all lanes, puts their points into the builder, fills the maps above. */
int graph_lanes_cut(struct graph_rules *rules, struct error *err);
/* graph_losses.c: where records are missing. */
int graph_losses_find(struct graph_rules *rules, struct error *err);

#endif
