/* SPDX-License-Identifier: MIT */
/* JSON and number text: two digits a step from a table, one bounds check a field. */
#include "json_out.h"

#include "base/array.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

void json_out_init(struct json_out *out, struct file_writer *file)
{
    out->file = file;
    out->failed = false;
    out->start = out->at = file_writer_reserve(file, JSON_OUT_BLOCK);
    out->end = out->start + JSON_OUT_BLOCK;
}

void json_out_flush(struct json_out *out)
{
    file_writer_commit(out->file, (size_t)(out->at - out->start));
    out->start = out->at = out->end = NULL;
}

int json_out_init_memory(struct json_out *out)
{
    char *start = malloc(2 * JSON_OUT_BLOCK);
    *out = (struct json_out){.start = start, .at = start, .end = start ? start + 2 * JSON_OUT_BLOCK : NULL};
    return start ? 0 : -ENOMEM;
}

void json_out_finish_memory(struct json_out *out)
{
    free(out->start);
    *out = (struct json_out){0};
}

/* Without memory what was written is written over: there is always room, and the failure is found at the end. */
static void grow(struct json_out *out)
{
    size_t used = (size_t)(out->at - out->start), capacity = (size_t)(out->end - out->start);
    char *grown = array_resize_exact(out->start, capacity, 2);
    if (!grown) {
        out->failed = true;
        out->at = out->start;
        return;
    }
    out->start = grown;
    out->at = grown + used;
    out->end = grown + capacity * 2;
}

void json_out_refill(struct json_out *out)
{
    if (!out->file) {
        grow(out);
        return;
    }
    if (out->at)
        file_writer_commit(out->file, (size_t)(out->at - out->start));
    out->start = out->at = file_writer_reserve(out->file, JSON_OUT_BLOCK);
    out->end = out->start + JSON_OUT_BLOCK;
}

void json_out_bytes(struct json_out *out, const char *data, size_t size)
{
    while (size) {
        size_t part = size < JSON_OUT_BLOCK / 2 ? size : JSON_OUT_BLOCK / 2;
        json_out_short(out, data, part);
        data += part;
        size -= part;
    }
}

/* Most strings are short and need no escape: they are copied while that is found out. */
static bool put_plain(struct json_out *out, const char *text, size_t length)
{
    if (length > JSON_OUT_BLOCK / 2)
        return false;
    json_out_need(out, length + 2);
    char *at = out->at;
    *at++ = '"';
    for (size_t i = 0; i < length; i++) {
        char character = text[i];
        if (character < 0x20 || character >= 0x7f || character == '"' || character == '\\')
            return false;
        *at++ = character;
    }
    *at++ = '"';
    out->at = at;
    return true;
}

void json_out_string_n(struct json_out *out, const char *text, size_t length)
{
    if (put_plain(out, text, length))
        return;
    struct text escaped = TEXT_INIT;
    text_add_json(&escaped, text, length);
    json_out_char(out, '"');
    json_out_bytes(out, escaped.data ? escaped.data : "", escaped.length);
    json_out_char(out, '"');
    text_finish(&escaped);
}

void json_out_string(struct json_out *out, const char *text)
{
    json_out_string_n(out, text, strlen(text));
}

void json_out_hex(struct json_out *out, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    json_out_char(out, '"');
    for (size_t i = 0; i < size; i++) {
        const char pair[2] = {"0123456789abcdef"[bytes[i] >> 4], "0123456789abcdef"[bytes[i] & 15]};
        json_out_short(out, pair, 2);
    }
    json_out_char(out, '"');
}

void json_out_double(struct json_out *out, double value)
{
    json_out_need(out, 40);
    out->at = format_double(out->at, value);
}

char *format_double(char *at, double value)
{
    if (!isfinite(value))
        return stpcpy(at, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
    if (fabs(value) < 9007199254740992.0 && value == floor(value) && !(value == 0 && signbit(value)))
        return format_i64(at, (int64_t)value);
    char text[40];
    int length = snprintf(text, sizeof(text), "%.15g", value);
    if (strtod(text, NULL) != value)
        length = snprintf(text, sizeof(text), "%.17g", value);
    for (int i = 0; i < length; i++)
        at[i] = text[i] == ',' ? '.' : text[i]; /* a locale may have changed the point */
    return at + length;
}

static const char digit_pairs[201] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                     "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                     "8081828384858687888990919293949596979899";

static inline char *put_pair(char *at, uint32_t below_100)
{
    memcpy(at, digit_pairs + (size_t)below_100 * 2, 2);
    return at + 2;
}

/* Without leading zeros, as the next two. */
static inline char *put_below_100(char *at, uint32_t value)
{
    if (value >= 10)
        return put_pair(at, value);
    *at = (char)('0' + value);
    return at + 1;
}

static inline char *put_below_10000(char *at, uint32_t value)
{
    return value < 100 ? put_below_100(at, value) : put_pair(put_below_100(at, value / 100), value % 100);
}

static inline char *put_four(char *at, uint32_t below_10000)
{
    return put_pair(put_pair(at, below_10000 / 100), below_10000 % 100);
}

char *format_u64(char *at, uint64_t value)
{
    if (value < 10000)
        return put_below_10000(at, (uint32_t)value);
    if (value < 100000000)
        return put_four(put_below_10000(at, (uint32_t)(value / 10000)), (uint32_t)(value % 10000));
    uint32_t low = (uint32_t)(value % 100000000);
    return put_four(put_four(format_u64(at, value / 100000000), low / 10000), low % 10000);
}

char *format_i64(char *at, int64_t value)
{
    if (value >= 0)
        return format_u64(at, (uint64_t)value);
    *at++ = '-';
    return format_u64(at, 0 - (uint64_t)value);
}

char *format_microseconds(char *at, uint64_t ns)
{
    at = format_u64(at, ns / 1000);
    uint32_t rest = (uint32_t)(ns % 1000);
    at[0] = '.';
    at[1] = (char)('0' + rest / 100);
    return put_pair(at + 2, rest % 100);
}

int json_strings_init(struct json_strings *strings, const struct string_table *table)
{
    *strings = (struct json_strings){.table = table, .count = string_table_count(table), .text.maximum = SIZE_MAX / 2};
    strings->entries = malloc(((size_t)strings->count + 1) * sizeof(*strings->entries));
    if (!strings->entries)
        return -ENOMEM;
    for (uint32_t i = 0; i <= strings->count; i++)
        strings->entries[i] = (struct json_strings_entry){.offset = UINT64_MAX};
    return 0;
}

void json_strings_finish(struct json_strings *strings)
{
    free(strings->entries);
    text_finish(&strings->text);
}

const struct json_strings_entry *json_strings_get(struct json_strings *strings, string_id id)
{
    struct json_strings_entry *entry = &strings->entries[id.index < strings->count ? id.index : 0];
    if (entry->offset != UINT64_MAX)
        return entry;
    const char *text = string_table_text(strings->table, id);
    size_t length = string_table_length(strings->table, id);
    uint64_t offset = strings->text.length;
    text_add_json(&strings->text, text, length);
    entry->offset = offset;
    entry->length = (uint32_t)(strings->text.length - offset);
    entry->exact = utf8_valid(text, length);
    return entry;
}

int json_strings_make_all(struct json_strings *strings)
{
    for (uint32_t i = 0; i < strings->count; i++)
        json_strings_get(strings, (string_id){i});
    return strings->text.failed ? -ENOMEM : 0;
}

const struct json_strings_entry *json_strings_known(const struct json_strings *strings, string_id id)
{
    return &strings->entries[id.index < strings->count ? id.index : 0];
}

bool json_out_id(struct json_out *out, struct json_strings *strings, string_id id)
{
    const struct json_strings_entry *entry = json_strings_get(strings, id);
    json_out_char(out, '"');
    if (entry->length)
        json_out_bytes(out, strings->text.data + entry->offset, entry->length);
    json_out_char(out, '"');
    return entry->exact;
}
