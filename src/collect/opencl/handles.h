/* SPDX-License-Identifier: MIT */
/* Memory of our own for a guest without malloc: pools of equal items, and maps from the runtime's handles to numbers.
 * No locks. */
#ifndef HP_COLLECT_OPENCL_HANDLES_H
#define HP_COLLECT_OPENCL_HANDLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ocl_load(pointer) __atomic_load_n((pointer), __ATOMIC_ACQUIRE)
#define ocl_store(pointer, value) __atomic_store_n((pointer), (value), __ATOMIC_RELEASE)
#define ocl_add(pointer, value) __atomic_fetch_add((pointer), (value), __ATOMIC_ACQ_REL)
#define ocl_swap(pointer, value) __atomic_exchange_n((pointer), (value), __ATOMIC_ACQ_REL)
#define ocl_change(pointer, expected, value)                                                                           \
    __atomic_compare_exchange_n((pointer), (expected), (value), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

/* Zeroed memory from the kernel; NULL: there is none. */
void *ocl_memory(size_t bytes);
void *ocl_wiped_memory(void); /* a page that is zero again in a child of fork; NULL: the kernel cannot */
void ocl_memory_free(void *memory, size_t bytes);

#define OCL_POOL_BLOCKS 4096
#define OCL_POOL_ITEMS 256 /* in a block */

/* Begins every item. Items are never given back to the kernel, so that a late reader of `next` reads memory. */
struct ocl_item {
    uint32_t number, next; /* its number + 1; the free one behind it (number + 1), 0 = none */
};
struct ocl_pool {
    uint32_t item_bytes, fresh; /* fresh: numbers below it were handed out at least once */
    uint64_t free;              /* number + 1 of the first free item, and a count against reuse in the upper half */
    void *blocks[OCL_POOL_BLOCKS];
};
void *ocl_pool_take(struct ocl_pool *pool); /* zeroed but for the item's head only when it is fresh; NULL: full */
void ocl_pool_give(struct ocl_pool *pool, void *item);
void *ocl_pool_at(struct ocl_pool *pool, uint32_t number); /* NULL: not made yet */

#define OCL_MAP_LEVELS 20
#define OCL_MAP_FIRST 1024 /* slots of the first level; each has twice those of the one before */

/* Handle -> number. A handle that comes again gets the new number; nothing is removed, as runtimes reuse handles. */
struct ocl_slot {
    uint64_t key, value;
};
struct ocl_map {
    struct ocl_slot *levels[OCL_MAP_LEVELS];
};
bool ocl_map_put(struct ocl_map *map, const void *key, uint64_t value);
uint64_t ocl_map_get(struct ocl_map *map, const void *key); /* 0: unknown */
void ocl_map_forget(struct ocl_map *map); /* in a child of fork: the parent's numbers mean nothing here */

#endif
