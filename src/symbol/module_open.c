/* SPDX-License-Identifier: MIT */
/* Opens mapped files through /proc, so that other roots and mount namespaces, deleted and replaced files work. */
#include "module_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

/* The kernel's openat2 interface; <linux/openat2.h> is missing on older systems. */
struct open_request {
    uint64_t flags, mode, resolve;
};
#define RESOLVE_INSIDE_ROOT 0x10
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#define OVERLAY_MAGIC 0x794c7630

static int open_below(int root, const char *path, int flags)
{
    struct open_request request = {.flags = (uint64_t)(unsigned)flags, .resolve = RESOLVE_INSIDE_ROOT};
    long fd = syscall(SYS_openat2, root, path, &request, sizeof request);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM)) { /* an old kernel, or a seccomp filter that does not know the call */
        while (*path == '/')
            path++;
        fd = openat(root, path, flags);
    }
    return fd < 0 ? -errno : (int)fd;
}

/* A descriptor without access first: opening a device or a pipe that a hostile path names may have effects. */
static int reopen_regular(int path_fd)
{
    struct stat status;
    if (fstat(path_fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -ENOEXEC;
    char self[64];
    snprintf(self, sizeof self, "/proc/self/fd/%d", path_fd);
    int fd = open(self, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    return fd < 0 ? -errno : fd;
}

int module_open_in_root(const char *root, const char *path)
{
    bool is_ours = strcmp(root, "/") == 0;
    CLEANUP(closep) int root_fd = is_ours ? -1 : open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0 && !is_ours)
        return -errno;
    CLEANUP(closep) int path_fd = is_ours ? open(path, O_PATH | O_CLOEXEC) : open_below(root_fd, path, O_PATH | O_CLOEXEC);
    if (path_fd < 0)
        return path_fd;
    return reopen_regular(path_fd);
}

bool module_file_status(int fd, struct opened_file *file)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    file->size = status.st_size;
    file->modified_ns = (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec;
    file->deleted = status.st_nlink == 0;
    return true;
}

static bool build_id_agrees(int fd, const struct mapping_info *mapping)
{
    CLEANUP(elf_image_closep) struct elf_image *image = NULL;
    return elf_image_open(fd, &image) == 0 && image->build_id_size == mapping->build_id_size &&
           memcmp(image->build_id, mapping->build_id, mapping->build_id_size) == 0;
}

/*
 * Whether this is the file that was mapped. Device numbers are compared only when the inode number differs in meaning:
 * btrfs reports another device for a mapping than for a file, and overlayfs may report other inode numbers as well.
 */
static bool is_mapped_file(int fd, const struct mapping_info *mapping)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return false;
    if (mapping->inode == 0)
        return mapping->build_id_size == 0 || build_id_agrees(fd, mapping);
    if (status.st_ino == mapping->inode)
        return true;
    struct statfs system;
    return fstatfs(fd, &system) == 0 && system.f_type == OVERLAY_MAGIC;
}

static int open_checked(const char *root, const struct mapping_info *mapping)
{
    CLEANUP(closep) int fd = module_open_in_root(root, mapping->path);
    if (fd < 0)
        return -ENOENT;
    return is_mapped_file(fd, mapping) ? TAKE_FD(fd) : -ENOENT;
}

static int open_map_files(pid_t pid, const struct mapping_info *mapping)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)mapping->start,
             (unsigned long long)(mapping->start + mapping->length));
    CLEANUP(closep) int path_fd = open(path, O_PATH | O_CLOEXEC);
    if (path_fd < 0)
        return -errno;
    CLEANUP(closep) int fd = reopen_regular(path_fd);
    if (fd < 0)
        return fd;
    return is_mapped_file(fd, mapping) ? TAKE_FD(fd) : -ENOENT;
}

/* A program that deleted itself: unlike map_files, this needs no privileges. */
static int open_program(pid_t pid, const struct mapping_info *mapping)
{
    char path[48], target[4096];
    snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
    ssize_t size = readlink(path, target, sizeof target - 1);
    size_t length = strlen(mapping->path);
    if (size < (ssize_t)length || memcmp(target, mapping->path, length) != 0)
        return -ENOENT;
    target[size] = '\0';
    if (target[length] && strcmp(target + length, " (deleted)") != 0)
        return -ENOENT;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY); /* what is executed is a regular file */
    return fd >= 0 && is_mapped_file(fd, mapping) ? TAKE_FD(fd) : -ENOENT;
}

int module_open_mapping(pid_t pid, const struct mapping_info *mapping, struct opened_file *ret_file)
{
    char root[48];
    snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
    int fd = -ENOENT;
    bool is_path = mapping->path && mapping->path[0] == '/' && mapping->path[1] != '/';
    if (pid > 0 && is_path)
        fd = open_checked(root, mapping);
    if (fd < 0 && pid > 0)
        fd = open_map_files(pid, mapping);
    if (fd < 0 && pid > 0 && is_path)
        fd = open_program(pid, mapping);
    if (fd < 0 && is_path)
        fd = open_checked("/", mapping);
    if (fd < 0)
        return fd;
    struct opened_file file = {.fd = fd};
    if (!module_file_status(fd, &file)) {
        close(fd);
        return -ENOENT;
    }
    *ret_file = file;
    return 0;
}

bool module_process_differs_in_mounts(pid_t pid)
{
    char path[48];
    struct stat ours, theirs;
    snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
    if (stat("/", &ours) < 0 || stat(path, &theirs) < 0)
        return false;
    if (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino)
        return true;
    snprintf(path, sizeof path, "/proc/%d/ns/mnt", (int)pid);
    return stat("/proc/self/ns/mnt", &ours) == 0 && stat(path, &theirs) == 0 && ours.st_ino != theirs.st_ino;
}

bool module_process_identity(pid_t pid, pid_t *ret_namespace_pid, uid_t *ret_owner)
{
    char path[48], line[256];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool found = false;
    *ret_namespace_pid = pid;
    while (fgets(line, sizeof line, file)) {
        unsigned real, effective;
        if (sscanf(line, "Uid: %u %u", &real, &effective) == 2) {
            *ret_owner = effective;
            found = true;
        } else if (strncmp(line, "NSpid:", 6) == 0) { /* outermost first */
            const char *last = strrchr(line, '\t');
            if (last && atoi(last + 1) > 0)
                *ret_namespace_pid = atoi(last + 1);
        }
    }
    return found;
}
