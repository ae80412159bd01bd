/* SPDX-License-Identifier: MIT */
/*
 * How often edges that were inferred without identities are right: the graph of a trace with its identities against the one without, edge
 * by edge. Joins are compared by their members: right is who is in the one that most of them are in. One line a rule and confidence:
 * rule, confidence, inferred, right. What the true graph can't tell is not counted: sends that it only infers itself.
 *     graph_precision FILE
 */
#include "analysis/dependency_graph.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>

struct sums {
    uint64_t inferred[EDGE_RULE_COUNT][CONFIDENCE_COUNT], right[EDGE_RULE_COUNT][CONFIDENCE_COUNT];
};

static void check(int code, const struct error *err)
{
    if (code == 0)
        return;
    fprintf(stderr, "graph_precision: %s\n", err->text);
    exit(1);
}

static bool is_join(const struct dependency_graph *graph, uint32_t point)
{
    return graph->lane[point] == LANE_NONE;
}

/* Whether the true graph has an edge between these points by one of these rules (bits). */
static bool has_edge(const struct dependency_graph *graph, uint32_t from, uint32_t to, uint32_t rules)
{
    for (uint32_t e = graph->first_edge[to]; e < graph->first_edge[to + 1]; e++)
        if (graph->edges[e].from == from && rules >> graph->edges[e].rule & 1)
            return true;
    return false;
}

/* By point of a lane: the join that lets it go by this rule; POINT_NONE. */
static uint32_t join_into(const struct dependency_graph *graph, uint32_t point, enum edge_rule rule)
{
    for (uint32_t e = graph->first_edge[point]; e < graph->first_edge[point + 1]; e++)
        if (graph->edges[e].rule == rule && is_join(graph, graph->edges[e].from))
            return graph->edges[e].from;
    return POINT_NONE;
}

/* Which true join most of the points that one inferred join lets go are let go by. */
static void compare_joins(const struct dependency_graph *truth, const struct dependency_graph *guess, struct sums *sums)
{
    uint32_t *most = calloc(guess->point_count, sizeof *most);
    uint32_t *votes = calloc(guess->point_count, sizeof *votes);
    for (int round = 0; most && votes && round < 2; round++)
        for (uint32_t p = 0; p < guess->point_count; p++)
            for (uint32_t e = guess->first_edge[p]; e < guess->first_edge[p + 1]; e++) {
                const struct graph_edge *edge = &guess->edges[e];
                if (is_join(guess, p) || !is_join(guess, edge->from))
                    continue;
                uint32_t is = join_into(truth, p, (enum edge_rule)edge->rule), join = edge->from;
                if (round == 0 && votes[join] == 0)
                    most[join] = is;
                if (round == 0)
                    votes[join] = most[join] == is ? votes[join] + 1 : votes[join] - 1;
                if (round == 1) {
                    sums->inferred[edge->rule][edge->confidence]++;
                    sums->right[edge->rule][edge->confidence] += is != POINT_NONE && is == most[join];
                }
            }
    free(most);
    free(votes);
}

static void compare_edges(const struct dependency_graph *truth, const struct dependency_graph *guess, struct sums *sums)
{
    const uint32_t any = UINT32_MAX, send = 1u << EDGE_RULE_LARGE_SEND, rendezvous = 1u << EDGE_RULE_RENDEZVOUS;
    for (uint32_t p = 0; p < guess->point_count; p++)
        for (uint32_t e = guess->first_edge[p]; e < guess->first_edge[p + 1]; e++) {
            const struct graph_edge *edge = &guess->edges[e];
            if (is_join(guess, p) || is_join(guess, edge->from) || edge->rule == EDGE_RULE_PROCESSOR)
                continue;
            if (edge->rule == EDGE_RULE_LARGE_SEND && has_edge(truth, edge->from, p, send))
                continue;
            uint32_t wanted = edge->rule == EDGE_RULE_TIME ? any : edge->rule == EDGE_RULE_LARGE_SEND ? rendezvous : 1u << edge->rule;
            sums->inferred[edge->rule][edge->confidence]++;
            sums->right[edge->rule][edge->confidence] += has_edge(truth, edge->from, p, wanted);
        }
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct trace *trace;
    struct dependency_graph *truth, *guess;
    struct sums sums = {0};
    if (argc != 2) {
        fprintf(stderr, "graph_precision FILE\n");
        return 1;
    }
    check(trace_open_native(argv[1], &trace, &err), &err);
    check(dependency_graph_create(trace, &(struct graph_options){.no_processor_edges = true}, NULL, &truth, &err), &err);
    check(dependency_graph_create(trace, &(struct graph_options){.infer_all = true, .no_processor_edges = true}, NULL, &guess, &err), &err);
    compare_edges(truth, guess, &sums);
    compare_joins(truth, guess, &sums);
    for (unsigned rule = 0; rule < EDGE_RULE_COUNT; rule++)
        for (unsigned confidence = 0; confidence < CONFIDENCE_COUNT; confidence++)
            if (sums.inferred[rule][confidence])
                printf("%s,%s,%" PRIu64 ",%" PRIu64 "\n", edge_rule_name((enum edge_rule)rule), confidence_name((enum confidence)confidence),
                       sums.inferred[rule][confidence], sums.right[rule][confidence]);
    dependency_graph_destroy(truth);
    dependency_graph_destroy(guess);
    trace_unref(trace);
    return 0;
}
