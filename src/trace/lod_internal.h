/* SPDX-License-Identifier: MIT */
/* Level of detail inside this module: computing, packing for a file, and keeping what was computed. */
#ifndef HP_TRACE_LOD_INTERNAL_H
#define HP_TRACE_LOD_INTERNAL_H

#include "lod.h"
#include "trace_internal.h"

#define LOD_FAMILIES FAMILY_LINKS
#define LOD_BUCKETS_MIN 64u
#define LOD_BUCKETS_MAX 65536u
#define LOD_ROWS_PER_BUCKET 64u

/* One allocation: free() it. *ret_lod is NULL for a track without rows. */
int lod_compute(const struct trace *trace, enum family family, track_id track, struct lod **ret_lod, struct error *err);
/* The track's blocks in a finished trace: [*ret_first, *ret_end). In a growing one: all blocks. */
void lod_block_range(const struct trace *trace, enum family family, track_id track, uint32_t *ret_first, uint32_t *ret_end);

/* Bytes of the stored form, and writing and reading it. lod_unpack checks everything: -EBADMSG. */
size_t lod_packed_size(const struct lod *lod);
void lod_pack(const struct lod *lod, uint8_t *out);
int lod_unpack(const uint8_t *bytes, size_t size, uint32_t strings, struct lod **ret_lod);

struct lod_set {
    uint32_t tracks;
    struct lod **items; /* [family * tracks + track]; NULL: not known yet */
};

#endif
