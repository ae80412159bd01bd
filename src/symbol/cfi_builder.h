/* SPDX-License-Identifier: MIT */
/* Collects rows, rules and expressions while a module's call frame information is read. For cfi*.c only. */
#ifndef HP_SYMBOL_CFI_BUILDER_H
#define HP_SYMBOL_CFI_BUILDER_H

#include "base/map.h"
#include "cfi.h"
#include "cursor.h"

#define CFI_RECENT_RULES 1024

/* What a function's call frame instructions have built up at one address. */
struct cfi_state {
    uint8_t cfa_kind, cfa_register;
    int32_t cfa_value;
    uint64_t mask; /* registers with a rule */
    bool registers_interned; /* first_register and register_count name those below; cleared by every change */
    uint8_t register_count;
    uint32_t first_register;
    struct {
        uint8_t kind;
        int32_t value;
    } registers[CFI_REGISTERS];
};

/* Copies only what is set: 95,000 functions of libLLVM start from such a state. */
static inline void cfi_state_copy(struct cfi_state *target, const struct cfi_state *source)
{
    target->cfa_kind = source->cfa_kind;
    target->cfa_register = source->cfa_register;
    target->cfa_value = source->cfa_value;
    target->mask = source->mask;
    target->registers_interned = source->registers_interned;
    target->register_count = source->register_count;
    target->first_register = source->first_register;
    for (uint64_t mask = source->mask; mask; mask &= mask - 1) {
        unsigned number = (unsigned)__builtin_ctzll(mask);
        target->registers[number] = source->registers[number];
    }
}

struct cfi_section {
    struct elf_data data;
    uint64_t address;
    bool is_debug_frame;
};

struct cfi_cie {
    uint64_t code_alignment, return_register;
    int64_t data_alignment;
    uint8_t pointer_encoding, address_size;
    bool is_signal_frame, has_augmentation_size;
    const uint8_t *instructions, *end;
};

struct cfi_fde {
    uint64_t start, end; /* addresses */
    const uint8_t *instructions, *instructions_end;
    uint32_t cie; /* index */
};

struct cfi_builder {
    const struct elf_image *image;
    struct cfi_section sections[2];
    size_t section_count;
    struct cfi_cie *cies;
    size_t cie_count, cie_capacity;
    struct map cie_by_position;
    struct cfi_fde *fdes;
    size_t fde_count, fde_capacity;
    size_t row_capacity, row_rule_capacity, rule_capacity, register_capacity, expression_capacity, expression_bytes_capacity;
    struct map rule_by_hash, registers_by_hash, expression_by_hash;
    uint16_t recent_rules[CFI_RECENT_RULES]; /* rule numbers by a cheap hash */
    uint64_t covered_end; /* rows are complete up to this address */
    struct cfi_table *table;
};

/* Reads the descriptions of all functions, in order of address. -ENODATA: there are none. */
int cfi_functions_read(struct cfi_builder *builder);
/* Runs the instructions of functions in that order. */
int cfi_functions_run(struct cfi_builder *builder, const struct cfi_fde *fdes, size_t count);
void cfi_builder_finish(struct cfi_builder *builder);
void cfi_table_trim(struct cfi_table *table); /* gives back what was reserved */
/* Reads the section's entries into builder->cies and fdes. */
int cfi_section_read(struct cfi_builder *builder, size_t section_index);
/* Runs one function's instructions and adds its rows. -ENOMEM; damage ends the function early and is counted. */
int cfi_function_add(struct cfi_builder *builder, const struct cfi_fde *fde);
int cfi_row_add(struct cfi_builder *builder, uint64_t address, uint32_t rule);
/* The number of this very rule, added if new; 0 (no information) when there are too many. */
int cfi_rule_intern(struct cfi_builder *builder, struct cfi_state *state, const struct cfi_cie *cie, uint32_t *ret_rule);
int cfi_expression_intern(struct cfi_builder *builder, const uint8_t *bytes, size_t size, int32_t *ret_number);
/* Decodes an encoded pointer (DW_EH_PE_*) that stands at `address`; indirect ones fail. */
uint64_t cfi_pointer_read(struct cursor *cursor, uint8_t encoding, uint8_t address_size, uint64_t address);

#endif
