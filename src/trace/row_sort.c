/* SPDX-License-Identifier: MIT */
/* A stable radix sort of begins, then a comparison sort of each group with equal begins. */
#include "row_sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct key {
    uint64_t begin; /* since the least begin */
    uint32_t row;
};

static int64_t time_at(const uint8_t *row)
{
    int64_t value;
    memcpy(&value, row, 8);
    return value;
}

/* One pass by 11 bits at `shift`. */
static void radix_pass(const struct key *from, struct key *to, uint32_t count, unsigned shift)
{
    uint32_t start[2048] = {0};
    for (uint32_t i = 0; i < count; i++)
        start[from[i].begin >> shift & 2047]++;
    uint32_t sum = 0;
    for (unsigned digit = 0; digit < 2048; digit++) {
        uint32_t size = start[digit];
        start[digit] = sum;
        sum += size;
    }
    for (uint32_t i = 0; i < count; i++)
        to[start[from[i].begin >> shift & 2047]++] = from[i];
}

struct tie {
    uint64_t end;
    uint32_t row;
};

static int later_end_first(const void *left, const void *right)
{
    const struct tie *a = left, *b = right;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Rows order[0..count) begin together. ties: room for count. */
static void sort_ties(const uint8_t *rows, size_t row_size, uint32_t *order, uint32_t count, struct tie *ties)
{
    for (uint32_t i = 0; i < count; i++)
        ties[i] = (struct tie){end_rank(time_at(rows + order[i] * row_size + 8)), order[i]};
    qsort(ties, count, sizeof(*ties), later_end_first);
    for (uint32_t i = 0; i < count; i++)
        order[i] = ties[i].row;
}

int rows_sort(const uint8_t *rows, size_t row_size, uint32_t count, bool has_end, uint32_t *order)
{
    struct key *keys = malloc((size_t)count * 2 * sizeof(*keys));
    if (!keys)
        return -ENOMEM;
    int64_t least = time_at(rows);
    uint64_t range = 0;
    for (uint32_t i = 1; i < count; i++)
        least = time_at(rows + i * row_size) < least ? time_at(rows + i * row_size) : least;
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = (struct key){(uint64_t)time_at(rows + i * row_size) - (uint64_t)least, i};
        range = keys[i].begin > range ? keys[i].begin : range;
    }
    struct key *from = keys, *to = keys + count;
    for (unsigned shift = 0; shift < 64 && range >> shift; shift += 11) {
        radix_pass(from, to, count, shift);
        struct key *swap = from;
        from = to;
        to = swap;
    }
    for (uint32_t i = 0; i < count; i++)
        order[i] = from[i].row;
    for (uint32_t i = 0; has_end && i < count;) {
        uint32_t end = i + 1;
        while (end < count && from[end].begin == from[i].begin)
            end++;
        if (end - i > 1) /* `to` is free by now and as large per entry */
            sort_ties(rows, row_size, order + i, end - i, (struct tie *)(void *)to);
        i = end;
    }
    free(keys);
    return 0;
}
