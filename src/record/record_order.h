/* SPDX-License-Identifier: MIT */
/* Kernel records of several CPUs, put in order of time. Each ring is nearly sorted by itself; together they are not. */
#ifndef HP_RECORD_RECORD_ORDER_H
#define HP_RECORD_RECORD_ORDER_H

#include "sample/event_set.h"

struct ordered_record {
    int64_t time_ns;
    uint32_t sequence;  /* of arrival: equal times keep it */
    uint32_t role;      /* enum perf_event_role */
    size_t offset;      /* of the raw bytes in the round's buffer */
    size_t bytes;
    void *attachment;   /* the caller's own, e.g. a stack copy that need not go through the buffer */
};

struct record_order {
    struct ordered_record *records;
    size_t count, capacity;
    uint8_t *buffer;    /* raw records, 8-byte aligned */
    size_t buffer_bytes, buffer_capacity;
};

void record_order_finish(struct record_order *order);
int record_order_add(struct record_order *order, int64_t time_ns, enum perf_event_role role, const void *raw, size_t bytes,
                     void *attachment);
/* Sorts what is there. How many of the first records are older than horizon_ns is returned. */
size_t record_order_sort(struct record_order *order, int64_t horizon_ns);
static inline const void *record_order_raw(const struct record_order *order, size_t index)
{
    return order->buffer + order->records[index].offset;
}
/* Drops the first `count`; the others stay for the next round. */
void record_order_drop(struct record_order *order, size_t count);

#endif
