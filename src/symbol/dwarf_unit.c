/* SPDX-License-Identifier: MIT */
/* Walks a unit's entries once and keeps what addresses need: nested ranges with their call sites. */
#include "dwarf_unit.h"

#ifdef HP_HAVE_ELFUTILS

#include "base/array.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define DEPTH_MAXIMUM 256
#define SCOPE_MAXIMUM (8u << 20)

struct unit_walk {
    struct dwarf_unit *unit;
    bool methods_in_types; /* Rust puts functions with code inside of types */
};

static int walk_children(struct unit_walk *walk, Dwarf_Die *parent_die, uint32_t parent, unsigned depth);

static uint32_t attribute_number(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

static int scope_add(struct dwarf_unit *unit, Dwarf_Die *die, uint32_t parent)
{
    if (unit->scope_count >= SCOPE_MAXIMUM)
        return -EFBIG;
    struct dwarf_scope *moved = array_reserve(unit->scopes, &unit->scope_capacity, unit->scope_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    unit->scopes = moved;
    unit->scopes[unit->scope_count++] = (struct dwarf_scope){
        .die = dwarf_dieoffset(die),
        .parent = parent,
        .depth = parent == SCOPE_NONE ? 0 : unit->scopes[parent].depth + 1,
        .call_file = parent == SCOPE_NONE ? 0 : attribute_number(die, DW_AT_call_file),
        .call_line = parent == SCOPE_NONE ? 0 : attribute_number(die, DW_AT_call_line),
    };
    return 0;
}

/* Adds the scope's ranges; *ret_count tells how many (0: it has no code of its own). */
static int ranges_add(struct dwarf_unit *unit, Dwarf_Die *die, uint32_t scope, size_t *ret_count)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t position = 0;
    *ret_count = 0;
    while ((position = dwarf_ranges(die, position, &base, &low, &high)) > 0) {
        if (high <= low || low == 0) /* dropped by the linker */
            continue;
        if (unit->range_count >= SCOPE_MAXIMUM)
            return -EFBIG;
        struct dwarf_scope_range *moved =
            array_reserve(unit->ranges, &unit->range_capacity, unit->range_count + 1, sizeof *moved);
        if (!moved)
            return -ENOMEM;
        unit->ranges = moved;
        unit->ranges[unit->range_count++] = (struct dwarf_scope_range){low, high, scope};
        ++*ret_count;
    }
    return 0;
}

static int functions_add(struct dwarf_unit *unit, size_t first_range, size_t own_count)
{
    for (size_t i = 0; i < own_count; i++) {
        struct dwarf_function_range *moved =
            array_reserve(unit->functions, &unit->function_capacity, unit->function_count + 1, sizeof *moved);
        if (!moved)
            return -ENOMEM;
        unit->functions = moved;
        unit->functions[unit->function_count++] = (struct dwarf_function_range){
            .low = unit->ranges[first_range + i].low, .high = unit->ranges[first_range + i].high,
            .first_range = (uint32_t)first_range, .range_count = (uint32_t)(unit->range_count - first_range)};
    }
    return 0;
}

static int walk_scope(struct unit_walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    struct dwarf_unit *unit = walk->unit;
    size_t first_range = unit->range_count, own_count;
    uint32_t scope = (uint32_t)unit->scope_count;
    int rc = ranges_add(unit, die, scope, &own_count);
    if (rc < 0 || own_count == 0) /* a declaration, an abstract function, or a call whose code vanished */
        return rc;
    rc = scope_add(unit, die, parent);
    if (rc == 0)
        rc = walk_children(walk, die, scope, depth + 1);
    if (rc == 0 && parent == SCOPE_NONE)
        rc = functions_add(unit, first_range, own_count);
    return rc;
}

/*
 * A function defined inside another one is met while the outer's slice is open, so its ranges lie in that slice too: harmless,
 * as depth decides, but it starts a nesting of its own.
 */
static int walk_child(struct unit_walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    switch (dwarf_tag(die)) {
    case DW_TAG_subprogram:
        return walk_scope(walk, die, SCOPE_NONE, depth);
    case DW_TAG_inlined_subroutine:
        return parent == SCOPE_NONE ? 0 : walk_scope(walk, die, parent, depth);
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return walk_children(walk, die, parent, depth + 1);
    case DW_TAG_namespace:
    case DW_TAG_module:
        return walk_children(walk, die, SCOPE_NONE, depth + 1);
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return walk->methods_in_types ? walk_children(walk, die, SCOPE_NONE, depth + 1) : 0;
    default:
        return 0;
    }
}

static int walk_children(struct unit_walk *walk, Dwarf_Die *parent_die, uint32_t parent, unsigned depth)
{
    Dwarf_Die child;
    if (depth > DEPTH_MAXIMUM || dwarf_child(parent_die, &child) != 0)
        return 0;
    int rc, more;
    do {
        rc = walk_child(walk, &child, parent, depth);
        more = rc == 0 ? dwarf_siblingof(&child, &child) : 1;
    } while (more == 0);
    return rc;
}

static int function_compare(const void *left, const void *right)
{
    const struct dwarf_function_range *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high > b->high ? -1 : a->high < b->high;
}

int dwarf_unit_read(struct dwarf_unit *unit)
{
    if (unit->is_read)
        return unit->is_read < 0 ? unit->is_read : 0;
    int language = dwarf_srclang(&unit->die);
    struct unit_walk walk = {.unit = unit,
                             .methods_in_types = language != DW_LANG_C_plus_plus && language != DW_LANG_C_plus_plus_11 &&
                                                 language != DW_LANG_C_plus_plus_14 && language != DW_LANG_C_plus_plus_03};
    int rc = walk_children(&walk, &unit->die, SCOPE_NONE, 0);
    if (unit->function_count)
        qsort(unit->functions, unit->function_count, sizeof *unit->functions, function_compare);
    unit->is_read = rc < 0 ? rc : 1;
    return rc;
}

void dwarf_unit_finish(struct dwarf_unit *unit)
{
    free(unit->scopes);
    free(unit->ranges);
    free(unit->functions);
}

static uint32_t innermost(const struct dwarf_unit *unit, const struct dwarf_function_range *function, uint64_t address)
{
    uint32_t best = SCOPE_NONE;
    for (uint32_t i = 0; i < function->range_count; i++) {
        const struct dwarf_scope_range *range = &unit->ranges[function->first_range + i];
        if (address < range->low || address >= range->high)
            continue;
        if (best == SCOPE_NONE || unit->scopes[range->scope].depth >= unit->scopes[best].depth)
            best = range->scope;
    }
    return best;
}

uint32_t dwarf_unit_find(const struct dwarf_unit *unit, uint64_t address)
{
    size_t low = 0, high = unit->function_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (unit->functions[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    /* Ranges may enclose others (functions defined inside functions): the nearest one that reaches far enough. */
    for (size_t i = low, tries = 0; i-- > 0 && tries < 16; tries++)
        if (address < unit->functions[i].high)
            return innermost(unit, &unit->functions[i], address);
    return SCOPE_NONE;
}

#endif
