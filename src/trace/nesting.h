/* SPDX-License-Identifier: MIT */
/*
 * Nesting of spans on one track by a sweep in order of (begin, end descending). Spans may overlap partly: a span's
 * parent is the latest-begun span that contains it whole. Amortised constant time a span: an earlier-begun span that ends
 * no later than a newer one can never be innermost again and is dropped.
 */
#ifndef HP_TRACE_NESTING_H
#define HP_TRACE_NESTING_H

#include "ids.h"

#include <stdbool.h>
#include <stddef.h>

struct nesting_entry {
    int64_t begin_ns, end_ns;
    int64_t covered_until_ns; /* children cover the entry up to here */
    int64_t children_ns;      /* time that direct children take, overlaps counted once */
    uint32_t id;
    uint32_t tag;             /* the caller's */
};
struct nesting {
    struct nesting_entry *stack;
    size_t depth, capacity;
    /* Called for each span when nothing can be inside it any more; NULL = not wanted. */
    void (*closed)(void *context, const struct nesting_entry *entry);
    void *context;
};

/* Adds the next span and gives its parent's id (ID_NONE: none). `holds`: it may be a parent itself (trace_span_holds). 0 or -ENOMEM. */
int nesting_add(struct nesting *nesting, int64_t begin_ns, int64_t end_ns, uint32_t id, uint32_t tag, bool holds, uint32_t *ret_parent);
void nesting_close_all(struct nesting *nesting);
void nesting_finish(struct nesting *nesting); /* frees; closes nothing */

#endif
