/* SPDX-License-Identifier: MIT */
/* Equal stacks get equal numbers; a full tree is forgotten without a number meaning two nodes. */
#include "unit.h"

#include "record/stack_tree.h"

static const struct stack_place places[] = {{1, 0, 0x30}, {1, 0, 0x20}, {0, 0, 0x10}}; /* innermost first */

static void test_equal_stacks_are_one(void **state)
{
    struct stack_tree *tree;
    uint32_t whole, again, caller, none = 7;
    assert_int_equal(stack_tree_create(0, &tree), 0);
    assert_int_equal(stack_tree_intern(tree, places, 3, 0, &whole), 0);
    assert_int_equal(stack_tree_intern(tree, places, 3, 0, &again), 0);
    assert_int_equal(stack_tree_intern(tree, places + 1, 2, 0, &caller), 0);
    assert_int_equal(stack_tree_intern(tree, places, 0, 0, &none), 0);
    assert_int_equal(whole, again);
    assert_int_equal(whole, 3); /* made root first */
    assert_int_equal(caller, 2);
    assert_int_equal(none, 0);
    stack_tree_destroy(tree);
}

static void test_every_part_of_a_place_counts(void **state)
{
    struct stack_tree *tree;
    uint32_t numbers[4];
    struct stack_place variants[] = {{1, 0, 1}, {2, 0, 1}, {1, 1, 1}, {1, 0, 2}};
    assert_int_equal(stack_tree_create(0, &tree), 0);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(stack_tree_intern(tree, &variants[i], 1, 0, &numbers[i]), 0);
        assert_int_equal(numbers[i], i + 1);
    }
    stack_tree_destroy(tree);
}

static void test_memory_is_bounded_and_numbers_go_on(void **state)
{
    struct stack_tree *tree;
    uint32_t last = 0, number;
    struct stack_tree_statistics statistics;
    assert_int_equal(stack_tree_create(1000, &tree), 0);
    for (uint64_t i = 0; i < 100000; i++) {
        struct stack_place stack[2] = {{1, 0, i}, {1, 0, 1}};
        assert_int_equal(stack_tree_intern(tree, stack, 2, 0, &number), 0);
        assert_true(number > last);
        last = number;
    }
    stack_tree_statistics(tree, &statistics);
    assert_true(statistics.epochs >= 99);
    assert_int_equal(statistics.nodes, last);
    stack_tree_destroy(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_stacks_are_one),
        cmocka_unit_test(test_every_part_of_a_place_counts),
        cmocka_unit_test(test_memory_is_bounded_and_numbers_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
