/* SPDX-License-Identifier: MIT */
/* Errors for people. */
#include "base/error.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Ends a text that did not fit with "...". */
static void mark_cut(struct error *err, size_t wanted)
{
    if (wanted >= sizeof(err->text))
        memcpy(err->text + sizeof(err->text) - 4, "...", 4);
}

__attribute__((format(printf, 2, 0)))
static size_t format_text(struct error *err, const char *format, va_list arguments)
{
    int written = vsnprintf(err->text, sizeof(err->text), format, arguments);
    if (written < 0) {
        err->text[0] = '\0';
        written = 0;
    }
    mark_cut(err, (size_t)written);
    line_clean(err->text); /* names of files and what stands in them are somebody else's */
    return strlen(err->text);
}

int error_set(struct error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list arguments;
    va_start(arguments, format);
    format_text(err, format, arguments);
    va_end(arguments);
    err->code = code;
    return code;
}

int error_set_errno(struct error *err, int code, const char *format, ...)
{
    if (!err)
        return code;
    va_list arguments;
    va_start(arguments, format);
    size_t length = format_text(err, format, arguments);
    va_end(arguments);
    char buffer[128];
    const char *reason = strerror_r(code < 0 ? -code : code, buffer, sizeof(buffer));
    int written = snprintf(err->text + length, sizeof(err->text) - length, ": %s", reason);
    mark_cut(err, length + (size_t)(written < 0 ? 0 : written));
    err->code = code;
    return code;
}
