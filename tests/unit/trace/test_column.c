/* SPDX-License-Identifier: MIT */
/* Columns, payloads and the checksum: what goes in comes out, and impossible headers are refused. */
#include "trace_fixture.h"

#include "trace/column.h"
#include "trace/crc32c.h"
#include "trace/payload.h"
#include "trace/trace.h"

static void round_trip(const uint64_t *values, uint32_t count, bool ascending, uint8_t width)
{
    uint8_t *data = malloc((size_t)count * 8), *raw = malloc((size_t)count * 8);
    uint64_t *decoded = malloc((size_t)count * 8);
    struct column_header header = {.id = 3};
    column_encode(values, count, ascending, &header, data);
    assert_int_equal(header.width, width);
    assert_true(column_header_valid(&header, count));
    column_decode(&header, data, count, decoded);
    assert_memory_equal(decoded, values, (size_t)count * 8);
    size_t bound = column_pack_bound(header.stored_size);
    uint8_t *packed = malloc(bound + 1);
    if (column_pack(&header, data, count, PACK_LEVEL_FILE, packed, bound)) {
        assert_true(column_header_valid(&header, count));
        assert_int_equal(column_unpack(&header, packed, count, raw), 0);
        column_decode(&header, raw, count, decoded);
        assert_memory_equal(decoded, values, (size_t)count * 8);
        packed[header.stored_size / 2] ^= 0x55; /* may decode to something else, may not overrun */
        (void)column_unpack(&header, packed, count, raw);
    }
    free(data);
    free(raw);
    free(decoded);
    free(packed);
}

static void test_columns_of_all_widths(void **state)
{
    static const struct {
        uint64_t range;
        uint8_t width;
    } cases[] = {{0, 0}, {255, 1}, {256, 2}, {65535, 2}, {65536, 4}, {UINT32_MAX, 4}, {(uint64_t)1 << 32, 8}, {UINT64_MAX, 8}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t values[1000], sums[1000], seed = i, base = cases[i].range == UINT64_MAX ? 0 : 77;
        for (uint32_t row = 0; row < 1000; row++) {
            uint64_t wide = (uint64_t)random_next(&seed) << 33 ^ random_next(&seed);
            values[row] = base + (cases[i].range == UINT64_MAX ? wide : wide % (cases[i].range + 1));
        }
        values[1] = base;
        values[2] = base + cases[i].range;
        round_trip(values, 1000, false, cases[i].width);
        sums[0] = (uint64_t)INT64_C(-12345); /* negative times */
        for (uint32_t row = 1; row < 1000; row++)
            sums[row] = sums[row - 1] + (values[row] - base) % (cases[i].range == UINT64_MAX ? 1 : cases[i].range + 1);
        if (cases[i].range < UINT64_MAX)
            round_trip(sums, 1000, true, cases[i].width);
        round_trip(values, 1, false, 0);
    }
}

static void test_impossible_headers_are_refused(void **state)
{
    struct column_header good = {.encoding = COLUMN_OFFSET, .width = 2, .stored_size = 20}, bad = good;
    assert_true(column_header_valid(&good, 10));
    bad.width = 3;
    assert_false(column_header_valid(&bad, 10));
    bad = good;
    bad.stored_size = 21;
    assert_false(column_header_valid(&bad, 10));
    bad = good;
    bad.encoding = COLUMN_ENCODING_COUNT;
    assert_false(column_header_valid(&bad, 10));
    bad = good;
    bad.packing = PACKING_COUNT;
    assert_false(column_header_valid(&bad, 10));
    struct column_header bytes = {.encoding = COLUMN_BYTES, .width = 1, .packing = PACKING_ZSTD, .base = UINT64_MAX};
    assert_false(column_header_valid(&bytes, 10)); /* asks for more memory than any block may */
}

static void test_typed_payloads(void **state)
{
    struct payload payload = {.kind = PAYLOAD_BLOCKED, .present = 3}, decoded;
    payload.fields[0].string.index = 300;
    payload.fields[1].u64 = UINT64_MAX;
    uint8_t bytes[PAYLOAD_ENCODED_MAX];
    size_t size = payload_encode(&payload, bytes);
    assert_int_equal(payload_decode(bytes, size, &decoded), 0);
    assert_int_equal(decoded.kind, PAYLOAD_BLOCKED);
    assert_int_equal(decoded.present, 3);
    assert_int_equal(decoded.fields[0].string.index, 300);
    assert_int_equal(decoded.fields[1].u64, UINT64_MAX);
    for (size_t cut = 1; cut < size; cut++)
        assert_int_equal(payload_decode(bytes, cut, &decoded), -EBADMSG);
    payload.present = 2; /* absent is not 0 */
    size = payload_encode(&payload, bytes);
    assert_int_equal(payload_decode(bytes, size, &decoded), 0);
    assert_int_equal(decoded.present, 2);
    assert_int_equal(payload_decode(NULL, 0, &decoded), 0);
    assert_int_equal(decoded.kind, PAYLOAD_NONE);
    bytes[0] = 200;
    assert_int_equal(payload_decode(bytes, size, &decoded), -EBADMSG);
}

static void test_payload_fields_are_listed_in_order(void **state)
{
    size_t count;
    const struct payload_field *fields = payload_fields(PAYLOAD_BLOCKED, &count);
    assert_int_equal(count, 2);
    assert_string_equal(fields[0].name, "reason");
    assert_string_equal(fields[1].name, "previous_cpu");
    payload_fields(PAYLOAD_JSON, &count);
    assert_int_equal(count, 0);
}

static void test_names_and_numbers_of_kinds(void **state)
{
    assert_int_equal(span_kind_find("implicit_task"), SPAN_KIND_IMPLICIT_TASK);
    assert_int_equal(span_kind_find("nothing"), -1);
    assert_string_equal(track_kind_name(TRACK_KIND_SCHED), "sched");
    assert_null(span_kind_name(SPAN_KIND_COUNT));
    assert_int_equal(sample_event_find("cpu-clock"), SAMPLE_EVENT_CPU_CLOCK);
    assert_string_equal(payload_kind_name(PAYLOAD_FAULT), "fault");
}

static void test_checksum_has_the_known_value(void **state)
{
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(crc32c(0, "1234", 4), "56789", 5), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
    uint8_t *large = calloc(1, 100001);
    uint32_t whole = crc32c(0, large, 100001), parts = 0;
    for (size_t at = 0; at < 100001; at += 1000)
        parts = crc32c(parts, large + at, 100001 - at < 1000 ? 100001 - at : 1000);
    assert_int_equal(whole, parts);
    free(large);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_columns_of_all_widths),
        cmocka_unit_test(test_impossible_headers_are_refused),
        cmocka_unit_test(test_typed_payloads),
        cmocka_unit_test(test_payload_fields_are_listed_in_order),
        cmocka_unit_test(test_names_and_numbers_of_kinds),
        cmocka_unit_test(test_checksum_has_the_known_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
