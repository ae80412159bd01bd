/* SPDX-License-Identifier: MIT */
/* Names of kernel addresses. Reading /proc/kallsyms costs the kernel 50 ms and more, which short programs would feel, so the
 * kernel proper's functions are kept for the rest of the boot in the user's cache folder. For src/symbol only. */
#ifndef HP_SYMBOL_KERNEL_NAMES_H
#define HP_SYMBOL_KERNEL_NAMES_H

#include "base/cleanup.h"

#include <stdint.h>

struct kernel_names;

/* Reads nothing yet. NULL: out of memory. */
struct kernel_names *kernel_names_create(void);
void kernel_names_destroy(struct kernel_names *names);
DEFINE_CLEANUP(struct kernel_names *, kernel_names_destroy)
/* The function that holds the address and, for a kernel module's, that module ("" else). NULL: none. Valid as long as `names`. */
const char *kernel_names_find(struct kernel_names *names, uint64_t address, const char **ret_module);
/* 0, -EACCES when the kernel hides the addresses, or why they cannot be read. */
int kernel_names_problem(struct kernel_names *names);

#endif
