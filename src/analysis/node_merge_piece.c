/* SPDX-License-Identifier: MIT */
/* Traces placed as they are in the whole, of which only what is in its frame is known. */
#include "node_merge_piece.h"

#include "base/error.h"
#include "trace/select.h"
#include "trace/unite.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KIND(kind) (UINT64_C(1) << SPAN_KIND_##kind)

static bool has_text(const struct trace *trace, const char *text)
{
    string_id id;
    return string_table_find(trace_strings(trace), text, strlen(text), &id);
}

/* NCCL's operations wait for each other on devices: there, kernels are needed as well. */
uint64_t merge_shared_kinds(const struct trace *trace)
{
    const uint64_t mpi = KIND(SEND) | KIND(RECV) | KIND(WAIT) | KIND(TEST) | KIND(PROBE) | KIND(COLLECTIVE) | KIND(COMM) | KIND(RMA) | KIND(INIT) | KIND(IO);
    return has_text(trace, "nccl") ? mpi | KIND(KERNEL) : mpi;
}

int merge_shared_part(const struct trace *trace, uint64_t shared_kinds, const struct progress *progress, struct trace **ret_part, struct error *err)
{
    const struct trace_part part = {.span_kinds = shared_kinds};
    return trace_select(trace, &part, progress, ret_part, err);
}

/* --- packing ------------------------------------------------------------------------------------------------------ */

static void pack_tables(const struct trace *whole, struct parcel *frame)
{
    uint32_t count;
    const struct trace_node *nodes = trace_nodes(whole, &count);
    parcel_put_u64(frame, count);
    for (uint32_t i = 0; i < count; i++) {
        parcel_put_text(frame, trace_text(whole, nodes[i].name));
        parcel_put_text(frame, trace_text(whole, nodes[i].clock_domain));
    }
    parcel_put_u64(frame, trace_metadata_count(whole));
    for (uint32_t i = 0; i < trace_metadata_count(whole); i++) {
        const char *key, *value;
        trace_metadata_at(whole, i, &key, &value);
        parcel_put_text(frame, key);
        parcel_put_text(frame, value);
    }
    const struct ledger_entry *ledger = trace_ledger(whole, &count);
    parcel_put_u64(frame, count);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t numbers[] = {ledger[i].seen, ledger[i].recorded, ledger[i].lost};
        parcel_put_text(frame, trace_text(whole, ledger[i].source));
        parcel_put(frame, numbers, 3, sizeof *numbers);
        parcel_put_text(frame, trace_text(whole, ledger[i].reason));
    }
}

void merge_frame_pack(const struct trace *whole, const struct node_merge_report *report, struct parcel *frame)
{
    int64_t extent[2];
    trace_time_range(whole, &extent[0], &extent[1]);
    parcel_put(frame, extent, 2, sizeof *extent);
    parcel_put_u64(frame, report->place_count);
    for (uint32_t i = 0; i < report->place_count; i++) {
        const struct merge_place *place = &report->places[i];
        const int64_t numbers[] = {place->start_raw_ns, place->start_ns, place->track_count};
        parcel_put(frame, numbers, 3, sizeof *numbers);
        parcel_put(frame, place->knots, place->knot_count, sizeof *place->knots);
        parcel_put(frame, place->nodes, place->node_count, sizeof *place->nodes);
    }
    pack_tables(whole, frame);
}

/* --- the piece ---------------------------------------------------------------------------------------------------- */

struct placing {
    int64_t begin_ns, end_ns; /* extent of the whole */
    struct placed {
        int64_t start_raw_ns, start_ns;
        struct clock_domain domain;
        const node_id *nodes;
        size_t node_count;
    } *places;
    uint32_t place_count, first_track;
    struct parcel *frame;
    struct trace_unite *unite;
    struct trace_builder *builder;
};

static int take_place(struct placing *placing, struct placed *place, bool before)
{
    size_t count, knot_count;
    const int64_t *numbers = parcel_take(placing->frame, sizeof *numbers, &count);
    const struct clock_knot *knots = parcel_take(placing->frame, sizeof *knots, &knot_count);
    place->nodes = parcel_take(placing->frame, sizeof *place->nodes, &place->node_count);
    if (placing->frame->failed || count != 3)
        return -EBADMSG;
    place->start_raw_ns = numbers[0];
    place->start_ns = numbers[1];
    placing->first_track += before ? (uint32_t)numbers[2] : 0;
    return knot_count ? clock_map_init(&place->domain.map, knots, (uint32_t)knot_count) : 0;
}

static int take_places(struct placing *placing, uint32_t first)
{
    size_t count;
    const int64_t *extent = parcel_take(placing->frame, sizeof *extent, &count);
    uint64_t places = parcel_take_u64(placing->frame);
    if (placing->frame->failed || count != 2 || places > placing->frame->size)
        return -EBADMSG;
    placing->begin_ns = extent[0];
    placing->end_ns = extent[1];
    placing->places = calloc(places + 1, sizeof *placing->places);
    int code = placing->places ? 0 : -ENOMEM;
    for (uint64_t i = 0; i < places && code == 0; i++) {
        code = take_place(placing, &placing->places[i], i < first);
        placing->place_count++;
    }
    return code;
}

static int take_tables(struct placing *placing)
{
    int code = 0;
    for (uint64_t left = parcel_take_u64(placing->frame); left && code == 0 && !placing->frame->failed; left--) {
        struct trace_node node = {.name = trace_builder_string(placing->builder, parcel_take_text(placing->frame))};
        node_id id;
        node.clock_domain = trace_builder_string(placing->builder, parcel_take_text(placing->frame));
        code = trace_builder_add_node(placing->builder, &node, &id);
    }
    for (uint64_t left = parcel_take_u64(placing->frame); left && code == 0 && !placing->frame->failed; left--) {
        const char *key = parcel_take_text(placing->frame), *value = parcel_take_text(placing->frame);
        code = trace_builder_set_metadata(placing->builder, key, value);
    }
    for (uint64_t left = parcel_take_u64(placing->frame); left && code == 0 && !placing->frame->failed; left--) {
        size_t count;
        const char *source = parcel_take_text(placing->frame);
        const uint64_t *numbers = parcel_take(placing->frame, sizeof *numbers, &count);
        const char *reason = parcel_take_text(placing->frame);
        code = count == 3 ? trace_builder_add_ledger(placing->builder, source, numbers[0], numbers[1], numbers[2], reason) : -EBADMSG;
    }
    return code == 0 && placing->frame->failed ? -EBADMSG : code;
}

static int64_t time_there(const void *context, int64_t time_ns)
{
    const struct placed *place = context;
    return clock_domain_time(&place->domain, place->start_raw_ns + time_ns) - place->start_ns;
}

static int add_trace(struct placing *placing, const struct placed *place, const struct trace *trace, struct error *err)
{
    uint32_t count, process, node_count;
    const struct trace_group *groups = trace_groups(trace, &count);
    CLEANUP(freep) group_id *ids = calloc((size_t)count + 1, sizeof *ids);
    int code = ids ? 0 : -ENOMEM;
    trace_nodes(trace, &node_count);
    if (node_count != place->node_count)
        return error_set(err, -EINVAL, "the trace is not the one that was merged");
    for (uint32_t i = 0; i < count && code == 0; i++) {
        const struct trace_group group = {groups[i].kind, trace_builder_string(placing->builder, trace_text(trace, groups[i].name)), groups[i].sequence};
        code = trace_builder_add_group(placing->builder, &group, &ids[i]);
    }
    const struct unite_part part = {.trace = trace, .nodes = place->nodes, .groups = ids, .time = time_there, .time_context = place};
    return code ? code : trace_unite_add(placing->unite, &part, &process, err);
}

/* So that the piece has the extent of the whole. */
static int mark_extent(struct placing *placing)
{
    const struct instant first = {.time_ns = placing->begin_ns}, last = {.time_ns = placing->end_ns};
    if ((placing->begin_ns == 0 && placing->end_ns == 0) || !trace_builder_track(placing->builder, (track_id){0}))
        return 0;
    int code = trace_builder_add_instant(placing->builder, (track_id){0}, &first, NULL);
    return code ? code : trace_builder_add_instant(placing->builder, (track_id){0}, &last, NULL);
}

static int place_all(struct placing *placing, const struct trace *const *traces, uint32_t first, uint32_t count, struct error *err)
{
    int code = take_places(placing, first);
    if (code == 0 && (first > placing->place_count || count > placing->place_count - first))
        code = -EBADMSG;
    if (code == 0)
        code = take_tables(placing);
    for (uint32_t i = 0; i < count && code == 0; i++)
        code = add_trace(placing, &placing->places[first + i], traces[i], err);
    return code ? code : mark_extent(placing);
}

int node_merge_piece(struct parcel *frame, const struct trace *const *traces, uint32_t first, uint32_t count, const struct progress *progress,
                     struct trace **ret_piece, uint32_t *ret_first_track, struct error *err)
{
    CLEANUP(trace_unite_destroyp) struct trace_unite *unite = NULL;
    struct error detail = ERROR_INIT;
    int code = trace_unite_create(progress, &unite, err);
    if (code)
        return code;
    struct placing placing = {.frame = frame, .unite = unite, .builder = trace_unite_builder(unite)};
    code = place_all(&placing, traces, first, count, &detail);
    *ret_first_track = placing.first_track;
    if (code == 0)
        code = trace_unite_finish(unite, ret_piece, &detail);
    for (uint32_t i = 0; i < placing.place_count; i++)
        clock_map_finish(&placing.places[i].domain.map);
    free(placing.places);
    if (code && detail.code)
        return error_set(err, code, "%s", detail.text);
    return code ? error_set_errno(err, code, "cannot place the traces in the whole") : 0;
}
