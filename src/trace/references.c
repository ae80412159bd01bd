/* SPDX-License-Identifier: MIT */
/* A bitmap of handles with ranks, so that memory goes by what is referred to and not by the number of spans. */
#include "references.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int references_init(struct references *references, uint32_t handles)
{
    *references = (struct references){.handles = handles};
    references->bits = calloc((size_t)handles / 64 + 1, sizeof(uint64_t));
    return references->bits ? 0 : -ENOMEM;
}

void references_finish(struct references *references)
{
    free(references->bits);
    free(references->rank);
    free(references->ids);
    *references = (struct references){0};
}

void references_note(struct references *references, uint32_t handle)
{
    if (handle < references->handles)
        references->bits[handle / 64] |= UINT64_C(1) << (handle % 64);
}

int references_index(struct references *references)
{
    size_t words = (size_t)references->handles / 64 + 1;
    references->rank = malloc((words / 8 + 1) * sizeof(uint32_t));
    if (!references->rank)
        return -ENOMEM;
    for (size_t word = 0; word < words; word++) {
        if (word % 8 == 0)
            references->rank[word / 8] = references->count;
        references->count += (uint32_t)__builtin_popcountll(references->bits[word]);
    }
    references->ids = malloc(((size_t)references->count + 1) * sizeof(uint32_t));
    if (!references->ids)
        return -ENOMEM;
    memset(references->ids, 0xff, ((size_t)references->count + 1) * sizeof(uint32_t));
    return 0;
}

static bool noted(const struct references *references, uint32_t handle)
{
    return handle < references->handles && (references->bits[handle / 64] >> (handle % 64) & 1);
}

static uint32_t rank_of(const struct references *references, uint32_t handle)
{
    uint32_t word = handle / 64, rank = references->rank[word / 8];
    for (uint32_t i = word & ~UINT32_C(7); i < word; i++)
        rank += (uint32_t)__builtin_popcountll(references->bits[i]);
    uint64_t below = references->bits[word] & ((UINT64_C(1) << (handle % 64)) - 1);
    return rank + (uint32_t)__builtin_popcountll(below);
}

bool references_any(const struct references *references, uint32_t first, uint32_t count)
{
    for (uint32_t handle = first; handle < first + count;) {
        if (handle % 64 == 0 && handle + 64 <= first + count) {
            if (references->bits[handle / 64])
                return true;
            handle += 64;
        } else if (noted(references, handle++)) {
            return true;
        }
    }
    return false;
}

void references_set(struct references *references, uint32_t handle, uint32_t id)
{
    if (noted(references, handle))
        references->ids[rank_of(references, handle)] = id;
}

uint32_t references_id(const struct references *references, uint32_t handle)
{
    return noted(references, handle) ? references->ids[rank_of(references, handle)] : UINT32_MAX;
}
