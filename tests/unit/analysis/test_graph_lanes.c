/* SPDX-License-Identifier: MIT */
/* How lanes are cut: nesting, time off the processor, streams, and which tracks are lanes at all. */
#include "graph_fixture.h"

static track_id main_of(struct trace_builder *builder)
{
    return fixture_track(builder, TRACK_KIND_THREAD, "main", 42);
}

static void off(struct trace_builder *builder, track_id sched, int64_t begin_ns, int64_t end_ns, const char *reason, uint64_t cpu)
{
    struct payload payload = {.kind = PAYLOAD_BLOCKED};
    set_text(builder, &payload, FIELD_BLOCKED_reason, reason);
    set_u64(&payload, FIELD_BLOCKED_previous_cpu, cpu);
    graph_span(builder, sched, begin_ns, end_ns, reason, SPAN_KIND_BLOCKED, &payload);
}

static void test_intervals_belong_to_the_innermost_span(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = main_of(builder);
    fixture_span(builder, track, 0, 1000, "outer", SPAN_KIND_RANGE);
    fixture_span(builder, track, 100, 400, "inner", SPAN_KIND_RANGE);
    fixture_span(builder, track, 400, 400, "nothing", SPAN_KIND_RANGE);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->lane_count, 1);
    assert_int_equal(made.graph->point_count, 7); /* the process' begin stands before the first */
    assert_int_equal(made.graph->span[point_at(&made, track, 100)].index, 0);
    assert_int_equal(made.graph->span[point_at(&made, track, 1000)].index, 0);
    assert_int_equal(made.graph->end_ns - made.graph->begin_ns, 1000);
    graph_unmade(&made);
    (void)state;
}

static void test_an_open_span_ends_with_the_trace(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = main_of(builder);
    fixture_span(builder, track, 0, 1000, "whole", SPAN_KIND_RANGE);
    fixture_span(builder, track, 500, INT64_MIN, "open", SPAN_KIND_RECV);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->end_ns, 1000);
    assert_int_equal(kind_before(&made, track, 500), INTERVAL_WORK);
    assert_int_equal(made.graph->counts.unexplained, 1);
    graph_unmade(&made);
    (void)state;
}

static void test_time_off_the_processor(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = main_of(builder), sched = fixture_track(builder, TRACK_KIND_SCHED, "", 42);
    fixture_span(builder, track, 0, 5000, "work", SPAN_KIND_RANGE);
    fixture_span(builder, track, 3000, 4000, "MPI_Recv", SPAN_KIND_RECV);
    off(builder, sched, 1000, 1100, "preempted", 0);
    off(builder, sched, 2000, 2500, "blocked", 0);
    off(builder, sched, 3100, 3900, "blocked", 0);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(kind_before(&made, track, 1100), INTERVAL_DESCHEDULED);
    assert_int_equal(kind_before(&made, track, 2500), INTERVAL_UNEXPLAINED); /* nothing says for what it slept */
    assert_int_equal(point_at(&made, track, 3100), POINT_NONE);              /* within a wait it is a part of it */
    assert_int_equal(made.graph->counts.unexplained, 2);
    assert_int_equal(made.graph->counts.unexplained_ns, 500 + 1000);
    graph_unmade(&made);
    (void)state;
}

/* Thread 43 leaves processor 3 at 1500; thread 42, preempted at 1000, runs there from 1510 on, as its next time off says. */
static struct made_graph handover(const struct graph_options *options, uint64_t next_cpu, track_id *ret_tracks)
{
    struct trace_builder *builder = fixture_builder(0);
    ret_tracks[0] = main_of(builder);
    ret_tracks[1] = fixture_track(builder, TRACK_KIND_THREAD, "other", 43);
    track_id sched = fixture_track(builder, TRACK_KIND_SCHED, "", 42), other = fixture_track(builder, TRACK_KIND_SCHED, "", 43);
    fixture_span(builder, ret_tracks[0], 0, 5000, "work", SPAN_KIND_RANGE);
    fixture_span(builder, ret_tracks[1], 0, 5000, "work", SPAN_KIND_RANGE);
    off(builder, sched, 1000, 1510, "preempted", 3);
    off(builder, sched, 4000, 4100, "preempted", next_cpu);
    off(builder, other, 1500, 3000, "preempted", 3);
    return graph_made(builder, options);
}

static void test_who_gave_the_processor_back(void **state)
{
    track_id tracks[2];
    struct made_graph made = handover(NULL, 3, tracks);
    assert_edge(&made, tracks[1], 1500, tracks[0], 1510, EDGE_RULE_PROCESSOR, CONFIDENCE_HIGH, true);
    graph_unmade(&made);
    made = handover(NULL, 2, tracks); /* it came back elsewhere */
    assert_int_equal(edges_by(&made, EDGE_RULE_PROCESSOR), 0);
    graph_unmade(&made);
    made = handover(&(struct graph_options){.no_processor_edges = true}, 3, tracks);
    assert_int_equal(edges_by(&made, EDGE_RULE_PROCESSOR), 0);
    assert_int_equal(kind_before(&made, tracks[0], 1510), INTERVAL_DESCHEDULED);
    graph_unmade(&made);
    (void)state;
}

static track_id stream_of(struct trace_builder *builder)
{
    track_id track = fixture_track(builder, TRACK_KIND_STREAM, "queue", -1);
    trace_builder_track(builder, track)->stream = 0;
    return track;
}

static void test_a_stream_is_one_lane(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id stream = stream_of(builder);
    fixture_span(builder, stream, 100, 200, "first", SPAN_KIND_KERNEL);
    fixture_span(builder, stream, 300, 400, "second", SPAN_KIND_KERNEL);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->lane_count, 1);
    assert_int_equal(made.graph->point_count, 4);
    assert_int_equal(kind_before(&made, stream, 200), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

/* Commands that ran at once are not one behind the other. */
static void test_commands_out_of_order_are_lanes_of_their_own(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id stream = stream_of(builder);
    fixture_span(builder, stream, 0, 100000, "first", SPAN_KIND_KERNEL);
    fixture_span(builder, stream, 10000, 50000, "second", SPAN_KIND_KERNEL);
    fixture_span(builder, stream, 60000, 90000, "third", SPAN_KIND_KERNEL);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->lane_count, 3);
    for (uint32_t l = 0; l < 3; l++)
        assert_true(track_id_is(made.graph->lanes[l].track, stream));
    graph_unmade(&made);
    (void)state;
}

static process_id process_of(struct trace_builder *builder, int32_t pid, int32_t rank, process_id parent)
{
    process_id process;
    const struct trace_process row = {.node = {0}, .pid = pid, .rank = rank, .end_ns = 9000, .start_ns = 0, .parent = parent, .exit_status = 0};
    assert_int_equal(trace_builder_add_process(builder, &row, &process), 0);
    return process;
}

static track_id thread_of(struct trace_builder *builder, process_id process, int32_t tid)
{
    track_id id;
    const struct trace_track track = {.kind = TRACK_KIND_THREAD, .process = process, .tid = tid, .device = -1, .stream = -1, .start_ns = INT64_MIN,
                                      .end_ns = INT64_MIN};
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    return id;
}

static void test_launchers_and_shells_are_no_lanes(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    process_id shell = process_of(builder, 100, -1, PROCESS_NONE), launcher = process_of(builder, 101, -1, shell), rank = process_of(builder, 102, 0, launcher);
    thread_of(builder, shell, 100);
    fixture_span(builder, thread_of(builder, launcher, 101), 0, 8000, "launches", SPAN_KIND_API);
    track_id own = thread_of(builder, rank, 102);
    fixture_span(builder, own, 1000, 2000, "work", SPAN_KIND_RANGE);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->lane_count, 1);
    assert_true(track_id_is(made.graph->lanes[0].track, own));
    assert_int_equal(made.graph->end_ns, 9000); /* a main thread lives as long as its process */
    graph_unmade(&made);
    (void)state;
}

static void limit(struct trace_builder *builder, const char *begin_ns, const char *end_ns)
{
    assert_int_equal(trace_builder_set_metadata(builder, "recording.begin_ns", begin_ns), 0);
    assert_int_equal(trace_builder_set_metadata(builder, "recording.end_ns", end_ns), 0);
}

/* The process lives from 0 to 9000, the recording from 4000 to 5000. */
static struct made_graph limited(bool spans, bool samples, const char *begin_ns, const char *end_ns, track_id *ret_own)
{
    struct trace_builder *builder = fixture_builder(0);
    process_id process = process_of(builder, 102, 0, PROCESS_NONE);
    *ret_own = thread_of(builder, process, 102);
    if (spans)
        fixture_span(builder, *ret_own, 4200, 4400, "work", SPAN_KIND_RANGE);
    const struct sample sample = {.time_ns = 4500, .weight = 1000, .stack = STACK_NONE};
    if (samples)
        assert_int_equal(trace_builder_add_sample(builder, *ret_own, &sample), 0);
    limit(builder, begin_ns, end_ns);
    return graph_made(builder, NULL);
}

static void test_a_life_is_as_long_as_its_recording(void **state)
{
    track_id own;
    struct made_graph made = limited(true, false, "4000", "5000", &own);
    assert_int_equal(made.graph->begin_ns, 4000);
    assert_int_equal(made.graph->end_ns, 5000);
    assert_int_equal(kind_before(&made, own, 5000), INTERVAL_WORK);
    graph_unmade(&made);
    made = limited(false, true, "4000", "5000", &own);
    assert_int_equal(made.graph->end_ns, 5000);
    assert_int_equal(kind_before(&made, own, 5000), INTERVAL_WORK);
    graph_unmade(&made);
    made = limited(false, false, "4000", "5000", &own); /* nobody saw it work */
    assert_int_equal(kind_before(&made, own, 5000), INTERVAL_UNEXPLAINED);
    graph_unmade(&made);
    made = limited(false, false, "9500", "9900", &own); /* it was no more */
    assert_int_equal(made.graph->lane_count, 0);
    graph_unmade(&made);
    (void)state;
}

/* Attached to: it lived before, and goes on when the recording ends. */
static void test_who_was_attached_to_lives_as_long_as_the_recording(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    process_id process = process_of(builder, 102, -1, PROCESS_NONE);
    track_id own = thread_of(builder, process, 102);
    trace_builder_process(builder, process)->attached = true;
    trace_builder_process(builder, process)->end_ns = INT64_MIN;
    for (int64_t time_ns = 1000; time_ns <= 3000; time_ns += 1000)
        assert_int_equal(trace_builder_add_sample(builder, own, &(struct sample){.time_ns = time_ns, .weight = 1000, .stack = STACK_NONE}), 0);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->begin_ns, 1000);
    assert_int_equal(made.graph->end_ns, 3000);
    assert_int_equal(kind_before(&made, own, 3000), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static void test_an_empty_trace_has_an_empty_graph(void **state)
{
    struct made_graph made = graph_made(fixture_builder(0), NULL);
    assert_int_equal(made.graph->point_count, 0);
    assert_int_equal(made.graph->lane_count, 0);
    graph_unmade(&made);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_intervals_belong_to_the_innermost_span),
        cmocka_unit_test(test_an_open_span_ends_with_the_trace),
        cmocka_unit_test(test_time_off_the_processor),
        cmocka_unit_test(test_who_gave_the_processor_back),
        cmocka_unit_test(test_a_stream_is_one_lane),
        cmocka_unit_test(test_commands_out_of_order_are_lanes_of_their_own),
        cmocka_unit_test(test_launchers_and_shells_are_no_lanes),
        cmocka_unit_test(test_a_life_is_as_long_as_its_recording),
        cmocka_unit_test(test_who_was_attached_to_lives_as_long_as_the_recording),
        cmocka_unit_test(test_an_empty_trace_has_an_empty_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
