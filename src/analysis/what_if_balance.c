/* SPDX-License-Identifier: MIT */
/* Ranks in balance: between collectives that all of them take part in, each rank's code takes the ranks' average. */
#include "what_if_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <math.h>
#include <string.h>

struct balancing {
    struct changing *changing;
    uint32_t rank_count;
    uint32_t *rank_of_lane; /* UINT32_MAX: none */
    size_t phase_count;     /* one more than the collectives of all ranks */
    int64_t *entered_ns;    /* by (collective, rank): when it came */
    size_t entered_capacity;
    int64_t *code_ns; /* by (phase, rank) */
};

static int by_number(const void *left, const void *right)
{
    const int32_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Numbers ranks 0, 1, 2 ...: some may be missing from the trace. */
static int find_ranks(struct balancing *balancing)
{
    const struct dependency_graph *graph = balancing->changing->graph;
    uint32_t track_count, process_count;
    const struct trace_track *tracks = trace_tracks(graph->trace, &track_count);
    const struct trace_process *processes = trace_processes(graph->trace, &process_count);
    CLEANUP(freep) int32_t *ranks = calloc((size_t)process_count + 1, sizeof *ranks);
    balancing->rank_of_lane = malloc(((size_t)graph->lane_count + 1) * sizeof *balancing->rank_of_lane);
    if (!ranks || !balancing->rank_of_lane)
        return -ENOMEM;
    size_t count = 0, kept = 0;
    for (uint32_t p = 0; p < process_count; p++)
        if (processes[p].rank >= 0)
            ranks[count++] = processes[p].rank;
    qsort(ranks, count, sizeof *ranks, by_number);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || ranks[i] != ranks[kept - 1])
            ranks[kept++] = ranks[i];
    balancing->rank_count = (uint32_t)kept;
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        track_id track = graph->lanes[l].track;
        balancing->rank_of_lane[l] = UINT32_MAX;
        if (track.index >= track_count || tracks[track.index].kind != TRACK_KIND_THREAD ||
            tracks[track.index].process.index >= process_count)
            continue;
        int32_t rank = processes[tracks[track.index].process.index].rank;
        const int32_t *found = rank >= 0 ? bsearch(&rank, ranks, kept, sizeof *ranks, by_number) : NULL;
        if (found)
            balancing->rank_of_lane[l] = (uint32_t)(found - ranks);
    }
    return 0;
}

/* Whether all ranks came to a join by a collective; when. */
static bool all_came(const struct balancing *balancing, uint32_t join, int64_t *entered_ns)
{
    const struct dependency_graph *graph = balancing->changing->graph;
    uint32_t came = 0;
    for (uint32_t r = 0; r < balancing->rank_count; r++)
        entered_ns[r] = INT64_MIN;
    for (uint32_t e = graph->first_edge[join]; e < graph->first_edge[join + 1]; e++) {
        const struct graph_edge *edge = &graph->edges[e];
        uint32_t lane = graph->lane[edge->from];
        if (edge->rule != EDGE_RULE_COLLECTIVE || lane == LANE_NONE || balancing->rank_of_lane[lane] == UINT32_MAX)
            continue;
        int64_t *entered = &entered_ns[balancing->rank_of_lane[lane]];
        came += *entered == INT64_MIN;
        *entered = graph->time_ns[edge->from] > *entered ? graph->time_ns[edge->from] : *entered;
    }
    return came == balancing->rank_count;
}

struct collective {
    uint32_t join;
    int64_t time_ns;
};

static int by_time(const void *left, const void *right)
{
    const struct collective *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns < b->time_ns ? -1 : 1;
    return a->join < b->join ? -1 : a->join > b->join;
}

static int find_phases(struct balancing *balancing)
{
    const struct dependency_graph *graph = balancing->changing->graph;
    CLEANUP(freep) int64_t *entered_ns = malloc(((size_t)balancing->rank_count + 1) * sizeof *entered_ns);
    CLEANUP(freep) struct collective *collectives = NULL;
    size_t count = 0, capacity = 0;
    if (!entered_ns)
        return -ENOMEM;
    for (uint32_t p = 0; p < graph->point_count; p++) {
        if (graph->lane[p] != LANE_NONE || !all_came(balancing, p, entered_ns))
            continue;
        struct collective *grown = array_reserve(collectives, &capacity, count + 1, sizeof *grown);
        if (!grown)
            return -ENOMEM;
        collectives = grown;
        collectives[count++] = (struct collective){.join = p, .time_ns = graph->time_ns[p]};
    }
    if (count > 0)
        qsort(collectives, count, sizeof *collectives, by_time);
    balancing->phase_count = count + 1;
    balancing->entered_ns =
        array_resize_exact(NULL, balancing->phase_count * balancing->rank_count, sizeof *entered_ns);
    balancing->code_ns = calloc(balancing->phase_count * balancing->rank_count + 1, sizeof *balancing->code_ns);
    if (!balancing->entered_ns || !balancing->code_ns)
        return -ENOMEM;
    for (size_t c = 0; c < count; c++)
        all_came(balancing, collectives[c].join, balancing->entered_ns + c * balancing->rank_count);
    return 0;
}

/* Visits each stretch of a rank's code with its phase: sums it up, or takes the average. */
static void visit_lane(struct balancing *balancing, uint32_t lane, const double *factors)
{
    struct changing *changing = balancing->changing;
    const struct graph_lane *of = &changing->graph->lanes[lane];
    uint32_t rank = balancing->rank_of_lane[lane];
    size_t phase = 0;
    for (uint32_t i = 1; rank != UINT32_MAX && i < of->point_count; i++) {
        uint32_t point = of->first_point + i;
        while (phase + 1 < balancing->phase_count &&
               balancing->entered_ns[phase * balancing->rank_count + rank] < changing->graph->time_ns[point])
            phase++;
        if (!interval_is_code(changing, point))
            continue;
        int64_t *weight_ns = &changing->interval_weight_ns[point];
        if (factors)
            *weight_ns = llround((double)*weight_ns * factors[phase * balancing->rank_count + rank]);
        else
            balancing->code_ns[phase * balancing->rank_count + rank] += *weight_ns;
    }
}

static int find_factors(struct balancing *balancing, double **ret_factors)
{
    uint32_t ranks = balancing->rank_count;
    double *factors = array_resize_exact(NULL, balancing->phase_count * ranks, sizeof *factors);
    if (!factors)
        return -ENOMEM;
    for (size_t phase = 0; phase < balancing->phase_count; phase++) {
        const int64_t *code_ns = balancing->code_ns + phase * ranks;
        double sum = 0;
        for (uint32_t r = 0; r < ranks; r++)
            sum += (double)code_ns[r];
        for (uint32_t r = 0; r < ranks; r++) {
            factors[phase * ranks + r] = code_ns[r] > 0 ? sum / ranks / (double)code_ns[r] : 1;
            balancing->changing->result->unbalanced += code_ns[r] == 0 && sum > 0;
        }
    }
    balancing->changing->result->phases = balancing->phase_count;
    *ret_factors = factors;
    return 0;
}

static int balance(struct balancing *balancing, struct error *err)
{
    const struct dependency_graph *graph = balancing->changing->graph;
    CLEANUP(freep) double *factors = NULL;
    int result = find_ranks(balancing);
    if (result == 0 && balancing->rank_count < 2)
        return error_set(err, -EINVAL, "--balance ranks: the trace has %s",
                         balancing->rank_count ? "one rank only" : "no MPI ranks");
    if (result == 0)
        result = find_phases(balancing);
    for (uint32_t l = 0; result == 0 && l < graph->lane_count; l++)
        visit_lane(balancing, l, NULL);
    if (result == 0)
        result = find_factors(balancing, &factors);
    for (uint32_t l = 0; result == 0 && l < graph->lane_count; l++)
        visit_lane(balancing, l, factors);
    return result < 0 ? error_set(err, result, "out of memory while balancing ranks") : 0;
}

int what_if_balance(struct changing *changing, struct error *err)
{
    struct balancing balancing = {.changing = changing};
    int result = balance(&balancing, err);
    free(balancing.rank_of_lane);
    free(balancing.entered_ns);
    free(balancing.code_ns);
    return result;
}
