/* SPDX-License-Identifier: MIT */
/* Walks a unit's entries once and keeps what addresses need: nested ranges with their call sites. */
#include "dwarf_unit.h"

#ifdef HP_HAVE_ELFUTILS

#include "base/array.h"
#include "dwarf_entries.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#define DEPTH_MAXIMUM 512
#define SCOPE_MAXIMUM (8u << 20)

struct unit_walk {
    struct dwarf_unit *unit;
    struct dwarf_entries entries;
    struct cursor cursor;
};

static int walk_children(struct unit_walk *walk, uint32_t parent, bool inside, unsigned depth);

static int scope_add(struct unit_walk *walk, const struct dwarf_entry *entry, uint32_t parent)
{
    struct dwarf_unit *unit = walk->unit;
    if (unit->scope_count >= SCOPE_MAXIMUM)
        return -EFBIG;
    struct dwarf_scope *moved = array_reserve(unit->scopes, &unit->scope_capacity, unit->scope_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    unit->scopes = moved;
    unit->scopes[unit->scope_count++] = (struct dwarf_scope){
        .die = dwarf_entry_offset(&walk->entries, entry),
        .parent = parent,
        .depth = parent == SCOPE_NONE ? 0 : unit->scopes[parent].depth + 1,
        .call_file = entry->call_file,
        .call_line = entry->call_line,
    };
    return 0;
}

static int range_add(struct dwarf_unit *unit, uint64_t low, uint64_t high, uint32_t scope)
{
    if (high <= low || low == 0) /* dropped by the linker */
        return 0;
    if (unit->range_count >= SCOPE_MAXIMUM)
        return -EFBIG;
    struct dwarf_scope_range *moved = array_reserve(unit->ranges, &unit->range_capacity, unit->range_count + 1, sizeof *moved);
    if (!moved)
        return -ENOMEM;
    unit->ranges = moved;
    unit->ranges[unit->range_count++] = (struct dwarf_scope_range){low, high, scope};
    return 0;
}

/* Adds the entry's ranges, which will belong to the next scope; none: it has no code of its own. */
static int ranges_add(struct unit_walk *walk, const struct dwarf_entry *entry)
{
    uint32_t scope = (uint32_t)walk->unit->scope_count;
    if (!entry->has_ranges && !(entry->has_low && entry->has_high))
        return 0;
    if (!entry->has_ranges && !entry->low_is_indexed)
        return range_add(walk->unit, entry->low, entry->high_is_address ? entry->high : entry->low + entry->high, scope);
    /* Lists and indexed addresses have more forms than are worth repeating here. */
    Dwarf_Die die = dwarf_entry_die(&walk->entries, entry);
    Dwarf_Addr base, low, high;
    ptrdiff_t position = 0;
    int rc = 0;
    while (rc == 0 && (position = dwarf_ranges(&die, position, &base, &low, &high)) > 0)
        rc = range_add(walk->unit, low, high, scope);
    return rc;
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

static int skip_children(struct unit_walk *walk, const struct dwarf_entry *entry, unsigned depth)
{
    if (!entry->sibling)
        return walk_children(walk, SCOPE_NONE, false, depth + 1);
    walk->cursor.at = entry->sibling;
    return 0;
}

static int walk_scope(struct unit_walk *walk, const struct dwarf_entry *entry, uint32_t parent, unsigned depth)
{
    struct dwarf_unit *unit = walk->unit;
    size_t first_range = unit->range_count;
    int rc = ranges_add(walk, entry);
    size_t own_count = unit->range_count - first_range;
    if (rc < 0)
        return rc;
    if (own_count == 0) /* a declaration, an abstract function, or a call whose code vanished */
        return entry->abbreviation->has_children ? skip_children(walk, entry, depth) : 0;
    uint32_t scope = (uint32_t)unit->scope_count;
    rc = scope_add(walk, entry, parent);
    if (rc == 0 && entry->abbreviation->has_children)
        rc = walk_children(walk, scope, true, depth + 1);
    if (rc == 0 && parent == SCOPE_NONE)
        rc = functions_add(unit, first_range, own_count);
    return rc;
}

/*
 * A function defined inside another one is met while the outer's slice is open, so its ranges lie in that slice too: harmless,
 * as depth decides, but it starts a nesting of its own.
 */
static int walk_child(struct unit_walk *walk, const struct dwarf_entry *entry, uint32_t parent, bool inside, unsigned depth)
{
    bool has_children = entry->abbreviation->has_children;
    switch (entry->abbreviation->tag) {
    case DW_TAG_subprogram:
        return walk_scope(walk, entry, SCOPE_NONE, depth);
    case DW_TAG_inlined_subroutine:
        if (inside && parent != SCOPE_NONE)
            return walk_scope(walk, entry, parent, depth);
        break;
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
        return has_children ? walk_children(walk, parent, inside, depth + 1) : 0;
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type: /* Rust puts functions with code inside of types */
    case DW_TAG_class_type:
    case DW_TAG_union_type:
    case DW_TAG_enumeration_type:
        return has_children ? walk_children(walk, SCOPE_NONE, false, depth + 1) : 0;
    default:
        break;
    }
    return has_children ? skip_children(walk, entry, depth) : 0;
}

/* Reads entries up to the end of the list that the cursor stands in. */
static int walk_children(struct unit_walk *walk, uint32_t parent, bool inside, unsigned depth)
{
    struct dwarf_entry entry;
    if (depth > DEPTH_MAXIMUM)
        return -EINVAL;
    while (walk->cursor.at < walk->cursor.end) {
        if (!dwarf_entry_read(&walk->entries, &walk->cursor, &entry))
            return -EINVAL;
        if (!entry.abbreviation)
            return 0;
        int rc = walk_child(walk, &entry, parent, inside, depth);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int walk_unit(struct dwarf_unit *unit)
{
    struct unit_walk walk = {.unit = unit};
    struct dwarf_entry root;
    int rc = dwarf_entries_open(&walk.entries, &unit->die);
    if (rc < 0)
        return rc;
    walk.cursor = (struct cursor){.at = walk.entries.begin, .end = walk.entries.end};
    if (!dwarf_entry_read(&walk.entries, &walk.cursor, &root) || !root.abbreviation)
        rc = -EINVAL;
    else if (root.abbreviation->has_children)
        rc = walk_children(&walk, SCOPE_NONE, false, 0);
    dwarf_entries_close(&walk.entries);
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
    int rc = walk_unit(unit);
    if (unit->function_count)
        qsort(unit->functions, unit->function_count, sizeof *unit->functions, function_compare);
    /* What was read before the damage holds. */
    unit->is_read = rc == -ENOMEM ? rc : 1;
    return unit->is_read < 0 ? rc : 0;
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
