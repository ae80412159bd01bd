/* SPDX-License-Identifier: MIT */
/*
 * Merging the sorted blocks of one track into one sorted sequence. A block is decoded when the merge reaches its first
 * row and let go behind its last, so that nearly sorted input needs few blocks at a time.
 */
#ifndef HP_TRACE_MERGE_H
#define HP_TRACE_MERGE_H

#include "block.h"

struct merge_source {
    struct block *block;
    struct decoded *decoded; /* NULL: not reached, or done with */
    uint32_t next;           /* row */
    uint32_t sequence;       /* position given: equal rows come in this order */
};
struct merge_row {
    uint32_t source, row;
};
struct merge {
    struct merge_source *sources; /* in order of (begin, position given) */
    uint32_t source_count, opened;
    uint32_t *heap;               /* sources that are open and not exhausted */
    uint32_t heap_count;
    uint32_t *retired;            /* exhausted, but rows of the current batch are theirs */
    uint32_t retired_count;
    uint32_t columns;
    /* Called when no row of a source is needed any more; NULL = not wanted. */
    void (*retire)(void *context, struct merge_source *source);
    void *context;
};

/* Blocks of one track (and family) in order of sealing. The blocks stay the caller's. */
int merge_init(struct merge *merge, struct block *const *blocks, uint32_t count, uint32_t columns);
void merge_finish(struct merge *merge);
/* The next rows, up to `maximum`; 0 at the end; -errno. They hold until the next call. */
int merge_next(struct merge *merge, struct merge_row *rows, uint32_t maximum, uint32_t *ret_count, struct error *err);

#endif
