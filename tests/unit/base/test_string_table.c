/* SPDX-License-Identifier: MIT */
/* String table: dense ids, write-out and mapping back, hostile parts. */
#include "base/string_table.h"
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct string_table *new_table(void)
{
    struct string_table *table;
    assert_int_equal(string_table_create(&table), 0);
    return table;
}

static void test_each_distinct_string_has_one_dense_id(void **state)
{
    (void)state;
    struct string_table *table = new_table();
    char name[32];
    string_id id;
    for (int round = 0; round < 2; round++)
        for (unsigned index = 0; index < 20000; index++) {
            int length = snprintf(name, sizeof(name), "kernel_%u", index);
            assert_int_equal(string_table_intern(table, name, (size_t)length, &id), 0);
            assert_int_equal(id.index, index + 1);
        }
    assert_int_equal(string_table_count(table), 20001);
    assert_string_equal(string_table_text(table, (string_id){20000}), "kernel_19999");
    assert_int_equal(string_table_length(table, (string_id){20000}), 12);
    assert_true(string_table_find(table, "kernel_77", 9, &id));
    assert_int_equal(id.index, 78);
    assert_false(string_table_find(table, "kernel_x", 8, &id));
    string_table_destroy(table);
}

static void test_empty_absent_and_out_of_range(void **state)
{
    (void)state;
    struct string_table *table = new_table();
    string_id id = {7};
    assert_int_equal(string_table_intern(table, "", 0, &id), 0);
    assert_int_equal(id.index, 0);
    assert_int_equal(string_table_intern_text(table, NULL, &id), 0);
    assert_int_equal(id.index, 0);
    assert_int_equal(string_table_intern(table, "cut\0here", 8, &id), 0);
    assert_string_equal(string_table_text(table, id), "cut");
    assert_int_equal(string_table_length(table, id), 3);
    assert_string_equal(string_table_text(table, (string_id){999}), "");
    assert_int_equal(string_table_length(table, (string_id){999}), 0);
    string_table_destroy(table);
    string_table_destroy(NULL);
}

/* The blob moves when it grows: text that points into it must survive. */
static void test_interning_a_piece_of_the_table_itself(void **state)
{
    (void)state;
    struct string_table *table = new_table();
    string_id id;
    char base[4097];
    memset(base, 'a', 4096);
    base[4096] = '\0';
    assert_int_equal(string_table_intern_text(table, base, &id), 0);
    for (size_t length = 4095; length > 3000; length--) {
        string_id piece;
        assert_int_equal(string_table_intern(table, string_table_text(table, id), length, &piece), 0);
        assert_int_equal(string_table_length(table, piece), length);
        assert_int_equal(strspn(string_table_text(table, piece), "a"), length);
    }
    string_table_destroy(table);
}

static void *find_in_thread(void *context)
{
    string_id id = STRING_NONE;
    bool found = string_table_find(context, "beta", 4, &id);
    return found && id.index == 2 ? context : NULL;
}

static void test_written_parts_map_back_read_only(void **state)
{
    (void)state;
    struct string_table *table = new_table(), *mapped;
    string_id id;
    string_table_intern_text(table, "alpha", &id);
    string_table_intern_text(table, "beta", &id);
    uint64_t size;
    const char *blob = string_table_blob(table, &size);
    assert_int_equal(size, 1 + 6 + 5);
    assert_int_equal(string_table_map(blob, size, string_table_offsets(table), 3, &mapped), 0);
    assert_int_equal(string_table_count(mapped), 3);
    assert_string_equal(string_table_text(mapped, (string_id){1}), "alpha");
    assert_int_equal(string_table_intern_text(mapped, "gamma", &id), -EROFS);
    pthread_t threads[4];
    for (int index = 0; index < 4; index++)
        assert_int_equal(pthread_create(&threads[index], NULL, find_in_thread, mapped), 0);
    for (int index = 0; index < 4; index++) {
        void *result;
        pthread_join(threads[index], &result);
        assert_ptr_equal(result, mapped);
    }
    string_table_destroy(mapped);
    string_table_destroy(table);
}

static void test_hostile_parts_are_refused(void **state)
{
    (void)state;
    static const char blob[] = "\0ab\0cd"; /* the last NUL is the literal's own */
    const struct {
        uint64_t size, offsets[4];
        uint32_t count;
        int result;
    } cases[] = {
        {7, {0, 1, 4, 7}, 3, 0},
        {7, {0, 1, 4, 7}, 0, -EINVAL},      /* not even "" */
        {7, {0, 4, 4, 7}, 3, -EINVAL},      /* id 0 isn't "" */
        {7, {0, 1, 1, 7}, 3, -EINVAL},      /* not ascending */
        {7, {0, 1, 3, 7}, 3, -EINVAL},      /* no NUL at an end */
        {7, {0, 1, 4, 8}, 3, -EINVAL},      /* beyond the blob */
        {7, {0, 1, UINT64_MAX, 7}, 3, -EINVAL},
        {6, {0, 1, 4, 7}, 3, -EINVAL},      /* blob cut short */
    };
    for (size_t index = 0; index < sizeof(cases) / sizeof(cases[0]); index++) {
        struct string_table *table = NULL;
        assert_int_equal(string_table_map(blob, cases[index].size, cases[index].offsets, cases[index].count, &table),
                         cases[index].result);
        string_table_destroy(table);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_distinct_string_has_one_dense_id),
        cmocka_unit_test(test_empty_absent_and_out_of_range),
        cmocka_unit_test(test_interning_a_piece_of_the_table_itself),
        cmocka_unit_test(test_written_parts_map_back_read_only),
        cmocka_unit_test(test_hostile_parts_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
