/* SPDX-License-Identifier: MIT */
/* A radix sort from the lowest digit up; digits in which all agree, as the upper ones do, are left out. */
#include "base/key_sort.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGIT_VALUES (1u << DIGIT_BITS)

struct sorting {
    struct sort_key *from, *to;
    size_t count;
};

static uint32_t digit_of(const struct sort_key *key, unsigned shift, bool of_group)
{
    return (uint32_t)((of_group ? key->group : key->key) >> shift) & (DIGIT_VALUES - 1);
}

static void sort_by_digit(struct sorting *sorting, unsigned shift, bool of_group)
{
    size_t places[DIGIT_VALUES] = {0}, place = 0;
    for (size_t i = 0; i < sorting->count; i++)
        places[digit_of(&sorting->from[i], shift, of_group)]++;
    for (size_t value = 0; value < DIGIT_VALUES; value++) {
        size_t keys = places[value];
        places[value] = place;
        place += keys;
    }
    for (size_t i = 0; i < sorting->count; i++)
        sorting->to[places[digit_of(&sorting->from[i], shift, of_group)]++] = sorting->from[i];
    struct sort_key *sorted = sorting->to;
    sorting->to = sorting->from;
    sorting->from = sorted;
}

static void sort_by_digits(struct sorting *sorting, uint64_t differing, bool of_group)
{
    for (unsigned shift = 0; shift < 64; shift += DIGIT_BITS)
        if (differing >> shift & (DIGIT_VALUES - 1))
            sort_by_digit(sorting, shift, of_group);
}

int key_sort(struct sort_key *keys, size_t count)
{
    uint64_t keys_differ = 0;
    uint32_t groups_differ = 0;
    for (size_t i = 1; i < count; i++) {
        keys_differ |= keys[i].key ^ keys[0].key;
        groups_differ |= keys[i].group ^ keys[0].group;
    }
    if (!keys_differ && !groups_differ)
        return 0;
    CLEANUP(freep) struct sort_key *other = array_resize_exact(NULL, count, sizeof *other);
    if (!other)
        return -ENOMEM;
    struct sorting sorting = {.from = keys, .to = other, .count = count};
    sort_by_digits(&sorting, keys_differ, false);
    sort_by_digits(&sorting, groups_differ, true);
    if (sorting.from != keys)
        memcpy(keys, sorting.from, count * sizeof *keys);
    return 0;
}

/* Sorted things were mostly found in a few sorted runs: copying them out goes through memory in order, exchanging them does not. */
void *key_sort_gather(const struct sort_key *keys, size_t count, const void *items, size_t size_bytes)
{
    const char *from = items;
    char *gathered = array_resize_exact(NULL, count + 1, size_bytes);
    for (size_t i = 0; gathered && i < count; i++)
        memcpy(gathered + i * size_bytes, from + keys[i].index * size_bytes, size_bytes);
    return gathered;
}
