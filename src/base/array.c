/* SPDX-License-Identifier: MIT */
/* Growable arrays: overflow-checked doubling. */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>

void *array_resize_exact(void *items, size_t count, size_t item_size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, item_size, &bytes) || bytes > PTRDIFF_MAX)
        return NULL;
    return realloc(items, bytes ? bytes : 1); /* realloc(p, 0) may free p: the caller would lose the old array */
}

void *array_reserve(void *items, size_t *capacity, size_t needed, size_t item_size)
{
    if (items && needed <= *capacity)
        return items;
    size_t wanted = *capacity;
    if (wanted < 8)
        wanted = 8;
    while (wanted < needed) {
        if (wanted > SIZE_MAX / 2) {
            wanted = needed;
            break;
        }
        wanted *= 2;
    }
    void *grown = array_resize_exact(items, wanted, item_size);
    if (grown)
        *capacity = wanted;
    return grown;
}

uint32_t array_count_below(const int64_t *values, uint32_t count, int64_t value)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (values[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
