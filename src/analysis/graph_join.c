/* SPDX-License-Identifier: MIT */
/*
 * Pieces of a graph put together, in the order in which dependency_graph_create goes: all lanes, MPI's edges, those of OpenMP, of devices up to
 * NCCL's, of NCCL, of buffers, of processors. Of one destination's edges the order is the same, and so is that of the joins.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/progress.h"
#include "graph_piece.h"
#include "graph_piece_internal.h"

#include <errno.h>
#include <stdlib.h>

struct joined_piece {
    struct piece_head head;
    const struct pending_edge *edges;
    size_t edge_count;
    uint32_t first_point, point_count, first_join;
};

struct joining {
    struct graph_rules rules;
    struct joined_piece *pieces;
    size_t count;
    struct parcel *parcels;
    uint32_t *first_lanes; /* by piece */
    uint32_t spans, shared_spans;
};

struct piece_columns {
    const struct piece_lane *lanes;
    const int64_t *time_ns;
    const uint8_t *interval;
    const span_id *span;
    const uint32_t *classes;
    size_t lane_count, point_count;
};

static int take_columns(struct parcel *parcel, struct piece_columns *columns)
{
    size_t intervals, spans, classes;
    columns->lanes = parcel_take(parcel, sizeof *columns->lanes, &columns->lane_count);
    columns->time_ns = parcel_take(parcel, sizeof *columns->time_ns, &columns->point_count);
    columns->interval = parcel_take(parcel, sizeof *columns->interval, &intervals);
    columns->span = parcel_take(parcel, sizeof *columns->span, &spans);
    columns->classes = parcel_take(parcel, sizeof *columns->classes, &classes);
    bool good = !parcel->failed && intervals == columns->point_count && spans == columns->point_count && classes == columns->point_count;
    return good ? 0 : -EBADMSG;
}

static int add_lanes(struct joining *joining, const struct piece_columns *columns)
{
    struct graph_builder *builder = joining->rules.builder;
    uint32_t number, at = 0;
    int code = 0;
    for (size_t l = 0; l < columns->lane_count && code == 0; l++) {
        const struct piece_lane *lane = &columns->lanes[l];
        if (lane->point_count > columns->point_count - at)
            return -EBADMSG;
        code = graph_builder_add_lane(builder, (track_id){lane->track}, lane->clock_bound_ns, &number);
        for (uint32_t end = at + lane->point_count; at < end && code == 0; at++) {
            span_id span = columns->span[at];
            span.index += span.index == ID_NONE ? 0 : joining->spans;
            code = graph_builder_add_point(builder, columns->time_ns[at], (enum interval_kind)columns->interval[at], span, columns->classes[at], &number);
        }
    }
    return code;
}

static int add_piece(struct joining *joining, size_t number)
{
    struct graph_builder *builder = joining->rules.builder;
    struct parcel *parcel = &joining->parcels[number];
    struct joined_piece *piece = &joining->pieces[number];
    struct piece_columns columns;
    size_t heads;
    const struct piece_head *head = parcel_take(parcel, sizeof *head, &heads);
    if (heads != 1)
        return -EBADMSG;
    piece->head = *head;
    piece->first_point = builder->point_count;
    joining->first_lanes[number] = builder->lane_count;
    int code = take_columns(parcel, &columns);
    if (code == 0)
        code = add_lanes(joining, &columns);
    piece->point_count = builder->point_count - piece->first_point;
    if (code)
        return code;
    piece->edges = parcel_take(parcel, sizeof *piece->edges, &piece->edge_count);
    builder->counts.below_medium += head->below_medium;
    code = graph_piece_take_shared(&joining->rules, &joining->shared_spans, parcel, piece->first_point);
    joining->spans += head->spans;
    return code;
}

static int add_joins(struct joining *joining)
{
    int code = 0;
    for (size_t i = 0; i < joining->count && code == 0; i++) {
        joining->pieces[i].first_join = joining->rules.builder->point_count;
        for (uint32_t j = 0; j < joining->pieces[i].head.joins && code == 0; j++) {
            uint32_t join;
            code = graph_builder_add_join(joining->rules.builder, &join);
        }
    }
    return code;
}

static uint32_t point_of(const struct joined_piece *piece, uint32_t point)
{
    return point < piece->point_count ? piece->first_point + point : piece->first_join + (point - piece->point_count);
}

static int add_edges(struct joining *joining, const struct joined_piece *piece, size_t first, size_t end)
{
    int code = 0;
    for (size_t i = first; i < end && i < piece->edge_count && code == 0; i++) {
        const struct pending_edge *edge = &piece->edges[i];
        code = graph_builder_add_edge(joining->rules.builder, point_of(piece, edge->from), point_of(piece, edge->to), (enum edge_rule)edge->rule,
                                      (enum confidence)edge->confidence, edge->class_of_lag);
    }
    return code;
}

static int find_all(struct joining *joining, struct error *err)
{
    struct graph_rules *rules = &joining->rules;
    int code = graph_losses_find(rules, err);
    if (code == 0)
        code = graph_rules_mpi(rules, err);
    if (code == 0)
        code = add_joins(joining);
    for (size_t i = 0; i < joining->count && code == 0; i++)
        code = add_edges(joining, &joining->pieces[i], 0, joining->pieces[i].head.before_nccl);
    if (code == 0)
        code = graph_rules_nccl(rules, err);
    for (size_t i = 0; i < joining->count && code == 0; i++)
        code = add_edges(joining, &joining->pieces[i], joining->pieces[i].head.before_nccl, SIZE_MAX);
    return code ? code : graph_processor_join(rules, joining->parcels, joining->first_lanes, joining->count);
}

static int join_all(struct joining *joining, struct error *err)
{
    int code = graph_builder_create(joining->rules.trace, &joining->rules.builder);
    if (code == 0)
        code = graph_rules_init(&joining->rules);
    joining->pieces = calloc(joining->count + 1, sizeof *joining->pieces);
    joining->first_lanes = calloc(joining->count + 1, sizeof *joining->first_lanes);
    if (!joining->pieces || !joining->first_lanes)
        code = -ENOMEM;
    for (size_t i = 0; i < joining->count && code == 0; i++)
        code = add_piece(joining, i);
    if (code == 0 && joining->shared_spans != joining->rules.span_count)
        code = -EBADMSG;
    return code ? code : find_all(joining, err);
}

int graph_pieces_join(const struct trace *shared, struct parcel *pieces, size_t count, const struct progress *progress,
                      struct dependency_graph **ret_graph, struct error *err)
{
    static const struct graph_options no_options = {0};
    struct joining joining = {.rules = {.trace = shared, .options = &no_options, .progress = progress}, .parcels = pieces, .count = count};
    int code = join_all(&joining, err);
    graph_rules_finish(&joining.rules);
    free(joining.pieces);
    free(joining.first_lanes);
    for (size_t i = 0; i < count; i++)
        parcel_finish(&pieces[i]);
    if (code == 0)
        code = graph_builder_finish(joining.rules.builder, ret_graph, err);
    else if (!err->text[0])
        error_set_errno(err, code, "the dependency graph");
    graph_builder_destroy(joining.rules.builder);
    return code;
}
