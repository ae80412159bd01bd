/* SPDX-License-Identifier: MIT */
/* Facts are read from a machine's files: a made-up root, and the live one for what must be true everywhere. */
#include "system/backends.h"
#include "system/library_probe.h"
#include "system/machine.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void put(const char *path, const char *content)
{
    char full[512];
    snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = strchr(full + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static int make_root(void **state)
{
    (void)state;
    strcpy(root, "/tmp/hp-test-machine-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command);
}

static void test_settings_are_read_and_missing_ones_stay_unknown(void **state)
{
    (void)state;
    struct kernel_settings settings;
    put("/proc/sys/kernel/perf_event_paranoid", "-1\n");
    put("/proc/sys/kernel/kptr_restrict", "junk\n");
    put("/proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T start\n");
    put("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    kernel_settings_read(root, &settings);
    assert_true(settings.paranoid.known);
    assert_int_equal(settings.paranoid.value, -1);
    assert_true(settings.perf_events);
    assert_false(settings.kptr_restrict.known);
    assert_false(settings.max_sample_rate.known);
    assert_false(settings.kernel_symbols_readable);
    assert_string_equal(settings.lockdown, "integrity");
}

static void test_status_tells_privileges(void **state)
{
    (void)state;
    struct privileges privileges;
    put("/proc/self/status", "Name:\tx\nNSpid:\t4711\t1\nNoNewPrivs:\t1\nSeccomp:\t2\nCapEff:\t0000004000000000\n");
    privileges_read(root, &privileges);
    assert_true(privileges.known);
    assert_int_equal(privileges.seccomp_mode, 2);
    assert_int_equal(privileges.pid_namespace_depth, 2);
    assert_true(privileges.no_new_privileges);
    assert_true(privileges_has(&privileges, 38));
    assert_false(privileges_has(&privileges, 21));
    privileges.initial_user_namespace = false;
    assert_false(privileges_has(&privileges, 38));
}

static void test_topology_counts_shared_things_once(void **state)
{
    (void)state;
    struct topology topology;
    put("/sys/devices/system/cpu/online", "0-3\n");
    put("/sys/devices/system/node/online", "0\n");
    for (int cpu = 0; cpu < 4; cpu++) {
        char path[128];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_cpus_list", cpu);
        put(path, cpu < 2 ? "0-1\n" : "2-3\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/package_cpus_list", cpu);
        put(path, "0-3\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index0/shared_cpu_list", cpu);
        put(path, cpu < 2 ? "0-1\n" : "2-3\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index0/level", cpu);
        put(path, "1\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index0/type", cpu);
        put(path, "Data\n");
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cache/index0/size", cpu);
        put(path, "32K\n");
    }
    topology_read(root, &topology);
    assert_int_equal(topology.threads, 4);
    assert_int_equal(topology.cores, 2);
    assert_int_equal(topology.packages, 1);
    assert_int_equal(topology.numa_nodes, 1);
    assert_int_equal(topology.cache_count, 1);
    assert_int_equal(topology.caches[0].instances, 2);
    assert_int_equal(topology.caches[0].size_bytes, 32768);
    assert_int_equal(topology.caches[0].kind, 'd');
}

static void test_this_machine_has_a_way_to_sample(void **state)
{
    (void)state;
    struct machine *machine = malloc(sizeof *machine);
    struct backend_list list;
    assert_non_null(machine);
    machine_read("", NULL, machine);
    assert_true(machine->host.cpus_usable > 0);
    assert_true(machine->host.memory_bytes > 0);
    assert_true(machine->probe.timers.works || machine->probe.cpu_clock.works);
    assert_int_equal(backends_detect(machine, &list), 0);
    assert_int_equal(list.count, 8);
    assert_string_equal(list.items[0].info->name, "cpu");
    assert_int_equal(list.items[0].way_count, 3);
    for (size_t i = 0; i < list.count; i++) /* whatever is not available says why */
        assert_true(list.items[i].available || *list.items[i].reason);
    backend_list_finish(&list);
    free(machine);
}

static void test_library_probe_survives_what_it_opens(void **state)
{
    (void)state;
    char path[4096], version[256];
    assert_true(library_probe("libc.so.6", NULL, VERSION_NONE, path, sizeof path, version, sizeof version));
    assert_non_null(strstr(path, "libc.so.6"));
    assert_string_equal(version, "");
    assert_false(
        library_probe("libnothing-of-this-name.so", NULL, VERSION_NONE, path, sizeof path, version, sizeof version));
    /* A "version function" that ends the process takes only the child with it. */
    assert_false(library_probe("libc.so.6", "abort", VERSION_CUDA, path, sizeof path, version, sizeof version));
}

static void test_backends_are_found_by_alias(void **state)
{
    (void)state;
    assert_string_equal(backend_find("perf")->name, "cpu");
    assert_string_equal(backend_find("hip")->name, "rocm");
    assert_null(backend_find(""));
    assert_null(backend_find("gpu"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_settings_are_read_and_missing_ones_stay_unknown),
        cmocka_unit_test(test_status_tells_privileges),
        cmocka_unit_test(test_topology_counts_shared_things_once),
        cmocka_unit_test(test_this_machine_has_a_way_to_sample),
        cmocka_unit_test(test_library_probe_survives_what_it_opens),
        cmocka_unit_test(test_backends_are_found_by_alias),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
