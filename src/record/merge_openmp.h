/* SPDX-License-Identifier: MIT */
/* Between the files of merge_openmp*.c: what is kept of OpenMP's spans until all of them are there. */
#ifndef HP_RECORD_MERGE_OPENMP_H
#define HP_RECORD_MERGE_OPENMP_H

#include "merge_internal.h"

/* Keys are hashes of (process, number): regions, tasks and locks of all processes in one table each. */
struct openmp_member {
    uint64_t region;
    span_id span;
};
struct openmp_barrier {
    uint64_t region, sequence;
    span_id span;
    string_id name;
};
struct openmp_stretch {
    uint64_t task;
    int64_t begin_ns, end_ns;
    span_id span;
    bool complete;
};
struct openmp_create {
    uint64_t task, parent;
    int64_t time_ns;
    span_id span;
};
struct openmp_wait {
    uint64_t task;
    int64_t begin_ns, end_ns;
    span_id span;
    bool group; /* waits for all that is made in it, not for the task's children only */
};
struct openmp_lock {
    uint64_t lock;
    int64_t begin_ns, had_ns, released_ns; /* released: INT64_MIN = unknown */
    span_id span;
};
struct openmp_pair {
    uint64_t first, second;
};

#define OPENMP_LIST(type, name) \
    struct {                    \
        type *items;            \
        size_t count, capacity; \
    } name
struct openmp {
    struct map regions;        /* key -> handle of the PARALLEL span */
    struct map ends;           /* key -> when the region ended, in its process' clock */
    struct map fulfilled;      /* key of a detached task -> ns when its event came */
    OPENMP_LIST(struct openmp_member, members);
    OPENMP_LIST(struct openmp_barrier, barriers);
    OPENMP_LIST(struct openmp_stretch, stretches);
    OPENMP_LIST(struct openmp_create, creates);
    OPENMP_LIST(struct openmp_wait, waits);
    OPENMP_LIST(struct openmp_lock, locks);
    OPENMP_LIST(struct openmp_pair, depends);
    struct openmp_names *names;
    uint64_t unpaired, too_deep, absent, unmatched, not_run, waits_unlinked;
    string_id complete;        /* the text */
};

uint64_t openmp_key(const struct merge_stream *stream, uint64_t number);

/* merge_openmp_names.c: `solve.c:142 parallel for in smooth()`. */
int openmp_names_create(struct merge *merge, struct openmp_names **ret_names);
void openmp_names_destroy(struct openmp_names *names);
/* Code `address` was met at a construct of this kind inside a region of code `around` (0 = none). `number`: as short records have it. */
int openmp_names_add(struct openmp_names *names, const struct merge_stream *stream, uint64_t address, uint64_t around, unsigned kind, uint32_t number);
uint64_t openmp_names_code(const struct openmp_names *names, const struct merge_stream *stream, uint32_t number);
int openmp_names_apply(struct merge *merge, struct openmp_names *names, struct merge_span *span);

/* merge_openmp_short.c: a look ahead tells when regions end; records in the short form become spans. */
int openmp_ahead_region(struct merge *merge, const struct merge_stream *stream, const struct wire_header *record);
int openmp_on_region(struct merge *merge, const struct merge_stream *stream, const struct wire_header *record);
int openmp_on_part(struct merge *merge, const struct merge_stream *stream, const struct wire_header *record);
int openmp_on_sync(struct merge *merge, const struct merge_stream *stream, const struct wire_header *record);

/* merge_openmp_links.c: once all spans are there. */
int openmp_links_add(struct merge *merge, struct openmp *openmp);

struct openmp *openmp_of(struct merge *merge);

#endif
