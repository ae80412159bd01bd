/* SPDX-License-Identifier: MIT */
/* Reads abbreviations through libdw and entries by ourselves; every step is bounded by the unit's bytes. */
#include "dwarf_entries.h"

#ifdef HP_HAVE_ELFUTILS

#include "base/array.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define SIZE_VARIES UINT32_MAX
#define CODE_MAXIMUM (1u << 20)

static uint32_t form_size(const struct dwarf_entries *entries, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_ref1:
    case DW_FORM_flag:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
    case DW_FORM_ref_sup4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sig8:
    case DW_FORM_ref_sup8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return entries->address_size;
    case DW_FORM_ref_addr:
        return entries->version <= 2 ? entries->address_size : entries->offset_size;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_sec_offset:
    case DW_FORM_strp_sup:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return entries->offset_size;
    default:
        return SIZE_VARIES;
    }
}

static bool form_skip(const struct dwarf_entries *entries, struct cursor *cursor, unsigned form)
{
    uint32_t size = form_size(entries, form);
    if (size != SIZE_VARIES)
        return cursor_bytes(cursor, size) != NULL;
    switch (form) {
    case DW_FORM_block1:
        return cursor_bytes(cursor, cursor_u8(cursor)) != NULL;
    case DW_FORM_block2:
        return cursor_bytes(cursor, cursor_u16(cursor)) != NULL;
    case DW_FORM_block4:
        return cursor_bytes(cursor, cursor_u32(cursor)) != NULL;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        return cursor_bytes(cursor, cursor_uleb(cursor)) != NULL;
    case DW_FORM_string:
        return cursor_string(cursor) != NULL;
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        cursor_uleb(cursor);
        return !cursor->failed;
    default: /* DW_FORM_indirect, which no compiler writes, and what is yet to be invented */
        return false;
    }
}

/* 1 behind the last one. */
static int form_add(struct dwarf_entries *entries, struct dwarf_abbreviation *abbreviation, Dwarf_Abbrev *source, size_t index)
{
    unsigned name, form;
    Dwarf_Sword implicit = 0;
    if (dwarf_getabbrevattr_data(source, index, &name, &form, &implicit, NULL) != 0)
        return 1;
    struct dwarf_attribute_form *moved =
        array_reserve(entries->forms, &entries->form_capacity, entries->form_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    entries->forms = moved;
    entries->forms[entries->form_count++] =
        (struct dwarf_attribute_form){.name = (uint16_t)name, .form = (uint16_t)form, .implicit = implicit};
    abbreviation->form_count++;
    uint32_t size = form_size(entries, form);
    if (size == SIZE_VARIES || abbreviation->fixed_size == SIZE_VARIES)
        abbreviation->fixed_size = SIZE_VARIES;
    else
        abbreviation->fixed_size += size;
    abbreviation->has_sibling |= name == DW_AT_sibling;
    return 0;
}

static int abbreviation_add(struct dwarf_entries *entries, Dwarf_Abbrev *source)
{
    unsigned code = dwarf_getabbrevcode(source);
    if (code == 0 || code > CODE_MAXIMUM)
        return -EINVAL;
    struct dwarf_abbreviation *moved = array_reserve(entries->abbreviations, &entries->abbreviation_capacity,
                                                     code >= entries->abbreviation_count ? code + 1 : 0, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    entries->abbreviations = moved;
    for (; entries->abbreviation_count <= code; entries->abbreviation_count++)
        memset(&entries->abbreviations[entries->abbreviation_count], 0, sizeof *moved);
    struct dwarf_abbreviation abbreviation = {.tag = (uint16_t)dwarf_getabbrevtag(source),
                                              .has_children = dwarf_abbrevhaschildren(source) == DW_CHILDREN_yes,
                                              .first_form = (uint32_t)entries->form_count};
    int rc = 0;
    /* dwarf_getattrcnt counts wrongly where implicit constants are among them (seen in elfutils 0.188). */
    for (size_t i = 0; rc == 0; i++)
        rc = form_add(entries, &abbreviation, source, i);
    entries->abbreviations[code] = abbreviation;
    return rc < 0 ? rc : 0;
}

static int abbreviations_read(struct dwarf_entries *entries, Dwarf_Die *unit_die)
{
    size_t length;
    for (Dwarf_Off offset = 0;; offset += length) {
        Dwarf_Abbrev *abbreviation = dwarf_getabbrev(unit_die, offset, &length);
        if (abbreviation == DWARF_END_ABBREV)
            return 0;
        int rc = abbreviation ? abbreviation_add(entries, abbreviation) : -EINVAL;
        if (rc < 0)
            return rc;
    }
}

int dwarf_entries_open(struct dwarf_entries *entries, Dwarf_Die *unit_die)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(unit_die->cu);
    Dwarf_Off here = dwarf_dieoffset(unit_die), header = here - dwarf_cuoffset(unit_die), next, abbreviations;
    Dwarf_Half version;
    uint8_t address_size, offset_size;
    size_t header_size;
    memset(entries, 0, sizeof *entries);
    if (dwarf_next_unit(dwarf, header, &next, &header_size, &version, &abbreviations, &address_size, &offset_size, NULL,
                        NULL) != 0 || next <= here)
        return -EINVAL;
    entries->begin = unit_die->addr;
    entries->end = entries->begin + (next - here);
    entries->begin_offset = here;
    entries->header_size = here - header;
    entries->unit = unit_die->cu;
    entries->version = version;
    entries->address_size = address_size;
    entries->offset_size = offset_size;
    int rc = abbreviations_read(entries, unit_die);
    if (rc < 0)
        dwarf_entries_close(entries);
    return rc;
}

void dwarf_entries_close(struct dwarf_entries *entries)
{
    free(entries->abbreviations);
    free(entries->forms);
    entries->abbreviations = NULL;
    entries->forms = NULL;
}

/* The value of a constant, reference or address form that lies at the cursor; 0 for others. */
static uint64_t form_value(const struct dwarf_entries *entries, struct cursor cursor, const struct dwarf_attribute_form *form)
{
    if (form->form == DW_FORM_implicit_const)
        return (uint64_t)form->implicit;
    if (form->form == DW_FORM_udata || form->form == DW_FORM_ref_udata || form->form == DW_FORM_addrx ||
        form->form == DW_FORM_GNU_addr_index)
        return cursor_uleb(&cursor);
    if (form->form == DW_FORM_sdata)
        return (uint64_t)cursor_sleb(&cursor);
    uint32_t size = form_size(entries, form->form);
    return size <= 8 ? cursor_fixed(&cursor, size) : 0;
}

static void attribute_take(const struct dwarf_entries *entries, const struct cursor *cursor,
                           const struct dwarf_attribute_form *form, struct dwarf_entry *entry)
{
    switch (form->name) {
    case DW_AT_low_pc:
        entry->has_low = true;
        entry->low_is_indexed = form->form != DW_FORM_addr;
        entry->low = form_value(entries, *cursor, form);
        break;
    case DW_AT_high_pc:
        entry->has_high = true;
        entry->high_is_address = form->form == DW_FORM_addr;
        entry->low_is_indexed |= form->form == DW_FORM_addrx || form->form == DW_FORM_GNU_addr_index;
        entry->high = form_value(entries, *cursor, form);
        break;
    case DW_AT_ranges:
        entry->has_ranges = true;
        break;
    case DW_AT_call_file:
        entry->call_file = (uint32_t)form_value(entries, *cursor, form);
        break;
    case DW_AT_call_line:
        entry->call_line = (uint32_t)form_value(entries, *cursor, form);
        break;
    case DW_AT_sibling: {
        /* Relative to the unit's header; must lead forward, within the unit. */
        uint64_t distance = form_value(entries, *cursor, form) - entries->header_size;
        if (form->form != DW_FORM_ref_addr && distance < (uint64_t)(entries->end - entries->begin) &&
            entries->begin + distance > cursor->at)
            entry->sibling = entries->begin + distance;
        break;
    }
    default:
        break;
    }
}

static bool is_scope(unsigned tag)
{
    return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

bool dwarf_entry_read(const struct dwarf_entries *entries, struct cursor *cursor, struct dwarf_entry *ret_entry)
{
    const uint8_t *begin = cursor->at;
    uint64_t code = cursor_uleb(cursor);
    ret_entry->abbreviation = NULL;
    if (code == 0)
        return !cursor->failed;
    if (code >= entries->abbreviation_count || entries->abbreviations[code].tag == 0)
        return false;
    const struct dwarf_abbreviation *abbreviation = &entries->abbreviations[code];
    bool wanted = is_scope(abbreviation->tag) || abbreviation->has_sibling;
    memset(ret_entry, 0, sizeof *ret_entry);
    ret_entry->at = begin;
    ret_entry->abbreviation = abbreviation;
    if (!wanted && abbreviation->fixed_size != SIZE_VARIES)
        return cursor_bytes(cursor, abbreviation->fixed_size) != NULL;
    for (uint32_t i = 0; i < abbreviation->form_count; i++) {
        const struct dwarf_attribute_form *form = &entries->forms[abbreviation->first_form + i];
        if (wanted)
            attribute_take(entries, cursor, form, ret_entry);
        if (!form_skip(entries, cursor, form->form))
            return false;
    }
    return true;
}

Dwarf_Off dwarf_entry_offset(const struct dwarf_entries *entries, const struct dwarf_entry *entry)
{
    return entries->begin_offset + (Dwarf_Off)(entry->at - entries->begin);
}

Dwarf_Die dwarf_entry_die(const struct dwarf_entries *entries, const struct dwarf_entry *entry)
{
    return (Dwarf_Die){.addr = (void *)(uintptr_t)entry->at, .cu = entries->unit};
}

#endif
