/* SPDX-License-Identifier: MIT */
/* Call frame information on demand: the rules are those of the table of all functions, whoever asks first and for what. */
#include "symbol/cfi_index.h"

#include "elf_maker.h"
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

static struct made_elf made;

static void assert_same_rule(const struct cfi_table *all, struct cfi_index *index, uint64_t address)
{
    const struct cfi_table *table;
    const struct cfi_rule *expected = cfi_table_find(all, address), *rule = cfi_index_find(index, address, &table);
    assert_int_equal(rule != NULL, expected != NULL);
    if (!rule)
        return;
    assert_int_equal(rule->cfa_kind, expected->cfa_kind);
    assert_int_equal(rule->cfa_register, expected->cfa_register);
    if (rule->cfa_kind == CFI_CFA_REGISTER)
        assert_int_equal(rule->cfa_value, expected->cfa_value);
    assert_int_equal(rule->return_register, expected->return_register);
    assert_int_equal(rule->is_signal_frame, expected->is_signal_frame);
    assert_int_equal(rule->return_undefined, expected->return_undefined);
    assert_int_equal(rule->register_count, expected->register_count);
    for (unsigned i = 0; i < rule->register_count; i++) {
        const struct cfi_register *mine = &table->registers[rule->first_register + i], *other = &all->registers[expected->first_register + i];
        assert_int_equal(mine->number, other->number);
        assert_int_equal(mine->kind, other->kind);
        if (mine->kind != CFI_AT_EXPRESSION && mine->kind != CFI_IS_EXPRESSION)
            assert_int_equal(mine->value, other->value);
        else
            assert_int_equal(table->expressions[mine->value].length, all->expressions[other->value].length);
    }
}

/* 100 functions in the order of the file backwards, each reaching over the next two; every ninth is missing. */
static void make_overlapping(struct made_bytes *frame)
{
    size_t cie = put_cie(frame, "zR", 16);
    for (unsigned i = 100; i-- > 0;) {
        const char program[] = {0x41, 0x0e, (char)(16 + i % 10 * 8), 0x42, 0x0e, 8};
        if (i % 9 != 5)
            put_fde(frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x10 * i, i % 7 == 3 ? 0x28 : 0x10, program, sizeof program);
    }
}

static void test_functions_that_overlap_across_groups_keep_the_rule_of_the_earlier_one(void **state)
{
    struct made_bytes frame = {.size = 0};
    make_overlapping(&frame);
    struct elf_image *image;
    CLEANUP(cfi_table_destroyp) struct cfi_table *all = NULL;
    CLEANUP(cfi_index_destroyp) struct cfi_index *index = NULL;
    made_elf_build(&made, EM_X86_64, NULL, &frame, NULL, 0);
    assert_int_equal(elf_image_open_memory(made.bytes, made.size, &image), 0);
    assert_int_equal(cfi_table_create(image, &all), 0);
    assert_int_equal(cfi_index_create(image, &index), 0);
    elf_image_close(image);
    assert_true(all->row_count > 100);
    for (uint64_t address = MADE_TEXT + 0x10 * 104; address-- > MADE_TEXT - 4;) /* backwards: any order of asking */
        assert_same_rule(all, index, address);
}

static void test_functions_are_found_by_address(void **state)
{
    struct made_bytes frame = {.size = 0};
    size_t cie = put_cie(&frame, "zR", 16);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT + 0x40, 0x20, "\x0e\x10", 2);
    put_fde(&frame, cie, MADE_EH_FRAME, MADE_TEXT, 0x20, "\x0e\x10", 2);
    struct elf_image *image;
    CLEANUP(cfi_index_destroyp) struct cfi_index *index = NULL;
    uint64_t start;
    made_elf_build(&made, EM_X86_64, NULL, &frame, NULL, 0);
    assert_int_equal(elf_image_open_memory(made.bytes, made.size, &image), 0);
    assert_int_equal(cfi_index_create(image, &index), 0);
    elf_image_close(image);
    assert_true(cfi_index_function(index, MADE_TEXT + 0x1f, &start) && start == MADE_TEXT);
    assert_false(cfi_index_function(index, MADE_TEXT + 0x20, &start));
    assert_true(cfi_index_function(index, MADE_TEXT + 0x40, &start) && start == MADE_TEXT + 0x40);
    assert_false(cfi_index_function(index, MADE_TEXT - 1, &start));
}

struct asking {
    const struct cfi_table *all;
    struct cfi_index *index;
    uint64_t begin, end, step;
};

static void *ask(void *context)
{
    const struct asking *asking = context;
    for (uint64_t address = asking->begin; address < asking->end; address += asking->step)
        assert_same_rule(asking->all, asking->index, address);
    return NULL;
}

/* The C library: thousands of functions, signal frames, cold parts far away; two threads make its tables together. */
static void test_all_of_the_c_library_is_as_in_the_whole_table(void **state)
{
    Dl_info library;
    struct elf_image *image;
    CLEANUP(cfi_table_destroyp) struct cfi_table *all = NULL;
    CLEANUP(cfi_index_destroyp) struct cfi_index *index = NULL;
    assert_true(dladdr(dlsym(RTLD_NEXT, "qsort"), &library));
    int fd = open(library.dli_fname, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(elf_image_open(fd, &image), 0);
    assert_int_equal(cfi_table_create(image, &all), 0);
    assert_int_equal(cfi_index_create(image, &index), 0);
    uint64_t end = all->base + all->row_starts[all->row_count - 1] + 64;
    struct asking one = {all, index, all->base - 8, end, 5}, other = {all, index, all->base - 8, end, 7};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, ask, &other), 0);
    ask(&one);
    pthread_join(thread, NULL);
    elf_image_close(image);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_that_overlap_across_groups_keep_the_rule_of_the_earlier_one),
        cmocka_unit_test(test_functions_are_found_by_address),
        cmocka_unit_test(test_all_of_the_c_library_is_as_in_the_whole_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
