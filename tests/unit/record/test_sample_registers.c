/* SPDX-License-Identifier: MIT */
/* The kernel's numbering of registers becomes that of unwind tables. */
#include "unit.h"

#include "record/sample_registers.h"

#include <linux/perf_event.h>
#if defined(__x86_64__)
#include <asm/perf_regs.h>

static void test_each_register_finds_its_number(void **state)
{
    uint64_t mask = 1ULL << PERF_REG_X86_AX | 1ULL << PERF_REG_X86_BP | 1ULL << PERF_REG_X86_SP | 1ULL << PERF_REG_X86_IP |
                    1ULL << PERF_REG_X86_FLAGS | 1ULL << PERF_REG_X86_R12;
    const uint64_t values[] = {1, 2, 3, 4, 5, 6}; /* in the order of the mask's bits: AX BP SP IP FLAGS R12 */
    struct unwind_registers registers;
    uint64_t stack_pointer;
    assert_true(sample_registers_convert(PERF_SAMPLE_REGS_ABI_64, mask, values, &registers, &stack_pointer));
    assert_int_equal(registers.values[0], 1);
    assert_int_equal(registers.values[6], 2);
    assert_int_equal(registers.values[7], 3);
    assert_int_equal(registers.values[16], 4);
    assert_int_equal(registers.values[12], 6);
    assert_int_equal(registers.valid, 1u << 0 | 1u << 6 | 1u << 7 | 1u << 16 | 1u << 12);
    assert_int_equal(stack_pointer, 3);
}

static void test_without_a_stack_pointer_there_is_nothing_to_unwind(void **state)
{
    const uint64_t values[] = {1};
    struct unwind_registers registers;
    uint64_t stack_pointer;
    assert_false(sample_registers_convert(PERF_SAMPLE_REGS_ABI_64, 1ULL << PERF_REG_X86_AX, values, &registers, &stack_pointer));
}
#endif

static void test_other_kinds_of_code_are_refused(void **state)
{
    const uint64_t values[64] = {0};
    struct unwind_registers registers;
    uint64_t stack_pointer;
    assert_false(sample_registers_convert(PERF_SAMPLE_REGS_ABI_32, ~0ULL, values, &registers, &stack_pointer));
    assert_false(sample_registers_convert(PERF_SAMPLE_REGS_ABI_NONE, ~0ULL, NULL, &registers, &stack_pointer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if defined(__x86_64__)
        cmocka_unit_test(test_each_register_finds_its_number),
        cmocka_unit_test(test_without_a_stack_pointer_there_is_nothing_to_unwind),
#endif
        cmocka_unit_test(test_other_kinds_of_code_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
