/* SPDX-License-Identifier: MIT */
/* Asks a foreign library for its version, in a child process with a time limit. */
#include "library_probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROBE_SECONDS 5

/* "Open MPI v4.1.4, package: ..." or "MPICH Version:\t4.0.2\nMPICH Release date: ..." in few words. */
static void mpi_version_text(const char *answer, char *text, size_t size)
{
    char name[128] = "", number[128] = "";
    if (sscanf(answer, "%127s Version: %127[^,\n]", name, number) == 2)
        snprintf(text, size, "%s %s", name, number);
    else
        snprintf(text, size, "%.*s", (int)strcspn(answer, "\n,"), answer);
}

static void version_text(void *function, enum version_call call, char *text, size_t size)
{
    int number = 0;
    if (call == VERSION_MPI_TEXT) {
        char answer[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of both families is no longer */
        int length = 0;
        ((int (*)(char *, int *))function)(answer, &length);
        mpi_version_text(answer, text, size);
        return;
    }
    if (((int (*)(int *))function)(&number) != 0 || number <= 0)
        return;
    if (call == VERSION_CUDA)
        snprintf(text, size, "%d.%d", number / 1000, number % 1000 / 10);
    else if (call == VERSION_NCCL)
        snprintf(text, size, "%d.%d.%d", number / 10000, number % 10000 / 100, number % 100);
    else
        snprintf(text, size, "%d.%d.%d", number / 10000000, number / 100000 % 100, number % 100000);
}

/* In the child: writes "path\nversion" and ends without running anybody's exit handlers. */
static void probe_child(int output, const char *library, const char *symbol, enum version_call call)
{
    char version[256] = "", line[PATH_MAX + 512];
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) { /* libraries that talk when they are loaded */
        dup2(nowhere, 0);
        dup2(nowhere, 1);
        dup2(nowhere, 2);
    }
    alarm(PROBE_SECONDS);
    void *handle = dlopen(library, RTLD_LAZY | RTLD_LOCAL);
    if (!handle)
        _exit(1);
    struct link_map *map = NULL;
    dlinfo(handle, RTLD_DI_LINKMAP, &map);
    void *function = call != VERSION_NONE ? dlsym(handle, symbol) : NULL;
    if (function)
        version_text(function, call, version, sizeof version);
    int length = snprintf(line, sizeof line, "%s\n%s", map && map->l_name ? map->l_name : "", version);
    bool written = length > 0 && write(output, line, (size_t)length) == length;
    _exit(written ? 0 : 1);
}

static size_t read_answer(int fd, char *text, size_t size)
{
    size_t used = 0;
    while (used < size - 1) {
        ssize_t got = read(fd, text + used, size - 1 - used);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return used;
}

bool library_probe(const char *library, const char *symbol, enum version_call call, char *ret_path, size_t path_size,
                   char *ret_version, size_t version_size)
{
    int ends[2], status = -1;
    char answer[PATH_MAX + 512];
    ret_path[0] = ret_version[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        probe_child(ends[1], library, symbol, call);
    close(ends[1]);
    size_t length = child > 0 ? read_answer(ends[0], answer, sizeof answer) : 0;
    close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!length || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return false;
    char *newline = strchr(answer, '\n');
    if (newline) {
        *newline = '\0';
        snprintf(ret_version, version_size, "%s", newline + 1);
    }
    snprintf(ret_path, path_size, "%s", answer);
    return true;
}

bool program_find(const char *name, char *ret_path, size_t size)
{
    const char *path = getenv("PATH");
    for (const char *part = path; part && *part;) {
        size_t length = strcspn(part, ":");
        struct stat info;
        int written = snprintf(ret_path, size, "%.*s/%s", length ? (int)length : 1, length ? part : ".", name);
        if (written > 0 && (size_t)written < size && access(ret_path, X_OK) == 0 && stat(ret_path, &info) == 0 &&
            S_ISREG(info.st_mode))
            return true;
        part += length + (part[length] == ':');
    }
    ret_path[0] = '\0';
    return false;
}
