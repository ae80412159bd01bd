/* SPDX-License-Identifier: MIT */
/*
 * The cache of decoded blocks: least recently used go first, pinned ones never. Decoding happens outside the lock, so two
 * threads may decode the same block at once; the loser throws its copy away.
 */
#include "block.h"

#include <errno.h>

struct block_cache {
    _Atomic uint32_t references;
    pthread_mutex_t lock;
    size_t limit_bytes, used_bytes;
    struct decoded *newest, *oldest;
};

int block_cache_create(size_t limit_bytes, struct block_cache **ret_cache)
{
    struct block_cache *cache = calloc(1, sizeof(*cache));
    if (!cache)
        return -ENOMEM;
    cache->references = 1;
    cache->limit_bytes = limit_bytes;
    pthread_mutex_init(&cache->lock, NULL);
    *ret_cache = cache;
    return 0;
}

struct block_cache *block_cache_ref(struct block_cache *cache)
{
    cache->references++;
    return cache;
}

size_t block_cache_bytes(struct block_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    size_t bytes = cache->used_bytes;
    pthread_mutex_unlock(&cache->lock);
    return bytes;
}

static void unlink_entry(struct block_cache *cache, struct decoded *decoded)
{
    *(decoded->newer ? &decoded->newer->older : &cache->newest) = decoded->older;
    *(decoded->older ? &decoded->older->newer : &cache->oldest) = decoded->newer;
    decoded->newer = decoded->older = NULL;
}

static void push_newest(struct block_cache *cache, struct decoded *decoded)
{
    decoded->older = cache->newest;
    decoded->newer = NULL;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = decoded;
    cache->newest = decoded;
}

/* Takes an entry out of the list and away from its block; the caller frees it with entry_free. */
static void detach(struct block_cache *cache, struct decoded *decoded)
{
    unlink_entry(cache, decoded);
    cache->used_bytes -= decoded->bytes;
    if (decoded->block->decoded == decoded)
        decoded->block->decoded = NULL;
}

static void entry_free(struct decoded *decoded)
{
    struct block *block = decoded->block;
    decoded_free(decoded);
    block_unref(block);
}

void block_cache_unref(struct block_cache *cache)
{
    if (!cache || --cache->references > 0)
        return;
    while (cache->newest) {
        struct decoded *decoded = cache->newest;
        detach(cache, decoded);
        entry_free(decoded);
    }
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* Frees unpinned entries, oldest first, until the limit holds. Entries hold their blocks, so none dangles. */
static void shrink(struct block_cache *cache)
{
    struct decoded *decoded = cache->oldest;
    while (decoded && cache->used_bytes > cache->limit_bytes) {
        struct decoded *newer = decoded->newer;
        if (decoded->pins == 0) {
            detach(cache, decoded);
            entry_free(decoded);
        }
        decoded = newer;
    }
}

static struct decoded *find_pinned(struct block_cache *cache, struct block *block, uint32_t columns)
{
    struct decoded *decoded = block->decoded;
    if (!decoded || (decoded->columns & columns) != columns)
        return NULL;
    decoded->pins++;
    unlink_entry(cache, decoded);
    push_newest(cache, decoded);
    return decoded;
}

bool block_cache_find(struct block_cache *cache, struct block *block, uint32_t columns, struct decoded **ret_decoded)
{
    pthread_mutex_lock(&cache->lock);
    *ret_decoded = find_pinned(cache, block, columns);
    pthread_mutex_unlock(&cache->lock);
    return *ret_decoded != NULL;
}

int block_cache_get(struct block_cache *cache, struct block *block, uint32_t columns, block_decoder *decode,
                    const void *context, struct decoded **ret_decoded, struct error *err)
{
    pthread_mutex_lock(&cache->lock);
    struct decoded *found = find_pinned(cache, block, columns);
    if (!found && block->decoded)
        columns |= block->decoded->columns; /* so that the new entry serves those who wanted the old one */
    pthread_mutex_unlock(&cache->lock);
    if (found) {
        *ret_decoded = found;
        return 0;
    }
    struct decoded *decoded;
    int result = decode(context, block, columns, &decoded, err);
    if (result < 0)
        return result;
    pthread_mutex_lock(&cache->lock);
    struct decoded *poorer = NULL;
    found = find_pinned(cache, block, columns);
    if (!found) {
        poorer = block->decoded && block->decoded->pins == 0 ? block->decoded : NULL;
        if (poorer)
            detach(cache, poorer);
        decoded->block = block_ref(block);
        decoded->pins = 1;
        cache->used_bytes += decoded->bytes;
        push_newest(cache, decoded);
        block->decoded = decoded; /* a poorer entry that is pinned goes when it is put */
        shrink(cache);
    }
    pthread_mutex_unlock(&cache->lock);
    if (poorer)
        entry_free(poorer);
    if (found)
        decoded_free(decoded);
    *ret_decoded = found ? found : decoded;
    return 0;
}

void block_cache_put(struct block_cache *cache, struct decoded *decoded)
{
    if (!decoded || !decoded->block) {
        decoded_free(decoded);
        return;
    }
    pthread_mutex_lock(&cache->lock);
    decoded->pins--;
    bool orphan = decoded->pins == 0 && decoded->block->decoded != decoded;
    if (orphan)
        detach(cache, decoded);
    else if (cache->used_bytes > cache->limit_bytes)
        shrink(cache);
    pthread_mutex_unlock(&cache->lock);
    if (orphan)
        entry_free(decoded);
}
