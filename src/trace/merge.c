/* SPDX-License-Identifier: MIT */
/* The merge: a heap of open blocks, and blocks yet to be opened in order of their first row. */
#include "merge.h"

#include "base/error.h"
#include "row_sort.h"

#include <errno.h>
#include <stdlib.h>

static int by_begin(const void *left, const void *right)
{
    const struct merge_source *a = left, *b = right;
    if (a->block->info.begin_ns != b->block->info.begin_ns)
        return a->block->info.begin_ns < b->block->info.begin_ns ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

int merge_init(struct merge *merge, struct block *const *blocks, uint32_t count, uint32_t columns)
{
    *merge = (struct merge){.columns = columns, .source_count = count};
    merge->sources = calloc(count ? count : 1, sizeof(*merge->sources));
    merge->heap = malloc((count ? count : 1) * sizeof(uint32_t));
    merge->retired = malloc((count ? count : 1) * sizeof(uint32_t));
    if (!merge->sources || !merge->heap || !merge->retired) {
        merge_finish(merge);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        merge->sources[i].block = blocks[i];
        merge->sources[i].sequence = i;
    }
    qsort(merge->sources, count, sizeof(*merge->sources), by_begin);
    return 0;
}

static void drop_retired(struct merge *merge)
{
    for (uint32_t i = 0; i < merge->retired_count; i++) {
        struct merge_source *source = &merge->sources[merge->retired[i]];
        if (merge->retire)
            merge->retire(merge->context, source);
        decoded_free(source->decoded);
        source->decoded = NULL;
    }
    merge->retired_count = 0;
}

void merge_finish(struct merge *merge)
{
    for (uint32_t i = 0; merge->sources && i < merge->source_count; i++)
        decoded_free(merge->sources[i].decoded);
    free(merge->sources);
    free(merge->heap);
    free(merge->retired);
    *merge = (struct merge){0};
}

static int64_t begin_at(const struct merge_source *source, uint32_t row)
{
    return ((const int64_t *)source->decoded->column[0])[row];
}

static uint64_t end_at(const struct merge_source *source, uint32_t row)
{
    if (source->block->family != FAMILY_SPANS)
        return 0;
    return end_rank(((const int64_t *)source->decoded->column[SPAN_COLUMN_END])[row]);
}

/* Does source a's next row stand before b's? Equal rows: in order of sources. */
static bool before(const struct merge *merge, uint32_t a, uint32_t b)
{
    const struct merge_source *left = &merge->sources[a], *right = &merge->sources[b];
    int64_t left_ns = begin_at(left, left->next), right_ns = begin_at(right, right->next);
    if (left_ns != right_ns)
        return left_ns < right_ns;
    uint64_t left_end = end_at(left, left->next), right_end = end_at(right, right->next);
    return left_end != right_end ? left_end > right_end : left->sequence < right->sequence;
}

static void sift_down(struct merge *merge, uint32_t position)
{
    for (;;) {
        uint32_t child = 2 * position + 1;
        if (child >= merge->heap_count)
            return;
        if (child + 1 < merge->heap_count && before(merge, merge->heap[child + 1], merge->heap[child]))
            child++;
        if (!before(merge, merge->heap[child], merge->heap[position]))
            return;
        uint32_t swap = merge->heap[child];
        merge->heap[child] = merge->heap[position];
        merge->heap[position] = swap;
        position = child;
    }
}

static void sift_up(struct merge *merge, uint32_t position)
{
    while (position && before(merge, merge->heap[position], merge->heap[(position - 1) / 2])) {
        uint32_t parent = (position - 1) / 2, swap = merge->heap[position];
        merge->heap[position] = merge->heap[parent];
        merge->heap[parent] = swap;
        position = parent;
    }
}

/* Opens every block whose first row may be next. */
static int open_due(struct merge *merge, struct error *err)
{
    while (merge->opened < merge->source_count) {
        struct merge_source *source = &merge->sources[merge->opened];
        if (merge->heap_count) {
            const struct merge_source *top = &merge->sources[merge->heap[0]];
            if (source->block->info.begin_ns > begin_at(top, top->next))
                return 0;
        }
        int result = block_decode(source->block, merge->columns, NULL, &source->decoded, err);
        if (result < 0)
            return result;
        merge->heap[merge->heap_count] = merge->opened++;
        sift_up(merge, merge->heap_count++);
    }
    return 0;
}

/* How many rows of the top source stand before anything else. At least 1. */
static uint32_t run_length(const struct merge *merge, uint32_t maximum)
{
    const struct merge_source *top = &merge->sources[merge->heap[0]];
    int64_t limit_ns = INT64_MAX;
    if (merge->opened < merge->source_count)
        limit_ns = merge->sources[merge->opened].block->info.begin_ns;
    for (uint32_t child = 1; child <= 2 && child < merge->heap_count; child++) {
        const struct merge_source *other = &merge->sources[merge->heap[child]];
        int64_t other_ns = begin_at(other, other->next);
        limit_ns = other_ns < limit_ns ? other_ns : limit_ns;
    }
    uint32_t left = top->block->info.count - top->next, length = 1;
    left = left < maximum ? left : maximum;
    while (length < left && begin_at(top, top->next + length) < limit_ns)
        length++;
    return length;
}

int merge_next(struct merge *merge, struct merge_row *rows, uint32_t maximum, uint32_t *ret_count, struct error *err)
{
    drop_retired(merge);
    uint32_t count = 0;
    while (count < maximum) {
        int result = open_due(merge, err);
        if (result < 0)
            return result;
        if (merge->heap_count == 0)
            break;
        uint32_t source_index = merge->heap[0];
        struct merge_source *source = &merge->sources[source_index];
        for (uint32_t length = run_length(merge, maximum - count); length; length--)
            rows[count++] = (struct merge_row){source_index, source->next++};
        if (source->next == source->block->info.count) {
            merge->retired[merge->retired_count++] = source_index;
            merge->heap[0] = merge->heap[--merge->heap_count];
        }
        sift_down(merge, 0);
    }
    *ret_count = count;
    return 0;
}
