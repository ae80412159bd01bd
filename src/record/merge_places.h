/* SPDX-License-Identifier: MIT */
/* Call stacks of spans. The other half of merge_places.c, merge_locate, is in merge.h. */
#ifndef HP_RECORD_MERGE_PLACES_H
#define HP_RECORD_MERGE_PLACES_H

#include "merge_maps.h"
#include "merge_modules.h"

extern const struct merge_part merge_part_places;

/* The stack that a process' records know by this number, with inlined frames; STACK_NONE for 0 and where it is lost. */
int merge_call_stack(struct merge *merge, const struct merge_stream *stream, uint32_t number, stack_id *ret_stack);

/* merge_samples.c, who has them. */
struct merge_modules *merge_samples_modules(struct merge *merge);
struct merge_maps *merge_samples_maps(struct merge *merge);

#endif
