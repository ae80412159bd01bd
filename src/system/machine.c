/* SPDX-License-Identifier: MIT */
/* All that is known of this machine at one time. */
#include "machine.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>

static void read_session_place(const char *parent, struct session_place *place)
{
    const char *path = parent ? parent : getenv("TMPDIR");
    if (!path || !*path)
        path = "/tmp";
    snprintf(place->path, sizeof place->path, "%s", path);
    struct statfs file_system;
    place->exists = statfs(path, &file_system) == 0;
    if (!place->exists)
        return;
    place->writable = access(path, W_OK | X_OK) == 0;
    place->in_memory = file_system.f_type == TMPFS_MAGIC || file_system.f_type == RAMFS_MAGIC;
    place->free_bytes = (uint64_t)file_system.f_bavail * (uint64_t)file_system.f_bsize;
}

static void read_time_namespace(const char *root, struct machine *machine)
{
    char text[256];
    if (!proc_read_text(root, "/proc/self/timens_offsets", text, sizeof text))
        return;
    size_t used = 0;
    for (const char *from = text; *from && used < sizeof machine->timens_offsets - 1; from++) {
        bool blank = *from == ' ' || *from == '\n' || *from == '\t';
        if (blank && (!used || machine->timens_offsets[used - 1] == ' '))
            continue;
        machine->timens_offsets[used++] = blank ? ' ' : *from;
        machine->time_namespace |= *from >= '1' && *from <= '9';
    }
    machine->timens_offsets[used] = '\0';
}

static const uint8_t *find_build_id(const uint8_t *notes, size_t size, size_t *ret_size)
{
    size_t offset = 0;
    while (offset + sizeof(ElfW(Nhdr)) <= size) {
        ElfW(Nhdr) header;
        memcpy(&header, notes + offset, sizeof header);
        size_t name = offset + sizeof header, value = name + ((header.n_namesz + 3U) & ~3U);
        size_t next = value + ((header.n_descsz + 3U) & ~3U);
        if (next > size || next <= offset)
            return NULL;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0) {
            *ret_size = header.n_descsz;
            return notes + value;
        }
        offset = next;
    }
    return NULL;
}

static int visit_library(struct dl_phdr_info *info, size_t info_size, void *context)
{
    (void)info_size;
    struct machine *machine = context;
    const char *slash = strrchr(info->dlpi_name, '/');
    if (!slash || strncmp(slash, "/libc.", 6) != 0)
        return 0;
    snprintf(machine->libc_path, sizeof machine->libc_path, "%s", info->dlpi_name);
    for (ElfW(Half) i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_NOTE)
            continue;
        size_t size = 0;
        const uint8_t *notes = (const uint8_t *)(info->dlpi_addr + header->p_vaddr);
        const uint8_t *id = find_build_id(notes, header->p_memsz, &size);
        for (size_t byte = 0; id && byte < size && byte < 32; byte++)
            snprintf(machine->libc_build_id + 2 * byte, 3, "%02x", id[byte]);
    }
    return 1;
}

static void read_debug_info(const char *root, struct machine *machine)
{
    dl_iterate_phdr(visit_library, machine);
    const char *id = machine->libc_build_id, *urls = getenv("DEBUGINFOD_URLS");
    machine->debuginfod_configured = urls && *urls;
    if (strlen(id) > 2) {
        char path[160];
        snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
        machine->libc_debug_info = proc_exists(root, path);
    }
}

/* cgroup v2 "cpu.max": "QUOTA PERIOD" or "max PERIOD"; v1 has a file for each. */
static double read_cpu_quota(const char *root)
{
    char text[128];
    double quota, period;
    if (proc_read_text(root, "/sys/fs/cgroup/cpu.max", text, sizeof text))
        return sscanf(text, "%lf %lf", &quota, &period) == 2 && period > 0 ? quota / period : 0;
    struct setting old_quota = proc_read_number(root, "/sys/fs/cgroup/cpu/cpu.cfs_quota_us");
    struct setting old_period = proc_read_number(root, "/sys/fs/cgroup/cpu/cpu.cfs_period_us");
    if (old_quota.known && old_period.known && old_quota.value > 0 && old_period.value > 0)
        return (double)old_quota.value / (double)old_period.value;
    return 0;
}

static bool proc_hides_processes(const char *root)
{
    char text[16384];
    if (!proc_read_text(root, "/proc/self/mounts", text, sizeof text))
        return false;
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char device[256], place[256], type[64], options[1024];
        if (sscanf(line, "%255s %255s %63s %1023s", device, place, type, options) == 4 && strcmp(place, "/proc") == 0 &&
            strstr(options, "hidepid="))
            return !strstr(options, "hidepid=0") && !strstr(options, "hidepid=off");
    }
    return false;
}

bool machine_has_library(const struct machine *machine, const char *library)
{
    static const char *const places[] = {"/../lib", "/../lib/hprofiler", ""};
    char path[PATH_MAX + 128];
    const char *slash = strrchr(machine->program, '/');
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s%s/%s", (int)(slash - machine->program), machine->program, places[i], library);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

static void read_program(struct machine *machine)
{
    ssize_t length = readlink("/proc/self/exe", machine->program, sizeof machine->program - 1);
    machine->program[length > 0 ? length : 0] = '\0';
    machine->runtime_library = machine_has_library(machine, "libhprofiler_runtime.so");
}

void machine_read(const char *root, const char *session_parent, struct machine *ret_machine)
{
    struct rlimit limit;
    memset(ret_machine, 0, sizeof *ret_machine);
    host_read(root, &ret_machine->host);
    topology_read(root, &ret_machine->topology);
    privileges_read(root, &ret_machine->privileges);
    kernel_settings_read(root, &ret_machine->settings);
    sampling_probe_run(&ret_machine->probe);
    read_session_place(session_parent, &ret_machine->session);
    read_time_namespace(root, ret_machine);
    read_debug_info(root, ret_machine);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        ret_machine->open_files = (struct setting){true, limit.rlim_cur > LONG_MAX ? LONG_MAX : (long)limit.rlim_cur};
    ret_machine->cpu_quota = read_cpu_quota(root);
    ret_machine->hidden_processes = proc_hides_processes(root);
    read_program(ret_machine);
}
