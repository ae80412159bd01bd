/* SPDX-License-Identifier: MIT */
/* UTF-8 and the escapers: what comes from programs and files never breaks the document it is put into. */
#include "base/text.h"

#include <string.h>

#define REPLACEMENT_CODE 0xfffdu
#define REPLACEMENT "\xef\xbf\xbd"

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t utf8_decode(const char *data, size_t length, uint32_t *ret_code)
{
    const unsigned char *bytes = (const unsigned char *)data;
    unsigned char first = length ? bytes[0] : 0;
    uint32_t code = first;
    if (first < 0x80) {
        *ret_code = code;
        return 1;
    }
    size_t needed = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000}; /* a longer form than needed is invalid */
    *ret_code = REPLACEMENT_CODE;
    if (first < 0xc2 || first > 0xf4 || needed > length)
        return 1;
    code = first & (0x7fu >> needed);
    for (size_t index = 1; index < needed; index++) {
        if (!is_continuation(bytes[index]))
            return 1;
        code = code << 6 | (bytes[index] & 0x3f);
    }
    if (code < smallest[needed] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 1;
    *ret_code = code;
    return needed;
}

#define EVERY_BYTE(byte) (0x0101010101010101u * (byte))

/* The high bit of each byte that equals `byte`, exact up to the first such byte. */
static uint64_t bytes_equal(uint64_t word, unsigned char byte)
{
    uint64_t zero = word ^ EVERY_BYTE(byte);
    return (zero - EVERY_BYTE(0x01u)) & ~zero;
}

/* Bytes at the beginning that are printable ASCII, and for JSON neither quote nor backslash; eight at a time. */
static size_t plain_run(const char *data, size_t length, bool json)
{
    size_t index = 0;
    while (length - index >= 8) {
        uint64_t word;
        memcpy(&word, data + index, 8);
        uint64_t special = (word - EVERY_BYTE(0x20u)) | word | bytes_equal(word, 0x7f); /* < 0x20 or >= 0x7f */
        if (json)
            special |= bytes_equal(word, '"') | bytes_equal(word, '\\');
        if (special & EVERY_BYTE(0x80u))
            break;
        index += 8;
    }
    for (; index < length; index++) {
        char character = data[index];
        if (character < 0x20 || character >= 0x7f || (json && (character == '"' || character == '\\')))
            break;
    }
    return index;
}

bool utf8_valid(const char *data, size_t length)
{
    size_t index = 0;
    while (index < length) {
        index += plain_run(data + index, length - index, false);
        if (index == length)
            break;
        uint32_t code;
        size_t taken = utf8_decode(data + index, length - index, &code);
        if (taken == 1 && (unsigned char)data[index] >= 0x80)
            return false;
        index += taken;
    }
    return true;
}

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

/* Adds a character that isn't plain ASCII as it is, or the replacement for what must not come through. */
static size_t add_wide(struct text *text, const char *data, size_t length)
{
    uint32_t code;
    size_t taken = utf8_decode(data, length, &code);
    if (is_control(code) || (taken == 1 && code == REPLACEMENT_CODE))
        text_add(text, REPLACEMENT, 3);
    else
        text_add(text, data, taken);
    return taken;
}

static const char *json_short(char character)
{
    switch (character) {
    case '"': return "\\\"";
    case '\\': return "\\\\";
    case '\n': return "\\n";
    case '\r': return "\\r";
    case '\t': return "\\t";
    case '\b': return "\\b";
    case '\f': return "\\f";
    default: return NULL;
    }
}

void text_add_json(struct text *text, const char *data, size_t length)
{
    size_t index = 0;
    while (index < length) {
        size_t run = plain_run(data + index, length - index, true);
        text_add(text, data + index, run);
        index += run;
        if (index == length)
            break;
        const char *escaped = json_short(data[index]);
        uint32_t code;
        size_t taken = utf8_decode(data + index, length - index, &code);
        if (escaped)
            text_add_string(text, escaped);
        else if (is_control(code)) /* unlike in CSV nothing is lost */
            text_addf(text, "\\u%04x", (unsigned)code);
        else
            add_wide(text, data + index, length - index);
        index += taken;
    }
}

/* Characters that turn the order of what follows on the line: a name would be read as another one. */
static bool turns_direction(uint32_t code)
{
    return (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069) || code == 0x200e || code == 0x200f || code == 0x061c;
}

void text_add_line(struct text *text, const char *data, size_t length)
{
    for (size_t index = 0; index < length;) {
        uint32_t code;
        size_t taken = utf8_decode(data + index, length - index, &code);
        if (is_control(code) || turns_direction(code))
            text_add_char(text, '?');
        else
            add_wide(text, data + index, length - index);
        index += taken;
    }
}

void line_clean(char *line)
{
    for (size_t length = strlen(line); length;) {
        uint32_t code;
        size_t taken = utf8_decode(line, length, &code);
        bool invalid = taken == 1 && code == REPLACEMENT_CODE;
        if (code == '\n' || code == '\r' || code == '\t')
            *line = ' ';
        else if (is_control(code) || invalid)
            memset(line, '?', taken);
        line += taken;
        length -= taken;
    }
}

static bool csv_needs_quotes(const char *data, size_t length)
{
    if (length && (data[0] == ' ' || data[length - 1] == ' '))
        return true;
    for (size_t index = 0; index < length; index++)
        if (data[index] == ',' || data[index] == '"' || data[index] == '\n' || data[index] == '\r')
            return true;
    return false;
}

void text_add_csv(struct text *text, const char *data, size_t length)
{
    bool quotes = csv_needs_quotes(data, length);
    if (quotes)
        text_add_char(text, '"');
    for (size_t index = 0; index < length;) {
        char character = data[index];
        if (character == '"')
            text_add_string(text, "\"\"");
        if (character == '\n' || character == '\r' || character == '\t')
            text_add_char(text, character);
        if (character == '"' || character == '\n' || character == '\r' || character == '\t')
            index++;
        else
            index += add_wide(text, data + index, length - index);
    }
    if (quotes)
        text_add_char(text, '"');
}

void text_add_word(struct text *text, const char *word)
{
    static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%^";
    if (*word && word[strspn(word, harmless)] == '\0') {
        text_add_string(text, word);
        return;
    }
    text_add_char(text, '\'');
    for (; *word; word++)
        if (*word == '\'')
            text_add_string(text, "'\\''");
        else
            text_add_char(text, *word);
    text_add_char(text, '\'');
}
