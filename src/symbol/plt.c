/* SPDX-License-Identifier: MIT */
/* Decodes x86-64 and AArch64 linkage stubs. Layouts differ by linker and options, so the jump itself is looked for. */
#include "plt.h"

#include "base/map.h"

#include <errno.h>
#include <string.h>

#define STUB_BYTES 16
#define STUB_SECTION_MAXIMUM (16u << 20)

/* From the address of a slot in the global offset table to the name of the symbol it will hold. */
static int slots_add(const struct elf_image *image, const struct elf_section *relocations, const struct elf_data *symbols,
                     struct map *names)
{
    struct elf_data data;
    if (relocations->type != SHT_RELA || elf_section_load(image, relocations, &data) < 0)
        return 0;
    CLEANUP(freep) uint8_t *owned = data.bytes;
    for (size_t at = 0; data.size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, data.bytes + at, sizeof relocation);
        uint64_t type = ELF64_R_TYPE(relocation.r_info), index = ELF64_R_SYM(relocation.r_info);
        bool is_slot = image->machine == EM_AARCH64 ? type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT
                                                    : type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
        if (!is_slot || index == 0 || index >= symbols->size / sizeof(Elf64_Sym))
            continue;
        Elf64_Sym symbol;
        memcpy(&symbol, symbols->bytes + index * sizeof symbol, sizeof symbol);
        if (map_set(names, relocation.r_offset, symbol.st_name) < 0)
            return -ENOMEM;
    }
    return 0;
}

/* jmp *distance(%rip), wherever in the stub it stands. */
static bool x86_slot(const uint8_t *stub, size_t size, uint64_t address, uint64_t *ret_slot)
{
    for (size_t i = 0; i + 6 <= size; i++) {
        int32_t distance;
        if (stub[i] != 0xff || stub[i + 1] != 0x25)
            continue;
        memcpy(&distance, stub + i + 2, sizeof distance);
        *ret_slot = address + i + 6 + (uint64_t)(int64_t)distance;
        return true;
    }
    return false;
}

/* adrp x16, page; ldr x17, [x16, #low], perhaps behind a bti. */
static bool aarch64_slot(const uint8_t *stub, size_t size, uint64_t address, uint64_t *ret_slot)
{
    for (size_t i = 0; i + 8 <= size; i += 4) {
        uint32_t page, load;
        memcpy(&page, stub + i, sizeof page);
        memcpy(&load, stub + i + 4, sizeof load);
        if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
            continue;
        uint64_t high = (page >> 5 & 0x7ffff) << 2 | (page >> 29 & 3);
        int64_t pages = (int64_t)(high << 43) >> 43;
        *ret_slot = ((address + i) & ~0xfffull) + (uint64_t)(pages * 4096) + ((load >> 10 & 0xfff) << 3);
        return true;
    }
    return false;
}

static int section_visit(const struct elf_image *image, const struct elf_section *section, const struct map *names,
                         int (*visit)(void *context, uint64_t address, uint32_t size, uint32_t name), void *context)
{
    struct elf_data data;
    if (section->size > STUB_SECTION_MAXIMUM || elf_section_load(image, section, &data) < 0)
        return 0;
    CLEANUP(freep) uint8_t *owned = data.bytes;
    /* .plt.got stubs are 8 bytes (16 with endbr64); all others 16. */
    size_t step = strcmp(section->name, ".plt.got") == 0 && section->entry_size == 8 ? 8 : STUB_BYTES;
    for (size_t at = 0; at < data.size; at += step) {
        size_t size = data.size - at < step ? data.size - at : step;
        uint64_t slot, name, address = section->address + at;
        bool found = image->machine == EM_AARCH64 ? aarch64_slot(data.bytes + at, size, address, &slot)
                                                  : x86_slot(data.bytes + at, size, address, &slot);
        if (!found || !map_get(names, slot, &name))
            continue;
        int rc = visit(context, address, (uint32_t)size, (uint32_t)name);
        if (rc)
            return rc;
    }
    return 0;
}

int plt_stubs_visit(const struct elf_image *image, const struct elf_section *dynamic_symbols,
                    int (*visit)(void *context, uint64_t address, uint32_t size, uint32_t name), void *context)
{
    struct elf_data symbols;
    if (!image->is_64 || elf_section_load(image, dynamic_symbols, &symbols) < 0)
        return 0;
    CLEANUP(freep) uint8_t *owned = symbols.bytes;
    struct map names;
    map_init(&names);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < image->section_count; i++)
        rc = slots_add(image, &image->sections[i], &symbols, &names);
    for (size_t i = 0; rc == 0 && i < image->section_count; i++)
        if (strncmp(image->sections[i].name, ".plt", 4) == 0)
            rc = section_visit(image, &image->sections[i], &names, visit, context);
    map_finish(&names);
    return rc;
}
