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
/* Brings the things, of size_bytes up to SORT_ITEM_MAXIMUM each, into the order of their sorted keys; the keys are used up. */
#define SORT_ITEM_MAXIMUM 128
void key_sort_apply(struct sort_key *keys, size_t count, void *items, size_t size_bytes);

#endif
