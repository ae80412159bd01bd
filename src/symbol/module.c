/* SPDX-License-Identifier: MIT */
/* The module table: each distinct file once, for all processes; its ELF headers and unwind rows parsed on first use. */
#include "module.h"

#include "base/array.h"
#include "base/file.h"
#include "base/map.h"
#include "base/process.h"
#include "cfi_index.h"
#include "module_open.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>

struct module_table {
    pthread_mutex_t lock; /* guards all below */
    struct module **modules;
    size_t count, capacity;
    struct map by_key; /* hash of identity -> newest index with it */
    struct module *kernel, *vdso;
    size_t open_files, open_files_maximum;
};

static void module_destroy(struct module *module)
{
    cfi_index_destroy(module->cfi);
    elf_image_close(module->elf);
    if (module->fd >= 0)
        close(module->fd);
    if (module->dump_fd >= 0)
        close(module->dump_fd);
    if (module->map_fd >= 0)
        close(module->map_fd);
    if (module->temporary_directory >= 0)
        close(module->temporary_directory);
    pthread_mutex_destroy(&module->lock);
    free(module->roots.ranges);
    free(module->image);
    free(module->dump_path);
    free(module->path);
    free(module);
}
DEFINE_CLEANUP(struct module *, module_destroy)

static struct module *module_create(struct module_table *table, enum module_kind kind, const char *path, pid_t pid)
{
    struct module *module = calloc(1, sizeof *module);
    if (!module)
        return NULL;
    module->table = table;
    module->kind = kind;
    module->pid = pid;
    module->started_ns = INT64_MIN;
    module->fd = module->dump_fd = module->map_fd = module->temporary_directory = -1;
    pthread_mutex_init(&module->lock, NULL);
    module->path = strdup(path ? path : "");
    if (!module->path) {
        module_destroy(module);
        return NULL;
    }
    return module;
}

static int table_reserve(struct module_table *table)
{
    struct module **moved = array_reserve(table->modules, &table->capacity, table->count + 1, sizeof(*moved));
    if (!moved)
        return -ENOMEM;
    table->modules = moved;
    return 0;
}

/* Both take the module over on success. One without a key is found by its table's own pointer. */
static int table_append(struct module_table *table, struct module *module)
{
    int rc = table_reserve(table);
    if (rc < 0)
        return rc;
    module->index = (uint32_t)table->count;
    table->modules[table->count++] = module;
    return 0;
}

static int table_add(struct module_table *table, uint64_t key, struct module *module)
{
    int rc = table_reserve(table); /* first: a key must never lead to a place that stayed empty */
    if (rc == 0)
        rc = map_set(&table->by_key, key, table->count);
    return rc == 0 ? table_append(table, module) : rc;
}

int module_table_create(struct module_table **ret_table)
{
    CLEANUP(module_table_destroyp) struct module_table *table = calloc(1, sizeof *table);
    if (!table)
        return -ENOMEM;
    pthread_mutex_init(&table->lock, NULL);
    map_init(&table->by_key);
    /* A module keeps its file open, and a build runs more programs than the usual soft limit allows descriptors. They are a
     * shared good of our process: at most half of them; modules beyond are opened again by name. */
    struct rlimit limit;
    descriptor_limit_raise();
    table->open_files_maximum = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY
                                    ? (size_t)limit.rlim_cur / 2
                                    : 4096;
    *ret_table = TAKE_PTR(table);
    return 0;
}

void module_table_destroy(struct module_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++)
        module_destroy(table->modules[i]);
    free(table->modules);
    map_finish(&table->by_key);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

static uint64_t identity_hash(enum module_kind kind, const struct module_identity *identity, const char *path, pid_t pid)
{
    uint64_t hash = hash_u64((uint64_t)kind << 32 | (uint32_t)pid);
    if (identity->inode)
        return hash_u64(hash ^ hash_u64(identity->device) ^ hash_u64(identity->inode * 31 + identity->generation));
    if (identity->build_id_size)
        hash ^= hash_bytes(identity->build_id, identity->build_id_size);
    return hash_u64(hash ^ hash_bytes(path, strlen(path)));
}

static bool identity_same(const struct module_identity *left, const struct module_identity *right)
{
    return left->device == right->device && left->inode == right->inode && left->generation == right->generation &&
           left->build_id_size == right->build_id_size &&
           memcmp(left->build_id, right->build_id, left->build_id_size) == 0;
}

/* A file that was rewritten in place keeps its identity and holds other code. */
static bool file_unchanged(const struct module *module)
{
    struct opened_file now = {.fd = -1};
    return module->fd < 0 || !module_file_status(module->fd, &now) ||
           (now.size == module->file_size && now.modified_ns == module->modified_ns);
}

static struct module *table_find(struct module_table *table, uint64_t key, enum module_kind kind,
                                 const struct module_identity *identity, const char *path, pid_t pid)
{
    uint64_t index;
    if (!map_get(&table->by_key, key, &index))
        return NULL;
    struct module *module = table->modules[index];
    bool same = module->kind == kind && identity_same(&module->identity, identity) && (!pid || module->pid == pid) &&
                (identity->inode || strcmp(module->path, path) == 0);
    return same && file_unchanged(module) ? module : NULL;
}

static void identity_from_mapping(const struct mapping_info *mapping, struct module_identity *identity)
{
    identity->device = mapping->device;
    identity->inode = mapping->inode;
    identity->generation = mapping->inode_generation;
    if (mapping->build_id && mapping->build_id_size <= ELF_BUILD_ID_MAXIMUM) {
        identity->build_id_size = mapping->build_id_size;
        memcpy(identity->build_id, mapping->build_id, mapping->build_id_size);
    }
}

static void module_adopt(struct module *module, struct opened_file *file)
{
    module->deleted = file->deleted;
    module->file_size = file->size;
    module->modified_ns = file->modified_ns;
    if (module->table->open_files >= module->table->open_files_maximum) {
        close(file->fd);
        return;
    }
    module->table->open_files++;
    module->fd = file->fd;
}

static bool is_elf(int fd)
{
    char magic[SELFMAG];
    return pread(fd, magic, sizeof magic, 0) == (ssize_t)sizeof magic && memcmp(magic, ELFMAG, SELFMAG) == 0;
}

/* All code that a process made itself is one module: its addresses are the process' own. */
static int jit_module(struct module_table *table, pid_t pid, struct module **ret_module)
{
    static const struct module_identity none;
    uint64_t key = identity_hash(MODULE_KIND_JIT, &none, "[jit]", pid);
    struct module *known = table_find(table, key, MODULE_KIND_JIT, &none, "[jit]", pid);
    if (known) {
        *ret_module = known;
        return 0;
    }
    CLEANUP(module_destroyp) struct module *module = module_create(table, MODULE_KIND_JIT, "[jit]", pid);
    if (!module)
        return -ENOMEM;
    module->namespace_pid = pid;
    module->started_ns = process_start_realtime_ns(pid);
    module->owner_known = module_process_identity(pid, &module->namespace_pid, &module->owner);
    if (module_process_differs_in_mounts(pid)) {
        char path[48];
        snprintf(path, sizeof path, "/proc/%d/root/tmp", (int)pid);
        module->temporary_directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    int rc = table_add(table, key, module);
    if (rc < 0)
        return rc;
    *ret_module = TAKE_PTR(module);
    return 0;
}

static bool is_jitdump_name(const char *path)
{
    const char *name = strrchr(path, '/');
    size_t length = name ? strlen(name + 1) : 0;
    return name && length > 9 && strncmp(name + 1, "jit-", 4) == 0 && strcmp(name + 1 + length - 5, ".dump") == 0;
}

static int vdso_module(struct module_table *table, struct module **ret_module)
{
    if (table->vdso) {
        *ret_module = table->vdso;
        return 0;
    }
    CLEANUP(module_destroyp) struct module *module = module_create(table, MODULE_KIND_VDSO, "[vdso]", 0);
    if (!module)
        return -ENOMEM;
    /* Every 64-bit process of this kernel has the same one, so ours will do. Its mapping is whole pages. */
    const uint8_t *ours = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr header;
    if (ours) {
        memcpy(&header, ours, sizeof header);
        size_t end = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
        if (header.e_ident[EI_CLASS] == ELFCLASS64 && end < 1 << 16 && (module->image = malloc(end))) {
            memcpy(module->image, ours, end);
            module->image_size = end;
        }
    }
    int rc = table_append(table, module);
    if (rc < 0)
        return rc;
    *ret_module = table->vdso = TAKE_PTR(module);
    return 0;
}

static int file_module(struct module_table *table, pid_t pid, const struct mapping_info *mapping, struct module **ret_module)
{
    struct module_identity identity = {0};
    identity_from_mapping(mapping, &identity);
    uint64_t key = identity_hash(MODULE_KIND_FILE, &identity, mapping->path, 0);
    struct module *known = table_find(table, key, MODULE_KIND_FILE, &identity, mapping->path, 0);
    if (known) {
        *ret_module = known;
        return 0;
    }
    struct opened_file file;
    int opened = module_open_mapping(pid, mapping, &file);
    if (opened == 0 && !is_elf(file.fd)) { /* code in a plain file, in shared memory, in a jitdump's marker page */
        close(file.fd);
        return jit_module(table, pid, ret_module);
    }
    CLEANUP(module_destroyp) struct module *module = module_create(table, MODULE_KIND_FILE, mapping->path, pid);
    if (!module) {
        if (opened == 0)
            close(file.fd);
        return -ENOMEM;
    }
    module->identity = identity;
    if (opened == 0)
        module_adopt(module, &file);
    int rc = table_add(table, key, module);
    if (rc < 0)
        return rc;
    *ret_module = TAKE_PTR(module);
    return 0;
}

static void jitdump_remember(struct module *module, const struct mapping_info *mapping, pid_t pid)
{
    pthread_mutex_lock(&module->lock);
    if (!module->dump_path) {
        struct opened_file file;
        module->dump_path = strdup(mapping->path);
        if (module_open_mapping(pid, mapping, &file) == 0)
            module->dump_fd = file.fd;
    }
    pthread_mutex_unlock(&module->lock);
}

int module_for_mapping(struct module_table *table, pid_t pid, const struct mapping_info *mapping, struct module **ret_module)
{
    const char *path = mapping->path ? mapping->path : "";
    bool has_file = path[0] == '/' && path[1] != '/' && strncmp(path, "/dev/zero", 9) != 0 && strncmp(path, "/SYSV", 5) != 0;
    pthread_mutex_lock(&table->lock);
    int rc;
    if (strcmp(path, "[vdso]") == 0)
        rc = vdso_module(table, ret_module);
    else if (has_file && !is_jitdump_name(path))
        rc = file_module(table, pid, mapping, ret_module);
    else
        rc = jit_module(table, pid, ret_module);
    if (rc == 0 && has_file && is_jitdump_name(path))
        jitdump_remember(*ret_module, mapping, pid);
    pthread_mutex_unlock(&table->lock);
    return rc;
}

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

static int build_id_parse(const char *text, struct module_identity *identity)
{
    size_t length = text ? strlen(text) : 0;
    if (length % 2 || length / 2 > ELF_BUILD_ID_MAXIMUM)
        return -EINVAL;
    for (size_t i = 0; i < length; i += 2) {
        int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
        if (high < 0 || low < 0)
            return -EINVAL;
        identity->build_id[i / 2] = (uint8_t)(high << 4 | low);
    }
    identity->build_id_size = length / 2;
    return 0;
}

static int recorded_file(struct module_table *table, enum module_kind kind, const char *path,
                         const struct module_identity *identity, pid_t pid, struct module **ret_module)
{
    uint64_t key = identity_hash(kind, identity, path, 0);
    struct module *known = table_find(table, key, kind, identity, path, 0);
    if (known) {
        *ret_module = known;
        return 0;
    }
    CLEANUP(module_destroyp) struct module *module = module_create(table, kind, path, pid);
    if (!module)
        return -ENOMEM;
    module->identity = *identity;
    int rc = table_add(table, key, module);
    if (rc == 0)
        *ret_module = TAKE_PTR(module);
    return rc;
}

int module_table_add_recorded(struct module_table *table, enum module_kind kind, const char *path, const char *build_id_hex,
                              uint64_t device, uint64_t inode, pid_t pid, struct module **ret_module)
{
    struct module_identity identity = {.device = device, .inode = inode};
    int rc = build_id_parse(build_id_hex, &identity);
    if (rc < 0)
        return rc;
    if (kind == MODULE_KIND_KERNEL) {
        *ret_module = module_table_kernel(table);
        return *ret_module ? 0 : -ENOMEM;
    }
    pthread_mutex_lock(&table->lock);
    if (kind == MODULE_KIND_VDSO)
        rc = vdso_module(table, ret_module);
    else if (kind == MODULE_KIND_JIT)
        rc = jit_module(table, pid, ret_module);
    else
        rc = recorded_file(table, kind, path ? path : "", &identity, pid, ret_module);
    pthread_mutex_unlock(&table->lock);
    return rc;
}

struct module *module_table_kernel(struct module_table *table)
{
    pthread_mutex_lock(&table->lock);
    if (!table->kernel) {
        struct module *kernel = module_create(table, MODULE_KIND_KERNEL, "[kernel]", 0);
        if (kernel && table_append(table, kernel) < 0)
            module_destroy(TAKE_PTR(kernel));
        table->kernel = kernel;
    }
    struct module *kernel = table->kernel;
    pthread_mutex_unlock(&table->lock);
    return kernel;
}

uint32_t module_index(const struct module *module)
{
    return module->index;
}

uint32_t module_table_count(const struct module_table *table)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&table->lock;
    pthread_mutex_lock(lock);
    uint32_t count = (uint32_t)table->count;
    pthread_mutex_unlock(lock);
    return count;
}

struct module *module_table_at(struct module_table *table, uint32_t index)
{
    pthread_mutex_lock(&table->lock);
    struct module *module = index < table->count ? table->modules[index] : NULL;
    pthread_mutex_unlock(&table->lock);
    return module;
}

enum module_kind module_kind_of(const struct module *module)
{
    return module->kind;
}

const char *module_path(const struct module *module)
{
    return module->path;
}

bool module_is_deleted(const struct module *module)
{
    return module->deleted;
}

/* With module->lock held. */
static int descriptor_locked(struct module *module)
{
    if (module->fd >= 0 || module->open_failed || module->kind != MODULE_KIND_FILE)
        return module->fd;
    struct mapping_info mapping = {.path = module->path, .inode = module->identity.inode,
                                   .build_id = module->identity.build_id_size ? module->identity.build_id : NULL,
                                   .build_id_size = module->identity.build_id_size};
    if (mapping.build_id)
        mapping.inode = 0; /* the surer proof, and it holds on another machine too */
    struct opened_file file;
    if (module_open_mapping(module->pid, &mapping, &file) < 0)
        module->open_failed = true;
    else
        module->fd = file.fd;
    return module->fd;
}

int module_descriptor(struct module *module)
{
    pthread_mutex_lock(&module->lock);
    int fd = descriptor_locked(module);
    pthread_mutex_unlock(&module->lock);
    return fd;
}

const struct elf_image *module_elf(struct module *module)
{
    if (atomic_load_explicit(&module->elf_ready, memory_order_acquire))
        return module->elf;
    pthread_mutex_lock(&module->lock);
    if (!atomic_load_explicit(&module->elf_ready, memory_order_relaxed)) {
        int fd = module->image ? -1 : descriptor_locked(module);
        if (module->image)
            (void)elf_image_open_memory(module->image, module->image_size, &module->elf);
        else if (fd >= 0)
            (void)elf_image_open(fd, &module->elf);
        atomic_store_explicit(&module->elf_ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&module->lock);
    return module->elf;
}

struct cfi_index *module_cfi(struct module *module)
{
    if (atomic_load_explicit(&module->cfi_ready, memory_order_acquire))
        return module->cfi;
    const struct elf_image *elf = module_elf(module);
    pthread_mutex_lock(&module->lock);
    if (!atomic_load_explicit(&module->cfi_ready, memory_order_relaxed)) {
        if (elf)
            (void)cfi_index_create(elf, &module->cfi);
        atomic_store_explicit(&module->cfi_ready, true, memory_order_release);
    }
    pthread_mutex_unlock(&module->lock);
    return module->cfi;
}

uint64_t module_address_of_offset(struct module *module, uint64_t offset)
{
    uint64_t address;
    const struct elf_image *elf = module_elf(module);
    return elf && elf_offset_to_address(elf, offset, &address) ? address : offset;
}

const char *module_build_id(struct module *module)
{
    const struct elf_image *elf = module_elf(module);
    const uint8_t *bytes = module->identity.build_id;
    size_t size = module->identity.build_id_size;
    if (size == 0 && elf) {
        bytes = elf->build_id;
        size = elf->build_id_size;
    }
    pthread_mutex_lock(&module->lock);
    if (!module->build_id_text[0])
        for (size_t i = 0; i < size; i++)
            snprintf(module->build_id_text + 2 * i, 3, "%02x", bytes[i]);
    pthread_mutex_unlock(&module->lock);
    return module->build_id_text;
}

int module_file(struct module *module)
{
    return module_descriptor(module);
}

pid_t module_owner(const struct module *module)
{
    return module->pid;
}
