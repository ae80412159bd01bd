/* SPDX-License-Identifier: MIT */
/* Payloads as JSON objects. */
#include "payload_json.h"

#include "json_out.h"

static bool add_value(struct text *out, const struct trace *trace, enum payload_type type, const union payload_value *value)
{
    char number[40];
    switch (type) {
    case PAYLOAD_TYPE_U64:
        text_add(out, number, (size_t)(format_u64(number, value->u64) - number));
        return true;
    case PAYLOAD_TYPE_I64:
        text_add(out, number, (size_t)(format_i64(number, value->i64) - number));
        return true;
    case PAYLOAD_TYPE_DOUBLE:
        text_add(out, number, (size_t)(format_double(number, value->number) - number));
        return true;
    case PAYLOAD_TYPE_STRING:
        break;
    }
    const char *string = trace_text(trace, value->string);
    size_t length = strlen(string);
    text_add_char(out, '"');
    text_add_json(out, string, length);
    text_add_char(out, '"');
    return utf8_valid(string, length);
}

bool payload_add_json(struct text *out, const struct trace *trace, const struct payload *payload)
{
    if (payload->kind == PAYLOAD_NONE)
        return true;
    if (payload->kind == PAYLOAD_JSON) {
        text_add(out, payload->json, payload->json_size);
        return true;
    }
    size_t count;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    bool exact = true, first = true;
    text_add_char(out, '{');
    for (size_t i = 0; i < count && i < PAYLOAD_FIELDS_MAX; i++) {
        if (!(payload->present >> i & 1))
            continue;
        if (!first)
            text_add_char(out, ',');
        first = false;
        text_add_char(out, '"');
        text_add_string(out, fields[i].name);
        text_add(out, "\":", 2);
        exact &= add_value(out, trace, fields[i].type, &payload->fields[i]);
    }
    text_add_char(out, '}');
    return exact;
}
