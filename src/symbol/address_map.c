/* SPDX-License-Identifier: MIT */
/*
 * Address maps: sorted arrays of executable mappings, shared and copied on write. Data mappings only cut what they cover.
 * A set is immutable while more than one holder has it, so a lookup needs the lock only to get hold of the set.
 */
#include "address_map.h"

#include "base/array.h"
#include "base/error.h"
#include "base/file.h"
#include "mapping_set.h"
#include "module.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/sysmacros.h>

#define MAPS_FILE_MAXIMUM (256u << 20) /* 65,530 mappings, each with a long path */
#define KERNEL_BIT (1ull << 63)

struct address_map {
    struct module_table *table;
    pid_t pid;
    pthread_mutex_t lock; /* guards `set`, the pointer */
    struct mapping_set *set;
};

static uint64_t next_generation(void)
{
    static atomic_uint_fast64_t generations;
    return atomic_fetch_add(&generations, 1) + 1;
}

static struct mapping_set *set_create(size_t capacity)
{
    struct mapping_set *set = calloc(1, sizeof *set);
    if (!set)
        return NULL;
    atomic_init(&set->references, 1);
    set->generation = next_generation();
    if (capacity) {
        set->mappings = array_reserve(NULL, &set->capacity, capacity, sizeof *set->mappings);
        if (!set->mappings) {
            free(set);
            return NULL;
        }
    }
    return set;
}

void mapping_set_release(struct mapping_set *set)
{
    if (atomic_fetch_sub_explicit(&set->references, 1, memory_order_acq_rel) == 1) {
        free(set->mappings);
        free(set);
    }
}

struct mapping_set *address_map_hold(const struct address_map *map)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&map->lock;
    pthread_mutex_lock(lock);
    struct mapping_set *set = map->set;
    atomic_fetch_add_explicit(&set->references, 1, memory_order_relaxed);
    pthread_mutex_unlock(lock);
    return set;
}

struct module_table *address_map_table(const struct address_map *map)
{
    return map->table;
}

static int map_create(struct module_table *table, pid_t pid, struct mapping_set *set, struct address_map **ret_map)
{
    struct address_map *map = set ? calloc(1, sizeof *map) : NULL;
    if (!map) {
        if (set)
            mapping_set_release(set);
        return -ENOMEM;
    }
    map->table = table;
    map->pid = pid;
    map->set = set;
    pthread_mutex_init(&map->lock, NULL);
    *ret_map = map;
    return 0;
}

int address_map_create(struct module_table *table, pid_t pid, struct address_map **ret_map)
{
    return map_create(table, pid, set_create(0), ret_map);
}

int address_map_clone(const struct address_map *parent, pid_t child, struct address_map **ret_map)
{
    return map_create(parent->table, child, address_map_hold(parent), ret_map);
}

int address_map_snapshot(const struct address_map *map, struct address_map **ret_snapshot)
{
    return address_map_clone(map, map->pid, ret_snapshot);
}

void address_map_destroy(struct address_map *map)
{
    if (!map)
        return;
    mapping_set_release(map->set);
    pthread_mutex_destroy(&map->lock);
    free(map);
}

uint64_t address_map_generation(const struct address_map *map)
{
    struct mapping_set *set = address_map_hold(map);
    uint64_t generation = set->generation;
    mapping_set_release(set);
    return generation;
}

pid_t address_map_pid(const struct address_map *map)
{
    return map->pid;
}

/* First mapping that ends behind the address. */
static size_t first_ending_after(const struct mapping_set *set, uint64_t address)
{
    size_t low = 0, high = set->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (set->mappings[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void keep(struct mapping_set *set, uint64_t start, uint64_t end, const struct mapping *from)
{
    set->mappings[set->count++] =
        (struct mapping){.start = start, .end = end, .offset = from->offset + (start - from->start), .module = from->module};
}

/* A new set: the old one without [start, end), and with `added` in that place if it is not NULL. */
static struct mapping_set *set_replace(const struct mapping_set *old, uint64_t start, uint64_t end, const struct mapping *added)
{
    struct mapping_set *set = set_create(old->count + 2 > old->capacity ? old->count + old->count / 4 + 8 : old->capacity);
    if (!set)
        return NULL;
    size_t i = 0;
    for (; i < old->count && old->mappings[i].start < start; i++) {
        const struct mapping *mapping = &old->mappings[i];
        keep(set, mapping->start, mapping->end < start ? mapping->end : start, mapping);
        if (mapping->end > end) { /* a hole is cut into it: nothing else can overlap */
            if (added)
                set->mappings[set->count++] = *added;
            keep(set, end, mapping->end, mapping);
            added = NULL;
        }
    }
    if (added)
        set->mappings[set->count++] = *added;
    for (; i < old->count; i++) {
        const struct mapping *mapping = &old->mappings[i];
        uint64_t begin = mapping->start < end ? end : mapping->start;
        if (mapping->end > begin)
            keep(set, begin, mapping->end, mapping);
    }
    return set;
}

static bool covers_nothing(const struct mapping_set *set, uint64_t start, uint64_t end)
{
    size_t at = first_ending_after(set, start);
    return at == set->count || set->mappings[at].start >= end;
}

/* The common case while a process starts: it covers nothing, in a set that nobody else holds. Mostly in front of all others, as
 * the kernel hands out addresses from the top down. */
static bool insert_in_place(struct address_map *map, const struct mapping *added)
{
    bool done = false;
    pthread_mutex_lock(&map->lock);
    struct mapping_set *set = map->set;
    size_t at = first_ending_after(set, added->start);
    if (atomic_load_explicit(&set->references, memory_order_acquire) == 1 &&
        (at == set->count || set->mappings[at].start >= added->end)) {
        struct mapping *moved = array_reserve(set->mappings, &set->capacity, set->count + 1, sizeof *moved);
        if (moved) {
            memmove(moved + at + 1, moved + at, (set->count - at) * sizeof *moved);
            moved[at] = *added;
            set->mappings = moved;
            set->count++;
            set->generation = next_generation();
            done = true;
        }
    }
    pthread_mutex_unlock(&map->lock);
    return done;
}

static int map_replace(struct address_map *map, uint64_t start, uint64_t end, const struct mapping *added)
{
    /* Only the owner changes map->set, so reading it here needs no lock. */
    if (!added && covers_nothing(map->set, start, end))
        return 0;
    if (added && insert_in_place(map, added))
        return 0;
    struct mapping_set *set = set_replace(map->set, start, end, added), *old = map->set;
    if (!set)
        return -ENOMEM;
    pthread_mutex_lock(&map->lock);
    map->set = set;
    pthread_mutex_unlock(&map->lock);
    mapping_set_release(old);
    return 0;
}

int address_map_add(struct address_map *map, const struct mapping_info *mapping)
{
    uint64_t end;
    if (mapping->length == 0 || __builtin_add_overflow(mapping->start, mapping->length, &end) || end > KERNEL_BIT)
        return -EINVAL;
    if (!mapping->executable)
        return map_replace(map, mapping->start, end, NULL);
    struct mapping added = {.start = mapping->start, .end = end, .offset = mapping->file_offset};
    int rc = module_for_mapping(map->table, map->pid, mapping, &added.module);
    if (rc < 0)
        return rc;
    if (added.module->kind == MODULE_KIND_VDSO)
        added.offset = 0; /* the kernel reports an offset of no meaning */
    return map_replace(map, mapping->start, end, &added);
}

int address_map_remove(struct address_map *map, uint64_t start, uint64_t length)
{
    uint64_t end;
    if (length == 0 || __builtin_add_overflow(start, length, &end))
        return -EINVAL;
    return map_replace(map, start, end, NULL);
}

/* The kernel writes a newline in a path as \012. */
static void path_unescape(char *path)
{
    char *to = path;
    for (const char *from = path; *from; to++) {
        if (strncmp(from, "\\012", 4) == 0) {
            *to = '\n';
            from += 4;
        } else {
            *to = *from++;
        }
    }
    *to = '\0';
}

static bool maps_line_parse(char *line, struct mapping_info *mapping)
{
    uint64_t start, end;
    unsigned major_number, minor_number;
    char permissions[5];
    int path_at = 0;
    memset(mapping, 0, sizeof *mapping);
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &start, &end, permissions,
               &mapping->file_offset, &major_number, &minor_number, &mapping->inode, &path_at) < 7 ||
        end <= start)
        return false;
    char *path = line + path_at;
    size_t length = strlen(path);
    static const char deleted[] = " (deleted)";
    if (length > sizeof deleted - 1 && strcmp(path + length - (sizeof deleted - 1), deleted) == 0)
        path[length - (sizeof deleted - 1)] = '\0';
    path_unescape(path);
    mapping->start = start;
    mapping->length = end - start;
    mapping->device = makedev(major_number, minor_number);
    mapping->path = path;
    mapping->executable = permissions[2] == 'x';
    return true;
}

int address_map_load(struct address_map *map, struct error *err)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)map->pid);
    CLEANUP(freep) char *text = NULL;
    size_t size;
    int rc = file_read(path, MAPS_FILE_MAXIMUM, &text, &size, err);
    if (rc < 0)
        return rc;
    rc = map_replace(map, 0, KERNEL_BIT, NULL);
    char *position = NULL;
    for (char *line = strtok_r(text, "\n", &position); line && rc == 0; line = strtok_r(NULL, "\n", &position)) {
        struct mapping_info mapping;
        if (maps_line_parse(line, &mapping) && mapping.executable && mapping.start + mapping.length < KERNEL_BIT)
            rc = address_map_add(map, &mapping);
    }
    return rc < 0 ? error_set_errno(err, rc, "%s: cannot note its mappings", path) : 0;
}

const struct mapping *mapping_set_find(const struct mapping_set *set, uint64_t address)
{
    size_t at = first_ending_after(set, address);
    return at < set->count && set->mappings[at].start <= address ? &set->mappings[at] : NULL;
}

bool mapping_place(const struct mapping *mapping, uint64_t address, struct module_place *ret_place)
{
    struct module *module = mapping->module;
    ret_place->module = module;
    ret_place->address = address;
    if (module->kind == MODULE_KIND_FILE || module->kind == MODULE_KIND_VDSO)
        ret_place->address = module_address_of_offset(module, address - mapping->start + mapping->offset);
    return true;
}

bool address_map_find(const struct address_map *map, uint64_t address, struct module_place *ret_place)
{
    if (address & KERNEL_BIT) {
        ret_place->module = module_table_kernel(map->table);
        ret_place->address = address;
        return ret_place->module != NULL;
    }
    struct mapping_set *set = address_map_hold(map);
    const struct mapping *mapping = mapping_set_find(set, address);
    bool found = mapping && mapping_place(mapping, address, ret_place);
    mapping_set_release(set);
    return found;
}

bool address_map_at(const struct address_map *map, size_t index, struct mapping_view *ret_mapping)
{
    struct mapping_set *set = address_map_hold(map);
    bool found = index < set->count;
    if (found) {
        const struct mapping *mapping = &set->mappings[index];
        *ret_mapping =
            (struct mapping_view){mapping->start, mapping->end - mapping->start, mapping->offset, mapping->module};
    }
    mapping_set_release(set);
    return found;
}

int address_map_add_module(struct address_map *map, uint64_t start, uint64_t length, uint64_t file_offset, struct module *module)
{
    uint64_t end;
    if (length == 0 || __builtin_add_overflow(start, length, &end) || end > KERNEL_BIT)
        return -EINVAL;
    struct mapping added = {.start = start, .end = end, .offset = file_offset, .module = module};
    return map_replace(map, start, end, &added);
}
