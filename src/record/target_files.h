/* SPDX-License-Identifier: MIT */
/* The files that targets make in a session directory: their names, and safe ways to open them. Content may be hostile. */
#ifndef HP_RECORD_TARGET_FILES_H
#define HP_RECORD_TARGET_FILES_H

#include "wire/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum target_file { TARGET_FILE_NONE, TARGET_FILE_PROCESS, TARGET_FILE_CHUNK, TARGET_FILE_NOTE };
struct target_name {
    enum target_file kind;
    int32_t pid;
    uint64_t key;
    uint32_t number; /* of a chunk */
};
/* TARGET_FILE_NONE for any other name. */
struct target_name target_name_parse(const char *name);

/* Maps a regular file of at least `minimum` bytes, shared; -ENODATA if it is shorter (still being made). */
int target_file_map(int directory_fd, const char *name, size_t minimum, bool writable, void **ret_map, size_t *ret_size);

/* Whether the header is one that this build reads. size: of the file. */
bool target_process_valid(const struct wire_process *process, size_t size);
bool target_chunk_valid(const struct wire_chunk *chunk, size_t size);

/* The pid in our namespace of a process that sees itself as process->pid; 0 if it isn't found (any more). */
int32_t target_outer_pid(const struct wire_process *process);
/* Field 22 of /proc/PID/stat; 0 if there is no such process, or only its zombie. */
uint64_t process_start_ticks(pid_t pid);
uint64_t own_namespace(const char *path); /* "/proc/self/ns/pid": inode, 0 = unknown */

#endif
