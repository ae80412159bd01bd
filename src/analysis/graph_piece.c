/* SPDX-License-Identifier: MIT */
/* What is known of some traces' lanes alone, packed for where all are put together. graph_join.c takes it out in the same order. */
#include "graph_piece.h"

#include "base/array.h"
#include "base/error.h"
#include "graph_piece_internal.h"
#include "span_table.h"

#include <errno.h>
#include <stdlib.h>

struct shared_spans {
    const struct graph_rules *rules;
    struct piece_span *items;
    size_t count, capacity;
};

static void pack_lanes(const struct graph_rules *rules, uint32_t first_track, struct parcel *parcel)
{
    const struct graph_builder *builder = rules->builder;
    const struct graph_columns *columns = &builder->columns;
    struct piece_lane *lanes = array_resize_exact(NULL, builder->lane_count, sizeof *lanes);
    uint32_t count = builder->lane_point_count;
    uint32_t *classes = array_resize_exact(NULL, count, sizeof *classes);
    parcel->failed |= !lanes || !classes;
    for (uint32_t l = 0; lanes && l < builder->lane_count; l++)
        lanes[l] = (struct piece_lane){columns->lanes[l].track.index + first_track, columns->lanes[l].point_count, columns->lanes[l].clock_bound_ns};
    for (uint32_t p = 0; classes && p < count; p++)
        classes[p] = (uint32_t)columns->interval_weight_ns[p];
    if (!parcel->failed) {
        parcel_put(parcel, lanes, builder->lane_count, sizeof *lanes);
        parcel_put(parcel, columns->time_ns, count, sizeof *columns->time_ns);
        parcel_put(parcel, columns->interval, count, sizeof *columns->interval);
        parcel_put(parcel, columns->span, count, sizeof *columns->span);
        parcel_put(parcel, classes, count, sizeof *classes);
    }
    free(lanes);
    free(classes);
}

static int note_shared(void *context, const struct graph_row *row)
{
    struct shared_spans *shared = context;
    struct piece_span *items = array_reserve(shared->items, &shared->capacity, shared->count + 1, sizeof *items);
    if (!items)
        return -ENOMEM;
    shared->items = items;
    uint32_t span = row->span.index;
    items[shared->count++] = (struct piece_span){shared->rules->begin_point[span], shared->rules->end_point[span], shared->rules->kind[span]};
    return 0;
}

/* All of these kinds, those on no lane as well: the shared parts have them, too. */
static int pack_shared(struct graph_rules *rules, uint64_t kinds, struct parcel *parcel, struct error *err)
{
    struct shared_spans shared = {.rules = rules};
    int code = 0;
    for (uint32_t i = 0; i < trace_block_count(rules->trace, FAMILY_SPANS) && code == 0; i++) {
        struct span_block block;
        code = trace_spans_scan(rules->trace, i, SPAN_COLUMN_BIT(SPAN_COLUMN_KIND), &block, err);
        if (code < 0)
            break;
        for (uint32_t row = 0; row < block.info.count && code == 0; row++)
            if (kinds >> (block.kind ? block.kind[row] : SPAN_KIND_UNKNOWN) & 1)
                code = note_shared(&shared, &(struct graph_row){&block, row, {block.info.first + row}});
        trace_spans_put(rules->trace, &block);
    }
    if (code == 0)
        parcel_put(parcel, shared.items, shared.count, sizeof *shared.items);
    free(shared.items);
    return code;
}

static int find_edges(struct graph_rules *rules, struct error *err)
{
    int code = graph_rules_openmp(rules, err);
    rules->before_nccl = rules->builder->pending_count;
    return code ? code : graph_rules_device(rules, err);
}

static int pack_all(struct graph_rules *rules, uint32_t first_track, uint64_t shared_kinds, struct parcel *parcel, struct error *err)
{
    int code = graph_lanes_cut(rules, err);
    if (code == 0)
        code = graph_losses_find(rules, err);
    if (code == 0)
        code = find_edges(rules, err);
    if (code == 0) {
        const struct graph_builder *builder = rules->builder;
        const struct piece_head head = {.spans = rules->span_count, .joins = builder->point_count - builder->lane_point_count,
                                        .below_medium = builder->counts.below_medium, .before_nccl = rules->before_nccl,
                                        .lost = rules->lost_anywhere || rules->loss_count};
        parcel_put(parcel, &head, 1, sizeof head);
        pack_lanes(rules, first_track, parcel);
        parcel_put(parcel, builder->pending, builder->pending_count, sizeof *builder->pending);
        code = pack_shared(rules, shared_kinds, parcel, err);
    }
    return code ? code : graph_processor_pack(rules, parcel, err);
}

int graph_piece_pack(const struct trace *piece, uint32_t first_track, uint64_t shared_kinds, bool others_active, const struct progress *progress,
                     struct parcel *parcel, struct error *err)
{
    static const struct graph_options no_options = {0};
    struct graph_rules rules = {.trace = piece, .options = &no_options, .progress = progress, .first_track = first_track, .piece = true,
                                .others_active = others_active};
    int code = spans_are_whole(piece, err);
    if (code < 0)
        return code;
    code = graph_builder_create(piece, &rules.builder);
    if (code == 0)
        code = graph_rules_init(&rules);
    if (code == 0)
        code = pack_all(&rules, first_track, shared_kinds, parcel, err);
    graph_rules_finish(&rules);
    graph_builder_destroy(rules.builder);
    if (code == 0 && parcel->failed)
        code = -ENOMEM;
    return code < 0 && !err->text[0] ? error_set_errno(err, code, "the dependency graph") : code;
}

int graph_piece_look(const struct parcel *piece, struct packed_piece *ret_packed)
{
    struct parcel parcel = *piece;
    struct packed_piece packed = {0};
    size_t heads, intervals, spans, classes;
    *ret_packed = packed;
    if (!piece->size)
        return 0;
    parcel.position = 0;
    const struct piece_head *head = parcel_take(&parcel, sizeof *head, &heads);
    packed.lanes = parcel_take(&parcel, sizeof *packed.lanes, &packed.lane_count);
    packed.time_ns = parcel_take(&parcel, sizeof *packed.time_ns, &packed.point_count);
    packed.interval = parcel_take(&parcel, sizeof *packed.interval, &intervals);
    packed.span = parcel_take(&parcel, sizeof *packed.span, &spans);
    packed.classes = parcel_take(&parcel, sizeof *packed.classes, &classes);
    packed.edges = parcel_take(&parcel, sizeof *packed.edges, &packed.edge_count);
    packed.shared = parcel_take(&parcel, sizeof *packed.shared, &packed.shared_count);
    packed.leavings = parcel_take(&parcel, sizeof *packed.leavings, &packed.leaving_count);
    if (parcel.failed || heads != 1 || intervals != packed.point_count || spans != intervals || classes != intervals)
        return -EBADMSG;
    packed.head = *head;
    *ret_packed = packed;
    return 0;
}

int graph_piece_take_shared(struct graph_rules *rules, uint32_t *spans, struct parcel *parcel, uint32_t first_point)
{
    size_t count;
    const struct piece_span *shared = parcel_take(parcel, sizeof *shared, &count);
    if (parcel->failed || count > rules->span_count - *spans)
        return -EBADMSG;
    for (size_t i = 0; i < count; i++) {
        uint32_t span = (*spans)++;
        rules->kind[span] = (uint8_t)shared[i].kind;
        rules->begin_point[span] = shared[i].begin_point == POINT_NONE ? POINT_NONE : shared[i].begin_point + first_point;
        rules->end_point[span] = shared[i].end_point == POINT_NONE ? POINT_NONE : shared[i].end_point + first_point;
    }
    return 0;
}
