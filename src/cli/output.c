/* SPDX-License-Identifier: MIT */
/* What commands print with: look, JSON, CSV. */
#include "output.h"

#include "base/error.h"
#include "base/file.h"
#include "record/launcher.h"

#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* The locale is asked for its character set only; numbers stay as in "C". */
static bool locale_is_utf8(void)
{
    locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (!locale)
        return false;
    bool utf8 = strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    freelocale(locale);
    return utf8;
}

/* Launchers give ranks terminals of their own making, wherever the output goes: that is nobody's screen. */
static bool is_screen(int fd)
{
    struct launcher_rank launched;
    return isatty(fd) && (!launcher_rank_find(&launched) || launched.size == 1);
}

static unsigned terminal_width(int fd)
{
    struct winsize size;
    uint64_t columns;
    const char *text = getenv("COLUMNS");
    if (text && parse_u64(text, &columns) == 0 && columns >= 40 && columns <= 1000)
        return (unsigned)columns;
    if (!is_screen(fd))
        return 0; /* a file or a pipe: nothing is cut, so that it can be searched */
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
        return size.ws_col;
    return 80;
}

struct text_look output_look(int fd)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    bool plain = (no_colour && *no_colour) || !term || strcmp(term, "dumb") == 0;
    return (struct text_look){.width = terminal_width(fd), .colour = !plain && is_screen(fd), .utf8 = locale_is_utf8()};
}

int output_text(struct file_writer *out, struct text *text, struct error *err)
{
    bool failed = text->failed;
    if (!failed && text->length)
        file_write(out, text->data, text->length);
    text_finish(text);
    return failed ? error_set(err, -ENOMEM, "out of memory while printing") : 0;
}

static void json_begin(struct json *json, const char *key)
{
    if (json->depth) {
        bool *filled = &json->filled[json->depth - 1];
        if (*filled)
            text_add_char(json->out, ',');
        /* One member of the outer two levels a line: greppable, and still small. */
        if (json->depth <= 2)
            text_add_string(json->out, json->depth == 1 ? "\n" : "\n ");
        *filled = true;
    }
    if (key) {
        text_add_char(json->out, '"');
        text_add_string(json->out, key);
        text_add(json->out, "\":", 2);
    }
}

void json_open(struct json *json, const char *key, char bracket)
{
    json_begin(json, key);
    text_add_char(json->out, bracket);
    if (json->depth < sizeof json->filled / sizeof *json->filled)
        json->filled[json->depth++] = false;
    else
        json->out->failed = true;
}

void json_close(struct json *json, char bracket)
{
    json->depth -= json->depth > 0;
    if (json->depth < 2 && json->filled[json->depth])
        text_add_char(json->out, '\n');
    text_add_char(json->out, bracket);
    if (!json->depth)
        text_add_char(json->out, '\n');
}

void json_text(struct json *json, const char *key, const char *value)
{
    json_begin(json, key);
    if (!value) {
        text_add_string(json->out, "null");
        return;
    }
    text_add_char(json->out, '"');
    text_add_json(json->out, value, strlen(value));
    text_add_char(json->out, '"');
}

void json_string(struct json *json, const char *key, const char *value)
{
    json_text(json, key, value && *value ? value : NULL);
}

/* By hand: reports of large traces have millions of numbers. */
static void add_number(struct text *out, uint64_t value, bool negative)
{
    char digits[24];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    if (negative)
        digits[--at] = '-';
    text_add(out, digits + at, sizeof digits - at);
}

void json_i64(struct json *json, const char *key, int64_t value)
{
    json_begin(json, key);
    add_number(json->out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void json_u64(struct json *json, const char *key, uint64_t value)
{
    json_begin(json, key);
    add_number(json->out, value, false);
}

void json_double(struct json *json, const char *key, double value, unsigned decimals)
{
    json_begin(json, key);
    if (isfinite(value))
        text_addf(json->out, "%.*f", (int)decimals, value);
    else
        text_add_string(json->out, "null");
}

void json_bool(struct json *json, const char *key, bool value)
{
    json_begin(json, key);
    text_add_string(json->out, value ? "true" : "false");
}

void json_null(struct json *json, const char *key)
{
    json_begin(json, key);
    text_add_string(json->out, "null");
}

static void csv_begin(struct csv *csv)
{
    if (csv->filled)
        text_add_char(csv->out, ',');
    csv->filled = true;
}

void csv_text(struct csv *csv, const char *value)
{
    csv_begin(csv);
    if (value)
        text_add_csv(csv->out, value, strlen(value));
}

void csv_i64(struct csv *csv, int64_t value)
{
    csv_begin(csv);
    text_addf(csv->out, "%" PRId64, value);
}

void csv_u64(struct csv *csv, uint64_t value)
{
    csv_begin(csv);
    text_addf(csv->out, "%" PRIu64, value);
}

void csv_double(struct csv *csv, double value, unsigned decimals)
{
    csv_begin(csv);
    if (isfinite(value))
        text_addf(csv->out, "%.*f", (int)decimals, value);
}

void csv_empty(struct csv *csv)
{
    csv_begin(csv);
}

void csv_end(struct csv *csv)
{
    text_add_char(csv->out, '\n');
    csv->filled = false;
}
