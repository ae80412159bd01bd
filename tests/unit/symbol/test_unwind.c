/* SPDX-License-Identifier: MIT */
/* Whole stacks, made by hand, of both architectures: each way to step, and each way to end. */
#include "symbol/unwind.h"

#include "elf_maker.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOAD 0x400000u /* the file's address 0 at run time */
#define CODE(offset) (LOAD + MADE_TEXT + (offset))
#define STACK 0x7ffe0000u
#define WORDS 64

/*
 * Functions, 0x40 bytes each: 0x000 leaf of one word frame, 0x040 pushes rbp and has CFA rbp+16, 0x080 root, 0x0c0 signal
 * frame that keeps all at fixed places, 0x100 no information.
 */
struct stage {
    struct made_elf elf;
    char path[64];
    struct module_table *table;
    struct address_map *map;
    struct unwinder *unwinder;
    uint64_t stack[WORDS];
    struct unwind_sample sample;
    struct unwind_frame frames[16];
    enum unwind_end end;
};

static struct stage stage;

static void stage_file(uint16_t machine, const struct made_bytes *code, const struct made_bytes *frame,
                       const struct made_symbol *symbols, size_t symbol_count)
{
    struct stat status;
    made_elf_build(&stage.elf, machine, code, frame, symbols, symbol_count);
    snprintf(stage.path, sizeof stage.path, "/tmp/hp-unwind-XXXXXX");
    int fd = mkstemp(stage.path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, stage.elf.bytes, stage.elf.size), (ssize_t)stage.elf.size);
    assert_int_equal(fstat(fd, &status), 0);
    close(fd);
    assert_int_equal(module_table_create(&stage.table), 0);
    assert_int_equal(address_map_create(stage.table, getpid(), &stage.map), 0);
    assert_int_equal(unwinder_create(&stage.unwinder), 0);
    struct mapping_info mapping = {.start = LOAD, .length = 0x4000, .device = status.st_dev, .inode = status.st_ino,
                                   .path = stage.path, .executable = true};
    assert_int_equal(address_map_add(stage.map, &mapping), 0);
}

static void stage_x86(void)
{
    struct made_bytes frame = {.size = 0}, code = {.size = 0x200};
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "", 0);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x40, 0x40, "\x41\x0e\x10\x86\x02\x43\x0d\x06", 8);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x80, 0x30, "\x07\x10", 2);
    size_t signal_cie = put_cie(&frame, "zRS", 16);
    /* CFA = rsp+8 by the CIE; rip at rsp+8, rsp at rsp+16, rbp at rsp+24: offsets from CFA 0, 8, 16 by expressions */
    put_fde(&frame, signal_cie, MADE_EH_FRAME, MADE_TEXT + 0xc0 - 1, 0x41,
            "\x10\x10\x02\x77\x08\x10\x07\x02\x77\x10\x10\x06\x02\x77\x18", 15);
    /* calls that return to 0x120 and 0x140, where nothing is known: call rel32 to 0x100 */
    code.bytes[0x11b] = code.bytes[0x13b] = 0xe8;
    int32_t to_first = -0x20, to_second = -0x40;
    memcpy(code.bytes + 0x11c, &to_first, 4);
    memcpy(code.bytes + 0x13c, &to_second, 4);
    stage_file(EM_X86_64, &code, &frame, NULL, 0);
    stage.sample = (struct unwind_sample){.registers = {.arch = UNWIND_X86_64, .valid = 0x1ffff},
                                          .stack = (const uint8_t *)stage.stack, .stack_address = STACK,
                                          .stack_size = sizeof stage.stack};
    stage.sample.registers.values[7] = STACK;
    memset(stage.stack, 0, sizeof stage.stack);
}

static int stage_end(void **state)
{
    unwinder_destroy(stage.unwinder);
    address_map_destroy(stage.map);
    module_table_destroy(stage.table);
    unlink(stage.path);
    return 0;
}

static size_t stage_unwind(uint64_t pc)
{
    stage.sample.registers.values[stage.sample.registers.arch == UNWIND_X86_64 ? 16 : 32] = pc;
    return unwind(stage.unwinder, stage.map, &stage.sample, stage.frames, 16, &stage.end);
}

static void test_a_leaf_and_a_frame_pointer_function_reach_the_root(void **state)
{
    stage_x86();
    stage.stack[0] = CODE(0x60);          /* the leaf returns into the second function */
    stage.sample.registers.values[6] = STACK + 16;
    stage.stack[2] = STACK + 400;         /* its saved rbp */
    stage.stack[3] = CODE(0x90);          /* and return address */
    assert_int_equal(stage_unwind(CODE(0)), 3);
    assert_int_equal(stage.end, UNWIND_ROOT);
    assert_int_equal(stage.frames[0].address, MADE_TEXT);
    assert_int_equal(stage.frames[1].address, MADE_TEXT + 0x5f); /* moved back into the call */
    assert_int_equal(stage.frames[1].run_address, CODE(0x60));
    assert_int_equal(stage.frames[2].run_address, CODE(0x90));
    assert_string_equal(module_path(stage.frames[2].module), stage.path);
}

static void test_each_instruction_of_a_prologue_unwinds_alike(void **state)
{
    stage_x86();
    stage.sample.registers.values[6] = STACK + 300;
    stage.stack[0] = CODE(0x90);
    assert_int_equal(stage_unwind(CODE(0x40)), 2); /* before push */
    stage.stack[0] = STACK + 300;
    stage.stack[1] = CODE(0x90);
    assert_int_equal(stage_unwind(CODE(0x41)), 2); /* behind push */
    stage.sample.registers.values[6] = STACK;
    assert_int_equal(stage_unwind(CODE(0x44)), 2); /* frame pointer set */
    assert_int_equal(stage.end, UNWIND_ROOT);
    assert_int_equal(stage.frames[1].run_address, CODE(0x90));
}

static void test_a_copy_that_ends_early_is_told_from_a_bad_frame(void **state)
{
    stage_x86();
    stage.sample.registers.values[6] = STACK + sizeof stage.stack - 8;
    assert_int_equal(stage_unwind(CODE(0x50)), 1);
    assert_int_equal(stage.end, UNWIND_STACK_ENDED);
    stage.sample.registers.values[6] = STACK + (1 << 20); /* where no copy reaches */
    assert_int_equal(stage_unwind(CODE(0x50)), 1);
    assert_int_equal(stage.end, UNWIND_ELSEWHERE);
    stage.sample.registers.values[6] = STACK - 4096; /* below the stack pointer: no frame of ours */
    assert_int_equal(stage_unwind(CODE(0x50)), 1);
    assert_int_equal(stage.end, UNWIND_BAD_FRAME);
    stage.sample.registers.valid &= ~(1ull << 6);
    assert_int_equal(stage_unwind(CODE(0x50)), 1);
    assert_int_equal(stage.end, UNWIND_BAD_FRAME);
}

static void test_a_register_without_a_rule_does_not_ask_for_a_larger_copy(void **state)
{
    stage_x86();
    stage.sample.registers.values[6] = STACK + (1 << 20); /* assembly keeps anything in rbp */
    assert_int_equal(stage_unwind(CODE(0x130)), 1);
    assert_int_equal(stage.end, UNWIND_NO_CFI);
    stage.sample.registers.values[6] = STACK + sizeof stage.stack + 64;
    assert_int_equal(stage_unwind(CODE(0x130)), 1);
    assert_int_equal(stage.end, UNWIND_STACK_ENDED);
}

static void test_a_return_address_into_nothing_is_no_frame(void **state)
{
    stage_x86();
    stage.stack[0] = 0x123456;
    assert_int_equal(stage_unwind(CODE(0)), 1);
    assert_int_equal(stage.end, UNWIND_BAD_FRAME);
    stage.stack[0] = 0;
    assert_int_equal(stage_unwind(CODE(0)), 1);
    assert_int_equal(stage.end, UNWIND_ROOT); /* the mark of who built this stack */
}

static void test_more_frames_than_room_is_said(void **state)
{
    stage_x86();
    for (int i = 0; i < WORDS; i++)
        stage.stack[i] = CODE(4);
    assert_int_equal(stage_unwind(CODE(0)), 16);
    assert_int_equal(stage.end, UNWIND_LIMIT);
}

static void test_a_signal_frame_leads_to_the_interrupted_instruction(void **state)
{
    stage_x86();
    stage.stack[0] = CODE(0xc0);       /* the handler (a leaf) returns to the trampoline */
    stage.stack[2] = CODE(0x41);       /* there at rsp+8: interrupted just behind push rbp */
    stage.stack[3] = STACK + 128;      /* its rsp */
    stage.stack[4] = 77;
    stage.stack[16] = 77;              /* pushed rbp */
    stage.stack[17] = CODE(0x90);
    assert_int_equal(stage_unwind(CODE(0)), 4);
    assert_int_equal(stage.end, UNWIND_ROOT);
    assert_int_equal(stage.frames[2].address, MADE_TEXT + 0x41); /* not moved back: it had not been executed */
    assert_int_equal(stage.frames[3].run_address, CODE(0x90));
}

static void test_without_information_frame_pointers_must_land_behind_calls(void **state)
{
    stage_x86();
    stage.sample.registers.values[6] = STACK + 32;
    stage.stack[4] = STACK + 80;
    stage.stack[5] = CODE(0x140);
    stage.stack[10] = 0;
    stage.stack[11] = 0;
    assert_int_equal(stage_unwind(CODE(0x110)), 2);
    assert_int_equal(stage.end, UNWIND_ROOT);
    stage.stack[5] = CODE(0x138); /* no call ends there */
    assert_int_equal(stage_unwind(CODE(0x110)), 1);
    assert_int_equal(stage.end, UNWIND_NO_CFI);
}

static void test_without_information_a_leaf_returns_behind_a_call_to_it(void **state)
{
    stage_x86();
    stage.sample.registers.values[6] = 12345; /* in use for something else */
    stage.stack[0] = CODE(0x120);
    stage.stack[1] = CODE(0x90);
    size_t count = stage_unwind(CODE(0x104));
    assert_int_equal(count, 2);
    assert_int_equal(stage.frames[1].run_address, CODE(0x120));
    assert_int_equal(stage.end, UNWIND_NO_CFI);
}

static void test_a_root_without_information_is_known_by_name(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "", 0);
    const struct made_symbol symbols[] = {{"start_thread", MADE_TEXT + 0x200, 0x40, ELF64_ST_INFO(STB_LOCAL, STT_FUNC)},
                                          {"other", MADE_TEXT + 0x240, 0x40, ELF64_ST_INFO(STB_LOCAL, STT_FUNC)}};
    stage_file(EM_X86_64, NULL, &frame, symbols, 2);
    stage.sample = (struct unwind_sample){.registers = {.arch = UNWIND_X86_64, .valid = 0x1ffff},
                                          .stack = (const uint8_t *)stage.stack, .stack_address = STACK,
                                          .stack_size = sizeof stage.stack};
    stage.sample.registers.values[7] = STACK;
    stage.stack[0] = CODE(0x220);
    assert_int_equal(stage_unwind(CODE(0)), 2);
    assert_int_equal(stage.end, UNWIND_ROOT);
    assert_true(unwind_is_root(stage.frames[1].module, MADE_TEXT + 0x23f));
    assert_false(unwind_is_root(stage.frames[1].module, MADE_TEXT + 0x240));
}

/* AArch64: 0x000 leaf without a frame, 0x040 stores x29 and x30 at sp-32, 0x080 root. */
static void test_aarch64_leaf_frame_and_signed_return_addresses(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 30);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "", 0);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x40, 0x40, "\x2d\x44\x0e\x20\x9d\x04\x9e\x03", 8);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x80, 0x40, "\x07\x1e", 2);
    stage_file(EM_AARCH64, NULL, &frame, NULL, 0);
    memset(stage.stack, 0, sizeof stage.stack);
    stage.sample = (struct unwind_sample){.registers = {.arch = UNWIND_AARCH64, .valid = (1ull << 33) - 1},
                                          .stack = (const uint8_t *)stage.stack, .stack_address = STACK,
                                          .stack_size = sizeof stage.stack};
    stage.sample.registers.values[31] = STACK;
    stage.sample.registers.values[30] = CODE(0x60);
    stage.stack[0] = STACK + 320;
    stage.stack[1] = CODE(0x90) | 0x00a5000000000000; /* signed */
    assert_int_equal(stage_unwind(CODE(0x10)), 3);
    assert_int_equal(stage.end, UNWIND_ROOT);
    assert_int_equal(stage.frames[2].run_address, CODE(0x90));
    /* A second frame that claims to have its return address in x30 still would go round for ever. */
    stage.sample.registers.values[30] = CODE(0x20);
    assert_int_equal(stage_unwind(CODE(0x10)), 2);
    assert_int_equal(stage.end, UNWIND_BAD_FRAME);
}

static void test_raw_addresses_become_frames(void **state)
{
    stage_x86();
    const uint64_t addresses[] = {CODE(0x10), CODE(0x60), 0x10, UINT64_C(0xffffffff81000010)};
    assert_int_equal(unwind_from_addresses(stage.map, addresses, 4, true, stage.frames, 16), 4);
    assert_int_equal(stage.frames[0].address, MADE_TEXT + 0x10);
    assert_int_equal(stage.frames[1].address, MADE_TEXT + 0x5f);
    assert_null(stage.frames[2].module);
    assert_int_equal(module_kind_of(stage.frames[3].module), MODULE_KIND_KERNEL);
    assert_int_equal(unwind_from_addresses(stage.map, addresses, 4, false, stage.frames, 1), 1);
    assert_int_equal(stage.frames[0].address, MADE_TEXT + 0xf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_a_leaf_and_a_frame_pointer_function_reach_the_root, stage_end),
        cmocka_unit_test_teardown(test_each_instruction_of_a_prologue_unwinds_alike, stage_end),
        cmocka_unit_test_teardown(test_a_copy_that_ends_early_is_told_from_a_bad_frame, stage_end),
        cmocka_unit_test_teardown(test_a_register_without_a_rule_does_not_ask_for_a_larger_copy, stage_end),
        cmocka_unit_test_teardown(test_a_return_address_into_nothing_is_no_frame, stage_end),
        cmocka_unit_test_teardown(test_more_frames_than_room_is_said, stage_end),
        cmocka_unit_test_teardown(test_a_signal_frame_leads_to_the_interrupted_instruction, stage_end),
        cmocka_unit_test_teardown(test_without_information_frame_pointers_must_land_behind_calls, stage_end),
        cmocka_unit_test_teardown(test_without_information_a_leaf_returns_behind_a_call_to_it, stage_end),
        cmocka_unit_test_teardown(test_a_root_without_information_is_known_by_name, stage_end),
        cmocka_unit_test_teardown(test_aarch64_leaf_frame_and_signed_return_addresses, stage_end),
        cmocka_unit_test_teardown(test_raw_addresses_become_frames, stage_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
