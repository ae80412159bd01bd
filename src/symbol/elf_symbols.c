/* SPDX-License-Identifier: MIT */
/* Walks ELF symbol tables of both classes. */
#include "elf_symbols.h"

#include <errno.h>
#include <string.h>

#define BATCH_BYTES 98304 /* a multiple of both entry sizes */
#define NAME_MAXIMUM (1u << 20)

static void symbol_decode(bool is_64, const uint8_t *bytes, struct elf_symbol *symbol)
{
    if (is_64) {
        Elf64_Sym raw;
        memcpy(&raw, bytes, sizeof raw);
        *symbol = (struct elf_symbol){raw.st_value, raw.st_size, raw.st_name, raw.st_shndx,
                                      ELF64_ST_TYPE(raw.st_info), ELF64_ST_BIND(raw.st_info)};
    } else {
        Elf32_Sym raw;
        memcpy(&raw, bytes, sizeof raw);
        *symbol = (struct elf_symbol){raw.st_value, raw.st_size, raw.st_name, raw.st_shndx,
                                      ELF32_ST_TYPE(raw.st_info), ELF32_ST_BIND(raw.st_info)};
    }
}

int elf_symbols_visit(const struct elf_image *image, const struct elf_section *table,
                      int (*visit)(void *context, uint32_t index, const struct elf_symbol *symbol), void *context)
{
    size_t entry = image->is_64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    if (table->type == SHT_NOBITS || table->offset > image->size || table->size > image->size - table->offset)
        return 0;
    CLEANUP(freep) uint8_t *batch = malloc(BATCH_BYTES);
    if (!batch)
        return -ENOMEM;
    uint32_t index = 0;
    for (uint64_t done = 0; table->size - done >= entry;) {
        size_t size = table->size - done < BATCH_BYTES ? (size_t)(table->size - done) : BATCH_BYTES;
        size -= size % entry;
        if (elf_read(image, table->offset + done, batch, size) < 0)
            return 0; /* the file shrank: what was read counts */
        for (size_t at = 0; at < size; at += entry) {
            struct elf_symbol symbol;
            symbol_decode(image->is_64, batch + at, &symbol);
            int rc = visit(context, index++, &symbol);
            if (rc)
                return rc;
        }
        done += size;
    }
    return 0;
}

const struct elf_section *elf_symbol_names(const struct elf_image *image, const struct elf_section *table)
{
    const struct elf_section *names = table->link < image->section_count ? &image->sections[table->link] : NULL;
    return names && names->type == SHT_STRTAB ? names : NULL;
}

char *elf_name_copy(const struct elf_image *image, const struct elf_section *names, uint32_t offset)
{
    for (size_t size = 256; size <= NAME_MAXIMUM; size *= 4) {
        size_t left = names && offset < names->size ? (size_t)(names->size - offset) : 0;
        size_t wanted = left < size ? left : size;
        CLEANUP(freep) char *text = malloc(wanted + 1);
        if (!text)
            return NULL;
        text[0] = '\0';
        if (wanted && elf_read(image, names->offset + offset, text, wanted) < 0)
            text[0] = '\0';
        text[wanted] = '\0';
        if (memchr(text, '\0', wanted) || wanted == left)
            return TAKE_PTR(text);
    }
    return strdup("");
}

bool elf_symbol_is_code(const struct elf_image *image, const struct elf_symbol *symbol)
{
    if (symbol->section == SHN_UNDEF || (symbol->section >= SHN_LORESERVE && symbol->section != SHN_XINDEX))
        return false;
    if (symbol->type == STT_FUNC || symbol->type == STT_GNU_IFUNC)
        return true;
    if (symbol->type != STT_NOTYPE || symbol->section >= image->section_count ||
        !(image->sections[symbol->section].flags & SHF_EXECINSTR))
        return false;
    /* Labels in assembly code; on AArch64 the local ones only mark where code and data begin. */
    return symbol->binding != STB_LOCAL || image->machine != EM_AARCH64;
}
