/* SPDX-License-Identifier: MIT */
/*
 * Samples that were recorded as they came: copies of stacks that the recorder could not unwind in time, and those that a
 * target took of itself. Unwinding goes on all cores, a batch at a time.
 */
#ifndef HP_RECORD_MERGE_UNWIND_H
#define HP_RECORD_MERGE_UNWIND_H

#include "merge_maps.h"
#include "merge_modules.h"

struct merge_unwind;

int merge_unwind_create(struct merge *merge, struct merge_modules *modules, struct merge_maps *maps,
                        struct merge_unwind **ret_unwind);
void merge_unwind_destroy(struct merge_unwind *unwind);
DEFINE_CLEANUP(struct merge_unwind *, merge_unwind_destroy)

int merge_unwind_chain(struct merge_unwind *unwind, const struct merge_stream *stream, const struct wire_chain_sample *record);
int merge_unwind_stack(struct merge_unwind *unwind, const struct merge_stream *stream, const struct wire_stack_sample *record);
/* Does what is still waiting. */
int merge_unwind_finish(struct merge_unwind *unwind);

#endif
