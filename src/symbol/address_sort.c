/* SPDX-License-Identifier: MIT */
/* A radix sort from the lowest digit up; digits in which all addresses agree, as the upper ones do, are left out. */
#include "address_sort.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGIT_VALUES (1u << DIGIT_BITS)

static void sort_by_digit(const struct address_key *from, struct address_key *to, size_t count, unsigned shift)
{
    size_t places[DIGIT_VALUES] = {0}, place = 0;
    for (size_t i = 0; i < count; i++)
        places[from[i].address >> shift & (DIGIT_VALUES - 1)]++;
    for (size_t value = 0; value < DIGIT_VALUES; value++) {
        size_t keys = places[value];
        places[value] = place;
        place += keys;
    }
    for (size_t i = 0; i < count; i++)
        to[places[from[i].address >> shift & (DIGIT_VALUES - 1)]++] = from[i];
}

int address_keys_sort(struct address_key *keys, size_t count)
{
    uint64_t all = count ? keys[0].address : 0, differing = 0;
    for (size_t i = 0; i < count; i++)
        differing |= keys[i].address ^ all;
    if (!differing)
        return 0;
    CLEANUP(freep) struct address_key *other = array_resize_exact(NULL, count, sizeof *other);
    if (!other)
        return -ENOMEM;
    struct address_key *from = keys, *to = other;
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS) {
        if (!(differing >> shift & (DIGIT_VALUES - 1)))
            continue;
        sort_by_digit(from, to, count, shift);
        struct address_key *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof *keys);
    return 0;
}
