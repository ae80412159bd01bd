/* SPDX-License-Identifier: MIT */
/*
 * Call frame information of one module, found on demand: which functions are described is read at once, their instructions
 * run only around addresses that are asked for. A short recording touches a few thousand of libLLVM's 95,000 functions.
 *
 * Functions stand in groups by address, each with a table of its own (cfi.h). Any thread may ask at any time; a table, once
 * made, stays as it is until the end.
 */
#ifndef HP_SYMBOL_CFI_INDEX_H
#define HP_SYMBOL_CFI_INDEX_H

#include "cfi.h"

struct cfi_index;

/* -ENODATA when the image has no call frame information at all. The image is not needed afterwards. */
int cfi_index_create(const struct elf_image *image, struct cfi_index **ret_index);
void cfi_index_destroy(struct cfi_index *index);
DEFINE_CLEANUP(struct cfi_index *, cfi_index_destroy)

/* The rule at an address of the image and the table that its numbers belong to; NULL if there is none. */
const struct cfi_rule *cfi_index_find(struct cfi_index *index, uint64_t address, const struct cfi_table **ret_table);
/* Where the described function around an address begins: what is left of its bounds when a file has lost its symbols. */
bool cfi_index_function(const struct cfi_index *index, uint64_t address, uint64_t *ret_start);

#endif
