/* SPDX-License-Identifier: MIT */
/* Records can be stepped over whatever they are, and none reaches beyond what is there. */
#include "unit.h"

#include "wire/buffer.h"
#include "wire/clock.h"

#include <string.h>

static void test_kinds_have_distinct_numbers_and_whole_sizes(void **state)
{
    static const uint16_t numbers[] = {
#define X(number, enumerator, name, size) number,
#include "wire/records.def"
#undef X
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_true(wire_kind_size(numbers[i]) >= sizeof(struct wire_header));
        assert_int_equal(wire_kind_size(numbers[i]) % 8, 0);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(numbers[i], numbers[j]);
    }
    assert_int_equal(wire_kind_size(0), 0);
    assert_int_equal(wire_kind_size(60000), 0);
}

static void test_record_at_checks_what_is_left(void **state)
{
    struct wire_span span = {.header = {WIRE_SPAN, sizeof span / 8, 1}};
    const uint8_t *bytes = (const uint8_t *)&span;
    assert_ptr_equal(wire_record_at(bytes, bytes + sizeof span), &span.header);
    assert_null(wire_record_at(bytes, bytes + sizeof span - 1));
    assert_null(wire_record_at(bytes, bytes + 7));
    assert_null(wire_record_at(bytes, bytes));
    span.header.words = 0;
    assert_null(wire_record_at(bytes, bytes + sizeof span));
    span.header.words = 5; /* shorter than a span's fixed part */
    assert_null(wire_record_at(bytes, bytes + sizeof span));
    span.header.kind = 60000; /* unknown: any length will do */
    assert_non_null(wire_record_at(bytes, bytes + sizeof span));
}

static void test_a_span_fits_the_bar(void **state)
{
    assert_true(sizeof(struct wire_span) <= 48);
    assert_int_equal(sizeof(struct wire_chunk), WIRE_CHUNK_DATA);
    assert_int_equal(offsetof(struct wire_chunk, state), 64);
    assert_int_equal(offsetof(struct wire_chunk, packed), 128);
    assert_int_equal(offsetof(struct wire_session, header_bytes), 64);
}

static void test_ticks_go_forward(void **state)
{
    if (WIRE_CLOCK_TICKS == WIRE_CLOCK_RAW)
        skip();
    uint64_t last = wire_ticks();
    for (int i = 0; i < 1000; i++) {
        uint64_t now = wire_ticks();
        assert_true(now >= last);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds_have_distinct_numbers_and_whole_sizes),
        cmocka_unit_test(test_record_at_checks_what_is_left),
        cmocka_unit_test(test_a_span_fits_the_bar),
        cmocka_unit_test(test_ticks_go_forward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
