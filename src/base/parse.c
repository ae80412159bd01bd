/* SPDX-License-Identifier: MIT */
/* Small parsers for what people type: numbers, sizes, durations, globs. None depends on the locale. */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit size_units[] = {
    {"", 1}, {"B", 1}, {"K", 1u << 10}, {"KB", 1u << 10}, {"KiB", 1u << 10}, {"M", 1u << 20}, {"MB", 1u << 20},
    {"MiB", 1u << 20}, {"G", 1u << 30}, {"GB", 1u << 30}, {"GiB", 1u << 30}, {"T", (uint64_t)1 << 40},
    {"TB", (uint64_t)1 << 40}, {"TiB", (uint64_t)1 << 40}, {NULL, 0},
};

static const struct unit duration_units[] = {
    {"", 1000000000u}, {"s", 1000000000u}, {"ms", 1000000u}, {"us", 1000u}, {"ns", 1}, {"m", 60 * (uint64_t)1000000000u},
    {"min", 60 * (uint64_t)1000000000u}, {"h", 3600 * (uint64_t)1000000000u}, {"d", 86400 * (uint64_t)1000000000u},
    {NULL, 0},
};

static bool is_digit(char character)
{
    return character >= '0' && character <= '9';
}

/* Digits with at most one point, exactly: value = whole + fraction / scale. Returns where the number ends, NULL if none. */
static const char *parse_decimal(const char *text, uint64_t *ret_whole, uint64_t *ret_fraction, uint64_t *ret_scale, bool *ret_overflow)
{
    uint64_t whole = 0, fraction = 0, scale = 1;
    bool any = false, overflow = false;
    for (; is_digit(*text); text++, any = true)
        overflow |= __builtin_mul_overflow(whole, (uint64_t)10, &whole) ||
                    __builtin_add_overflow(whole, (uint64_t)(*text - '0'), &whole);
    if (*text == '.') {
        for (text++; is_digit(*text); text++, any = true) {
            if (scale >= (uint64_t)1000000000000000000u) /* digits behind the 18th count for nothing */
                continue;
            fraction = fraction * 10 + (uint64_t)(*text - '0');
            scale *= 10;
        }
    }
    if (!any)
        return NULL;
    *ret_whole = whole;
    *ret_fraction = fraction;
    *ret_scale = scale;
    *ret_overflow = overflow;
    return text;
}

static int parse_with_unit(const char *text, const struct unit *units, bool ignore_case, uint64_t *ret_value)
{
    uint64_t whole, fraction, scale;
    bool overflow;
    const char *end = parse_decimal(text, &whole, &fraction, &scale, &overflow);
    if (!end)
        return -EINVAL;
    for (const struct unit *unit = units; unit->name; unit++) {
        if (ignore_case ? strcasecmp(end, unit->name) : strcmp(end, unit->name))
            continue;
        unsigned __int128 rounded = ((unsigned __int128)fraction * unit->factor + scale / 2) / scale;
        unsigned __int128 value = (unsigned __int128)whole * unit->factor + rounded;
        if (overflow || value > UINT64_MAX)
            return -ERANGE;
        *ret_value = (uint64_t)value;
        return 0;
    }
    return -EINVAL;
}

int parse_size(const char *text, uint64_t *ret_bytes)
{
    return parse_with_unit(text, size_units, true, ret_bytes);
}

int parse_duration(const char *text, uint64_t *ret_ns)
{
    return parse_with_unit(text, duration_units, false, ret_ns);
}

static int digit_value(char character)
{
    if (is_digit(character))
        return character - '0';
    if (character >= 'a' && character <= 'f')
        return character - 'a' + 10;
    if (character >= 'A' && character <= 'F')
        return character - 'A' + 10;
    return 16;
}

int parse_u64(const char *text, uint64_t *ret_value)
{
    int base = 10;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        text += 2;
    }
    if (!*text)
        return -EINVAL;
    uint64_t value = 0;
    bool overflow = false;
    for (; *text; text++) {
        int digit = digit_value(*text);
        if (digit >= base)
            return -EINVAL;
        overflow |= __builtin_mul_overflow(value, (uint64_t)base, &value) ||
                    __builtin_add_overflow(value, (uint64_t)digit, &value);
    }
    if (overflow)
        return -ERANGE;
    *ret_value = value;
    return 0;
}

int parse_double(const char *text, double *ret_value)
{
    if (!*text || text[strspn(text, "0123456789+-.eE")])
        return -EINVAL; /* no blanks, no hex, no "inf" */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!plain)
        return -ENOMEM;
    char *end;
    double value = strtod_l(text, &end, plain);
    freelocale(plain);
    if (end == text || *end)
        return -EINVAL;
    if (!isfinite(value))
        return -ERANGE;
    *ret_value = value;
    return 0;
}

/* Matches one pattern element that isn't '*' at both places and steps over it. */
static bool match_one(const char **pattern, const char **text)
{
    const char *element = *pattern;
    if (*element == '?') {
        uint32_t code;
        *text += utf8_decode(*text, strnlen(*text, 4), &code);
        *pattern = element + 1;
        return true;
    }
    if (*element == '\\' && element[1])
        element++;
    if (*element != **text)
        return false;
    *pattern = element + 1;
    ++*text;
    return true;
}

bool glob_match(const char *pattern, const char *text)
{
    const char *star = NULL, *retry = NULL; /* behind the last '*', and where in the text to try it next */
    while (*text) {
        if (*pattern == '*') {
            star = ++pattern;
            retry = text;
        } else if (*pattern && match_one(&pattern, &text)) {
            continue;
        } else if (star) {
            pattern = star;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return !*pattern;
}
