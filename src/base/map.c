/* SPDX-License-Identifier: MIT */
/*
 * Hash map: linear probing at most 3/4 full, removal by shifting back, so there are no tombstones. Key 0 marks an empty
 * slot; the pair whose key is 0 lives in one extra slot behind the table (slots[capacity], whose key says whether it is set).
 */
#include "base/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_CAPACITY ((size_t)16)

struct map_slot {
    uint64_t key, value;
};

uint64_t hash_u64(uint64_t value)
{
    /* Two rounds of multiply and fold: every input bit reaches the low bits, which choose the slot. */
    value ^= value >> 32;
    value *= 0x9e3779b97f4a7c15u;
    value ^= value >> 29;
    value *= 0xd6e8feb86659fd93u;
    return value ^ (value >> 32);
}

static uint64_t load_u64(const unsigned char *data, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, data, size);
    return word;
}

static uint64_t multiply_fold(uint64_t left, uint64_t right)
{
    unsigned __int128 product = (unsigned __int128)left * right;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t size)
{
    const unsigned char *bytes = data;
    uint64_t hash = 0x2545f4914f6cdd1du ^ size;
    for (; size > 16; bytes += 16, size -= 16)
        hash = multiply_fold(load_u64(bytes, 8) ^ 0xa0b428db7c1f9d63u, load_u64(bytes + 8, 8) ^ hash);
    if (size > 8)
        hash = multiply_fold(load_u64(bytes, 8) ^ 0xe19b01aa5d3c8c47u, load_u64(bytes + 8, size - 8) ^ hash);
    else if (size)
        hash = multiply_fold(load_u64(bytes, size) ^ 0x94d049bb133111ebu, hash ^ 0xbf58476d1ce4e5b9u);
    return hash_u64(hash);
}

void map_init(struct map *map)
{
    *map = (struct map){0};
}

void map_finish(struct map *map)
{
    free(map->slots);
    map_init(map);
}

/* The slot that holds key, or the empty one where it belongs. Key isn't 0 and the table has an empty slot. */
static struct map_slot *find_slot(struct map_slot *slots, size_t capacity, uint64_t key)
{
    size_t mask = capacity - 1;
    size_t index = (size_t)hash_u64(key) & mask;
    while (slots[index].key && slots[index].key != key)
        index = (index + 1) & mask;
    return &slots[index];
}

static int grow(struct map *map)
{
    size_t capacity = map->capacity ? map->capacity * 2 : SMALLEST_CAPACITY;
    if (capacity > SIZE_MAX / sizeof(struct map_slot) / 2)
        return -ENOMEM;
    struct map_slot *slots = calloc(capacity + 1, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t index = 0; index < map->capacity; index++)
        if (map->slots[index].key)
            *find_slot(slots, capacity, map->slots[index].key) = map->slots[index];
    if (map->capacity)
        slots[capacity] = map->slots[map->capacity];
    free(map->slots);
    map->slots = slots;
    map->capacity = capacity;
    return 0;
}

int map_set(struct map *map, uint64_t key, uint64_t value)
{
    if (map->count >= map->capacity - map->capacity / 4) {
        int result = grow(map);
        if (result < 0)
            return result;
    }
    struct map_slot *slot = key ? find_slot(map->slots, map->capacity, key) : &map->slots[map->capacity];
    if (!slot->key) {
        slot->key = key ? key : 1;
        map->count++;
    }
    slot->value = value;
    return 0;
}

bool map_get(const struct map *map, uint64_t key, uint64_t *ret_value)
{
    if (!map->count)
        return false;
    const struct map_slot *slot = key ? find_slot(map->slots, map->capacity, key) : &map->slots[map->capacity];
    if (!slot->key)
        return false;
    *ret_value = slot->value;
    return true;
}

bool map_remove(struct map *map, uint64_t key)
{
    if (!map->count)
        return false;
    struct map_slot *slot = key ? find_slot(map->slots, map->capacity, key) : &map->slots[map->capacity];
    if (!slot->key)
        return false;
    map->count--;
    slot->key = 0;
    if (!key)
        return true;
    /* Close the gap: whoever probed across it moves back, unless its home lies behind the gap. */
    size_t mask = map->capacity - 1;
    size_t gap = (size_t)(slot - map->slots);
    for (size_t index = (gap + 1) & mask; map->slots[index].key; index = (index + 1) & mask) {
        size_t home = (size_t)hash_u64(map->slots[index].key) & mask;
        if (((index - home) & mask) >= ((index - gap) & mask)) {
            map->slots[gap] = map->slots[index];
            map->slots[index].key = 0;
            gap = index;
        }
    }
    return true;
}

void map_clear(struct map *map)
{
    if (map->capacity)
        memset(map->slots, 0, (map->capacity + 1) * sizeof(*map->slots));
    map->count = 0;
}

bool map_next(const struct map *map, size_t *position, uint64_t *ret_key, uint64_t *ret_value)
{
    if (!map->capacity)
        return false;
    for (; *position <= map->capacity; ++*position) {
        const struct map_slot *slot = &map->slots[*position];
        if (!slot->key)
            continue;
        *ret_key = *position == map->capacity ? 0 : slot->key;
        *ret_value = slot->value;
        ++*position;
        return true;
    }
    return false;
}
