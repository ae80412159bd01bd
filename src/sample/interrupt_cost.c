/* SPDX-License-Identifier: MIT */
/*
 * The event writes into a ring of its own, so that each sample's time is known: the hole that contains it, less an ordinary turn of the
 * loop, is what it cost, the interrupt's entry and exit included. The median keeps out holes that something else widened.
 */
#include "interrupt_cost.h"

#include "base/clock.h"
#include "perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MEASURE_NS = 10000000, FREQUENCY_HZ = 5000, HOLES_MAXIMUM = 256, RING_BYTES = 4 << 20, RING_BYTES_LEAST = 64 << 10 };

struct hole {
    int64_t begin_ns, end_ns;
};

/* The longest turns of the loop: those that samples can have made. */
static size_t find_holes(struct hole *holes, int64_t threshold_ns)
{
    size_t count = 0;
    int64_t begin_ns = clock_raw_ns(), last_ns = begin_ns;
    while (last_ns - begin_ns < MEASURE_NS && count < HOLES_MAXIMUM) {
        int64_t now_ns = clock_raw_ns();
        if (now_ns - last_ns > threshold_ns)
            holes[count++] = (struct hole){last_ns, now_ns};
        last_ns = now_ns;
    }
    return count;
}

static int64_t ordinary_turn_ns(void)
{
    int64_t least = INT64_MAX, last_ns = clock_raw_ns();
    for (int i = 0; i < 1000; i++) {
        int64_t now_ns = clock_raw_ns();
        least = now_ns - last_ns < least ? now_ns - last_ns : least;
        last_ns = now_ns;
    }
    return least;
}

static int compare(const void *left, const void *right)
{
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

/* The holes that hold a sample's time. */
static size_t match_samples(const struct sampling_plan *plan, const struct perf_ring *ring, const struct hole *holes, size_t count,
                            int64_t turn_ns, int64_t *costs, uint8_t *scratch)
{
    struct perf_ring_view view = perf_ring_view(ring);
    const struct perf_event_header *header;
    int64_t shift_ns = perf_clock_shift_ns();
    size_t matched = 0, hole = 0;
    while (perf_ring_next(&view, scratch, &header) > 0) {
        struct perf_record record;
        if (perf_record_decode(&plan->layout, header, header->size, &record) < 0 || record.type != PERF_RECORD_SAMPLE)
            continue;
        int64_t time_ns = (int64_t)record.time_ns + shift_ns;
        while (hole < count && holes[hole].end_ns < time_ns)
            hole++;
        if (hole < count && holes[hole].begin_ns <= time_ns && matched < HOLES_MAXIMUM)
            costs[matched++] = holes[hole].end_ns - holes[hole].begin_ns - turn_ns;
    }
    return matched;
}

/* Keeps the stack above deep enough that a stack copy is as long as it will be in a deep program. */
static __attribute__((noinline)) int64_t measure(const struct sampling_plan *plan, const struct perf_ring *ring, int fd)
{
    volatile char depth[65536];
    struct hole holes[HOLES_MAXIMUM];
    int64_t costs[HOLES_MAXIMUM], turn_ns = ordinary_turn_ns();
    depth[0] = 0;
    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
    size_t count = find_holes(holes, turn_ns * 4 + 200);
    ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    uint8_t *scratch = aligned_alloc(8, PERF_RECORD_MAXIMUM);
    if (!scratch)
        return -ENOMEM;
    size_t matched = match_samples(plan, ring, holes, count, turn_ns, costs, scratch);
    free(scratch);
    depth[sizeof(depth) - 1] = depth[0];
    if (matched < 5)
        return -ENODATA;
    qsort(costs, matched, sizeof(costs[0]), compare);
    return costs[matched / 2];
}

int64_t interrupt_cost_ns(const struct sampling_plan *plan)
{
    struct sampling_plan own = *plan;
    own.enable_on_exec = false;
    own.start_disabled = true;
    own.separate_sideband = true; /* no mappings and switches of ours */
    long maximum = perf_sysctl("perf_event_max_sample_rate");
    own.frequency_hz = maximum > 0 && maximum < FREQUENCY_HZ ? (unsigned)maximum : FREQUENCY_HZ;
    int fd = perf_event_open_planned(&own, EVENT_SAMPLES, 0, -1, false);
    if (fd < 0)
        return fd;
    struct perf_ring ring = {0};
    int64_t result = -EPERM;
    for (size_t bytes = RING_BYTES; result < 0 && bytes >= RING_BYTES_LEAST; bytes /= 2)
        result = perf_ring_map(fd, bytes, &ring, NULL);
    if (result == 0)
        result = measure(&own, &ring, fd);
    perf_ring_unmap(&ring);
    close(fd);
    return result;
}
