/* SPDX-License-Identifier: MIT */
/* Procedure linkage stubs: which symbol each one jumps to, found from its code and the relocation of the slot it loads. */
#ifndef HP_SYMBOL_PLT_H
#define HP_SYMBOL_PLT_H

#include "elf.h"

/* Calls visit(context, address, size, offset of the name in the dynamic string section) for every stub until it is non-zero. */
int plt_stubs_visit(const struct elf_image *image, const struct elf_section *dynamic_symbols,
                    int (*visit)(void *context, uint64_t address, uint32_t size, uint32_t name), void *context);

#endif
