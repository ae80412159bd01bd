/* SPDX-License-Identifier: MIT */
/*
 * Call frame information, preprocessed: of a whole module, or of some of its functions (cfi_index.h). A row says from which address on a rule holds; a rule says how to
 * find the caller's frame. Rules repeat endlessly, so a row is 6 bytes and names one:
 *
 *   rows:     start offset (u32), rule number (u16)       sorted; a row ends where the next begins
 *   rules:    CFA rule, first register rule, count, flags distinct ones only
 *   registers: register, kind, value                       distinct runs only
 *
 * libLLVM's 5 MB of .eh_frame become some 7 MB of rows this way. Tables are shared by all threads and never changed.
 */
#ifndef HP_SYMBOL_CFI_H
#define HP_SYMBOL_CFI_H

#include "elf.h"

#define CFI_REGISTERS 34 /* as UNWIND_REGISTERS; rules for registers beyond (vectors) are not kept */

enum cfi_register_kind {
    CFI_SAME,
    CFI_UNDEFINED,
    CFI_AT_CFA,        /* stored at CFA + value */
    CFI_IS_CFA,        /* is CFA + value */
    CFI_IN_REGISTER,   /* in register `value` */
    CFI_AT_EXPRESSION, /* stored where expression number `value` says */
    CFI_IS_EXPRESSION,
};

struct cfi_register {
    uint8_t number, kind;
    int32_t value;
};

enum cfi_cfa_kind { CFI_CFA_NONE, CFI_CFA_REGISTER, CFI_CFA_EXPRESSION };

struct cfi_rule { /* 16 bytes without holes */
    uint8_t cfa_kind, cfa_register, return_register, register_count;
    int32_t cfa_value; /* offset from the register, or expression number */
    uint32_t first_register;
    uint16_t is_signal_frame;
    uint16_t return_undefined; /* the outermost frame says so */
};

struct cfi_expression {
    uint32_t offset, length; /* in cfi_table.expression_bytes */
};

struct cfi_table {
    uint64_t base; /* row offsets count from here */
    uint32_t *row_starts;
    uint16_t *row_rules;
    size_t row_count;
    struct cfi_rule *rules; /* [0]: no information */
    size_t rule_count;
    struct cfi_register *registers;
    size_t register_count;
    struct cfi_expression *expressions;
    size_t expression_count;
    uint8_t *expression_bytes;
    size_t expression_bytes_size;
    size_t entry_count, damaged_count; /* functions described; descriptions that could not be read */
};

/* -ENODATA when the image has no call frame information at all. Damaged entries are left out and counted. */
int cfi_table_create(const struct elf_image *image, struct cfi_table **ret_table);
void cfi_table_destroy(struct cfi_table *table);
DEFINE_CLEANUP(struct cfi_table *, cfi_table_destroy)

/* The rule at an address of the image, NULL if there is none. */
const struct cfi_rule *cfi_table_find(const struct cfi_table *table, uint64_t address);

#endif
