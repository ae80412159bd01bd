/* SPDX-License-Identifier: MIT */
/* One compilation unit's functions and inlined calls in tables. For dwarf*.c only. */
#ifndef HP_SYMBOL_DWARF_UNIT_H
#define HP_SYMBOL_DWARF_UNIT_H

#ifdef HP_HAVE_ELFUTILS

#include <elfutils/libdw.h>
#include <stddef.h>
#include <stdint.h>

#define SCOPE_NONE UINT32_MAX

struct dwarf_scope { /* a function or an inlined call */
    Dwarf_Off die;
    uint32_t parent; /* the scope it was inlined into; SCOPE_NONE for a function */
    uint32_t depth;
    uint32_t call_file, call_line; /* where in the parent */
};

struct dwarf_scope_range {
    uint64_t low, high;
    uint32_t scope;
};

struct dwarf_function_range {
    uint64_t low, high;
    uint32_t first_range, range_count; /* of the function and all inlined into it */
};

struct dwarf_unit {
    Dwarf_Die die;
    int is_read; /* 0 not yet, 1 read, -errno */
    struct dwarf_scope *scopes;
    size_t scope_count, scope_capacity;
    struct dwarf_scope_range *ranges;
    size_t range_count, range_capacity;
    struct dwarf_function_range *functions; /* sorted by low */
    size_t function_count, function_capacity;
};

int dwarf_unit_read(struct dwarf_unit *unit);
void dwarf_unit_finish(struct dwarf_unit *unit);
/* The innermost scope that holds the address, SCOPE_NONE if no function does. */
uint32_t dwarf_unit_find(const struct dwarf_unit *unit, uint64_t address);

#endif
#endif
