/* SPDX-License-Identifier: MIT */
/*
 * The entries of a compilation unit, read straight from its bytes: twenty times as fast as asking libdw for each entry's
 * child and sibling, as most of a C++ unit is types that only need skipping. For dwarf*.c only.
 */
#ifndef HP_SYMBOL_DWARF_ENTRIES_H
#define HP_SYMBOL_DWARF_ENTRIES_H

#ifdef HP_HAVE_ELFUTILS

#include "cursor.h"

#include <elfutils/libdw.h>

struct dwarf_attribute_form {
    uint16_t name, form;
    int64_t implicit; /* DW_FORM_implicit_const */
};

struct dwarf_abbreviation {
    uint16_t tag;
    uint8_t has_children, has_sibling;
    uint32_t fixed_size; /* of all attributes together; UINT32_MAX: varies */
    uint32_t first_form, form_count;
};

struct dwarf_entries {
    const uint8_t *begin, *end; /* the unit's first entry; behind its last */
    Dwarf_Off begin_offset;     /* in its section */
    uint64_t header_size;       /* references count from the header, which lies in front of the first entry */
    Dwarf_CU *unit;
    uint8_t address_size, offset_size;
    uint16_t version;
    struct dwarf_abbreviation *abbreviations; /* by code */
    size_t abbreviation_count, abbreviation_capacity;
    struct dwarf_attribute_form *forms;
    size_t form_count, form_capacity;
};

int dwarf_entries_open(struct dwarf_entries *entries, Dwarf_Die *unit_die);
void dwarf_entries_close(struct dwarf_entries *entries);

struct dwarf_entry { /* what functions and inlined calls need of one entry */
    const struct dwarf_abbreviation *abbreviation; /* NULL: the end of a list of children */
    const uint8_t *at;
    bool has_low, has_high, has_ranges, high_is_address, low_is_indexed;
    uint64_t low, high;
    uint32_t call_file, call_line;
    const uint8_t *sibling; /* NULL unknown */
};
/* Reads the entry at the cursor and leaves the cursor behind it. Attributes are filled in for functions and inlined calls only. */
bool dwarf_entry_read(const struct dwarf_entries *entries, struct cursor *cursor, struct dwarf_entry *ret_entry);
/* libdw's handle of an entry. */
Dwarf_Die dwarf_entry_die(const struct dwarf_entries *entries, const struct dwarf_entry *entry);
Dwarf_Off dwarf_entry_offset(const struct dwarf_entries *entries, const struct dwarf_entry *entry);

#endif
#endif
