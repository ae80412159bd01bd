/* SPDX-License-Identifier: MIT */
/* The container of a graph that is being made: lanes and points into columns, edges into a list. */
#include "graph_internal.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

/* POINT_NONE is no number of a point, and first_edge has a number behind the last edge. */
#define NUMBERS_MAX (UINT32_MAX - 1)

static void columns_free(struct graph_columns *columns)
{
    free(columns->lanes);
    free(columns->time_ns);
    free(columns->lane);
    free(columns->interval);
    free(columns->span);
    free(columns->interval_weight_ns);
    free(columns->first_edge);
    free(columns->edges);
    free(columns->order);
    if (columns->trace)
        trace_unref(columns->trace);
}

int graph_builder_create(const struct trace *trace, struct graph_builder **ret_builder)
{
    struct graph_builder *builder = calloc(1, sizeof *builder);
    if (!builder)
        return -ENOMEM;
    /* Counting references is no change of the trace. */
    builder->columns.trace = trace ? trace_ref((struct trace *)(uintptr_t)trace) : NULL;
    builder->maximum = NUMBERS_MAX;
    *ret_builder = builder;
    return 0;
}

void graph_builder_destroy(struct graph_builder *builder)
{
    if (!builder)
        return;
    columns_free(&builder->columns);
    free(builder->pending);
    free(builder->join_lane);
    free(builder);
}

int graph_builder_add_lane(struct graph_builder *builder, track_id track, int64_t clock_bound_ns, uint32_t *ret_lane)
{
    if (clock_bound_ns < 0 || builder->point_count > builder->lane_point_count)
        return -EINVAL; /* joins stand behind all lanes */
    if (builder->lane_count >= builder->maximum)
        return -EFBIG;
    struct graph_lane *lanes =
        array_reserve(builder->columns.lanes, &builder->lane_capacity, (size_t)builder->lane_count + 1, sizeof *lanes);
    if (!lanes)
        return -ENOMEM;
    builder->columns.lanes = lanes;
    lanes[builder->lane_count] =
        (struct graph_lane){.track = track, .first_point = builder->point_count, .clock_bound_ns = clock_bound_ns};
    *ret_lane = builder->lane_count++;
    return 0;
}

static bool grow(void *column, size_t *capacity, uint32_t count, size_t item_size)
{
    void *items;
    if (count < *capacity)
        return true;
    memcpy(&items, column, sizeof items);
    items = array_reserve(items, capacity, (size_t)count + 1, item_size);
    if (items)
        memcpy(column, &items, sizeof items);
    return items != NULL;
}

static int append_point(struct graph_builder *builder, int64_t time_ns, enum interval_kind kind, span_id span,
                        uint32_t class_of_wait)
{
    struct graph_columns *columns = &builder->columns;
    uint32_t count = builder->point_count;
    if (count >= builder->maximum)
        return -EFBIG;
    if (!grow(&columns->time_ns, &builder->time_capacity, count, sizeof *columns->time_ns) ||
        !grow(&columns->interval, &builder->interval_capacity, count, sizeof *columns->interval) ||
        !grow(&columns->span, &builder->span_capacity, count, sizeof *columns->span) ||
        !grow(&columns->interval_weight_ns, &builder->weight_capacity, count, sizeof *columns->interval_weight_ns))
        return -ENOMEM;
    columns->time_ns[count] = time_ns;
    columns->interval[count] = (uint8_t)kind;
    columns->span[count] = span;
    columns->interval_weight_ns[count] = class_of_wait;
    builder->point_count++;
    return 0;
}

int graph_builder_add_point(struct graph_builder *builder, int64_t time_ns, enum interval_kind kind, span_id span,
                            uint32_t class_of_wait, uint32_t *ret_point)
{
    if (builder->lane_count == 0 || builder->point_count > builder->lane_point_count ||
        (unsigned)kind >= INTERVAL_KIND_COUNT)
        return -EINVAL;
    struct graph_lane *lane = &builder->columns.lanes[builder->lane_count - 1];
    if (lane->point_count > 0 && time_ns < builder->columns.time_ns[builder->point_count - 1])
        return -EINVAL;
    if (time_ns < INT64_MIN / 4 || time_ns > INT64_MAX / 4) /* so that no sum of a few of them overflows */
        return -ERANGE;
    int result = append_point(builder, time_ns, kind, span, class_of_wait);
    if (result < 0)
        return result;
    lane->point_count++;
    builder->lane_point_count = builder->point_count;
    *ret_point = builder->point_count - 1;
    return 0;
}

void graph_builder_explain(struct graph_builder *builder, uint32_t point)
{
    if (point < builder->point_count)
        builder->columns.interval[point] = INTERVAL_WORK;
}

int graph_builder_add_join(struct graph_builder *builder, uint32_t *ret_point)
{
    int result = append_point(builder, 0, INTERVAL_WORK, SPAN_NONE, 0);
    if (result == 0)
        *ret_point = builder->point_count - 1;
    return result;
}

int graph_builder_add_edge(struct graph_builder *builder, uint32_t from, uint32_t to, enum edge_rule rule,
                           enum confidence confidence, uint32_t class_of_lag)
{
    if (from >= builder->point_count || to >= builder->point_count || (unsigned)rule >= EDGE_RULE_COUNT ||
        (unsigned)confidence >= CONFIDENCE_COUNT)
        return -EINVAL;
    if (confidence < edge_rule_confidence(rule))
        confidence = edge_rule_confidence(rule);
    if (confidence > CONFIDENCE_MEDIUM) {
        builder->counts.below_medium++;
        return 0;
    }
    if (builder->pending_count >= builder->maximum)
        return -EFBIG;
    if (!grow(&builder->pending, &builder->pending_capacity, builder->pending_count, sizeof *builder->pending))
        return -ENOMEM;
    builder->pending[builder->pending_count++] = (struct pending_edge){
        .from = from, .to = to, .class_of_lag = class_of_lag, .rule = (uint8_t)rule, .confidence = (uint8_t)confidence};
    return 0;
}

/* Gives back what doubling took too much; that it cannot is no harm. */
static void shrink(void *column, uint32_t count, size_t item_size)
{
    void *items;
    memcpy(&items, column, sizeof items);
    items = array_resize_exact(items, count, item_size);
    if (items)
        memcpy(column, &items, sizeof items);
}

int graph_number_lanes(struct graph_builder *builder)
{
    struct graph_columns *columns = &builder->columns;
    shrink(&columns->time_ns, builder->point_count, sizeof *columns->time_ns);
    shrink(&columns->interval, builder->point_count, sizeof *columns->interval);
    shrink(&columns->span, builder->point_count, sizeof *columns->span);
    shrink(&columns->interval_weight_ns, builder->point_count, sizeof *columns->interval_weight_ns);
    columns->lane = array_resize_exact(NULL, builder->point_count, sizeof *columns->lane);
    if (!columns->lane)
        return -ENOMEM;
    for (uint32_t l = 0; l < builder->lane_count; l++)
        for (uint32_t i = 0; i < columns->lanes[l].point_count; i++)
            columns->lane[columns->lanes[l].first_point + i] = l;
    for (uint32_t p = builder->lane_point_count; p < builder->point_count; p++)
        columns->lane[p] = LANE_NONE;
    return 0;
}

static void find_extent(struct dependency_graph *graph)
{
    bool first = true;
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        const struct graph_lane *lane = &graph->lanes[l];
        if (lane->point_count == 0)
            continue;
        int64_t begin_ns = graph->time_ns[lane->first_point],
                end_ns = graph->time_ns[lane->first_point + lane->point_count - 1];
        graph->begin_ns = first || begin_ns < graph->begin_ns ? begin_ns : graph->begin_ns;
        graph->end_ns = first || end_ns > graph->end_ns ? end_ns : graph->end_ns;
        first = false;
    }
}

int graph_builder_hand_over(struct graph_builder *builder, struct dependency_graph **ret_graph)
{
    struct graph_columns *columns = malloc(sizeof *columns);
    struct dependency_graph *graph = calloc(1, sizeof *graph);
    if (!columns || !graph) {
        free(columns);
        free(graph);
        return -ENOMEM;
    }
    *columns = builder->columns;
    *graph = (struct dependency_graph){
        .trace = columns->trace,
        .lanes = columns->lanes,
        .lane_count = builder->lane_count,
        .point_count = builder->point_count,
        .time_ns = columns->time_ns,
        .lane = columns->lane,
        .interval = columns->interval,
        .span = columns->span,
        .interval_weight_ns = columns->interval_weight_ns,
        .first_edge = columns->first_edge,
        .edges = columns->edges,
        .edge_count = builder->edge_count,
        .order = columns->order,
        .counts = builder->counts,
        .preempted = columns->preempted,
        .hold = columns,
    };
    graph->counts.points = builder->point_count;
    graph->counts.edges = builder->edge_count;
    find_extent(graph);
    if (builder->share) {
        graph->begin_ns = builder->share->begin_ns;
        graph->end_ns = builder->share->end_ns;
    }
    for (uint32_t p = builder->lane_point_count; p < builder->point_count; p++)
        if (builder->join_lane[p - builder->lane_point_count] == LANE_NONE) /* nobody came: any time will do */
            builder->columns.time_ns[p] = graph->begin_ns;
    memset(&builder->columns, 0, sizeof builder->columns);
    *ret_graph = graph;
    return 0;
}

int graph_find_preempted(struct graph_builder *builder, struct error *err)
{
    struct graph_columns *columns = &builder->columns;
    return columns->preempted || !columns->trace ? 0 : preempted_of_trace(columns->trace, &columns->preempted, err);
}

int graph_builder_prepare(struct graph_builder *builder)
{
    int result = graph_number_lanes(builder);
    if (result == 0)
        result = graph_sort_edges(builder);
    if (!builder->share)
        graph_find_clocks(builder);
    if (result == 0)
        result = graph_check_times(builder);
    uint64_t cycles = builder->counts.cycles;
    if (result == 0)
        result = graph_order(builder);
    builder->circular = builder->counts.cycles != cycles;
    if (result == 0)
        graph_compact(builder);
    return result;
}

int graph_builder_finish(struct graph_builder *builder, struct dependency_graph **ret_graph, struct error *err)
{
    int result = graph_builder_prepare(builder);
    if (result == 0)
        result = graph_weigh(builder);
    if (result == 0 && graph_find_preempted(builder, err) < 0)
        return err && err->code ? err->code : -ENOMEM;
    if (result == 0)
        result = graph_builder_hand_over(builder, ret_graph);
    if (result < 0)
        return error_set(err, result, "the dependency graph (%u points, %u edges) needs more memory than there is",
                         builder->point_count, builder->pending_count);
    return 0;
}

void dependency_graph_destroy(struct dependency_graph *graph)
{
    if (!graph)
        return;
    struct graph_columns *columns = graph->hold;
    columns_free(columns);
    free(columns);
    free(graph);
}
