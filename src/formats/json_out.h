/* SPDX-License-Identifier: MIT */
/* JSON and number text at memory speed: appends to a file_writer's buffer or to memory, strings of a table escaped only once. */
#ifndef HP_FORMATS_JSON_OUT_H
#define HP_FORMATS_JSON_OUT_H

#include "base/file.h"
#include "base/string_table.h"
#include "base/text.h"

#include <string.h>

#define JSON_OUT_BLOCK 65536

struct json_out {
    struct file_writer *file; /* NULL: memory */
    char *start, *at, *end;   /* the piece of the writer's buffer that is being filled; in memory: all of it */
    bool failed;              /* out of memory: the text is worth nothing */
};

void json_out_init(struct json_out *out, struct file_writer *file);
void json_out_flush(struct json_out *out);       /* hands what was formatted to the writer; call before anybody else writes */
int json_out_init_memory(struct json_out *out); /* 0 or -ENOMEM */
void json_out_finish_memory(struct json_out *out);
void json_out_refill(struct json_out *out);
void json_out_bytes(struct json_out *out, const char *data, size_t size); /* any size */
void json_out_string(struct json_out *out, const char *text);             /* quoted and escaped */
void json_out_string_n(struct json_out *out, const char *text, size_t length);
void json_out_hex(struct json_out *out, const void *data, size_t size);   /* quoted lower-case hex */
void json_out_double(struct json_out *out, double value);                 /* as format_double */

/* Room for `size` (<= JSON_OUT_BLOCK) bytes at out->at. */
static inline void json_out_need(struct json_out *out, size_t size)
{
    if ((size_t)(out->end - out->at) < size)
        json_out_refill(out);
}

/* A literal: its length is known at compile time. */
#define JSON_OUT_LITERAL(out, literal) json_out_short((out), "" literal, sizeof(literal) - 1)

static inline void json_out_short(struct json_out *out, const char *data, size_t size)
{
    json_out_need(out, size);
    memcpy(out->at, data, size);
    out->at += size;
}

static inline void json_out_char(struct json_out *out, char character)
{
    json_out_need(out, 1);
    *out->at++ = character;
}

/* Decimal text of value at `at` (room for 20 bytes); returns the byte behind it. */
char *format_u64(char *at, uint64_t value);
char *format_i64(char *at, int64_t value);
/* The shorter of %.15g and %.17g that reads back (at most 32 bytes); "NaN", "Infinity", "-Infinity" with their quotes. */
char *format_double(char *at, double value);
/* Nanoseconds as microseconds with exactly three decimals. */
char *format_microseconds(char *at, uint64_t ns);

static inline void json_out_u64(struct json_out *out, uint64_t value)
{
    json_out_need(out, 24);
    out->at = format_u64(out->at, value);
}

static inline void json_out_i64(struct json_out *out, int64_t value)
{
    json_out_need(out, 24);
    out->at = format_i64(out->at, value);
}

static inline void json_out_us(struct json_out *out, uint64_t ns)
{
    json_out_need(out, 28);
    out->at = format_microseconds(out->at, ns);
}

/* Escaped text of the strings of one table, made when first asked for. */
struct json_strings {
    const struct string_table *table;
    struct json_strings_entry *entries; /* count of the table at init */
    uint32_t count;
    struct text text;
};
struct json_strings_entry {
    uint64_t offset;     /* in text; UINT64_MAX = not made yet */
    uint32_t length;
    bool exact;          /* reading it back gives the same bytes: the string is valid UTF-8 */
};

int json_strings_init(struct json_strings *strings, const struct string_table *table); /* 0 or -ENOMEM */
void json_strings_finish(struct json_strings *strings);
const struct json_strings_entry *json_strings_get(struct json_strings *strings, string_id id); /* never NULL */
int json_strings_make_all(struct json_strings *strings); /* 0 or -ENOMEM; then several threads may ask by _known */
const struct json_strings_entry *json_strings_known(const struct json_strings *strings, string_id id);
/* Quoted; returns whether it is exact. */
bool json_out_id(struct json_out *out, struct json_strings *strings, string_id id);

#endif
