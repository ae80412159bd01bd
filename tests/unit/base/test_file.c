/* SPDX-License-Identifier: MIT */
/* Files: reads with a bound, atomic replacement, full disks, links, removal. */
#include "base/error.h"
#include "base/file.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* Each test runs in an empty directory of its own. */
static int enter_directory(void **state)
{
    char name[] = "/tmp/hp-test-file-XXXXXX";
    if (!mkdtemp(name) || chdir(name) < 0)
        return -1;
    *state = strdup(name);
    return 0;
}

static int leave_directory(void **state)
{
    struct error err = ERROR_INIT;
    int result = chdir("/") < 0 ? -1 : directory_remove(*state, &err);
    free(*state);
    return result;
}

static void put(const char *path, const char *content)
{
    struct file_writer *writer;
    assert_int_equal(file_writer_create(path, &writer, NULL), 0);
    file_write(writer, content, strlen(content));
    assert_int_equal(file_writer_finish(writer, NULL), 0);
}

static void assert_content(const char *path, const char *expected)
{
    char *data;
    size_t size;
    assert_int_equal(file_read(path, 1 << 20, &data, &size, NULL), 0);
    assert_int_equal(size, strlen(expected));
    assert_string_equal(data, expected);
    free(data);
}

static void test_reading_obeys_the_bound(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    char *data;
    size_t size;
    put("ten", "0123456789");
    assert_int_equal(file_read("ten", 10, &data, &size, &err), 0);
    assert_int_equal(size, 10);
    free(data);
    assert_int_equal(file_read("ten", 9, &data, &size, &err), -EFBIG);
    assert_non_null(strstr(err.text, "10 bytes and at most 9"));
    assert_int_equal(file_read("/proc/self/status", 1 << 20, &data, &size, &err), 0);
    assert_memory_equal(data, "Name:", 5);
    assert_int_equal(strlen(data), size);
    free(data);
    assert_int_equal(file_read("/proc/self/status", 20, &data, &size, &err), -EFBIG);
    assert_int_equal(file_read("none", 10, &data, &size, &err), -ENOENT);
    assert_int_equal(file_read(".", 10, &data, &size, &err), -EISDIR);
}

static void test_maps(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct file_map map;
    put("data", "mapped");
    assert_int_equal(file_map_open("data", &map, &err), 0);
    assert_int_equal(map.size, 6);
    assert_memory_equal(map.data, "mapped", 6);
    file_map_close(&map);
    file_map_close(&map);
    put("empty", "");
    assert_int_equal(file_map_open("empty", &map, &err), 0);
    assert_null(map.data);
    file_map_close(&map);
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(file_map_open("fifo", &map, &err), -EINVAL); /* and does not hang */
    assert_int_equal(file_map_open(".", &map, &err), -EISDIR);
}

static void test_nobody_sees_a_half_written_file(void **state)
{
    (void)state;
    struct file_writer *writer;
    put("out", "old");
    assert_int_equal(chmod("out", 0640), 0);
    assert_int_equal(file_writer_create("out", &writer, NULL), 0);
    file_writef(writer, "%s %d", "new", 1);
    assert_content("out", "old");
    assert_int_equal(file_writer_position(writer), 5);
    assert_int_equal(file_writer_finish(writer, NULL), 0);
    assert_content("out", "new 1");
    struct stat status;
    assert_int_equal(stat("out", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
    assert_int_equal(file_writer_create("out", &writer, NULL), 0);
    file_writef(writer, "abandoned");
    file_writer_destroy(writer);
    assert_content("out", "new 1");
    assert_int_equal(unlink("out"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(*state), 0); /* no temporary file was left */
    assert_int_equal(mkdir(*state, 0700), 0);
}

static void test_a_link_stays_a_link(void **state)
{
    (void)state;
    put("target", "old");
    assert_int_equal(symlink("target", "link"), 0);
    put("link", "new");
    assert_content("target", "new");
    struct stat status;
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
}

static void test_large_and_reserved_writes_keep_their_order(void **state)
{
    (void)state;
    struct file_writer *writer;
    size_t large = 700000, total = 0;
    char *block = malloc(large);
    assert_non_null(block);
    memset(block, 'L', large);
    assert_int_equal(file_writer_create("out", &writer, NULL), 0);
    for (int round = 0; round < 5; round++) {
        char *room = file_writer_reserve(writer, 65536);
        memset(room, 'r', 60000);
        file_writer_commit(writer, 60000);
        file_write(writer, block, large);
        file_writef(writer, "%05000d", round);
        total += 60000 + large + 5000;
        assert_int_equal(file_writer_position(writer), total);
    }
    assert_null(file_writer_reserve(writer, 65537));
    assert_int_equal(file_writer_finish(writer, NULL), 0);
    struct file_map map;
    assert_int_equal(file_map_open("out", &map, NULL), 0);
    assert_int_equal(map.size, total);
    for (size_t round = 0; round < 5; round++) {
        const uint8_t *part = map.data + round * (65000 + large);
        assert_int_equal(part[0], 'r');
        assert_int_equal(part[59999], 'r');
        assert_int_equal(part[60000], 'L');
        assert_int_equal(part[60000 + large - 1], 'L');
        assert_int_equal(part[60000 + large + 4999], '0' + round);
    }
    file_map_close(&map);
    free(block);
}

static void test_a_full_disk_is_reported_once_at_the_end(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct file_writer *writer;
    assert_int_equal(file_writer_create("/dev/full", &writer, &err), 0);
    for (int index = 0; index < 100000; index++)
        file_writef(writer, "line %d\n", index);
    assert_true(file_writer_failed(writer));
    assert_int_equal(file_writer_finish(writer, &err), -ENOSPC);
    assert_string_equal(err.text, "cannot write /dev/full: No space left on device");
}

static void test_where_nothing_can_be_written(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    struct file_writer *writer;
    assert_int_equal(file_writer_create("none/out", &writer, &err), -ENOENT);
    assert_int_equal(file_writer_create(".", &writer, &err), -EISDIR);
    assert_int_equal(file_writer_create("", &writer, &err), -ENOENT);
}

static void test_pread_all_names_the_end_of_the_file(void **state)
{
    (void)state;
    char data[8];
    put("data", "0123456789");
    CLEANUP(closep) int fd = open("data", O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread_all(fd, data, 8, 2), 0);
    assert_memory_equal(data, "23456789", 8);
    assert_int_equal(pread_all(fd, data, 8, 3), -ENODATA);
    assert_int_equal(pread_all(fd, data, 8, UINT64_MAX), -EINVAL);
    assert_int_equal(pread_all(-1, data, 8, 0), -EBADF);
}

static void test_removal_follows_no_link(void **state)
{
    (void)state;
    struct error err = ERROR_INIT;
    assert_int_equal(mkdir("outside", 0700), 0);
    put("outside/kept", "kept");
    assert_int_equal(mkdir("inside", 0700), 0);
    assert_int_equal(mkdir("inside/deeper", 0700), 0);
    put("inside/deeper/file", "x");
    assert_int_equal(symlink("../outside", "inside/link"), 0);
    assert_int_equal(directory_remove("inside", &err), 0);
    assert_int_equal(access("inside", F_OK), -1);
    assert_content("outside/kept", "kept");
    assert_int_equal(symlink("outside", "direct"), 0);
    assert_true(directory_remove("direct", &err) < 0);
    assert_content("outside/kept", "kept");
    assert_int_equal(directory_remove("none", &err), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_reading_obeys_the_bound, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_maps, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_nobody_sees_a_half_written_file, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_a_link_stays_a_link, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_large_and_reserved_writes_keep_their_order, enter_directory, leave_directory),
        cmocka_unit_test(test_a_full_disk_is_reported_once_at_the_end),
        cmocka_unit_test_setup_teardown(test_where_nothing_can_be_written, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_pread_all_names_the_end_of_the_file, enter_directory, leave_directory),
        cmocka_unit_test_setup_teardown(test_removal_follows_no_link, enter_directory, leave_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
