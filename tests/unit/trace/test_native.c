/* SPDX-License-Identifier: MIT */
/* The native file: what is written is read, damage gives an error or less, never a crash, and a growing file is followed. */
#include "trace_fixture.h"

#include "base/file.h"
#include "trace/file_format.h"
#include "trace/lod.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

static char directory[] = "/tmp/hprofiler-test-native-XXXXXX";
static char path[128], other_path[128];

static int setup(void **state)
{
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof(path), "%s/a.hpt", directory);
    snprintf(other_path, sizeof(other_path), "%s/b.hpt", directory);
    return 0;
}

static int teardown(void **state)
{
    return directory_remove(directory, NULL);
}

/* A trace with something of everything. */
static void fill(struct trace_builder *builder, uint32_t spans)
{
    track_id thread = fixture_track(builder, TRACK_KIND_THREAD, "main", 7);
    track_id stream = fixture_track(builder, TRACK_KIND_STREAM, "stream 3", -1);
    track_id counter = fixture_track(builder, TRACK_KIND_COUNTER, "memory", -1);
    struct trace_module module = {.path = trace_builder_string(builder, "/usr/bin/prog")};
    module_id module_index;
    trace_builder_add_module(builder, &module, &module_index);
    stack_id stack = STACK_NONE;
    for (int i = 0; i < 5; i++) {
        char name[24];
        snprintf(name, sizeof(name), "frame%d", i);
        struct trace_frame frame = {.function = trace_builder_string(builder, name), .module = module_index};
        frame_id frame_index;
        trace_builder_add_frame(builder, &frame, &frame_index);
        trace_builder_add_stack(builder, stack, frame_index, &stack);
    }
    uint64_t seed = 99;
    for (uint32_t i = 0; i < spans; i++) {
        char name[24];
        snprintf(name, sizeof(name), "f%u", random_next(&seed) % 20);
        struct span span = {.track = i % 3 ? thread : stream, .begin_ns = (int64_t)i * 100, .parent = SPAN_NONE,
                            .end_ns = (int64_t)i * 100 + random_next(&seed) % 400, .name = trace_builder_string(builder, name),
                            .kind = SPAN_KIND_API, .correlation = i, .stack = i % 5 ? STACK_NONE : stack};
        struct payload payload = {.kind = PAYLOAD_JSON, .json = "{\"bytes\": 123456}", .json_size = 17};
        span_id handle;
        assert_int_equal(trace_builder_add_span(builder, &span, &payload, &handle), 0);
        if (i % 10 == 9) {
            struct trace_link link = {LINK_KIND_LAUNCH, CONFIDENCE_CERTAIN, {handle.index}, handle};
            trace_builder_add_link(builder, &link);
        }
        struct sample sample = {.time_ns = (int64_t)i * 90, .weight = 1000, .stack = stack, .cpu = (uint16_t)(i % 4),
                                .event = SAMPLE_EVENT_CPU_CLOCK};
        trace_builder_add_sample(builder, thread, &sample);
        struct counter_value value = {(int64_t)i * 80, i * 1.25};
        trace_builder_add_counter(builder, counter, &value);
        struct instant instant = {.time_ns = (int64_t)i * 70, .name = span.name};
        trace_builder_add_instant(builder, thread, &instant, &payload);
    }
    trace_builder_set_metadata(builder, "command", "prog");
    trace_builder_add_ledger(builder, "samples", 5, 4, 1, "ring full");
}

static struct trace *make(uint32_t spans)
{
    struct trace_builder *builder = fixture_builder(0);
    fill(builder, spans);
    return fixture_finish(builder);
}

#define COMPARE_COLUMN(column)                                                                                         \
    do {                                                                                                               \
        assert_int_equal(left.column == NULL, right.column == NULL);                                                   \
        if (left.column)                                                                                               \
            assert_memory_equal(left.column, right.column, left.info.count * sizeof(*left.column));                    \
    } while (0)

static void compare_spans(const struct trace *a, const struct trace *b)
{
    assert_int_equal(trace_block_count(a, FAMILY_SPANS), trace_block_count(b, FAMILY_SPANS));
    for (uint32_t i = 0; i < trace_block_count(a, FAMILY_SPANS); i++) {
        struct span_block left, right;
        assert_int_equal(trace_spans_get(a, i, &left, NULL), 0);
        assert_int_equal(trace_spans_get(b, i, &right, NULL), 0);
        assert_memory_equal(&left.info, &right.info, sizeof(left.info));
        COMPARE_COLUMN(begin_ns);
        COMPARE_COLUMN(end_ns);
        COMPARE_COLUMN(name);
        COMPARE_COLUMN(category);
        COMPARE_COLUMN(kind);
        COMPARE_COLUMN(parent);
        COMPARE_COLUMN(correlation);
        COMPARE_COLUMN(stack);
        COMPARE_COLUMN(payload_end);
        assert_memory_equal(left.payload, right.payload, left.payload_end[left.info.count - 1]);
        trace_spans_put(a, &left);
        trace_spans_put(b, &right);
    }
}

static void compare_samples(const struct trace *a, const struct trace *b)
{
    for (uint32_t i = 0; i < trace_block_count(a, FAMILY_SAMPLES); i++) {
        struct sample_block left, right;
        assert_int_equal(trace_samples_get(a, i, &left, NULL), 0);
        assert_int_equal(trace_samples_get(b, i, &right, NULL), 0);
        COMPARE_COLUMN(time_ns);
        COMPARE_COLUMN(weight);
        COMPARE_COLUMN(stack);
        COMPARE_COLUMN(cpu);
        COMPARE_COLUMN(event);
        trace_samples_put(a, &left);
        trace_samples_put(b, &right);
    }
}

static void compare_lods(const struct trace *a, const struct trace *b)
{
    uint32_t tracks;
    trace_tracks(a, &tracks);
    for (uint32_t track = 0; track < tracks; track++) {
        const struct lod *left, *right;
        assert_int_equal(trace_lod(a, FAMILY_SPANS, (track_id){track}, &left, NULL), 0);
        assert_int_equal(trace_lod(b, FAMILY_SPANS, (track_id){track}, &right, NULL), 0);
        assert_int_equal(left->level_count, right->level_count);
        for (uint32_t level = 0; level < left->level_count; level++) {
            assert_int_equal(left->levels[level].count, right->levels[level].count);
            assert_memory_equal(left->levels[level].buckets, right->levels[level].buckets,
                                left->levels[level].count * sizeof(struct lod_bucket));
        }
    }
}

static void compare_tables(const struct trace *a, const struct trace *b)
{
    uint32_t left_count, right_count;
    assert_int_equal(string_table_count(trace_strings(a)), string_table_count(trace_strings(b)));
    const struct trace_frame *left_frames = trace_frames(a, &left_count), *right_frames = trace_frames(b, &right_count);
    assert_int_equal(left_count, right_count);
    assert_int_equal(left_frames[2].function.index, right_frames[2].function.index);
    const struct span_aggregate *left_sums, *right_sums;
    assert_int_equal(trace_span_aggregates(a, &left_sums, &left_count, NULL), 0);
    assert_int_equal(trace_span_aggregates(b, &right_sums, &right_count, NULL), 0);
    assert_int_equal(left_count, right_count);
    assert_memory_equal(left_sums, right_sums, left_count * sizeof(*left_sums));
    assert_string_equal(trace_metadata(b, "command"), "prog");
    assert_int_equal(trace_row_count(a, FAMILY_LINKS), trace_row_count(b, FAMILY_LINKS));
    int64_t a_begin, a_end, b_begin, b_end;
    trace_time_range(a, &a_begin, &a_end);
    trace_time_range(b, &b_begin, &b_end);
    assert_int_equal(a_begin, b_begin);
    assert_int_equal(a_end, b_end);
}

static struct trace *open_native(const char *name)
{
    struct trace *trace;
    struct error err = ERROR_INIT;
    if (trace_open_native(name, &trace, &err) < 0)
        fail_msg("%s", err.text);
    return trace;
}

static void write_native(const struct trace *trace, const char *name)
{
    struct error err = ERROR_INIT;
    if (trace_write_native(trace, name, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static void test_what_is_written_is_read(void **state)
{
    struct trace *trace = make(150000);
    write_native(trace, path);
    struct trace *read = open_native(path);
    assert_null(trace_incomplete(read));
    compare_tables(trace, read);
    compare_spans(trace, read);
    compare_samples(trace, read);
    compare_lods(trace, read);
    trace_unref(trace);
    trace_unref(read);
}

static char *contents(const char *name, size_t *ret_size)
{
    char *data;
    assert_int_equal(file_read(name, 1 << 28, &data, ret_size, NULL), 0);
    return data;
}

static void put_file(const char *name, const char *data, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write_all(fd, data, size), 0);
    close(fd);
}

static void test_same_trace_same_bytes(void **state)
{
    struct trace *trace = make(3000);
    write_native(trace, path);
    struct trace *read = open_native(path);
    write_native(read, other_path);
    size_t size, other_size;
    char *data = contents(path, &size), *other = contents(other_path, &other_size);
    assert_int_equal(size, other_size);
    assert_memory_equal(data, other, size);
    free(data);
    free(other);
    trace_unref(trace);
    trace_unref(read);
}

/* Looks at everything; damage may make any call fail, but nothing worse. Returns span rows that could be read. */
static uint64_t read_all(const struct trace *trace)
{
    uint64_t rows = 0;
    struct error err = ERROR_INIT;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        if (trace_spans_get(trace, i, &block, &err) < 0) {
            assert_non_null(strstr(err.text, "offset"));
            continue;
        }
        for (uint32_t row = 0; row < block.info.count; row++) {
            struct payload payload;
            (void)span_payload(&block, row, &payload);
            (void)trace_text(trace, block.name ? block.name[row] : STRING_NONE);
        }
        rows += block.info.count;
        trace_spans_put(trace, &block);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        if (trace_links_get(trace, i, &block, NULL) == 0)
            trace_links_put(trace, &block);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SAMPLES); i++) {
        struct sample_block block;
        if (trace_samples_get(trace, i, &block, NULL) == 0)
            trace_samples_put(trace, &block);
    }
    const struct span_aggregate *spans;
    const struct sample_aggregate *samples;
    const struct lod *lod;
    uint32_t count;
    (void)trace_span_aggregates(trace, &spans, &count, NULL);
    (void)trace_sample_aggregates(trace, &samples, &count, NULL);
    (void)trace_lod(trace, FAMILY_SPANS, (track_id){0}, &lod, NULL);
    return rows;
}

static void test_truncated_files_give_what_is_whole(void **state)
{
    struct trace *trace = make(20000);
    write_native(trace, path);
    trace_unref(trace);
    size_t size;
    char *data = contents(path, &size);
    uint64_t previous = UINT64_MAX;
    for (size_t cut = size - 1; cut > 0; cut -= cut / 23 + 1) {
        put_file(other_path, data, cut);
        struct trace *read;
        struct error err = ERROR_INIT;
        if (trace_open_native(other_path, &read, &err) < 0) {
            assert_non_null(strstr(err.text, other_path));
            continue;
        }
        assert_non_null(trace_incomplete(read));
        uint64_t rows = read_all(read);
        assert_true(rows <= previous);
        previous = rows;
        trace_unref(read);
    }
    assert_int_equal(previous, 0);
    free(data);
}

/* Every 64 bytes look like the beginning of a chunk: a search that read on anew behind each would read half a terabyte. */
static void test_false_beginnings_cost_one_look_each(void **state)
{
    struct trace *trace = make(10);
    write_native(trace, path);
    trace_unref(trace);
    size_t size, padded = 32u << 20;
    char *data = contents(path, &size), *hostile = calloc(1, padded);
    assert_non_null(hostile);
    memcpy(hostile, data, NATIVE_PAGE);
    for (size_t at = NATIVE_PAGE; at < padded; at += CHUNK_ALIGNMENT)
        memcpy(hostile + at, &(uint32_t){CHUNK_MAGIC}, sizeof(uint32_t));
    put_file(other_path, hostile, padded);
    free(hostile);
    free(data);
    /* CPU time: a busy machine takes no more of it. More than one look each would take hours. */
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {.tv_sec = 60}}, NULL);
    struct trace *read = open_native(other_path);
    setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    assert_int_equal(read_all(read), 0);
    trace_unref(read);
}

static void test_a_lost_table_of_contents_is_rebuilt(void **state)
{
    struct trace *trace = make(20000);
    write_native(trace, path);
    size_t size;
    char *data = contents(path, &size);
    data[size - 20] ^= 1; /* in the footer */
    put_file(other_path, data, size);
    struct trace *read = open_native(other_path);
    assert_non_null(trace_incomplete(read));
    compare_tables(trace, read);
    compare_spans(trace, read);
    compare_lods(trace, read);
    trace_unref(read);
    trace_unref(trace);
    free(data);
}

static void test_flipped_bits_never_crash(void **state)
{
    struct trace *trace = make(4000);
    write_native(trace, path);
    trace_unref(trace);
    size_t size;
    char *data = contents(path, &size);
    uint64_t seed = 5;
    for (int i = 0; i < 200; i++) {
        size_t at = ((size_t)random_next(&seed) << 8 ^ random_next(&seed)) % size;
        char before = data[at];
        data[at] = (char)(before ^ (1 << random_next(&seed) % 8));
        put_file(other_path, data, size);
        struct trace *read;
        struct error err = ERROR_INIT;
        if (trace_open_native(other_path, &read, &err) == 0) {
            read_all(read);
            trace_unref(read);
        } else {
            assert_non_null(strstr(err.text, other_path));
        }
        data[at] = before;
    }
    free(data);
}

static void test_foreign_files_are_refused(void **state)
{
    struct trace *trace;
    struct error err = ERROR_INIT;
    put_file(path, "hello", 5);
    assert_int_equal(trace_open_native(path, &trace, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "offset 0"));
    assert_int_equal(trace_open_native(directory, &trace, &err), -EINVAL);
    assert_int_equal(trace_open_native("/nonexistent/x.hpt", &trace, &err), -ENOENT);
}

/* A file that shrinks while it is open gives errors: nothing is mapped. */
static void test_a_file_that_shrinks_while_open(void **state)
{
    struct trace *trace = make(20000);
    write_native(trace, path);
    trace_unref(trace);
    struct trace *read = open_native(path);
    assert_int_equal(truncate(path, 8192), 0);
    assert_int_equal(read_all(read), 0);
    trace_unref(read);
}

static void test_a_growing_file_is_followed(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    struct trace_stream *stream;
    struct error err = ERROR_INIT;
    assert_int_equal(trace_stream_create(path, &stream, &err), 0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    struct trace *reader = NULL;
    span_id previous = SPAN_NONE;
    for (int step = 0; step < 6; step++) {
        for (int i = 0; i < 1500; i++) {
            char name[24];
            snprintf(name, sizeof(name), "step%d", step);
            int64_t begin_ns = step * 100000 + (1500 - i) * 50; /* backwards: handles differ from ids */
            span_id handle = fixture_span(builder, track, begin_ns, begin_ns + 20, name, SPAN_KIND_API);
            struct trace_link link = {LINK_KIND_LAUNCH, CONFIDENCE_CERTAIN, previous, handle};
            if (previous.index != ID_NONE)
                assert_int_equal(trace_builder_add_link(builder, &link), 0);
            previous = handle;
        }
        struct trace *snapshot;
        assert_int_equal(trace_builder_snapshot(builder, &snapshot, &err), 0);
        assert_int_equal(trace_stream_append(stream, snapshot, &err), 0);
        trace_unref(snapshot);
        struct trace *next;
        if (!reader) {
            next = open_native(path);
        } else {
            assert_int_equal(trace_refresh(reader, &next, &err), 0);
            assert_ptr_not_equal(next, reader);
            trace_unref(reader);
        }
        reader = next;
        assert_true(trace_is_growing(reader));
        assert_int_equal(trace_row_count(reader, FAMILY_SPANS), (step + 1) * 1500);
        assert_int_equal(read_all(reader), (step + 1) * 1500);
        const struct span_aggregate *sums;
        uint32_t count;
        assert_int_equal(trace_span_aggregates(reader, &sums, &count, NULL), 0);
        assert_int_equal(count, step + 1);
        assert_int_equal(sums[0].total_ns, 1500 * 20);
    }
    struct trace *same;
    assert_int_equal(trace_refresh(reader, &same, &err), 0);
    assert_ptr_equal(same, reader);
    trace_unref(same);
    struct link_block links;
    assert_int_equal(trace_links_get(reader, 0, &links, NULL), 0);
    assert_int_equal(links.from[0].index, links.to[0].index + 1); /* added before, begins after */
    trace_links_put(reader, &links);
    trace_stream_destroy(stream);
    struct trace *finished = fixture_finish(builder);
    write_native(finished, path);
    struct trace *last;
    assert_int_equal(trace_refresh(reader, &last, &err), 0);
    assert_false(trace_is_growing(last));
    assert_int_equal(trace_row_count(last, FAMILY_SPANS), 9000);
    trace_unref(last);
    trace_unref(reader);
    trace_unref(finished);
}

static void test_an_empty_trace_is_written_and_read(void **state)
{
    struct trace *trace = fixture_finish(fixture_builder(0));
    write_native(trace, path);
    struct trace *read = open_native(path);
    assert_int_equal(trace_row_count(read, FAMILY_SPANS), 0);
    trace_unref(read);
    trace_unref(trace);
}

static void test_a_full_disk_is_reported(void **state)
{
    if (access("/dev/full", W_OK) != 0)
        skip();
    struct trace *trace = make(100);
    struct trace_stream *stream;
    struct error err = ERROR_INIT;
    assert_int_equal(trace_stream_create("/dev/full", &stream, &err), 0);
    struct trace_builder *builder = fixture_builder(0);
    struct trace *snapshot;
    assert_int_equal(trace_builder_snapshot(builder, &snapshot, &err), 0);
    assert_int_equal(trace_stream_append(stream, snapshot, &err), -ENOSPC);
    trace_unref(snapshot);
    trace_builder_destroy(builder);
    trace_stream_destroy(stream);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_written_is_read),
        cmocka_unit_test(test_same_trace_same_bytes),
        cmocka_unit_test(test_truncated_files_give_what_is_whole),
        cmocka_unit_test(test_false_beginnings_cost_one_look_each),
        cmocka_unit_test(test_a_lost_table_of_contents_is_rebuilt),
        cmocka_unit_test(test_flipped_bits_never_crash),
        cmocka_unit_test(test_foreign_files_are_refused),
        cmocka_unit_test(test_a_file_that_shrinks_while_open),
        cmocka_unit_test(test_a_growing_file_is_followed),
        cmocka_unit_test(test_an_empty_trace_is_written_and_read),
        cmocka_unit_test(test_a_full_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
