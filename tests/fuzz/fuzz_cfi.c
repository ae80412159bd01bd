/* SPDX-License-Identifier: MIT */
/*
 * ELF files with damaged headers, symbols, stubs and call frame information: rows are built, looked up and their expressions
 * run. The seeds are a small function built with -Os -nostdlib -Wl,-z,noseparate-code as static program, as program with
 * -g1 -fno-asynchronous-unwind-tables (.debug_frame) and as -shared -fPIC -Wl,-z,lazy (linkage stubs).
 */
#include "symbol/cfi_index.h"
#include "symbol/expression.h"
#include "symbol/symtab.h"

#include <stdlib.h>
#include <string.h>

static void run_expressions(const struct cfi_table *table)
{
    uint8_t stack[256] = {1, 2, 3};
    const struct unwind_sample sample = {.stack = stack, .stack_address = 0x1000, .stack_size = sizeof stack};
    struct unwind_registers registers = {.arch = UNWIND_X86_64, .valid = ~0ull};
    for (size_t i = 0; i < UNWIND_REGISTERS; i++)
        registers.values[i] = 0x1000 + i;
    const struct expression_context context = {.registers = &registers, .sample = &sample};
    for (size_t i = 0; i < table->expression_count; i++) {
        uint64_t value;
        const struct cfi_expression *expression = &table->expressions[i];
        if ((uint64_t)expression->offset + expression->length > table->expression_bytes_size)
            __builtin_trap();
        (void)expression_evaluate(&context, table->expression_bytes + expression->offset, expression->length, true, 1, &value);
    }
}

static void check_rows(const struct cfi_table *table)
{
    for (size_t i = 0; i < table->row_count; i++) {
        if (i && table->row_starts[i] <= table->row_starts[i - 1])
            __builtin_trap();
        const struct cfi_rule *rule = cfi_table_find(table, table->base + table->row_starts[i]);
        if (rule && (size_t)rule->first_register + rule->register_count > table->register_count)
            __builtin_trap();
    }
    run_expressions(table);
}

/* What is found on demand is what the whole table says. */
static void check_index(const struct elf_image *image, const struct cfi_table *all)
{
    CLEANUP(cfi_index_destroyp) struct cfi_index *index = NULL;
    if (cfi_index_create(image, &index) < 0)
        __builtin_trap();
    for (size_t i = 0; i < all->row_count; i++) {
        const struct cfi_table *table;
        uint64_t address = all->base + all->row_starts[i];
        const struct cfi_rule *expected = cfi_table_find(all, address), *rule = cfi_index_find(index, address, &table);
        if (expected && (!rule || rule->cfa_kind != expected->cfa_kind || rule->register_count != expected->register_count))
            __builtin_trap();
        if (rule && (size_t)rule->first_register + rule->register_count > table->register_count)
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(elf_image_closep) struct elf_image *image = NULL;
    CLEANUP(cfi_table_destroyp) struct cfi_table *table = NULL;
    CLEANUP(symtab_destroyp) struct symtab *symtab = NULL;
    if (elf_image_open_memory(data, size, &image) < 0)
        return 0;
    if (cfi_table_create(image, &table) == 0) {
        check_rows(table);
        check_index(image, table);
    }
    if (symtab_create(&symtab) < 0)
        return 0;
    (void)symtab_add(symtab, image, true);
    symtab_finish_adding(symtab);
    for (uint64_t address = image->entry; address < image->entry + 64; address += 8) {
        struct symtab_match match;
        if (symtab_find(symtab, address, &match))
            free(symtab_name(symtab, match.index));
    }
    return 0;
}
