/* SPDX-License-Identifier: MIT */
/*
 * What is mapped where. A module table knows every distinct file once (by device, inode, build id), for all processes; an
 * address map is one process' mappings at one time: mappings point to modules. Modules are opened lazily, through the
 * process' own root (/proc/PID/root, /proc/PID/map_files for deleted files), and stay open.
 */
#ifndef HP_SYMBOL_ADDRESS_MAP_H
#define HP_SYMBOL_ADDRESS_MAP_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;
struct log;
struct module;       /* one file; owned by its table, lives as long as it */
struct module_table;
struct address_map;

int module_table_create(struct module_table **ret_table);
void module_table_destroy(struct module_table *table);
DEFINE_CLEANUP(struct module_table *, module_table_destroy)

enum module_kind { MODULE_KIND_FILE, MODULE_KIND_VDSO, MODULE_KIND_KERNEL, MODULE_KIND_KERNEL_MODULE, MODULE_KIND_JIT, MODULE_KIND_ANONYMOUS };

struct mapping_info {
    uint64_t start, length, file_offset;
    uint64_t device, inode;  /* of the file, 0 = unknown */
    uint64_t inode_generation;
    const char *path;        /* as the process sees it; "[vdso]", "//anon", "" ... */
    const uint8_t *build_id; /* where the kernel gave it (MMAP2 with build id), else NULL */
    size_t build_id_size;
    bool executable;
    int64_t time_ns;         /* when it appeared, for JIT modules */
};

int address_map_create(struct module_table *table, pid_t pid, struct address_map **ret_map);
int address_map_clone(const struct address_map *parent, pid_t child, struct address_map **ret_map); /* after fork */
void address_map_destroy(struct address_map *map);
DEFINE_CLEANUP(struct address_map *, address_map_destroy)
/* Adds a mapping, cutting what it covers. A file is opened at once (cheaply: no parsing), while its process still lives. */
int address_map_add(struct address_map *map, const struct mapping_info *mapping);
/* The same for a module that is known already (a recording's). Only executable mappings are of interest. */
int address_map_add_module(struct address_map *map, uint64_t start, uint64_t length, uint64_t file_offset, struct module *module);
int address_map_remove(struct address_map *map, uint64_t start, uint64_t length);
/* Reads /proc/PID/maps (attach, or mmap records lost). */
int address_map_load(struct address_map *map, struct error *err);

/*
 * Threads: one thread changes a map, any may look things up in it meanwhile; a lookup sees the map before or after a change,
 * never half of one. Who needs the map of one moment (a sample that waits for its turn) takes a snapshot: a few dozen bytes
 * that share the mappings until the live map changes. It never changes itself; address_map_destroy frees it, in any thread.
 */
int address_map_snapshot(const struct address_map *map, struct address_map **ret_snapshot);
/* Differs whenever the mappings differ; equal for maps that share their mappings. */
uint64_t address_map_generation(const struct address_map *map);
pid_t address_map_pid(const struct address_map *map);

/* What is mapped, in ascending order: false when index is past the end. For writing a map down; not for lookups. */
struct mapping_view {
    uint64_t start, length, file_offset;
    struct module *module;
};
bool address_map_at(const struct address_map *map, size_t index, struct mapping_view *ret_mapping);

struct module_place {
    struct module *module;
    uint64_t address; /* in the module as its ELF file has it (st_value space); for JIT and kernel: the run-time address */
};
bool address_map_find(const struct address_map *map, uint64_t address, struct module_place *ret_place);

uint32_t module_index(const struct module *module);   /* dense, in the order of first sight */
uint32_t module_table_count(const struct module_table *table);
struct module *module_table_at(struct module_table *table, uint32_t index);
struct module *module_table_kernel(struct module_table *table); /* all kernel addresses */
enum module_kind module_kind_of(const struct module *module);
const char *module_path(const struct module *module);
/* Lower-case hex, "" when the file has none. Opens the file if need be. */
const char *module_build_id(struct module *module);
bool module_is_deleted(const struct module *module);
/* A descriptor of its file, which stays the module's; -1 when it has none. */
int module_file(struct module *module);
/* JIT code: its perf-PID.map and jitdump, checked to be the process' own; -1 = none. The caller closes them. */
void module_jit_open(const struct module *module, int *ret_map, int *ret_dump);
/* For a recorded module: copies of those files, which the module takes over. Whose they are was checked when they were copied. */
void module_jit_adopt(struct module *module, int map, int dump);
pid_t module_owner(const struct module *module); /* a process that maps it */

/*
 * A module known from a recording only (path, build id): found again on this machine by path if the build id agrees, else
 * by build id in the debug directories. For symbolizing after the run and for recover.
 */
int module_table_add_recorded(struct module_table *table, enum module_kind kind, const char *path, const char *build_id_hex,
                              uint64_t device, uint64_t inode, pid_t pid, struct module **ret_module);

#endif
