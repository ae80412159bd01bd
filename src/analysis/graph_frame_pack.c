/* SPDX-License-Identifier: MIT */
/* The frame of one piece: which of its points others may look at. */
#include "graph_frame.h"

#include "base/array.h"
#include "graph_frame_internal.h"

#include <errno.h>
#include <stdlib.h>

struct thinning {
    struct packed_piece piece;
    uint32_t *numbers; /* by point: not 0 where it is kept, then its number in the frame and 1 */
    uint32_t *first_points; /* by lane */
    uint32_t kept;
};

static void keep(struct thinning *thinning, uint32_t lane, uint32_t point)
{
    thinning->numbers[point] = 1;
    if (thinning->piece.head.lost && point > thinning->first_points[lane]) /* whether something is lost in the stretch before */
        thinning->numbers[point - 1] = 1;
}

static uint32_t point_before(const struct thinning *thinning, uint32_t lane, int64_t time_ns)
{
    uint32_t first = thinning->first_points[lane], low = first, high = first + thinning->piece.lanes[lane].point_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (thinning->piece.time_ns[middle] <= time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low == first ? POINT_NONE : low - 1;
}

static void keep_leaving(struct thinning *thinning, const struct leaving *leaving)
{
    uint32_t lane = leaving->lane, end = thinning->first_points[lane] + thinning->piece.lanes[lane].point_count;
    uint32_t gone = point_before(thinning, lane, leaving->begin_ns), back = point_before(thinning, lane, leaving->end_ns);
    if (gone != POINT_NONE)
        keep(thinning, lane, gone);
    if (back == POINT_NONE)
        return;
    keep(thinning, lane, back);
    if (back + 1 < end)
        keep(thinning, lane, back + 1);
}

static uint32_t lane_of(const struct thinning *thinning, uint32_t point)
{
    size_t low = 0, high = thinning->piece.lane_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (thinning->first_points[middle] <= point)
            low = middle;
        else
            high = middle;
    }
    return (uint32_t)low;
}

static int mark(struct thinning *thinning)
{
    const struct packed_piece *piece = &thinning->piece;
    uint32_t first = 0;
    for (size_t l = 0; l < piece->lane_count; l++) {
        thinning->first_points[l] = first;
        if (piece->lanes[l].point_count > piece->point_count - first)
            return -EBADMSG;
        first += piece->lanes[l].point_count;
    }
    for (size_t i = 0; i < piece->shared_count; i++) {
        const uint32_t ends[] = {piece->shared[i].begin_point, piece->shared[i].end_point};
        for (int e = 0; e < 2; e++)
            if (ends[e] < piece->point_count)
                keep(thinning, lane_of(thinning, ends[e]), ends[e]);
    }
    for (size_t i = 0; i < piece->leaving_count; i++)
        if (piece->leavings[i].lane < piece->lane_count)
            keep_leaving(thinning, &piece->leavings[i]);
    for (size_t p = 0; p < piece->point_count; p++)
        thinning->numbers[p] = thinning->numbers[p] ? ++thinning->kept : 0;
    return 0;
}

static void pack_lanes(const struct thinning *thinning, struct parcel *frame)
{
    const struct packed_piece *piece = &thinning->piece;
    struct frame_head head = {.spans = piece->head.spans, .points = (uint32_t)piece->point_count, .joins = piece->head.joins,
                              .below_medium = piece->head.below_medium, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    struct piece_lane *lanes = array_resize_exact(NULL, piece->lane_count, sizeof *lanes);
    frame->failed |= !lanes;
    for (size_t l = 0; lanes && l < piece->lane_count; l++) {
        uint32_t first = thinning->first_points[l], count = piece->lanes[l].point_count;
        lanes[l] = piece->lanes[l];
        lanes[l].point_count = 0;
        for (uint32_t p = first; p < first + count; p++)
            lanes[l].point_count += thinning->numbers[p] != 0;
        if (count && piece->time_ns[first] < head.begin_ns)
            head.begin_ns = piece->time_ns[first];
        if (count && piece->time_ns[first + count - 1] > head.end_ns)
            head.end_ns = piece->time_ns[first + count - 1];
    }
    parcel_put(frame, &head, 1, sizeof head);
    if (lanes)
        parcel_put(frame, lanes, piece->lane_count, sizeof *lanes);
    free(lanes);
}

static void pack_points(const struct thinning *thinning, struct parcel *frame)
{
    const struct packed_piece *piece = &thinning->piece;
    struct frame_point *points = array_resize_exact(NULL, thinning->kept, sizeof *points);
    frame->failed |= !points;
    for (uint32_t p = 0; points && p < piece->point_count; p++)
        if (thinning->numbers[p])
            points[thinning->numbers[p] - 1] = (struct frame_point){piece->time_ns[p], p, piece->interval[p]};
    if (points)
        parcel_put(frame, points, thinning->kept, sizeof *points);
    free(points);
}

static void pack_shared(const struct thinning *thinning, struct parcel *frame)
{
    const struct packed_piece *piece = &thinning->piece;
    struct piece_span *spans = array_resize_exact(NULL, piece->shared_count, sizeof *spans);
    frame->failed |= !spans;
    for (size_t i = 0; spans && i < piece->shared_count; i++) {
        spans[i] = piece->shared[i];
        spans[i].begin_point = spans[i].begin_point < piece->point_count ? thinning->numbers[spans[i].begin_point] - 1 : POINT_NONE;
        spans[i].end_point = spans[i].end_point < piece->point_count ? thinning->numbers[spans[i].end_point] - 1 : POINT_NONE;
    }
    if (spans)
        parcel_put(frame, spans, piece->shared_count, sizeof *spans);
    free(spans);
}

int graph_frame_pack(const struct parcel *piece, struct parcel *frame)
{
    struct thinning thinning = {0};
    int code = graph_piece_look(piece, &thinning.piece);
    if (code < 0)
        return code;
    CLEANUP(freep) uint32_t *numbers = thinning.numbers = calloc(thinning.piece.point_count + 1, sizeof *numbers);
    CLEANUP(freep) uint32_t *first_points = thinning.first_points = calloc(thinning.piece.lane_count + 1, sizeof *first_points);
    code = numbers && first_points ? mark(&thinning) : -ENOMEM;
    if (code < 0)
        return code;
    pack_lanes(&thinning, frame);
    pack_points(&thinning, frame);
    pack_shared(&thinning, frame);
    parcel_put(frame, thinning.piece.leavings, thinning.piece.leaving_count, sizeof *thinning.piece.leavings);
    return frame->failed ? -ENOMEM : 0;
}
