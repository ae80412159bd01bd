/* SPDX-License-Identifier: MIT */
/* Hash map against a plain array that does the same slowly. */
#include "base/map.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#define KEYS 512

static uint64_t random_next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void test_map_agrees_with_a_plain_array(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    bool present[KEYS] = {false};
    uint64_t values[KEYS] = {0}, seed = 1;
    size_t count = 0;
    for (int step = 0; step < 200000; step++) {
        uint64_t key = random_next(&seed) % KEYS; /* 0 is among them */
        uint64_t value, action = random_next(&seed) % 3;
        if (action == 0) {
            count += !present[key];
            present[key] = true;
            values[key] = random_next(&seed);
            assert_int_equal(map_set(&map, key, values[key]), 0);
        } else if (action == 1) {
            assert_int_equal(map_remove(&map, key), present[key]);
            count -= present[key];
            present[key] = false;
        } else {
            assert_int_equal(map_get(&map, key, &value), present[key]);
            if (present[key])
                assert_int_equal(value, values[key]);
        }
        assert_int_equal(map.count, count);
    }
    map_finish(&map);
}

static void test_map_holds_extreme_keys(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    uint64_t value;
    assert_false(map_get(&map, 0, &value));
    assert_false(map_remove(&map, 0));
    const uint64_t keys[] = {0, 1, UINT64_MAX, (uint64_t)1 << 63, 0xffffffffu};
    for (size_t index = 0; index < 5; index++)
        assert_int_equal(map_set(&map, keys[index], index + 10), 0);
    for (size_t index = 0; index < 5; index++) {
        assert_true(map_get(&map, keys[index], &value));
        assert_int_equal(value, index + 10);
    }
    map_clear(&map);
    assert_int_equal(map.count, 0);
    assert_false(map_get(&map, 0, &value));
    map_finish(&map);
}

static void test_map_next_visits_each_pair_once(void **state)
{
    (void)state;
    struct map map;
    map_init(&map);
    size_t position = 0;
    uint64_t key, value, sum = 0, visits = 0;
    assert_false(map_next(&map, &position, &key, &value));
    for (uint64_t index = 0; index < 1000; index++)
        assert_int_equal(map_set(&map, index, index * 2), 0);
    while (map_next(&map, &position, &key, &value)) {
        assert_int_equal(value, key * 2);
        sum += key;
        visits++;
    }
    assert_int_equal(visits, 1000);
    assert_int_equal(sum, 999 * 1000 / 2);
    map_finish(&map);
}

/* Addresses are multiples of a power of two: they must not end in the same slots. */
static void test_hash_spreads_aligned_keys(void **state)
{
    (void)state;
    unsigned buckets[256] = {0};
    for (uint64_t index = 0; index < 25600; index++)
        buckets[hash_u64(index << 21) & 255]++;
    for (int bucket = 0; bucket < 256; bucket++)
        assert_in_range(buckets[bucket], 50, 200);
}

static void test_hash_bytes_sees_every_byte_and_the_length(void **state)
{
    (void)state;
    unsigned char data[70] = {0};
    for (size_t size = 0; size < sizeof(data); size++) {
        uint64_t before = hash_bytes(data, size);
        assert_true(before != hash_bytes(data, size + 1));
        for (size_t index = 0; index < size; index++) {
            data[index] ^= 0x40;
            assert_true(before != hash_bytes(data, size));
            data[index] ^= 0x40;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_map_agrees_with_a_plain_array),
        cmocka_unit_test(test_map_holds_extreme_keys),
        cmocka_unit_test(test_map_next_visits_each_pair_once),
        cmocka_unit_test(test_hash_spreads_aligned_keys),
        cmocka_unit_test(test_hash_bytes_sees_every_byte_and_the_length),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
