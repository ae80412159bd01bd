/* SPDX-License-Identifier: MIT */
/* Spans as "X" events ("B" without "E" for unfinished ones), on lanes where they nest. */
#include "chrome_writer.h"

#include "base/array.h"
#include "base/error.h"
#include "json_scan.h"
#include "payload_json.h"

#include <errno.h>
#include <string.h>

/* The blocks hold any bytes; viewers get JSON text that is valid, we get the rest as hex. */
static bool payload_text(struct chrome_writer *writer, const struct payload *payload)
{
    text_clear(&writer->scratch);
    if (payload->kind != PAYLOAD_JSON)
        return payload_add_json(&writer->scratch, writer->trace, payload);
    if (!json_is_strict_object(payload->json, payload->json_size))
        return false;
    text_add(&writer->scratch, payload->json, payload->json_size);
    return true;
}

static void write_hex_key(struct chrome_writer *writer, const char *key, const char *data, size_t size)
{
    JSON_OUT_LITERAL(&writer->out, ",\"");
    json_out_bytes(&writer->out, key, strlen(key));
    JSON_OUT_LITERAL(&writer->out, "\":");
    json_out_hex(&writer->out, data, size);
}

/* Strings of a typed payload that are no UTF-8: their bytes, by field. */
static void write_string_fields_hex(struct chrome_writer *writer, const struct payload *payload)
{
    size_t count;
    bool first = true;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    JSON_OUT_LITERAL(&writer->out, ",\"args_hex\":{");
    for (size_t i = 0; i < count && i < PAYLOAD_FIELDS_MAX; i++) {
        if (!(payload->present >> i & 1) || fields[i].type != PAYLOAD_TYPE_STRING)
            continue;
        const char *text = trace_text(writer->trace, payload->fields[i].string);
        if (!first)
            json_out_char(&writer->out, ',');
        first = false;
        json_out_string(&writer->out, fields[i].name);
        json_out_char(&writer->out, ':');
        json_out_hex(&writer->out, text, strlen(text));
    }
    json_out_char(&writer->out, '}');
}

int chrome_write_args(struct chrome_writer *writer, const uint8_t *bytes, size_t size, bool name_exact, string_id name,
                      bool category_exact, string_id category)
{
    if (!name_exact)
        write_hex_key(writer, "name_hex", trace_text(writer->trace, name), strlen(trace_text(writer->trace, name)));
    if (!category_exact)
        write_hex_key(writer, "cat_hex", trace_text(writer->trace, category), strlen(trace_text(writer->trace, category)));
    if (!size)
        return 0;
    struct payload payload;
    int r = payload_decode(bytes, size, &payload);
    if (r < 0 || payload.kind == PAYLOAD_NONE)
        return r;
    bool exact = payload_text(writer, &payload);
    if (payload.kind != PAYLOAD_JSON) {
        JSON_OUT_LITERAL(&writer->out, ",\"payload\":");
        json_out_string(&writer->out, payload_kind_name(payload.kind));
        if (!exact)
            write_string_fields_hex(writer, &payload);
    } else if (!exact) {
        write_hex_key(writer, "args_hex", payload.json, payload.json_size);
        return 0;
    }
    if (writer->scratch.failed)
        return -ENOMEM;
    JSON_OUT_LITERAL(&writer->out, ",\"args\":");
    json_out_bytes(&writer->out, writer->scratch.data, writer->scratch.length);
    return 0;
}

/* Makes sure that the track has a lane of this number, with its tid and event text. */
static int open_lane(struct chrome_writer *writer, track_id track, size_t lane)
{
    if (lane < writer->lane_count)
        return 0;
    struct chrome_lane *lanes = array_reserve(writer->lane, &writer->lane_capacity, lane + 1, sizeof(*lanes));
    if (!lanes)
        return -ENOMEM;
    writer->lane = lanes;
    struct chrome_lane *added = &lanes[writer->lane_count++];
    added->tid = lane ? writer->next_tid++ : chrome_tid(writer, track);
    char *at = stpcpy(added->text, ",\"pid\":");
    at = format_u64(at, chrome_pid(writer, writer->tracks[track.index].process));
    at = stpcpy(at, ",\"tid\":");
    at = format_u64(at, added->tid);
    at = stpcpy(at, ",\"ts\":");
    added->length = (uint8_t)(at - added->text);
    if (!lane)
        return 0;
    struct chrome_extra_lane *extra = array_reserve(writer->extra, &writer->extra_capacity, writer->extra_count + 1, sizeof(*extra));
    if (!extra)
        return -ENOMEM;
    writer->extra = extra;
    extra[writer->extra_count++] = (struct chrome_extra_lane){.track = track, .tid = added->tid};
    return 0;
}

static void remember_place(struct chrome_writer *writer, const struct span_block *block, uint32_t row, uint32_t tid)
{
    uint32_t ordinal = writer->written_spans++;
    if (writer->places) {
        int64_t begin_ns = block->begin_ns[row], end_ns = block->end_ns[row];
        writer->places[ordinal] = (struct chrome_place){
            .ts_ns = chrome_time(writer, begin_ns), .tid = tid,
            .pid = chrome_pid(writer, writer->tracks[block->info.track.index].process),
            .bindable = end_ns == INT64_MIN || end_ns > begin_ns};
    }
}

/* "ph", "name", "cat": the start of a span's or unfinished span's event. */
static void write_head(struct chrome_writer *writer, bool finished, string_id name, string_id category, bool *ret_name_exact,
                       bool *ret_category_exact)
{
    struct json_out *out = &writer->out;
    const struct json_strings_entry *entry = json_strings_get(&writer->strings, name);
    chrome_event(writer);
    if (finished)
        JSON_OUT_LITERAL(out, "{\"ph\":\"X\",\"name\":\"");
    else
        JSON_OUT_LITERAL(out, "{\"ph\":\"B\",\"name\":\"");
    if (entry->length)
        json_out_bytes(out, writer->strings.text.data + entry->offset, entry->length);
    *ret_name_exact = entry->exact;
    *ret_category_exact = true;
    JSON_OUT_LITERAL(out, "\",\"cat\":\""); /* readers expect it, empty or not */
    if (category.index) {
        entry = json_strings_get(&writer->strings, category);
        json_out_bytes(out, writer->strings.text.data + entry->offset, entry->length);
        *ret_category_exact = entry->exact;
    }
    json_out_char(out, '"');
}

/* The keys that viewers ignore, each only where it says something. parent: what nesting alone would give. */
static void write_extras(struct chrome_writer *writer, const struct span_block *block, uint32_t row, uint32_t nested_in)
{
    struct json_out *out = &writer->out;
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
    if (parent != ID_NONE && parent != nested_in && chrome_ordinal(writer, (span_id){parent}, &ordinal)) {
        JSON_OUT_LITERAL(out, ",\"parent\":");
        json_out_u64(out, ordinal);
    }
    if (block->stack && block->stack[row].index != ID_NONE) {
        JSON_OUT_LITERAL(out, ",\"sf\":");
        json_out_u64(out, block->stack[row].index);
    }
}

static int write_span(struct chrome_writer *writer, const struct span_block *block, uint32_t row)
{
    struct json_out *out = &writer->out;
    int64_t begin_ns = block->begin_ns[row], end_ns = block->end_ns[row];
    bool finished = end_ns != INT64_MIN, name_exact, category_exact;
    int64_t drawn_end_ns = !finished ? INT64_MAX : end_ns < begin_ns ? begin_ns : end_ns;
    uint32_t nested_in;
    int64_t lane = lanes_place(&writer->lanes, begin_ns, drawn_end_ns);
    if (lane < 0 || open_lane(writer, block->info.track, (size_t)lane) < 0 ||
        nesting_add(&writer->nesting, begin_ns, trace_span_end(writer->trace, block->info.track, begin_ns, end_ns),
                     block->info.first + row, 0, &nested_in) < 0)
        return -ENOMEM;
    string_id name = block->name ? block->name[row] : STRING_NONE;
    string_id category = block->category ? block->category[row] : STRING_NONE;
    write_head(writer, finished, name, category, &name_exact, &category_exact);
    const struct chrome_lane *place = &writer->lane[lane];
    json_out_need(out, sizeof(place->text) + 80);
    memcpy(out->at, place->text, sizeof(place->text));
    out->at += place->length;
    out->at = format_microseconds(out->at, chrome_time(writer, begin_ns));
    if (finished) {
        memcpy(out->at, ",\"dur\":", 7);
        out->at = format_microseconds(out->at + 7, (uint64_t)drawn_end_ns - (uint64_t)begin_ns);
    }
    write_extras(writer, block, row, nested_in);
    remember_place(writer, block, row, place->tid);
    size_t from = row && block->payload_end ? block->payload_end[row - 1] : 0;
    size_t size = block->payload_end ? block->payload_end[row] - from : 0;
    int r = chrome_write_args(writer, size ? block->payload + from : NULL, size, name_exact, name, category_exact, category);
    json_out_char(out, '}');
    return r;
}

static int write_block(struct chrome_writer *writer, uint32_t index, struct error *err)
{
    struct span_block block;
    int r = trace_spans_get(writer->trace, index, &block, err);
    if (r < 0)
        return r;
    for (uint32_t row = 0; row < block.info.count && r == 0; row++)
        if (selection_span(&writer->selection, &block, row))
            r = write_span(writer, &block, row);
    trace_spans_put(writer->trace, &block);
    return r < 0 ? error_set_errno(err, r, "chrome: cannot write the spans of block %u", index) : 0;
}

static void next_track(struct chrome_writer *writer)
{
    lanes_reset(&writer->lanes);
    writer->nesting.depth = 0;
    writer->lane_count = 0;
}

/* Parents may stand behind their children in the file: with a selection, which spans stay must be known before. */
static int number_selected(struct chrome_writer *writer, struct error *err)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_SPANS), next = 0;
    for (uint32_t i = 0; i < blocks; i++) {
        struct block_info info = trace_block_info(writer->trace, FAMILY_SPANS, i);
        if (!selection_block(&writer->selection, FAMILY_SPANS, &info))
            continue;
        struct span_block block;
        int r = trace_spans_get(writer->trace, i, &block, err);
        if (r < 0)
            return r;
        for (uint32_t row = 0; row < info.count; row++)
            if (selection_span(&writer->selection, &block, row))
                writer->ordinals[info.first + row] = next++;
        trace_spans_put(writer->trace, &block);
    }
    return 0;
}

int chrome_write_spans(struct chrome_writer *writer, struct error *err)
{
    uint32_t blocks = trace_block_count(writer->trace, FAMILY_SPANS);
    track_id track = TRACK_NONE;
    int r = writer->ordinals ? number_selected(writer, err) : 0;
    for (uint32_t i = 0; i < blocks && r == 0; i++) {
        struct block_info info = trace_block_info(writer->trace, FAMILY_SPANS, i);
        if (!selection_block(&writer->selection, FAMILY_SPANS, &info) || info.track.index >= writer->track_count)
            continue;
        if (!track_id_is(track, info.track) || info.run)
            next_track(writer);
        track = info.track;
        r = write_block(writer, i, err);
    }
    return r;
}
