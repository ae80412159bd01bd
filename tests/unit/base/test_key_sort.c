/* SPDX-License-Identifier: MIT */
/* Sorting by digits gives what comparing gives, whatever the digits; equal keys keep their order. */
#include "base/key_sort.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t random_state = 88172645463325252u;

static uint64_t random_u64(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int compare(const void *left, const void *right)
{
    const struct sort_key *a = left, *b = right;
    int order = (a->group > b->group) - (a->group < b->group);
    order = order ? order : (a->key > b->key) - (a->key < b->key);
    return order ? order : (a->index > b->index) - (a->index < b->index);
}

static void check(size_t count, uint64_t key_mask, uint32_t group_mask)
{
    struct sort_key *keys = malloc((count + 1) * sizeof *keys), *expected = malloc((count + 1) * sizeof *keys);
    for (size_t i = 0; i < count; i++)
        keys[i] = expected[i] = (struct sort_key){random_u64() & key_mask, (uint32_t)random_u64() & group_mask, (uint32_t)i};
    qsort(expected, count, sizeof *keys, compare);
    assert_int_equal(key_sort(keys, count), 0);
    assert_memory_equal(keys, expected, count * sizeof *keys);
    free(keys);
    free(expected);
}

static void test_keys_are_sorted_by_group_then_key_then_place(void **state)
{
    static const uint64_t masks[] = {0, 1, 0x7ff, 0x800, 0xfffff, UINT64_MAX, 0xff00000000000000u, 0x8000000000000001u};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
        for (size_t count = 0; count < 3000; count += 1 + count) {
            check(count, masks[i], 0);
            check(count, masks[i], 7);
            check(count, masks[i], UINT32_MAX);
        }
}

static void test_signed_values_keep_their_order(void **state)
{
    assert_true(sort_key_of(INT64_MIN) < sort_key_of(-1));
    assert_true(sort_key_of(-1) < sort_key_of(0));
    assert_true(sort_key_of(0) < sort_key_of(INT64_MAX));
}

static void test_things_follow_their_keys(void **state)
{
    enum { COUNT = 1000 };
    struct thing {
        int64_t value;
        char name[17];
    } things[COUNT];
    struct sort_key keys[COUNT];
    memset(things, 0, sizeof things);
    for (uint32_t i = 0; i < COUNT; i++) {
        things[i].value = (int64_t)(random_u64() % 400) - 200;
        snprintf(things[i].name, sizeof things[i].name, "%lld of %u", (long long)things[i].value, (unsigned)i);
        keys[i] = (struct sort_key){sort_key_of(things[i].value), 0, i};
    }
    assert_int_equal(key_sort(keys, COUNT), 0);
    struct thing *sorted = key_sort_gather(keys, COUNT, things, sizeof *things);
    assert_non_null(sorted);
    memcpy(things, sorted, sizeof things);
    free(sorted);
    for (uint32_t i = 0; i < COUNT; i++) {
        unsigned place, before;
        assert_int_equal(strtoll(things[i].name, NULL, 10), things[i].value);
        assert_int_equal(sscanf(things[i].name, "%*d of %u", &place), 1);
        if (i && things[i - 1].value == things[i].value) {
            assert_int_equal(sscanf(things[i - 1].name, "%*d of %u", &before), 1);
            assert_true(before < place);
        } else if (i) {
            assert_true(things[i - 1].value < things[i].value);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_sorted_by_group_then_key_then_place),
        cmocka_unit_test(test_signed_values_keep_their_order),
        cmocka_unit_test(test_things_follow_their_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
