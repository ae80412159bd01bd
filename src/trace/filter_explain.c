/* SPDX-License-Identifier: MIT */
/* Why a filter matched nothing: terms of which nothing in the trace is. */
#include "filter_internal.h"

#include "base/text.h"

#include <string.h>

static const char *const complaints[FILTER_KEY_COUNT] = {
    [FILTER_NAME] = "no function and no span is called",
    [FILTER_CATEGORY] = "no span is of category",
    [FILTER_NODE] = "no machine is called",
    [FILTER_RANK] = "no process has rank",
    [FILTER_PROCESS] = "no process has the name or number",
    [FILTER_THREAD] = "no thread has the name or number",
    [FILTER_DEVICE] = "no device has the number",
    [FILTER_STREAM] = "no stream has the number",
};

static bool any_function(const struct trace *trace, const char *glob)
{
    uint32_t count;
    const struct trace_frame *frames = trace_frames(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (glob_match(glob, trace_text(trace, frames[i].function)))
            return true;
    return false;
}

/* Unknown counts as there. */
static bool any_span(const struct trace *trace, const struct filter_term *term)
{
    const struct span_aggregate *rows;
    uint32_t count;
    if (trace_span_aggregates(trace, &rows, &count, NULL) < 0)
        return true;
    for (uint32_t i = 0; i < count; i++)
        if (glob_match(term->glob, trace_text(trace, term->key == FILTER_NAME ? rows[i].name : rows[i].category)))
            return true;
    return false;
}

static bool any_track(const struct trace *trace, struct filter_term *term)
{
    const struct trace_filter alone = {.terms = term, .count = 1};
    struct filter_match *match;
    uint32_t count;
    bool found = false;
    if (filter_match_create(&alone, trace, &match) < 0)
        return true;
    trace_tracks(trace, &count);
    for (uint32_t i = 0; i < count && !found; i++)
        found = filter_match_track(match, (track_id){i});
    filter_match_destroy(match);
    return found;
}

static bool exists(const struct trace *trace, struct filter_term *term)
{
    switch (term->key) {
    case FILTER_NAME:
        return any_function(trace, term->glob) || any_span(trace, term);
    case FILTER_CATEGORY:
        return any_span(trace, term);
    default:
        return any_track(trace, term);
    }
}

void filter_explain(const struct trace_filter *filter, const struct trace *trace, struct text *out)
{
    for (size_t i = 0; i < filter->count; i++) {
        struct filter_term *term = &filter->terms[i];
        if (!complaints[term->key] || exists(trace, term))
            continue;
        text_add_string(out, out->length ? ", " : "");
        text_add_string(out, complaints[term->key]);
        text_add_string(out, " '");
        text_add_line(out, term->glob, strlen(term->glob));
        text_add_char(out, '\'');
    }
}
