/* SPDX-License-Identifier: MIT */
/*
 * Links as flows. A viewer binds each point of one to the slice around it, and reads events in the order of time: an arrow's end
 * may not lie before its begin. So it ends at the begin of its span or, where the span began before the arrow (a receive
 * that waited for its sender), inside of it.
 */
#include "chrome_writer.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_link_args(struct json_out *out, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    const char *name = confidence_name(confidence);
    JSON_OUT_LITERAL(out, ",\"args\":{\"from\":");
    json_out_u64(out, from);
    JSON_OUT_LITERAL(out, ",\"to\":");
    json_out_u64(out, to);
    JSON_OUT_LITERAL(out, ",\"kind\":");
    json_out_string(out, link_kind_name(kind) ? link_kind_name(kind) : "unknown");
    JSON_OUT_LITERAL(out, ",\"confidence\":");
    json_out_string(out, name ? name : "low");
    JSON_OUT_LITERAL(out, "}}");
}

static void write_flow_point(struct chrome_piece *piece, bool start, uint32_t ordinal, uint64_t ts_ns, uint64_t id, const char *kind)
{
    const struct chrome_place *place = &piece->writer->places[ordinal];
    struct json_out *out = &piece->out;
    chrome_event(out, &piece->first_event);
    if (start)
        JSON_OUT_LITERAL(out, "{\"ph\":\"s\",\"id\":");
    else
        JSON_OUT_LITERAL(out, "{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
    json_out_u64(out, id);
    JSON_OUT_LITERAL(out, ",\"cat\":");
    json_out_string(out, kind);
    JSON_OUT_LITERAL(out, ",\"name\":");
    json_out_string(out, kind);
    chrome_out_place(out, place->pid, place->tid, ts_ns);
}

/* Where an arrow that begins at ts_ns can end in a span; false: nowhere. */
static bool arrow_end(const struct chrome_place *place, uint64_t ts_ns, uint64_t *ret_ts_ns)
{
    *ret_ts_ns = place->ts_ns > ts_ns ? place->ts_ns : ts_ns;
    return *ret_ts_ns < place->end_ts_ns;
}

/* A message is drawn to where it was waited for, when its receive was posted before it was sent. */
static bool find_arrow_end(const struct chrome_writer *writer, uint32_t from, uint32_t to, uint8_t kind, uint32_t *ret_span, uint64_t *ret_ts_ns)
{
    uint64_t ts_ns = writer->places[from].ts_ns;
    *ret_span = to;
    if (ts_ns >= writer->places[from].end_ts_ns)
        return false;
    if (arrow_end(&writer->places[to], ts_ns, ret_ts_ns))
        return true;
    if (kind != LINK_KIND_MESSAGE || !writer->request_ends || writer->request_ends[to] == UINT32_MAX)
        return false;
    *ret_span = writer->request_ends[to];
    return arrow_end(&writer->places[*ret_span], ts_ns, ret_ts_ns);
}

static void write_link(struct chrome_piece *piece, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    const struct chrome_writer *writer = piece->writer;
    const struct chrome_place *begin = &writer->places[from];
    const char *name = link_kind_name(kind) ? link_kind_name(kind) : "unknown";
    uint64_t id = writer->link_salt | ++piece->link_number, end_ts_ns;
    struct json_out *out = &piece->out;
    uint32_t end;
    if (find_arrow_end(writer, from, to, kind, &end, &end_ts_ns)) {
        write_flow_point(piece, true, from, begin->ts_ns, id, name);
        write_link_args(out, from, to, kind, confidence);
        write_flow_point(piece, false, end, end_ts_ns, id, name);
        json_out_char(out, '}');
        return;
    }
    /* An arrow on a span without duration, which encloses nothing, or back in time would be an import error. */
    chrome_event(out, &piece->first_event);
    JSON_OUT_LITERAL(out, "{\"ph\":\"M\",\"name\":\"hprofiler_link\",\"cat\":\"\"");
    chrome_out_place(out, begin->pid, begin->tid, begin->ts_ns);
    write_link_args(out, from, to, kind, confidence);
}

/* Where a link's spans are in the file; false: one of them is not. */
static bool find_ends(const struct chrome_writer *writer, const struct link_block *block, uint32_t row, uint32_t *ret_from, uint32_t *ret_to)
{
    return chrome_ordinal(writer, block->from[row], ret_from) && chrome_ordinal(writer, block->to[row], ret_to);
}

int chrome_make_link(struct chrome_piece *piece, uint32_t row)
{
    const struct link_block *block = &piece->block.links;
    uint32_t from, to;
    if (find_ends(piece->writer, block, row, &from, &to))
        write_link(piece, from, to, block->kind ? block->kind[row] : 0, block->confidence ? block->confidence[row] : 0);
    return 0;
}

/* The number of a link follows from how many were written before it. */
static int prepare_links(struct chrome_writer *writer, struct chrome_piece *piece)
{
    uint32_t from, to;
    piece->link_number = writer->written_links;
    for (uint32_t row = piece->next; row < piece->end; row++)
        writer->written_links += find_ends(writer, &piece->block.links, row, &from, &to);
    return 0;
}

static int note_request(struct chrome_writer *writer, uint32_t from, uint32_t to)
{
    if (!writer->request_ends) {
        writer->request_ends = malloc((size_t)writer->span_count * sizeof(*writer->request_ends));
        if (!writer->request_ends)
            return -ENOMEM;
        memset(writer->request_ends, 0xff, (size_t)writer->span_count * sizeof(*writer->request_ends));
    }
    writer->request_ends[from] = to;
    return 0;
}

static int note_requests(struct chrome_writer *writer, uint32_t index, struct error *err)
{
    struct link_block block;
    int r = trace_links_get(writer->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count && r == 0 && block.kind; row++) {
        uint32_t from, to;
        if (block.kind[row] == LINK_KIND_REQUEST && find_ends(writer, &block, row, &from, &to))
            r = note_request(writer, from, to);
    }
    trace_links_put(writer->trace, &block);
    return r < 0 ? error_set_errno(err, r, "chrome: cannot write links") : 0;
}

int chrome_write_links(struct chrome_writer *writer, struct error *err)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_LINKS);
    int r = 0;
    for (uint32_t i = 0; i < blocks && r == 0; i++)
        r = note_requests(writer, i, err);
    for (uint32_t i = 0; i < blocks && r == 0; i++)
        r = chrome_pieces_block(writer, FAMILY_LINKS, i, prepare_links, err);
    return r < 0 ? r : chrome_pieces_end(writer, err);
}
