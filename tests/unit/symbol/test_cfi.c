/* SPDX-License-Identifier: MIT */
/* Call frame information to rows: what each instruction does, and what damaged input may not do. */
#include "symbol/cfi.h"
#include "symbol/elf.h"

#include "elf_maker.h"
#include "unit.h"

static struct made_elf made;

static struct cfi_table *table_of(const struct made_bytes *eh_frame, uint16_t machine)
{
    struct elf_image *image;
    struct cfi_table *table = NULL;
    made_elf_build(&made, machine, NULL, eh_frame, NULL, 0);
    assert_int_equal(elf_image_open_memory(made.bytes, made.size, &image), 0);
    (void)cfi_table_create(image, &table);
    elf_image_close(image);
    return table;
}

static const struct cfi_register *register_rule(const struct cfi_table *table, const struct cfi_rule *rule, unsigned number)
{
    for (unsigned i = 0; i < rule->register_count; i++)
        if (table->registers[rule->first_register + i].number == number)
            return &table->registers[rule->first_register + i];
    return NULL;
}

static void assert_cfa(const struct cfi_table *table, uint64_t address, unsigned number, int offset)
{
    const struct cfi_rule *rule = cfi_table_find(table, address);
    assert_non_null(rule);
    assert_int_equal(rule->cfa_kind, CFI_CFA_REGISTER);
    assert_int_equal(rule->cfa_register, number);
    assert_int_equal(rule->cfa_value, offset);
}

static void test_rows_follow_a_prologue_and_an_epilogue(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    /* +1: push rbp (CFA rsp+16, rbp at CFA-16); +3: CFA = rbp+16; remember; +6: CFA = rsp+8; restore at +7 */
    static const char program[] = "\x41\x0e\x10\x86\x02\x43\x0d\x06\x0a\x46\x0c\x07\x08\x47\x0b";
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, program, sizeof program - 1);
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = table_of(&frame, EM_X86_64);
    assert_non_null(table);
    assert_int_equal(table->damaged_count, 0);
    assert_cfa(table, MADE_TEXT, 7, 8);
    assert_cfa(table, MADE_TEXT + 1, 7, 16);
    assert_cfa(table, MADE_TEXT + 3, 7, 16);
    assert_cfa(table, MADE_TEXT + 4, 6, 16);
    assert_cfa(table, MADE_TEXT + 10, 7, 8);
    assert_cfa(table, MADE_TEXT + 17, 6, 16);
    const struct cfi_register *rbp = register_rule(table, cfi_table_find(table, MADE_TEXT + 4), 6);
    assert_non_null(rbp);
    assert_int_equal(rbp->kind, CFI_AT_CFA);
    assert_int_equal(rbp->value, -16);
    assert_null(register_rule(table, cfi_table_find(table, MADE_TEXT), 6));
    assert_null(cfi_table_find(table, MADE_TEXT - 1));
    assert_non_null(cfi_table_find(table, MADE_TEXT + 0x3f));
    assert_null(cfi_table_find(table, MADE_TEXT + 0x40));
}

static void test_signal_frames_and_undefined_return_addresses_are_marked(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t signal_cie = put_cie(&frame, "zRS", 16);
    put_fde(&frame, signal_cie, MADE_EH_FRAME, MADE_TEXT, 0x10, "\x10\x06\x02\x77\x78", 5);
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x10, 0x10, "\x07\x10", 2);
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = table_of(&frame, EM_X86_64);
    const struct cfi_rule *signal = cfi_table_find(table, MADE_TEXT), *root = cfi_table_find(table, MADE_TEXT + 0x10);
    assert_true(signal->is_signal_frame && !signal->return_undefined);
    assert_int_equal(register_rule(table, signal, 6)->kind, CFI_AT_EXPRESSION);
    assert_int_equal(table->expressions[register_rule(table, signal, 6)->value].length, 2);
    assert_true(!root->is_signal_frame && root->return_undefined);
}

static void test_equal_rules_are_kept_once(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    for (unsigned i = 0; i < 50; i++)
        put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x20 * i, 0x20, "\x41\x0e\x10\x86\x02", 5);
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = table_of(&frame, EM_X86_64);
    assert_int_equal(table->entry_count, 50);
    assert_int_equal(table->rule_count, 3); /* none, at the beginning, after the push */
    assert_int_equal(table->row_count, 101); /* two each, and the end */
}

static void test_functions_may_stand_in_any_order_and_overlap(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x100, 0x40, "\x0e\x20", 2);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "\x0e\x10", 2);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x20, 0x40, "\x0e\x30", 2);
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = table_of(&frame, EM_X86_64);
    assert_cfa(table, MADE_TEXT + 0x3f, 7, 0x10);
    assert_cfa(table, MADE_TEXT + 0x40, 7, 0x30); /* what no earlier entry covers */
    assert_null(cfi_table_find(table, MADE_TEXT + 0x60));
    assert_cfa(table, MADE_TEXT + 0x100, 7, 0x20);
}

static void test_damaged_instructions_claim_nothing_behind_the_damage(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "\x41\x0e\x10\x42\x3f\x0e\x20", 7);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x40, 0x40, "\x0b", 1); /* restores what was not remembered */
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = table_of(&frame, EM_X86_64);
    assert_int_equal(table->damaged_count, 2);
    assert_cfa(table, MADE_TEXT + 2, 7, 0x10);
    assert_null(cfi_table_find(table, MADE_TEXT + 3));
    assert_null(cfi_table_find(table, MADE_TEXT + 0x41));
}

static void test_files_without_section_tables_are_found_by_segment(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "\x0e\x10", 2);
    put_u32(&frame, 0);
    made_elf_build(&made, EM_X86_64, NULL, &frame, NULL, 0);
    /* .eh_frame_hdr at 0x800: version 1, pointer pc-relative, no table */
    static const uint8_t head[] = {1, 0x1b, 0xff, 0xff};
    int32_t distance = MADE_EH_FRAME - 0x804;
    memcpy(made.bytes + 0x800, head, sizeof head);
    memcpy(made.bytes + 0x804, &distance, sizeof distance);
    Elf64_Ehdr header;
    memcpy(&header, made.bytes, sizeof header);
    header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
    header.e_phnum = 2;
    memcpy(made.bytes, &header, sizeof header);
    Elf64_Phdr segment = {.p_type = PT_GNU_EH_FRAME, .p_offset = 0x800, .p_vaddr = 0x800, .p_filesz = 12, .p_memsz = 12};
    memcpy(made.bytes + sizeof header + sizeof segment, &segment, sizeof segment);
    struct elf_image *image;
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = NULL;
    assert_int_equal(elf_image_open_memory(made.bytes, made.size, &image), 0);
    assert_int_equal(cfi_table_create(image, &table), 0);
    elf_image_close(image);
    assert_cfa(table, MADE_TEXT + 8, 7, 16);
}

static void test_no_truncation_reads_past_the_end(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "\x41\x0e\x10\x86\x02\x10\x03\x02\x77\x78", 10);
    made_elf_build(&made, EM_X86_64, NULL, &frame, NULL, 0);
    for (size_t size = 0; size < made.size; size += 7) {
        uint8_t *copy = malloc(size ? size : 1); /* exact, so that a sanitizer sees the first byte too many */
        struct elf_image *image;
        struct cfi_table *table = NULL;
        assert_non_null(copy);
        memcpy(copy, made.bytes, size);
        if (elf_image_open_memory(copy, size, &image) == 0) {
            (void)cfi_table_create(image, &table);
            cfi_table_destroy(table);
            elf_image_close(image);
        }
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_follow_a_prologue_and_an_epilogue),
        cmocka_unit_test(test_signal_frames_and_undefined_return_addresses_are_marked),
        cmocka_unit_test(test_equal_rules_are_kept_once),
        cmocka_unit_test(test_functions_may_stand_in_any_order_and_overlap),
        cmocka_unit_test(test_damaged_instructions_claim_nothing_behind_the_damage),
        cmocka_unit_test(test_files_without_section_tables_are_found_by_segment),
        cmocka_unit_test(test_no_truncation_reads_past_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
