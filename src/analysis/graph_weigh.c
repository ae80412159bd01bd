/* SPDX-License-Identifier: MIT */
/*
 * What bound each point, and what everything weighs, as dependency_graph.h has it. Two passes over the points: the
 * first finds what bound, sets its weight and the least lags of the classes; the second gives the rest the least of
 * their class. Until it is weighed an edge's or a wait's weight is its class.
 */
#include "graph_internal.h"

#include "base/map.h"

#include <errno.h>

/* Key of a class of waits; those of edges are below, by rule. */
#define WAIT_CLASS (UINT64_C(0xff) << 32)

struct weigh_state {
    struct map least; /* class to the least lag that bound */
    struct graph_counts counts;
    bool failed;
};

struct weighing {
    struct graph_builder *builder;
    const struct map *least;
};

int graph_note_lag(struct map *least, uint64_t class_key, int64_t lag_ns)
{
    uint64_t known;
    if ((uint32_t)class_key == 0 || (map_get(least, class_key, &known) && (int64_t)known <= lag_ns))
        return 0;
    return map_set(least, class_key, (uint64_t)lag_ns);
}

/* Of what did not bind. That it held slack says that its true lag is below its own; as late as the latest it may have been the cause as well. */
static int64_t least_lag(const struct map *least, uint64_t class_key, int64_t own_ns, bool latest)
{
    uint64_t known;
    if ((uint32_t)class_key == 0 ||
        !map_get(least, class_key, &known)) /* never seen to bind: nothing says that it takes time */
        return 0;
    int64_t greatest_ns = latest || own_ns == 0 ? own_ns : own_ns - 1;
    return (int64_t)known < greatest_ns ? (int64_t)known : greatest_ns;
}

static uint32_t point_before(const struct graph_columns *columns, uint32_t point)
{
    uint32_t lane = columns->lane[point];
    return lane == LANE_NONE || columns->lanes[lane].first_point == point ? POINT_NONE : point - 1;
}

static int64_t lag_of(const struct graph_columns *columns, uint32_t from, uint32_t to)
{
    int64_t lag_ns = columns->time_ns[to] - columns->time_ns[from];
    return lag_ns > 0 ? lag_ns : 0; /* within what the clocks may be wrong */
}

/* The latest source; of several the surest, then the first rule, then the lowest point. NULL without edges. */
static struct graph_edge *latest_edge(const struct graph_columns *columns, uint32_t point)
{
    struct graph_edge *latest = NULL;
    for (uint32_t e = columns->first_edge[point]; e < columns->first_edge[point + 1]; e++) {
        struct graph_edge *edge = &columns->edges[e];
        if (!latest) {
            latest = edge;
            continue;
        }
        int64_t time_ns = columns->time_ns[edge->from], latest_ns = columns->time_ns[latest->from];
        if (time_ns != latest_ns                     ? time_ns > latest_ns
            : edge->confidence != latest->confidence ? edge->confidence < latest->confidence
            : edge->rule != latest->rule             ? edge->rule < latest->rule
                                                     : edge->from < latest->from)
            latest = edge;
    }
    return latest;
}

static bool can_be_bound(enum interval_kind kind)
{
    return kind == INTERVAL_WAIT || kind == INTERVAL_IDLE || kind == INTERVAL_DESCHEDULED;
}

/* The lane's own interval brought the point about: it weighs its duration. */
static int weigh_interval(struct weigh_state *state, struct graph_columns *columns, uint32_t point, uint32_t previous,
                          bool has_edges)
{
    enum interval_kind kind = columns->interval[point];
    int64_t duration_ns = lag_of(columns, previous, point);
    uint64_t class_key = WAIT_CLASS | (uint32_t)columns->interval_weight_ns[point];
    columns->interval_weight_ns[point] = duration_ns;
    if (kind == INTERVAL_WAIT || kind == INTERVAL_IDLE) {
        if (!has_edges)
            columns->interval[point] = duration_ns > 0 ? INTERVAL_UNEXPLAINED : INTERVAL_WORK;
        else if (kind == INTERVAL_WAIT)
            columns->interval[point] = INTERVAL_WORK;
    }
    if (columns->interval[point] == INTERVAL_UNEXPLAINED) {
        state->counts.unexplained++;
        state->counts.unexplained_ns += duration_ns;
    }
    return has_edges && can_be_bound(kind) ? graph_note_lag(&state->least, class_key, duration_ns) : 0;
}

static int find_bound(struct weigh_state *state, struct graph_columns *columns, uint32_t point)
{
    uint32_t previous = point_before(columns, point);
    struct graph_edge *latest = latest_edge(columns, point);
    bool bound = latest && (previous == POINT_NONE || (can_be_bound(columns->interval[point]) &&
                                                       columns->time_ns[latest->from] > columns->time_ns[previous]));
    if (bound) {
        uint64_t class_key = (uint64_t)latest->rule << 32 | (uint32_t)latest->weight_ns;
        latest->bound = true;
        latest->weight_ns = lag_of(columns, latest->from, point);
        return graph_note_lag(&state->least, class_key, latest->weight_ns);
    }
    if (previous == POINT_NONE) {
        columns->interval_weight_ns[point] = 0;
        return 0;
    }
    return weigh_interval(state, columns, point, previous, latest != NULL);
}

static void find_bounds_chunk(void *context, void *chunk_state, uint32_t first, uint32_t end)
{
    struct weighing *weighing = context;
    struct weigh_state *state = chunk_state;
    for (uint32_t p = first; p < end && !state->failed; p++)
        state->failed = graph_builder_owns(weighing->builder, p) && find_bound(state, &weighing->builder->columns, p) < 0;
}

static int64_t latest_source(const struct graph_columns *columns, uint32_t point, uint32_t previous)
{
    int64_t latest_ns = previous == POINT_NONE ? INT64_MIN : columns->time_ns[previous];
    for (uint32_t e = columns->first_edge[point]; e < columns->first_edge[point + 1]; e++) {
        int64_t time_ns = columns->time_ns[columns->edges[e].from];
        latest_ns = time_ns > latest_ns ? time_ns : latest_ns;
    }
    return latest_ns;
}

static void weigh_rest_chunk(void *context, void *chunk_state, uint32_t first, uint32_t end)
{
    const struct weighing *weighing = context;
    struct graph_columns *columns = &weighing->builder->columns;
    struct graph_counts *counts = chunk_state;
    for (uint32_t p = first; p < end; p++) {
        bool bound = false;
        uint32_t previous = point_before(columns, p);
        int64_t latest_ns = latest_source(columns, p, previous);
        for (uint32_t e = columns->first_edge[p]; e < columns->first_edge[p + 1]; e++) {
            struct graph_edge *edge = &columns->edges[e];
            counts->by_rule[edge->rule][edge->confidence]++;
            bound |= edge->bound;
            if (!edge->bound)
                edge->weight_ns = least_lag(weighing->least, (uint64_t)edge->rule << 32 | (uint32_t)edge->weight_ns,
                                            lag_of(columns, edge->from, p), columns->time_ns[edge->from] == latest_ns);
        }
        if (bound)
            columns->interval_weight_ns[p] =
                previous == POINT_NONE
                    ? 0
                    : least_lag(weighing->least, WAIT_CLASS | (uint32_t)columns->interval_weight_ns[p],
                                lag_of(columns, previous, p), columns->time_ns[previous] == latest_ns);
    }
}

static int merge_least(struct map *least, const struct map *from)
{
    size_t position = 0;
    uint64_t key, lag_ns;
    while (map_next(from, &position, &key, &lag_ns))
        if (graph_note_lag(least, key, (int64_t)lag_ns) < 0)
            return -ENOMEM;
    return 0;
}

int graph_find_bounds(struct graph_builder *builder, struct map *least)
{
    struct weighing weighing = {.builder = builder};
    CLEANUP(freep) void *states = NULL;
    uint32_t chunks;
    int result = graph_for_chunks(builder->point_count, sizeof(struct weigh_state), find_bounds_chunk, &weighing,
                                  &states, &chunks);
    if (result < 0)
        return result;
    for (uint32_t c = 0; c < chunks; c++) {
        struct weigh_state *state = (struct weigh_state *)states + c;
        if (state->failed || (result == 0 && merge_least(least, &state->least) < 0))
            result = -ENOMEM;
        builder->counts.unexplained += state->counts.unexplained;
        builder->counts.unexplained_ns += state->counts.unexplained_ns;
        map_finish(&state->least);
    }
    return result;
}

int graph_weigh_rest(struct graph_builder *builder, const struct map *least)
{
    struct weighing weighing = {.builder = builder, .least = least};
    CLEANUP(freep) void *states = NULL;
    uint32_t chunks;
    int result = graph_for_chunks(builder->point_count, sizeof(struct graph_counts), weigh_rest_chunk, &weighing,
                                  &states, &chunks);
    for (uint32_t c = 0; result == 0 && c < chunks; c++)
        for (size_t rule = 0; rule < EDGE_RULE_COUNT; rule++)
            for (size_t confidence = 0; confidence < CONFIDENCE_COUNT; confidence++)
                builder->counts.by_rule[rule][confidence] +=
                    ((const struct graph_counts *)states + c)->by_rule[rule][confidence];
    return result;
}

int graph_weigh(struct graph_builder *builder)
{
    struct map least;
    map_init(&least);
    int result = graph_find_bounds(builder, &least);
    if (result == 0)
        result = graph_weigh_rest(builder, &least);
    map_finish(&least);
    return result;
}
