/* SPDX-License-Identifier: MIT */
/* Hash map from 64-bit keys to 64-bit values: open addressing, any key value allowed. Not thread-safe. */
#ifndef HP_BASE_MAP_H
#define HP_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map {
    struct map_slot *slots;
    size_t count, capacity; /* capacity: 0 or a power of two */
};

void map_init(struct map *map);
void map_finish(struct map *map);
int map_set(struct map *map, uint64_t key, uint64_t value); /* inserts or replaces; 0 or -ENOMEM */
bool map_get(const struct map *map, uint64_t key, uint64_t *ret_value);
bool map_remove(struct map *map, uint64_t key);
void map_clear(struct map *map);                            /* keeps the capacity */
/* Visits all pairs in unspecified order: start with *position = 0; false when done. No change of the map meanwhile. */
bool map_next(const struct map *map, size_t *position, uint64_t *ret_key, uint64_t *ret_value);

uint64_t hash_u64(uint64_t value);                          /* a good mixer */
uint64_t hash_bytes(const void *data, size_t size);

#endif
