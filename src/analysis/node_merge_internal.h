/* SPDX-License-Identifier: MIT */
/* Shared by the files of node_merge: what is known of the traces and their clocks while they become one. */
#ifndef HP_ANALYSIS_NODE_MERGE_INTERNAL_H
#define HP_ANALYSIS_NODE_MERGE_INTERNAL_H

#include "base/map.h"
#include "clock_fit.h"
#include "node_merge.h"

struct merge_source { /* one trace */
    const struct trace *trace;
    const char *name;
    uint32_t domain;
    int64_t start_raw_ns, start_realtime_ns;
    node_id *nodes;       /* by its nodes: those of the whole */
    uint32_t first_process;
};

struct merge_domain_name {
    const char *text;     /* as its traces have it; NULL: known from probes only */
    uint64_t number;      /* as probes have it */
    bool has_number;
    uint32_t source;      /* its first trace; UINT32_MAX: none */
};

struct merge_node {
    const char *name;
    uint32_t domain;
};

struct node_merging {
    const struct node_merge_options *options;
    const struct progress *progress;
    struct merge_source *sources;
    uint32_t source_count;
    struct merge_domain_name *domain_names;
    struct clock_domain *domains;         /* as many, once all are known */
    size_t domain_count, domain_capacity;
    uint32_t reference;                   /* domain */
    struct merge_node *nodes;
    size_t node_count, node_capacity;
    struct map ranks;                     /* world rank -> source */
    struct clock_comparison *comparisons;
    size_t comparison_count, comparison_capacity;
    struct exchanges *exchanges;
    struct causal_repair repair;
    int64_t start_ns;                     /* of the whole, on the reference's clock */
    struct node_merge_report *report;
};

/* node_merge_clocks.c: which trace has which clock; then, by probes and what else there is, aligns all domains. */
int node_merge_find_domains(struct node_merging *merging);
int node_merge_align(struct node_merging *merging, struct error *err);
/* node_merge_messages.c: compares clocks through the messages and collectives between domains of which one is not known yet. */
int node_merge_compare_by_messages(struct node_merging *merging);
/* node_merge_events.c: what may not come in before it went out, on the aligned axis; clocks are domains. */
struct merge_events {
    struct causal_event *items;
    size_t count, capacity;
    uint32_t exchange_count;
};
int node_merge_collect_events(const struct node_merging *merging, struct merge_events *ret_events);

/* node_merge_write.c */
int node_merge_write(struct node_merging *merging, struct trace **ret_trace, struct error *err);

int node_merge_add_comparison(struct node_merging *merging, uint32_t own, uint32_t peer, enum clock_source source,
                              const struct clock_knot *knots, uint32_t count);

/* A time of a trace: on its domain's clock; on the axis of the whole before and after corrections. */
static inline int64_t merge_raw_time(const struct merge_source *source, int64_t time_ns)
{
    return source->start_raw_ns + time_ns;
}
static inline int64_t merge_aligned_time(const struct node_merging *merging, const struct merge_source *source, int64_t time_ns)
{
    return clock_domain_time(&merging->domains[source->domain], merge_raw_time(source, time_ns)) - merging->start_ns;
}

static inline const char *merge_node_name(const struct node_merging *merging, uint32_t domain) /* NULL: no node of ours */
{
    for (size_t i = 0; i < merging->node_count; i++)
        if (merging->nodes[i].domain == domain)
            return merging->nodes[i].name;
    return NULL;
}

#endif
