/* SPDX-License-Identifier: MIT */
/* Functions and spans with their sums, of a stretch of time and under a filter: what tables of hotspots show. */
#ifndef HP_VIEW_HOTSPOTS_H
#define HP_VIEW_HOTSPOTS_H

#include "base/cleanup.h"
#include "trace/filter.h"
#include "trace/trace.h"

struct error;

enum hotspot_group { HOTSPOT_SAMPLES, HOTSPOT_SPANS, HOTSPOT_OFF_CPU, HOTSPOT_GROUPS };

struct hotspot {
    enum hotspot_group group;
    string_id name, category;
    module_id module;        /* of functions */
    enum span_kind kind;     /* of spans */
    uint64_t count;          /* samples in it or below it; spans that lie in the window, in part or whole */
    int64_t total_ns, self_ns;
    int64_t min_ns, max_ns;  /* of spans */
};

struct hotspots {
    struct hotspot *rows;    /* group by group, each by self time */
    size_t count, group_count[HOTSPOT_GROUPS];
    int64_t self_ns[HOTSPOT_GROUPS], largest_ns[HOTSPOT_GROUPS];
};

struct hotspot_options {
    const struct trace_filter *where; /* NULL: everything */
    bool has_window;                  /* spans count with the part that lies in it */
    int64_t begin_ns, end_ns;
};
int hotspots_create(const struct trace *trace, const struct hotspot_options *options, struct hotspots **ret_hotspots, struct error *err);
void hotspots_destroy(struct hotspots *hotspots);
DEFINE_CLEANUP(struct hotspots *, hotspots_destroy)

/* Sums of the spans of a stretch of time, as aggregate_spans has them; the caller frees *ret_rows. */
int window_span_sums(const struct trace *trace, const struct hotspot_options *options, struct span_aggregate **ret_rows,
                     uint32_t *ret_count, struct error *err);

#endif
