/* SPDX-License-Identifier: MIT */
/*
 * The functions of a module by address, from as many ELF symbol tables as there are (.symtab, .dynsym, a debug file's,
 * .gnu_debugdata's) plus the names of linkage table stubs. Names stay in their files until asked for.
 */
#ifndef HP_SYMBOL_SYMTAB_H
#define HP_SYMBOL_SYMTAB_H

#include "elf.h"

struct symtab;

int symtab_create(struct symtab **ret_symtab);
void symtab_destroy(struct symtab *symtab);
DEFINE_CLEANUP(struct symtab *, symtab_destroy)

/* Adds an image's symbols; the image must outlive the table. has_code: stubs are there too (not in a debug file). */
int symtab_add(struct symtab *symtab, const struct elf_image *image, bool has_code);
/* Adds an image that the table keeps: the bytes (malloc) are the table's from now on, on failure too. */
int symtab_add_memory(struct symtab *symtab, uint8_t *bytes, size_t size);
/* To be called once, after the last addition. */
void symtab_finish_adding(struct symtab *symtab);

struct symtab_match {
    uint32_t index; /* of the symbol: same index, same name */
    uint64_t start, size;
    bool is_stub;
    bool open_ended; /* has no size: taken to reach to the next symbol */
};
bool symtab_find(const struct symtab *symtab, uint64_t address, struct symtab_match *ret_match);
/* As the linker knows it, not demangled, without version; "@plt" is not part of it. Caller frees; NULL on ENOMEM. */
char *symtab_name(const struct symtab *symtab, uint32_t index);
size_t symtab_count(const struct symtab *symtab);

#endif
