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

/* The finest level while it is filled: bucket i covers [first + i, first + i + 1) << shift. */
struct lod_base {
    unsigned shift;
    int64_t first;
    uint32_t count;
    struct lod_bucket *buckets;
};
/* Shift, first and count that fit the track's rows so far, no finer than `shift` was; false: no rows. Buckets stay unset. */
bool lod_base_plan(const struct trace *trace, enum family family, track_id track, unsigned shift, struct lod_base *ret_base);
/* Adds the track's rows of blocks [from, to). */
int lod_base_fill(const struct trace *trace, enum family family, track_id track, struct lod_base *base, uint32_t from,
                  uint32_t to, struct error *err);
/* Adds what `from` has to `into`, which is as coarse or coarser and covers it. */
void lod_base_join(const struct lod_base *from, struct lod_base *into, enum family family);
/* A pyramid on a copy of the finest level. NULL on ENOMEM. */
struct lod *lod_from_base(const struct lod_base *base, enum family family);

/* Finest levels of a growing trace's tracks, which go on with each snapshot. lod_live.c; callers hold live->lock. */
struct live_lods;
void live_lods_destroy(struct live_lods *lods);
/* Only new blocks are read. -EAGAIN when a newer snapshot has moved on: compute by yourself. */
int live_lods_get(struct live_lods **lods, const struct trace *trace, enum family family, track_id track, struct lod **ret_lod,
                  struct error *err);

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
