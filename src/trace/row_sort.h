/* SPDX-License-Identifier: MIT */
/* Sorting gathered rows by (begin, end descending, order of adding). */
#ifndef HP_TRACE_ROW_SORT_H
#define HP_TRACE_ROW_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An open end is later than any other. */
static inline uint64_t end_rank(int64_t end_ns)
{
    return end_ns == INT64_MIN ? UINT64_MAX : (uint64_t)end_ns ^ (UINT64_C(1) << 63);
}

/*
 * Rows of row_size bytes start with int64_t begin and, with has_end, int64_t end. order (count entries) becomes the sorted
 * sequence of row numbers. 0 or -ENOMEM.
 */
int rows_sort(const uint8_t *rows, size_t row_size, uint32_t count, bool has_end, uint32_t *order);

#endif
