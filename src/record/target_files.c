/* SPDX-License-Identifier: MIT */
/* Names and headers of the targets' files, and the search for processes in other PID namespaces. */
#include "target_files.h"

#include "base/cleanup.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool digits(const char **at, unsigned base, uint64_t *ret_value)
{
    char *end;
    if (!strchr(base == 16 ? "0123456789abcdef" : "0123456789", **at) || !**at)
        return false;
    errno = 0;
    *ret_value = strtoull(*at, &end, (int)base);
    *at = end;
    return errno == 0;
}

struct target_name target_name_parse(const char *name)
{
    static const struct {
        const char *prefix;
        enum target_file kind;
    } kinds[] = {{"process-", TARGET_FILE_PROCESS}, {"chunk-", TARGET_FILE_CHUNK}, {"note-", TARGET_FILE_NOTE}};
    struct target_name none = {0}, parsed = {0};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        size_t length = strlen(kinds[i].prefix);
        if (strncmp(name, kinds[i].prefix, length) != 0)
            continue;
        parsed.kind = kinds[i].kind;
        name += length;
        break;
    }
    uint64_t pid, key, number = 0;
    if (!parsed.kind || !digits(&name, 10, &pid) || pid > INT_MAX || *name++ != '-' || !digits(&name, 16, &key))
        return none;
    if (parsed.kind == TARGET_FILE_CHUNK && (*name++ != '-' || !digits(&name, 10, &number) || number > UINT32_MAX))
        return none;
    if (*name)
        return none;
    parsed.pid = (int32_t)pid;
    parsed.key = key;
    parsed.number = (uint32_t)number;
    return parsed;
}

int target_file_map(int directory_fd, const char *name, size_t minimum, bool writable, void **ret_map, size_t *ret_size)
{
    CLEANUP(closep) int fd = openat(directory_fd, name, (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    if (fd < 0 || fstat(fd, &info) < 0)
        return -errno;
    if (!S_ISREG(info.st_mode))
        return -EINVAL;
    if ((uint64_t)info.st_size < minimum)
        return -ENODATA;
    void *map = mmap(NULL, (size_t)info.st_size, PROT_READ | (writable ? PROT_WRITE : 0), MAP_SHARED, fd, 0);
    if (map == MAP_FAILED)
        return -errno;
    *ret_map = map;
    *ret_size = (size_t)info.st_size;
    return 0;
}

bool target_process_valid(const struct wire_process *process, size_t size)
{
    return size >= sizeof *process && process->magic == WIRE_PROCESS_MAGIC && process->major == WIRE_MAJOR &&
           process->byte_order == WIRE_BYTE_ORDER && process->header_bytes >= offsetof(struct wire_process, open) &&
           process->log_offset >= process->header_bytes && process->log_offset % 8 == 0 && process->log_offset <= size;
}

bool target_chunk_valid(const struct wire_chunk *chunk, size_t size)
{
    return size > WIRE_CHUNK_DATA && __atomic_load_n(&chunk->magic, __ATOMIC_ACQUIRE) == WIRE_CHUNK_MAGIC &&
           chunk->major == WIRE_MAJOR && chunk->byte_order == WIRE_BYTE_ORDER && chunk->size_bytes == size;
}

uint64_t own_namespace(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? (uint64_t)info.st_ino : 0;
}

uint64_t process_start_ticks(pid_t pid)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    CLEANUP(freep) char *text = NULL;
    size_t size;
    if (file_read(path, 4096, &text, &size, NULL) < 0)
        return 0;
    const char *at = strrchr(text, ')'); /* the name may hold blanks and brackets */
    if (!at || at[1] != ' ' || at[2] == 'Z' || at[2] == 'X')
        return 0;
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* Whether process `pid` of ours is the one that its own namespace calls `inner`. */
static bool is_inner(pid_t pid, uint64_t pid_namespace, int32_t inner)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    if (own_namespace(path) != pid_namespace)
        return false;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    CLEANUP(freep) char *text = NULL;
    size_t size;
    if (file_read(path, 65536, &text, &size, NULL) < 0)
        return false;
    const char *line = strstr(text, "\nNSpid:");
    if (!line)
        return false;
    char *end = strchr(line + 1, '\n');
    if (end)
        *end = 0;
    const char *last = strrchr(line, '\t');
    return last && atoi(last + 1) == inner;
}

int32_t target_outer_pid(const struct wire_process *process)
{
    uint64_t own = own_namespace("/proc/self/ns/pid");
    if (process->pid_namespace == own || process->pid_namespace == 0 || own == 0)
        return process->pid;
    DIR *directory = opendir("/proc");
    int32_t found = 0;
    for (struct dirent *entry; directory && !found && (entry = readdir(directory));) {
        int pid = atoi(entry->d_name);
        if (pid > 0 && is_inner(pid, process->pid_namespace, process->pid))
            found = pid;
    }
    if (directory)
        closedir(directory);
    return found;
}
