/* SPDX-License-Identifier: MIT */
/* The target made these files: only regular ones of ours with the expected names are read, and no link is followed. */
#include "session_objects.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 1 << 16 };

static int copy_bytes(int from, int to)
{
    CLEANUP(freep) char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return -ENOMEM;
    for (;;) {
        ssize_t got = read(from, piece, PIECE_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : 0;
        int r = write_all(to, piece, (size_t)got);
        if (r < 0)
            return r;
    }
}

static int open_source(int session, const char *name, uint64_t *ret_bytes)
{
    struct stat info;
    CLEANUP(closep) int from = openat(session, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (from < 0 || fstat(from, &info) < 0)
        return -errno;
    if (!S_ISREG(info.st_mode) || info.st_uid != geteuid())
        return -EINVAL;
    *ret_bytes = (uint64_t)info.st_size;
    return TAKE_FD(from);
}

static int copy_object(int session, int folder, const char *name)
{
    uint64_t bytes;
    CLEANUP(closep) int from = open_source(session, name, &bytes);
    if (from < 0)
        return from;
    CLEANUP(closep) int to = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return to < 0 ? -errno : copy_bytes(from, to);
}

static int open_folder(const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -errno;
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder < 0 ? -errno : folder;
}

static void close_directory(DIR **directory)
{
    if (*directory)
        closedir(*directory);
}

int session_objects_keep(const char *session_directory, const char *folder, unsigned *ret_count, struct error *err)
{
    *ret_count = 0;
    CLEANUP(close_directory) DIR *directory = opendir(session_directory);
    CLEANUP(closep) int target = -1;
    if (!directory)
        return error_set_errno(err, -errno, "%s: cannot look for device code", session_directory);
    for (const struct dirent *entry; (entry = readdir(directory));) {
        if (strncmp(entry->d_name, "object-", strlen("object-")) != 0)
            continue;
        if (target < 0)
            target = open_folder(folder);
        int r = target < 0 ? target : copy_object(dirfd(directory), target, entry->d_name);
        if (r < 0)
            return error_set_errno(err, r, "%s/%s: cannot keep device code", folder, entry->d_name);
        ++*ret_count;
    }
    return 0;
}

int session_terminal_keep(const char *session_directory, const char *path, uint64_t *ret_bytes, struct error *err)
{
    uint64_t bytes = 0;
    *ret_bytes = 0;
    CLEANUP(closep) int session = open(session_directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    CLEANUP(closep) int from = session < 0 ? -errno : open_source(session, "terminal", &bytes);
    if (from == -ENOENT || (from >= 0 && bytes == 0))
        return 0;
    CLEANUP(closep) int to = from < 0 ? -1 : open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = from < 0 ? from : to < 0 ? -errno : copy_bytes(from, to);
    if (r < 0)
        return error_set_errno(err, r, "%s: cannot keep what the program wrote to its terminal", path);
    *ret_bytes = bytes;
    return 0;
}
