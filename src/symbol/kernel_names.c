/* SPDX-License-Identifier: MIT */
/*
 * The cache is a file like /proc/kallsyms with the functions between _stext and _etext only: those stay as they are until
 * the next boot, whose id is in the file's name. Modules and BPF programs come and go: an address of theirs makes us read
 * the kernel's own list. The file holds kernel addresses, so it is the user's alone (0600), and only such a one is read.
 */
#include "kernel_names.h"

#include "base/file.h"
#include "kallsyms.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_PREFIX "kallsyms-"

struct kernel_names {
    struct kallsyms *core, *all; /* core: from the cache */
    bool core_tried;
    int all_problem;             /* 1 = not tried */
};

struct kernel_names *kernel_names_create(void)
{
    struct kernel_names *names = calloc(1, sizeof *names);
    if (names)
        names->all_problem = 1;
    return names;
}

void kernel_names_destroy(struct kernel_names *names)
{
    if (!names)
        return;
    kallsyms_destroy(names->core);
    kallsyms_destroy(names->all);
    free(names);
}

/* Makes the folder if it may; false where it is not the user's own, as under sudo with the user's HOME. */
static bool own_folder(const char *path)
{
    struct stat info;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return false;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 022);
}

/* Where the cache is, made if need be; false: there can be none. */
static bool cache_folder(char *path, size_t size)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char parent[PATH_MAX];
    int length;
    if (cache && cache[0] == '/')
        length = snprintf(parent, sizeof parent, "%s", cache);
    else if (home && home[0] == '/')
        length = snprintf(parent, sizeof parent, "%s/.cache", home);
    else
        return false;
    if (length < 0 || (size_t)length >= sizeof parent || !own_folder(parent))
        return false;
    length = snprintf(path, size, "%s/hprofiler", parent);
    return length > 0 && (size_t)length < size && own_folder(path);
}

/* "kallsyms-<boot id>" */
static bool cache_name(char *name, size_t size)
{
    CLEANUP(freep) char *boot = NULL;
    size_t length;
    if (file_read("/proc/sys/kernel/random/boot_id", 64, &boot, &length, NULL) < 0 || length < 36)
        return false;
    boot[36] = '\0';
    return strspn(boot, "0123456789abcdef-") == 36 && snprintf(name, size, NAME_PREFIX "%s", boot) < (int)size;
}

static void load_core(struct kernel_names *names)
{
    char folder[PATH_MAX], name[64], path[PATH_MAX + 64];
    struct stat info;
    names->core_tried = true;
    if (!cache_name(name, sizeof name) || !cache_folder(folder, sizeof folder))
        return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() && !(info.st_mode & 077))
        kallsyms_load(path, &names->core);
    if (names->core && !kallsyms_has_core(names->core)) { /* its end, and so the upper bound, is missing: damaged */
        kallsyms_destroy(names->core);
        names->core = NULL;
    }
}

/* Lists of earlier boots are of no use to anybody. */
static void remove_others(const char *folder, const char *keep)
{
    DIR *directory = opendir(folder);
    struct dirent *entry;
    while (directory && (entry = readdir(directory)))
        if (strncmp(entry->d_name, NAME_PREFIX, strlen(NAME_PREFIX)) == 0 && strcmp(entry->d_name, keep) != 0)
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}

/* A cache that cannot be written is none: nothing is said. */
static void save_core(const struct kallsyms *all)
{
    char folder[PATH_MAX], name[64], path[PATH_MAX + 64], temporary[PATH_MAX + 80];
    if (!cache_name(name, sizeof name) || !cache_folder(folder, sizeof folder))
        return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(temporary, sizeof temporary, "%s/.%d", folder, (int)getpid());
    CLEANUP(closep) int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    struct file_writer *writer;
    if (fd < 0)
        return;
    bool written = file_writer_create_fd(fd, temporary, &writer, NULL) == 0;
    if (written) {
        kallsyms_write_core(all, writer);
        written = file_writer_finish(writer, NULL) == 0;
    }
    if (!written || rename(temporary, path) < 0) {
        unlink(temporary);
        return;
    }
    remove_others(folder, name);
}

static int load_all(struct kernel_names *names)
{
    if (names->all_problem != 1)
        return names->all_problem;
    names->all_problem = kallsyms_load(NULL, &names->all);
    if (names->all_problem == 0 && !names->core)
        save_core(names->all);
    return names->all_problem;
}

const char *kernel_names_find(struct kernel_names *names, uint64_t address, const char **ret_module)
{
    if (!names->core_tried)
        load_core(names);
    if (names->core && kallsyms_in_core(names->core, address))
        return kallsyms_find(names->core, address, ret_module);
    return load_all(names) == 0 ? kallsyms_find(names->all, address, ret_module) : NULL;
}

int kernel_names_problem(struct kernel_names *names)
{
    if (!names->core_tried)
        load_core(names);
    return names->core ? 0 : load_all(names);
}
