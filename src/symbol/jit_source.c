/* SPDX-License-Identifier: MIT */
/* Opens a process' perf-PID.map and jitdump: regular files of the process' own user, never through a link. */
#include "jit_source.h"

#include "base/clock.h"
#include "base/log.h"
#include "jit_table.h"
#include "module_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct jit_source {
    struct jit_table *map, *dump; /* NULL: none */
    int64_t monotonic_ahead_ns;   /* jitdump's clock minus the recording's */
    const char *problem;
};

void jit_source_close(struct jit_source *source)
{
    if (!source)
        return;
    jit_table_destroy(source->map);
    jit_table_destroy(source->dump);
    free(source);
}

/* Anybody may put files into /tmp: only the process' own user is believed. */
static bool is_trusted(const struct module *module, int fd, uint64_t *ret_size)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return false;
    *ret_size = (uint64_t)status.st_size;
    return status.st_uid == (module->owner_known ? module->owner : geteuid());
}

/* Numbers of processes come again: a map that was last written before this one began is an earlier one's. */
static bool is_from_before(const struct module *module, int fd)
{
    const int64_t apart_ns = 1000000000; /* that the clock of files and ours may be */
    struct stat status;
    if (module->started_ns == INT64_MIN || fstat(fd, &status) < 0)
        return false;
    return (int64_t)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec < module->started_ns - apart_ns;
}

static int open_in_temporary(const struct module *module, pid_t pid)
{
    char name[64], path[128];
    const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    snprintf(name, sizeof name, "perf-%d.map", (int)pid);
    if (module->temporary_directory >= 0)
        return openat(module->temporary_directory, name, flags);
    snprintf(path, sizeof path, "/proc/%d/root/tmp/%s", (int)module->pid, name);
    int fd = open(path, flags);
    if (fd >= 0 || module_process_differs_in_mounts(module->pid))
        return fd;
    snprintf(path, sizeof path, "/tmp/%s", name);
    return open(path, flags);
}

/* The checked perf-PID.map; -1 = none. */
static int open_map(const struct module *module, uint64_t *ret_size)
{
    CLEANUP(closep) int fd = module->map_fd >= 0 ? fcntl(module->map_fd, F_DUPFD_CLOEXEC, 3)
                                                 : open_in_temporary(module, module->namespace_pid);
    return fd >= 0 && is_trusted(module, fd, ret_size) && !is_from_before(module, fd) ? TAKE_FD(fd) : -1;
}

void module_jit_open(const struct module *module, int *ret_map, int *ret_dump)
{
    uint64_t size;
    *ret_map = *ret_dump = -1;
    if (module->kind != MODULE_KIND_JIT)
        return;
    *ret_map = open_map(module, &size);
    if (module->dump_fd >= 0 && is_trusted(module, module->dump_fd, &size))
        *ret_dump = fcntl(module->dump_fd, F_DUPFD_CLOEXEC, 3);
}

void module_jit_adopt(struct module *module, int map, int dump)
{
    closep(&module->map_fd);
    closep(&module->dump_fd);
    module->map_fd = map;
    module->dump_fd = dump;
    module->owner_known = false; /* copies are ours, and of now */
    module->started_ns = INT64_MIN;
}

static struct jit_table *load_map(const struct module *module)
{
    uint64_t size;
    CLEANUP(closep) int fd = open_map(module, &size);
    if (fd < 0)
        return NULL;
    struct jit_reader reader = jit_reader_of_file(fd, size);
    CLEANUP(jit_table_destroyp) struct jit_table *table = NULL;
    if (jit_table_create(&table) < 0 || perf_map_read(&reader, table) < 0)
        return NULL;
    return TAKE_PTR(table);
}

static struct jit_table *load_dump(const struct module *module)
{
    uint64_t size;
    if (module->dump_fd < 0 || !is_trusted(module, module->dump_fd, &size))
        return NULL;
    struct jit_reader reader = jit_reader_of_file(module->dump_fd, size);
    CLEANUP(jit_table_destroyp) struct jit_table *table = NULL;
    if (jit_table_create(&table) < 0 || jitdump_read(&reader, table) < 0)
        return NULL;
    return TAKE_PTR(table);
}

int jit_source_open(struct module *module, const struct log *log, struct jit_source **ret_source)
{
    struct jit_source *source = calloc(1, sizeof *source);
    if (!source)
        return -ENOMEM;
    source->map = load_map(module);
    source->dump = load_dump(module);
    source->monotonic_ahead_ns = clock_monotonic_ns() - clock_raw_ns();
    if ((source->map && source->map->truncated) || (source->dump && source->dump->truncated))
        log_warning(log, "the JIT's symbol file of process %d is cut off or too large: some functions stay unnamed",
                    (int)module->pid);
    if (!source->map && !source->dump)
        source->problem = "code made at run time, and its compiler left no perf-PID.map or jitdump";
    *ret_source = source;
    return 0;
}

bool jit_source_find(const struct jit_source *source, uint64_t address, int64_t time_ns, struct jit_match *ret_match)
{
    int64_t time = time_ns ? time_ns + source->monotonic_ahead_ns : INT64_MAX;
    const struct jit_table *table = source->dump;
    const struct jit_entry *entry = table ? jit_table_find(table, address, time) : NULL;
    if (!entry) {
        table = source->map;
        entry = table ? jit_table_find(table, address, time) : NULL;
    }
    if (!entry)
        return false;
    const struct jit_line *line = jit_line_find(table, entry, address);
    *ret_match = (struct jit_match){.name = table->text + entry->name,
                                    .file = line ? table->text + line->file : NULL,
                                    .line = line ? line->line : 0};
    return true;
}

const char *jit_source_problem(const struct jit_source *source)
{
    return source->problem;
}
