/* SPDX-License-Identifier: MIT */
/* Names: of our own functions, of kernel text, mangled ones, linkage stubs, JIT code, and of what nobody knows. */
#include "base/error.h"
#include "symbol/demangle.h"
#include "symbol/kallsyms.h"
#include "symbol/symbolizer.h"

#include "elf_maker.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct module_table *table;
static struct string_table *strings;
static struct symbolizer *symbolizer;

static int begin(void **state)
{
    struct error err = ERROR_INIT;
    if (module_table_create(&table) < 0 || string_table_create(&strings) < 0)
        return -1;
    const struct symbolizer_options options = {.strings = strings, .no_debuginfod = true};
    return symbolizer_create(&options, &symbolizer, &err);
}

static int end(void **state)
{
    symbolizer_destroy(symbolizer);
    string_table_destroy(strings);
    module_table_destroy(table);
    return 0;
}

static const char *name_of(struct module *module, uint64_t address, struct symbol_frame *ret_frame)
{
    struct symbol_frame frames[32];
    size_t count = symbolizer_resolve(symbolizer, module, address, getpid(), 0, frames, 32);
    assert_true(count >= 1);
    if (ret_frame)
        *ret_frame = frames[count - 1];
    return string_table_text(strings, frames[count - 1].function);
}

static void test_our_own_functions_have_names(void **state)
{
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct module_place place;
    struct symbol_frame frame;
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_load(map, NULL), 0);
    assert_true(address_map_find(map, (uintptr_t)test_our_own_functions_have_names + 1, &place));
    assert_string_equal(name_of(place.module, place.address, &frame), "test_our_own_functions_have_names");
    assert_true(frame.known && !frame.inlined);
    assert_null(symbolizer_module_problem(symbolizer, place.module));
    if (!string_is(frame.file, STRING_NONE)) /* built with debug info and libdw */
        assert_non_null(strstr(string_table_text(strings, frame.file), "test_symbolizer.c"));
    assert_true(address_map_find(map, (uintptr_t)&malloc, &place));
    assert_string_equal(name_of(place.module, place.address, NULL), "malloc");
}

static struct module *made_module(const struct made_symbol *symbols, size_t count, char *path)
{
    static struct made_elf elf;
    struct made_bytes frame = {.size = 0};
    struct module *module;
    strcpy(path, "/tmp/hp-symbols-XXXXXX");
    int fd = mkstemp(path);
    put_cie(&frame, "zR", 16);
    made_elf_build(&elf, EM_X86_64, NULL, &frame, symbols, count);
    assert_true(fd >= 0 && write(fd, elf.bytes, elf.size) == (ssize_t)elf.size);
    close(fd);
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, path, "", 0, 0, 0, &module), 0);
    return module;
}

static void test_the_best_of_several_symbols_is_taken(void **state)
{
    const unsigned char local = ELF64_ST_INFO(STB_LOCAL, STT_FUNC), global = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                        label = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    const struct made_symbol symbols[] = {
        {"__libc_write", MADE_TEXT, 0x20, local}, {"__write", MADE_TEXT, 0x20, global},
        {"write", MADE_TEXT, 0x20, ELF64_ST_INFO(STB_WEAK, STT_FUNC)},
        {"outer", MADE_TEXT + 0x40, 0x40, global}, {"inner", MADE_TEXT + 0x50, 0x10, local},
        {"open_end", MADE_TEXT + 0x100, 0, label}, {"versioned@@V_1", MADE_TEXT + 0x200, 0x10, global},
        {"_ZN3foo3barEi", MADE_TEXT + 0x300, 0x10, global},
    };
    char path[64];
    struct module *module = made_module(symbols, sizeof symbols / sizeof *symbols, path);
    assert_string_equal(name_of(module, MADE_TEXT + 0x1f, NULL), "write");
    assert_string_equal(name_of(module, MADE_TEXT + 0x4f, NULL), "outer");
    assert_string_equal(name_of(module, MADE_TEXT + 0x55, NULL), "inner");
    assert_string_equal(name_of(module, MADE_TEXT + 0x60, NULL), "outer");
    assert_string_equal(name_of(module, MADE_TEXT + 0x1ff, NULL), "open_end"); /* to the next symbol */
    assert_string_equal(name_of(module, MADE_TEXT + 0x200, NULL), "versioned");
    struct symbol_frame frame;
    char expected[128];
    snprintf(expected, sizeof expected, "%s+0x1210", strrchr(path, '/') + 1);
    assert_string_equal(name_of(module, MADE_TEXT + 0x210, &frame), expected);
    assert_false(frame.known);
    char *demangled = demangle("_ZN3foo3barEi");
    assert_string_equal(name_of(module, MADE_TEXT + 0x300, NULL), demangled ? "foo::bar" : "_ZN3foo3barEi");
    free(demangled);
    unlink(path);
}

static void test_a_module_without_symbols_says_why(void **state)
{
    char path[64], expected[96];
    struct module *stripped = made_module(NULL, 0, path), *gone;
    assert_string_equal(symbolizer_module_problem(symbolizer, stripped), "stripped, and no debug file found");
    snprintf(expected, sizeof expected, "%s+0x1004", strrchr(path, '/') + 1);
    assert_string_equal(name_of(stripped, MADE_TEXT + 4, NULL), expected);
    unlink(path);
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, "/nowhere/lib.so", "", 0, 0, 0, &gone), 0);
    assert_string_equal(symbolizer_module_problem(symbolizer, gone), "the file is gone or was replaced");
    assert_string_equal(name_of(gone, 0x10, NULL), "lib.so+0x10");
    assert_string_equal(name_of(NULL, 0x10, NULL), "[unknown]+0x10");
}

static void test_a_stripped_function_has_one_name(void **state)
{
    static struct made_elf elf;
    const struct made_symbol label[] = {{"assembly", MADE_TEXT + 0x200, 0, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)}};
    struct made_bytes frame = {.size = 0};
    struct module *module;
    char path[] = "/tmp/hp-symbols-XXXXXX", expected[96];
    int fd = mkstemp(path);
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x100, 0x40, "", 0); /* not in order of address */
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x40, "", 0);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x300, 0x40, "", 0);
    made_elf_build(&elf, EM_X86_64, NULL, &frame, label, 1);
    assert_true(fd >= 0 && write(fd, elf.bytes, elf.size) == (ssize_t)elf.size);
    close(fd);
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, path, "", 0, 0, 0, &module), 0);
    struct symbol_frame frame_of;
    snprintf(expected, sizeof expected, "%s+0x1100", strrchr(path, '/') + 1);
    assert_string_equal(name_of(module, MADE_TEXT + 0x100, &frame_of), expected);
    assert_string_equal(name_of(module, MADE_TEXT + 0x13f, &frame_of), expected);
    assert_false(frame_of.known);
    snprintf(expected, sizeof expected, "%s+0x1000", strrchr(path, '/') + 1);
    assert_string_equal(name_of(module, MADE_TEXT + 0x21, NULL), expected);
    snprintf(expected, sizeof expected, "%s+0x1041", strrchr(path, '/') + 1); /* in no function */
    assert_string_equal(name_of(module, MADE_TEXT + 0x41, NULL), expected);
    snprintf(expected, sizeof expected, "%s+0x1140", strrchr(path, '/') + 1);
    assert_string_equal(name_of(module, MADE_TEXT + 0x140, NULL), expected);
    assert_string_equal(name_of(module, MADE_TEXT + 0x2ff, NULL), "assembly"); /* it has no size */
    snprintf(expected, sizeof expected, "%s+0x1300", strrchr(path, '/') + 1);
    assert_string_equal(name_of(module, MADE_TEXT + 0x33f, NULL), expected);
    unlink(path);
}

static void test_an_exported_label_does_not_name_all_the_code_behind_it(void **state)
{
    static struct made_elf elf;
    const struct made_symbol label[] = {{"assembly", MADE_TEXT, 0, ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE)}};
    struct made_bytes frame = {.size = 0};
    struct module *module;
    char path[] = "/tmp/hp-symbols-XXXXXX";
    int fd = mkstemp(path);
    put_cie(&frame, "zR", 16);
    made_elf_build(&elf, EM_X86_64, NULL, &frame, label, 1);
    Elf64_Ehdr header;
    memcpy(&header, elf.bytes, sizeof header);
    Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(elf.bytes + header.e_shoff);
    sections[1].sh_size = 0x3000;
    sections[3].sh_type = SHT_DYNSYM; /* what strip leaves */
    assert_true(fd >= 0 && write(fd, elf.bytes, elf.size) == (ssize_t)elf.size);
    close(fd);
    assert_int_equal(module_table_add_recorded(table, MODULE_KIND_FILE, path, "", 0, 0, 0, &module), 0);
    assert_string_equal(name_of(module, MADE_TEXT + 0xfff, NULL), "assembly");
    assert_string_equal(name_of(module, MADE_TEXT + 0x1000, NULL), "(code after assembly)");
    unlink(path);
}

static void test_mangled_names(void **state)
{
    static const struct {
        const char *raw, *readable;
    } names[] = {
        {"_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector<int, std::allocator<int> >::push_back"},
        {"_ZN4core3fmt9Formatter3pad17h1234567890abcdefE", "core::fmt::Formatter::pad"},
        {"_RNvCs1234_7mycrate3foo", "mycrate::foo"},
        {"main", NULL}, {"_start", NULL}, {"_Zgarbage", NULL}, {"", NULL},
    };
    char *probe = demangle("_Z1fv");
    if (!probe)
        skip(); /* built without libiberty */
    free(probe);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *readable = demangle(names[i].raw);
        if (names[i].readable)
            assert_string_equal(readable ? readable : "", names[i].readable);
        else
            assert_null(readable);
        free(readable);
    }
}

static void test_kernel_symbols(void **state)
{
    char path[] = "/tmp/hp-kallsyms-XXXXXX";
    static const char text[] = "ffffffff81000000 T _text\nffffffff81000100 t helper\nffffffff81000200 D data\n"
                               "ffffffffc0000000 t of_module\t[ext4]\nbroken\nffffffff81000080 T middle\n";
    static const char hidden[] = "0000000000000000 T _text\n";
    int fd = mkstemp(path);
    const char *module;
    CLEANUP(kallsyms_destroyp) struct kallsyms *symbols = NULL;
    assert_int_equal(write(fd, text, sizeof text - 1), sizeof text - 1);
    assert_int_equal(kallsyms_load(path, &symbols), 0);
    assert_string_equal(kallsyms_find(symbols, 0xffffffff8100007f, &module), "_text");
    assert_string_equal(module, "");
    assert_string_equal(kallsyms_find(symbols, 0xffffffff81000080, &module), "middle");
    assert_string_equal(kallsyms_find(symbols, 0xffffffff81000300, &module), "helper");
    assert_string_equal(kallsyms_find(symbols, 0xffffffffc0000010, &module), "of_module");
    assert_string_equal(module, "ext4");
    assert_null(kallsyms_find(symbols, 0xffffffff80ffffff, &module));
    assert_null(kallsyms_find(symbols, 0xffffffff90000000, &module));
    struct kallsyms *none = NULL;
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, hidden, sizeof hidden - 1, 0), sizeof hidden - 1);
    assert_int_equal(kallsyms_load(path, &none), -EACCES);
    close(fd);
    unlink(path);
}

static void test_code_made_at_run_time_is_named_by_the_perf_map(void **state)
{
    char path[64];
    void *code = mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map_file = fopen(path, "w");
    assert_true(map_file && code != MAP_FAILED);
    fprintf(map_file, "%lx 100 jitted function\n", (unsigned long)(uintptr_t)code);
    fclose(map_file);
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct module_place place;
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_load(map, NULL), 0);
    assert_true(address_map_find(map, (uintptr_t)code + 8, &place));
    assert_int_equal(module_kind_of(place.module), MODULE_KIND_JIT);
    assert_string_equal(name_of(place.module, place.address, NULL), "jitted function");
    munmap(code, 0x1000);
    unlink(path);
}

/* It is one that an earlier process of this number left. */
static void test_a_perf_map_from_before_the_process_is_not_believed(void **state)
{
    char path[64];
    const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    void *code = mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map_file = fopen(path, "w");
    assert_true(map_file && code != MAP_FAILED);
    fprintf(map_file, "%lx 100 of the one before\n", (unsigned long)(uintptr_t)code);
    fclose(map_file);
    assert_int_equal(utimensat(AT_FDCWD, path, long_ago, 0), 0);
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct module_place place;
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_load(map, NULL), 0);
    assert_true(address_map_find(map, (uintptr_t)code + 8, &place));
    assert_int_equal(module_kind_of(place.module), MODULE_KIND_JIT);
    assert_string_not_equal(name_of(place.module, place.address, NULL), "of the one before");
    munmap(code, 0x1000);
    unlink(path);
}

static void test_a_perf_map_behind_a_link_is_not_read(void **state)
{
    char path[64], target[64];
    void *code = mmap(NULL, 0x1000, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    snprintf(target, sizeof target, "/tmp/hp-link-target-%d", (int)getpid());
    FILE *map_file = fopen(target, "w");
    assert_true(map_file && code != MAP_FAILED);
    fprintf(map_file, "%lx 100 forged\n", (unsigned long)(uintptr_t)code);
    fclose(map_file);
    assert_int_equal(symlink(target, path), 0);
    CLEANUP(address_map_destroyp) struct address_map *map = NULL;
    struct module_place place;
    assert_int_equal(address_map_create(table, getpid(), &map), 0);
    assert_int_equal(address_map_load(map, NULL), 0);
    assert_true(address_map_find(map, (uintptr_t)code, &place));
    assert_null(strstr(name_of(place.module, place.address, NULL), "forged"));
    assert_non_null(symbolizer_module_problem(symbolizer, place.module));
    munmap(code, 0x1000);
    unlink(path);
    unlink(target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_our_own_functions_have_names, begin, end),
        cmocka_unit_test_setup_teardown(test_the_best_of_several_symbols_is_taken, begin, end),
        cmocka_unit_test_setup_teardown(test_a_module_without_symbols_says_why, begin, end),
        cmocka_unit_test_setup_teardown(test_a_stripped_function_has_one_name, begin, end),
        cmocka_unit_test_setup_teardown(test_an_exported_label_does_not_name_all_the_code_behind_it, begin, end),
        cmocka_unit_test(test_mangled_names),
        cmocka_unit_test(test_kernel_symbols),
        cmocka_unit_test_setup_teardown(test_code_made_at_run_time_is_named_by_the_perf_map, begin, end),
        cmocka_unit_test_setup_teardown(test_a_perf_map_from_before_the_process_is_not_believed, begin, end),
        cmocka_unit_test_setup_teardown(test_a_perf_map_behind_a_link_is_not_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
