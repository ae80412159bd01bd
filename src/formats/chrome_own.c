/* SPDX-License-Identifier: MIT */
/*
 * Events of our own files, when their section was found: tracks, stacks and the numbers of spans are known, and every key
 * of docs/formats/chrome.md is taken. Spans whose parent comes later in the file wait until it has come.
 */
#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "chrome_section.h"
#include "trace/payload.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

int own_begin(struct chrome_import *import, struct error *err)
{
    struct json_view section;
    if (!section_find(import, &section, &import->ordinals_valid))
        return 0;
    import->own_state = calloc(1, sizeof(*import->own_state));
    if (!import->own_state)
        return import_failed(import, -ENOMEM, err);
    import->own = true;
    import->own_state->section = section;
    return section_read(import, import->own_state, err);
}

void own_finish(struct chrome_import *import)
{
    struct chrome_own *own = import->own_state;
    if (!own)
        return;
    for (size_t i = 0; i < own->deferred_count; i++)
        free(own->deferred[i].payload);
    free(own->deferred);
    free(own->links_read);
    free(own->track_of_tid);
    free(own->tracks);
    free(own->processes);
    free(own->nodes);
    free(own->modules);
    free(own->frames);
    free(own->stacks);
    free(own->groups);
    free(own->handles);
    free(own);
    import->own_state = NULL;
}

/* A string as it was, where strict JSON could not hold its bytes. */
static bool string_of(struct chrome_import *import, const struct chrome_batch *batch, uint32_t index, const struct json_view *hex,
                      string_id *ret_id)
{
    if (!hex->data) {
        *ret_id = import_batch_string(import, batch, index);
        return true;
    }
    struct text *bytes = &import->scratch;
    return import_hex(import, hex, bytes) &&
           string_table_intern(import->strings, bytes->data ? bytes->data : "", bytes->length, ret_id) == 0;
}

static int find_name(const struct json_view *view, int (*find)(const char *))
{
    char name[64];
    if (!view->data || view->length >= sizeof(name))
        return -1;
    memcpy(name, view->data, view->length);
    name[view->length] = 0;
    return find(name);
}

static bool take_field_value(struct chrome_import *import, struct json *json, enum payload_type type, union payload_value *ret_value)
{
    struct json_view view;
    bool quoted = json_peek(json) == '"';
    if (!(quoted ? json_string(json, &view) : json_number(json, &view)))
        return false;
    switch (type) {
    case PAYLOAD_TYPE_U64:
        return json_view_u64(&view, &ret_value->u64);
    case PAYLOAD_TYPE_I64:
        return json_view_i64(&view, &ret_value->i64);
    case PAYLOAD_TYPE_DOUBLE:
        return json_view_double(&view, &ret_value->number);
    case PAYLOAD_TYPE_STRING:
        ret_value->string = import_string(import, &view);
        return quoted;
    }
    return false;
}

static int field_index(const struct payload_field *fields, size_t count, const struct json_view *key)
{
    for (size_t i = 0; i < count && i < PAYLOAD_FIELDS_MAX; i++)
        if (json_view_is(key, fields[i].name))
            return (int)i;
    return -1;
}

/* "args_hex": {"field":"ff00"}: the strings that "args" shows only roughly. */
static bool take_hex_fields(struct chrome_import *import, const struct json_view *object, struct payload *payload)
{
    size_t count;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    struct json json;
    struct json_view key, hex;
    json_init(&json, object->data, object->length);
    for (bool more = json_object(&json, &key); more; more = json_object_next(&json, &key)) {
        int field = field_index(fields, count, &key);
        struct text *bytes = &import->scratch;
        if (field < 0 || !json_string(&json, &hex) || !import_hex(import, &hex, bytes) ||
            string_table_intern(import->strings, bytes->data ? bytes->data : "", bytes->length, &payload->fields[field].string) < 0)
            return false;
    }
    return json.state == JSON_OK;
}

static bool take_typed(struct chrome_import *import, const char *args, uint32_t size, struct payload *payload)
{
    size_t count;
    const struct payload_field *fields = payload_fields(payload->kind, &count);
    struct json json;
    struct json_view key;
    json_init(&json, args, size);
    for (bool more = size && json_object(&json, &key); more; more = json_object_next(&json, &key)) {
        int field = field_index(fields, count, &key);
        if (field < 0) {
            if (!json_skip(&json, NULL)) /* of a newer hprofiler */
                return false;
            continue;
        }
        if (!take_field_value(import, &json, fields[field].type, &payload->fields[field]))
            return false;
        payload->present |= UINT32_C(1) << field;
    }
    return json.state == JSON_OK;
}

/* The payload of an event; args that are no payload of its kind (somebody changed them) stay as JSON. */
static void payload_of(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event,
                       struct payload *payload)
{
    const struct chrome_extra *extra = &batch->extras[event->extra];
    *payload = (struct payload){.kind = PAYLOAD_NONE};
    if (!event->args_size && !extra->payload.data && !extra->args_hex.data)
        return;
    int kind = find_name(&extra->payload, payload_kind_find);
    if (kind > PAYLOAD_JSON && kind < PAYLOAD_COUNT) {
        payload->kind = (enum payload_kind)kind;
        bool whole = take_typed(import, batch->start + event->args_at, event->args_size, payload);
        if (whole && (!extra->args_hex.data || take_hex_fields(import, &extra->args_hex, payload)))
            return;
        payload->present = 0;
    }
    payload->kind = PAYLOAD_JSON;
    payload->json = batch->start + event->args_at;
    payload->json_size = event->args_size;
    struct json_view hex = extra->args_hex;
    if (hex.length >= 2 && hex.data[0] == '"') { /* a whole payload that is no strict JSON */
        hex.data++;
        hex.length -= 2;
        if (import_hex(import, &hex, &import->scratch)) {
            payload->json = import->scratch.data ? import->scratch.data : "";
            payload->json_size = (uint32_t)import->scratch.length;
        }
    }
    if (!payload->json_size)
        payload->kind = PAYLOAD_NONE;
}

static bool stack_of(const struct chrome_own *own, const struct json_view *view, stack_id *ret_stack)
{
    uint64_t index;
    *ret_stack = STACK_NONE;
    if (!view->data)
        return true;
    if (!json_view_u64(view, &index) || index >= own->stack_count)
        return false;
    *ret_stack = own->stacks[index];
    return true;
}

static int remember_handle(struct chrome_own *own, span_id handle)
{
    span_id *handles = own->handles;
    if (own->handle_count == own->handle_capacity) {
        handles = array_reserve(handles, &own->handle_capacity, own->handle_count + 1, sizeof(*handles));
        if (!handles)
            return -ENOMEM;
        own->handles = handles;
    }
    handles[own->handle_count++] = handle;
    return 0;
}

static int defer_span(struct chrome_own *own, const struct span *span, const struct payload *payload, uint32_t parent)
{
    struct deferred_span *deferred = array_reserve(own->deferred, &own->deferred_capacity, own->deferred_count + 1, sizeof(*deferred));
    if (!deferred)
        return -ENOMEM;
    own->deferred = deferred;
    struct deferred_span *added = &deferred[own->deferred_count];
    *added = (struct deferred_span){.span = *span, .ordinal = (uint32_t)own->handle_count, .parent = parent};
    size_t bound = payload_encoded_bound(payload);
    if (bound) {
        added->payload = malloc(bound);
        if (!added->payload)
            return -ENOMEM;
        added->payload_size = payload_encode(payload, added->payload);
    }
    own->deferred_count++;
    return remember_handle(own, SPAN_NONE);
}

static int own_span(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, track_id track)
{
    struct chrome_own *own = import->own_state;
    const struct chrome_extra *extra = &batch->extras[event->extra];
    struct payload payload;
    uint64_t parent = UINT64_MAX;
    struct span span = {.track = track, .begin_ns = (int64_t)((uint64_t)event->ts_ns - import->shift_ns), .end_ns = INT64_MIN,
                        .parent = SPAN_NONE, .stack = STACK_NONE};
    int kind = find_name(&extra->kind, span_kind_find);
    span.kind = kind < 0 ? SPAN_KIND_UNKNOWN : (enum span_kind)kind;
    if (event->phase == 'X')
        span.end_ns = span.begin_ns + event->dur_ns;
    if ((extra->correlation.data && !json_view_u64(&extra->correlation, &span.correlation)) ||
        (extra->parent.data && (!json_view_u64(&extra->parent, &parent) || parent >= own->spans)) ||
        !stack_of(own, &extra->sf, &span.stack) || !string_of(import, batch, event->name, &extra->name_hex, &span.name) ||
        !string_of(import, batch, event->category, &extra->cat_hex, &span.category))
        return -EBADMSG;
    payload_of(import, batch, event, &payload);
    own->read_spans++;
    if (parent != UINT64_MAX && import->ordinals_valid) {
        if (parent >= own->handle_count || own->handles[parent].index == ID_NONE)
            return defer_span(own, &span, &payload, (uint32_t)parent);
        span.parent = own->handles[parent];
    }
    span_id handle;
    int r = trace_builder_add_span(import->builder, &span, payload.kind ? &payload : NULL, &handle);
    return r < 0 ? r : remember_handle(own, handle);
}

static int own_instant(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, track_id track)
{
    const struct chrome_extra *extra = &batch->extras[event->extra];
    struct instant instant = {.time_ns = (int64_t)((uint64_t)event->ts_ns - import->shift_ns)};
    struct payload payload;
    if (!string_of(import, batch, event->name, &extra->name_hex, &instant.name) ||
        !string_of(import, batch, event->category, &extra->cat_hex, &instant.category))
        return -EBADMSG;
    payload_of(import, batch, event, &payload);
    import->own_state->read_instants++;
    return trace_builder_add_instant(import->builder, track, &instant, payload.kind ? &payload : NULL);
}

static int own_sample(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, track_id track)
{
    const struct chrome_extra *extra = &batch->extras[event->extra];
    struct sample sample = {.time_ns = (int64_t)((uint64_t)event->ts_ns - import->shift_ns), .cpu = UINT16_MAX};
    uint64_t cpu = UINT16_MAX, flags = 0;
    int kind = find_name(&batch->strings[event->name], sample_event_find);
    if (kind < 0 || !stack_of(import->own_state, &extra->sf, &sample.stack) ||
        (extra->cpu.data && !json_view_u64(&extra->cpu, &cpu)) || cpu > UINT16_MAX ||
        (extra->sample_flags.data && !json_view_u64(&extra->sample_flags, &flags)) || flags > UINT8_MAX ||
        (extra->weight.data && !json_view_i64(&extra->weight, &sample.weight)))
        return -EBADMSG;
    sample.cpu = (uint16_t)cpu;
    sample.flags = (uint8_t)flags;
    sample.event = (uint8_t)kind;
    import->own_state->read_samples++;
    return trace_builder_add_sample(import->builder, track, &sample);
}

/* The one value of a counter event's args. */
static int own_counter(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, track_id track)
{
    struct json json;
    struct json_view key, view;
    struct counter_value value = {.time_ns = (int64_t)((uint64_t)event->ts_ns - import->shift_ns)};
    json_init(&json, batch->start + event->args_at, event->args_size);
    bool quoted = event->args_size && json_object(&json, &key) && json_peek(&json) == '"';
    if (!event->args_size || !(quoted ? json_string(&json, &view) : json_number(&json, &view)) || !json_view_double(&view, &value.value))
        return -EBADMSG;
    import->own_state->read_counters++;
    return trace_builder_add_counter(import->builder, track, &value);
}

static int own_link(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event)
{
    struct chrome_own *own = import->own_state;
    struct json json;
    struct json_view key, value;
    uint64_t from = UINT64_MAX, to = UINT64_MAX;
    int kind = -1, confidence = -1;
    json_init(&json, batch->start + event->args_at, event->args_size);
    for (bool more = event->args_size && json_object(&json, &key); more; more = json_object_next(&json, &key)) {
        bool quoted = json_peek(&json) == '"';
        if (!(quoted ? json_string(&json, &value) : json_skip(&json, &value)))
            return -EBADMSG;
        if (json_view_is(&key, "from"))
            from = json_view_u64(&value, &from) ? from : UINT64_MAX;
        else if (json_view_is(&key, "to"))
            to = json_view_u64(&value, &to) ? to : UINT64_MAX;
        else if (json_view_is(&key, "kind"))
            kind = find_name(&value, link_kind_find);
        else if (json_view_is(&key, "confidence"))
            confidence = find_name(&value, confidence_find);
    }
    if (from >= own->spans || to >= own->spans || kind < 0 || confidence < 0)
        return -EBADMSG;
    struct own_link *links = array_reserve(own->links_read, &own->links_read_capacity, own->links_read_count + 1, sizeof(*links));
    if (!links)
        return -ENOMEM;
    own->links_read = links;
    links[own->links_read_count++] =
        (struct own_link){.from = (uint32_t)from, .to = (uint32_t)to, .kind = (uint8_t)kind, .confidence = (uint8_t)confidence};
    own->read_links++;
    return 0;
}

static int own_event(struct chrome_import *import, const struct chrome_batch *batch, const struct chrome_event *event, track_id track)
{
    bool on_track = track.index != ID_NONE && (event->flags & EVENT_HAS_TS) && !(event->flags & EVENT_BAD_TIME);
    const struct json_view *name = &batch->strings[event->name];
    switch (event->phase) {
    case 'X':
    case 'B':
        return on_track ? own_span(import, batch, event, track) : -EBADMSG;
    case 'i':
        return on_track ? own_instant(import, batch, event, track) : -EBADMSG;
    case 'P':
        return on_track ? own_sample(import, batch, event, track) : -EBADMSG;
    case 'C':
        return on_track ? own_counter(import, batch, event, track) : -EBADMSG;
    case 's':
        return own_link(import, batch, event);
    case 'M':
        if (json_view_is(name, "hprofiler_counter"))
            return on_track ? own_counter(import, batch, event, track) : -EBADMSG;
        return json_view_is(name, "hprofiler_link") ? own_link(import, batch, event) : 0;
    }
    return 0; /* the other halves of flows, and what somebody else put in */
}

static track_id track_of(const struct chrome_own *own, const struct chrome_track_key *key)
{
    if (key->tid.type != SCALAR_INTEGER || key->tid.value < 0 || key->tid.value >= own->tid_count)
        return TRACK_NONE;
    uint32_t number = own->track_of_tid[key->tid.value].index;
    return number < own->track_count ? own->tracks[number] : TRACK_NONE;
}

int own_consume(struct chrome_import *import, const struct chrome_batch *batch, struct error *err)
{
    int r = import_begin_batch(import, batch);
    for (size_t i = 0; i < batch->event_count && r == 0; i++) {
        const struct chrome_event *event = &batch->events[i];
        if (event->flags & EVENT_NOT_OBJECT)
            continue; /* names no track: there may be none */
        r = own_event(import, batch, event, track_of(import->own_state, &batch->tracks[event->track]));
        if (r == -EBADMSG || r == -EINVAL)
            return error_set(err, -EBADMSG,
                             "%s: event %zu of the piece at offset %zu does not fit the file's hprofiler section: the file was changed",
                             import->name, i, (size_t)(batch->start - import->data));
    }
    return r < 0 ? import_failed(import, r, err) : 0;
}

static struct deferred_span *find_deferred(struct chrome_own *own, uint32_t ordinal)
{
    size_t low = 0, high = own->deferred_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (own->deferred[middle].ordinal < ordinal)
            low = middle + 1;
        else
            high = middle;
    }
    return low < own->deferred_count && own->deferred[low].ordinal == ordinal ? &own->deferred[low] : NULL;
}

static int add_deferred_span(struct chrome_import *import, struct deferred_span *deferred)
{
    struct chrome_own *own = import->own_state;
    struct payload payload;
    int r = payload_decode(deferred->payload, deferred->payload_size, &payload);
    if (deferred->parent < own->handle_count)
        deferred->span.parent = own->handles[deferred->parent];
    if (r == 0)
        r = trace_builder_add_span(import->builder, &deferred->span, payload.kind ? &payload : NULL, &own->handles[deferred->ordinal]);
    return r;
}

/* Parents before children: up the chain of those that wait, then down. A loop is cut where it closes. */
static int add_deferred(struct chrome_import *import)
{
    struct chrome_own *own = import->own_state;
    struct deferred_span **chain = malloc((own->deferred_count + 1) * sizeof(*chain));
    int r = chain ? 0 : -ENOMEM;
    for (size_t i = 0; i < own->deferred_count && r == 0; i++) {
        size_t depth = 0;
        for (struct deferred_span *at = &own->deferred[i]; at && !at->visited; at = find_deferred(own, at->parent)) {
            at->visited = true;
            chain[depth++] = at;
        }
        while (depth-- > 0 && r == 0)
            r = add_deferred_span(import, chain[depth]);
    }
    free(chain);
    return r;
}

static int add_links(struct chrome_import *import)
{
    struct chrome_own *own = import->own_state;
    int r = 0;
    for (size_t i = 0; i < own->links_read_count && r == 0; i++) {
        const struct own_link *read = &own->links_read[i];
        if (read->from >= own->handle_count || read->to >= own->handle_count)
            return -EBADMSG;
        struct trace_link link = {.kind = (enum link_kind)read->kind, .confidence = (enum confidence)read->confidence,
                                  .from = own->handles[read->from], .to = own->handles[read->to]};
        r = trace_builder_add_link(import->builder, &link);
    }
    return r;
}

int own_end(struct chrome_import *import, struct error *err)
{
    struct chrome_own *own = import->own_state;
    bool whole = own->read_spans == own->spans && own->read_instants == own->instants && own->read_counters == own->counters &&
                 own->read_links == own->links && own->read_samples == own->samples;
    if (import->ordinals_valid && !whole)
        return error_set(err, -EBADMSG, "%s: events are missing: its section (at offset %zu) counts %llu spans and %llu samples, "
                         "%llu and %llu were read", import->name, (size_t)(own->section.data - import->data),
                         (unsigned long long)own->spans, (unsigned long long)own->samples, (unsigned long long)own->read_spans,
                         (unsigned long long)own->read_samples);
    if (!import->ordinals_valid) {
        log_warning(import->log, "%s: somebody changed this file after hprofiler wrote it: links, groups and explicit parents "
                    "cannot be trusted and are left out", import->name);
        return 0;
    }
    int r = add_deferred(import);
    if (r == 0)
        r = add_links(import);
    return r < 0 ? import_failed(import, r, err) : section_read_members(import, own, err);
}
