/* SPDX-License-Identifier: MIT */
/* Modules of a recording, found again, and the trace's frames for addresses in them. Each address is named once. */
#ifndef HP_RECORD_MERGE_MODULES_H
#define HP_RECORD_MERGE_MODULES_H

#include "base/cleanup.h"
#include "merge.h"
#include "symbol/address_map.h"

struct merge_modules;

int merge_modules_create(struct merge *merge, struct merge_modules **ret_modules);
void merge_modules_destroy(struct merge_modules *modules);
DEFINE_CLEANUP(struct merge_modules *, merge_modules_destroy)

/* First pass: notes what a record says. A later record of the same number replaces the first. */
int merge_modules_note(struct merge_modules *modules, const struct wire_module *record);
/* After the first pass: opens all that was noted. */
int merge_modules_open(struct merge_modules *modules, struct error *err);

struct module_table *merge_modules_table(struct merge_modules *modules);
struct module *merge_modules_by_number(struct merge_modules *modules, uint32_t number); /* NULL: none */
/* A file that a target named in its own list of mappings. */
struct module *merge_modules_by_path(struct merge_modules *modules, const char *path, uint64_t device, uint64_t inode, pid_t pid);

/* Puts the frames of one address (several where functions are inlined) under `parent`. module NULL: nothing is mapped there. */
int merge_modules_push(struct merge_modules *modules, stack_id parent, struct module *module, uint64_t address, int64_t raw_ns,
                       stack_id *ret_stack);

/* The function (not what is inlined into it) that holds an address, with its file and line. */
int merge_modules_name(struct merge_modules *modules, struct module *module, uint64_t address, int64_t raw_ns,
                       struct merge_location *ret_location);

/* The stack of CPU time in kernel code that could not be sampled: one frame that says so. */
int merge_modules_push_excluded(struct merge_modules *modules, stack_id *ret_stack);

#endif
