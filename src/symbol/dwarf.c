/* SPDX-License-Identifier: MIT */
/* Finds the compilation unit of an address and answers from its tables. */
#include "dwarf.h"

#include "dwarf_unit.h"

#include <errno.h>

#ifdef HP_HAVE_ELFUTILS

#include "base/array.h"

#include <dwarf.h>
#include <string.h>

/*
 * Debug info up to this size is copied, which is safe against a file that shrinks while we read; more is mapped, for
 * memory's sake: a browser's is 2 GB.
 */
#define COPIED_BYTES_MAXIMUM (64u << 20)
#define UNIT_MAXIMUM (1u << 20)

struct unit_range {
    uint64_t low, high;
    uint32_t unit;
};

struct dwarf_info {
    Elf *elf;
    Dwarf *dwarf;
    struct dwarf_unit *units;
    size_t unit_count, unit_capacity;
    struct unit_range *ranges; /* sorted by low */
    size_t range_count, range_capacity;
};

void dwarf_info_close(struct dwarf_info *info)
{
    if (!info)
        return;
    for (size_t i = 0; i < info->unit_count; i++)
        dwarf_unit_finish(&info->units[i]);
    free(info->units);
    free(info->ranges);
    dwarf_end(info->dwarf);
    elf_end(info->elf);
    free(info);
}

static int unit_add(struct dwarf_info *info, Dwarf_Die *range_die, Dwarf_Die *die)
{
    struct dwarf_unit *units = array_reserve(info->units, &info->unit_capacity, info->unit_count + 1, sizeof *units);
    if (!units)
        return -ENOMEM;
    info->units = units;
    info->units[info->unit_count] = (struct dwarf_unit){.die = *die};
    Dwarf_Addr base, low, high;
    ptrdiff_t position = 0;
    while ((position = dwarf_ranges(range_die, position, &base, &low, &high)) > 0) {
        if (high <= low || low == 0)
            continue;
        struct unit_range *ranges = array_reserve(info->ranges, &info->range_capacity, info->range_count + 1, sizeof *ranges);
        if (!ranges)
            return -ENOMEM;
        info->ranges = ranges;
        info->ranges[info->range_count++] = (struct unit_range){low, high, (uint32_t)info->unit_count};
    }
    info->unit_count++;
    return 0;
}

static int range_compare(const void *left, const void *right)
{
    const struct unit_range *a = left, *b = right;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    return a->high < b->high ? -1 : a->high > b->high;
}

static int units_read(struct dwarf_info *info)
{
    Dwarf_CU *unit = NULL;
    Dwarf_Half version;
    uint8_t type;
    Dwarf_Die die, split;
    while (info->unit_count < UNIT_MAXIMUM && dwarf_get_units(info->dwarf, unit, &unit, &version, &type, &die, &split) == 0) {
        if (type == DW_UT_type || type == DW_UT_split_type || type == DW_UT_partial)
            continue;
        /* The skeleton left in the program has the ranges, the split unit beside it the rest. */
        bool has_split = type == DW_UT_skeleton && split.addr;
        int rc = unit_add(info, &die, has_split ? &split : &die);
        if (rc < 0)
            return rc;
    }
    if (info->range_count)
        qsort(info->ranges, info->range_count, sizeof *info->ranges, range_compare);
    return info->range_count ? 0 : -ENODATA;
}

static uint64_t debug_bytes(Elf *elf)
{
    uint64_t sum = 0;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
        GElf_Shdr header;
        size_t names;
        const char *name = gelf_getshdr(section, &header) && elf_getshdrstrndx(elf, &names) == 0
                               ? elf_strptr(elf, names, header.sh_name)
                               : NULL;
        if (name && (strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0) && header.sh_type != SHT_NOBITS)
            sum += header.sh_size;
    }
    return sum;
}

int dwarf_info_open(int fd, struct dwarf_info **ret_info)
{
    elf_version(EV_CURRENT);
    CLEANUP(dwarf_info_closep) struct dwarf_info *info = calloc(1, sizeof *info);
    if (!info)
        return -ENOMEM;
    info->elf = elf_begin(fd, ELF_C_READ, NULL);
    uint64_t bytes = info->elf ? debug_bytes(info->elf) : 0;
    if (bytes == 0)
        return -ENODATA;
    if (bytes > COPIED_BYTES_MAXIMUM) {
        elf_end(info->elf);
        info->elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    }
    info->dwarf = dwarf_begin_elf(info->elf, DWARF_C_READ, NULL);
    if (!info->dwarf)
        return -ENODATA;
    int rc = units_read(info);
    if (rc < 0)
        return rc;
    *ret_info = TAKE_PTR(info);
    return 0;
}

static struct dwarf_unit *unit_find(struct dwarf_info *info, uint64_t address)
{
    size_t low = 0, high = info->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (info->ranges[middle].low <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low && address < info->ranges[low - 1].high ? &info->units[info->ranges[low - 1].unit] : NULL;
}

static const char *attribute_string(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* Name and identity of a scope's function; an inlined call leads to the function that was inlined. */
static void frame_name(struct dwarf_info *info, struct dwarf_unit *unit, const struct dwarf_scope *scope,
                       struct dwarf_frame *frame)
{
    Dwarf_Die die, origin;
    Dwarf_Attribute attribute;
    /* The unit's own handle: in split debug info that is another one than the file's. */
    Dwarf *dwarf = dwarf_cu_getdwarf(unit->die.cu);
    if (!dwarf_offdie(dwarf, scope->die, &die))
        return;
    frame->key = scope->die;
    if (dwarf_attr(&die, DW_AT_abstract_origin, &attribute) && dwarf_formref_die(&attribute, &origin))
        frame->key = (uint64_t)(uintptr_t)origin.addr; /* where it stands in memory: unique across files */
    frame->linkage_name = attribute_string(&die, DW_AT_linkage_name);
    if (!frame->linkage_name)
        frame->linkage_name = attribute_string(&die, DW_AT_MIPS_linkage_name);
    frame->name = attribute_string(&die, DW_AT_name);
}

static void frame_line(struct dwarf_unit *unit, uint64_t address, struct dwarf_frame *frame)
{
    Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
    int number;
    if (!line)
        return;
    frame->file = dwarf_linesrc(line, NULL, NULL);
    if (dwarf_lineno(line, &number) == 0 && number > 0)
        frame->line = (uint32_t)number;
}

static void frame_call_site(struct dwarf_unit *unit, const struct dwarf_scope *inlined, struct dwarf_frame *frame)
{
    Dwarf_Files *files;
    size_t count;
    frame->line = inlined->call_line;
    if (dwarf_getsrcfiles(&unit->die, &files, &count) == 0 && inlined->call_file < count)
        frame->file = dwarf_filesrc(files, inlined->call_file, NULL, NULL);
}

size_t dwarf_info_resolve(struct dwarf_info *info, uint64_t address, struct dwarf_frame *frames, size_t capacity)
{
    struct dwarf_unit *unit = capacity ? unit_find(info, address) : NULL;
    if (!unit)
        return 0;
    memset(&frames[0], 0, sizeof frames[0]);
    frame_line(unit, address, &frames[0]);
    uint32_t index = dwarf_unit_read(unit) == 0 ? dwarf_unit_find(unit, address) : SCOPE_NONE;
    if (index == SCOPE_NONE)
        return frames[0].line ? 1 : 0;
    for (size_t count = 0;;) {
        const struct dwarf_scope *scope = &unit->scopes[index];
        frame_name(info, unit, scope, &frames[count++]);
        if (scope->parent == SCOPE_NONE)
            return count;
        if (count == capacity) /* deeper inlining than there is room for: the outermost callers take the last place */
            count--;
        memset(&frames[count], 0, sizeof frames[count]);
        frame_call_site(unit, scope, &frames[count]);
        index = scope->parent;
    }
}

#else

int dwarf_info_open(int fd, struct dwarf_info **ret_info)
{
    return -EOPNOTSUPP;
}

void dwarf_info_close(struct dwarf_info *info)
{
}

size_t dwarf_info_resolve(struct dwarf_info *info, uint64_t address, struct dwarf_frame *frames, size_t capacity)
{
    return 0;
}

#endif
