/* SPDX-License-Identifier: MIT */
/* A module from inside: what is opened and parsed lazily, once, by whichever thread comes first. For src/symbol only. */
#ifndef HP_SYMBOL_MODULE_H
#define HP_SYMBOL_MODULE_H

#include "address_map.h"
#include "elf.h"

#include <pthread.h>
#include <stdatomic.h>

struct cfi_index;

struct module_identity {
    uint64_t device, inode, generation;
    uint8_t build_id[ELF_BUILD_ID_MAXIMUM]; /* as the kernel or the recording told; size 0 = not told */
    size_t build_id_size;
};

struct module_root { /* code below which a thread has nothing; addresses in the file */
    uint64_t start, end;
};

struct module_roots {
    struct module_root *ranges;
    size_t count, capacity;
};

struct module {
    struct module_table *table;
    uint32_t index;
    enum module_kind kind;
    char *path;
    struct module_identity identity;
    pid_t pid;               /* who had it when it was first seen; the owner of JIT code */
    pid_t namespace_pid;     /* the same process as it knows itself: its perf-PID.map bears that number */
    uid_t owner;             /* of the process, for JIT files */
    int64_t started_ns;      /* of the process, on CLOCK_REALTIME; INT64_MIN = unknown: what is older is not its perf-PID.map */
    bool owner_known, deleted;
    int temporary_directory; /* JIT in another mount namespace: its /tmp; else -1 */
    uint8_t *image;          /* vDSO: the bytes themselves */
    size_t image_size;
    int64_t file_size, modified_ns; /* of the opened file, to notice that it was rewritten in place */

    pthread_mutex_t lock; /* guards what follows until its flag is set */
    int fd;               /* -1: not open */
    bool open_failed;
    char *dump_path;      /* jitdump that the process maps; NULL = none */
    int dump_fd;
    int map_fd;      /* recorded: a copy of perf-PID.map; else -1 */
    atomic_bool elf_ready, cfi_ready, roots_ready;
    struct elf_image *elf;    /* NULL: none */
    struct cfi_index *cfi;    /* NULL: none */
    struct module_roots roots; /* unwind_is_root's */
    char build_id_text[2 * ELF_BUILD_ID_MAXIMUM + 1];
};

/* Finds or adds the module of a mapping. The file is opened while the process lives; nothing is parsed. */
int module_for_mapping(struct module_table *table, pid_t pid, const struct mapping_info *mapping, struct module **ret_module);

/* The module's ELF headers, or NULL. Thread-safe; the result lives as long as the module. */
const struct elf_image *module_elf(struct module *module);
/* Its unwind rows, or NULL. Thread-safe. */
struct cfi_index *module_cfi(struct module *module);
/* A descriptor of its file, the module's own, or -1. Thread-safe. */
int module_descriptor(struct module *module);
/* From an offset in the file to the file's own addresses. */
uint64_t module_address_of_offset(struct module *module, uint64_t offset);

#endif
