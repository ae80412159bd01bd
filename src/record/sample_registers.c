/* SPDX-License-Identifier: MIT */
/* The kernel numbers registers its own way (asm/perf_regs.h), DWARF another. */
#include "sample_registers.h"

#include <linux/perf_event.h>
#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#if defined(__x86_64__)
#define ARCH UNWIND_X86_64
enum { STACK_POINTER = 7, REGISTER_BITS = 24 };

/* By the kernel's number; -1: no unwind table speaks of it. */
static const int8_t dwarf_numbers[REGISTER_BITS] = {
    [PERF_REG_X86_AX] = 0,     [PERF_REG_X86_BX] = 3,  [PERF_REG_X86_CX] = 2,   [PERF_REG_X86_DX] = 1,
    [PERF_REG_X86_SI] = 4,     [PERF_REG_X86_DI] = 5,  [PERF_REG_X86_BP] = 6,   [PERF_REG_X86_SP] = 7,
    [PERF_REG_X86_IP] = 16,    [PERF_REG_X86_FLAGS] = -1, [PERF_REG_X86_CS] = -1, [PERF_REG_X86_SS] = -1,
    [PERF_REG_X86_DS] = -1,    [PERF_REG_X86_ES] = -1, [PERF_REG_X86_FS] = -1,  [PERF_REG_X86_GS] = -1,
    [PERF_REG_X86_R8] = 8,     [PERF_REG_X86_R9] = 9,  [PERF_REG_X86_R10] = 10, [PERF_REG_X86_R11] = 11,
    [PERF_REG_X86_R12] = 12,   [PERF_REG_X86_R13] = 13, [PERF_REG_X86_R14] = 14, [PERF_REG_X86_R15] = 15,
};

static int dwarf_number(int bit)
{
    return bit < REGISTER_BITS ? dwarf_numbers[bit] : -1;
}
#elif defined(__aarch64__)
#define ARCH UNWIND_AARCH64
enum { STACK_POINTER = 31 };

static int dwarf_number(int bit)
{
    return bit <= PERF_REG_ARM64_PC ? bit : -1; /* x0..x30, sp, pc: the numbers agree */
}
#else
#define ARCH UNWIND_X86_64
enum { STACK_POINTER = 7 };

static int dwarf_number(int bit)
{
    return -1;
}
#endif

bool sample_registers_convert(uint64_t abi, uint64_t mask, const uint64_t *values, struct unwind_registers *ret_registers,
                              uint64_t *ret_stack_pointer)
{
    if (abi != PERF_SAMPLE_REGS_ABI_64 || !values)
        return false;
    struct unwind_registers registers = {.arch = ARCH};
    size_t index = 0;
    for (int bit = 0; bit < 64; bit++) {
        if (!(mask >> bit & 1))
            continue;
        int number = dwarf_number(bit);
        if (number >= 0 && number < UNWIND_REGISTERS) {
            registers.values[number] = values[index];
            registers.valid |= 1ULL << number;
        }
        index++;
    }
    *ret_registers = registers;
    *ret_stack_pointer = registers.values[STACK_POINTER];
    return registers.valid >> STACK_POINTER & 1;
}
