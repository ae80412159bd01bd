/* SPDX-License-Identifier: MIT */
/*
 * Inlined frames, files and lines from DWARF debug info, through elfutils' libdw. A compilation unit is read once, when an
 * address in it is first asked for, into sorted tables; addresses never walk the debug info again. For src/symbol only.
 */
#ifndef HP_SYMBOL_DWARF_H
#define HP_SYMBOL_DWARF_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwarf_info;

struct dwarf_frame {
    const char *linkage_name; /* as the linker knows it, or NULL; the debug info's own memory */
    const char *name;         /* as the source has it, or NULL */
    uint64_t key;             /* same function, same key: for caching readable names */
    const char *file;         /* NULL unknown */
    uint32_t line;            /* 0 unknown */
};

/* -ENODATA when the file has no debug info, -EOPNOTSUPP when built without libdw. fd must outlive the result. */
int dwarf_info_open(int fd, struct dwarf_info **ret_info);
void dwarf_info_close(struct dwarf_info *info);
DEFINE_CLEANUP(struct dwarf_info *, dwarf_info_close)

/*
 * The frames at an address of the file, innermost first, the physical function last; 0 when no unit covers it. Where only
 * the line is known, one frame without names.
 */
size_t dwarf_info_resolve(struct dwarf_info *info, uint64_t address, struct dwarf_frame *frames, size_t capacity);

#endif
