/* SPDX-License-Identifier: MIT */
/* Opening what a process has mapped: as it sees it, and only if it is the very file. For src/symbol only. */
#ifndef HP_SYMBOL_MODULE_OPEN_H
#define HP_SYMBOL_MODULE_OPEN_H

#include "module.h"

struct opened_file {
    int fd;
    bool deleted;
    int64_t size, modified_ns;
};

/* The file of a mapping: through the process' root, through map_files or as its program (deleted or replaced files),
 * or in our own root when the process is gone. -ENOENT when none of them is that file. */
int module_open_mapping(pid_t pid, const struct mapping_info *mapping, struct opened_file *ret_file);
/* A regular file under root ("/proc/PID/root" or "/"), whose links do not lead out of it. */
int module_open_in_root(const char *root, const char *path);
bool module_file_status(int fd, struct opened_file *file); /* false: not a regular file */
bool module_process_differs_in_mounts(pid_t pid);
/* The innermost process id and the owner, from /proc/PID/status. */
bool module_process_identity(pid_t pid, pid_t *ret_namespace_pid, uid_t *ret_owner);

#endif
