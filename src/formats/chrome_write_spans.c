/* SPDX-License-Identifier: MIT */
/* Spans as "X" events ("B" without "E" for unfinished ones), on lanes where they nest. */
#include "chrome_writer.h"

#include "base/array.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

/* Makes sure that the track has a lane of this number, with its tid. */
static int open_lane(struct chrome_writer *writer, track_id track, size_t lane)
{
    if (lane < writer->lane_count)
        return 0;
    uint32_t *tids = array_reserve(writer->lane_tids, &writer->lane_capacity, lane + 1, sizeof(*tids));
    if (!tids)
        return -ENOMEM;
    writer->lane_tids = tids;
    uint32_t tid = lane ? writer->next_tid++ : chrome_tid(writer, track);
    tids[writer->lane_count++] = tid;
    if (!lane)
        return 0;
    struct chrome_extra_lane *extra = array_reserve(writer->extra, &writer->extra_capacity, writer->extra_count + 1, sizeof(*extra));
    if (!extra)
        return -ENOMEM;
    writer->extra = extra;
    extra[writer->extra_count++] = (struct chrome_extra_lane){.track = track, .tid = tid};
    return 0;
}

/* Spans that end before they begin are drawn as points, unfinished ones to the end. */
static int64_t drawn_end(int64_t begin_ns, int64_t end_ns)
{
    if (end_ns == INT64_MIN)
        return INT64_MAX;
    return end_ns < begin_ns ? begin_ns : end_ns;
}

static int prepare_span(struct chrome_writer *writer, const struct span_block *block, uint32_t row, struct chrome_drawn *drawn)
{
    int64_t begin_ns = block->begin_ns[row], end_ns = block->end_ns[row];
    track_id track = block->info.track;
    bool nests = trace_span_holds(writer->trace, track, SPAN_KIND_UNKNOWN);
    bool holds = trace_span_holds(writer->trace, track, block->kind ? block->kind[row] : 0);
    int64_t lane = nests ? lanes_place(&writer->lanes, begin_ns, drawn_end(begin_ns, end_ns))
                         : lanes_place_apart(&writer->lanes, begin_ns, drawn_end(begin_ns, end_ns));
    if (lane < 0 || open_lane(writer, track, (size_t)lane) < 0 ||
        nesting_add(&writer->nesting, begin_ns, trace_span_end(writer->trace, track, begin_ns, end_ns), block->info.first + row, 0,
                    holds, &drawn->nested_in) < 0)
        return -ENOMEM;
    drawn->tid = writer->lane_tids[lane];
    uint32_t ordinal;
    if (writer->places && chrome_ordinal(writer, (span_id){block->info.first + row}, &ordinal))
        writer->places[ordinal] = (struct chrome_place){
            .ts_ns = chrome_time(writer, begin_ns), .tid = drawn->tid, .pid = chrome_pid(writer, writer->tracks[track.index].process),
            .end_ts_ns = end_ns == INT64_MIN ? UINT64_MAX : chrome_time(writer, end_ns > begin_ns ? end_ns : begin_ns)};
    return 0;
}

/* Lanes and nesting follow from the spans before on the track. */
static int prepare_spans(struct chrome_writer *writer, struct chrome_piece *piece)
{
    int r = 0;
    piece->drawn_from = piece->next;
    for (uint32_t row = piece->next; row < piece->end && r == 0; row++)
        r = prepare_span(writer, &piece->block.spans, row, &piece->drawn[row - piece->drawn_from]);
    return r;
}

/* "ph", "name", "cat": the start of a span's or unfinished span's event. */
static void write_head(struct chrome_piece *piece, bool finished, string_id name, string_id category, bool *ret_name_exact,
                       bool *ret_category_exact)
{
    struct json_out *out = &piece->out;
    chrome_event(out, &piece->first_event);
    if (finished)
        JSON_OUT_LITERAL(out, "{\"ph\":\"X\",\"name\":");
    else
        JSON_OUT_LITERAL(out, "{\"ph\":\"B\",\"name\":");
    *ret_name_exact = chrome_make_id(piece, name);
    JSON_OUT_LITERAL(out, ",\"cat\":"); /* readers expect it, empty or not */
    *ret_category_exact = chrome_make_id(piece, category);
}

/* ,"pid":1,"tid":2,"ts":3.000,"dur":4.000 */
static void write_times(struct chrome_piece *piece, uint32_t tid, int64_t begin_ns, int64_t end_ns)
{
    struct json_out *out = &piece->out;
    if (tid != piece->place_tid) {
        const struct trace_track *track = &piece->writer->tracks[piece->block.spans.info.track.index];
        char *at = stpcpy(piece->place, ",\"pid\":");
        at = stpcpy(format_u64(at, chrome_pid(piece->writer, track->process)), ",\"tid\":");
        at = stpcpy(format_u64(at, tid), ",\"ts\":");
        piece->place_tid = tid;
        piece->place_length = (uint8_t)(at - piece->place);
    }
    json_out_need(out, sizeof(piece->place) + 80);
    memcpy(out->at, piece->place, sizeof(piece->place));
    out->at = format_microseconds(out->at + piece->place_length, chrome_time(piece->writer, begin_ns));
    if (end_ns != INT64_MIN) {
        memcpy(out->at, ",\"dur\":", 7);
        out->at = format_microseconds(out->at + 7, (uint64_t)drawn_end(begin_ns, end_ns) - (uint64_t)begin_ns);
    }
}

/* The keys that viewers ignore, each only where it says something. nested_in: the parent that nesting alone would give. */
static void write_extras(struct chrome_piece *piece, uint32_t row, uint32_t nested_in)
{
    const struct span_block *block = &piece->block.spans;
    struct json_out *out = &piece->out;
    uint32_t parent = block->parent ? block->parent[row].index : ID_NONE, ordinal;
    if (block->kind && block->kind[row]) {
        const char *kind = span_kind_name(block->kind[row]);
        JSON_OUT_LITERAL(out, ",\"kind\":\"");
        json_out_bytes(out, kind ? kind : "unknown", strlen(kind ? kind : "unknown"));
        json_out_char(out, '"');
    }
    if (block->correlation && block->correlation[row]) {
        JSON_OUT_LITERAL(out, ",\"correlation\":");
        json_out_u64(out, block->correlation[row]);
    }
    if (parent != ID_NONE && parent != nested_in && chrome_ordinal(piece->writer, (span_id){parent}, &ordinal)) {
        JSON_OUT_LITERAL(out, ",\"parent\":");
        json_out_u64(out, ordinal);
    }
    if (block->stack && block->stack[row].index != ID_NONE) {
        JSON_OUT_LITERAL(out, ",\"sf\":");
        json_out_u64(out, block->stack[row].index);
    }
}

int chrome_make_span(struct chrome_piece *piece, uint32_t row)
{
    const struct span_block *block = &piece->block.spans;
    const struct chrome_drawn *drawn = &piece->drawn[row - piece->drawn_from];
    string_id name = block->name ? block->name[row] : STRING_NONE;
    string_id category = block->category ? block->category[row] : STRING_NONE;
    bool name_exact, category_exact;
    write_head(piece, block->end_ns[row] != INT64_MIN, name, category, &name_exact, &category_exact);
    write_times(piece, drawn->tid, block->begin_ns[row], block->end_ns[row]);
    write_extras(piece, row, drawn->nested_in);
    size_t from = row && block->payload_end ? block->payload_end[row - 1] : 0;
    size_t size = block->payload_end ? block->payload_end[row] - from : 0;
    int r = chrome_make_args(piece, size ? block->payload + from : NULL, size, name_exact, name, category_exact, category);
    json_out_char(&piece->out, '}');
    return r;
}

static void next_track(struct chrome_writer *writer)
{
    lanes_reset(&writer->lanes);
    writer->nesting.depth = 0;
    writer->lane_count = 0;
}

int chrome_write_spans(struct chrome_writer *writer, struct error *err)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_SPANS);
    track_id track = TRACK_NONE;
    int r = 0;
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        struct block_info info = trace_block_info(writer->trace, FAMILY_SPANS, i);
        if (!track_id_is(track, info.track) || info.run)
            next_track(writer);
        track = info.track;
        r = chrome_pieces_block(writer, FAMILY_SPANS, i, prepare_spans, err);
    }
    return r < 0 ? r : chrome_pieces_end(writer, err);
}
