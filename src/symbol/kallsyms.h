/* SPDX-License-Identifier: MIT */
/* Kernel functions of the running kernel, its modules and BPF programs, from /proc/kallsyms. For src/symbol only. */
#ifndef HP_SYMBOL_KALLSYMS_H
#define HP_SYMBOL_KALLSYMS_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kallsyms;
struct file_writer;

/* -EACCES: the kernel hides the addresses (kptr_restrict). path NULL = /proc/kallsyms. */
int kallsyms_load(const char *path, struct kallsyms **ret_symbols);
void kallsyms_destroy(struct kallsyms *symbols);
DEFINE_CLEANUP(struct kallsyms *, kallsyms_destroy)
/* The function that holds the address and, for a kernel module's, that module ("" else). NULL: none. */
const char *kallsyms_find(const struct kallsyms *symbols, uint64_t address, const char **ret_module);
/* Within _stext and _etext: the kernel proper, without modules, BPF programs and code that is freed after boot. */
bool kallsyms_has_core(const struct kallsyms *symbols); /* the bounds are known */
bool kallsyms_in_core(const struct kallsyms *symbols, uint64_t address);
/* The functions of that part, in order of address, with its two bounds, as kallsyms_load reads them. Nothing if they are unknown. */
void kallsyms_write_core(const struct kallsyms *symbols, struct file_writer *writer);

#endif
