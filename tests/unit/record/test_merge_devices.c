/* SPDX-License-Identifier: MIT */
/* What ran on devices: lanes, launches, clocks; in whatever order the records come. */
#include "session_fixture.h"

#define MS 1000000

static const char *const names[] = {"launch", "kernel", "the queue", "the device", NULL};
enum { LAUNCH, KERNEL, QUEUE, DEVICE };

struct made {
    struct fixture *fixture;
    uint32_t ids[4];
    int64_t start;
    uint8_t records[8192];
    size_t size;
};

static struct made begin(void **state)
{
    struct made made = {.fixture = *state};
    made.start = session_start_raw_ns(made.fixture->session);
    fixture_process(made.fixture, 4242, FIXTURE_KEY, 0, made.start, names, made.ids);
    return made;
}

static void put(struct made *made, const void *record, size_t size)
{
    assert_true(made->size + size <= sizeof made->records);
    memcpy(made->records + made->size, record, size);
    made->size += size;
}

static void put_launch(struct made *made, uint64_t correlation, int64_t begin_ns, int64_t end_ns)
{
    const struct wire_span span = {.header = {WIRE_SPAN, sizeof span / 8, made->ids[LAUNCH]},
                                   .begin = (uint64_t)(made->start + begin_ns), .end = (uint64_t)(made->start + end_ns),
                                   .correlation = correlation, .layer = WIRE_LAYER_TEST, .span_kind = SPAN_KIND_LAUNCH};
    put(made, &span, sizeof span);
}

static void put_work(struct made *made, uint8_t kind, uint64_t queue, uint32_t clock, uint64_t launch, int64_t begin, int64_t end)
{
    const struct wire_device_span span = {
        .span = {.header = {WIRE_DEVICE_SPAN, sizeof span / 8, made->ids[KERNEL]}, .begin = (uint64_t)begin, .end = (uint64_t)end,
                 .layer = WIRE_LAYER_TEST, .span_kind = kind},
        .queue = queue, .device = 0, .clock = clock, .launch = launch};
    put(made, &span, sizeof span);
}

static void put_queue(struct made *made, uint64_t queue, uint32_t name, int32_t stream)
{
    const struct wire_queue record = {.header = {WIRE_QUEUE, sizeof record / 8, name}, .time = (uint64_t)made->start, .queue = queue,
                                      .device = 3, .stream = stream, .layer = WIRE_LAYER_TEST};
    put(made, &record, sizeof record);
}

static void put_clock(struct made *made, int32_t order, int64_t host_ns, uint64_t device_time)
{
    const struct wire_device_clock record = {.header = {WIRE_DEVICE_CLOCK, sizeof record / 8, 1},
                                             .time = (uint64_t)(made->start + host_ns), .device_time = device_time, .order = order};
    put(made, &record, sizeof record);
}

static struct trace *merge(struct made *made)
{
    fixture_chunk(made->fixture, 4242, FIXTURE_KEY, 0, WIRE_CHUNK_ACTIVE, made->records, made->size);
    return fixture_merge(made->fixture);
}

static const struct trace_track *track_of(const struct trace *trace, enum track_kind kind, unsigned which)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (tracks[i].kind == kind && which-- == 0)
            return &tracks[i];
    fail_msg("no such track");
    return NULL;
}

/* The block of the lane's spans; to be put back. */
static struct span_block block_of(const struct trace *trace, const struct trace_track *track)
{
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(trace, &count);
    struct span_block block = {0};
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++)
        if (&tracks[trace_block_info(trace, FAMILY_SPANS, i).track.index] == track) {
            assert_int_equal(trace_spans_get(trace, i, &block, NULL), 0);
            return block;
        }
    fail_msg("the track has no spans");
    return block;
}

static uint64_t lost_of(const struct trace *trace, const char *source)
{
    uint32_t count;
    const struct ledger_entry *rows = trace_ledger(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(trace_text(trace, rows[i].source), source) == 0)
            return rows[i].lost;
    return 0;
}

static void test_work_finds_its_lane_and_its_launch_though_they_come_later(void **state)
{
    struct made made = begin(state);
    put_work(&made, SPAN_KIND_KERNEL, 77, 0, 5, made.start + 2 * MS, made.start + 4 * MS);
    put_launch(&made, 5, MS, MS + 100);
    put_queue(&made, 77, made.ids[QUEUE], 7);
    const struct wire_device device = {.header = {WIRE_DEVICE, sizeof device / 8, made.ids[DEVICE]}, .device = 3, .layer = WIRE_LAYER_TEST};
    put(&made, &device, sizeof device);
    CLEANUP(trace_unrefp) struct trace *trace = merge(&made);
    const struct trace_track *lane = track_of(trace, TRACK_KIND_STREAM, 0), *whole = track_of(trace, TRACK_KIND_DEVICE, 0);
    assert_string_equal(trace_text(trace, lane->name), "the queue");
    assert_int_equal(lane->device, 3);
    assert_int_equal(lane->stream, 7);
    assert_int_equal(lane->process.index, 0);
    assert_string_equal(trace_text(trace, whole->name), "the device");
    struct span_block block = block_of(trace, lane);
    uint32_t launch = block.parent[0].index, found, row;
    assert_int_equal(block.begin_ns[0], 2 * MS);
    assert_string_equal(trace_text(trace, block.category[0]), "test");
    trace_spans_put(trace, &block);
    assert_true(trace_span_find(trace, (span_id){launch}, &found, &row));
    assert_int_equal(trace_spans_get(trace, found, &block, NULL), 0);
    assert_string_equal(trace_text(trace, block.name[row]), "launch");
    trace_spans_put(trace, &block);
    struct link_block links;
    assert_int_equal(trace_row_count(trace, FAMILY_LINKS), 1);
    assert_int_equal(trace_links_get(trace, 0, &links, NULL), 0);
    assert_int_equal(links.from[0].index, launch);
    assert_true(!links.kind || links.kind[0] == LINK_KIND_LAUNCH);
    assert_true(!links.confidence || links.confidence[0] == CONFIDENCE_CERTAIN);
    trace_links_put(trace, &links);
}

static void test_work_side_by_side_is_nobodys_child_but_a_graphs(void **state)
{
    struct made made = begin(state);
    put_work(&made, SPAN_KIND_KERNEL, 1, 0, 0, made.start, made.start + 10);
    put_work(&made, SPAN_KIND_KERNEL, 1, 0, 0, made.start + 2, made.start + 4);
    put_work(&made, SPAN_KIND_KERNEL, 1, 0, 0, made.start + 6, made.start + 15);
    put_work(&made, SPAN_KIND_GRAPH, 1, 0, 0, made.start + 20, made.start + 40);
    put_work(&made, SPAN_KIND_KERNEL, 1, 0, 0, made.start + 21, made.start + 25);
    put_work(&made, SPAN_KIND_KERNEL, 1, 0, 0, made.start + 23, made.start + 30);
    put_queue(&made, 1, 0, 4);
    CLEANUP(trace_unrefp) struct trace *trace = merge(&made);
    const struct trace_track *lane = track_of(trace, TRACK_KIND_STREAM, 0);
    assert_string_equal(trace_text(trace, lane->name), "stream 4");
    struct span_block block = block_of(trace, lane);
    static const uint32_t parents[] = {ID_NONE, ID_NONE, ID_NONE, ID_NONE, 3, 3};
    for (int i = 0; i < 6; i++)
        assert_int_equal(block.parent ? block.parent[i].index : ID_NONE, parents[i]);
    trace_spans_put(trace, &block);
    const struct span_aggregate *sums;
    uint32_t count;
    assert_int_equal(trace_span_aggregates(trace, &sums, &count, NULL), 0);
    for (uint32_t i = 0; i < count; i++) {
        bool graph = sums[i].kind == SPAN_KIND_GRAPH;
        assert_int_equal(sums[i].total_ns, graph ? 20 : 10 + 2 + 9 + 4 + 7);
        assert_int_equal(sums[i].self_ns, graph ? 20 - 9 : sums[i].total_ns);
    }
}

static void test_a_devices_clock_is_found_from_bounds(void **state)
{
    struct made made = begin(state);
    uint64_t device = 1700000000000000000ull; /* ns since 1970, as some devices count */
    put_work(&made, SPAN_KIND_KERNEL, 1, 1, 0, (int64_t)device, (int64_t)device + 500);
    for (int i = 0; i < 10; i++) {
        put_clock(&made, 1, MS + i * MS - 300, device + (uint64_t)i * MS);
        put_clock(&made, -1, MS + i * MS + 300, device + (uint64_t)i * MS);
    }
    CLEANUP(trace_unrefp) struct trace *trace = merge(&made);
    struct span_block block = block_of(trace, track_of(trace, TRACK_KIND_STREAM, 0));
    assert_int_equal(block.begin_ns[0], MS);
    assert_int_equal(block.end_ns[0], MS + 500);
    trace_spans_put(trace, &block);
    assert_string_equal(trace_metadata(trace, "clock.device.0.pid"), "4242");
    assert_string_equal(trace_metadata(trace, "clock.device.0.readings"), "20");
    assert_non_null(trace_metadata(trace, "clock.device.0.error_ns"));
    long error_ns = strtol(trace_metadata(trace, "clock.device.0.error_ns"), NULL, 10);
    assert_true(error_ns >= 300 && error_ns <= 1000);
    assert_int_equal(lost_of(trace, "device clock"), 0);
}

static void test_what_cannot_be_placed_is_counted(void **state)
{
    struct made made = begin(state);
    put_work(&made, SPAN_KIND_KERNEL, 1, 2, 0, 5, 6);                                /* a clock that nothing is known of */
    put_work(&made, SPAN_KIND_KERNEL, 1, 0, 99, made.start + 5, made.start + 6);     /* launched by what is not there */
    put_work(&made, SPAN_KIND_KERNEL, 1, 0, 0, made.start + 8, made.start + 6);      /* backwards */
    put_clock(&made, 1, 1000, 10);
    put_clock(&made, -1, 900, 10);
    const struct wire_object object = {.header = {WIRE_OBJECT, sizeof object / 8, 0}, .object = 1, .bytes = 10};
    put(&made, &object, sizeof object);
    CLEANUP(trace_unrefp) struct trace *trace = merge(&made);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 1);
    assert_int_equal(lost_of(trace, "device spans"), 1);
    assert_int_equal(lost_of(trace, "launches"), 1);
    assert_int_equal(lost_of(trace, "records"), 1);
    assert_int_equal(lost_of(trace, "device clock"), 2);
    assert_int_equal(lost_of(trace, "device code"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_work_finds_its_lane_and_its_launch_though_they_come_later, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_work_side_by_side_is_nobodys_child_but_a_graphs, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_a_devices_clock_is_found_from_bounds, fixture_setup, fixture_teardown),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_placed_is_counted, fixture_setup, fixture_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
