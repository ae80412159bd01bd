/* SPDX-License-Identifier: MIT */
/* String table: one blob, one offset array, and a hash of ids beside them that is never written out. */
#include "base/string_table.h"

#include "base/array.h"
#include "base/map.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define SMALLEST_HASH ((size_t)64)

/* id 0 marks an empty slot: "" needs no finding. */
struct hash_slot {
    uint32_t hash, id;
};

struct string_table {
    char *blob;
    uint64_t *offsets; /* count + 1 of them */
    size_t blob_capacity, offsets_capacity;
    uint32_t count;
    bool mapped;       /* blob and offsets are somebody else's, read-only */
    struct hash_slot *hash; /* of hash_capacity slots; built late for a mapped table, under hash_lock */
    size_t hash_capacity;
    pthread_mutex_t hash_lock;
};

static struct string_table *table_alloc(void)
{
    struct string_table *table = calloc(1, sizeof(*table));
    if (table)
        pthread_mutex_init(&table->hash_lock, NULL);
    return table;
}

int string_table_create(struct string_table **ret_table)
{
    struct string_table *table = table_alloc();
    if (!table)
        return -ENOMEM;
    table->blob = array_reserve(NULL, &table->blob_capacity, 4096, 1);
    table->offsets = array_reserve(NULL, &table->offsets_capacity, 256, sizeof(*table->offsets));
    table->hash = calloc(SMALLEST_HASH, sizeof(*table->hash));
    if (!table->blob || !table->offsets || !table->hash) {
        string_table_destroy(table);
        return -ENOMEM;
    }
    table->hash_capacity = SMALLEST_HASH;
    table->blob[0] = '\0';
    table->offsets[0] = 0;
    table->offsets[1] = 1;
    table->count = 1;
    *ret_table = table;
    return 0;
}

void string_table_destroy(struct string_table *table)
{
    if (!table)
        return;
    if (!table->mapped) {
        free(table->blob);
        free(table->offsets);
    }
    free(table->hash);
    pthread_mutex_destroy(&table->hash_lock);
    free(table);
}

static uint32_t hash_text(const char *text, size_t length)
{
    return (uint32_t)(hash_bytes(text, length) >> 32);
}

static size_t cut_at_nul(const char *text, size_t length)
{
    const char *nul = length ? memchr(text, '\0', length) : NULL;
    return nul ? (size_t)(nul - text) : length;
}

static bool id_is_text(const struct string_table *table, uint32_t id, const char *text, size_t length)
{
    uint64_t begin = table->offsets[id];
    return table->offsets[id + 1] - begin == length + 1 && !memcmp(table->blob + begin, text, length);
}

/* The slot that holds the text, or the empty one where it belongs. */
static struct hash_slot *find_slot(const struct string_table *table, uint32_t hash, const char *text, size_t length)
{
    size_t mask = table->hash_capacity - 1;
    for (size_t index = hash & mask;; index = (index + 1) & mask) {
        struct hash_slot *slot = &table->hash[index];
        if (!slot->id || (slot->hash == hash && id_is_text(table, slot->id, text, length)))
            return slot;
    }
}

static void hash_insert(struct hash_slot *slots, size_t capacity, struct hash_slot slot)
{
    size_t mask = capacity - 1, index = slot.hash & mask;
    while (slots[index].id)
        index = (index + 1) & mask;
    slots[index] = slot;
}

static int hash_grow(struct string_table *table)
{
    size_t capacity = table->hash_capacity * 2;
    struct hash_slot *slots = calloc(capacity, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    for (size_t index = 0; index < table->hash_capacity; index++)
        if (table->hash[index].id)
            hash_insert(slots, capacity, table->hash[index]);
    free(table->hash);
    table->hash = slots;
    table->hash_capacity = capacity;
    return 0;
}

static int append(struct string_table *table, const char *text, size_t length)
{
    uint64_t begin = table->offsets[table->count];
    if (length > SIZE_MAX / 2 - begin)
        return -ENOMEM;
    size_t needed = (size_t)begin + length + 1;
    /* The text may be a string of this very table: keep its place while the blob moves. */
    uintptr_t old_blob = (uintptr_t)table->blob, inside = (uintptr_t)text - old_blob;
    char *blob = array_reserve(table->blob, &table->blob_capacity, needed, 1);
    if (!blob)
        return -ENOMEM;
    table->blob = blob;
    if ((uintptr_t)text >= old_blob && inside < begin)
        text = blob + inside;
    uint64_t *offsets = array_reserve(table->offsets, &table->offsets_capacity, (size_t)table->count + 2, sizeof(*offsets));
    if (!offsets)
        return -ENOMEM;
    table->offsets = offsets;
    memcpy(blob + begin, text, length);
    blob[begin + length] = '\0';
    offsets[++table->count] = needed;
    return 0;
}

int string_table_intern(struct string_table *table, const char *text, size_t length, string_id *ret_id)
{
    if (table->mapped)
        return -EROFS;
    length = cut_at_nul(text, length);
    if (!length) {
        *ret_id = STRING_NONE;
        return 0;
    }
    uint32_t hash = hash_text(text, length);
    struct hash_slot *slot = find_slot(table, hash, text, length);
    if (!slot->id) {
        if (table->count == UINT32_MAX)
            return -EOVERFLOW;
        uint32_t id = table->count;
        int result = append(table, text, length);
        if (result < 0)
            return result;
        *slot = (struct hash_slot){hash, id};
        *ret_id = (string_id){id};
        if (table->count > table->hash_capacity / 2 && hash_grow(table) < 0 && table->count >= table->hash_capacity - 1) {
            slot->id = 0; /* no room for the next string and no memory for more: take this one back */
            table->count--;
            return -ENOMEM;
        }
        return 0;
    }
    *ret_id = (string_id){slot->id};
    return 0;
}

int string_table_intern_text(struct string_table *table, const char *text, string_id *ret_id)
{
    return string_table_intern(table, text ? text : "", text ? strlen(text) : 0, ret_id);
}

/* Readers of one mapped table may be many threads, and each may be the first to search. */
static bool hash_ensure(const struct string_table *table)
{
    if (!table->mapped)
        return true;
    struct string_table *owner = (struct string_table *)(uintptr_t)table;
    pthread_mutex_lock(&owner->hash_lock);
    if (!owner->hash) {
        size_t capacity = SMALLEST_HASH;
        while (capacity / 2 < owner->count)
            capacity *= 2;
        struct hash_slot *slots = calloc(capacity, sizeof(*slots));
        for (uint32_t id = 1; slots && id < owner->count; id++) {
            uint64_t begin = owner->offsets[id];
            uint32_t hash = hash_text(owner->blob + begin, (size_t)(owner->offsets[id + 1] - begin - 1));
            hash_insert(slots, capacity, (struct hash_slot){hash, id});
        }
        owner->hash = slots;
        owner->hash_capacity = capacity;
    }
    bool ready = owner->hash != NULL;
    pthread_mutex_unlock(&owner->hash_lock);
    return ready;
}

bool string_table_find(const struct string_table *table, const char *text, size_t length, string_id *ret_id)
{
    length = cut_at_nul(text, length);
    if (!length) {
        *ret_id = STRING_NONE;
        return true;
    }
    if (!hash_ensure(table))
        return false;
    const struct hash_slot *slot = find_slot(table, hash_text(text, length), text, length);
    if (!slot->id)
        return false;
    *ret_id = (string_id){slot->id};
    return true;
}

const char *string_table_text(const struct string_table *table, string_id id)
{
    return id.index < table->count ? table->blob + table->offsets[id.index] : "";
}

size_t string_table_length(const struct string_table *table, string_id id)
{
    if (id.index >= table->count)
        return 0;
    return (size_t)(table->offsets[id.index + 1] - table->offsets[id.index] - 1);
}

uint32_t string_table_count(const struct string_table *table)
{
    return table->count;
}

const char *string_table_blob(const struct string_table *table, uint64_t *ret_size)
{
    *ret_size = table->offsets[table->count];
    return table->blob;
}

const uint64_t *string_table_offsets(const struct string_table *table)
{
    return table->offsets;
}

static bool parts_hold(const char *blob, uint64_t blob_size, const uint64_t *offsets, uint32_t count)
{
    if (count < 1 || offsets[0] != 0 || offsets[1] != 1 || offsets[count] != blob_size)
        return false;
    for (uint32_t index = 0; index < count; index++) {
        uint64_t begin = offsets[index], end = offsets[index + 1];
        if (end <= begin || end > blob_size || blob[end - 1] != '\0')
            return false;
    }
    return true;
}

int string_table_map(const char *blob, uint64_t blob_size, const uint64_t *offsets, uint32_t count,
                     struct string_table **ret_table)
{
    if (!blob || !offsets || blob_size > PTRDIFF_MAX || count == UINT32_MAX || !parts_hold(blob, blob_size, offsets, count))
        return -EINVAL;
    struct string_table *table = table_alloc();
    if (!table)
        return -ENOMEM;
    table->mapped = true;
    table->blob = (char *)(uintptr_t)blob;
    table->offsets = (uint64_t *)(uintptr_t)offsets;
    table->count = count;
    *ret_table = table;
    return 0;
}
