/* SPDX-License-Identifier: MIT */
/* Parsing events: the order and spacing that writers use goes straight through, everything else by the scanner. */
#include "chrome_batch.h"

#include "base/array.h"

#define TIME_LIMIT_NS (INT64_C(1) << 61) /* as the trace model has it */

struct parser {
    struct json json;
    struct chrome_batch *batch;
    struct chrome_event event;
    struct chrome_extra extra;
    bool has_extra;
    struct chrome_track_key key;
};

/* A time of any spelling; false only on broken JSON. */
static bool take_time_slow(struct parser *parser, int64_t *ret_ns)
{
    struct json_view view;
    struct json *json = &parser->json;
    char next = json_peek(json);
    if (next == '"') {
        if (!json_string(json, &view))
            return false;
    } else if (next != '-' && (next < '0' || next > '9')) {
        parser->event.flags |= EVENT_BAD_TIME;
        return json_skip(json, NULL);
    } else if (!json_number(json, &view)) {
        return false;
    }
    uint64_t ns;
    bool negative;
    if (!json_view_ns(&view, &ns, &negative) || ns >= (uint64_t)TIME_LIMIT_NS)
        parser->event.flags |= EVENT_BAD_TIME;
    else
        *ret_ns = negative ? -(int64_t)ns : (int64_t)ns;
    return true;
}

/* Microseconds: digits, a point and at most three digits go without a second look. */
static inline bool take_time(struct parser *parser, int64_t *ret_ns)
{
    struct json *json = &parser->json;
    const char *at = json->at, *end = json->end;
    if (end - at < 32)
        return take_time_slow(parser, ret_ns);
    uint64_t value = 0;
    const char *from = at;
    unsigned digit;
    while ((digit = (unsigned)(*at - '0')) < 10 && at - from < 15) {
        value = value * 10 + digit;
        at++;
    }
    if (at == from)
        return take_time_slow(parser, ret_ns);
    value *= 1000;
    if (*at == '.') {
        unsigned scale = 100;
        for (at++; (digit = (unsigned)(*at - '0')) < 10; at++) {
            if (!scale)
                return take_time_slow(parser, ret_ns);
            value += digit * scale;
            scale /= 10;
        }
        if (at[-1] == '.')
            return take_time_slow(parser, ret_ns);
    }
    if ((unsigned)(*at - '0') < 10 || (*at | 32) == 'e')
        return take_time_slow(parser, ret_ns);
    json->at = at;
    *ret_ns = (int64_t)value;
    return true;
}

static bool take_scalar_slow(struct json *json, struct chrome_scalar *ret_scalar)
{
    struct json_view view;
    char next = json_peek(json);
    *ret_scalar = (struct chrome_scalar){.type = SCALAR_NONE};
    if (next == '"') {
        if (!json_string(json, &view))
            return false;
    } else if (next == '-' || (next >= '0' && next <= '9')) {
        if (!json_number(json, &view))
            return false;
    } else {
        return json_skip(json, NULL);
    }
    if (json_view_i64(&view, &ret_scalar->value))
        ret_scalar->type = SCALAR_INTEGER;
    else
        *ret_scalar = (struct chrome_scalar){.type = SCALAR_TEXT, .text = view};
    return true;
}

static inline bool take_scalar(struct json *json, struct chrome_scalar *ret_scalar)
{
    const char *at = json->at;
    if (json->end - at < 16)
        return take_scalar_slow(json, ret_scalar);
    int64_t value = 0;
    unsigned digit;
    while ((digit = (unsigned)(*at - '0')) < 10 && at - json->at < 12) {
        value = value * 10 + digit;
        at++;
    }
    if (at == json->at || (*at != ',' && *at != '}'))
        return take_scalar_slow(json, ret_scalar);
    ret_scalar->type = SCALAR_INTEGER;
    ret_scalar->value = value;
    json->at = at;
    return true;
}

/* A string or a number as its text; other values are no use and skipped. */
static bool take_view(struct json *json, struct json_view *ret_view)
{
    char next = json_peek(json);
    if (next == '"')
        return json_string(json, ret_view);
    if (next == '-' || (next >= '0' && next <= '9'))
        return json_number(json, ret_view);
    return json_skip(json, NULL);
}

static bool take_extra(struct parser *parser, struct json_view *view)
{
    parser->has_extra = true;
    return take_view(&parser->json, view);
}

static bool take_raw_extra(struct parser *parser, struct json_view *view)
{
    parser->has_extra = true;
    return json_skip(&parser->json, view);
}

static bool take_flag(struct parser *parser, bool *flag)
{
    parser->has_extra = true;
    char next = json_peek(&parser->json);
    *flag = next == 't' || next == '1';
    return json_skip(&parser->json, NULL);
}

static bool take_interned(struct parser *parser, uint32_t *ret_index)
{
    struct json_view view = {0};
    if (!take_view(&parser->json, &view))
        return false;
    *ret_index = batch_string(parser->batch, &view);
    return true;
}

static bool take_phase(struct parser *parser)
{
    struct json_view view = {0};
    if (!take_view(&parser->json, &view))
        return false;
    parser->event.phase = view.length == 1 ? view.data[0] : 0;
    return true;
}

static bool take_args(struct parser *parser)
{
    struct json *json = &parser->json;
    bool is_object = json_peek(json) == '{';
    const char *from = json->at;
    if (!json_skip(json, NULL))
        return false;
    if (!is_object || json->at - from <= 2)
        return true;
    if (json->at - parser->batch->start > UINT32_MAX)
        return json_fail(json, "events under 4 GiB");
    parser->event.args_at = (uint32_t)(from - parser->batch->start);
    parser->event.args_size = (uint32_t)(json->at - from);
    return true;
}

/* "id2": {"local": "0x1"} or {"global": "0x1"} */
static bool take_id2(struct parser *parser)
{
    struct json_view key;
    struct json *json = &parser->json;
    parser->has_extra = true;
    if (json_peek(json) != '{')
        return json_skip(json, NULL);
    for (bool more = json_object(json, &key); more; more = json_object_next(json, &key)) {
        parser->extra.id_local = json_view_is(&key, "local");
        if (!take_view(json, &parser->extra.id))
            return false;
    }
    return json->state == JSON_OK;
}

static bool take_letter(struct parser *parser, char *ret_letter)
{
    struct json_view view = {0};
    if (!take_extra(parser, &view))
        return false;
    *ret_letter = view.length == 1 ? view.data[0] : 0;
    return true;
}

static bool take_short_key(struct parser *parser, const char *key, uint32_t length)
{
    struct json *json = &parser->json;
#define KEY_IS(text) (memcmp(key, text, sizeof(text) - 1) == 0)
    char letter;
    switch (length) {
    case 1:
        if (KEY_IS("s"))
            return take_letter(parser, &parser->extra.instant_scope);
        break;
    case 2:
        if (KEY_IS("ph"))
            return take_phase(parser);
        if (KEY_IS("ts")) {
            parser->event.flags |= EVENT_HAS_TS;
            return take_time(parser, &parser->event.ts_ns);
        }
        if (KEY_IS("id"))
            return take_extra(parser, &parser->extra.id);
        if (KEY_IS("sf"))
            return take_extra(parser, &parser->extra.sf);
        if (KEY_IS("bp")) {
            if (!take_letter(parser, &letter))
                return false;
            parser->extra.bind_enclosing = letter == 'e';
            return true;
        }
        break;
    case 3:
        if (KEY_IS("cat"))
            return take_interned(parser, &parser->event.category);
        if (KEY_IS("dur")) {
            parser->event.flags |= EVENT_HAS_DUR;
            return take_time(parser, &parser->event.dur_ns);
        }
        if (KEY_IS("pid"))
            return take_scalar(json, &parser->key.pid);
        if (KEY_IS("tid"))
            return take_scalar(json, &parser->key.tid);
        if (KEY_IS("id2"))
            return take_id2(parser);
        if (KEY_IS("cpu"))
            return take_extra(parser, &parser->extra.cpu);
        break;
    case 4:
        if (KEY_IS("name"))
            return take_interned(parser, &parser->event.name);
        if (KEY_IS("args"))
            return take_args(parser);
        if (KEY_IS("kind"))
            return take_extra(parser, &parser->extra.kind);
        break;
    }
    return json_skip(json, NULL);
}

static bool take_long_key(struct parser *parser, const struct json_view *key)
{
    struct chrome_extra *extra = &parser->extra;
    static const struct {
        const char *name;
        size_t offset;
    } views[] = {
        {"scope", offsetof(struct chrome_extra, scope)},       {"bind_id", offsetof(struct chrome_extra, bind_id)},
        {"payload", offsetof(struct chrome_extra, payload)},   {"name_hex", offsetof(struct chrome_extra, name_hex)},
        {"cat_hex", offsetof(struct chrome_extra, cat_hex)},   {"weight", offsetof(struct chrome_extra, weight)},
        {"parent", offsetof(struct chrome_extra, parent)},     {"correlation", offsetof(struct chrome_extra, correlation)},
        {"flags", offsetof(struct chrome_extra, sample_flags)},
    };
    for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++)
        if (json_view_is(key, views[i].name))
            return take_extra(parser, (struct json_view *)(void *)((char *)extra + views[i].offset));
    if (json_view_is(key, "flow_in"))
        return take_flag(parser, &extra->flow_in);
    if (json_view_is(key, "flow_out"))
        return take_flag(parser, &extra->flow_out);
    if (json_view_is(key, "stack"))
        return take_raw_extra(parser, &extra->stack);
    if (json_view_is(key, "args_hex"))
        return take_raw_extra(parser, &extra->args_hex);
    return json_skip(&parser->json, NULL);
}

static bool add_event(struct parser *parser)
{
    struct chrome_batch *batch = parser->batch;
    struct chrome_event *event = &parser->event;
    if ((event->flags & EVENT_HAS_DUR) && event->dur_ns < 0)
        event->flags |= EVENT_BAD_TIME;
    if (parser->has_extra) {
        struct chrome_extra *extras = array_reserve(batch->extras, &batch->extra_capacity, batch->extra_count + 1, sizeof(*extras));
        if (!extras)
            return false;
        batch->extras = extras;
        event->extra = (uint32_t)batch->extra_count;
        extras[batch->extra_count++] = parser->extra;
        parser->extra = (struct chrome_extra){0};
        parser->has_extra = false;
    }
    struct chrome_event *events = batch->events;
    if (batch->event_count == batch->event_capacity) {
        events = array_reserve(events, &batch->event_capacity, batch->event_count + 1, sizeof(*events));
        if (!events)
            return false;
        batch->events = events;
    }
    events[batch->event_count++] = *event;
    return !batch->out_of_memory;
}

/* A key at `at`, with its quote and colon; as fast as it goes when there are no spaces. */
static inline bool take_event_key(struct json *json, struct json_view *ret_key)
{
    if (!json_string(json, ret_key))
        return false;
    if (json->at < json->end && *json->at == ':') {
        json->at++;
        return true;
    }
    return json_take(json, ':') ? true : json_fail(json, "':' behind a key");
}

static bool parse_event(struct parser *parser)
{
    struct json *json = &parser->json;
    struct json_view key;
    struct chrome_track_key previous = parser->key;
    parser->event = (struct chrome_event){.track = parser->event.track};
    parser->key = (struct chrome_track_key){0};
    json->at++; /* the '{' */
    bool more = !json_take(json, '}');
    while (more) {
        if (!take_event_key(json, &key))
            return false;
        if (json->at < json->end && *json->at == ' ')
            json_space(json);
        if (!(key.length <= 4 ? take_short_key(parser, key.data, key.length) : take_long_key(parser, &key)))
            return false;
        bool comma = json_take(json, ',');
        if (json_take(json, '}'))
            more = false;
        else if (!comma)
            return json_fail(json, "',' or '}' in an event");
    }
    if (!parser->batch->track_count || !chrome_scalar_equal(&previous.pid, &parser->key.pid) || !chrome_scalar_equal(&previous.tid, &parser->key.tid))
        parser->event.track = batch_track(parser->batch, &parser->key);
    return true;
}

static bool parse_element(struct parser *parser, bool as_samples)
{
    if (*parser->json.at != '{') {
        if (!json_skip(&parser->json, NULL))
            return false;
        parser->event = (struct chrome_event){.track = parser->event.track, .flags = EVENT_NOT_OBJECT};
    } else if (!parse_event(parser)) {
        return false;
    } else if (as_samples) {
        parser->event.phase = 'P';
    }
    if (!add_event(parser)) {
        parser->batch->out_of_memory = true;
        return false;
    }
    return true;
}

void chrome_batch_parse(struct chrome_batch *batch, const char *start, const char *limit, const char *end, bool as_samples)
{
    struct parser parser = {.batch = batch};
    struct json *json = &parser.json;
    if (!batch_reset(batch, start)) {
        batch->out_of_memory = true;
        return;
    }
    json_init(json, start, (size_t)(end - start));
    for (;;) {
        char next = json_peek(json);
        batch->end = json->at; /* what is whole ends here */
        if (next == ']') {
            batch->end = json->at + 1;
            batch->array_ended = true;
            break;
        }
        if (json->at >= limit && json->at < end)
            break;
        if (!next) {
            json_fail(json, "an event or ']'");
            break;
        }
        if (!parse_element(&parser, as_samples))
            break;
        if (!json_take(json, ',') && json_peek(json) != ']') {
            json_fail(json, "',' or ']' behind an event");
            if (json->state == JSON_CUT)
                batch->end = json->at; /* the last event is whole: only the bracket is missing */
            break;
        }
    }
    batch->state = json->state;
    batch->failed_at = json->at;
    batch->what = json->what;
}

const char *chrome_guess_element(const char *at, const char *end)
{
    while (at < end) {
        const char *brace = memchr(at, '}', (size_t)(end - at));
        if (!brace)
            return end;
        struct json json;
        json_init(&json, brace + 1, (size_t)(end - brace - 1));
        if (json_take(&json, ',') && json_peek(&json) == '{') {
            const char *element = json.at++;
            if (json_peek(&json) == '"')
                return element;
        }
        at = brace + 1;
    }
    return end;
}
