/* SPDX-License-Identifier: MIT */
/* All spans of a finished trace side by side in memory, for analyses that follow links from span to span. */
#ifndef HP_ANALYSIS_SPAN_TABLE_H
#define HP_ANALYSIS_SPAN_TABLE_H

#include "trace/trace.h"

struct progress;

#define SPAN_TABLE_BLOCKS 16 /* held for their payloads */

/* Columns by span id. Spans are sorted by track, then begin: those of a track are [track_first[t], track_first[t + 1]). */
struct span_table {
    const struct trace *trace;
    uint32_t count, track_count;
    int64_t *begin_ns, *end_ns; /* end: as far as it is known, never before the begin */
    uint32_t *track, *parent;   /* parent: ID_NONE = none */
    string_id *name, *category;
    uint8_t *kind;
    stack_id *stack;
    uint32_t *track_first;
    const struct trace_track *tracks;
    bool shared;                /* the columns are another one's */
    struct span_table_block {
        uint32_t block;
        bool used;
        struct span_block rows;
    } blocks[SPAN_TABLE_BLOCKS];
};

/* Whether spans are there by track, numbered without a gap: -EINVAL with a text for a trace that still grows, or lost blocks. */
int spans_are_whole(const struct trace *trace, struct error *err);
/* -EINVAL as above. */
int span_table_create(const struct trace *trace, const struct progress *progress, struct span_table **ret_table, struct error *err);
/* The same columns, with held blocks of its own: for another thread, as long as the first one is there. 0 or -ENOMEM. */
int span_table_share(const struct span_table *table, struct span_table **ret_table);
void span_table_destroy(struct span_table *table);
DEFINE_CLEANUP(struct span_table *, span_table_destroy)

/* The payload of a span, read from its block. Not for several threads at once. */
int span_table_payload(struct span_table *table, uint32_t span, struct payload *ret_payload, struct error *err);

static inline bool payload_field(const struct payload *payload, unsigned field, uint64_t *ret_value)
{
    if (!(payload->present >> field & 1))
        return false;
    *ret_value = payload->fields[field].u64;
    return true;
}

/* Reads all links of a trace, as they are stored; the caller frees. */
int trace_links_read(const struct trace *trace, struct trace_link **ret_links, size_t *ret_count, struct error *err);
/* All members of groups, sorted by group, then span. */
int trace_members_read(const struct trace *trace, struct group_member **ret_members, size_t *ret_count, struct error *err);

#endif
