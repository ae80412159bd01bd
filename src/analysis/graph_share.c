/* SPDX-License-Identifier: MIT */
/* From a piece and what comes from elsewhere to a share of the whole graph. */
#include "graph_share.h"

#include "base/array.h"
#include "graph_share_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct least_lag {
    uint64_t class_key;
    int64_t lag_ns;
};

struct graph_share *graph_share_alloc(struct graph_builder *builder)
{
    struct graph_share *share = calloc(1, sizeof *share);
    struct share_hold *hold = calloc(1, sizeof *hold);
    if (!share || !hold) {
        free(share);
        free(hold);
        graph_builder_destroy(builder);
        return NULL;
    }
    share->hold = hold;
    hold->builder = builder;
    map_init(&hold->least);
    return share;
}

void graph_share_destroy(struct graph_share *share)
{
    if (!share)
        return;
    struct share_hold *hold = share->hold;
    path_share_finish(&share->path);
    dependency_graph_destroy(share->graph);
    graph_builder_destroy(hold->builder);
    map_finish(&hold->least);
    free(hold->foreign_lanes);
    free(hold->foreign);
    free(hold->joins);
    free(hold->nodes);
    free(hold->devices);
    free(hold);
    free(share);
}

int graph_share_prepare(struct graph_share *share)
{
    struct share_hold *hold = share->hold;
    struct graph_builder *builder = hold->builder;
    hold->marks.foreign_lanes = hold->foreign_lanes;
    builder->share = &hold->marks;
    int code = graph_builder_prepare(builder);
    share->circular = builder->circular;
    return code ? code : graph_find_bounds(builder, &hold->least);
}

/* --- of a piece --------------------------------------------------------------------------------------------------- */

struct unpacking {
    struct packed_piece piece;
    struct parcel *packed;
    const struct share_head *head;
    const struct graph_lane *lanes;
    const int64_t *foreign_ns;
    size_t lane_count, foreign_count, foreign_at;
    uint32_t first_point; /* the first own one's number in the share */
    struct graph_builder *builder;
};

static int add_foreign_lane(struct unpacking *unpacking, const struct graph_lane *lane)
{
    uint32_t number;
    int code = graph_builder_add_lane(unpacking->builder, lane->track, lane->clock_bound_ns, &number);
    for (uint32_t p = 0; p < lane->point_count && code == 0; p++) {
        if (unpacking->foreign_at == unpacking->foreign_count)
            return -EBADMSG;
        code = graph_builder_add_point(unpacking->builder, unpacking->foreign_ns[unpacking->foreign_at++], INTERVAL_IDLE, SPAN_NONE, 0, &number);
    }
    return code;
}

static int add_own_lanes(struct unpacking *unpacking, const struct graph_lane *lanes)
{
    const struct packed_piece *piece = &unpacking->piece;
    uint32_t number, at = 0;
    int code = 0;
    unpacking->first_point = unpacking->builder->point_count;
    for (size_t l = 0; l < piece->lane_count && code == 0; l++) {
        code = graph_builder_add_lane(unpacking->builder, lanes[l].track, piece->lanes[l].clock_bound_ns, &number);
        if (piece->lanes[l].point_count > piece->point_count - at)
            return -EBADMSG;
        for (uint32_t end = at + piece->lanes[l].point_count; at < end && code == 0; at++)
            code = graph_builder_add_point(unpacking->builder, piece->time_ns[at], (enum interval_kind)piece->interval[at], piece->span[at],
                                           piece->classes[at], &number);
    }
    return code;
}

static int add_lanes(struct unpacking *unpacking)
{
    uint32_t below = unpacking->head->lanes_below;
    size_t own = unpacking->piece.lane_count;
    int code = unpacking->lane_count == below + own + unpacking->head->lanes_behind ? 0 : -EBADMSG;
    for (size_t l = 0; l < unpacking->lane_count && code == 0; l++)
        if (l < below || l >= below + own)
            code = add_foreign_lane(unpacking, &unpacking->lanes[l]);
        else if (l == below)
            code = add_own_lanes(unpacking, &unpacking->lanes[below]);
    for (size_t l = 0; l < unpacking->lane_count && code == 0; l++) { /* what is known of their clocks */
        struct graph_lane *lane = &unpacking->builder->columns.lanes[l];
        lane->clock = unpacking->lanes[l].clock;
        lane->node_clock = unpacking->lanes[l].node_clock;
        lane->node_bound_ns = unpacking->lanes[l].node_bound_ns;
    }
    return code;
}

static int add_joins(struct unpacking *unpacking, struct share_hold *hold)
{
    size_t count;
    uint32_t below = unpacking->head->joins_below, own = unpacking->piece.head.joins, number;
    const struct foreign_join *joins = parcel_take(unpacking->packed, sizeof *joins, &count);
    hold->joins = array_resize_exact(NULL, count, sizeof *joins);
    if (!hold->joins || unpacking->packed->failed || count < below)
        return hold->joins ? -EBADMSG : -ENOMEM;
    if (count)
        memcpy(hold->joins, joins, count * sizeof *joins);
    int code = 0;
    hold->marks.first_own_join = unpacking->builder->point_count + below;
    hold->marks.own_join_end = hold->marks.first_own_join + own;
    hold->marks.before = hold->joins;
    hold->marks.behind = hold->joins + below;
    for (size_t j = 0; j < count + own && code == 0; j++)
        code = graph_builder_add_join(unpacking->builder, &number);
    return code;
}

static int add_piece_edges(struct unpacking *unpacking, const struct share_hold *hold, size_t first, size_t end)
{
    const struct packed_piece *piece = &unpacking->piece;
    uint32_t points = (uint32_t)piece->point_count;
    int code = 0;
    for (size_t i = first; i < end && i < piece->edge_count && code == 0; i++) {
        const struct pending_edge *edge = &piece->edges[i];
        uint32_t from = edge->from < points ? unpacking->first_point + edge->from : hold->marks.first_own_join + (edge->from - points);
        uint32_t to = edge->to < points ? unpacking->first_point + edge->to : hold->marks.first_own_join + (edge->to - points);
        code = graph_builder_add_edge(unpacking->builder, from, to, (enum edge_rule)edge->rule, (enum confidence)edge->confidence, edge->class_of_lag);
    }
    return code;
}

static int add_crossing(struct unpacking *unpacking)
{
    size_t count;
    const struct pending_edge *edges = parcel_take(unpacking->packed, sizeof *edges, &count);
    int code = unpacking->packed->failed ? -EBADMSG : 0;
    for (size_t i = 0; i < count && code == 0; i++)
        code = graph_builder_add_edge(unpacking->builder, edges[i].from, edges[i].to, (enum edge_rule)edges[i].rule, (enum confidence)edges[i].confidence,
                                      edges[i].class_of_lag);
    return code;
}

/* In the order in which dependency_graph_create has them: graph_join.c. */
static int add_edges(struct unpacking *unpacking, const struct share_hold *hold)
{
    size_t before_nccl = unpacking->piece.head.before_nccl;
    int code = add_crossing(unpacking);
    if (code == 0)
        code = add_piece_edges(unpacking, hold, 0, before_nccl);
    if (code == 0)
        code = add_crossing(unpacking);
    if (code == 0)
        code = add_piece_edges(unpacking, hold, before_nccl, SIZE_MAX);
    return code ? code : add_crossing(unpacking);
}

static int take_rest(struct unpacking *unpacking, struct graph_share *share)
{
    struct share_hold *hold = share->hold;
    size_t change_count, node_count, device_count;
    const struct share_change *changes = parcel_take(unpacking->packed, sizeof *changes, &change_count);
    const struct share_node *nodes = parcel_take(unpacking->packed, sizeof *nodes, &node_count);
    const uint8_t *devices = parcel_take(unpacking->packed, 1, &device_count);
    if (unpacking->packed->failed || device_count != unpacking->piece.lane_count)
        return -EBADMSG;
    for (size_t i = 0; i < change_count; i++)
        if (changes[i].point < unpacking->piece.point_count)
            unpacking->builder->columns.interval[unpacking->first_point + changes[i].point] = changes[i].interval;
    hold->nodes = array_resize_exact(NULL, node_count, sizeof *nodes);
    hold->devices = array_resize_exact(NULL, device_count, 1);
    hold->foreign_lanes = array_resize_exact(NULL, unpacking->lane_count, sizeof *hold->foreign_lanes);
    if (!hold->nodes || !hold->devices || !hold->foreign_lanes)
        return -ENOMEM;
    for (size_t n = 0; n < node_count; n++)
        hold->nodes[n] = nodes[n];
    for (size_t l = 0; l < device_count; l++)
        hold->devices[l] = devices[l];
    for (size_t l = 0; l < unpacking->lane_count; l++)
        hold->foreign_lanes[l] = l < unpacking->head->lanes_below || l >= unpacking->head->lanes_below + device_count;
    share->path.node_count = (uint32_t)node_count;
    return 0;
}

static int unpack(struct unpacking *unpacking, struct graph_share *share)
{
    struct share_hold *hold = share->hold;
    size_t heads;
    unpacking->head = parcel_take(unpacking->packed, sizeof *unpacking->head, &heads);
    unpacking->lanes = parcel_take(unpacking->packed, sizeof *unpacking->lanes, &unpacking->lane_count);
    unpacking->foreign_ns = parcel_take(unpacking->packed, sizeof *unpacking->foreign_ns, &unpacking->foreign_count);
    if (heads != 1 || unpacking->packed->failed)
        return -EBADMSG;
    hold->marks.begin_ns = unpacking->head->begin_ns;
    hold->marks.end_ns = unpacking->head->end_ns;
    share->first_span = unpacking->head->first_span;
    share->first_own_lane = unpacking->head->lanes_below;
    share->own_lane_count = (uint32_t)unpacking->piece.lane_count;
    int code = add_lanes(unpacking);
    if (code == 0)
        code = add_joins(unpacking, hold);
    if (code == 0)
        code = add_edges(unpacking, hold);
    return code ? code : take_rest(unpacking, share);
}

int graph_share_create(const struct parcel *piece, struct parcel *packed, uint32_t number, struct graph_share **ret_share)
{
    struct unpacking unpacking = {.packed = packed};
    CLEANUP(graph_share_destroyp) struct graph_share *share = NULL;
    int code = graph_piece_look(piece, &unpacking.piece);
    if (code == 0)
        code = graph_builder_create(NULL, &unpacking.builder);
    if (code < 0)
        return code;
    share = graph_share_alloc(unpacking.builder);
    code = share ? unpack(&unpacking, share) : -ENOMEM;
    if (code == 0)
        code = graph_share_prepare(share);
    if (code < 0)
        return code;
    share->path.first_lane = unpacking.head->first_lane - unpacking.head->lanes_below;
    share->path.split = 0;
    share->path.order_behind = UINT64_C(1) << 62 | (uint64_t)number << 32; /* behind joins of MPI, before those of NCCL */
    share->devices = share->hold->devices;
    *ret_share = TAKE_PTR(share);
    return 0;
}

/* --- weighing ----------------------------------------------------------------------------------------------------- */

static void pack_map(const struct map *map, struct parcel *parcel)
{
    struct least_lag *lags = array_resize_exact(NULL, map->count, sizeof *lags);
    size_t position = 0, count = 0;
    uint64_t key, lag_ns;
    parcel->failed |= !lags;
    while (lags && map_next(map, &position, &key, &lag_ns))
        lags[count++] = (struct least_lag){key, (int64_t)lag_ns};
    if (lags)
        parcel_put(parcel, lags, count, sizeof *lags);
    free(lags);
}

static int take_map(struct parcel *parcel, struct map *map)
{
    size_t count;
    const struct least_lag *lags = parcel_take(parcel, sizeof *lags, &count);
    int code = parcel->failed ? -EBADMSG : 0;
    for (size_t i = 0; i < count && code == 0; i++)
        code = graph_note_lag(map, lags[i].class_key, lags[i].lag_ns);
    return code;
}

void graph_share_pack_least(const struct graph_share *share, struct parcel *least)
{
    pack_map(&share->hold->least, least);
}

int graph_least_join(struct parcel *parcels, size_t count, struct parcel *least)
{
    struct map map;
    int code = 0;
    map_init(&map);
    for (size_t i = 0; i < count && code == 0; i++)
        code = take_map(&parcels[i], &map);
    pack_map(&map, least);
    map_finish(&map);
    return code == 0 && least->failed ? -ENOMEM : code;
}

static int mark_foreign(struct graph_share *share)
{
    struct share_hold *hold = share->hold;
    uint32_t count = hold->builder->point_count;
    hold->foreign = array_resize_exact(NULL, count, sizeof *hold->foreign);
    for (uint32_t p = 0; hold->foreign && p < count; p++)
        hold->foreign[p] = !graph_builder_owns(hold->builder, p);
    return hold->foreign ? 0 : -ENOMEM;
}

int graph_share_weigh(struct graph_share *share, const struct parcel *least)
{
    struct share_hold *hold = share->hold;
    struct parcel parcel = *least; /* several shares may take it */
    map_finish(&hold->least);
    map_init(&hold->least);
    int code = take_map(&parcel, &hold->least);
    if (code == 0)
        code = graph_weigh_rest(hold->builder, &hold->least);
    if (code == 0)
        code = mark_foreign(share);
    if (code == 0)
        code = graph_builder_hand_over(hold->builder, &share->graph);
    if (code < 0)
        return code;
    map_finish(&hold->least);
    map_init(&hold->least);
    share->path.graph = share->graph;
    share->path.foreign = hold->foreign;
    share->path.nodes = hold->nodes;
    return 0;
}
