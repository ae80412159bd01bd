/* SPDX-License-Identifier: MIT */
/* Pools and maps without locks: an item or a key is claimed by compare and swap; nothing that others may still read is
 * unmapped. */
#include "handles.h"

#include <errno.h>
#include <sys/mman.h>

void *ocl_memory(size_t bytes)
{
    int saved_errno = errno;
    void *memory = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    errno = saved_errno;
    return memory == MAP_FAILED ? 0 : memory;
}

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

void *ocl_wiped_memory(void)
{
    void *page = ocl_memory(4096);
    int saved_errno = errno;
    bool wipes = page && madvise(page, 4096, MADV_WIPEONFORK) == 0;
    errno = saved_errno;
    if (wipes || !page)
        return page;
    ocl_memory_free(page, 4096);
    return 0;
}

void ocl_memory_free(void *memory, size_t bytes)
{
    int saved_errno = errno;
    munmap(memory, bytes);
    errno = saved_errno;
}

static void *place_of(struct ocl_pool *pool, uint32_t number)
{
    char *block = ocl_load(&pool->blocks[number / OCL_POOL_ITEMS]);
    return block ? block + (size_t)(number % OCL_POOL_ITEMS) * pool->item_bytes : 0;
}

static struct ocl_item *take_free(struct ocl_pool *pool)
{
    uint64_t head = ocl_load(&pool->free);
    while ((uint32_t)head) {
        struct ocl_item *item = place_of(pool, (uint32_t)head - 1);
        uint64_t next = ((head >> 32) + 1) << 32 | ocl_load(&item->next);
        if (ocl_change(&pool->free, &head, next))
            return item;
    }
    return 0;
}

static bool block_make(struct ocl_pool *pool, uint32_t number)
{
    void **place = &pool->blocks[number / OCL_POOL_ITEMS], *none = 0;
    if (ocl_load(place))
        return true;
    size_t bytes = (size_t)OCL_POOL_ITEMS * pool->item_bytes;
    void *block = ocl_memory(bytes);
    if (!block)
        return false;
    if (!ocl_change(place, &none, block))
        ocl_memory_free(block, bytes);
    return true;
}

void *ocl_pool_take(struct ocl_pool *pool)
{
    struct ocl_item *item = take_free(pool);
    if (item)
        return item;
    uint32_t number = ocl_load(&pool->fresh);
    do {
        if (number >= OCL_POOL_BLOCKS * OCL_POOL_ITEMS || !block_make(pool, number))
            return 0;
    } while (!ocl_change(&pool->fresh, &number, number + 1));
    item = place_of(pool, number);
    item->number = number + 1;
    return item;
}

void ocl_pool_give(struct ocl_pool *pool, void *object)
{
    struct ocl_item *item = object;
    uint64_t head = ocl_load(&pool->free);
    do {
        ocl_store(&item->next, (uint32_t)head);
    } while (!ocl_change(&pool->free, &head, ((head >> 32) + 1) << 32 | item->number));
}

void *ocl_pool_at(struct ocl_pool *pool, uint32_t number)
{
    return number < ocl_load(&pool->fresh) ? place_of(pool, number) : 0;
}

/* Slots that a key may stand in: a run from its hash on. */
#define MAP_RUN 16u

static uint64_t hash_of(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15ull;
    return key ^ key >> 29;
}

static size_t slots_of(unsigned level)
{
    return (size_t)OCL_MAP_FIRST << level;
}

static struct ocl_slot *level_make(struct ocl_map *map, unsigned level)
{
    size_t bytes = (slots_of(level) + MAP_RUN) * sizeof(struct ocl_slot);
    struct ocl_slot *slots = ocl_memory(bytes), *none = 0;
    if (!slots)
        return 0;
    if (ocl_change(&map->levels[level], &none, slots))
        return slots;
    ocl_memory_free(slots, bytes);
    return none;
}

/* The key's slot. Without one: NULL, and the first empty slot of its runs, if there is any. */
static struct ocl_slot *find(struct ocl_map *map, uint64_t key, struct ocl_slot **ret_empty)
{
    uint64_t hash = hash_of(key);
    for (unsigned level = 0; level < OCL_MAP_LEVELS; level++) {
        struct ocl_slot *slots = ocl_load(&map->levels[level]);
        if (!slots)
            return 0;
        struct ocl_slot *run = slots + (hash & (slots_of(level) - 1));
        for (unsigned i = 0; i < MAP_RUN; i++) {
            uint64_t there = ocl_load(&run[i].key);
            if (there == key)
                return &run[i];
            if (!there) {
                *ret_empty = &run[i];
                return 0;
            }
        }
    }
    return 0;
}

static bool grow(struct ocl_map *map)
{
    for (unsigned level = 0; level < OCL_MAP_LEVELS; level++)
        if (!ocl_load(&map->levels[level]))
            return level_make(map, level);
    return false;
}

bool ocl_map_put(struct ocl_map *map, const void *object, uint64_t value)
{
    uint64_t key = (uintptr_t)object;
    for (;;) {
        struct ocl_slot *empty = 0, *slot = find(map, key, &empty);
        uint64_t none = 0;
        if (!slot && !empty && !grow(map))
            return false;
        if (!slot && empty && (ocl_change(&empty->key, &none, key) || none == key))
            slot = empty;
        if (slot) {
            ocl_store(&slot->value, value);
            return true;
        }
    }
}

uint64_t ocl_map_get(struct ocl_map *map, const void *object)
{
    struct ocl_slot *empty = 0, *slot = find(map, (uintptr_t)object, &empty);
    return slot ? ocl_load(&slot->value) : 0;
}

void ocl_map_forget(struct ocl_map *map)
{
    for (unsigned level = 0; level < OCL_MAP_LEVELS; level++)
        ocl_store(&map->levels[level], (struct ocl_slot *)0);
}
