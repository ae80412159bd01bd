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

static void write_link_args(struct chrome_writer *writer, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    const char *name = confidence_name(confidence);
    JSON_OUT_LITERAL(&writer->out, ",\"args\":{\"from\":");
    json_out_u64(&writer->out, from);
    JSON_OUT_LITERAL(&writer->out, ",\"to\":");
    json_out_u64(&writer->out, to);
    JSON_OUT_LITERAL(&writer->out, ",\"kind\":");
    json_out_string(&writer->out, link_kind_name(kind) ? link_kind_name(kind) : "unknown");
    JSON_OUT_LITERAL(&writer->out, ",\"confidence\":");
    json_out_string(&writer->out, name ? name : "low");
    JSON_OUT_LITERAL(&writer->out, "}}");
}

static void write_flow_point(struct chrome_writer *writer, bool start, uint32_t ordinal, uint64_t ts_ns, uint64_t id, const char *kind)
{
    const struct chrome_place *place = &writer->places[ordinal];
    chrome_event(&writer->out, &writer->first_event);
    if (start)
        JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"s\",\"id\":");
    else
        JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"f\",\"bp\":\"e\",\"id\":");
    json_out_u64(&writer->out, id);
    JSON_OUT_LITERAL(&writer->out, ",\"cat\":");
    json_out_string(&writer->out, kind);
    JSON_OUT_LITERAL(&writer->out, ",\"name\":");
    json_out_string(&writer->out, kind);
    chrome_out_place(&writer->out, place->pid, place->tid, ts_ns);
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

static void write_link(struct chrome_writer *writer, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    const char *name = link_kind_name(kind) ? link_kind_name(kind) : "unknown";
    uint64_t id = writer->link_salt | ++writer->written_links, end_ts_ns;
    uint32_t end;
    if (find_arrow_end(writer, from, to, kind, &end, &end_ts_ns)) {
        write_flow_point(writer, true, from, writer->places[from].ts_ns, id, name);
        write_link_args(writer, from, to, kind, confidence);
        write_flow_point(writer, false, end, end_ts_ns, id, name);
        json_out_char(&writer->out, '}');
        return;
    }
    /* An arrow on a span without duration, which encloses nothing, or back in time would be an import error. */
    chrome_event(&writer->out, &writer->first_event);
    JSON_OUT_LITERAL(&writer->out, "{\"ph\":\"M\",\"name\":\"hprofiler_link\",\"cat\":\"\"");
    chrome_out_place(&writer->out, writer->places[from].pid, writer->places[from].tid, writer->places[from].ts_ns);
    write_link_args(writer, from, to, kind, confidence);
}

/* Calls visit for each link between spans of the file. */
static int visit_links(struct chrome_writer *writer, int (*visit)(struct chrome_writer *, uint32_t, uint32_t, uint8_t, uint8_t), struct error *err)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_LINKS);
    for (uint32_t i = 0; i < blocks; i++) {
        struct link_block block;
        int r = trace_links_get(writer->trace, i, &block, err);
        if (r < 0)
            return r;
        for (uint32_t row = 0; row < block.info.count && r == 0; row++) {
            uint32_t from, to;
            if (chrome_ordinal(writer, block.from[row], &from) && chrome_ordinal(writer, block.to[row], &to))
                r = visit(writer, from, to, block.kind ? block.kind[row] : 0, block.confidence ? block.confidence[row] : 0);
        }
        trace_links_put(writer->trace, &block);
        if (r < 0)
            return error_set_errno(err, r, "chrome: cannot write links");
    }
    return 0;
}

static int note_request(struct chrome_writer *writer, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    if (kind != LINK_KIND_REQUEST)
        return 0;
    if (!writer->request_ends) {
        writer->request_ends = malloc((size_t)writer->span_count * sizeof(*writer->request_ends));
        if (!writer->request_ends)
            return -ENOMEM;
        memset(writer->request_ends, 0xff, (size_t)writer->span_count * sizeof(*writer->request_ends));
    }
    writer->request_ends[from] = to;
    return 0;
}

static int write_one(struct chrome_writer *writer, uint32_t from, uint32_t to, uint8_t kind, uint8_t confidence)
{
    write_link(writer, from, to, kind, confidence);
    return 0;
}

int chrome_write_links(struct chrome_writer *writer, struct error *err)
{
    int r = visit_links(writer, note_request, err);
    if (r == 0)
        r = visit_links(writer, write_one, err);
    free(writer->request_ends);
    writer->request_ends = NULL;
    return r;
}
