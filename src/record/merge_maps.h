/* SPDX-License-Identifier: MIT */
/* What each program image of a recording had mapped at a time. */
#ifndef HP_RECORD_MERGE_MAPS_H
#define HP_RECORD_MERGE_MAPS_H

#include "merge_modules.h"

struct merge_maps;

int merge_maps_create(struct merge *merge, struct merge_modules *modules, struct merge_maps **ret_maps);
void merge_maps_destroy(struct merge_maps *maps);
DEFINE_CLEANUP(struct merge_maps *, merge_maps_destroy)

/* First pass. */
int merge_maps_note(struct merge_maps *maps, const struct wire_mapping *record);
int merge_maps_note_target(struct merge_maps *maps, const struct merge_stream *stream, const struct wire_target_maps *record);
/* After it: gives each mapping to its program image, in order of time. */
int merge_maps_prepare(struct merge_maps *maps);
/* The mappings of a process at a time of the trace: valid until the next call. NULL: no memory. */
struct address_map *merge_maps_at(struct merge_maps *maps, process_id process, int64_t time_ns);
/* All that it ever mapped, later on top of earlier: for what a target's own list named after it was used. */
struct address_map *merge_maps_last(struct merge_maps *maps, process_id process);
/* Equal for times between which its mappings do not change. */
uint64_t merge_maps_state(const struct merge_maps *maps, process_id process, int64_t time_ns);

#endif
