/* SPDX-License-Identifier: MIT */
/* The pull scanner: strings by 16 bytes, values without recursion. */
#include "json_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

bool json_fail(struct json *json, const char *expected)
{
    if (json->state == JSON_OK) {
        json->state = json->at >= json->end ? JSON_CUT : JSON_BAD;
        json->what = expected;
    }
    return false;
}

static bool is_hex(char character)
{
    return (character >= '0' && character <= '9') || ((character | 32) >= 'a' && (character | 32) <= 'f');
}

/* Behind the backslash; leaves `at` behind the escape. */
static bool check_escape(struct json *json)
{
    if (json->at >= json->end)
        return json_fail(json, "the end of a string");
    char kind = *json->at;
    if (kind != 'u') {
        if (!kind || !strchr("\"\\/bfnrt", kind))
            return json_fail(json, "a known escape in a string");
        json->at++;
        return true;
    }
    json->at++;
    for (int i = 0; i < 4; i++) {
        if (json->at >= json->end || !is_hex(*json->at))
            return json_fail(json, "four hex digits behind \\u");
        json->at++;
    }
    return true;
}

bool json_string_slow(struct json *json, struct json_view *ret_view)
{
    const char *data = ++json->at;
    bool escaped = false;
    for (;;) {
        json->at = json_string_stop(json->at, json->end);
        if (json->at >= json->end)
            return json_fail(json, "the end of a string");
        if (*json->at == '"')
            break;
        if (*json->at != '\\')
            return json_fail(json, "no control character in a string");
        json->at++;
        escaped = true;
        if (!check_escape(json))
            return false;
    }
    if (json->at - data > INT32_MAX)
        return json_fail(json, "a string under 2 GiB");
    *ret_view = (struct json_view){.data = data, .length = (uint32_t)(json->at - data), .escaped = escaped};
    json->at++;
    return true;
}

static bool take_word(struct json *json, const char *word)
{
    size_t length = strlen(word);
    size_t left = (size_t)(json->end - json->at);
    if (left < length && memcmp(json->at, word, left) == 0) {
        json->at = json->end;
        return false;
    }
    if (left < length || memcmp(json->at, word, length) != 0)
        return false;
    json->at += length;
    return true;
}

static bool take_digits(struct json *json)
{
    const char *from = json->at;
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9')
        json->at++;
    return json->at > from;
}

bool json_number(struct json *json, struct json_view *ret_view)
{
    json_space(json);
    const char *from = json->at;
    if (json->at < json->end && *json->at == '-')
        json->at++;
    if (json->at < json->end && (*json->at == 'N' || *json->at == 'I')) {
        if (!take_word(json, "NaN") && !take_word(json, "Infinity"))
            return json_fail(json, "a number");
    } else {
        if (!take_digits(json))
            return json_fail(json, "a number");
        if (json->at < json->end && *json->at == '.') {
            json->at++;
            if (!take_digits(json))
                return json_fail(json, "digits behind the point");
        }
        if (json->at < json->end && (*json->at | 32) == 'e') {
            json->at++;
            if (json->at < json->end && (*json->at == '+' || *json->at == '-'))
                json->at++;
            if (!take_digits(json))
                return json_fail(json, "digits of an exponent");
        }
    }
    if (json->at - from > INT32_MAX)
        return json_fail(json, "a number of sane length");
    *ret_view = (struct json_view){.data = from, .length = (uint32_t)(json->at - from)};
    return true;
}

static bool skip_scalar(struct json *json)
{
    struct json_view view;
    char next = json_peek(json);
    if (next == '"')
        return json_string(json, &view);
    if (next == 't' || next == 'f' || next == 'n') {
        const char *word = next == 't' ? "true" : next == 'f' ? "false" : "null";
        return take_word(json, word) ? true : json_fail(json, "true, false or null");
    }
    if (next == '-' || (next >= '0' && next <= '9') || next == 'N' || next == 'I')
        return json_number(json, &view);
    return json_fail(json, "a value");
}

/* Behind '{' or ',' of an object: the key and its colon. */
static bool take_key(struct json *json, struct json_view *ret_key)
{
    if (!json_string(json, ret_key))
        return false;
    return json_take(json, ':') ? true : json_fail(json, "':' behind a key");
}

/* Opens containers until a scalar was taken or an empty container closed; one step of json_skip. */
struct skip_stack {
    uint64_t is_object[JSON_DEPTH_MAX / 64];
    unsigned depth;
};

static bool stack_top_is_object(const struct skip_stack *stack)
{
    unsigned top = stack->depth - 1;
    return stack->is_object[top / 64] >> top % 64 & 1;
}

static bool skip_open(struct json *json, struct skip_stack *stack, bool is_object)
{
    if (stack->depth == JSON_DEPTH_MAX)
        return json_fail(json, "at most 256 nested containers");
    uint64_t bit = UINT64_C(1) << stack->depth % 64;
    if (is_object)
        stack->is_object[stack->depth / 64] |= bit;
    else
        stack->is_object[stack->depth / 64] &= ~bit;
    stack->depth++;
    json->at++;
    return true;
}

/* After a value: closes what ends here; true with *ret_done when the outermost ended or another value comes. */
static bool skip_behind_value(struct json *json, struct skip_stack *stack)
{
    struct json_view key;
    while (stack->depth) {
        bool is_object = stack_top_is_object(stack);
        char close = is_object ? '}' : ']';
        if (json_take(json, ',')) {
            if (json_peek(json) != close)
                return is_object ? take_key(json, &key) : true;
        }
        if (!json_take(json, close))
            return json_fail(json, is_object ? "',' or '}'" : "',' or ']'");
        stack->depth--;
    }
    return true;
}

bool json_skip(struct json *json, struct json_view *ret_view)
{
    struct skip_stack stack = {.depth = 0};
    struct json_view key;
    json_space(json);
    const char *from = json->at;
    do {
        char next = json_peek(json);
        if (next == '{' || next == '[') {
            bool is_object = next == '{';
            if (!skip_open(json, &stack, is_object))
                return false;
            if (json_peek(json) != (is_object ? '}' : ']')) {
                if (is_object && !take_key(json, &key))
                    return false;
                continue;
            }
            json->at++;
            stack.depth--;
        } else if (!skip_scalar(json)) {
            return false;
        }
        if (!skip_behind_value(json, &stack))
            return false;
    } while (stack.depth);
    if (ret_view)
        *ret_view = (struct json_view){.data = from, .length = (uint32_t)(json->at - from)};
    return !ret_view || json->at - from <= INT32_MAX ? true : json_fail(json, "a value under 2 GiB");
}

bool json_object(struct json *json, struct json_view *ret_key)
{
    if (json->state != JSON_OK)
        return false;
    if (!json_take(json, '{'))
        return json_fail(json, "an object");
    if (json_take(json, '}'))
        return false;
    return take_key(json, ret_key);
}

bool json_object_next(struct json *json, struct json_view *ret_key)
{
    if (json->state != JSON_OK)
        return false;
    bool comma = json_take(json, ',');
    if (json_take(json, '}'))
        return false;
    return comma ? take_key(json, ret_key) : json_fail(json, "',' or '}'");
}

bool json_array(struct json *json)
{
    if (json->state != JSON_OK)
        return false;
    if (!json_take(json, '['))
        return json_fail(json, "an array");
    if (json_take(json, ']'))
        return false;
    return json->at < json->end ? true : json_fail(json, "a value or ']'");
}

bool json_array_next(struct json *json)
{
    if (json->state != JSON_OK)
        return false;
    bool comma = json_take(json, ',');
    if (json_take(json, ']'))
        return false;
    return comma ? true : json_fail(json, "',' or ']'");
}

static uint32_t hex4(const char *at)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++)
        value = value << 4 | (uint32_t)(at[i] <= '9' ? at[i] - '0' : (at[i] | 32) - 'a' + 10);
    return value;
}

static void add_utf8(struct text *out, uint32_t code)
{
    char bytes[4];
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    if (code < 0x80) {
        text_add_char(out, (char)code);
    } else if (code < 0x800) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 63));
        text_add(out, bytes, 2);
    } else if (code < 0x10000) {
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 63));
        bytes[2] = (char)(0x80 | (code & 63));
        text_add(out, bytes, 3);
    } else {
        bytes[0] = (char)(0xf0 | code >> 18);
        bytes[1] = (char)(0x80 | (code >> 12 & 63));
        bytes[2] = (char)(0x80 | (code >> 6 & 63));
        bytes[3] = (char)(0x80 | (code & 63));
        text_add(out, bytes, 4);
    }
}

/* at: behind "\u", in a view that was checked. Returns the characters taken. */
static size_t decode_unicode(const char *at, const char *end, struct text *out)
{
    uint32_t code = hex4(at);
    if (code >= 0xd800 && code < 0xdc00 && end - at >= 10 && at[4] == '\\' && at[5] == 'u') {
        uint32_t low = hex4(at + 6);
        if (low >= 0xdc00 && low < 0xe000) {
            add_utf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
            return 10;
        }
    }
    add_utf8(out, code);
    return 4;
}

void json_view_decode(const struct json_view *view, struct text *out)
{
    const char *at = view->data, *end = view->data + view->length;
    while (at < end) {
        const char *backslash = view->escaped ? memchr(at, '\\', (size_t)(end - at)) : NULL;
        if (!backslash) {
            text_add(out, at, (size_t)(end - at));
            return;
        }
        text_add(out, at, (size_t)(backslash - at));
        at = backslash + 2;
        static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
        const char *found = strchr(from, backslash[1]);
        if (backslash[1] == 'u')
            at += decode_unicode(at, end, out);
        else if (found)
            text_add_char(out, to[found - from]);
    }
}

bool json_view_u64(const struct json_view *view, uint64_t *ret_value)
{
    uint64_t value = 0;
    if (!view->length || view->length > 20)
        return false;
    for (uint32_t i = 0; i < view->length; i++) {
        unsigned digit = (unsigned)(view->data[i] - '0');
        if (digit > 9 || __builtin_mul_overflow(value, UINT64_C(10), &value) || __builtin_add_overflow(value, digit, &value))
            return false;
    }
    *ret_value = value;
    return true;
}

bool json_view_i64(const struct json_view *view, int64_t *ret_value)
{
    struct json_view digits = *view;
    bool negative = view->length && view->data[0] == '-';
    uint64_t magnitude;
    digits.data += negative;
    digits.length -= negative;
    if (!json_view_u64(&digits, &magnitude) || magnitude > (uint64_t)INT64_MAX + negative)
        return false;
    *ret_value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

bool json_view_double(const struct json_view *view, double *ret_value)
{
    char number[512];
    if (!view->length || view->length >= sizeof(number))
        return false;
    memcpy(number, view->data, view->length);
    number[view->length] = 0;
    bool negative = number[0] == '-';
    if (strcmp(number + negative, "NaN") == 0)
        *ret_value = NAN;
    else if (strcmp(number + negative, "Infinity") == 0)
        *ret_value = negative ? -INFINITY : INFINITY;
    else
        return parse_double(number, ret_value) == 0;
    return true;
}

/* Digits and the place of the point: value = digits * 10^(-scale). At most 19 significant digits are kept. */
static bool scan_decimal(const struct json_view *view, uint64_t *ret_digits, int *ret_scale, bool *ret_negative)
{
    const char *at = view->data, *end = at + view->length;
    uint64_t digits = 0;
    int scale = 0;
    bool behind_point = false, any = false;
    *ret_negative = at < end && *at == '-';
    at += *ret_negative;
    for (; at < end && (*at == '.' || (*at >= '0' && *at <= '9')); at++) {
        if (*at == '.') {
            behind_point = true;
            continue;
        }
        any = true;
        if (digits <= (UINT64_MAX - 9) / 10) {
            digits = digits * 10 + (uint64_t)(*at - '0');
            scale += behind_point;
        } else {
            scale -= !behind_point; /* dropped: below what a double holds as well */
        }
    }
    if (at < end && (*at | 32) == 'e') {
        struct json_view exponent = {.data = at + 1 + (at + 1 < end && at[1] == '+')};
        int64_t value;
        exponent.length = (uint32_t)(end - exponent.data);
        if (!json_view_i64(&exponent, &value) || value > 1000 || value < -1000)
            return false;
        scale -= (int)value;
        at = end;
    }
    *ret_digits = digits;
    *ret_scale = scale;
    return any && at == end;
}

bool json_view_ns(const struct json_view *view, uint64_t *ret_ns, bool *ret_negative)
{
    uint64_t value;
    int scale;
    if (!scan_decimal(view, &value, &scale, ret_negative))
        return false;
    scale -= 3;
    for (; scale < 0 && value; scale++)
        if (__builtin_mul_overflow(value, UINT64_C(10), &value))
            return false;
    if (scale > 0) {
        for (; scale > 1; scale--)
            value /= 10;
        value = value / 10 + (value % 10 >= 5);
    }
    *ret_ns = value;
    return true;
}

/* What the scanner tolerates and the letter does not: NaN and Infinity, commas before a closing bracket, leading zeros. */
static bool has_tolerated_parts(const char *text, size_t size)
{
    char last = 0; /* the last character that is no space, outside strings */
    for (size_t i = 0; i < size; i++) {
        char character = text[i];
        if (character == '"') {
            for (i++; text[i] != '"'; i++)
                i += text[i] == '\\';
        } else if (character == 'N' || character == 'I' || ((character == '}' || character == ']') && last == ',')) {
            return true;
        } else if (character == '0' && i + 1 < size && text[i + 1] >= '0' && text[i + 1] <= '9' &&
                   !(i && ((text[i - 1] >= '0' && text[i - 1] <= '9') || strchr(".eE+", text[i - 1]) ||
                           (text[i - 1] == '-' && i > 1 && (text[i - 2] | 32) == 'e')))) {
            return true;
        }
        if (character != ' ' && character != '\n' && character != '\t' && character != '\r')
            last = character;
    }
    return false;
}

/* {"key":"text","other":12}: what most args are. False says nothing: the full test decides. */
static bool is_plain_object(const char *at, const char *end)
{
    if (end - at < 3 || *at++ != '{')
        return false;
    for (;;) {
        for (int text = 0; text < 2; text++) {
            if (at < end && *at != '"' && text) { /* a number without sign, point and leading zero */
                const char *digits = at;
                while (at < end && *at >= '0' && *at <= '9')
                    at++;
                if (at == digits || (*digits == '0' && at - digits > 1))
                    return false;
                break;
            }
            if (at >= end || *at++ != '"')
                return false;
            while (at < end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
                at++;
            if (at >= end || *at++ != '"' || (!text && (at >= end || *at++ != ':')))
                return false;
        }
        if (at >= end || (*at != ',' && *at != '}'))
            return false;
        if (*at++ == '}')
            return at == end;
    }
}

bool json_is_strict_object(const char *text, size_t size)
{
    struct json json;
    if (is_plain_object(text, text + size))
        return true;
    json_init(&json, text, size);
    if (json_peek(&json) != '{' || !json_skip(&json, NULL))
        return false;
    json_space(&json);
    return json.at == json.end && !has_tolerated_parts(text, size) && utf8_valid(text, size);
}
