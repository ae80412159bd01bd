/* SPDX-License-Identifier: MIT */
/* perf-PID.map and jitdump: what they say, when it was true, and what a hostile file may not do. */
#include "symbol/jit_table.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct jit_table *map_of(const char *text, size_t size)
{
    struct jit_table *table;
    struct jit_reader reader = jit_reader_of_memory(text, size);
    assert_int_equal(jit_table_create(&table), 0);
    assert_int_equal(perf_map_read(&reader, table), 0);
    return table;
}

static const char *name_at(const struct jit_table *table, uint64_t address, int64_t time_ns)
{
    const struct jit_entry *entry = jit_table_find(table, address, time_ns);
    return entry ? table->text + entry->name : "";
}

static void test_perf_map_lines(void **state)
{
    static const char text[] = "1000 10 first function(int)\n0x2000 0x20 second\nnonsense\n3000\n4000 0 empty\n"
                               "5000 zz bad\n1008 8 later\n6000 10 with\ttab\x01\nffffffffffffffff ffffffffffffffff over\n"
                               "7000 10 half written";
    CLEANUP(jit_table_destroyp) struct jit_table *table = map_of(text, sizeof text - 1);
    assert_int_equal(table->count, 4);
    assert_string_equal(name_at(table, 0x1000, INT64_MAX), "first function(int)");
    assert_string_equal(name_at(table, 0x1007, INT64_MAX), "first function(int)");
    assert_string_equal(name_at(table, 0x1008, INT64_MAX), "later"); /* reused: the later line holds */
    assert_string_equal(name_at(table, 0x1010, INT64_MAX), "");
    assert_string_equal(name_at(table, 0x201f, 0), "second");
    assert_string_equal(name_at(table, 0x4000, 0), "");
    assert_string_equal(name_at(table, 0x6000, 0), "with?tab?");
    assert_string_equal(name_at(table, 0x7000, 0), "");
    assert_true(table->truncated);
}

static void test_perf_map_lines_across_reads(void **state)
{
    size_t size = 3u << 20, at = 0;
    unsigned count = 0;
    char *text = malloc(size + 64);
    assert_non_null(text);
    while (at < size)
        at += (size_t)sprintf(text + at, "%x 10 function number %u\n", 0x1000 + 16 * count, count), count++;
    CLEANUP(jit_table_destroyp) struct jit_table *table = map_of(text, at);
    assert_int_equal(table->count, count);
    assert_false(table->truncated);
    for (unsigned i = 0; i < count; i += 977) {
        char expected[64];
        snprintf(expected, sizeof expected, "function number %u", i);
        assert_string_equal(name_at(table, 0x1000 + 16 * i + 15, 0), expected);
    }
    /* A line that never ends is skipped, what follows it is not. */
    memset(text, 'x', 2u << 20);
    memcpy(text + (2u << 20), "\n1000 10 good\n", 15);
    CLEANUP(jit_table_destroyp) struct jit_table *other = map_of(text, (2u << 20) + 14);
    assert_string_equal(name_at(other, 0x1000, 0), "good");
    assert_true(other->truncated);
    free(text);
}

struct dump {
    uint8_t bytes[4096];
    size_t size;
};

static void put(struct dump *dump, const void *bytes, size_t size)
{
    memcpy(dump->bytes + dump->size, bytes, size);
    dump->size += size;
}

static void put_header(struct dump *dump, uint64_t flags)
{
    const uint32_t words[6] = {0x4a695444, 1, 40, 62, 0, 1234};
    const uint64_t more[2] = {1, flags};
    put(dump, words, sizeof words);
    put(dump, more, sizeof more);
}

static void put_record(struct dump *dump, uint32_t kind, uint64_t time, const void *body, size_t size)
{
    const uint32_t words[2] = {kind, (uint32_t)size + 16};
    put(dump, words, sizeof words);
    put(dump, &time, sizeof time);
    put(dump, body, size);
}

static void put_load(struct dump *dump, uint64_t time, uint64_t address, uint64_t size, uint64_t index, const char *name)
{
    uint8_t body[256] = {0};
    const uint64_t words[4] = {address, address, size, index};
    memcpy(body + 8, words, sizeof words);
    memcpy(body + 40, name, strlen(name) + 1);
    put_record(dump, 0, time, body, 40 + strlen(name) + 1 + 4);
}

static void put_move(struct dump *dump, uint64_t time, uint64_t from, uint64_t to, uint64_t size, uint64_t index)
{
    uint8_t body[48] = {0};
    const uint64_t words[5] = {from, from, to, size, index};
    memcpy(body + 8, words, sizeof words);
    put_record(dump, 1, time, body, sizeof body);
}

static void put_lines(struct dump *dump, uint64_t address)
{
    uint8_t body[256];
    size_t size = 0;
    const uint64_t head[2] = {address, 2};
    const uint64_t addresses[2] = {address, address + 8};
    const uint32_t numbers[2][2] = {{11, 0}, {12, 0}};
    memcpy(body, head, 16);
    size = 16;
    for (int i = 0; i < 2; i++) {
        const char *file = i ? "\xff" : "source.js";
        memcpy(body + size, &addresses[i], 8);
        memcpy(body + size + 8, numbers[i], 8);
        memcpy(body + size + 16, file, strlen(file) + 1);
        size += 16 + strlen(file) + 1;
    }
    put_record(dump, 2, 1, body, size);
}

static struct jit_table *dump_of(const struct dump *dump)
{
    struct jit_table *table;
    struct jit_reader reader = jit_reader_of_memory(dump->bytes, dump->size);
    assert_int_equal(jit_table_create(&table), 0);
    assert_int_equal(jitdump_read(&reader, table), 0);
    return table;
}

static void test_jitdump_knows_what_lay_where_and_when(void **state)
{
    struct dump dump = {.size = 0};
    put_header(&dump, 0);
    put_load(&dump, 100, 0x1000, 0x100, 1, "old");
    put_load(&dump, 200, 0x1000, 0x80, 2, "new");
    put_load(&dump, 250, 0x5000, 0x10, 3, "moving");
    put_move(&dump, 300, 0x5000, 0x1040, 0x10, 3);
    put_record(&dump, 3, 400, "", 0);
    CLEANUP(jit_table_destroyp) struct jit_table *table = dump_of(&dump);
    assert_string_equal(name_at(table, 0x1000, 150), "old");
    assert_string_equal(name_at(table, 0x1000, 250), "new");
    assert_string_equal(name_at(table, 0x1000, 50), "old"); /* clocks may differ a little: the nearest is better than none */
    assert_string_equal(name_at(table, 0x10ff, 350), "old");
    assert_string_equal(name_at(table, 0x1045, 299), "new");
    assert_string_equal(name_at(table, 0x1045, 300), "moving");
    assert_string_equal(name_at(table, 0x5005, 299), "moving");
    assert_false(table->truncated);
}

static void test_jitdump_lines_belong_to_the_next_load(void **state)
{
    struct dump dump = {.size = 0};
    put_header(&dump, 1); /* counter ticks: times mean nothing */
    put_lines(&dump, 0x1000);
    put_load(&dump, 100, 0x1000, 0x100, 1, "with lines");
    put_load(&dump, 200, 0x2000, 0x100, 2, "without");
    CLEANUP(jit_table_destroyp) struct jit_table *table = dump_of(&dump);
    const struct jit_entry *entry = jit_table_find(table, 0x1004, 0);
    assert_int_equal(entry->time_ns, JIT_TIME_UNKNOWN);
    assert_int_equal(jit_line_find(table, entry, 0x1004)->line, 11);
    assert_int_equal(jit_line_find(table, entry, 0x10f0)->line, 12);
    assert_string_equal(table->text + jit_line_find(table, entry, 0x10f0)->file, "source.js");
    assert_null(jit_line_find(table, jit_table_find(table, 0x2000, 0), 0x2000));
}

static void test_damaged_jitdumps(void **state)
{
    struct dump dump = {.size = 0};
    put_header(&dump, 0);
    put_lines(&dump, 0x1000);
    put_load(&dump, 100, 0x1000, 0x100, 1, "a function");
    put_move(&dump, 300, 0x1000, 0x3000, 0x10, 1);
    for (size_t size = 0; size <= dump.size; size++) {
        uint8_t *copy = malloc(size ? size : 1);
        struct jit_table *table;
        memcpy(copy, dump.bytes, size);
        struct jit_reader reader = jit_reader_of_memory(copy, size);
        assert_int_equal(jit_table_create(&table), 0);
        assert_int_equal(jitdump_read(&reader, table), size < 40 ? -EINVAL : 0);
        jit_table_destroy(table);
        free(copy);
    }
    dump.bytes[0] ^= 1;
    struct jit_reader reader = jit_reader_of_memory(dump.bytes, dump.size);
    CLEANUP(jit_table_destroyp) struct jit_table *table = NULL;
    assert_int_equal(jit_table_create(&table), 0);
    assert_int_equal(jitdump_read(&reader, table), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perf_map_lines),
        cmocka_unit_test(test_perf_map_lines_across_reads),
        cmocka_unit_test(test_jitdump_knows_what_lay_where_and_when),
        cmocka_unit_test(test_jitdump_lines_belong_to_the_next_load),
        cmocka_unit_test(test_damaged_jitdumps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
