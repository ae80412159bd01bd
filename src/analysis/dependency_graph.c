/* SPDX-License-Identifier: MIT */
/* A trace's dependency graph, step by step: lanes, edges by each family of rules, then what graph_builder_finish makes of them. */
#include "dependency_graph.h"

#include "base/error.h"
#include "clock_alignment.h"
#include "graph_rules.h"
#include "span_table.h"

#include <errno.h>
#include <string.h>

void graph_rules_finish(struct graph_rules *rules)
{
    if (rules->near_held)
        trace_spans_put(rules->trace, &rules->near);
    free(rules->begin_point);
    free(rules->end_point);
    free(rules->kind);
    free(rules->extras);
    free(rules->losses);
    free(rules->numbered);
    free(rules->unclocked);
}

static int look_at_clocks(struct graph_rules *rules)
{
    uint32_t nodes;
    trace_nodes(rules->trace, &nodes);
    for (uint32_t i = 0; i < nodes && nodes > 1; i++) {
        if (clock_bound_of_node(rules->trace, (node_id){i}) >= 0)
            continue;
        if (!rules->unclocked && !(rules->unclocked = calloc(nodes, sizeof *rules->unclocked)))
            return -ENOMEM;
        rules->unclocked[i] = true;
    }
    return 0;
}

int graph_rules_init(struct graph_rules *rules)
{
    uint32_t processes;
    uint64_t spans = trace_row_count(rules->trace, FAMILY_SPANS);
    if (spans > UINT32_MAX - 1)
        return -EFBIG;
    trace_processes(rules->trace, &processes);
    rules->span_count = (uint32_t)spans;
    rules->begin_point = malloc((spans + 1) * sizeof *rules->begin_point);
    rules->end_point = malloc((spans + 1) * sizeof *rules->end_point);
    rules->kind = calloc(spans + 1, sizeof *rules->kind);
    rules->numbered = calloc((size_t)processes + 1, sizeof *rules->numbered);
    if (!rules->begin_point || !rules->end_point || !rules->kind || !rules->numbered)
        return -ENOMEM;
    memset(rules->begin_point, 0xff, (spans + 1) * sizeof *rules->begin_point);
    memset(rules->end_point, 0xff, (spans + 1) * sizeof *rules->end_point);
    return look_at_clocks(rules);
}

typedef int rules_find(struct graph_rules *rules, struct error *err);

static int find_edges(struct graph_rules *rules, struct error *err)
{
    static const struct {
        const char *what;
        rules_find *find;
        bool of_identities, of_time;
    } steps[] = {
        {"edges of MPI", graph_rules_mpi, true, false},
        {"edges of OpenMP", graph_rules_openmp, true, false},
        {"edges of devices", graph_rules_device, true, false},
        {"edges from time", graph_rules_inferred, false, true},
        {"edges of processors", graph_rules_processor, true, true},
    };
    const size_t count = sizeof steps / sizeof *steps;
    int code = 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        if (progress_cancelled(rules->progress))
            return error_set(err, -ECANCELED, "stopped");
        progress_update(rules->progress, steps[i].what, i, count);
        if (rules->options->infer_all ? steps[i].of_time : steps[i].of_identities)
            code = steps[i].find(rules, err);
    }
    return code;
}

int dependency_graph_create(const struct trace *trace, const struct graph_options *options, const struct progress *progress,
                            struct dependency_graph **ret_graph, struct error *err)
{
    static const struct graph_options no_options = {0};
    struct error own = ERROR_INIT;
    struct graph_rules rules = {.trace = trace, .options = options ? options : &no_options, .progress = progress};
    err = err ? err : &own;
    int code = spans_are_whole(trace, err);
    if (code < 0)
        return code;
    code = graph_builder_create(trace, &rules.builder);
    if (code == 0)
        code = graph_rules_init(&rules);
    if (code < 0)
        code = error_set_errno(err, code, "the dependency graph");
    if (code == 0)
        code = graph_lanes_cut(&rules, err);
    if (code == 0)
        code = graph_losses_find(&rules, err);
    if (code == 0)
        code = find_edges(&rules, err);
    graph_rules_finish(&rules);
    if (code == 0 && progress_cancelled(progress))
        code = error_set(err, -ECANCELED, "stopped");
    if (code == 0)
        progress_update(progress, "putting the graph together", 0, 0);
    if (code == 0)
        code = graph_builder_finish(rules.builder, ret_graph, err);
    else if (!err->text[0])
        error_set_errno(err, code, "the dependency graph");
    graph_builder_destroy(rules.builder);
    return code;
}
