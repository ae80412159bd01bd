/* SPDX-License-Identifier: MIT */
/* Growable arrays of plain data: the owner keeps a typed pointer, a count and a capacity, and grows by one call. */
#ifndef HP_BASE_ARRAY_H
#define HP_BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for `needed` items (doubling, overflow-checked). Returns the array, moved or not; NULL on ENOMEM, and then
 * the old array is still there and valid. Free with free().
 */
void *array_reserve(void *items, size_t *capacity, size_t needed, size_t item_size) __attribute__((warn_unused_result));

/* Overflow-checked reallocarray for whoever needs an exact size. */
void *array_resize_exact(void *items, size_t count, size_t item_size) __attribute__((warn_unused_result));

/* How many of these sorted values are less than that: where it stands, or would. */
uint32_t array_count_below(const int64_t *values, uint32_t count, int64_t value);

#endif
