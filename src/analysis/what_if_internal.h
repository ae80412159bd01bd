/* SPDX-License-Identifier: MIT */
/* A run that is being changed: new weights beside the graph's. */
#ifndef HP_ANALYSIS_WHAT_IF_INTERNAL_H
#define HP_ANALYSIS_WHAT_IF_INTERNAL_H

#include "what_if.h"

#include "trace/schema.h"

struct changing {
    const struct dependency_graph *graph;
    const struct activities *activities;
    const struct what_if_options *options;
    struct what_if *result;
    int64_t *interval_weight_ns; /* by point */
    struct graph_edge *edges;    /* with new weights */
};

/* The program's own code, or what interrupted it. */
static inline bool interval_is_code(const struct changing *changing, uint32_t point)
{
    enum interval_kind kind = (enum interval_kind)changing->graph->interval[point];
    uint32_t activity = activity_of(changing->activities, changing->graph->span[point]);
    return (kind == INTERVAL_WORK || kind == INTERVAL_DESCHEDULED) &&
           span_kind_is_code(changing->activities->rows[activity].kind);
}

int what_if_scale(struct changing *changing, const struct what_if_scale *scale, uint64_t *ret_changed,
                  struct error *err);
int what_if_balance(struct changing *changing, struct error *err);
/* Fills result->bounds; the prediction is made. */
int what_if_find_bounds(struct changing *changing, struct error *err);
/* Whether a lag is the network's. */
bool what_if_is_network(enum edge_rule rule);
int what_if_network(struct changing *changing, struct error *err);

#endif
