/* SPDX-License-Identifier: MIT */
/* When threads were preempted: whose lane of the scheduler is whose, and how much of a stretch of time it was. */
#include "../trace/trace_fixture.h"

#include "analysis/preempted.h"

static track_id track_of(struct trace_builder *builder, enum track_kind kind, int32_t tid, int64_t start_ns)
{
    struct trace_track track = {.kind = kind, .name = trace_builder_string(builder, "t"), .process = {0}, .tid = tid, .device = -1, .stream = -1,
                                .start_ns = start_ns, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    return id;
}

static void off(struct trace_builder *builder, track_id lane, int64_t begin_ns, int64_t end_ns, const char *why)
{
    fixture_span(builder, lane, begin_ns, end_ns, why, SPAN_KIND_BLOCKED);
}

static void test_only_what_was_preempted_within_counts(void **state)
{
    (void)state;
    struct trace_builder *builder = fixture_builder(0);
    track_id thread = track_of(builder, TRACK_KIND_THREAD, 7, INT64_MIN), lane = track_of(builder, TRACK_KIND_SCHED, 7, INT64_MIN);
    track_id other = track_of(builder, TRACK_KIND_THREAD, 8, INT64_MIN);
    off(builder, lane, 100, 200, "preempted");
    off(builder, lane, 250, 300, "blocked");
    off(builder, lane, 400, 500, "preempted");
    struct trace *trace = fixture_finish(builder);
    struct preempted *preempted;
    assert_int_equal(preempted_create(trace, &preempted, NULL), 0);
    assert_true(preempted->known);
    assert_int_equal(preempted_within(preempted, thread.index, 0, 1000), 200);
    assert_int_equal(preempted_within(preempted, thread.index, 150, 450), 50 + 50);
    assert_int_equal(preempted_within(preempted, thread.index, 200, 400), 0);
    assert_int_equal(preempted_within(preempted, thread.index, 120, 130), 10);
    assert_int_equal(preempted_within(preempted, thread.index, 500, 600), 0);
    assert_int_equal(preempted_within(preempted, other.index, 0, 1000), 0);
    assert_int_equal(preempted_within(preempted, lane.index, 0, 1000), 0);
    preempted_destroy(preempted);
    trace_unref(trace);
}

/* A thread's number is used again: each has the lane that began when it did. */
static void test_a_number_used_again_is_two_threads(void **state)
{
    (void)state;
    struct trace_builder *builder = fixture_builder(0);
    track_id first = track_of(builder, TRACK_KIND_THREAD, 7, 10), second = track_of(builder, TRACK_KIND_THREAD, 7, 500);
    track_id second_lane = track_of(builder, TRACK_KIND_SCHED, 7, 500), first_lane = track_of(builder, TRACK_KIND_SCHED, 7, 10);
    off(builder, first_lane, 20, 30, "preempted");
    off(builder, second_lane, 600, 700, "preempted");
    struct trace *trace = fixture_finish(builder);
    struct preempted *preempted;
    assert_int_equal(preempted_create(trace, &preempted, NULL), 0);
    assert_int_equal(preempted_within(preempted, first.index, 0, 1000), 10);
    assert_int_equal(preempted_within(preempted, second.index, 0, 1000), 100);
    preempted_destroy(preempted);
    trace_unref(trace);
}

static void test_without_records_nothing_is_known(void **state)
{
    (void)state;
    struct trace_builder *builder = fixture_builder(0);
    track_id thread = track_of(builder, TRACK_KIND_THREAD, 7, INT64_MIN);
    fixture_span(builder, thread, 0, 100, "preempted", SPAN_KIND_RANGE);
    struct trace *trace = fixture_finish(builder);
    struct preempted *preempted;
    assert_int_equal(preempted_create(trace, &preempted, NULL), 0);
    assert_false(preempted->known);
    assert_int_equal(preempted_within(preempted, thread.index, 0, 1000), 0);
    preempted_destroy(preempted);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_was_preempted_within_counts),
        cmocka_unit_test(test_a_number_used_again_is_two_threads),
        cmocka_unit_test(test_without_records_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
