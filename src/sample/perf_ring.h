/* SPDX-License-Identifier: MIT */
/* The ring that the kernel fills for one CPU, and reading it record by record. */
#ifndef HP_SAMPLE_PERF_RING_H
#define HP_SAMPLE_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct perf_event_header;

enum { PERF_RECORD_MAXIMUM = 65536 }; /* a record's size is a 16-bit number */

/* A stretch of ring to read: positions grow without end and are taken modulo size (a power of two). */
struct perf_ring_view {
    const uint8_t *data;
    size_t size;
    uint64_t head, tail;
};

/*
 * The next whole record and moves tail behind it. A record that wraps around the end is put together in `scratch`
 * (PERF_RECORD_MAXIMUM bytes, 8-byte aligned). Returns 1, 0 when nothing is left, -EBADMSG when the bytes are no record:
 * then the rest of the view is given up (tail = head).
 */
int perf_ring_next(struct perf_ring_view *view, uint8_t *scratch, const struct perf_event_header **ret_record);

struct perf_ring {
    struct perf_event_mmap_page *page; /* NULL = not mapped */
    size_t data_bytes;
};

/* Maps a ring on an event; data_bytes: a power of two, whole pages. -EPERM: the budget of locked memory is too small. */
int perf_ring_map(int event_fd, size_t data_bytes, struct perf_ring *ret_ring, struct error *err);
void perf_ring_unmap(struct perf_ring *ring);
/* What has been written since the last release; the view stays valid until then. */
struct perf_ring_view perf_ring_view(const struct perf_ring *ring);
void perf_ring_release(struct perf_ring *ring, uint64_t tail); /* lets the kernel write over everything before tail */

#endif
