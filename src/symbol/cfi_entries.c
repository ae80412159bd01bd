/* SPDX-License-Identifier: MIT */
/*
 * .eh_frame and .debug_frame: a sequence of entries, each with its length in front:
 *
 *   CIE  length, id (0 | -1), version, augmentation "zPLRSB", alignments, return register, data, instructions
 *   FDE  length, pointer to its CIE, first address, size, data, instructions
 */
#include "cfi_builder.h"

#include "base/array.h"

#include <errno.h>

#define DW_EH_PE_OMIT 0xff
#define FDE_MAXIMUM (1u << 24)

uint64_t cfi_pointer_read(struct cursor *cursor, uint8_t encoding, uint8_t address_size, uint64_t address)
{
    uint64_t value;
    switch (encoding & 0x0f) {
    case 0x00:
        value = cursor_fixed(cursor, address_size);
        break;
    case 0x01:
        value = cursor_uleb(cursor);
        break;
    case 0x02:
        value = cursor_u16(cursor);
        break;
    case 0x03:
        value = cursor_u32(cursor);
        break;
    case 0x04:
    case 0x0c:
        value = cursor_u64(cursor);
        break;
    case 0x09:
        value = (uint64_t)cursor_sleb(cursor);
        break;
    case 0x0a:
        value = (uint64_t)(int64_t)(int16_t)cursor_u16(cursor);
        break;
    case 0x0b:
        value = (uint64_t)(int64_t)(int32_t)cursor_u32(cursor);
        break;
    default:
        cursor->failed = true;
        return 0;
    }
    switch (encoding & 0xf0) {
    case 0x00:
        return value;
    case 0x10: /* relative to where it stands */
        return value + address;
    default: /* relative to text, data or function, or indirect: not used for code in linked files */
        cursor->failed = true;
        return 0;
    }
}

static uint64_t address_at(const struct cfi_section *section, const uint8_t *at)
{
    return section->address + (uint64_t)(at - section->data.bytes);
}

/* The letters of "zR..." describe the augmentation data that follows. */
static void augmentation_read(const struct cfi_section *section, const char *letters, struct cursor *data, struct cfi_cie *cie)
{
    for (; *letters && !data->failed; letters++) {
        switch (*letters) {
        case 'R':
            cie->pointer_encoding = cursor_u8(data);
            break;
        case 'L':
            cursor_u8(data);
            break;
        case 'P': {
            uint8_t encoding = cursor_u8(data);
            if (encoding != DW_EH_PE_OMIT) /* the pointer may be indirect: its bytes are skipped, its value is not needed */
                cfi_pointer_read(data, encoding & 0x0f, cie->address_size, address_at(section, data->at));
            break;
        }
        case 'S':
            cie->is_signal_frame = true;
            break;
        case 'B': /* AArch64: return addresses are signed with the B key */
        case 'G': /* AArch64: memory tagged frame */
            break;
        default:
            return; /* the size makes the rest skippable */
        }
    }
}

static bool cie_parse(const struct cfi_section *section, struct cursor body, struct cfi_cie *cie)
{
    uint8_t version = cursor_u8(&body);
    const char *augmentation = cursor_string(&body);
    if (!augmentation || version < 1 || version > 4 || version == 2)
        return false;
    *cie = (struct cfi_cie){.address_size = 8};
    if (version == 4) {
        cie->address_size = cursor_u8(&body);
        if (cursor_u8(&body) != 0) /* segment selectors */
            return false;
    }
    if (strncmp(augmentation, "eh", 2) == 0) {
        cursor_u64(&body); /* g++ 2's exception table pointer */
        augmentation += 2;
    }
    cie->code_alignment = cursor_uleb(&body);
    cie->data_alignment = cursor_sleb(&body);
    cie->return_register = version == 1 ? cursor_u8(&body) : cursor_uleb(&body);
    if (augmentation[0] == 'z') {
        uint64_t size = cursor_uleb(&body);
        const uint8_t *data = cursor_bytes(&body, size);
        if (!data)
            return false;
        struct cursor data_cursor = {.at = data, .end = data + size};
        cie->has_augmentation_size = true;
        augmentation_read(section, augmentation + 1, &data_cursor, cie);
        if (data_cursor.failed)
            return false;
    } else if (augmentation[0] != '\0' && strcmp(augmentation, "S") != 0) {
        return false;
    }
    cie->instructions = body.at;
    cie->end = body.end;
    return !body.failed && cie->address_size <= 8 && cie->return_register < CFI_REGISTERS;
}

/* Steps to the next entry: its body (behind the length) and whether it has the 64-bit form. false at the end. */
static bool entry_next(struct cursor *cursor, struct cursor *body, bool *wide)
{
    while (!cursor->failed && cursor_left(cursor) >= 4) {
        uint64_t length = cursor_u32(cursor);
        *wide = length == 0xffffffff;
        if (*wide)
            length = cursor_u64(cursor);
        if (length == 0)
            continue; /* a terminator that linking left in the middle */
        const uint8_t *bytes = cursor_bytes(cursor, length);
        if (!bytes)
            return false;
        *body = (struct cursor){.at = bytes, .end = bytes + length};
        return true;
    }
    return false;
}

static int cie_index(struct cfi_builder *builder, size_t section_index, uint64_t position, uint32_t *ret_index)
{
    const struct cfi_section *section = &builder->sections[section_index];
    uint64_t known, key = position << 1 | section_index;
    if (map_get(&builder->cie_by_position, key, &known)) {
        *ret_index = (uint32_t)known;
        return known == UINT32_MAX ? -EINVAL : 0;
    }
    if (position >= section->data.size)
        return -EINVAL;
    struct cursor cursor = {.at = section->data.bytes + position, .end = section->data.bytes + section->data.size}, body;
    struct cfi_cie cie;
    bool wide = false, valid = entry_next(&cursor, &body, &wide);
    if (valid) {
        uint64_t id = cursor_fixed(&body, wide && section->is_debug_frame ? 8 : 4);
        uint64_t expected = !section->is_debug_frame ? 0 : wide ? UINT64_MAX : UINT32_MAX;
        valid = !body.failed && id == expected && cie_parse(section, body, &cie);
    }
    if (!valid) {
        int rc = map_set(&builder->cie_by_position, key, UINT32_MAX);
        return rc < 0 ? rc : -EINVAL;
    }
    struct cfi_cie *moved = array_reserve(builder->cies, &builder->cie_capacity, builder->cie_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    builder->cies = moved;
    *ret_index = (uint32_t)builder->cie_count;
    builder->cies[builder->cie_count++] = cie;
    return map_set(&builder->cie_by_position, key, *ret_index);
}

static int fde_parse(const struct cfi_section *section, const struct cfi_cie *cie, struct cursor body, struct cfi_fde *fde)
{
    fde->start = cfi_pointer_read(&body, cie->pointer_encoding, cie->address_size, address_at(section, body.at));
    uint64_t size = cfi_pointer_read(&body, cie->pointer_encoding & 0x0f, cie->address_size, 0);
    if (cie->has_augmentation_size)
        cursor_bytes(&body, cursor_uleb(&body));
    fde->instructions = body.at;
    fde->instructions_end = body.end;
    if (body.failed || __builtin_add_overflow(fde->start, size, &fde->end))
        return -EINVAL;
    return 0;
}

static bool is_code(const struct elf_image *image, uint64_t address)
{
    for (size_t i = 0; i < image->segment_count; i++) {
        const struct elf_segment *segment = &image->segments[i];
        if (segment->type == PT_LOAD && (segment->flags & PF_X) && address >= segment->address &&
            address - segment->address < segment->memory_size)
            return true;
    }
    return false;
}

static int fde_add(struct cfi_builder *builder, struct cfi_fde *fde)
{
    /* Functions that the linker dropped leave entries at address 0 or below the code. */
    if (fde->end <= fde->start || !is_code(builder->image, fde->start))
        return 0;
    if (builder->fde_count >= FDE_MAXIMUM)
        return -EINVAL;
    struct cfi_fde *moved = array_reserve(builder->fdes, &builder->fde_capacity, builder->fde_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    builder->fdes = moved;
    builder->fdes[builder->fde_count++] = *fde;
    return 0;
}

int cfi_section_read(struct cfi_builder *builder, size_t section_index)
{
    const struct cfi_section *section = &builder->sections[section_index];
    struct cursor cursor = {.at = section->data.bytes, .end = section->data.bytes + section->data.size}, body;
    for (bool wide; entry_next(&cursor, &body, &wide);) {
        uint64_t here = (uint64_t)(body.at - section->data.bytes);
        size_t pointer_size = wide && section->is_debug_frame ? 8 : 4;
        uint64_t pointer = cursor_fixed(&body, pointer_size);
        uint64_t cie_mark = !section->is_debug_frame ? 0 : pointer_size == 8 ? UINT64_MAX : UINT32_MAX;
        if (body.failed || pointer == cie_mark)
            continue;
        if (!section->is_debug_frame)
            pointer = here - pointer; /* relative; wraps to something too large when damaged */
        struct cfi_fde fde = {0};
        int rc = cie_index(builder, section_index, pointer, &fde.cie);
        if (rc == 0)
            rc = fde_parse(section, &builder->cies[fde.cie], body, &fde);
        if (rc == 0)
            rc = fde_add(builder, &fde);
        if (rc == -ENOMEM)
            return rc;
        if (rc < 0)
            builder->table->damaged_count++;
    }
    return 0;
}
