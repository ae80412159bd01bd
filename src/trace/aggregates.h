/* SPDX-License-Identifier: MIT */
/* Per-function and per-stack sums of a whole trace, and their incremental form for a growing one. */
#ifndef HP_TRACE_AGGREGATES_H
#define HP_TRACE_AGGREGATES_H

#include "span_accumulator.h"
#include "trace_internal.h"

struct sample_accumulator {
    struct sample_aggregate *rows;
    uint32_t count;
    size_t capacity;
    struct row_index index;
};
void sample_accumulator_finish(struct sample_accumulator *accumulator);
int sample_accumulator_add(struct sample_accumulator *accumulator, const struct sample_aggregate *sample);

/* Sums of a growing trace, moved forward by whichever snapshot is newest. */
struct live_aggregates {
    _Atomic uint32_t references;
    pthread_mutex_t lock;
    struct span_accumulator spans;
    struct sample_accumulator samples;
    uint32_t span_blocks, sample_blocks; /* so many are in the sums */
    struct live_lods *lods;              /* lod_live.c; NULL until the first */
};
int live_aggregates_create(struct live_aggregates **ret_live);
struct live_aggregates *live_aggregates_ref(struct live_aggregates *live);

#endif
