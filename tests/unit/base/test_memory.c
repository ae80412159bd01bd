/* SPDX-License-Identifier: MIT */
/* Arena and arrays: alignment, growth, refusal of sizes that overflow. */
#include "base/arena.h"
#include "base/array.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

static void test_arena_hands_out_aligned_memory_that_does_not_overlap(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    unsigned char *pieces[2000];
    for (size_t index = 0; index < 2000; index++) {
        size_t size = index % 97;
        pieces[index] = arena_alloc(&arena, size);
        assert_non_null(pieces[index]);
        assert_int_equal((uintptr_t)pieces[index] % 16, 0);
        memset(pieces[index], (int)(index & 0xff), size);
    }
    for (size_t index = 0; index < 2000; index++)
        for (size_t byte = 0; byte < index % 97; byte++)
            assert_int_equal(pieces[index][byte], index & 0xff);
    arena_finish(&arena);
    assert_null(arena.newest);
    assert_int_equal(arena.used_bytes, 0);
}

static void test_arena_keeps_its_block_beside_a_large_request(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    char *first = arena_alloc(&arena, 16);
    char *large = arena_alloc(&arena, 3 << 20);
    char *second = arena_alloc(&arena, 16);
    assert_non_null(large);
    memset(large, 1, 3 << 20);
    assert_ptr_equal(second, first + 16);
    assert_int_equal(arena.used_bytes, 32 + (3 << 20));
    arena_finish(&arena);
}

static void test_arena_refuses_sizes_that_overflow(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    assert_null(arena_alloc(&arena, SIZE_MAX));
    assert_null(arena_alloc(&arena, SIZE_MAX - 20));
    assert_null(arena_calloc(&arena, SIZE_MAX / 2, 3));
    assert_null(arena_strndup(&arena, "x", SIZE_MAX));
    assert_string_equal(arena_strndup(&arena, "kernel_name", 6), "kernel");
    assert_string_equal(arena_strndup(&arena, NULL, 0), "");
    arena_finish(&arena);
}

static void test_arena_calloc_zeroes(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (int round = 0; round < 100; round++) {
        unsigned char *bytes = arena_calloc(&arena, 10, 10);
        for (int index = 0; index < 100; index++)
            assert_int_equal(bytes[index], 0);
        memset(bytes, 0xff, 100);
    }
    arena_finish(&arena);
}

static void test_array_doubles_and_keeps_what_is_there(void **state)
{
    (void)state;
    uint32_t *items = NULL;
    size_t capacity = 0;
    unsigned moves = 0;
    for (uint32_t count = 0; count < 100000; count++) {
        size_t before = capacity;
        items = array_reserve(items, &capacity, count + 1, sizeof(*items));
        assert_non_null(items);
        moves += capacity != before;
        items[count] = count;
    }
    assert_true(moves <= 15);
    for (uint32_t index = 0; index < 100000; index++)
        assert_int_equal(items[index], index);
    free(items);
}

static void test_array_refusal_leaves_the_old_array(void **state)
{
    (void)state;
    size_t capacity = 0;
    char *items = array_reserve(NULL, &capacity, 4, 8);
    size_t before = capacity;
    memcpy(items, "abcd", 5);
    assert_null(array_reserve(items, &capacity, SIZE_MAX / 4, 8));
    assert_int_equal(capacity, before);
    assert_string_equal(items, "abcd");
    assert_null(array_resize_exact(NULL, SIZE_MAX, 2));
    free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arena_hands_out_aligned_memory_that_does_not_overlap),
        cmocka_unit_test(test_arena_keeps_its_block_beside_a_large_request),
        cmocka_unit_test(test_arena_refuses_sizes_that_overflow),
        cmocka_unit_test(test_arena_calloc_zeroes),
        cmocka_unit_test(test_array_doubles_and_keeps_what_is_there),
        cmocka_unit_test(test_array_refusal_leaves_the_old_array),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
