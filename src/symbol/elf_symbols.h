/* SPDX-License-Identifier: MIT */
/* Walks an ELF symbol table in small reads, so that a hundred megabytes of it never lie in memory. For src/symbol only. */
#ifndef HP_SYMBOL_ELF_SYMBOLS_H
#define HP_SYMBOL_ELF_SYMBOLS_H

#include "elf.h"

struct elf_symbol {
    uint64_t value, size;
    uint32_t name; /* offset in the string section that the table is linked to */
    uint16_t section;
    uint8_t type, binding; /* STT_, STB_ */
};

/* Calls visit for each symbol until it returns non-zero, which is returned. */
int elf_symbols_visit(const struct elf_image *image, const struct elf_section *table,
                      int (*visit)(void *context, uint32_t index, const struct elf_symbol *symbol), void *context);
/* The string section of a symbol table, NULL if there is none. */
const struct elf_section *elf_symbol_names(const struct elf_image *image, const struct elf_section *table);
/* Copies the NUL-terminated string at an offset of a string section; "" when it is damaged. Caller frees; NULL on ENOMEM. */
char *elf_name_copy(const struct elf_image *image, const struct elf_section *names, uint32_t offset);
bool elf_symbol_is_code(const struct elf_image *image, const struct elf_symbol *symbol);

#endif
