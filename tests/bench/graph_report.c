/* SPDX-License-Identifier: MIT */
/*
 * The dependency graph of a trace in numbers, as JSON: points, edges by rule and confidence, what is unexplained, how well the unchanged
 * replay gives the run back, what the critical path is made of. With a list of rules they are left out; `infer` uses no identity.
 *     graph_report FILE [infer] [without RULE]...
 */
#include "analysis/critical_path.h"
#include "analysis/replay.h"
#include "base/clock.h"
#include "base/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void check(int code, const struct error *err)
{
    if (code == 0)
        return;
    fprintf(stderr, "graph_report: %s\n", err->text);
    exit(1);
}

static struct graph_options options_of(int argc, char **argv)
{
    struct graph_options options = {0};
    for (int i = 2; i < argc; i++) {
        options.infer_all |= strcmp(argv[i], "infer") == 0;
        for (unsigned rule = 0; i + 1 < argc && strcmp(argv[i], "without") == 0 && rule < EDGE_RULE_COUNT; rule++)
            if (strcmp(argv[i + 1], edge_rule_name((enum edge_rule)rule)) == 0)
                options.leave_out_rules |= 1u << rule;
    }
    return options;
}

static void print_edges(const struct dependency_graph *graph)
{
    uint64_t bound[EDGE_RULE_COUNT] = {0};
    bool first = true;
    for (uint32_t e = 0; e < graph->edge_count; e++)
        bound[graph->edges[e].rule] += graph->edges[e].bound;
    printf("  \"edges\": {");
    for (unsigned rule = 0; rule < EDGE_RULE_COUNT; rule++) {
        const uint64_t *by = graph->counts.by_rule[rule];
        if (!(by[CONFIDENCE_CERTAIN] | by[CONFIDENCE_HIGH] | by[CONFIDENCE_MEDIUM]))
            continue;
        printf("%s\n    \"%s\": {\"certain\": %" PRIu64 ", \"high\": %" PRIu64 ", \"medium\": %" PRIu64 ", \"bound\": %" PRIu64 "}", first ? "" : ",",
               edge_rule_name((enum edge_rule)rule), by[CONFIDENCE_CERTAIN], by[CONFIDENCE_HIGH], by[CONFIDENCE_MEDIUM], bound[rule]);
        first = false;
    }
    printf("\n  },\n");
}

static void print_intervals(const struct dependency_graph *graph)
{
    int64_t kinds[INTERVAL_KIND_COUNT] = {0};
    for (uint32_t l = 0; l < graph->lane_count; l++)
        for (uint32_t p = graph->lanes[l].first_point + 1; p < graph->lanes[l].first_point + graph->lanes[l].point_count; p++)
            kinds[graph->interval[p]] += graph->time_ns[p] - graph->time_ns[p - 1];
    printf("  \"lane_ns\": {");
    for (unsigned kind = 0; kind < INTERVAL_KIND_COUNT; kind++)
        printf("%s\"%s\": %" PRId64, kind ? ", " : "", interval_kind_name((enum interval_kind)kind), kinds[kind]);
    printf("},\n");
}

/* The spans whose waits nothing explains, the longest first by name. */
static void print_unexplained(const struct dependency_graph *graph)
{
    printf("  \"unexplained_spans\": [");
    unsigned printed = 0;
    for (uint32_t p = 0; p < graph->point_count && printed < 40; p++) {
        if (graph->interval[p] != INTERVAL_UNEXPLAINED || p == 0)
            continue;
        uint32_t block, row;
        const char *name = "";
        struct span_block spans;
        struct error err = ERROR_INIT;
        if (trace_span_find(graph->trace, graph->span[p], &block, &row) && trace_spans_get(graph->trace, block, &spans, &err) == 0) {
            name = spans.name ? trace_text(graph->trace, spans.name[row]) : "";
            trace_spans_put(graph->trace, &spans);
        }
        printf("%s\n    [\"%.60s\", %" PRId64 ", %" PRId64 "]", printed++ ? "," : "", strchr(name, '"') ? "?" : name, graph->time_ns[p - 1],
               graph->time_ns[p] - graph->time_ns[p - 1]);
    }
    printf("\n  ],\n");
}

static void print_path(const struct dependency_graph *graph)
{
    struct error err = ERROR_INIT;
    struct critical_path *path;
    check(critical_path_create(graph, &path, &err), &err);
    printf("  \"path\": {\"length_ns\": %" PRId64 ", \"explained_ns\": %" PRId64 ", \"steps\": %" PRIu32, path->length_ns, path->explained_ns, path->step_count);
    for (unsigned kind = 0; kind < INTERVAL_KIND_COUNT; kind++)
        printf(", \"%s_ns\": %" PRId64, interval_kind_name((enum interval_kind)kind), path->kind_ns[kind]);
    for (unsigned rule = 0; rule < EDGE_RULE_COUNT; rule++)
        if (path->rule_ns[rule])
            printf(", \"%s edge_ns\": %" PRId64, edge_rule_name((enum edge_rule)rule), path->rule_ns[rule]);
    printf("},\n");
    critical_path_destroy(path);
}

static void report(const struct trace *trace, const struct graph_options *options)
{
    struct error err = ERROR_INIT;
    struct dependency_graph *graph;
    int64_t begin_ns = clock_process_cpu_ns();
    check(dependency_graph_create(trace, options, NULL, &graph, &err), &err);
    int64_t made_ns = clock_process_cpu_ns();
    CLEANUP(freep) int64_t *times = malloc(((size_t)graph->point_count + 1) * sizeof *times);
    if (!times)
        exit(1);
    replay(graph, NULL, NULL, times);
    int64_t measured_ns = graph->end_ns - graph->begin_ns, replayed_ns = replay_makespan(graph, times);
    printf("{\n  \"lanes\": %" PRIu32 ", \"points\": %" PRIu32 ", \"cpu_ms\": %.1f,\n", graph->lane_count, graph->point_count,
           (double)(made_ns - begin_ns) / 1e6);
    print_edges(graph);
    print_intervals(graph);
    print_unexplained(graph);
    print_path(graph);
    printf("  \"unexplained\": %" PRIu64 ", \"unexplained_ns\": %" PRId64 ", \"backward\": %" PRIu64 ", \"largest_backward_ns\": %" PRId64
           ", \"cycles\": %" PRIu64 ", \"below_medium\": %" PRIu64 ",\n",
           graph->counts.unexplained, graph->counts.unexplained_ns, graph->counts.backward, graph->counts.largest_backward_ns, graph->counts.cycles,
           graph->counts.below_medium);
    printf("  \"measured_ns\": %" PRId64 ", \"replayed_ns\": %" PRId64 "\n}\n", measured_ns, replayed_ns);
    dependency_graph_destroy(graph);
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct trace *trace;
    if (argc < 2) {
        fprintf(stderr, "graph_report FILE [infer] [without RULE]...\n");
        return 1;
    }
    const struct graph_options options = options_of(argc, argv);
    check(trace_open_native(argv[1], &trace, &err), &err);
    report(trace, &options);
    trace_unref(trace);
    return 0;
}
