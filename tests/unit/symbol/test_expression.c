/* SPDX-License-Identifier: MIT */
/* DWARF expressions: one case per operation, and the bounds. */
#include "symbol/expression.h"

#include "unit.h"

#include <string.h>

struct expression_case {
    const char *name, *bytes;
    size_t size;
    bool valid;
    uint64_t value;
};
#define CASE(name, bytes, value) {name, bytes, sizeof bytes - 1, true, value}
#define BAD(name, bytes) {name, bytes, sizeof bytes - 1, false, 0}

/* The CFA (0x1000) is on the stack at the start; rsp (7) is 0x1000, rbp (6) unknown; the stack bytes count up from 0. */
static const struct expression_case cases[] = {
    CASE("cfa", "", 0x1000),
    CASE("literal", "\x3f", 15),
    CASE("plus_uconst", "\x23\x08", 0x1008),
    CASE("breg", "\x77\x78", 0xff8),
    CASE("bregx", "\x92\x07\x10", 0x1010),
    CASE("deref", "\x06", 0x0706050403020100),
    CASE("deref_size", "\x94\x02", 0x0100),
    CASE("consts", "\x11\x7f", UINT64_MAX),
    CASE("const2s", "\x0b\xfe\xff", (uint64_t)-2),
    CASE("const4u", "\x0c\xff\xff\xff\xff", 0xffffffff),
    CASE("plt stub", "\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22", 0x1008 + 8),
    CASE("rot", "\x31\x32\x17\x1c", 0xfff), /* 1000 1 2 -> 2 1000 1, then 1000 - 1 */
    CASE("swap minus", "\x31\x16\x1c", 1 - 0x1000ull),
    CASE("division", "\x34\x1b", 0x400),
    CASE("branch taken", "\x31\x28\x01\x00\x30\x35", 5),
    CASE("skip", "\x2f\x01\x00\x30", 0x1000),
    CASE("shift by 64", "\x08\x40\x24", 0),
    CASE("not", "\x20", ~0x1000ull),
    BAD("unknown register", "\x76\x00"),
    BAD("memory that was not copied", "\x0a\x00\x20\x22\x06"),
    BAD("division by zero", "\x30\x1b"),
    BAD("nothing left", "\x13"),
    BAD("cut operand", "\x0c\x01"),
    BAD("endless loop", "\x2f\xfd\xff"),
    BAD("jump out", "\x2f\x70\x00"),
    BAD("unknown operation", "\xff"),
};

static void test_expressions(void **state)
{
    uint8_t stack[64];
    for (unsigned i = 0; i < sizeof stack; i++)
        stack[i] = (uint8_t)i;
    const struct unwind_sample sample = {.stack = stack, .stack_address = 0x1000, .stack_size = sizeof stack};
    struct unwind_registers registers = {.arch = UNWIND_X86_64, .valid = 1 << 7 | 1 << 16};
    registers.values[7] = 0x1000;
    registers.values[16] = 0x2f; /* for the stub: within its 16 bytes behind offset 11 */
    const struct expression_context context = {.registers = &registers, .sample = &sample};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t value = 0;
        bool valid = expression_evaluate(&context, (const uint8_t *)cases[i].bytes, cases[i].size, true, 0x1000, &value);
        if (valid != cases[i].valid || (valid && value != cases[i].value))
            fail_msg("%s: valid %d value %llx", cases[i].name, valid, (unsigned long long)value);
    }
}

static void test_depth_is_bounded(void **state)
{
    uint8_t dup[200];
    memset(dup, 0x12, sizeof dup);
    struct unwind_registers registers = {.arch = UNWIND_X86_64};
    const struct unwind_sample sample = {.stack_size = 0};
    const struct expression_context context = {.registers = &registers, .sample = &sample};
    uint64_t value;
    assert_false(expression_evaluate(&context, dup, sizeof dup, true, 1, &value));
    assert_false(expression_evaluate(&context, dup, 0, false, 1, &value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_depth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
