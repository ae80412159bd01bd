/* SPDX-License-Identifier: MIT */
/* Makes small ELF files in memory: one executable segment from address 0, the given sections, symbols of the given functions. */
#ifndef TEST_SYMBOL_ELF_MAKER_H
#define TEST_SYMBOL_ELF_MAKER_H

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define MADE_TEXT 0x1000 /* where code begins, in the file and in memory */
#define MADE_TEXT_SIZE 0x1000
#define MADE_MAXIMUM 0x8000

struct made_bytes {
    uint8_t bytes[4096];
    size_t size;
};

static inline void put(struct made_bytes *target, const void *bytes, size_t size)
{
    memcpy(target->bytes + target->size, bytes, size);
    target->size += size;
}

static inline void put_u8(struct made_bytes *target, unsigned value)
{
    target->bytes[target->size++] = (uint8_t)value;
}

static inline void put_u32(struct made_bytes *target, uint32_t value)
{
    put(target, &value, sizeof value);
}

/* Begins an entry; entry_end fills its length in and pads with nops. */
static inline size_t entry_begin(struct made_bytes *target)
{
    put_u32(target, 0);
    return target->size;
}

static inline void entry_end(struct made_bytes *target, size_t begin)
{
    while (target->size % 8 != 4)
        put_u8(target, 0);
    uint32_t length = (uint32_t)(target->size - begin);
    memcpy(target->bytes + begin - 4, &length, sizeof length);
}

/* A CIE "zR" with pc-relative 4-byte pointers; x86-64: CFA = rsp + 8, return address at CFA - 8; AArch64: CFA = sp. */
static inline size_t put_cie(struct made_bytes *target, const char *augmentation, unsigned return_register)
{
    size_t begin = entry_begin(target);
    put_u32(target, 0);
    put_u8(target, 1);
    put(target, augmentation, strlen(augmentation) + 1);
    put_u8(target, 1);    /* code alignment */
    put_u8(target, 0x78); /* data alignment -8 */
    put_u8(target, return_register);
    put_u8(target, 1);    /* augmentation data: the pointers' encoding */
    put_u8(target, 0x1b);
    if (return_register == 16) {
        put(target, "\x0c\x07\x08\x90\x01", 5);
    } else {
        put(target, "\x0c\x1f\x00", 3);
    }
    entry_end(target, begin);
    return begin - 4;
}

/* An FDE for [start, start + size) with the given instructions; the section will lie at `section`. */
static inline void put_fde(struct made_bytes *target, size_t cie, uint64_t section, uint64_t start, uint32_t size,
                           const char *instructions, size_t instruction_bytes)
{
    size_t begin = entry_begin(target);
    put_u32(target, (uint32_t)(begin - cie));
    put_u32(target, (uint32_t)(start - (section + target->size)));
    put_u32(target, size);
    put_u8(target, 0);
    put(target, instructions, instruction_bytes);
    entry_end(target, begin);
}

struct made_symbol {
    const char *name;
    uint64_t address, size;
    unsigned char info;
};

struct made_elf {
    uint8_t bytes[MADE_MAXIMUM];
    size_t size;
};

#define MADE_EH_FRAME 0x2000 /* where .eh_frame lies */

static inline void made_section(struct made_elf *elf, Elf64_Shdr *header, struct made_bytes *names, const char *name,
                                uint32_t type, uint64_t flags, const void *bytes, size_t size, uint64_t at)
{
    if (at)
        elf->size = at;
    elf->size = (elf->size + 7) & ~(size_t)7;
    *header = (Elf64_Shdr){.sh_name = (Elf64_Word)names->size, .sh_type = type, .sh_flags = flags, .sh_offset = elf->size,
                           .sh_addr = flags & SHF_ALLOC ? elf->size : 0, .sh_size = size};
    put(names, name, strlen(name) + 1);
    if (bytes)
        memcpy(elf->bytes + elf->size, bytes, size);
    elf->size += size;
}

/* symbols may be NULL. code (at MADE_TEXT) may be NULL: zeros. */
static inline void made_elf_build(struct made_elf *elf, uint16_t machine, const struct made_bytes *code,
                                  const struct made_bytes *eh_frame, const struct made_symbol *symbols, size_t symbol_count)
{
    memset(elf, 0, sizeof *elf);
    Elf64_Shdr sections[6];
    struct made_bytes names = {.size = 1}, strings = {.size = 1}, table = {.size = sizeof(Elf64_Sym)};
    memset(sections, 0, sizeof sections);
    for (size_t i = 0; i < symbol_count; i++) {
        Elf64_Sym symbol = {.st_name = (Elf64_Word)strings.size, .st_value = symbols[i].address, .st_size = symbols[i].size,
                            .st_info = symbols[i].info, .st_shndx = 1};
        put(&table, &symbol, sizeof symbol);
        put(&strings, symbols[i].name, strlen(symbols[i].name) + 1);
    }
    made_section(elf, &sections[1], &names, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, MADE_TEXT_SIZE, MADE_TEXT);
    if (code)
        memcpy(elf->bytes + MADE_TEXT, code->bytes, code->size);
    made_section(elf, &sections[2], &names, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, eh_frame->bytes, eh_frame->size, MADE_EH_FRAME);
    made_section(elf, &sections[3], &names, ".symtab", SHT_SYMTAB, 0, table.bytes, table.size, 0);
    sections[3].sh_link = 4;
    sections[3].sh_entsize = sizeof(Elf64_Sym);
    made_section(elf, &sections[4], &names, ".strtab", SHT_STRTAB, 0, strings.bytes, strings.size, 0);
    made_section(elf, &sections[5], &names, ".shstrtab", SHT_STRTAB, 0, NULL, 64, 0);
    memcpy(elf->bytes + sections[5].sh_offset, names.bytes, names.size);
    elf->size = (elf->size + 7) & ~(size_t)7;
    Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_DYN,
                         .e_machine = machine, .e_version = EV_CURRENT, .e_phoff = sizeof header, .e_shoff = elf->size,
                         .e_ehsize = sizeof header, .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
                         .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 6, .e_shstrndx = 5};
    memcpy(elf->bytes + elf->size, sections, sizeof sections);
    elf->size += sizeof sections;
    Elf64_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = elf->size, .p_memsz = elf->size, .p_align = 0x1000};
    memcpy(elf->bytes, &header, sizeof header);
    memcpy(elf->bytes + sizeof header, &segment, sizeof segment);
}

#endif
