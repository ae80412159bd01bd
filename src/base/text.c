/* SPDX-License-Identifier: MIT */
/* Text building: a byte buffer that remembers its first failure. */
#include "base/text.h"

#include "base/array.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_MAXIMUM ((size_t)1 << 30)

void text_finish(struct text *text)
{
    free(text->data);
    *text = (struct text){.maximum = text->maximum};
}

void text_clear(struct text *text)
{
    text->length = 0;
    text->failed = false;
    if (text->data)
        text->data[0] = '\0';
}

/* Room for `length` more bytes and the NUL. */
static bool reserve(struct text *text, size_t length)
{
    if (length < text->capacity - text->length && text->capacity && !text->failed)
        return true;
    if (text->failed)
        return false;
    size_t maximum = text->maximum ? text->maximum : DEFAULT_MAXIMUM;
    char *grown = NULL;
    if (text->length <= maximum && length <= maximum - text->length)
        grown = array_reserve(text->data, &text->capacity, text->length + length + 1, 1);
    if (!grown) {
        text->failed = true;
        return false;
    }
    text->data = grown;
    if (text->capacity > maximum) /* so that the fast path above keeps the bound too */
        text->capacity = maximum + 1;
    return true;
}

void text_add(struct text *text, const char *data, size_t length)
{
    if (!reserve(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, data, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void text_add_string(struct text *text, const char *string)
{
    text_add(text, string, strlen(string));
}

void text_add_char(struct text *text, char character)
{
    text_add(text, &character, 1);
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list arguments;
    if (!reserve(text, 64))
        return;
    size_t room = text->capacity - text->length;
    va_start(arguments, format);
    int wanted = vsnprintf(text->data + text->length, room, format, arguments);
    va_end(arguments);
    if (wanted >= 0 && (size_t)wanted >= room) {
        text->data[text->length] = '\0';
        if (!reserve(text, (size_t)wanted))
            return;
        va_start(arguments, format);
        wanted = vsnprintf(text->data + text->length, (size_t)wanted + 1, format, arguments);
        va_end(arguments);
    }
    if (wanted < 0) {
        text->data[text->length] = '\0';
        text->failed = true;
        return;
    }
    text->length += (size_t)wanted;
}

char *text_take(struct text *text)
{
    char *taken = NULL;
    if (!text->failed && reserve(text, 0)) {
        text->data[text->length] = '\0';
        taken = text->data;
        text->data = NULL;
    }
    free(text->data);
    *text = (struct text){.maximum = text->maximum};
    return taken;
}
