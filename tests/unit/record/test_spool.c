/* SPDX-License-Identifier: MIT */
/* The spool: what was appended is read, in order; damage costs what is damaged; the limit drops the oldest. */
#include "unit.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "record/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char directory[64];
static int directory_fd = -1;

static int setup(void **state)
{
    strcpy(directory, "/tmp/test-spool-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    directory_fd = open(directory, O_RDONLY | O_DIRECTORY);
    return directory_fd < 0;
}

static int teardown(void **state)
{
    close(directory_fd);
    return directory_remove(directory, NULL);
}

static struct spool *create(uint64_t limit)
{
    struct spool *spool = NULL;
    struct spool_options options = {.limit_bytes = limit};
    assert_int_equal(spool_create(directory_fd, &options, &spool, NULL), 0);
    return spool;
}

static struct wire_span span_at(uint64_t time)
{
    return (struct wire_span){.header = {WIRE_SPAN, sizeof(struct wire_span) / 8, 3}, .begin = time, .end = time + 5};
}

static void append_spans(struct spool *spool, uint64_t first, size_t count, unsigned flags, uint64_t key)
{
    struct wire_span *spans = calloc(count, sizeof *spans);
    for (size_t i = 0; i < count; i++)
        spans[i] = span_at(first + i * 10);
    struct spool_stream stream = {.process_key = key, .pid = 7, .tid = 8, .thread_serial = 9, .context = 1, .chunk = 2, .lap = 3,
                                  .first = 0, .end = count * sizeof *spans};
    assert_int_equal(spool_append(spool, &stream, flags, spans, count * sizeof *spans), 0);
    free(spans);
}

struct found {
    uint64_t blocks, records, first_time, last_time, keep;
    struct spool_damage damage;
};

static struct found read_all(void)
{
    struct spool_reader *reader = NULL;
    struct error err = ERROR_INIT;
    struct found found = {0};
    struct spool_block block;
    assert_int_equal(spool_reader_create(directory_fd, &reader, &err), 0);
    int code;
    while ((code = spool_reader_next(reader, &block, &err)) > 0) {
        found.blocks++;
        found.keep += block.flags & SPOOL_KEEP ? 1 : 0;
        for (const uint8_t *at = block.data, *end = at + block.size; at < end;) {
            const struct wire_span *record = (const struct wire_span *)(const void *)at;
            if (!found.records++)
                found.first_time = record->begin;
            found.last_time = record->begin;
            at += wire_bytes(&record->header);
        }
    }
    assert_int_equal(code, 0);
    found.damage = *spool_reader_damage(reader);
    spool_reader_destroy(reader);
    return found;
}

static void test_blocks_come_back_in_order(void **state)
{
    struct spool *spool = create(0);
    append_spans(spool, 1000, 100, 0, 5);
    append_spans(spool, 10, 7, SPOOL_KEEP, 0);
    append_spans(spool, 5000, 3000, SPOOL_DENSE, 5);
    struct spool_statistics statistics;
    spool_statistics(spool, &statistics);
    assert_int_equal(statistics.blocks, 3);
    assert_int_equal(statistics.records, 3107);
    assert_true(statistics.stored_bytes < statistics.raw_bytes / 4);
    struct spool_reader *reader = NULL;
    struct spool_block block;
    assert_int_equal(spool_reader_create(directory_fd, &reader, NULL), 0);
    assert_int_equal(spool_reader_next(reader, &block, NULL), 1); /* spool-keep first */
    assert_int_equal(block.records, 7);
    assert_int_equal(spool_reader_next(reader, &block, NULL), 1);
    assert_int_equal(block.records, 100);
    assert_int_equal(block.stream.process_key, 5);
    assert_int_equal(block.stream.tid, 8);
    assert_int_equal(block.stream.thread_serial, 9);
    assert_int_equal(block.stream.lap, 3);
    assert_int_equal(block.stream.end, 4800);
    spool_reader_skip_threads(reader, true);
    assert_int_equal(spool_reader_next(reader, &block, NULL), 1);
    assert_null(block.data);
    assert_int_equal(spool_reader_next(reader, &block, NULL), 0);
    spool_reader_destroy(reader);
    spool_destroy(spool);
    assert_int_equal(read_all().records, 3107);
}

static void test_small_records_are_gathered_and_flushed(void **state)
{
    struct spool *spool = create(0);
    for (uint64_t i = 0; i < 5000; i++) {
        struct wire_span span = span_at(i);
        assert_int_equal(spool_put(spool, 0, &span.header), 0);
    }
    spool_flush(spool, true);
    struct found found = read_all();
    assert_int_equal(found.records, 5000);
    assert_true(found.blocks < 10);
    struct wire_span last = span_at(9);
    int64_t begin_ns = clock_monotonic_ns();
    spool_put(spool, 0, &last.header);
    spool_flush(spool, false);
    found = read_all();
    if (clock_monotonic_ns() - begin_ns < 150000000) /* too young to be written */
        assert_int_equal(found.records, 5000);
    usleep(200000);
    spool_flush(spool, false);
    assert_int_equal(read_all().records, 5001);
    spool_destroy(spool);
}

static void test_limit_drops_the_oldest_but_keeps_what_must_stay(void **state)
{
    struct spool *spool = create(160000);
    append_spans(spool, 1, 50, SPOOL_KEEP, 0);
    for (uint64_t i = 0; i < 400; i++)
        append_spans(spool, 1000000 + i * 1000000, 1000, 0, 5);
    struct spool_statistics statistics;
    spool_statistics(spool, &statistics);
    struct found found = read_all();
    assert_int_equal(found.keep, 1);
    assert_int_equal(found.last_time, 1000000 + 399 * 1000000 + 9990);
    assert_int_equal(found.records + statistics.recycled_records, 50 + 400000);
    assert_true(statistics.recycled_records > 100000);
    uint64_t kept = statistics.stored_bytes - statistics.recycled_bytes;
    assert_true(kept > 100000 && kept < 200000);
    spool_destroy(spool);
}

static void damage_file(const char *name, off_t at, size_t size)
{
    uint8_t garbage[4096];
    memset(garbage, 0x5a, sizeof garbage);
    int fd = openat(directory_fd, name, O_WRONLY);
    assert_int_equal(pwrite(fd, garbage, size, at), size);
    close(fd);
}

static void test_damage_costs_only_what_is_damaged(void **state)
{
    struct spool *spool = create(0);
    for (uint64_t i = 0; i < 10; i++)
        append_spans(spool, i * 100000, 100, 0, 5);
    spool_destroy(spool);
    struct stat info;
    fstatat(directory_fd, "spool-00000001", &info, 0);
    damage_file("spool-00000001", info.st_size / 2, 40);
    struct found found = read_all();
    assert_in_range(found.records, 800, 900);
    assert_true(found.damage.blocks_damaged >= 1);
    assert_non_null(strstr(found.damage.first, "spool-00000001 at offset"));
}

static void test_a_block_cut_short_ends_the_file(void **state)
{
    struct spool *spool = create(0);
    append_spans(spool, 0, 100, 0, 5);
    append_spans(spool, 100000, 100, 0, 5);
    spool_destroy(spool);
    struct stat info;
    fstatat(directory_fd, "spool-00000001", &info, 0);
    int fd = openat(directory_fd, "spool-00000001", O_WRONLY);
    assert_int_equal(ftruncate(fd, info.st_size - 50), 0);
    close(fd);
    assert_int_equal(read_all().records, 100);
}

static void test_foreign_files_are_refused(void **state)
{
    int fd = openat(directory_fd, "spool-00000001", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "PK\3\4 this is something else entirely, and longer than a header of 64 bytes", 70), 70);
    close(fd);
    struct found found = read_all();
    assert_int_equal(found.blocks, 0);
    assert_non_null(strstr(found.damage.first, "not a spool file"));
}

static void test_a_write_beyond_the_file_limit_fails_whole(void **state)
{
    struct spool *spool = create(0);
    append_spans(spool, 0, 1000, 0, 5);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 6000;
    setrlimit(RLIMIT_FSIZE, &limit);
    struct wire_span spans[2000];
    for (size_t i = 0; i < 2000; i++)
        spans[i] = span_at(i * i * 77777);
    struct spool_stream stream = {.process_key = 5};
    assert_int_equal(spool_append(spool, &stream, 0, spans, sizeof spans), -EFBIG);
    setrlimit(RLIMIT_FSIZE, &old);
    append_spans(spool, 0, 10, 0, 5);
    struct found found = read_all();
    assert_int_equal(found.records, 1010);
    assert_int_equal(found.damage.bytes_skipped, 0);
    spool_destroy(spool);
}

static void *appender(void *object)
{
    for (uint64_t i = 0; i < 200; i++)
        append_spans(object, i * 1000, 50, i % 2 ? SPOOL_DENSE : 0, 5);
    return NULL;
}

static void test_threads_append_at_once(void **state)
{
    struct spool *spool = create(0);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, appender, spool);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    spool_destroy(spool);
    struct found found = read_all();
    assert_int_equal(found.blocks, 800);
    assert_int_equal(found.records, 40000);
    assert_int_equal(found.damage.bytes_skipped, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_blocks_come_back_in_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_small_records_are_gathered_and_flushed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_limit_drops_the_oldest_but_keeps_what_must_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(test_damage_costs_only_what_is_damaged, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_block_cut_short_ends_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(test_foreign_files_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_write_beyond_the_file_limit_fails_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(test_threads_append_at_once, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
