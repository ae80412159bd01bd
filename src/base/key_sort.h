/* SPDX-License-Identifier: MIT */
/* Orders millions of things by times or addresses: by their digits, which takes a tenth of comparing them with each other. */
#ifndef HP_BASE_KEY_SORT_H
#define HP_BASE_KEY_SORT_H

#include <stddef.h>
#include <stdint.h>

struct sort_key {
    uint64_t key;
    uint32_t group; /* before the key: a lane, say */
    uint32_t index; /* of the thing */
};

static inline uint64_t sort_key_of(int64_t value) /* the least value is the least key */
{
    return (uint64_t)value ^ UINT64_C(1) << 63;
}

/* By group, then key; those that agree in both keep their order. 0 or -ENOMEM. */
int key_sort(struct sort_key *keys, size_t count);
/* The things, of size_bytes each, copied in the order of their sorted keys; the caller frees. NULL: out of memory. */
void *key_sort_gather(const struct sort_key *keys, size_t count, const void *items, size_t size_bytes) __attribute__((warn_unused_result));

#endif
