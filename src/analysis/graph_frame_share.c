/* SPDX-License-Identifier: MIT */
/* What one piece needs of the frame to become a share: foreign points that edges into it come from, and those edges. */
#include "base/array.h"
#include "graph_frame_hold.h"

#include <errno.h>
#include <stdlib.h>

struct packing {
    const struct graph_frame *frame;
    const struct frame_piece *piece;
    const struct graph_builder *builder;
    struct share_head head;
    struct graph_lane *lanes;
    uint32_t *lane_numbers;  /* by lane of the frame: in the share, where it is there */
    bool *lane_used;
    uint32_t *foreign;       /* foreign points in order, lanes' first */
    size_t foreign_count, foreign_on_lanes, foreign_before; /* before: below the piece's own */
    size_t lane_count, joins_behind;
    uint32_t own_points, first_join; /* of the share: how many of its own, and the number of its first join */
};

static bool is_own(const struct packing *packing, uint32_t point)
{
    return point >= packing->piece->first_point && point < packing->piece->first_point + packing->piece->point_count;
}

static int by_number(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int find_foreign(struct packing *packing)
{
    const struct frame_piece *piece = packing->piece;
    uint32_t lane_points = packing->builder->lane_point_count;
    packing->foreign = array_resize_exact(NULL, piece->edge_count, sizeof *packing->foreign);
    if (!packing->foreign)
        return -ENOMEM;
    size_t count = 0, kept = 0;
    for (uint32_t e = 0; e < piece->edge_count; e++) {
        uint32_t from = packing->frame->crossing[piece->first_edge + e].edge.from;
        if (!is_own(packing, from))
            packing->foreign[count++] = from;
    }
    if (count)
        qsort(packing->foreign, count, sizeof *packing->foreign, by_number);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || packing->foreign[i] != packing->foreign[kept - 1])
            packing->foreign[kept++] = packing->foreign[i];
    packing->foreign_count = kept;
    for (size_t i = 0; i < kept; i++) {
        uint32_t point = packing->foreign[i];
        packing->foreign_on_lanes += point < lane_points;
        packing->foreign_before += point < piece->first_point;
        packing->head.joins_below += point >= lane_points && point < lane_points + packing->frame->mpi_joins;
    }
    packing->joins_behind = kept - packing->foreign_on_lanes - packing->head.joins_below;
    return 0;
}

static uint32_t clock_lane(const struct packing *packing, uint32_t join)
{
    return packing->builder->join_lane[join - packing->builder->lane_point_count];
}

/* Own lanes, those of foreign points, and those whose clocks foreign joins' times are in. */
static int find_lanes(struct packing *packing)
{
    const struct graph_builder *builder = packing->builder;
    const struct frame_piece *piece = packing->piece;
    packing->lanes = array_resize_exact(NULL, builder->lane_count, sizeof *packing->lanes);
    packing->lane_numbers = array_resize_exact(NULL, builder->lane_count, sizeof *packing->lane_numbers);
    packing->lane_used = calloc((size_t)builder->lane_count + 1, sizeof *packing->lane_used);
    if (!packing->lanes || !packing->lane_numbers || !packing->lane_used)
        return -ENOMEM;
    for (uint32_t l = 0; l < piece->lane_count; l++)
        packing->lane_used[piece->first_lane + l] = true;
    for (size_t i = 0; i < packing->foreign_count; i++) {
        uint32_t point = packing->foreign[i], lane = i < packing->foreign_on_lanes ? builder->columns.lane[point] : clock_lane(packing, point);
        if (lane != LANE_NONE)
            packing->lane_used[lane] = true;
    }
    for (uint32_t l = 0; l < builder->lane_count; l++) {
        if (!packing->lane_used[l])
            continue;
        packing->head.lanes_below += l < piece->first_lane;
        packing->head.lanes_behind += l >= piece->first_lane + piece->lane_count;
        packing->lane_numbers[l] = (uint32_t)packing->lane_count;
        packing->lanes[packing->lane_count] = builder->columns.lanes[l];
        packing->lanes[packing->lane_count++].point_count = 0;
    }
    for (size_t i = 0; i < packing->foreign_on_lanes; i++)
        packing->lanes[packing->lane_numbers[builder->columns.lane[packing->foreign[i]]]].point_count++;
    return 0;
}

static void pack_lanes(const struct packing *packing, struct parcel *share)
{
    int64_t *times_ns = array_resize_exact(NULL, packing->foreign_on_lanes, sizeof *times_ns);
    struct foreign_join *joins = array_resize_exact(NULL, packing->foreign_count - packing->foreign_on_lanes, sizeof *joins);
    share->failed |= !times_ns || !joins;
    for (size_t i = 0; !share->failed && i < packing->foreign_count; i++) {
        uint32_t point = packing->foreign[i];
        int64_t time_ns = packing->builder->columns.time_ns[point];
        if (i < packing->foreign_on_lanes) {
            times_ns[i] = time_ns;
            continue;
        }
        uint32_t lane = clock_lane(packing, point);
        joins[i - packing->foreign_on_lanes] = (struct foreign_join){time_ns, lane != LANE_NONE ? packing->lane_numbers[lane] : LANE_NONE};
    }
    if (!share->failed) {
        parcel_put(share, &packing->head, 1, sizeof packing->head);
        parcel_put(share, packing->lanes, packing->lane_count, sizeof *packing->lanes);
        parcel_put(share, times_ns, packing->foreign_on_lanes, sizeof *times_ns);
        parcel_put(share, joins, packing->foreign_count - packing->foreign_on_lanes, sizeof *joins);
    }
    free(times_ns);
    free(joins);
}

/* A point of the frame as the share numbers it. */
static uint32_t number_in_share(const struct packing *packing, uint32_t point)
{
    if (is_own(packing, point))
        return (uint32_t)packing->foreign_before + packing->piece->points[point - packing->piece->first_point].point;
    const uint32_t *found = bsearch(&point, packing->foreign, packing->foreign_count, sizeof *packing->foreign, by_number);
    uint32_t at = (uint32_t)(found - packing->foreign);
    if (at < packing->foreign_before)
        return at;
    if (at < packing->foreign_on_lanes)
        return at + packing->own_points;
    at -= (uint32_t)packing->foreign_on_lanes;
    return packing->first_join + at + (at < packing->head.joins_below ? 0 : packing->piece->head.joins);
}

static void pack_edges(const struct packing *packing, struct parcel *share)
{
    const struct frame_piece *piece = packing->piece;
    struct pending_edge *edges = array_resize_exact(NULL, piece->edge_count, sizeof *edges);
    share->failed |= !edges;
    for (uint32_t e = 0; edges && e < piece->edge_count; e++) {
        edges[e] = packing->frame->crossing[piece->first_edge + e].edge;
        edges[e].from = number_in_share(packing, edges[e].from);
        edges[e].to = number_in_share(packing, edges[e].to);
    }
    uint32_t at = 0;
    for (uint32_t phase = PHASE_MPI; edges && phase < PHASE_COUNT; phase++) {
        uint32_t first = at;
        while (at < piece->edge_count && packing->frame->crossing[piece->first_edge + at].phase == phase)
            at++;
        parcel_put(share, edges + first, at - first, sizeof *edges);
    }
    free(edges);
}

static void pack_changes(const struct packing *packing, struct parcel *share)
{
    const struct frame_piece *piece = packing->piece;
    struct share_change *changes = array_resize_exact(NULL, piece->point_count, sizeof *changes);
    size_t count = 0;
    share->failed |= !changes;
    for (uint32_t p = 0; changes && p < piece->point_count; p++) {
        uint8_t interval = packing->builder->columns.interval[piece->first_point + p];
        if (interval != piece->points[p].interval)
            changes[count++] = (struct share_change){piece->points[p].point, interval};
    }
    if (changes)
        parcel_put(share, changes, count, sizeof *changes);
    free(changes);
}

static void pack_nodes(const struct packing *packing, struct parcel *share)
{
    const struct frame_piece *piece = packing->piece;
    struct share_node *nodes = array_resize_exact(NULL, packing->foreign_count + piece->point_count, sizeof *nodes);
    size_t count = 0;
    share->failed |= !nodes;
    for (size_t i = 0; nodes && i < packing->foreign_count; i++)
        nodes[count++] = (struct share_node){number_in_share(packing, packing->foreign[i]), packing->foreign[i]};
    for (uint32_t p = piece->first_point; nodes && p < piece->first_point + piece->point_count; p++)
        if (packing->frame->exits[p])
            nodes[count++] = (struct share_node){number_in_share(packing, p), p};
    if (nodes)
        parcel_put(share, nodes, count, sizeof *nodes);
    free(nodes);
}

static void pack_devices(const struct packing *packing, struct parcel *share)
{
    const struct frame_piece *piece = packing->piece;
    uint32_t track_count;
    const struct trace_track *tracks = trace_tracks(packing->builder->columns.trace, &track_count);
    uint8_t *devices = array_resize_exact(NULL, piece->lane_count, 1);
    share->failed |= !devices;
    for (uint32_t l = 0; devices && l < piece->lane_count; l++) {
        uint32_t track = packing->builder->columns.lanes[piece->first_lane + l].track.index;
        devices[l] = track < track_count && (tracks[track].kind == TRACK_KIND_STREAM || tracks[track].kind == TRACK_KIND_DEVICE);
    }
    if (devices)
        parcel_put(share, devices, piece->lane_count, 1);
    free(devices);
}

int graph_frame_pack_share(struct graph_frame *frame, uint32_t number, struct parcel *share)
{
    struct frame_piece *piece = &frame->pieces[number];
    struct packing packing = {.frame = frame, .piece = piece, .builder = frame->share->hold->builder, .own_points = piece->head.points};
    packing.head.first_lane = piece->first_lane;
    packing.head.first_span = piece->first_span;
    packing.head.begin_ns = frame->begin_ns;
    packing.head.end_ns = frame->end_ns;
    int code = find_foreign(&packing);
    if (code == 0)
        code = find_lanes(&packing);
    packing.first_join = (uint32_t)packing.foreign_on_lanes + packing.own_points;
    if (code == 0) {
        pack_lanes(&packing, share);
        pack_edges(&packing, share);
        pack_changes(&packing, share);
        pack_nodes(&packing, share);
        pack_devices(&packing, share);
    }
    free(packing.foreign);
    free(packing.lanes);
    free(packing.lane_numbers);
    free(packing.lane_used);
    return code == 0 && share->failed ? -ENOMEM : code;
}
