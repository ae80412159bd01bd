/* SPDX-License-Identifier: MIT */
/*
 * A pull scanner over JSON text in memory: nothing is copied, nothing allocated, depth is bounded, every byte is checked
 * against the end. Strings come as views with their escapes; numbers in the types that traces need.
 */
#ifndef HP_FORMATS_JSON_SCAN_H
#define HP_FORMATS_JSON_SCAN_H

#include "base/text.h"

#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#define JSON_DEPTH_MAX 256

enum json_state {
    JSON_OK,
    JSON_CUT, /* the text ended in the middle of something */
    JSON_BAD, /* what stands at `at` is no JSON */
};

struct json {
    const char *start, *at, *end;
    enum json_state state;   /* the first failure sticks */
    const char *what;        /* what was expected, for the error */
};

struct json_view {
    const char *data;        /* without the quotes */
    uint32_t length;
    bool escaped;            /* holds backslashes */
};

static inline void json_init(struct json *json, const char *data, size_t size)
{
    *json = (struct json){.start = data, .at = data, .end = data + size};
}

/* Records the failure: cut at the end of the text, else bad. Always false. */
bool json_fail(struct json *json, const char *expected);

static inline void json_space(struct json *json)
{
    while (json->at < json->end && (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
        json->at++;
}

/* The next character that is no space, without taking it; 0 at the end. */
static inline char json_peek(struct json *json)
{
    json_space(json);
    return json->at < json->end ? *json->at : 0;
}

/* Takes this character if it is the next. */
static inline bool json_take(struct json *json, char character)
{
    if (json_peek(json) != character)
        return false;
    json->at++;
    return true;
}

/* The first '"', '\\' or control character at or behind `at`; end if there is none. */
static inline const char *json_string_stop(const char *at, const char *end)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), control = _mm_set1_epi8(0x1f);
    while (end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i hit = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)),
                                   _mm_cmpeq_epi8(_mm_min_epu8(bytes, control), bytes));
        unsigned mask = (unsigned)_mm_movemask_epi8(hit);
        if (mask)
            return at + __builtin_ctz(mask);
        at += 16;
    }
#elif defined(__ARM_NEON)
    while (end - at >= 16) {
        uint8x16_t bytes = vld1q_u8((const uint8_t *)at);
        uint8x16_t hit = vorrq_u8(vorrq_u8(vceqq_u8(bytes, vdupq_n_u8('"')), vceqq_u8(bytes, vdupq_n_u8('\\'))),
                                  vcltq_u8(bytes, vdupq_n_u8(0x20)));
        uint64_t mask = vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(vreinterpretq_u16_u8(hit), 4)), 0);
        if (mask)
            return at + __builtin_ctzll(mask) / 4;
        at += 16;
    }
#endif
    while (at < end && *at != '"' && *at != '\\' && (unsigned char)*at >= 0x20)
        at++;
    return at;
}

bool json_string_slow(struct json *json, struct json_view *ret_view);

/* A string, at its opening quote (spaces before it are skipped). */
static inline bool json_string(struct json *json, struct json_view *ret_view)
{
    if (json_peek(json) != '"')
        return json_fail(json, "a string");
    const char *data = json->at + 1, *stop = json_string_stop(data, json->end);
    if (stop < json->end && *stop == '"' && stop - data <= INT32_MAX) {
        *ret_view = (struct json_view){.data = data, .length = (uint32_t)(stop - data)};
        json->at = stop + 1;
        return true;
    }
    return json_string_slow(json, ret_view);
}

/* A number as its text (also NaN, Infinity, -Infinity, which some writers emit). */
bool json_number(struct json *json, struct json_view *ret_view);
/* Any value; ret_view (may be NULL) gets its text, strings with their quotes. */
bool json_skip(struct json *json, struct json_view *ret_view);

/* for (bool more = json_object(json, &key); more; more = json_object_next(json, &key)) { take the value }: false at the
 * end and on failure. A comma before the end is tolerated. */
bool json_object(struct json *json, struct json_view *ret_key);
bool json_object_next(struct json *json, struct json_view *ret_key);
/* The same for arrays: true when another value follows. */
bool json_array(struct json *json);
bool json_array_next(struct json *json);

static inline bool json_view_is(const struct json_view *view, const char *text)
{
    size_t length = strlen(text);
    return view->length == length && memcmp(view->data, text, length) == 0;
}

/* The text that a view stands for: escapes resolved, U+0000 and lone surrogates become U+FFFD. */
void json_view_decode(const struct json_view *view, struct text *out);
/* Exact: integers within the type, no fraction or exponent; false otherwise. */
bool json_view_u64(const struct json_view *view, uint64_t *ret_value);
bool json_view_i64(const struct json_view *view, int64_t *ret_value);
bool json_view_double(const struct json_view *view, double *ret_value);
/* A decimal number of microseconds as nanoseconds, rounded to the nearest; magnitude and sign; false when out of range. */
bool json_view_ns(const struct json_view *view, uint64_t *ret_ns, bool *ret_negative);

/* Whether the text is one whole JSON object by the letter of RFC 8259, in UTF-8. */
bool json_is_strict_object(const char *text, size_t size);

#endif
