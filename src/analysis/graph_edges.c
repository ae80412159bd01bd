/* SPDX-License-Identifier: MIT */
/*
 * Edges of a graph that is being made: by destination (a counting sort), then held against the clocks. An effect may
 * come before its cause by what the clocks may be wrong; by more, and the edge is no cause. A lag smaller than that
 * tells less than a larger one, so its edge loses a grade.
 */
#include "graph_internal.h"

#include "base/array.h"
#include "clock_alignment.h"

#include <errno.h>

int graph_sort_edges(struct graph_builder *builder)
{
    struct graph_columns *columns = &builder->columns;
    columns->first_edge = calloc((size_t)builder->point_count + 2, sizeof *columns->first_edge);
    columns->edges = array_resize_exact(NULL, builder->pending_count, sizeof *columns->edges);
    if (!columns->first_edge || !columns->edges)
        return -ENOMEM;
    /* Numbers are kept one entry to the right, so that placing, which moves them on, leaves them where they belong. */
    uint32_t *next = columns->first_edge + 1;
    for (uint32_t i = 0; i < builder->pending_count; i++)
        next[builder->pending[i].to]++;
    uint32_t first = 0;
    for (uint32_t p = 0; p < builder->point_count; p++) {
        uint32_t count = next[p];
        next[p] = first;
        first += count;
    }
    for (uint32_t i = 0; i < builder->pending_count; i++) {
        const struct pending_edge *edge = &builder->pending[i];
        columns->edges[next[edge->to]++] = (struct graph_edge){
            .from = edge->from, .rule = edge->rule, .confidence = edge->confidence, .weight_ns = edge->class_of_lag};
    }
    builder->edge_count = builder->pending_count;
    free(builder->pending);
    builder->pending = NULL;
    return 0;
}

static void find_clock(const struct trace *trace, struct graph_lane *lane)
{
    uint32_t track_count, process_count, node_count;
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    const struct trace_process *processes = trace_processes(trace, &process_count);
    const struct trace_node *nodes = trace_nodes(trace, &node_count);
    lane->clock = lane->node_clock = UINT64_MAX;
    if (lane->track.index >= track_count || tracks[lane->track.index].process.index >= process_count)
        return;
    const struct trace_track *of = &tracks[lane->track.index];
    node_id node = processes[of->process.index].node;
    if (node.index < node_count) {
        string_id domain = nodes[node.index].clock_domain;
        int64_t bound_ns = clock_bound_of_node(trace, node);
        lane->node_clock = domain.index != STRING_NONE.index ? domain.index : UINT64_C(1) << 61 | node.index;
        lane->node_bound_ns = bound_ns > lane->clock_bound_ns ? lane->clock_bound_ns : bound_ns > 0 ? bound_ns : 0;
    }
    lane->clock = lane->node_clock;
    if (of->kind == TRACK_KIND_STREAM ||
        of->kind == TRACK_KIND_DEVICE) /* each process places the times of its devices */
        lane->clock = UINT64_C(1) << 62 | (uint64_t)of->process.index << 24 | ((uint32_t)of->device & 0xffffff);
}

void graph_find_clocks(struct graph_builder *builder)
{
    for (uint32_t l = 0; l < builder->lane_count; l++) {
        struct graph_lane *lane = &builder->columns.lanes[l];
        lane->clock = lane->node_clock = UINT64_MAX;
        if (builder->columns.trace)
            find_clock(builder->columns.trace, lane);
    }
}

static uint32_t clock_lane(const struct graph_builder *builder, uint32_t point)
{
    uint32_t lane = builder->columns.lane[point];
    return lane != LANE_NONE ? lane : builder->join_lane[point - builder->lane_point_count];
}

int64_t graph_lag_bound(const struct graph_builder *builder, uint32_t from, uint32_t to)
{
    uint32_t from_lane = clock_lane(builder, from), to_lane = clock_lane(builder, to);
    if (from_lane == LANE_NONE || to_lane == LANE_NONE)
        return 0;
    return graph_clock_bound(&builder->columns.lanes[from_lane], &builder->columns.lanes[to_lane]);
}

/* A walk down the joins that joins hang at, with the stack on the heap: chains of them can be long. */
struct join_walk {
    uint32_t *stack, *cursor; /* cursor: next edge to look at, by join */
    uint8_t *state;
};
enum { JOIN_UNSEEN, JOIN_OPEN, JOIN_DONE };

static void take_time(struct graph_builder *builder, uint32_t join, uint32_t from)
{
    struct graph_columns *columns = &builder->columns;
    uint32_t point = builder->lane_point_count + join, lane = clock_lane(builder, from);
    if (lane == LANE_NONE) /* a join that nobody came to */
        return;
    if (builder->join_lane[join] == LANE_NONE || columns->time_ns[from] > columns->time_ns[point]) {
        columns->time_ns[point] = columns->time_ns[from];
        builder->join_lane[join] = lane;
    }
}

static void walk_joins(struct graph_builder *builder, struct join_walk *walk, uint32_t root)
{
    const struct graph_columns *columns = &builder->columns;
    uint32_t depth = 0, base = builder->lane_point_count;
    walk->stack[depth++] = root;
    walk->state[root] = JOIN_OPEN;
    while (depth > 0) {
        uint32_t join = walk->stack[depth - 1], first = columns->first_edge[base + join];
        uint32_t count = columns->first_edge[base + join + 1] - first, down = UINT32_MAX;
        while (walk->cursor[join] < count && down == UINT32_MAX) {
            uint32_t from = columns->edges[first + walk->cursor[join]].from;
            if (from >= base && walk->state[from - base] == JOIN_UNSEEN)
                down = from - base;
            else {
                if (from < base || walk->state[from - base] == JOIN_DONE) /* else a cycle, which the order takes out */
                    take_time(builder, join, from);
                walk->cursor[join]++;
            }
        }
        if (down != UINT32_MAX) {
            walk->state[down] = JOIN_OPEN;
            walk->stack[depth++] = down;
        } else {
            walk->state[join] = JOIN_DONE;
            depth--;
        }
    }
}

/* Foreign joins' were found elsewhere. */
static void give_join_times(struct graph_builder *builder)
{
    const struct builder_share *share = builder->share;
    for (uint32_t p = builder->lane_point_count; share && p < builder->point_count; p++) {
        const struct foreign_join *join = p < share->first_own_join ? &share->before[p - builder->lane_point_count]
                                          : p >= share->own_join_end ? &share->behind[p - share->own_join_end]
                                                                     : NULL;
        if (!join)
            continue;
        builder->columns.time_ns[p] = join->time_ns;
        builder->join_lane[p - builder->lane_point_count] = join->lane;
    }
}

static int set_join_times(struct graph_builder *builder)
{
    size_t count = builder->point_count - builder->lane_point_count;
    CLEANUP(freep) uint32_t *stack = array_resize_exact(NULL, count, sizeof *stack);
    CLEANUP(freep) uint32_t *cursor = calloc(count ? count : 1, sizeof *cursor);
    CLEANUP(freep) uint8_t *state = calloc(count ? count : 1, 1);
    builder->join_lane = array_resize_exact(NULL, count, sizeof *builder->join_lane);
    if (!stack || !cursor || !state || !builder->join_lane)
        return -ENOMEM;
    for (size_t j = 0; j < count; j++)
        builder->join_lane[j] = LANE_NONE;
    struct join_walk walk = {.stack = stack, .cursor = cursor, .state = state};
    for (uint32_t j = 0; j < count; j++)
        if (state[j] == JOIN_UNSEEN)
            walk_joins(builder, &walk, j);
    return 0;
}

static void check_edge(const struct graph_builder *builder, uint32_t to, struct graph_edge *edge,
                       struct graph_counts *counts)
{
    const struct graph_columns *columns = &builder->columns;
    int64_t lag_ns = columns->time_ns[to] - columns->time_ns[edge->from];
    if (clock_lane(builder, edge->from) == LANE_NONE) { /* from a join that nobody came to: it says nothing */
        edge->confidence = EDGE_DROPPED;
        return;
    }
    int64_t bound_ns = graph_lag_bound(builder, edge->from, to);
    if (lag_ns < -bound_ns) {
        counts->backward++;
        if (-lag_ns > counts->largest_backward_ns)
            counts->largest_backward_ns = -lag_ns;
        edge->confidence = EDGE_DROPPED;
        return;
    }
    bool same_lane = columns->lane[to] != LANE_NONE && columns->lane[to] == columns->lane[edge->from];
    if (edge->from == to || (same_lane && edge->from > to)) {
        counts->cycles++;
        edge->confidence = EDGE_DROPPED;
        return;
    }
    if (lag_ns < bound_ns && ++edge->confidence > CONFIDENCE_MEDIUM) {
        counts->below_medium++;
        edge->confidence = EDGE_DROPPED;
    }
}

static void check_chunk(void *context, void *state, uint32_t first, uint32_t end)
{
    struct graph_builder *builder = context;
    for (uint32_t p = first; p < end; p++)
        for (uint32_t e = builder->columns.first_edge[p]; e < builder->columns.first_edge[p + 1]; e++)
            check_edge(builder, p, &builder->columns.edges[e], state);
}

int graph_check_times(struct graph_builder *builder)
{
    int result = set_join_times(builder);
    if (result == 0)
        give_join_times(builder);
    uint32_t chunks;
    CLEANUP(freep) void *states = NULL;
    if (result == 0)
        result =
            graph_for_chunks(builder->point_count, sizeof(struct graph_counts), check_chunk, builder, &states, &chunks);
    if (result < 0)
        return result;
    for (uint32_t c = 0; c < chunks; c++) {
        const struct graph_counts *counts = (const struct graph_counts *)states + c;
        builder->counts.backward += counts->backward;
        builder->counts.cycles += counts->cycles;
        builder->counts.below_medium += counts->below_medium;
        if (counts->largest_backward_ns > builder->counts.largest_backward_ns)
            builder->counts.largest_backward_ns = counts->largest_backward_ns;
    }
    return 0;
}

void graph_compact(struct graph_builder *builder)
{
    struct graph_columns *columns = &builder->columns;
    uint32_t kept = 0, first = 0;
    for (uint32_t p = 0; p < builder->point_count; p++) {
        uint32_t end = columns->first_edge[p + 1];
        columns->first_edge[p] = kept;
        for (uint32_t e = first; e < end; e++)
            if (columns->edges[e].confidence != EDGE_DROPPED)
                columns->edges[kept++] = columns->edges[e];
        first = end;
    }
    columns->first_edge[builder->point_count] = kept;
    builder->edge_count = kept;
}
