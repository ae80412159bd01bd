/* SPDX-License-Identifier: MIT */
/* Compiling the filter language: terms split at commas that no backslash precedes; the glob keeps its backslashes. */
#include "filter_internal.h"

#include "base/array.h"
#include "base/error.h"
#include "base/text.h"

#include <errno.h>
#include <string.h>

static const char *const key_names[FILTER_KEY_COUNT] = {
#define FILTER_KEY(enumerator, name) name,
    FILTER_KEYS
#undef FILTER_KEY
};

static void key_list(struct text *text)
{
    for (unsigned key = 0; key < FILTER_KEY_COUNT; key++)
        text_addf(text, "%s%s", key ? " " : "", key_names[key]);
}

static int unknown_key(const char *text, size_t position, size_t length, struct error *err)
{
    struct text keys = TEXT_INIT;
    key_list(&keys);
    int result = error_set(err, -EINVAL, "filter: position %zu: no key '%.*s'; keys are %s", position + 1, (int)length,
                           text + position, keys.data ? keys.data : "");
    text_finish(&keys);
    return result;
}

static bool kind_matches_any(const char *glob)
{
    for (unsigned kind = 0; kind < SPAN_KIND_COUNT; kind++) {
        if (glob_match(glob, span_kind_name((enum span_kind)kind)))
            return true;
    }
    return false;
}

static int unknown_kind(const char *glob, size_t position, struct error *err)
{
    struct text kinds = TEXT_INIT;
    for (unsigned kind = 0; kind < SPAN_KIND_COUNT; kind++)
        text_addf(&kinds, "%s%s", kind ? " " : "", span_kind_name((enum span_kind)kind));
    int result = error_set(err, -EINVAL, "filter: position %zu: no kind is like '%s'; kinds are %s", position + 1, glob,
                           kinds.data ? kinds.data : "");
    text_finish(&kinds);
    return result;
}

/* One term text[begin, end). */
static int add_term(struct trace_filter *filter, const char *text, size_t begin, size_t end, struct error *err)
{
    while (begin < end && text[begin] == ' ')
        begin++;
    const char *equals = memchr(text + begin, '=', end - begin);
    if (!equals)
        return error_set(err, -EINVAL, "filter: position %zu: expected key=glob, got '%.*s'", begin + 1, (int)(end - begin),
                         text + begin);
    size_t length = (size_t)(equals - text) - begin;
    unsigned key = 0;
    while (key < FILTER_KEY_COUNT && (strlen(key_names[key]) != length || memcmp(key_names[key], text + begin, length) != 0))
        key++;
    if (key == FILTER_KEY_COUNT)
        return unknown_key(text, begin, length, err);
    size_t start = begin + length + 1;
    CLEANUP(freep) char *glob = strndup(text + start, end - start);
    struct filter_term *terms = array_reserve(filter->terms, &filter->capacity, filter->count + 1, sizeof(*terms));
    if (terms)
        filter->terms = terms;
    if (!glob || !terms)
        return error_set(err, -ENOMEM, "filter: out of memory");
    if (key == FILTER_KIND && !kind_matches_any(glob))
        return unknown_kind(glob, start, err);
    terms[filter->count++] = (struct filter_term){(enum filter_key)key, TAKE_PTR(glob)};
    return 0;
}

int trace_filter_compile(const char *text, struct trace_filter **ret_filter, struct error *err)
{
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = calloc(1, sizeof(*filter));
    if (!filter)
        return error_set(err, -ENOMEM, "filter: out of memory");
    size_t length = text ? strlen(text) : 0;
    for (size_t begin = 0; length && begin <= length;) {
        size_t end = begin;
        while (end < length && text[end] != ',')
            end += text[end] == '\\' && end + 1 < length ? 2 : 1;
        int result = add_term(filter, text, begin, end, err);
        if (result < 0)
            return result;
        begin = end + 1;
    }
    *ret_filter = TAKE_PTR(filter);
    return 0;
}

void trace_filter_describe(const struct trace_filter *filter, struct text *out)
{
    for (size_t i = 0; i < filter->count; i++)
        text_addf(out, "%s%s=%s", i ? "," : "", key_names[filter->terms[i].key], filter->terms[i].glob);
}

void trace_filter_destroy(struct trace_filter *filter)
{
    if (!filter)
        return;
    for (size_t i = 0; i < filter->count; i++)
        free(filter->terms[i].glob);
    free(filter->terms);
    free(filter);
}
