/* SPDX-License-Identifier: MIT */
/* Address maps: cutting and replacing, sharing after fork, snapshots, lookups while another thread changes the map. */
#include "base/error.h"
#include "base/file.h"
#include "symbol/address_map.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct module_table *table;

static int begin(void **state)
{
    return module_table_create(&table);
}

static int end(void **state)
{
    module_table_destroy(table);
    return 0;
}

static void add(struct address_map *map, uint64_t start, uint64_t length, const char *path, uint64_t offset)
{
    const struct mapping_info mapping = {.start = start, .length = length, .path = path, .file_offset = offset,
                                         .inode = 1000000 + path[1], .device = 1, .executable = true};
    assert_int_equal(address_map_add(map, &mapping), 0);
}

static const char *path_at(const struct address_map *map, uint64_t address, uint64_t *ret_offset)
{
    struct module_place place;
    if (!address_map_find(map, address, &place))
        return "";
    if (ret_offset)
        *ret_offset = place.address;
    return module_path(place.module);
}

static void test_a_new_mapping_cuts_what_it_covers(void **state)
{
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    uint64_t offset;
    assert_int_equal(address_map_create(table, 0, &map), 0);
    add(map, 0x1000, 0x5000, "/a", 0x100);
    add(map, 0x2000, 0x1000, "/b", 0);
    assert_string_equal(path_at(map, 0x1fff, &offset), "/a");
    assert_int_equal(offset, 0x100 + 0xfff);
    assert_string_equal(path_at(map, 0x2000, NULL), "/b");
    assert_string_equal(path_at(map, 0x3000, &offset), "/a");
    assert_int_equal(offset, 0x100 + 0x2000);
    assert_int_equal(address_map_remove(map, 0x1800, 0x1000), 0);
    assert_string_equal(path_at(map, 0x17ff, NULL), "/a");
    assert_string_equal(path_at(map, 0x1800, NULL), "");
    assert_string_equal(path_at(map, 0x2800, &offset), "/b");
    assert_int_equal(offset, 0x800);
    add(map, 0x0, 0x10000, "/c", 0);
    assert_string_equal(path_at(map, 0x2800, NULL), "/c");
    const struct mapping_info data = {.start = 0x4000, .length = 0x1000, .path = "/d"};
    assert_int_equal(address_map_add(map, &data), 0);
    assert_string_equal(path_at(map, 0x4000, NULL), "");
    assert_string_equal(path_at(map, 0x5000, NULL), "/c");
}

/* Against a map of single pages that does the same slowly. */
static void test_random_changes_agree_with_a_page_table(void **state)
{
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    static const char *const paths[] = {"/a", "/b", "/c", "/d"};
    const char *pages[64] = {NULL};
    unsigned seed = 7;
    assert_int_equal(address_map_create(table, 0, &map), 0);
    for (int step = 0; step < 3000; step++) {
        unsigned first = (unsigned)rand_r(&seed) % 64, count = 1 + (unsigned)rand_r(&seed) % (64 - first);
        const char *path = (unsigned)rand_r(&seed) % 3 ? paths[(unsigned)rand_r(&seed) % 4] : NULL;
        if (path)
            add(map, (first + 1) * 0x1000ull, count * 0x1000ull, path, 0);
        else
            assert_int_equal(address_map_remove(map, (first + 1) * 0x1000ull, count * 0x1000ull), 0);
        for (unsigned i = first; i < first + count; i++)
            pages[i] = path;
        for (unsigned i = 0; i < 64; i++)
            assert_string_equal(path_at(map, (i + 1) * 0x1000ull + 5, NULL), pages[i] ? pages[i] : "");
    }
}

static void test_children_and_snapshots_keep_what_they_had(void **state)
{
    struct address_map *parent, *child, *snapshot;
    assert_int_equal(address_map_create(table, 10, &parent), 0);
    add(parent, 0x1000, 0x1000, "/a", 0);
    assert_int_equal(address_map_clone(parent, 11, &child), 0);
    assert_int_equal(address_map_snapshot(parent, &snapshot), 0);
    assert_int_equal(address_map_generation(parent), address_map_generation(child));
    add(parent, 0x3000, 0x1000, "/b", 0);
    add(child, 0x5000, 0x1000, "/c", 0);
    assert_true(address_map_generation(parent) != address_map_generation(child));
    assert_true(address_map_generation(parent) != address_map_generation(snapshot));
    assert_string_equal(path_at(snapshot, 0x3000, NULL), "");
    assert_string_equal(path_at(child, 0x3000, NULL), "");
    assert_string_equal(path_at(child, 0x5000, NULL), "/c");
    assert_int_equal(address_map_pid(child), 11);
    address_map_destroy(parent);
    assert_string_equal(path_at(snapshot, 0x1000, NULL), "/a");
    address_map_destroy(snapshot);
    address_map_destroy(child);
}

static void test_our_own_process_is_read_from_proc(void **state)
{
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct error err = ERROR_INIT;
    struct module_place place;
    char own[4096] = "";
    assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_load(map, &err), 0);
    assert_string_equal(path_at(map, (uintptr_t)test_our_own_process_is_read_from_proc, NULL), own);
    assert_true(address_map_find(map, (uintptr_t)&malloc, &place));
    assert_int_equal(module_kind_of(place.module), MODULE_KIND_FILE);
    assert_false(module_is_deleted(place.module));
    uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    if (vdso) {
        assert_true(address_map_find(map, vdso + 0x800, &place));
        assert_int_equal(module_kind_of(place.module), MODULE_KIND_VDSO);
        assert_int_equal(place.address, 0x800);
    }
    assert_true(address_map_find(map, UINT64_C(0xffffffff81000000), &place));
    assert_int_equal(module_kind_of(place.module), MODULE_KIND_KERNEL);
}

static void copy_self(const char *to)
{
    char buffer[65536];
    int from = open("/proc/self/exe", O_RDONLY), target = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);
    assert_true(from >= 0 && target >= 0);
    for (ssize_t got; (got = read(from, buffer, sizeof buffer)) > 0;)
        assert_int_equal(write(target, buffer, (size_t)got), got);
    close(from);
    close(target);
}

static void test_a_deleted_file_is_opened_while_it_is_mapped(void **state)
{
    char path[64];
    snprintf(path, sizeof path, "/tmp/hp-map-%d", (int)getpid());
    copy_self(path);
    int fd = open(path, O_RDONLY);
    void *code = mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    assert_true(fd >= 0 && code != MAP_FAILED);
    close(fd);
    unlink(path);
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct module_place place;
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_load(map, NULL), 0);
    assert_true(address_map_find(map, (uintptr_t)code, &place));
    assert_string_equal(module_path(place.module), path);
    if (module_file(place.module) < 0) { /* map_files needs privileges */
        munmap(code, 0x1000);
        address_map_destroy(TAKE_PTR(map)); /* skip() jumps */
        skip();
    }
    assert_true(module_is_deleted(place.module));
    assert_int_equal(strlen(module_build_id(place.module)) % 2, 0);
    munmap(code, 0x1000);
}

static void test_a_file_rewritten_in_place_is_another_module(void **state)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/tmp/hp-rewritten-%d", (int)getpid());
    copy_self(path);
    assert_int_equal(stat(path, &status), 0);
    const struct mapping_info mapping = {.start = 0x1000, .length = 0x1000, .path = path, .inode = status.st_ino,
                                         .device = status.st_dev, .executable = true};
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct module_place first, same, other;
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_add(map, &mapping), 0);
    assert_true(address_map_find(map, 0x1000, &first));
    assert_int_equal(address_map_add(map, &mapping), 0);
    assert_true(address_map_find(map, 0x1000, &same));
    assert_ptr_equal(first.module, same.module);
    assert_int_equal(truncate(path, status.st_size / 2), 0);
    assert_int_equal(address_map_add(map, &mapping), 0);
    assert_true(address_map_find(map, 0x1000, &other));
    assert_ptr_not_equal(first.module, other.module);
    unlink(path);
}

static void test_recorded_modules_are_checked_by_build_id(void **state)
{
    char own[4096] = "";
    struct module *good, *again, *bad, *wrong;
    assert_true(readlink("/proc/self/exe", own, sizeof own - 1) > 0);
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, own, "", 0, 0, 0, &good), 0);
    const char *build_id = module_build_id(good);
    assert_true(module_file(good) >= 0);
    if (build_id[0] == '\0')
        skip();
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, own, build_id, 0, 0, 0, &again), 0);
    assert_true(module_file(again) >= 0);
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, own, "0123456789abcdef", 0, 0, 0, &bad), 0);
    assert_int_equal(module_file(bad), -1);
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, own, "xyz", 0, 0, 0, &wrong), -EINVAL);
}

static atomic_bool stop;

static void *look_up(void *context)
{
    const struct address_map *map = context;
    uintptr_t found = 0;
    while (!atomic_load(&stop)) {
        const char *path = path_at(map, 0x1800, NULL);
        if (strcmp(path, "/a") != 0 && strcmp(path, "/b") != 0)
            return (void *)1; /* never half a change */
        struct address_map *snapshot;
        if (address_map_snapshot(map, &snapshot) == 0) {
            found += strlen(path_at(snapshot, 0x1800, NULL));
            address_map_destroy(snapshot);
        }
    }
    return (void *)(found == 0 ? (uintptr_t)2 : (uintptr_t)0);
}

static void test_lookups_while_the_map_changes(void **state)
{
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    pthread_t threads[2];
    assert_int_equal(address_map_create(table, 0, &map), 0);
    add(map, 0x1000, 0x1000, "/a", 0);
    atomic_store(&stop, false);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, look_up, map), 0);
    for (int i = 0; i < 5000; i++) {
        add(map, 0x1000, 0x1000, i % 2 ? "/a" : "/b", 0);
        add(map, 0x10000 + (uint64_t)(i % 50) * 0x1000, 0x1000, "/c", 0);
    }
    usleep(20000);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        void *result;
        pthread_join(threads[i], &result);
        assert_ptr_equal(result, NULL);
    }
}

/* A build runs more programs than the usual soft limit allows descriptors; each module keeps its file. */
static void test_more_modules_than_the_soft_limit_of_descriptors(void **state)
{
    enum { MODULES = 80 };
    char directory[] = "/tmp/hprofiler-test-modules-XXXXXX", path[128];
    struct rlimit before, low;
    CLEANUP(freep) char *image = NULL;
    size_t size;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    if (before.rlim_max < 4 * MODULES)
        skip();
    assert_int_equal(file_read("/proc/self/exe", 64 << 20, &image, &size, NULL), 0);
    assert_non_null(mkdtemp(directory));
    low = (struct rlimit){MODULES / 2, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    struct module_table *many;
    assert_int_equal(module_table_create(&many), 0);
    size_t known = 0;
    for (unsigned i = 0; i < MODULES; i++) {
        struct module *module;
        snprintf(path, sizeof path, "%s/%u", directory, i);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_true(fd >= 0 && write_all(fd, image, size) == 0);
        close(fd);
        assert_int_equal(module_table_add_recorded(many, MODULE_KIND_FILE, path, "", 0, 0, 0, &module), 0);
        known += module_file(module) >= 0;
    }
    module_table_destroy(many);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(directory_remove(directory, NULL), 0);
    assert_int_equal(known, MODULES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_new_mapping_cuts_what_it_covers, begin, end),
        cmocka_unit_test_setup_teardown(test_random_changes_agree_with_a_page_table, begin, end),
        cmocka_unit_test_setup_teardown(test_children_and_snapshots_keep_what_they_had, begin, end),
        cmocka_unit_test_setup_teardown(test_our_own_process_is_read_from_proc, begin, end),
        cmocka_unit_test_setup_teardown(test_a_deleted_file_is_opened_while_it_is_mapped, begin, end),
        cmocka_unit_test_setup_teardown(test_a_file_rewritten_in_place_is_another_module, begin, end),
        cmocka_unit_test_setup_teardown(test_recorded_modules_are_checked_by_build_id, begin, end),
        cmocka_unit_test_setup_teardown(test_lookups_while_the_map_changes, begin, end),
        cmocka_unit_test(test_more_modules_than_the_soft_limit_of_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
