/* SPDX-License-Identifier: MIT */
/* A file that is cut while it is mapped, and a bus error that has another reason. */
#include "unit.h"

#include "base/shrunk_file.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_what_lay_behind_the_new_end_is_zeros(void **state)
{
    (void)state;
    shrunk_files_survive(); /* here, as cmocka has handlers of its own */
    char name[] = "/tmp/shrunk-XXXXXX";
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    unlink(name);
    assert_int_equal(ftruncate(fd, (off_t)(3 * page)), 0);
    assert_int_equal(pwrite(fd, "a", 1, 0), 1);
    assert_int_equal(pwrite(fd, "b", 1, (off_t)page), 1);
    volatile char *data = mmap(NULL, 3 * page, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    assert_int_equal(data[page], 'b');
    unsigned long before = shrunk_file_pages();
    assert_int_equal(ftruncate(fd, 1), 0);
    assert_int_equal(data[0], 'a');
    assert_int_equal(data[page], 0);
    assert_int_equal(data[2 * page + 5], 0);
    assert_int_equal(shrunk_file_pages() - before, 2);
    munmap((void *)(uintptr_t)data, 3 * page);
    close(fd);
}

static void test_another_bus_error_still_ends_the_program(void **state)
{
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        shrunk_files_survive();
        raise(SIGBUS);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_lay_behind_the_new_end_is_zeros),
        cmocka_unit_test(test_another_bus_error_still_ends_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
