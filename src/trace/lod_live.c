/* SPDX-License-Identifier: MIT */
/*
 * Levels of detail of a trace that grows: each track's finest level is kept between snapshots, made coarser as its time
 * grows, and only the blocks that are new are added. A span that was open when its block came counts up to that snapshot.
 */
#include "lod_internal.h"

#include "base/error.h"
#include "base/map.h"

#include <errno.h>

struct live_lod {
    struct lod_base base;
    uint32_t blocks; /* of the family that are in it */
};
struct live_lods {
    struct map index; /* family << 32 | track -> struct live_lod * */
};

void live_lods_destroy(struct live_lods *lods)
{
    uint64_t key, value;
    if (!lods)
        return;
    for (size_t position = 0; map_next(&lods->index, &position, &key, &value);) {
        struct live_lod *lod = (struct live_lod *)(uintptr_t)value;
        free(lod->base.buckets);
        free(lod);
    }
    map_finish(&lods->index);
    free(lods);
}

static struct live_lod *find_or_make(struct live_lods **lods, enum family family, track_id track)
{
    uint64_t key = (uint64_t)family << 32 | track.index, value;
    if (!*lods) {
        *lods = calloc(1, sizeof(**lods));
        if (!*lods)
            return NULL;
        map_init(&(*lods)->index);
    }
    if (map_get(&(*lods)->index, key, &value))
        return (struct live_lod *)(uintptr_t)value;
    struct live_lod *lod = calloc(1, sizeof(*lod));
    if (lod && map_set(&(*lods)->index, key, (uintptr_t)lod) == 0)
        return lod;
    free(lod);
    return NULL;
}

/* Room for what came: a new array, as coarse as it must be by now, takes over what the old one had. */
static int widen(struct live_lod *lod, const struct trace *trace, enum family family, track_id track, bool *ret_any)
{
    struct lod_base base;
    *ret_any = lod_base_plan(trace, family, track, lod->base.shift, &base);
    if (!*ret_any)
        return 0;
    base.buckets = calloc(base.count, sizeof(*base.buckets));
    if (!base.buckets)
        return -ENOMEM;
    lod_base_join(&lod->base, &base, family);
    free(lod->base.buckets);
    lod->base = base;
    return 0;
}

int live_lods_get(struct live_lods **lods, const struct trace *trace, enum family family, track_id track, struct lod **ret_lod,
                  struct error *err)
{
    uint32_t count = trace->blocks[family].count;
    struct live_lod *lod = find_or_make(lods, family, track);
    bool any;
    if (!lod)
        return error_set(err, -ENOMEM, "trace: out of memory for a timeline");
    if (lod->blocks > count)
        return -EAGAIN;
    *ret_lod = NULL;
    int result = widen(lod, trace, family, track, &any);
    if (result == 0 && any) {
        result = lod_base_fill(trace, family, track, &lod->base, lod->blocks, count, err);
        lod->blocks = count; /* also after a failure: nothing is added twice */
        if (result == 0 && !(*ret_lod = lod_from_base(&lod->base, family)))
            result = -ENOMEM;
    }
    return result == -ENOMEM ? error_set(err, result, "trace: out of memory for a timeline") : result;
}
