/* SPDX-License-Identifier: MIT */
/* Orders many addresses: a library has a hundred thousand functions, and comparing them one by one takes longest of all. */
#ifndef HP_SYMBOL_ADDRESS_SORT_H
#define HP_SYMBOL_ADDRESS_SORT_H

#include <stddef.h>
#include <stdint.h>

struct address_key {
    uint64_t address;
    size_t index; /* the caller's */
};

/* By address; keys of one address keep their order. 0 or -ENOMEM. */
int address_keys_sort(struct address_key *keys, size_t count);

#endif
