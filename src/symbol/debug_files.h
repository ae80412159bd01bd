/* SPDX-License-Identifier: MIT */
/* Where a stripped module's symbols and debug info are: beside it, in debug directories, inside it, on a server. */
#ifndef HP_SYMBOL_DEBUG_FILES_H
#define HP_SYMBOL_DEBUG_FILES_H

#include "module.h"
#include "symbolizer.h"

/* A descriptor of the module's separate debug file on this machine (build id, .gnu_debuglink), checked to belong; else -ENOENT. */
int debug_file_find(struct module *module, const char *directories);
/* The symbol table packed into .gnu_debugdata: an ELF file. Caller frees *ret_bytes. */
int debug_data_unpack(const struct elf_image *image, uint8_t **ret_bytes, size_t *ret_size);
/*
 * Asking debuginfod servers, with two limits: one for each file, one for all. A server that once let a whole limit pass is not
 * asked again.
 */
struct debug_server {
    unsigned timeout_ms; /* per file; 0 = 5000 */
    const struct log *log;
    int64_t spent_ns;
    bool given_up;
};
/* A descriptor of what a server gave for the build id, or -errno. Only asks when DEBUGINFOD_URLS is set. */
int debug_server_fetch(struct debug_server *server, const uint8_t *build_id, size_t size);

#endif
