/* SPDX-License-Identifier: MIT */
/* Payloads of spans and instants as "args", and beside them what strict JSON cannot keep. */
#include "chrome_writer.h"

#include "json_scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int make_phrase(struct chrome_phrase *phrase, const char *before, const char *word, const char *behind)
{
    int length = snprintf(phrase->text, sizeof(phrase->text), "%s%s%s", before, word, behind);
    phrase->length = (uint8_t)length;
    return length >= 0 && (size_t)length < sizeof(phrase->text) ? 0 : -EOVERFLOW;
}

/* Names of kinds and fields are plain words: they need no escapes. */
int chrome_phrases_make(struct chrome_writer *writer)
{
    writer->phrases = calloc(1, sizeof(*writer->phrases));
    int r = writer->phrases ? 0 : -ENOMEM;
    for (unsigned kind = 0; kind < PAYLOAD_COUNT && r == 0; kind++) {
        size_t count;
        const struct payload_field *fields = payload_fields((enum payload_kind)kind, &count);
        r = make_phrase(&writer->phrases->payloads[kind], ",\"payload\":\"", payload_kind_name((enum payload_kind)kind), "\"");
        for (size_t i = 0; i < count && i < PAYLOAD_FIELDS_MAX && r == 0; i++)
            r = make_phrase(&writer->phrases->fields[kind][i], "\"", fields[i].name, "\":");
    }
    return r;
}

static void write_hex_key(struct json_out *out, const char *key, const char *data, size_t size)
{
    JSON_OUT_LITERAL(out, ",\"");
    json_out_bytes(out, key, strlen(key));
    JSON_OUT_LITERAL(out, "\":");
    json_out_hex(out, data, size);
}

/* Strings of a typed payload that are no UTF-8: their bytes, by field. */
static void write_string_fields_hex(struct chrome_piece *piece, const struct payload *payload)
{
    struct json_out *out = &piece->out;
    size_t count;
    bool first = true;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    JSON_OUT_LITERAL(out, ",\"args_hex\":{");
    for (size_t i = 0; i < count && i < PAYLOAD_FIELDS_MAX; i++) {
        if (!(payload->present >> i & 1) || fields[i].type != PAYLOAD_TYPE_STRING)
            continue;
        const char *text = trace_text(piece->writer->trace, payload->fields[i].string);
        if (!first)
            json_out_char(out, ',');
        first = false;
        json_out_string(out, fields[i].name);
        json_out_char(out, ':');
        json_out_hex(out, text, strlen(text));
    }
    json_out_char(out, '}');
}

/* The blocks hold any bytes; viewers get JSON text that is valid, we get the rest as hex. */
static void write_json_payload(struct json_out *out, const struct payload *payload)
{
    if (!json_is_strict_object(payload->json, payload->json_size)) {
        write_hex_key(out, "args_hex", payload->json, payload->json_size);
        return;
    }
    JSON_OUT_LITERAL(out, ",\"args\":");
    json_out_bytes(out, payload->json, payload->json_size);
}

static void write_value(struct chrome_piece *piece, enum payload_type type, const union payload_value *value)
{
    switch (type) {
    case PAYLOAD_TYPE_U64:
        json_out_u64(&piece->out, value->u64);
        break;
    case PAYLOAD_TYPE_I64:
        json_out_i64(&piece->out, value->i64);
        break;
    case PAYLOAD_TYPE_DOUBLE:
        json_out_double(&piece->out, value->number);
        break;
    case PAYLOAD_TYPE_STRING:
        chrome_make_id(piece, value->string);
        break;
    }
}

static bool strings_exact(const struct chrome_piece *piece, const struct payload *payload, const struct payload_field *fields, size_t count)
{
    bool exact = true;
    for (size_t i = 0; i < count; i++)
        if ((payload->present >> i & 1) && fields[i].type == PAYLOAD_TYPE_STRING)
            exact &= json_strings_known(&piece->writer->strings, payload->fields[i].string)->exact;
    return exact;
}

static void write_typed_payload(struct chrome_piece *piece, const struct payload *payload)
{
    const struct chrome_phrases *phrases = piece->writer->phrases;
    struct json_out *out = &piece->out;
    size_t count;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    count = count < PAYLOAD_FIELDS_MAX ? count : PAYLOAD_FIELDS_MAX;
    chrome_out_phrase(out, &phrases->payloads[payload->kind]);
    if (!strings_exact(piece, payload, fields, count))
        write_string_fields_hex(piece, payload);
    JSON_OUT_LITERAL(out, ",\"args\":{");
    bool first = true;
    for (size_t i = 0; i < count; i++) {
        if (!(payload->present >> i & 1))
            continue;
        if (!first)
            json_out_char(out, ',');
        first = false;
        chrome_out_phrase(out, &phrases->fields[payload->kind][i]);
        write_value(piece, fields[i].type, &payload->fields[i]);
    }
    json_out_char(out, '}');
}

int chrome_make_args(struct chrome_piece *piece, const uint8_t *bytes, size_t size, bool name_exact, string_id name,
                     bool category_exact, string_id category)
{
    const struct trace *trace = piece->writer->trace;
    if (!name_exact)
        write_hex_key(&piece->out, "name_hex", trace_text(trace, name), strlen(trace_text(trace, name)));
    if (!category_exact)
        write_hex_key(&piece->out, "cat_hex", trace_text(trace, category), strlen(trace_text(trace, category)));
    if (!size)
        return 0;
    struct payload payload;
    int r = payload_decode(bytes, size, &payload);
    if (r < 0 || payload.kind == PAYLOAD_NONE)
        return r;
    if (payload.kind != PAYLOAD_JSON)
        write_typed_payload(piece, &payload);
    else
        write_json_payload(&piece->out, &payload);
    return 0;
}
