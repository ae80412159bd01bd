/* SPDX-License-Identifier: MIT */
/* Names of kernel addresses from the cache of the boot: used where it is safe, ignored where it is not the user's own. */
#include "unit.h"

#include "base/file.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/hp-names-XXXXXX", cache_path[256];

static const char kernel_text[] = "ffffffff81000000 T _stext\nffffffff81000100 t inner\nffffffff81000200 T _etext\n"
                                  "ffffffff81000300 t init_only\nffffffffc0000000 t of_module\t[ext4]\n";

static void write_file(const char *path, const char *text, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    chmod(path, mode);
}

static int set_up(void **state)
{
    char *boot = NULL, own[128];
    size_t length;
    if (!mkdtemp(folder) || file_read("/proc/sys/kernel/random/boot_id", 64, &boot, &length, NULL) < 0)
        return -1;
    boot[36] = '\0';
    snprintf(own, sizeof own, "%s/hprofiler", folder);
    mkdir(own, 0700);
    snprintf(cache_path, sizeof cache_path, "%s/kallsyms-%s", own, boot);
    free(boot);
    return setenv("XDG_CACHE_HOME", folder, 1);
}

static int tear_down(void **state)
{
    return directory_remove(folder, NULL);
}

static void test_core_is_what_lies_between_its_bounds(void **state)
{
    char path[256];
    snprintf(path, sizeof path, "%s/all", folder);
    write_file(path, kernel_text, 0600);
    CLEANUP(kallsyms_destroyp) struct kallsyms *symbols = NULL;
    assert_int_equal(kallsyms_load(path, &symbols), 0);
    assert_true(kallsyms_in_core(symbols, 0xffffffff81000000));
    assert_true(kallsyms_in_core(symbols, 0xffffffff810001ff));
    assert_false(kallsyms_in_core(symbols, 0xffffffff81000200));
    assert_false(kallsyms_in_core(symbols, 0xffffffffc0000000));
}

static void test_core_survives_writing_and_reading(void **state)
{
    char from[256], to[256];
    snprintf(from, sizeof from, "%s/all", folder);
    snprintf(to, sizeof to, "%s/core", folder);
    write_file(from, kernel_text, 0600);
    CLEANUP(kallsyms_destroyp) struct kallsyms *all = NULL, *core = NULL;
    struct file_writer *writer;
    const char *module;
    assert_int_equal(kallsyms_load(from, &all), 0);
    assert_int_equal(file_writer_create(to, &writer, NULL), 0);
    kallsyms_write_core(all, writer);
    assert_int_equal(file_writer_finish(writer, NULL), 0);
    assert_int_equal(kallsyms_load(to, &core), 0);
    assert_true(kallsyms_in_core(core, 0xffffffff81000150));
    assert_string_equal(kallsyms_find(core, 0xffffffff81000150, &module), "inner");
    assert_string_equal(kallsyms_find(core, 0xffffffff81000300, &module), "_etext"); /* no init_only, no module */
}

static void test_names_come_from_the_cache_of_this_boot(void **state)
{
    const char *module;
    write_file(cache_path, "1000 t _stext\n1100 t planted\n2000 t _etext\n", 0600);
    CLEANUP(kernel_names_destroyp) struct kernel_names *names = kernel_names_create();
    assert_string_equal(kernel_names_find(names, 0x1180, &module), "planted");
    assert_string_equal(module, "");
    assert_int_equal(kernel_names_problem(names), 0);
}

static void assert_not_used(void)
{
    const char *module;
    CLEANUP(kernel_names_destroyp) struct kernel_names *names = kernel_names_create();
    const char *name = kernel_names_find(names, 0x1180, &module);
    assert_true(!name || strcmp(name, "planted") != 0);
}

static void test_cache_that_others_may_write_is_not_used(void **state)
{
    write_file(cache_path, "1000 t _stext\n1100 t planted\n2000 t _etext\n", 0666);
    assert_not_used();
    unlink(cache_path);
    char elsewhere[256];
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", folder);
    write_file(elsewhere, "1000 t _stext\n1100 t planted\n2000 t _etext\n", 0600);
    assert_int_equal(symlink(elsewhere, cache_path), 0);
    assert_not_used();
    unlink(cache_path);
}

static void test_damaged_cache_is_not_used(void **state)
{
    write_file(cache_path, "no list at all\n\n1100\n1100 t\n", 0600);
    assert_not_used();
    write_file(cache_path, "1000 t _stext\n1100 t planted\n", 0600); /* cut off: its end is unknown */
    assert_not_used();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_core_is_what_lies_between_its_bounds), cmocka_unit_test(test_core_survives_writing_and_reading),
        cmocka_unit_test(test_names_come_from_the_cache_of_this_boot), cmocka_unit_test(test_cache_that_others_may_write_is_not_used),
        cmocka_unit_test(test_damaged_cache_is_not_used),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
