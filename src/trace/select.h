/* SPDX-License-Identifier: MIT */
/*
 * A part of a trace as a trace of its own: what a filter picks of what lies in a window. Spans are cut at the window's
 * edges; lives of processes and threads, tables and the ledger stay as they were. Spans get new ids, the parent of a span
 * whose parent is left out is the nearest ancestor that stays, and links and members go with their spans.
 */
#ifndef HP_TRACE_SELECT_H
#define HP_TRACE_SELECT_H

#include "filter.h"

struct progress;

/* In the metadata of a part: the window, as a recording has it that was limited to one, and the filter. Sums over the whole
 * run are left out there. */
#define WINDOW_BEGIN_KEY "recording.begin_ns"
#define WINDOW_END_KEY "recording.end_ns"
#define PART_WHERE_KEY "part.where"

struct trace_part {
    bool has_window;
    int64_t begin_ns, end_ns;         /* INT64_MIN, INT64_MAX: not limited on that side */
    const struct trace_filter *where; /* NULL = everything */
    const char *clock_domain;         /* only the nodes with this clock and what is of them; NULL = all */
    /* Bits by enum span_kind, 0 = everything: only spans of these kinds, all tracks, samples with their innermost frame alone, and an
     * instant each where the trace begins and ends, so that its extent stays what it was; of the metadata sums over the whole run as well. */
    uint64_t span_kinds;
};

int trace_select(const struct trace *trace, const struct trace_part *part, const struct progress *progress,
                 struct trace **ret_trace, struct error *err);

/* Of a trace whose nodes' clocks were never compared (not a merged one, which has them on one axis): the traces of its clocks, each of
 * which says so in its metadata as a recording does. The caller frees the parts and *ret_parts. */
bool trace_has_several_clocks(const struct trace *trace);
int trace_split_clocks(const struct trace *trace, const struct progress *progress, struct trace ***ret_parts, uint32_t *ret_count,
                       struct error *err);

/* What a recording was limited to: nothing is known of what was before and behind it, whatever lives on. */
struct trace_window {
    int64_t begin_ns, end_ns; /* INT64_MIN, INT64_MAX: not limited on that side */
};
struct trace_window trace_window_of(const struct trace *trace);
/* A life as far as it was recorded; its begin and end may be INT64_MIN: not known. What ends behind the window has an end that nobody
 * may know: there it ends with the window. False: nothing of it lies in the window. */
bool trace_window_clip(const struct trace_window *window, int64_t *begin_ns, int64_t *end_ns);

/* From when to when a trace tells of: events and lives of processes, within the window that it is limited to. */
void trace_extent(const struct trace *trace, int64_t *ret_begin_ns, int64_t *ret_end_ns);

#endif
