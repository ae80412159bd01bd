/* SPDX-License-Identifier: MIT */
/* The merge knows modules from these records only: number, kind, identity, path. */
#include "module_log.h"

#include "base/array.h"
#include "base/log.h"
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void module_log_finish(struct module_log *log)
{
    free(log->announced);
    *log = (struct module_log){0};
}

static int hex_digit(char character)
{
    return character >= 'a' ? character - 'a' + 10 : character - '0';
}

static void put_module(struct recording *recording, struct module *module, unsigned flags)
{
    struct wire_module record = {
        .header = {.kind = WIRE_MODULE},
        .number = module_index(module),
        .kind = (uint8_t)module_kind_of(module),
        .flags = (uint8_t)(flags | (module_is_deleted(module) ? WIRE_MODULE_DELETED : 0)),
    };
    const char *hex = module_kind_of(module) == MODULE_KIND_FILE ? module_build_id(module) : "";
    for (; hex[0] && hex[1] && record.build_id_bytes < sizeof(record.build_id); hex += 2)
        record.build_id[record.build_id_bytes++] = (uint8_t)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
    struct stat status;
    int fd = module_file(module);
    if (fd >= 0 && fstat(fd, &status) == 0) {
        record.device = status.st_dev;
        record.inode = status.st_ino;
    }
    record.pid = module_owner(module);
    const char *path = module_path(module);
    recording_put_text(recording, &record.header, sizeof(record), path, strlen(path));
}

uint32_t module_log_number(struct module_log *log, struct recording *recording, struct module *module)
{
    uint32_t number = module_index(module);
    if (number < log->count && log->announced[number])
        return number;
    uint8_t *grown = array_reserve(log->announced, &log->capacity, (size_t)number + 1, 1);
    if (!grown)
        return number;
    log->announced = grown;
    if (number >= log->count) {
        memset(log->announced + log->count, 0, number + 1 - log->count);
        log->count = (size_t)number + 1;
    }
    log->announced[number] = 1;
    put_module(recording, module, 0);
    return number;
}

static void put_mapping(struct module_log *log, struct recording *recording, pid_t pid, const struct mapping_view *mapping,
                        int64_t time_ns)
{
    struct wire_mapping record = {
        .header = {WIRE_MAPPING, sizeof(record) / 8, module_log_number(log, recording, mapping->module)},
        .time_ns = time_ns,
        .pid = pid,
        .start = mapping->start,
        .length = mapping->length,
        .file_offset = mapping->file_offset,
    };
    recording_put(recording, SPOOL_KEEP, &record.header, &recording->counts.sideband_lost);
}

void module_log_map(struct module_log *log, struct recording *recording, struct address_map *map, pid_t pid,
                    const struct mapping_info *mapping)
{
    if (address_map_add(map, mapping) < 0 || !mapping->executable)
        return;
    struct module_place place;
    if (!address_map_find(map, mapping->start, &place))
        return;
    struct mapping_view view = {mapping->start, mapping->length, mapping->file_offset, place.module};
    if (module_kind_of(place.module) == MODULE_KIND_VDSO)
        view.file_offset = 0;
    put_mapping(log, recording, pid, &view, mapping->time_ns);
}

void module_log_map_all(struct module_log *log, struct recording *recording, const struct address_map *map, pid_t pid,
                        int64_t time_ns)
{
    struct mapping_view view;
    for (size_t i = 0; address_map_at(map, i, &view); i++)
        put_mapping(log, recording, pid, &view, time_ns);
}

/* Whether the path, as we see it, leads to the very file. */
static bool is_findable(struct module *module, const struct stat *file)
{
    struct stat status;
    return stat(module_path(module), &status) == 0 && status.st_dev == file->st_dev && status.st_ino == file->st_ino;
}

static int copy_file(int from, int directory_fd, const char *name, uint64_t size)
{
    CLEANUP(closep) int to = openat(directory_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (to < 0)
        return -errno;
    char buffer[65536];
    for (uint64_t offset = 0; offset < size;) {
        ssize_t got = pread(from, buffer, sizeof(buffer), (off_t)offset);
        if (got <= 0 || write(to, buffer, (size_t)got) != got) {
            unlinkat(directory_fd, name, 0);
            return got < 0 ? -errno : -EIO;
        }
        offset += (uint64_t)got;
    }
    return 0;
}

/* Files of a JIT belong to its process and may go with it. */
static void copy_jit(struct module *module, int directory_fd, uint64_t *left)
{
    static const char *const endings[2] = {"map", "dump"};
    int fds[2];
    module_jit_open(module, &fds[0], &fds[1]);
    for (int i = 0; i < 2; i++) {
        char name[32];
        struct stat status;
        snprintf(name, sizeof(name), "jit-%u.%s", module_index(module), endings[i]);
        if (fds[i] >= 0 && fstat(fds[i], &status) == 0 && (uint64_t)status.st_size <= *left &&
            copy_file(fds[i], directory_fd, name, (uint64_t)status.st_size) == 0)
            *left -= (uint64_t)status.st_size;
        closep(&fds[i]);
    }
}

void module_log_copy_hidden(struct recording *recording, int directory_fd, uint64_t limit_bytes)
{
    uint64_t left = limit_bytes;
    for (uint32_t i = 0; i < module_table_count(recording->modules); i++) {
        struct module *module = module_table_at(recording->modules, i);
        struct stat status;
        if (module_kind_of(module) == MODULE_KIND_JIT)
            copy_jit(module, directory_fd, &left);
        if (module_kind_of(module) != MODULE_KIND_FILE || module_file(module) < 0 ||
            fstat(module_file(module), &status) < 0 || is_findable(module, &status))
            continue;
        char name[32];
        snprintf(name, sizeof(name), "module-%u", i);
        if ((uint64_t)status.st_size > left) {
            log_info(recording->log, "%s is out of reach after the run and too big to copy: no symbols of it",
                     module_path(module));
            continue;
        }
        if (copy_file(module_file(module), directory_fd, name, (uint64_t)status.st_size) < 0)
            continue;
        left -= (uint64_t)status.st_size;
        put_module(recording, module, WIRE_MODULE_COPIED);
    }
}
