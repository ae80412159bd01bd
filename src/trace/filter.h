/* SPDX-License-Identifier: MIT */
/*
 * The filter language: `key=glob` terms joined by commas, all must hold; `\,` and `\\` escape in a glob; '*' matches '/'.
 * Keys: name category kind node rank process thread device stream path.
 * process: program name or pid; thread: name or tid; path: names of the enclosing spans (or the frames of a sample's stack)
 * from the outermost to its own, joined by '/'. A sample's name is its leaf function, its kind compute, blocked (switches),
 * fault or kernel (GPU PC samples). What is unknown (no rank, no device) matches nothing. A scheduler's lane without a name
 * has that of its thread.
 */
#ifndef HP_TRACE_FILTER_H
#define HP_TRACE_FILTER_H

#include "trace.h"

struct trace_filter;

/* -EINVAL with position and the list of keys for a text that is no filter. NULL or "" matches everything. */
int trace_filter_compile(const char *text, struct trace_filter **ret_filter, struct error *err);
struct text;
void trace_filter_describe(const struct trace_filter *filter, struct text *out); /* appends it as its text */
void trace_filter_destroy(struct trace_filter *filter);
DEFINE_CLEANUP(struct trace_filter *, trace_filter_destroy)

/* A filter bound to one trace: tests are cached per string, track and stack, so that a row costs a few loads. Not shared by threads. */
struct filter_match;
int filter_match_create(const struct trace_filter *filter, const struct trace *trace, struct filter_match **ret_match);
void filter_match_destroy(struct filter_match *match);
DEFINE_CLEANUP(struct filter_match *, filter_match_destroy)
bool filter_match_track(struct filter_match *match, track_id track); /* false: no row of this track can match */
bool filter_match_span(struct filter_match *match, const struct span_block *block, uint32_t row);
/* For rows of trace_sample_aggregates. */
bool filter_match_stack(struct filter_match *match, track_id track, stack_id stack, uint8_t event);
/* Of an instant, or a counter, which is named as its track: they are of no known kind, and nothing encloses them. */
bool filter_match_point(struct filter_match *match, track_id track, string_id name, string_id category);
bool filter_match_sample(struct filter_match *match, const struct sample_block *block, uint32_t row);
bool filter_match_sums(struct filter_match *match, const struct span_aggregate *row); /* name, category, kind only */
/* The columns of spans that filter_match_span looks at (trace_spans_get_columns). */
uint32_t filter_span_columns(const struct trace_filter *filter);
/* False: the filter asks only for name, category and kind, so that it can be answered from trace_span_aggregates. */
bool filter_match_needs_rows(const struct trace_filter *filter);
/* Appends what a filter that matched nothing asks for and the trace has not at all: "no thread has the name or number 'nope'"; nothing if
 * only the terms together match nothing. */
void filter_explain(const struct trace_filter *filter, const struct trace *trace, struct text *out);
/* Whether it chooses among the rows of a track (name, category, kind, path), so that other rows than it asks for are left out. */
bool filter_chooses_rows(const struct trace_filter *filter);

#endif
