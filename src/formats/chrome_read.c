/* SPDX-License-Identifier: MIT */
/*
 * Reading Chrome Trace Event JSON: the top level. Either an array of events, or an object whose "traceEvents" is one; what
 * is cut off at the end was not written, everything before it is taken. See docs/formats/chrome.md.
 */
#include "chrome_reader.h"

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/thread_pool.h"
#include "chrome_import.h"
#include "chrome_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define CHUNK_BYTES ((size_t)2 << 20)
#define PARALLEL_BYTES ((size_t)4 << 20) /* smaller files are not worth threads */

bool chrome_probe(const uint8_t *head, size_t head_size, uint64_t size)
{
    struct json json;
    json_init(&json, (const char *)head, head_size);
    if (head_size >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0)
        json.at += 3;
    if (json_take(&json, '['))
        return json_peek(&json) == '{' || json_peek(&json) == ']' || json.at == json.end;
    return json_take(&json, '{') && (json_peek(&json) == '"' || json_peek(&json) == '}');
}

int import_failed(struct chrome_import *import, int code, struct error *err)
{
    if (err && err->code)
        return err->code;
    return error_set_errno(err, code, "%s: cannot keep what was read", import->name);
}

int import_syntax(struct chrome_import *import, const char *at, const char *expected, struct error *err)
{
    return error_set(err, -EBADMSG, "%s: broken JSON at offset %zu: expected %s", import->name, (size_t)(at - import->data),
                     expected ? expected : "a value");
}

string_id import_string(struct chrome_import *import, const struct json_view *view)
{
    string_id id = STRING_NONE;
    if (!view->length)
        return id;
    const char *data = view->data;
    size_t length = view->length;
    if (view->escaped || memchr(data, 0, length)) {
        text_clear(&import->scratch_other);
        json_view_decode(view, &import->scratch_other);
        data = import->scratch_other.data ? import->scratch_other.data : "";
        length = import->scratch_other.length;
    }
    if (string_table_intern(import->strings, data, length, &id) < 0)
        trace_builder_string(import->builder, NULL);
    return id;
}

int import_begin_batch(struct chrome_import *import, const struct chrome_batch *batch)
{
    if (batch->string_count > import->string_id_capacity) {
        string_id *ids = realloc(import->string_ids, batch->string_count * sizeof(*ids));
        if (!ids)
            return -ENOMEM;
        import->string_ids = ids;
        import->string_id_capacity = batch->string_count;
    }
    if (batch->track_count > import->thread_id_capacity) {
        uint32_t *ids = realloc(import->thread_ids, batch->track_count * sizeof(*ids));
        if (!ids)
            return -ENOMEM;
        import->thread_ids = ids;
        import->thread_id_capacity = batch->track_count;
    }
    for (size_t i = 0; i < batch->string_count; i++)
        import->string_ids[i].index = UINT32_MAX;
    for (size_t i = 0; i < batch->track_count; i++)
        import->thread_ids[i] = UINT32_MAX;
    return 0;
}

string_id import_batch_string(struct chrome_import *import, const struct chrome_batch *batch, uint32_t index)
{
    if (import->string_ids[index].index == UINT32_MAX)
        import->string_ids[index] = import_string(import, &batch->strings[index]);
    return import->string_ids[index];
}

static int hex_digit(char character)
{
    if (character >= '0' && character <= '9')
        return character - '0';
    return (character | 32) >= 'a' && (character | 32) <= 'f' ? (character | 32) - 'a' + 10 : -1;
}

bool import_hex(struct chrome_import *import, const struct json_view *view, struct text *out)
{
    text_clear(out);
    if (view->length % 2)
        return false;
    for (uint32_t i = 0; i < view->length; i += 2) {
        int high = hex_digit(view->data[i]), low = hex_digit(view->data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        text_add_char(out, (char)(high << 4 | low));
    }
    return true;
}

/* One level of a foreign "metadata" or "otherData": texts as they are, everything else as JSON text. */
static int read_metadata(struct chrome_import *import, struct json *json)
{
    struct json_view key, value;
    if (json_peek(json) != '{') {
        json_skip(json, NULL);
        return 0;
    }
    struct text name = TEXT_INIT, text = TEXT_INIT;
    int r = 0;
    for (bool more = json_object(json, &key); more && r == 0; more = r == 0 && json_object_next(json, &key)) {
        bool is_string = json_peek(json) == '"';
        if (!(is_string ? json_string(json, &value) : json_skip(json, &value)))
            break;
        if (value.length > 65536)
            continue;
        text_clear(&name);
        text_clear(&text);
        json_view_decode(&key, &name);
        if (is_string)
            json_view_decode(&value, &text);
        else
            text_add(&text, value.data, value.length);
        if (name.length)
            r = trace_builder_set_metadata(import->builder, name.data, text.data ? text.data : "");
    }
    text_finish(&name);
    text_finish(&text);
    return r;
}

static chrome_consume *consumer(const struct chrome_import *import)
{
    return import->own ? own_consume : foreign_consume;
}

static int read_events(struct chrome_import *import, struct json *json, bool as_samples, struct error *err)
{
    if (!json_take(json, '['))
        return import_syntax(import, json->at, "an array of events", err);
    import->behind_events = json->at;
    int r = chrome_parse_array(import, json, as_samples, consumer(import), err);
    import->behind_events = NULL;
    return r;
}

/* The value of one key of the top level. */
static int read_value(struct chrome_import *import, struct json *json, const struct json_view *key, bool *found, struct error *err)
{
    if (json_view_is(key, "traceEvents")) {
        *found = true;
        return read_events(import, json, false, err);
    }
    if (json_view_is(key, "samples") && json_peek(json) == '[') {
        *found = true;
        return read_events(import, json, true, err);
    }
    if (!import->own && json_view_is(key, "stackFrames"))
        return stacks_read(import, json, err);
    if (!import->own && (json_view_is(key, "metadata") || json_view_is(key, "otherData"))) {
        int r = read_metadata(import, json);
        return r < 0 ? import_failed(import, r, err) : 0;
    }
    if (json_view_is(key, "systemTraceEvents"))
        log_warning(import->log, "%s: kernel events (\"systemTraceEvents\") are not read", import->name);
    json_skip(json, NULL);
    return 0;
}

static int read_object(struct chrome_import *import, struct json *json, struct error *err)
{
    struct json_view key;
    bool found = false;
    for (bool more = json_object(json, &key); more; more = json_object_next(json, &key)) {
        int r = read_value(import, json, &key, &found, err);
        if (r < 0)
            return r;
        if (import->truncated)
            return 0;
    }
    if (json->state == JSON_BAD)
        return import_syntax(import, json->at, json->what, err);
    if (!found)
        return error_set(err, -EBADMSG, "%s: this JSON is not a Chrome trace: there is no \"traceEvents\" (read to offset %zu)",
                         import->name, (size_t)(json->at - json->start));
    import->truncated = json->state == JSON_CUT;
    return 0;
}

static int read_document(struct chrome_import *import, struct error *err)
{
    struct json json;
    json_init(&json, import->data, import->size);
    if (import->size >= 3 && memcmp(import->data, "\xef\xbb\xbf", 3) == 0)
        json.at += 3;
    char first = json_peek(&json);
    if (first != '[' && first != '{')
        return import_syntax(import, json.at, "'{' or '[' at the start of a Chrome trace", err);
    int r = first == '[' ? read_events(import, &json, false, err) : read_object(import, &json, err);
    if (r < 0)
        return r;
    json_space(&json);
    if (!import->truncated && json.at < json.end)
        log_warning(import->log, "%s: %zu bytes behind the end of the trace (offset %zu) were not read", import->name,
                    (size_t)(json.end - json.at), (size_t)(json.at - json.start));
    if (import->truncated)
        log_warning(import->log, "%s: the file ends in the middle (at offset %zu): what came before was read", import->name,
                    import->size);
    return 0;
}

/* Sealed blocks stay in memory while they are well below the file's size. */
static int make_builder(struct chrome_import *import, struct error *err)
{
    struct builder_options options = {.memory_limit_bytes = import->size / 4 + ((size_t)256 << 20)};
    int r = trace_builder_create(&options, &import->builder, err);
    if (r == 0)
        import->strings = trace_builder_strings(import->builder);
    return r;
}

static int import_run(struct chrome_import *import, struct trace **ret_trace, struct error *err)
{
    int r = make_builder(import, err);
    if (r < 0)
        return r;
    import->own_keys = import->size > sizeof(CHROME_OWN_HEAD) && memcmp(import->data, CHROME_OWN_HEAD, sizeof(CHROME_OWN_HEAD) - 1) == 0;
    if (import->own_keys)
        r = own_begin(import, err);
    if (r == 0 && !import->own)
        r = foreign_begin(import, err);
    if (r == 0)
        r = read_document(import, err);
    if (r == 0)
        r = import->own ? own_end(import, err) : foreign_end(import, err);
    return r < 0 ? r : trace_builder_finish(import->builder, ret_trace, err);
}

static int import_whole(struct chrome_import *import, struct trace **ret_trace, struct error *err)
{
    if (import->size >= PARALLEL_BYTES && thread_pool_create(0, &import->pool) < 0)
        import->pool = NULL; /* slower, and that is all */
    struct error own_error = ERROR_INIT;
    int r = import_run(import, ret_trace, err ? err : &own_error);
    thread_pool_destroy(import->pool);
    own_finish(import);
    foreign_finish(import);
    trace_builder_destroy(import->builder);
    text_finish(&import->scratch);
    text_finish(&import->scratch_other);
    free(import->string_ids);
    free(import->thread_ids);
    return r;
}

int chrome_read_memory(const char *name, const char *data, size_t size, size_t chunk_bytes, const struct log *log,
                       struct trace **ret_trace, struct error *err)
{
    struct chrome_import import = {
        .name = name, .data = data, .size = size, .chunk_bytes = chunk_bytes ? chunk_bytes : CHUNK_BYTES, .log = log};
    return import_whole(&import, ret_trace, err);
}

int chrome_read(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err)
{
    struct file_map map;
    int r = file_map_open(path, &map, err);
    if (r < 0)
        return r;
    struct chrome_import import = {.name = path, .data = (const char *)map.data, .size = map.size, .chunk_bytes = CHUNK_BYTES,
                                   .mapped = true, .log = log, .progress = progress};
    if (map.data)
        (void)madvise((void *)(uintptr_t)map.data, map.size, MADV_SEQUENTIAL);
    r = import_whole(&import, ret_trace, err);
    file_map_close(&map);
    return r;
}
