/* SPDX-License-Identifier: MIT */
/* Each refusal says which of the usual mistakes it was. */
#include "attach.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A number of /proc/PID/status; -1 when it is not there. */
static long status_number(pid_t pid, const char *key)
{
    char path[64], line[256];
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    size_t length = strlen(key);
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, key, length) == 0 && line[length] == ':')
            return strtol(line + length + 1, NULL, 10);
    return -1;
}

static int read_name(pid_t pid, char *ret_name, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
    CLEANUP(fclosep) FILE *file = fopen(path, "re");
    if (!file || !fgets(ret_name, (int)size, file))
        return -ESRCH;
    ret_name[strcspn(ret_name, "\n")] = 0;
    return 0;
}

int attach_check(pid_t pid, char *ret_name, size_t size, struct error *err)
{
    char path[64], link[8];
    if (pid <= 0 || read_name(pid, ret_name, size) < 0)
        return error_set(err, -ESRCH, "there is no process %d", (int)pid);
    if (pid == getpid())
        return error_set(err, -EINVAL, "process %d is this profiler itself", (int)pid);
    long leader = status_number(pid, "Tgid");
    if (leader > 0 && leader != pid)
        return error_set(err, -EINVAL, "%d is a thread of process %ld: attach to that", (int)pid, leader);
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    errno = 0;
    if (readlink(path, link, sizeof(link)) < 0 && errno == ENOENT)
        return error_set(err, -EINVAL, "process %d (%s) is a kernel thread or has ended: nothing to sample", (int)pid, ret_name);
    if (errno == EACCES && geteuid() == 0)
        return error_set(err, -EACCES, "process %d (%s) may not be looked at: this user namespace or container has no right to (CAP_SYS_PTRACE)", (int)pid, ret_name);
    if (errno == EACCES)
        return error_set(err, -EACCES, "process %d (%s) belongs to somebody else: attach as its user or as root", (int)pid, ret_name);
    return 0;
}

int attach_process_fd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0);
}
