/* SPDX-License-Identifier: MIT */
/* Frames put together: what goes between processes is found as graph_join.c finds it, over the points that the frames have. */
#include "graph_frame.h"

#include "base/array.h"
#include "base/array.h"
#include "base/error.h"
#include "graph_frame_hold.h"

#include <errno.h>
#include <stdlib.h>

struct frame_reading {
    struct graph_frame *frame;
    struct graph_rules rules;
    struct parcel *parcels;
    uint32_t *first_lanes, shared_spans;
};

static int add_lanes(struct frame_reading *reading, struct frame_piece *piece, const struct piece_lane *lanes, size_t points)
{
    struct graph_builder *builder = reading->rules.builder;
    uint32_t number;
    size_t at = 0;
    int code = 0;
    for (uint32_t l = 0; l < piece->lane_count && code == 0; l++) {
        if (lanes[l].point_count > points - at)
            return -EBADMSG;
        code = graph_builder_add_lane(builder, (track_id){lanes[l].track}, lanes[l].clock_bound_ns, &number);
        for (size_t end = at + lanes[l].point_count; at < end && code == 0; at++)
            code = graph_builder_add_point(builder, piece->points[at].time_ns, (enum interval_kind)piece->points[at].interval, SPAN_NONE, 0, &number);
    }
    return code;
}

static int add_piece(struct frame_reading *reading, uint32_t number)
{
    struct graph_frame *frame = reading->frame;
    struct graph_builder *builder = reading->rules.builder;
    struct parcel *parcel = &reading->parcels[number];
    struct frame_piece *piece = &frame->pieces[number];
    size_t heads, lane_count, point_count;
    const struct frame_head *head = parcel_take(parcel, sizeof *head, &heads);
    const struct piece_lane *lanes = parcel_take(parcel, sizeof *lanes, &lane_count);
    piece->points = parcel_take(parcel, sizeof *piece->points, &point_count);
    if (parcel->failed || heads != 1)
        return -EBADMSG;
    piece->head = *head;
    piece->first_lane = reading->first_lanes[number] = builder->lane_count;
    piece->lane_count = (uint32_t)lane_count;
    piece->first_point = builder->point_count;
    piece->first_span = frame->span_count;
    piece->first_own_join = frame->own_joins;
    frame->span_count += head->spans;
    frame->own_joins += head->joins;
    frame->counts.points += head->points + head->joins;
    builder->counts.below_medium += head->below_medium;
    if (head->begin_ns < frame->begin_ns)
        frame->begin_ns = head->begin_ns;
    if (head->end_ns > frame->end_ns)
        frame->end_ns = head->end_ns;
    int code = add_lanes(reading, piece, lanes, point_count);
    piece->point_count = builder->point_count - piece->first_point;
    return code ? code : graph_piece_take_shared(&reading->rules, &reading->shared_spans, parcel, piece->first_point);
}

static int find_all(struct frame_reading *reading, struct error *err)
{
    struct graph_frame *frame = reading->frame;
    struct graph_rules *rules = &reading->rules;
    const struct graph_builder *builder = rules->builder;
    int code = graph_losses_find(rules, err);
    if (code == 0)
        code = graph_rules_mpi(rules, err);
    frame->first_of_phase[PHASE_NCCL] = builder->pending_count;
    frame->mpi_joins = builder->point_count - builder->lane_point_count;
    if (code == 0)
        code = graph_rules_nccl(rules, err);
    frame->first_of_phase[PHASE_PROCESSOR] = builder->pending_count;
    if (code == 0)
        code = graph_processor_join(rules, reading->parcels, reading->first_lanes, frame->piece_count);
    frame->first_of_phase[PHASE_COUNT] = builder->pending_count;
    return code;
}

static uint32_t piece_of(const struct graph_frame *frame, uint32_t point)
{
    uint32_t low = 0, high = frame->piece_count;
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (frame->pieces[middle].first_point <= point)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Edges into joins stay, those into lanes' points go to their pieces: by piece, in the order in which they were found. */
static int divide_edges(struct graph_frame *frame, struct graph_builder *builder)
{
    uint32_t count = builder->pending_count, phase = PHASE_MPI, kept = 0, next = 0;
    uint32_t *pieces = array_resize_exact(NULL, count, sizeof *pieces);
    frame->crossing = array_resize_exact(NULL, count, sizeof *frame->crossing);
    if (!pieces || !frame->crossing) {
        free(pieces);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        bool into_lane = builder->pending[i].to < builder->lane_point_count;
        pieces[i] = into_lane ? piece_of(frame, builder->pending[i].to) : frame->piece_count;
        if (into_lane)
            frame->pieces[pieces[i]].edge_count++;
    }
    for (uint32_t p = 0; p < frame->piece_count; p++) {
        frame->pieces[p].first_edge = next;
        next += frame->pieces[p].edge_count;
        frame->pieces[p].edge_count = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        while (i >= frame->first_of_phase[phase + 1])
            phase++;
        struct frame_piece *piece = &frame->pieces[pieces[i]];
        if (pieces[i] == frame->piece_count)
            builder->pending[kept++] = builder->pending[i];
        else
            frame->crossing[piece->first_edge + piece->edge_count++] = (struct crossing_edge){builder->pending[i], phase};
    }
    builder->pending_count = kept;
    free(pieces);
    return 0;
}

/* Points of pieces that edges lead from to elsewhere. */
static int find_exits(struct graph_frame *frame)
{
    const struct graph_builder *builder = frame->share->hold->builder;
    frame->exits = calloc((size_t)builder->point_count + 1, sizeof *frame->exits);
    if (!frame->exits)
        return -ENOMEM;
    for (uint32_t p = 0; p < frame->piece_count; p++) {
        const struct frame_piece *piece = &frame->pieces[p];
        for (uint32_t e = 0; e < piece->edge_count; e++) {
            uint32_t from = frame->crossing[piece->first_edge + e].edge.from;
            frame->exits[from] |= from < piece->first_point || from >= piece->first_point + piece->point_count;
        }
    }
    for (uint32_t e = 0; e < builder->edge_count; e++) {
        uint32_t from = builder->columns.edges[e].from;
        frame->exits[from] |= from < builder->lane_point_count;
    }
    return 0;
}

/* The joins' share: their own are all its nodes, and the points that edges into them come from. */
static int make_share(struct graph_frame *frame, struct graph_builder *builder)
{
    graph_find_clocks(builder);
    frame->share = graph_share_alloc(builder);
    if (!frame->share)
        return -ENOMEM;
    struct share_hold *hold = frame->share->hold;
    hold->foreign_lanes = array_resize_exact(NULL, builder->lane_count, sizeof *hold->foreign_lanes);
    if (!hold->foreign_lanes)
        return -ENOMEM;
    for (uint32_t l = 0; l < builder->lane_count; l++)
        hold->foreign_lanes[l] = true;
    hold->marks.first_own_join = builder->lane_point_count;
    hold->marks.own_join_end = builder->point_count;
    hold->marks.begin_ns = frame->begin_ns;
    hold->marks.end_ns = frame->end_ns;
    int code = graph_share_prepare(frame->share);
    frame->point_count = builder->point_count;
    frame->counts.points += builder->point_count - builder->lane_point_count;
    frame->share->path.split = builder->lane_point_count + frame->mpi_joins;
    frame->share->path.order_behind = UINT64_C(2) << 62;
    return code;
}

static int give_nodes(struct graph_frame *frame)
{
    struct graph_share *share = frame->share;
    const struct graph_builder *builder = share->hold->builder;
    CLEANUP(freep) bool *into_joins = calloc((size_t)builder->point_count + 1, sizeof *into_joins);
    share->hold->nodes = array_resize_exact(NULL, builder->point_count, sizeof *share->hold->nodes);
    if (!into_joins || !share->hold->nodes)
        return -ENOMEM;
    for (uint32_t e = 0; e < builder->edge_count; e++)
        into_joins[builder->columns.edges[e].from] = true;
    for (uint32_t p = 0; p < builder->point_count; p++)
        if (into_joins[p] || p >= builder->lane_point_count)
            share->hold->nodes[share->path.node_count++] = (struct share_node){p, p};
    return 0;
}

static int create(struct frame_reading *reading, struct error *err)
{
    struct graph_frame *frame = reading->frame;
    int code = graph_builder_create(reading->rules.trace, &reading->rules.builder);
    if (code == 0)
        code = graph_rules_init(&reading->rules);
    for (uint32_t i = 0; i < frame->piece_count && code == 0; i++)
        code = add_piece(reading, i);
    if (code == 0 && reading->shared_spans != reading->rules.span_count)
        code = -EBADMSG;
    if (code == 0)
        code = find_all(reading, err);
    if (frame->end_ns < frame->begin_ns)
        frame->begin_ns = frame->end_ns = 0;
    if (code == 0)
        code = divide_edges(frame, reading->rules.builder);
    if (code == 0) {
        struct graph_builder *builder = reading->rules.builder;
        reading->rules.builder = NULL;
        code = make_share(frame, builder);
    }
    if (code == 0)
        code = find_exits(frame);
    return code ? code : give_nodes(frame);
}

int graph_frame_create(const struct trace *shared, struct parcel *frames, uint32_t count, const struct progress *progress,
                       struct graph_frame **ret_frame, struct error *err)
{
    static const struct graph_options no_options = {0};
    CLEANUP(graph_frame_destroyp) struct graph_frame *frame = calloc(1, sizeof *frame);
    struct frame_reading reading = {.frame = frame, .rules = {.trace = shared, .options = &no_options, .progress = progress}, .parcels = frames};
    CLEANUP(freep) uint32_t *first_lanes = reading.first_lanes = calloc((size_t)count + 1, sizeof *first_lanes);
    if (!frame || !first_lanes)
        return error_set(err, -ENOMEM, "out of memory");
    frame->begin_ns = INT64_MAX;
    frame->end_ns = INT64_MIN;
    frame->piece_count = count;
    frame->pieces = calloc((size_t)count + 1, sizeof *frame->pieces);
    int code = frame->pieces ? create(&reading, err) : -ENOMEM;
    graph_rules_finish(&reading.rules);
    graph_builder_destroy(reading.rules.builder);
    for (uint32_t i = 0; i < count && frame->pieces; i++) { /* frames' points are looked at until their shares are packed */
        frame->pieces[i].parcel = frames[i];
        frames[i] = (struct parcel)PARCEL_INIT;
    }
    if (code == 0)
        *ret_frame = TAKE_PTR(frame);
    return code < 0 && !err->text[0] ? error_set_errno(err, code, "the dependency graph") : code;
}

void graph_frame_packed(struct graph_frame *frame)
{
    for (uint32_t i = 0; i < frame->piece_count && frame->pieces; i++)
        parcel_finish(&frame->pieces[i].parcel);
    free(frame->crossing);
    free(frame->exits);
    frame->crossing = NULL;
    frame->exits = NULL;
}

void graph_frame_destroy(struct graph_frame *frame)
{
    if (!frame)
        return;
    graph_frame_packed(frame);
    graph_share_destroy(frame->share);
    free(frame->pieces);
    free(frame);
}

struct graph_share *graph_frame_share(struct graph_frame *frame)
{
    return frame->share;
}

uint32_t graph_frame_number_count(const struct graph_frame *frame)
{
    return frame->point_count;
}
