/* SPDX-License-Identifier: MIT */
/* Chrome JSON that we wrote reads back as the same trace, whatever is in it. */
#include "formats/chrome_reader.h"
#include "formats/exports.h"
#include "random_trace.h"
#include "trace_compare.h"

#include "base/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static char path[64];

static int make_path(void **state)
{
    strcpy(path, "/tmp/hp-chrome-XXXXXX");
    int fd = mkstemp(path);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

static int remove_path(void **state)
{
    return unlink(path);
}

static struct trace *read_back(void)
{
    struct error err = ERROR_INIT;
    struct trace *trace = NULL;
    if (format_chrome.read(path, NULL, NULL, &trace, &err) < 0)
        print_message("%s\n", err.text);
    return trace;
}

static void check_round_trip(const struct trace *trace)
{
    struct error err = ERROR_INIT;
    struct comparison comparison;
    assert_int_equal(format_chrome.write(trace, NULL, path, &err), 0);
    struct trace *again = read_back();
    assert_non_null(again);
    assert_string_equal(trace_difference(&comparison, trace, again), "");
    trace_unref(again);
}

static void test_everything_comes_back(void **state)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct trace *trace = random_trace_make(seed, (unsigned)(seed * 37 % 1500), (unsigned)(seed * 13 % 300));
        assert_non_null(trace);
        check_round_trip(trace);
        trace_unref(trace);
    }
}

static span_id add_span(struct trace_builder *builder, track_id track, int64_t begin_ns, const char *name)
{
    span_id id;
    struct span span = {.track = track, .begin_ns = begin_ns, .end_ns = begin_ns + 10, .name = trace_builder_string(builder, name),
                        .parent = SPAN_NONE, .stack = STACK_NONE};
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, &id), 0);
    return id;
}

static const char *span_name(const struct trace *trace, span_id span)
{
    struct span_block block;
    struct error err = ERROR_INIT;
    uint32_t index, row;
    assert_true(trace_span_find(trace, span, &index, &row));
    assert_int_equal(trace_spans_get(trace, index, &block, &err), 0);
    const char *name = trace_text(trace, block.name[row]);
    trace_spans_put(trace, &block);
    return name;
}

/* There ids are no positions: blocks of one track stand together, but were numbered as they came. */
static void test_links_of_a_growing_trace_come_back(void **state)
{
    struct error err = ERROR_INIT;
    struct trace_builder *builder;
    struct trace *trace, *again;
    track_id tracks[2];
    struct link_block links;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &builder, &err), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(trace_builder_add_track(builder, &(struct trace_track){.kind = TRACK_KIND_THREAD, .process = {ID_NONE}, .tid = i,
                                                 .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN}, &tracks[i]), 0);
    add_span(builder, tracks[0], 0, "first");
    assert_int_equal(trace_builder_snapshot(builder, &trace, &err), 0);
    trace_unref(trace);
    struct trace_link link = {.from = add_span(builder, tracks[1], 100, "from")};
    assert_int_equal(trace_builder_snapshot(builder, &trace, &err), 0);
    trace_unref(trace);
    link.to = add_span(builder, tracks[0], 200, "to");
    assert_int_equal(trace_builder_add_link(builder, &link), 0);
    assert_int_equal(trace_builder_snapshot(builder, &trace, &err), 0);
    assert_int_equal(format_chrome.write(trace, NULL, path, &err), 0);
    again = read_back();
    assert_non_null(again);
    assert_int_equal(trace_row_count(again, FAMILY_LINKS), 1);
    assert_int_equal(trace_links_get(again, 0, &links, &err), 0);
    assert_string_equal(span_name(again, links.from[0]), "from");
    assert_string_equal(span_name(again, links.to[0]), "to");
    trace_links_put(again, &links);
    trace_unref(again);
    trace_unref(trace);
    trace_builder_destroy(builder);
}

static void test_an_empty_trace_comes_back(void **state)
{
    struct error err = ERROR_INIT;
    struct trace_builder *builder;
    struct trace *trace;
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &builder, &err), 0);
    assert_int_equal(trace_builder_finish(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    check_round_trip(trace);
    trace_unref(trace);
}

static void test_pieces_of_any_size_give_the_same_trace(void **state)
{
    struct error err = ERROR_INIT;
    struct comparison comparison;
    struct trace *trace = random_trace_make(7, 300, 50), *again;
    char *data;
    size_t size;
    assert_int_equal(format_chrome.write(trace, NULL, path, &err), 0);
    assert_int_equal(file_read(path, 1 << 28, &data, &size, &err), 0);
    for (size_t chunk = 1; chunk < size; chunk = chunk * 3 + 1) {
        assert_int_equal(chrome_read_memory("memory", data, size, chunk, NULL, &again, &err), 0);
        assert_string_equal(trace_difference(&comparison, trace, again), "");
        trace_unref(again);
    }
    free(data);
    trace_unref(trace);
}

static void check_written_twice(struct trace *trace)
{
    struct error err = ERROR_INIT;
    char *first, *second;
    size_t first_size, second_size;
    assert_int_equal(format_chrome.write(trace, NULL, path, &err), 0);
    assert_int_equal(file_read(path, 1 << 28, &first, &first_size, &err), 0);
    struct trace *again = read_back();
    assert_non_null(again);
    assert_int_equal(format_chrome.write(again, NULL, path, &err), 0);
    assert_int_equal(file_read(path, 1 << 28, &second, &second_size, &err), 0);
    assert_int_equal(first_size, second_size);
    assert_memory_equal(first, second, first_size);
    free(first);
    free(second);
    trace_unref(trace);
    trace_unref(again);
}

static void test_writing_twice_gives_the_same_bytes(void **state)
{
    check_written_twice(random_trace_make(3, 500, 100));
    check_written_twice(random_trace_make(2, 4000, 20000)); /* so many rows that several threads write them, in pieces */
}

/* Cut anywhere, a file still reads: the spans that are whole are there. */
static void test_a_cut_file_gives_what_is_whole(void **state)
{
    struct error err = ERROR_INIT;
    struct trace *trace = random_trace_make(5, 200, 20), *again;
    char *data;
    size_t size;
    assert_int_equal(format_chrome.write(trace, NULL, path, &err), 0);
    assert_int_equal(file_read(path, 1 << 28, &data, &size, &err), 0);
    uint64_t previous = 0;
    size_t step = getenv("HP_SANITIZED") ? 7 * 61 : 61; /* a sanitizer takes ten times as long */
    for (size_t cut = strlen("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"generator\":\"hprofiler\",\"format\":1,\"version\":\"" HP_VERSION "\"},\n\"traceEvents\":[");
         cut < size - 3; cut += step) {
        assert_int_equal(chrome_read_memory("memory", data, cut, 0, NULL, &again, &err), 0);
        assert_true(trace_row_count(again, FAMILY_SPANS) >= previous);
        previous = trace_row_count(again, FAMILY_SPANS);
        trace_unref(again);
    }
    assert_int_equal(previous, trace_row_count(trace, FAMILY_SPANS));
    free(data);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_everything_comes_back, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_links_of_a_growing_trace_come_back, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_an_empty_trace_comes_back, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_pieces_of_any_size_give_the_same_trace, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_writing_twice_gives_the_same_bytes, make_path, remove_path),
        cmocka_unit_test_setup_teardown(test_a_cut_file_gives_what_is_whole, make_path, remove_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
