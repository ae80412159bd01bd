/* SPDX-License-Identifier: MIT */
/* Finding rows of a growing array by hash: open addressing, at most half full. */
#ifndef HP_TRACE_ROW_INDEX_H
#define HP_TRACE_ROW_INDEX_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

struct row_index {
    uint32_t *slots;     /* row number + 1, 0 = free */
    uint32_t slot_count; /* power of two */
};

static inline uint32_t *row_index_slot(const struct row_index *index, uint64_t hash)
{
    return &index->slots[hash & (index->slot_count - 1)];
}

/* Room for one row more than `count`; when it takes a larger table, hash_of tells where the rows before go. 0 or -ENOMEM. */
static inline int row_index_reserve(struct row_index *index, uint32_t count, uint64_t (*hash_of)(const void *rows, uint32_t row),
                                    const void *rows)
{
    if (count * 2 < index->slot_count)
        return 0;
    struct row_index larger = {.slot_count = index->slot_count ? index->slot_count * 2 : 256};
    larger.slots = calloc(larger.slot_count, sizeof(*larger.slots));
    if (!larger.slots)
        return -ENOMEM;
    for (uint32_t row = 0; row < count; row++) {
        uint64_t hash = hash_of(rows, row);
        while (*row_index_slot(&larger, hash))
            hash++;
        *row_index_slot(&larger, hash) = row + 1;
    }
    free(index->slots);
    *index = larger;
    return 0;
}

static inline void row_index_finish(struct row_index *index)
{
    free(index->slots);
    *index = (struct row_index){0};
}

#endif
