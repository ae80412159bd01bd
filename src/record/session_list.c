/* SPDX-License-Identifier: MIT */
/* What interrupted runs left: session directories found again, and their removal. */
#include "record.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "target_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

static bool process_is_live(int directory_fd, const char *file)
{
    void *map;
    size_t size;
    if (target_file_map(directory_fd, file, sizeof(struct wire_process), false, &map, &size) < 0)
        return false;
    const struct wire_process *process = map;
    bool live = false;
    if (target_process_valid(process, size) && !process->ended) {
        int32_t pid = process->outer_pid ? process->outer_pid : target_outer_pid(process);
        live = pid > 0 && process_start_ticks(pid) != 0 && kill(pid, 0) == 0;
    }
    munmap(map, size);
    return live;
}

/* Sums the sizes and looks for processes that still write. */
static void directory_survey(int directory_fd, struct session_info *info)
{
    int copy = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    if (!directory) {
        closep(&copy);
        return;
    }
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat file;
        if (fstatat(directory_fd, entry->d_name, &file, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(file.st_mode))
            info->size_bytes += (uint64_t)file.st_blocks * 512;
        if (!info->live && target_name_parse(entry->d_name).kind == TARGET_FILE_PROCESS)
            info->live = process_is_live(directory_fd, entry->d_name);
    }
    closedir(directory);
}

/* Fills *info if the directory is a session of ours to read. */
static bool session_read(const char *path, struct session_info *info)
{
    CLEANUP(closep) int directory_fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat directory;
    void *map;
    size_t size;
    if (directory_fd < 0 || fstat(directory_fd, &directory) < 0 || directory.st_uid != geteuid())
        return false;
    if (target_file_map(directory_fd, "session", sizeof(struct wire_session), false, &map, &size) < 0)
        return false;
    const struct wire_session *session = map;
    bool valid = session->magic == WIRE_SESSION_MAGIC && session->byte_order == WIRE_BYTE_ORDER && session->major == WIRE_MAJOR;
    if (valid) {
        *info = (struct session_info){.start_realtime_ns = session->start_realtime_ns};
        snprintf(info->path, sizeof info->path, "%s", path);
        snprintf(info->command, sizeof info->command, "%.*s", (int)sizeof session->command - 1, session->command);
        info->live = session->recorder_pid > 0 && session->recorder_start_ticks != 0 &&
                     process_start_ticks(session->recorder_pid) == session->recorder_start_ticks;
        directory_survey(directory_fd, info);
    }
    munmap(map, size);
    return valid;
}

struct listing {
    struct session_info *sessions;
    size_t count, capacity;
};

static int parent_list(const char *parent, struct listing *listing)
{
    DIR *directory = opendir(parent);
    if (!directory)
        return errno == ENOENT ? 0 : -errno;
    int code = 0;
    for (struct dirent *entry; code == 0 && (entry = readdir(directory));) {
        char path[4096];
        if (strncmp(entry->d_name, "hprofiler-", 10) != 0 ||
            (size_t)snprintf(path, sizeof path, "%s/%s", parent, entry->d_name) >= sizeof path)
            continue;
        struct session_info info;
        if (!session_read(path, &info))
            continue;
        struct session_info *sessions =
            array_reserve(listing->sessions, &listing->capacity, listing->count + 1, sizeof *sessions);
        if (!sessions) {
            code = -ENOMEM;
            break;
        }
        listing->sessions = sessions;
        sessions[listing->count++] = info;
    }
    closedir(directory);
    return code;
}

static int newest_first(const void *left, const void *right)
{
    const struct session_info *a = left, *b = right;
    return a->start_realtime_ns < b->start_realtime_ns ? 1 : a->start_realtime_ns > b->start_realtime_ns ? -1 : 0;
}

int session_list(const char *session_parent, struct session_info **ret_sessions, size_t *ret_count, struct error *err)
{
    struct listing listing = {0};
    const char *temporary = getenv("TMPDIR");
    int code;
    if (session_parent) {
        code = parent_list(session_parent, &listing);
    } else {
        code = temporary && *temporary ? parent_list(temporary, &listing) : 0;
        if (code == 0 && (!temporary || strcmp(temporary, "/tmp") != 0))
            code = parent_list("/tmp", &listing);
    }
    if (code) {
        free(listing.sessions);
        return error_set_errno(err, code, "%s: cannot be searched for sessions", session_parent ? session_parent : "/tmp");
    }
    if (listing.count)
        qsort(listing.sessions, listing.count, sizeof *listing.sessions, newest_first);
    *ret_sessions = listing.sessions;
    *ret_count = listing.count;
    return 0;
}

int session_remove(const char *session_directory, struct error *err)
{
    struct session_info info;
    if (!session_read(session_directory, &info))
        return error_set(err, -EINVAL, "%s: not a session directory: not removed", session_directory);
    return directory_remove(session_directory, err);
}
