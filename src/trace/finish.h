/* SPDX-License-Identifier: MIT */
/* Finishing a trace: the parts that builder_finish.c and finish_lane.c share. */
#ifndef HP_TRACE_FINISH_H
#define HP_TRACE_FINISH_H

#include "builder_internal.h"
#include "merge.h"
#include "nesting.h"
#include "references.h"
#include "span_accumulator.h"

/* All blocks of one family on one track. */
struct finish_lane {
    enum family family;
    track_id track;
    struct block **blocks; /* in order of sealing; entries become NULL as they are used up */
    uint32_t count;
    uint32_t first;        /* span id or running number of its first row */
    uint64_t rows;
    bool in_order;         /* blocks follow each other without overlap: no merge */
    struct block_array output;
};

struct finish {
    struct trace_builder *builder;
    struct trace *trace;
    struct references references;
    bool has_references;
    struct finish_lane *lanes;
    uint32_t lane_count;
    _Atomic uint32_t next_lane;
    bool resolving;            /* the pass that only finds ids, before the one that writes */
    pthread_mutex_t lock;
    struct span_accumulator spans;
    int failure;
    struct error *err;
};

/* What one thread works with. */
struct finish_worker {
    struct finish *finish;
    struct body_builder body;
    struct span_accumulator spans;
    struct nesting nesting;
    struct merge_row *rows;    /* BLOCK_ROWS_MAX */
    uint32_t *parents;         /* BLOCK_ROWS_MAX */
};
int finish_worker_init(struct finish_worker *worker, struct finish *finish);
void finish_worker_finish(struct finish_worker *worker);
/* Sorts, nests and writes one lane; or, while resolving, finds the ids of its spans that are referred to. */
int finish_lane_write(struct finish_worker *worker, struct finish_lane *lane, struct error *err);
int finish_lane_resolve(struct finish_worker *worker, struct finish_lane *lane, struct error *err);

#endif
