/* SPDX-License-Identifier: MIT */
/* Level of detail on demand: from the file, from what was computed before, or from the blocks. */
#include "lod_internal.h"

#include "aggregates.h"
#include "native_reader.h"

#include "base/error.h"

#include <errno.h>
#include <string.h>

static const struct lod no_rows; /* what tracks without rows share */

void lod_set_destroy(struct lod_set *lods)
{
    if (!lods)
        return;
    for (size_t i = 0; i < (size_t)lods->tracks * LOD_FAMILIES; i++) {
        if (lods->items[i] != &no_rows)
            free(lods->items[i]);
    }
    free(lods->items);
    free(lods);
}

size_t trace_kept_bytes(const struct trace *constant)
{
    struct trace *trace = (struct trace *)(uintptr_t)constant; /* for its lock */
    size_t bytes = block_cache_bytes(trace->cache);
    pthread_mutex_lock(&trace->lock);
    for (size_t i = 0; trace->lods && i < (size_t)trace->lods->tracks * LOD_FAMILIES; i++)
        if (trace->lods->items[i] && trace->lods->items[i] != &no_rows)
            bytes += lod_packed_size(trace->lods->items[i]);
    pthread_mutex_unlock(&trace->lock);
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        bytes += (size_t)trace->tables[table]->count * table_schema((enum table)table)->row_size;
    return bytes;
}

void lod_block_range(const struct trace *trace, enum family family, track_id track, uint32_t *ret_first, uint32_t *ret_end)
{
    const struct block_array *blocks = &trace->blocks[family];
    uint32_t low = 0, high = blocks->count;
    *ret_first = 0;
    *ret_end = blocks->count;
    if (trace->growing)
        return;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (blocks->items[middle]->info.track.index < track.index)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_first = *ret_end = low;
    while (*ret_end < blocks->count && blocks->items[*ret_end]->info.track.index == track.index)
        ++*ret_end;
}

static struct lod_set *lod_set_create(uint32_t tracks)
{
    struct lod_set *lods = calloc(1, sizeof(*lods));
    if (!lods)
        return NULL;
    lods->tracks = tracks;
    lods->items = calloc((size_t)tracks * LOD_FAMILIES + 1, sizeof(*lods->items));
    if (lods->items)
        return lods;
    free(lods);
    return NULL;
}

/* Remembers a pyramid, unless another thread was faster: then that one holds. */
static int remember(struct trace *trace, size_t index, struct lod *lod, const struct lod **ret_lod)
{
    pthread_mutex_lock(&trace->lock);
    if (!trace->lods)
        trace->lods = lod_set_create(trace->tables[TABLE_TRACKS]->count);
    int result = trace->lods ? 0 : -ENOMEM;
    if (result == 0 && !trace->lods->items[index])
        trace->lods->items[index] = lod ? TAKE_PTR(lod) : (struct lod *)(uintptr_t)&no_rows;
    if (result == 0)
        *ret_lod = trace->lods->items[index];
    pthread_mutex_unlock(&trace->lock);
    free(lod);
    return result;
}

/* What the snapshots before this one have added up is gone on with. */
static int compute_live(const struct trace *trace, enum family family, track_id track, struct lod **ret_lod, struct error *err)
{
    pthread_mutex_lock(&trace->live->lock);
    int result = live_lods_get(&trace->live->lods, trace, family, track, ret_lod, err);
    pthread_mutex_unlock(&trace->live->lock);
    return result == -EAGAIN ? lod_compute(trace, family, track, ret_lod, err) : result;
}

int trace_lod(const struct trace *constant, enum family family, track_id track, const struct lod **ret_lod, struct error *err)
{
    struct trace *trace = (struct trace *)(uintptr_t)constant; /* what is remembered changes nothing that readers see */
    uint32_t tracks = trace->tables[TABLE_TRACKS]->count;
    if (track.index >= tracks || family >= LOD_FAMILIES)
        return error_set(err, -EINVAL, "trace: there is no track %u", track.index);
    size_t index = (size_t)family * tracks + track.index;
    pthread_mutex_lock(&trace->lock);
    const struct lod *known = trace->lods ? trace->lods->items[index] : NULL;
    pthread_mutex_unlock(&trace->lock);
    if (known) {
        *ret_lod = known;
        return 0;
    }
    struct lod *lod = NULL;
    int result = -ENOENT;
    if (trace->reader && !trace->growing)
        result = native_reader_lod(trace->reader, trace, family, track, &lod, err);
    if (result == -ENOENT && trace->live)
        result = compute_live(trace, family, track, &lod, err);
    else if (result == -ENOENT)
        result = lod_compute(trace, family, track, &lod, err);
    if (result < 0)
        return result;
    result = remember(trace, index, lod, ret_lod);
    return result < 0 ? error_set(err, result, "trace: out of memory for a timeline") : 0;
}

const struct lod_level *lod_level_for(const struct lod *lod, int64_t width_ns)
{
    const struct lod_level *found = NULL;
    for (uint32_t i = 0; i < lod->level_count && lod->levels[i].width_ns <= width_ns; i++)
        found = &lod->levels[i];
    return found;
}

#define HEAD_BYTES 8u
#define LEVEL_BYTES 24u

size_t lod_packed_size(const struct lod *lod)
{
    size_t size = HEAD_BYTES + LEVEL_BYTES * (size_t)lod->level_count;
    for (uint32_t i = 0; i < lod->level_count; i++)
        size += lod->levels[i].count * sizeof(struct lod_bucket);
    return size;
}

void lod_pack(const struct lod *lod, uint8_t *out)
{
    uint32_t head[2] = {lod->level_count, sizeof(struct lod_bucket)};
    memcpy(out, head, 8);
    uint8_t *buckets = out + HEAD_BYTES + LEVEL_BYTES * (size_t)lod->level_count;
    out += HEAD_BYTES;
    for (uint32_t i = 0; i < lod->level_count; i++) {
        const struct lod_level *level = &lod->levels[i];
        uint32_t counts[2] = {level->count, 0};
        memcpy(out, &level->width_ns, 8);
        memcpy(out + 8, &level->first, 8);
        memcpy(out + 16, counts, 8);
        out += LEVEL_BYTES;
        memcpy(buckets, level->buckets, level->count * sizeof(struct lod_bucket));
        buckets += level->count * sizeof(struct lod_bucket);
    }
}

static bool level_valid(const struct lod_level *level, const struct lod_level *finer)
{
    if (level->width_ns <= 0 || (level->width_ns & (level->width_ns - 1)) || level->width_ns > INT64_C(1) << 62)
        return false;
    int64_t limit = (INT64_C(1) << 62) / level->width_ns + 1;
    bool in_range = level->first >= -limit && level->first <= limit && level->count <= LOD_BUCKETS_MAX;
    return in_range && (!finer || level->width_ns > finer->width_ns);
}

int lod_unpack(const uint8_t *bytes, size_t size, uint32_t strings, struct lod **ret_lod)
{
    uint32_t head[2];
    if (size < HEAD_BYTES)
        return -EBADMSG;
    memcpy(head, bytes, 8);
    if (head[0] > LOD_LEVELS_MAX || head[1] != sizeof(struct lod_bucket) || size < HEAD_BYTES + LEVEL_BYTES * head[0])
        return -EBADMSG;
    size_t room = size - HEAD_BYTES - LEVEL_BYTES * head[0], used = 0;
    CLEANUP(freep) struct lod *lod = calloc(1, sizeof(*lod) + room);
    if (!lod)
        return -ENOMEM;
    struct lod_bucket *buckets = (struct lod_bucket *)(lod + 1);
    memcpy(buckets, bytes + size - room, room);
    lod->level_count = head[0];
    for (uint32_t i = 0; i < head[0]; i++) {
        struct lod_level *level = &lod->levels[i];
        memcpy(&level->width_ns, bytes + HEAD_BYTES + LEVEL_BYTES * i, 8);
        memcpy(&level->first, bytes + HEAD_BYTES + LEVEL_BYTES * i + 8, 8);
        memcpy(&level->count, bytes + HEAD_BYTES + LEVEL_BYTES * i + 16, 4);
        if (!level_valid(level, i ? level - 1 : NULL) || level->count * sizeof(struct lod_bucket) > room - used)
            return -EBADMSG;
        level->buckets = (const struct lod_bucket *)((const uint8_t *)buckets + used);
        used += level->count * sizeof(struct lod_bucket);
    }
    for (size_t i = 0; i < used / sizeof(struct lod_bucket); i++) {
        if (buckets[i].name.index >= strings || buckets[i].longest_name.index >= strings)
            return -EBADMSG;
    }
    if (used != room)
        return -EBADMSG;
    *ret_lod = TAKE_PTR(lod);
    return 0;
}
