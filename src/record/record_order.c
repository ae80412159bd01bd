/* SPDX-License-Identifier: MIT */
/* Insertion into runs: what comes from one ring is sorted but for a few neighbours, so natural runs are merged. */
#include "record_order.h"

#include "base/array.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void record_order_finish(struct record_order *order)
{
    free(order->records);
    free(order->buffer);
    *order = (struct record_order){0};
}

int record_order_add(struct record_order *order, int64_t time_ns, enum perf_event_role role, const void *raw, size_t bytes,
                     void *attachment)
{
    struct ordered_record *records = array_reserve(order->records, &order->capacity, order->count + 1, sizeof(*records));
    if (!records)
        return -ENOMEM;
    order->records = records;
    uint8_t *buffer = array_reserve(order->buffer, &order->buffer_capacity, order->buffer_bytes + bytes, 1);
    if (!buffer)
        return -ENOMEM;
    order->buffer = buffer;
    memcpy(order->buffer + order->buffer_bytes, raw, bytes);
    order->records[order->count] =
        (struct ordered_record){time_ns, (uint32_t)order->count, role, order->buffer_bytes, bytes, attachment};
    order->count++;
    order->buffer_bytes += (bytes + 7) & ~(size_t)7;
    return 0;
}

static bool before(const struct ordered_record *left, const struct ordered_record *right)
{
    return left->time_ns != right->time_ns ? left->time_ns < right->time_ns : left->sequence < right->sequence;
}

static int compare(const void *left, const void *right)
{
    return before(left, right) ? -1 : before(right, left);
}

static size_t run_end(const struct record_order *order, size_t begin)
{
    size_t end = begin + 1;
    while (end < order->count && before(&order->records[end - 1], &order->records[end]))
        end++;
    return end;
}

/* Merges [begin, middle) and [middle, end) by way of `spare`. */
static void merge_runs(struct ordered_record *records, size_t begin, size_t middle, size_t end, struct ordered_record *spare)
{
    size_t left = 0, left_count = middle - begin, right = middle, to = begin;
    memcpy(spare, records + begin, left_count * sizeof(*records));
    while (left < left_count && right < end)
        records[to++] = before(&records[right], &spare[left]) ? records[right++] : spare[left++];
    memcpy(records + to, spare + left, (left_count - left) * sizeof(*records));
}

/* One pass: neighbouring runs become one. False when a single run is left. */
static bool merge_pass(struct record_order *order, struct ordered_record *spare)
{
    bool merged = false;
    for (size_t begin = 0; begin < order->count;) {
        size_t middle = run_end(order, begin);
        if (middle == order->count)
            break;
        size_t end = run_end(order, middle);
        merge_runs(order->records, begin, middle, end, spare);
        merged = true;
        begin = end;
    }
    return merged;
}

size_t record_order_sort(struct record_order *order, int64_t horizon_ns)
{
    struct ordered_record *spare = malloc((order->count + 1) * sizeof(*spare));
    if (spare)
        while (merge_pass(order, spare))
            ;
    else
        qsort(order->records, order->count, sizeof(*order->records), compare);
    free(spare);
    size_t ready = 0;
    while (ready < order->count && order->records[ready].time_ns < horizon_ns)
        ready++;
    return ready;
}

void record_order_drop(struct record_order *order, size_t count)
{
    size_t bytes = 0;
    if (!count)
        return; /* nothing was ready; there may not even be an array yet */
    memmove(order->records, order->records + count, (order->count - count) * sizeof(*order->records));
    order->count -= count;
    if (!order->count) {
        order->buffer_bytes = 0;
        return;
    }
    /* Few are left, and sorted by time, not by place: copy them together. */
    for (size_t i = 0; i < order->count; i++)
        bytes += (order->records[i].bytes + 7) & ~(size_t)7;
    uint8_t *buffer = malloc(bytes);
    if (!buffer)
        return; /* the buffer just stays as full as it is */
    size_t offset = 0;
    for (size_t i = 0; i < order->count; i++) {
        struct ordered_record *record = &order->records[i];
        memcpy(buffer + offset, order->buffer + record->offset, record->bytes);
        record->offset = offset;
        record->sequence = (uint32_t)i;
        offset += (record->bytes + 7) & ~(size_t)7;
    }
    free(order->buffer);
    order->buffer = buffer;
    order->buffer_bytes = order->buffer_capacity = bytes;
}
