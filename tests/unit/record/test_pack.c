/* SPDX-License-Identifier: MIT */
/* What is packed comes out again, to the byte; what was not packed by us does no harm. */
#include "unit.h"

#include "record/pack.h"
#include "wire/records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252ull;
static uint64_t random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

/* Spans of a few shapes, some with payload or correlation, times going back now and then; other records between. */
static size_t make(uint8_t *out, size_t count)
{
    uint8_t *at = out;
    uint64_t time = random_next();
    for (size_t i = 0; i < count; i++) {
        uint64_t dice = random_next();
        if (dice % 16 == 0) {
            struct wire_counter counter = {.header = {WIRE_COUNTER, sizeof counter / 8, 5}, .time = time, .value = 1.5};
            memcpy(at, &counter, sizeof counter);
            at += sizeof counter;
            continue;
        }
        uint32_t fields = dice % 32 == 1 ? 2 : 0;
        struct wire_span span = {.header = {WIRE_SPAN, (uint16_t)(sizeof span / 8 + fields), (uint32_t)(dice >> 8 & 3)}};
        time = dice % 64 == 2 ? time - 1000 : time + (random_next() >> (dice >> 16 & 63));
        span.begin = time - (random_next() >> (40 + (dice >> 24 & 15)));
        span.end = time;
        span.correlation = dice % 32 == 3 ? dice : 0;
        span.span_kind = (uint8_t)(dice >> 12 & 1);
        memcpy(at, &span, sizeof span);
        memset(at + sizeof span, 7, fields * 8);
        at += sizeof span + fields * 8;
    }
    return (size_t)(at - out);
}

static void test_round_trip(void **state)
{
    uint8_t *records = calloc(1, 1 << 16), *packed = malloc(pack_bound(1 << 16)), *back = malloc(1 << 16);
    for (int round = 0; round < 300; round++) {
        size_t size = make(records, random_next() % 500);
        uint32_t count;
        size_t packed_size = pack_records(records, size, packed, &count);
        if (size == 0)
            continue;
        assert_true(packed_size > 0 && packed_size <= pack_bound(size));
        assert_int_equal(unpack_records(packed, packed_size, back, size), 0);
        assert_memory_equal(records, back, size);
    }
    free(records);
    free(packed);
    free(back);
}

static void test_plain_spans_become_small(void **state)
{
    struct wire_span spans[1000] = {0};
    uint8_t packed[sizeof spans + sizeof spans / 8 + 64];
    for (size_t i = 0; i < 1000; i++) {
        spans[i].header = (struct wire_header){WIRE_SPAN, sizeof spans[0] / 8, 9};
        spans[i].begin = 1000000 + i * 250;
        spans[i].end = spans[i].begin + 100;
    }
    uint32_t count;
    size_t size = pack_records((const uint8_t *)spans, sizeof spans, packed, &count);
    assert_int_equal(count, 1000);
    assert_true(size < 3100);
}

static void test_no_records_are_refused(void **state)
{
    uint64_t words[4] = {0};
    uint8_t out[128];
    uint32_t count;
    assert_int_equal(pack_records((const uint8_t *)words, sizeof words, out, &count), 0);
    words[0] = (uint64_t)5 << 16 | WIRE_SPAN; /* longer than what is there */
    assert_int_equal(pack_records((const uint8_t *)words, sizeof words, out, &count), 0);
}

static void test_hostile_input_is_refused_or_harmless(void **state)
{
    uint8_t *records = calloc(1, 1 << 16), *packed = malloc(pack_bound(1 << 16)), *back = malloc(1 << 16);
    uint32_t count;
    size_t size = make(records, 300), packed_size = pack_records(records, size, packed, &count);
    for (int round = 0; round < 20000; round++) {
        size_t at = random_next() % packed_size;
        uint8_t old = packed[at];
        packed[at] = (uint8_t)random_next();
        size_t length = round % 3 ? packed_size : random_next() % packed_size;
        uint8_t *exact = malloc(length ? length : 1); /* so that a read beyond the end shows under ASan */
        memcpy(exact, packed, length);
        (void)!unpack_records(exact, length, back, size);
        free(exact);
        packed[at] = old;
    }
    assert_int_equal(unpack_records(packed, packed_size - 1, back, size), -EBADMSG);
    assert_int_equal(unpack_records(packed, packed_size, back, size - 8), -EBADMSG);
    free(records);
    free(packed);
    free(back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_plain_spans_become_small),
        cmocka_unit_test(test_no_records_are_refused),
        cmocka_unit_test(test_hostile_input_is_refused_or_harmless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
