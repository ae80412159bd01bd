/* SPDX-License-Identifier: MIT */
/* Mapping and reading perf rings: one control page, then a power of two of data pages. */
#include "perf_ring.h"

#include "base/error.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int perf_ring_next(struct perf_ring_view *view, uint8_t *scratch, const struct perf_event_header **ret_record)
{
    uint64_t left = view->head - view->tail;
    if (!left)
        return 0;
    size_t offset = (size_t)(view->tail & (view->size - 1));
    struct perf_event_header header;
    /* Records are multiples of 8 bytes, so that a header never wraps; one that does is no record. */
    if (left > view->size || left < sizeof(header) || view->size - offset < sizeof(header)) {
        view->tail = view->head;
        return -EBADMSG;
    }
    memcpy(&header, view->data + offset, sizeof(header));
    if (header.size < sizeof(header) || header.size > left || header.size % 8) {
        view->tail = view->head;
        return -EBADMSG;
    }
    size_t first = view->size - offset;
    if (header.size <= first) {
        *ret_record = (const struct perf_event_header *)(const void *)(view->data + offset);
    } else {
        memcpy(scratch, view->data + offset, first);
        memcpy(scratch + first, view->data, header.size - first);
        *ret_record = (const struct perf_event_header *)(const void *)scratch;
    }
    view->tail += header.size;
    return 1;
}

int perf_ring_map(int event_fd, size_t data_bytes, struct perf_ring *ret_ring, struct error *err)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *address = mmap(NULL, page + data_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event_fd, 0);
    if (address == MAP_FAILED)
        return error_set_errno(err, -errno, "cannot map a sampling ring of %zu KiB (kernel.perf_event_mlock_kb, ulimit -l)",
                               data_bytes / 1024);
    *ret_ring = (struct perf_ring){address, data_bytes};
    return 0;
}

void perf_ring_unmap(struct perf_ring *ring)
{
    if (ring->page)
        munmap(ring->page, (size_t)sysconf(_SC_PAGESIZE) + ring->data_bytes);
    ring->page = NULL;
}

struct perf_ring_view perf_ring_view(const struct perf_ring *ring)
{
    const uint8_t *data = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
    return (struct perf_ring_view){data, ring->data_bytes, head, ring->page->data_tail};
}

void perf_ring_release(struct perf_ring *ring, uint64_t tail)
{
    __atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}
