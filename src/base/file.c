/* SPDX-License-Identifier: MIT */
/* Files: whole reads, read-only maps, full reads and writes on descriptors, recursive removal. */
#include "base/file.h"

#include "base/array.h"
#include "base/error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define DIRECTORY_DEPTH_MAXIMUM 128

bool descriptor_limit_raise(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == limit.rlim_max)
        return false;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int write_all(int fd, const void *data, size_t size)
{
    const char *bytes = data;
    while (size) {
        ssize_t written = write(fd, bytes, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        bytes += written;
        size -= (size_t)written;
    }
    return 0;
}

int pread_all(int fd, void *data, size_t size, uint64_t offset)
{
    char *bytes = data;
    while (size) {
        if (offset > INT64_MAX)
            return -EINVAL;
        ssize_t count = pread(fd, bytes, size, (off_t)offset);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return count < 0 ? -errno : -ENODATA;
        bytes += count;
        size -= (size_t)count;
        offset += (uint64_t)count;
    }
    return 0;
}

/* Reads on until the end of the file; /proc files have no size to go by. */
static int read_rest(int fd, size_t maximum, char **data, size_t *capacity, size_t *ret_size)
{
    size_t size = 0;
    for (;;) {
        if (*capacity - size < 2) {
            char *grown = array_reserve(*data, capacity, *capacity + 1, 1);
            if (!grown)
                return -ENOMEM;
            *data = grown;
        }
        ssize_t count = read(fd, *data + size, *capacity - size - 1);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        if (!count)
            break;
        size += (size_t)count;
        if (size > maximum)
            return -EFBIG;
    }
    (*data)[size] = '\0';
    *ret_size = size;
    return 0;
}

int file_read_fd(int fd, const char *name, size_t maximum, char **ret_data, size_t *ret_size, struct error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return error_set_errno(err, -errno, "cannot read %s", name);
    if (S_ISDIR(status.st_mode))
        return error_set_errno(err, -EISDIR, "cannot read %s", name);
    size_t capacity = 0, expected = 4096;
    if (S_ISREG(status.st_mode) && status.st_size > 0) {
        if ((uint64_t)status.st_size > maximum)
            return error_set(err, -EFBIG, "cannot read %s: it holds %lld bytes and at most %zu are allowed", name,
                             (long long)status.st_size, maximum);
        expected = (size_t)status.st_size + 2; /* one more read finds the end without growing */
    }
    CLEANUP(freep) char *data = array_resize_exact(NULL, expected, 1);
    if (!data)
        return error_set(err, -ENOMEM, "cannot read %s: out of memory", name);
    capacity = expected;
    size_t size = 0;
    int result = read_rest(fd, maximum, &data, &capacity, &size);
    if (result == -EFBIG)
        return error_set(err, result, "cannot read %s: it holds more than the %zu bytes allowed", name, maximum);
    if (result < 0)
        return error_set_errno(err, result, "cannot read %s", name);
    *ret_data = TAKE_PTR(data);
    *ret_size = size;
    return 0;
}

int file_read(const char *path, size_t maximum, char **ret_data, size_t *ret_size, struct error *err)
{
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return error_set_errno(err, -errno, "cannot open %s", path);
    return file_read_fd(fd, path, maximum, ret_data, ret_size, err);
}

int file_map_fd(int fd, const char *name, struct file_map *ret_map, struct error *err)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return error_set_errno(err, -errno, "cannot map %s", name);
    if (S_ISDIR(status.st_mode))
        return error_set_errno(err, -EISDIR, "cannot map %s", name);
    if (!S_ISREG(status.st_mode))
        return error_set(err, -EINVAL, "cannot map %s: it is not a regular file", name);
    struct file_map map = {.size = (size_t)status.st_size};
    if (map.size) {
        void *memory = mmap(NULL, map.size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (memory == MAP_FAILED)
            return error_set_errno(err, -errno, "cannot map %s", name);
        map.data = memory;
    }
    *ret_map = map;
    return 0;
}

int file_map_open(const char *path, struct file_map *ret_map, struct error *err)
{
    /* O_NONBLOCK: opening a FIFO by mistake must fail, not hang. */
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return error_set_errno(err, -errno, "cannot open %s", path);
    return file_map_fd(fd, path, ret_map, err);
}

void file_map_close(struct file_map *map)
{
    if (map->data)
        munmap((void *)(uintptr_t)map->data, map->size);
    *map = (struct file_map){0};
}

static void closedirp(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

static int remove_entries(int parent, const char *name, unsigned depth)
{
    if (depth > DIRECTORY_DEPTH_MAXIMUM)
        return -ELOOP;
    CLEANUP(closep) int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    CLEANUP(closedirp) DIR *directory = fdopendir(fd);
    if (!directory)
        return -errno;
    int here = TAKE_FD(fd); /* closed with the directory */
    for (;;) {
        errno = 0;
        const struct dirent *entry = readdir(directory);
        if (!entry)
            return errno ? -errno : 0;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        if (unlinkat(here, entry->d_name, 0) == 0 || errno == ENOENT)
            continue;
        if (errno != EISDIR && errno != EPERM)
            return -errno;
        int result = remove_entries(here, entry->d_name, depth + 1);
        if (result < 0)
            return result;
        if (unlinkat(here, entry->d_name, AT_REMOVEDIR) < 0 && errno != ENOENT)
            return -errno;
    }
}

int directory_remove(const char *path, struct error *err)
{
    int result = remove_entries(AT_FDCWD, path, 0);
    if (result == 0 && rmdir(path) < 0)
        result = -errno;
    return result < 0 ? error_set_errno(err, result, "cannot remove %s", path) : 0;
}
