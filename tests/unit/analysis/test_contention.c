/* SPDX-License-Identifier: MIT */
/* More threads than processors, changed: what one no longer needs the others get. Each case is worked out by hand. */
#include "graph_fixture.h"

#include "analysis/what_if.h"
#include "base/error.h"

struct thread {
    track_id track, sched;
};

static struct thread add_thread(struct trace_builder *builder, const char *name, int32_t tid)
{
    return (struct thread){fixture_track(builder, TRACK_KIND_THREAD, name, tid), fixture_track(builder, TRACK_KIND_SCHED, "", tid)};
}

static void off(struct trace_builder *builder, const struct thread *thread, int64_t begin_ns, int64_t end_ns, const char *reason, uint64_t cpu)
{
    struct payload payload = {.kind = PAYLOAD_BLOCKED};
    set_text(builder, &payload, FIELD_BLOCKED_reason, reason);
    set_u64(&payload, FIELD_BLOCKED_previous_cpu, cpu);
    graph_span(builder, thread->sched, begin_ns, end_ns, reason, SPAN_KIND_BLOCKED, &payload);
}

static int64_t predict(const struct made_graph *made, const char *scale_text)
{
    struct activities *activities;
    struct trace_filter *filter;
    struct what_if_scale scale;
    struct what_if *what_if;
    struct error err = ERROR_INIT;
    assert_int_equal(activities_create(made->trace, NULL, &activities, NULL), 0);
    assert_int_equal(what_if_parse_scale(scale_text, &filter, &scale.factor, NULL), 0);
    scale.filter = filter;
    struct what_if_options options = {.scales = &scale, .scale_count = 1};
    if (what_if_create(made->graph, activities, &options, &what_if, &err) < 0)
        fail_msg("%s", err.text);
    int64_t predicted_ns = what_if->predicted_ns;
    assert_int_equal(what_if->replayed_ns, what_if->measured_ns);
    assert_int_equal(what_if->path->length_ns, predicted_ns);
    what_if_destroy(what_if);
    trace_filter_destroy(filter);
    activities_destroy(activities);
    return predicted_ns;
}

/* One processor, 20 us each in turns of 10: a b a b. */
static void test_two_threads_on_one_processor(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    struct thread a = add_thread(builder, "a", 42), b = add_thread(builder, "b", 43);
    fixture_span(builder, a.track, 0, 30000, "a", SPAN_KIND_RANGE);
    fixture_span(builder, b.track, 0, 40000, "b", SPAN_KIND_RANGE);
    off(builder, &a, 10000, 20000, "preempted", 0);
    off(builder, &a, 30000, 50000, "blocked", 0);
    off(builder, &b, 1, 10000, "preempted", 0);
    off(builder, &b, 20000, 30000, "preempted", 0);
    off(builder, &b, 40000, 50000, "blocked", 0);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->end_ns - made.graph->begin_ns, 40000);
    assert_int_equal(predict(&made, "name=a:0.5"), 30000);
    assert_int_equal(predict(&made, "name=b:0.5"), 30000);
    assert_int_equal(predict(&made, "name=a:2"), 60000);
    assert_int_equal(predict(&made, "name=a:0"), 20001); /* b was seen to run a nanosecond before */
    graph_unmade(&made);
    (void)state;
}

/*
 * Two processors, 20 us each. 0: a until 10, c until 18, a to its end at 28. 1: b to its end at 20, then c, whose last 12 end at 32. With half of b's work c has
 * processor 1 as soon as it leaves the other, at 18. With twice a's, c begins at 20; a, back at 28, ends at 48.
 */
static void test_three_threads_on_two_processors(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    struct thread a = add_thread(builder, "a", 42), b = add_thread(builder, "b", 43), c = add_thread(builder, "c", 44);
    fixture_span(builder, a.track, 0, 28000, "a", SPAN_KIND_RANGE);
    fixture_span(builder, b.track, 0, 20000, "b", SPAN_KIND_RANGE);
    fixture_span(builder, c.track, 0, 32000, "c", SPAN_KIND_RANGE);
    off(builder, &a, 10000, 18000, "preempted", 0);
    off(builder, &a, 28000, 60000, "blocked", 0);
    off(builder, &b, 20000, 60000, "blocked", 1);
    off(builder, &c, 1, 10000, "preempted", 0);
    off(builder, &c, 18000, 20000, "preempted", 0);
    off(builder, &c, 32000, 60000, "blocked", 1);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(made.graph->end_ns - made.graph->begin_ns, 32000);
    assert_int_equal(predict(&made, "name=b:0.5"), 30000);
    assert_int_equal(predict(&made, "name=a:2"), 48000);
    assert_int_equal(predict(&made, "name=c:0.5"), 26000);
    graph_unmade(&made);
    (void)state;
}

/*
 * One processor. The master begins a region at 10 and works in it until 40; the worker, who has been looking for work since its part of the region before, has
 * its own part to do, but no processor before 40: its part is from 40 to 60. It was the processor that it waited for in the end, not the region.
 */
static struct made_graph held_up(uint64_t worker_cpu, track_id *ret_tracks)
{
    struct trace_builder *builder = fixture_builder(0);
    struct thread master = add_thread(builder, "master", 42), worker = add_thread(builder, "worker", 43);
    fixture_span(builder, worker.track, 1000, 2000, "earlier", SPAN_KIND_IMPLICIT_TASK);
    span_id region = fixture_span(builder, master.track, 10000, 60010, "region", SPAN_KIND_PARALLEL);
    const span_id parts[] = {fixture_span(builder, master.track, 10000, 40000, "first", SPAN_KIND_IMPLICIT_TASK),
                             fixture_span(builder, worker.track, 40005, 60000, "second", SPAN_KIND_IMPLICIT_TASK)};
    for (int i = 0; i < 2; i++) {
        graph_link(builder, LINK_KIND_FORK, region, parts[i]);
        graph_link(builder, LINK_KIND_JOIN, parts[i], region);
    }
    off(builder, &worker, 3000, 40003, "preempted", 0);
    off(builder, &worker, 60005, 80000, "blocked", worker_cpu);
    off(builder, &master, 40001, 60006, "preempted", 0);
    off(builder, &master, 75000, 80000, "blocked", 0);
    ret_tracks[0] = master.track;
    ret_tracks[1] = worker.track;
    return graph_made(builder, NULL);
}

static void test_who_waits_for_work_waits_for_a_processor_in_the_end(void **state)
{
    track_id tracks[2];
    struct made_graph made = held_up(0, tracks);
    assert_edge(&made, tracks[0], 40000, tracks[1], 40005, EDGE_RULE_PROCESSOR, CONFIDENCE_HIGH, true);
    int64_t run_ns = made.graph->end_ns - made.graph->begin_ns;
    assert_int_equal(predict(&made, "name=first:0.5"), run_ns - 15000);
    graph_unmade(&made);
    made = held_up(1, tracks); /* it worked on another processor: something else held it up */
    assert_int_equal(edges_by(&made, EDGE_RULE_PROCESSOR), 0);
    graph_unmade(&made);
    (void)state;
}

/* Both machines have a processor 0. */
static void test_a_processor_is_of_its_machine(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    struct trace_node host = {.name = trace_builder_string(builder, "elsewhere")};
    struct thread threads[2];
    node_id node;
    assert_int_equal(trace_builder_add_node(builder, &host, &node), 0);
    for (int i = 0; i < 2; i++) {
        process_id process;
        struct trace_process row = {.pid = 100 + i, .node = i ? node : (node_id){0}, .rank = i, .end_ns = INT64_MIN, .parent = PROCESS_NONE, .exit_status = -1,
                                    .start_ns = INT64_MIN / 8};
        threads[i] = add_thread(builder, "rank", 100 + i);
        assert_int_equal(trace_builder_add_process(builder, &row, &process), 0);
        trace_builder_track(builder, threads[i].track)->process = process;
        trace_builder_track(builder, threads[i].sched)->process = process;
        fixture_span(builder, threads[i].track, 0, 5000, "work", SPAN_KIND_RANGE);
    }
    off(builder, &threads[0], 1000, 1510, "preempted", 0);
    off(builder, &threads[0], 4000, 4100, "preempted", 0);
    off(builder, &threads[1], 1500, 3000, "preempted", 0);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(edges_by(&made, EDGE_RULE_PROCESSOR), 0);
    graph_unmade(&made);
    (void)state;
}

/* A thread of 40 us, for 10 of which somebody unknown had its processor: with half of the work those may go by half, or stay. */
static void test_a_prediction_says_what_it_rests_on(void **state)
{
    for (int recorded = 0; recorded < 2; recorded++) {
        struct trace_builder *builder = fixture_builder(0);
        struct thread thread = add_thread(builder, "a", 42);
        fixture_span(builder, thread.track, 0, 40000, "a", SPAN_KIND_RANGE);
        if (recorded)
            off(builder, &thread, 10000, 20000, "preempted", 0);
        struct made_graph made = graph_made(builder, NULL);
        struct activities *activities;
        struct trace_filter *filter;
        struct what_if_scale scale;
        struct what_if *what_if;
        assert_int_equal(activities_create(made.trace, NULL, &activities, NULL), 0);
        assert_int_equal(what_if_parse_scale("name=a:0.5", &filter, &scale.factor, NULL), 0);
        scale.filter = filter;
        struct what_if_options options = {.scales = &scale, .scale_count = 1};
        assert_int_equal(what_if_create(made.graph, activities, &options, &what_if, NULL), 0);
        const struct what_if_bounds *bounds = &what_if->bounds;
        assert_int_equal(bounds->preempted_known, recorded);
        assert_int_equal(what_if->predicted_ns, 20000);
        assert_int_equal(bounds->sure_edges_ns, 20000);
        assert_int_equal(bounds->changed_ns, 40000);
        assert_int_equal(bounds->preempted_ns, recorded ? 10000 : 0);
        assert_int_equal(bounds->preempted_stays_ns, recorded ? 25000 : 20000);
        assert_int_equal(bounds->low_ns, 20000);
        assert_int_equal(bounds->high_ns, bounds->preempted_stays_ns);
        what_if_destroy(what_if);
        trace_filter_destroy(filter);
        activities_destroy(activities);
        graph_unmade(&made);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_threads_on_one_processor),
        cmocka_unit_test(test_three_threads_on_two_processors),
        cmocka_unit_test(test_who_waits_for_work_waits_for_a_processor_in_the_end),
        cmocka_unit_test(test_a_processor_is_of_its_machine),
        cmocka_unit_test(test_a_prediction_says_what_it_rests_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
