/* SPDX-License-Identifier: MIT */
/* Rings are read record by record, around their end, and hostile bytes never lead out of them. */
#include "unit.h"

#include "sample/perf_ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

enum { RING = 256 };

struct fixture {
    _Alignas(8) uint8_t data[RING], scratch[PERF_RECORD_MAXIMUM];
};
static struct fixture fixture;

static void put(uint64_t position, uint32_t type, uint16_t size, uint8_t fill)
{
    struct perf_event_header header = {.type = type, .size = size};
    memset(fixture.scratch, fill, size);
    memcpy(fixture.scratch, &header, sizeof header);
    for (uint16_t i = 0; i < size; i++)
        fixture.data[(position + i) % RING] = fixture.scratch[i];
}

static void test_records_come_in_order(void **state)
{
    put(0, PERF_RECORD_COMM, 24, 1);
    put(24, PERF_RECORD_EXIT, 16, 2);
    struct perf_ring_view view = {fixture.data, RING, 40, 0};
    const struct perf_event_header *record;
    assert_int_equal(perf_ring_next(&view, fixture.scratch, &record), 1);
    assert_int_equal(record->type, PERF_RECORD_COMM);
    assert_int_equal(perf_ring_next(&view, fixture.scratch, &record), 1);
    assert_int_equal(record->type, PERF_RECORD_EXIT);
    assert_int_equal(perf_ring_next(&view, fixture.scratch, &record), 0);
    assert_int_equal(view.tail, 40);
}

static void test_a_record_that_wraps_is_put_together(void **state)
{
    uint64_t at = 5 * RING - 16; /* positions grow for ever */
    put(at, PERF_RECORD_SAMPLE, 48, 7);
    struct perf_ring_view view = {fixture.data, RING, at + 48, at};
    const struct perf_event_header *record;
    assert_int_equal(perf_ring_next(&view, fixture.scratch, &record), 1);
    assert_ptr_equal(record, fixture.scratch);
    assert_int_equal(record->size, 48);
    for (int i = 8; i < 48; i++)
        assert_int_equal(fixture.scratch[i], 7);
    assert_int_equal(perf_ring_next(&view, fixture.scratch, &record), 0);
}

static void expect_given_up(uint64_t head, uint64_t tail)
{
    struct perf_ring_view view = {fixture.data, RING, head, tail};
    const struct perf_event_header *record;
    assert_int_equal(perf_ring_next(&view, fixture.scratch, &record), -EBADMSG);
    assert_int_equal(perf_ring_next(&view, fixture.scratch, &record), 0);
    assert_int_equal(view.tail, head);
}

static void test_what_is_no_record_is_given_up(void **state)
{
    put(0, 1, 0, 0); /* smaller than its own header: would never end */
    expect_given_up(64, 0);
    put(0, 1, 7, 0);
    expect_given_up(64, 0);
    put(0, 1, 72, 0); /* longer than what has been written */
    expect_given_up(64, 0);
    put(0, 1, 20, 0); /* not a multiple of 8: the next header could wrap */
    expect_given_up(64, 0);
    put(0, 1, 16, 0);
    expect_given_up(4, 0); /* not even a header */
    expect_given_up(RING + 64, 0); /* more than the ring can hold */
    expect_given_up(RING + 4, RING - 4); /* a header across the end */
}

static void test_random_bytes_never_lead_out(void **state)
{
    uint32_t seed = 12345;
    for (int round = 0; round < 20000; round++) {
        for (int i = 0; i < RING; i++)
            fixture.data[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
        for (int i = 0; i < RING; i += 8 * (1 + (seed >> 9) % 5)) /* some plausible sizes, so that the walk goes on */
            fixture.data[i + 6] = (uint8_t)((seed >> 12) % 64 & ~7u), fixture.data[i + 7] = 0;
        struct perf_ring_view view = {fixture.data, RING, 1000 * 8 + seed % (RING / 8) * 8, 1000 * 8};
        const struct perf_event_header *record;
        int r, steps = 0;
        while ((r = perf_ring_next(&view, fixture.scratch, &record)) > 0) {
            const uint8_t *bytes = (const uint8_t *)record;
            bool inside = bytes >= fixture.data && bytes + record->size <= fixture.data + RING;
            assert_true(inside || bytes == fixture.scratch);
            assert_true(++steps <= RING / 8);
        }
        assert_true(r == 0 || r == -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_come_in_order),
        cmocka_unit_test(test_a_record_that_wraps_is_put_together),
        cmocka_unit_test(test_what_is_no_record_is_given_up),
        cmocka_unit_test(test_random_bytes_never_lead_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
