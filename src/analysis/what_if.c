/* SPDX-License-Identifier: MIT */
/* The run changed, replayed, and its new critical path. */
#include "what_if_internal.h"

#include "replay.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>
#include <string.h>

int what_if_parse_scale(const char *text, struct trace_filter **ret_filter, double *ret_factor, struct error *err)
{
    const char *colon = strrchr(text, ':');
    double factor;
    if (!colon)
        return error_set(err, -EINVAL, "scale '%s': expected FILTER:FACTOR, e.g. 'kind=compute,rank=0:0.5'", text);
    if (parse_double(colon + 1, &factor) < 0 || !isfinite(factor) || factor < 0)
        return error_set(err, -EINVAL,
                         "scale '%s': the factor behind the last colon must be a number that is not negative", text);
    CLEANUP(freep) char *filter = strndup(text, (size_t)(colon - text));
    if (!filter)
        return error_set(err, -ENOMEM, "out of memory");
    int result = trace_filter_compile(filter, ret_filter, err);
    if (result == 0)
        *ret_factor = factor;
    return result;
}

int what_if_parse_network(const char *text, struct what_if_options *options, struct error *err)
{
    const char *comma = strchr(text, ',');
    CLEANUP(freep) char *latency = comma ? strndup(text, (size_t)(comma - text)) : NULL;
    uint64_t latency_ns, bytes;
    if (!latency || parse_duration(latency, &latency_ns) < 0 || latency_ns > INT64_MAX / 4)
        return error_set(err, -EINVAL,
                         "network '%s': expected LATENCY,BANDWIDTH, e.g. '2us,10G' (bytes a second) or '0,inf'", text);
    if (strcmp(comma + 1, "inf") == 0)
        options->bytes_per_second = INFINITY;
    else if (parse_size(comma + 1, &bytes) == 0 && bytes > 0)
        options->bytes_per_second = (double)bytes;
    else
        return error_set(err, -EINVAL, "network '%s': the bandwidth must be bytes a second ('10G', 'inf')", text);
    options->latency_ns = (int64_t)latency_ns;
    options->network = true;
    return 0;
}

static int copy_weights(struct changing *changing)
{
    const struct dependency_graph *graph = changing->graph;
    changing->interval_weight_ns = array_resize_exact(NULL, graph->point_count, sizeof *changing->interval_weight_ns);
    changing->edges = array_resize_exact(NULL, graph->edge_count, sizeof *changing->edges);
    if (!changing->interval_weight_ns || !changing->edges)
        return -ENOMEM;
    if (graph->point_count)
        memcpy(changing->interval_weight_ns, graph->interval_weight_ns,
               graph->point_count * sizeof *graph->interval_weight_ns);
    if (graph->edge_count)
        memcpy(changing->edges, graph->edges, graph->edge_count * sizeof *graph->edges);
    return 0;
}

static int change(struct changing *changing, struct error *err)
{
    const struct what_if_options *options = changing->options;
    int result = 0;
    for (size_t i = 0; result == 0 && i < options->scale_count; i++) {
        uint64_t changed = 0;
        result = what_if_scale(changing, &options->scales[i], &changed, err);
        if (i < sizeof changing->result->scaled / sizeof *changing->result->scaled)
            changing->result->scaled[i] = changed;
    }
    if (result == 0 && options->network)
        result = what_if_network(changing, err);
    if (result == 0 && options->balance_ranks)
        result = what_if_balance(changing, err);
    return result;
}

/* The graph with the new weights and times, as if it had been measured. */
static int replay_changed(struct changing *changing, struct error *err)
{
    struct what_if *result = changing->result;
    const struct dependency_graph *graph = changing->graph;
    int64_t *time_ns = array_resize_exact(NULL, graph->point_count, sizeof *time_ns);
    if (!time_ns)
        return error_set(err, -ENOMEM, "the replay (%u points) needs more memory than there is", graph->point_count);
    replay(graph, NULL, NULL, time_ns);
    result->replayed_ns = replay_makespan(graph, time_ns);
    result->graph.time_ns = time_ns;
    result->graph.interval_weight_ns = changing->interval_weight_ns;
    result->graph.edges = changing->edges;
    replay(&result->graph, NULL, NULL, time_ns);
    return 0;
}

static int find_path(struct what_if *result, const struct dependency_graph *graph, struct error *err)
{
    const int64_t *time_ns = result->graph.time_ns;
    result->predicted_ns = replay_makespan(graph, time_ns);
    for (uint32_t p = 0; p < graph->point_count; p++) {
        if (time_ns[p] >= MODEL_TIME_LIMIT_NS)
            return error_set(err, -ERANGE, "with these changes the run would take longer than 73 years");
        result->graph.begin_ns = p == 0 || time_ns[p] < result->graph.begin_ns ? time_ns[p] : result->graph.begin_ns;
        result->graph.end_ns = p == 0 || time_ns[p] > result->graph.end_ns ? time_ns[p] : result->graph.end_ns;
    }
    int code = critical_path_create(&result->graph, &result->path, err);
    if (code == 0)
        result->path->measured_ns = graph->time_ns;
    return code;
}

int what_if_create(const struct dependency_graph *graph, const struct activities *activities,
                   const struct what_if_options *options, struct what_if **ret_what_if, struct error *err)
{
    CLEANUP(what_if_destroyp) struct what_if *result = calloc(1, sizeof *result);
    if (!result)
        return error_set(err, -ENOMEM, "out of memory");
    struct changing changing = {.graph = graph, .activities = activities, .options = options, .result = result};
    int code = copy_weights(&changing);
    if (code < 0)
        error_set(err, code, "the replay (%u points) needs more memory than there is", graph->point_count);
    else
        code = change(&changing, err);
    result->measured_ns = graph->end_ns - graph->begin_ns;
    result->graph = *graph;
    result->graph.hold = NULL;
    result->graph.time_ns = NULL;
    if (code == 0)
        code = replay_changed(&changing, err);
    if (code < 0) {
        free(changing.interval_weight_ns);
        free(changing.edges);
        return code;
    }
    code = find_path(result, graph, err);
    if (code == 0)
        code = what_if_find_bounds(&changing, err);
    if (code == 0)
        *ret_what_if = TAKE_PTR(result);
    return code;
}

static void free_const(const void *memory)
{
    free((void *)(uintptr_t)memory);
}

void what_if_destroy(struct what_if *what_if)
{
    if (!what_if)
        return;
    if (what_if->path)
        critical_path_destroy(what_if->path);
    if (what_if->graph.time_ns) { /* else the weights are still the graph's own */
        free_const(what_if->graph.time_ns);
        free_const(what_if->graph.interval_weight_ns);
        free_const(what_if->graph.edges);
    }
    free(what_if);
}
