/* SPDX-License-Identifier: MIT */
/* The timeline without a screen: lanes, cells, single spans, folding, searching, the ruler. */
#include "trace/trace_fixture.h"

#include <errno.h>
#include <math.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "view/timeline.h"

#define MS INT64_C(1000000)

static struct error err;

static struct timeline *timeline_of(struct trace_builder *builder)
{
    struct trace *trace;
    struct timeline *timeline;
    assert_int_equal(trace_builder_finish(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    assert_int_equal(timeline_create(trace, &timeline, &err), 0);
    trace_unref(trace);
    return timeline;
}

static struct timeline *small_timeline(void)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id first = fixture_track(builder, TRACK_KIND_THREAD, "main", 42), second = fixture_track(builder, TRACK_KIND_THREAD, "worker", 43);
    fixture_track(builder, TRACK_KIND_THREAD, "idle", 44);
    fixture_span(builder, first, 0, 100 * MS, "outer", SPAN_KIND_RANGE);
    fixture_span(builder, first, 10 * MS, 20 * MS, "inner", SPAN_KIND_WAIT);
    fixture_span(builder, first, 60 * MS, 60 * MS + 1000, "short", SPAN_KIND_API);
    fixture_span(builder, second, 50 * MS, 100 * MS, "outer", SPAN_KIND_RANGE);
    return timeline_of(builder);
}

static const struct lane_picture *picture_of(struct timeline *timeline, uint32_t lane, int64_t begin_ns, int64_t end_ns, unsigned columns)
{
    const struct lane_picture *picture;
    assert_int_equal(timeline_picture(timeline, lane, begin_ns, end_ns, columns, 4, &picture, &err), 0);
    return picture;
}

static const struct timeline_cell *cell(const struct lane_picture *picture, unsigned row, unsigned column)
{
    return &picture->cells[row * picture->columns + column];
}

static void test_lanes_are_a_tree_without_what_nothing_was_recorded_of(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = small_timeline();
    (void)state;
    assert_int_equal(timeline->lane_count, 3);
    assert_int_equal(timeline->lanes[0].kind, LANE_PROCESS);
    assert_string_equal(timeline->lanes[0].name, "prog 42");
    assert_int_equal(timeline->lanes[0].children, 2);
    assert_string_equal(timeline->lanes[1].name, "main 42");
    assert_int_equal(timeline->lanes[2].parent, 0);
    timeline_fold(timeline, 0, false);
    assert_int_equal(timeline->shown_count, 1);
    timeline_fold(timeline, 0, true);
    assert_int_equal(timeline->shown_count, 3);
}

static void test_cells_tell_what_ran_in_them_by_nesting(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = small_timeline();
    (void)state;
    const struct lane_picture *picture = picture_of(timeline, 1, 0, 100 * MS, 10);
    assert_true(picture->exact);
    assert_int_equal(picture->depth, 2);
    for (unsigned i = 0; i < 10; i++)
        assert_true(cell(picture, 0, i)->busy > 0.999f);
    assert_true(cell(picture, 0, 0)->begins && !cell(picture, 0, 1)->begins);
    assert_true(cell(picture, 1, 1)->busy > 0.999f && cell(picture, 1, 1)->kind == SPAN_KIND_WAIT);
    assert_int_equal(cell(picture, 1, 2)->count, 0); /* it ended where this column begins */
    assert_int_equal(cell(picture, 1, 6)->count, 1); /* far narrower than a column, and still there */
    assert_true(cell(picture, 1, 6)->busy < 0.001f);
}

static void test_a_span_that_began_before_the_window_is_in_it(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = small_timeline();
    (void)state;
    const struct lane_picture *picture = picture_of(timeline, 1, 90 * MS, 100 * MS, 5);
    assert_int_equal(picture->depth, 1);
    assert_true(cell(picture, 0, 0)->busy > 0.999f && !cell(picture, 0, 0)->begins);
}

static void test_single_spans_are_found_by_place_order_and_name(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = small_timeline();
    struct span_facts facts;
    regex_t pattern;
    string_id name;
    (void)state;
    span_id inner = timeline_span_at(timeline, 1, 15 * MS, 16 * MS, 1), outer = timeline_span_at(timeline, 1, 15 * MS, 16 * MS, 0);
    assert_int_equal(timeline_span(timeline, inner, &facts, &err), 0);
    assert_string_equal(trace_text(timeline->trace, facts.span.name), "inner");
    assert_int_equal(facts.span.parent.index, outer.index);
    assert_int_equal(timeline_step(timeline, 1, outer, 0, true).index, inner.index);
    assert_int_equal(timeline_step(timeline, 1, outer, 0, false).index, ID_NONE);
    assert_true(string_table_find(trace_strings(timeline->trace), "outer", 5, &name));
    assert_int_equal(timeline_longest(timeline, name, -1, 0, 100 * MS).index, outer.index);
    assert_int_equal(regcomp(&pattern, "^sh", REG_EXTENDED | REG_NOSUB), 0);
    timeline_search(timeline, &pattern);
    span_id found = timeline_find_next(timeline, SPAN_NONE, true);
    assert_int_equal(timeline_span(timeline, found, &facts, &err), 0);
    assert_string_equal(trace_text(timeline->trace, facts.span.name), "short");
    timeline_search(timeline, NULL);
    regfree(&pattern);
}

/* 100,000 spans: levels of detail, whose sums must be those of the spans. */
static void test_many_spans_are_drawn_from_levels_of_detail(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "main", 42);
    double busy = 0;
    uint64_t count = 0;
    (void)state;
    for (int64_t i = 0; i < 100000; i++)
        fixture_span(builder, track, i * 1000, i * 1000 + 500, "call", SPAN_KIND_API);
    fixture_span(builder, track, 100000000, 200000000, "long", SPAN_KIND_RANGE);
    CLEANUP(timeline_destroyp) struct timeline *timeline = timeline_of(builder);
    const struct lane_picture *picture = picture_of(timeline, 1, 0, 200000000, 20);
    assert_false(picture->exact);
    for (unsigned row = 0; row < picture->depth; row++) {
        for (unsigned i = 0; i < 20; i++) {
            busy += row + 1 == picture->depth || i >= 10 ? cell(picture, row, i)->busy : 0;
            count += row + 1 == picture->depth ? cell(picture, row, i)->count : 0;
        }
    }
    assert_true(busy > 14 && busy < 16); /* half of ten columns, and ten whole ones */
    assert_true(fabs((double)cell(picture, picture->depth - 1, 3)->busy - 0.5) < 0.02); /* however buckets and columns lie */
    assert_true(count >= 100000);
    assert_true(cell(picture, 0, 15)->busy > 0.9f);
    assert_string_equal(trace_text(timeline->trace, cell(picture, 0, 15)->name), "long");
    picture = picture_of(timeline, 1, 0, 100000, 10); /* 100 of them: exact again */
    assert_true(picture->exact);
    assert_int_equal(cell(picture, 0, 3)->count, 10);
}

/* main: `outer` until 100 ms, then in two calls that go on; idle: in one, and nothing else. */
static struct timeline *running_timeline(uint32_t spans)
{
    struct trace *trace;
    struct timeline *timeline;
    struct trace_builder *builder = fixture_builder(0);
    track_id first = fixture_track(builder, TRACK_KIND_THREAD, "main", 42), idle = fixture_track(builder, TRACK_KIND_THREAD, "idle", 44);
    for (uint32_t i = 0; i < spans; i++)
        fixture_span(builder, first, 100 * MS * i / spans, 100 * MS * (i + 1) / spans - (spans > 1), "outer", SPAN_KIND_RECV);
    const struct open_call calls[] = {{idle, 20 * MS, trace_builder_string(builder, "never seen"), STRING_NONE},
                                      {first, 120 * MS, STRING_NONE, STRING_NONE},
                                      {first, 110 * MS, trace_builder_string(builder, "outer"), STRING_NONE}};
    assert_int_equal(trace_builder_set_open(builder, calls, 3), 0);
    assert_int_equal(trace_builder_snapshot(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    assert_int_equal(timeline_create(trace, &timeline, &err), 0);
    trace_unref(trace);
    return timeline;
}

static void test_calls_that_have_not_ended_reach_until_now(void **state)
{
    (void)state;
    for (uint32_t spans = 1; spans <= 20000; spans = spans == 1 ? 20000 : 20001) { /* exact, and by levels of detail */
        CLEANUP(timeline_destroyp) struct timeline *timeline = running_timeline(spans);
        assert_int_equal(timeline->lane_count, 3);
        timeline_set_now(timeline, 200 * MS);
        const struct lane_picture *picture = picture_of(timeline, 1, 0, 400 * MS, 40);
        assert_int_equal(picture->exact, spans == 1);
        unsigned row = spans == 1 ? 0 : picture->depth - 1;
        assert_true(cell(picture, row, 5)->count && !cell(picture, row, 5)->open);
        assert_true(cell(picture, 0, 11)->begins && cell(picture, 0, 11)->open && cell(picture, 0, 19)->open && cell(picture, 1, 19)->open);
        assert_int_equal(cell(picture, 0, 11)->kind, SPAN_KIND_RECV); /* as others of its name */
        assert_int_equal(cell(picture, 0, 20)->count, 0);
        timeline_set_now(timeline, 300 * MS);
        picture = picture_of(timeline, 1, 0, 400 * MS, 40);
        assert_true(cell(picture, 0, 29)->open && !cell(picture, 0, 30)->count);
        picture = picture_of(timeline, 2, 0, 400 * MS, 40);
        assert_true(!cell(picture, 0, 1)->count && cell(picture, 0, 2)->begins && cell(picture, 0, 2)->kind == SPAN_KIND_API);
    }
}

static void test_calls_that_have_not_ended_are_selected_like_spans(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = running_timeline(1);
    struct span_facts facts;
    (void)state;
    timeline_set_now(timeline, 200 * MS);
    span_id inner = timeline_span_at(timeline, 1, 150 * MS, 151 * MS, 4), outer = timeline_span_at(timeline, 1, 150 * MS, 151 * MS, 0);
    assert_int_equal(timeline_span(timeline, outer, &facts, &err), 0);
    assert_true(facts.open && facts.unfinished && facts.lane == 1);
    assert_int_equal(facts.span.begin_ns, 110 * MS);
    assert_int_equal(facts.end_ns, 200 * MS);
    span_id ended = timeline_span_at(timeline, 1, 50 * MS, 51 * MS, 0);
    assert_int_equal(timeline_step(timeline, 1, ended, 0, true).index, outer.index);
    assert_int_equal(timeline_step(timeline, 1, outer, 0, true).index, inner.index);
    assert_int_equal(timeline_step(timeline, 1, inner, 0, true).index, ID_NONE);
    assert_int_equal(timeline_step(timeline, 1, inner, 0, false).index, outer.index);
    assert_int_equal(timeline_step(timeline, 1, outer, 0, false).index, ended.index);
    assert_true(timeline_open_call(timeline, timeline_step(timeline, 2, SPAN_NONE, 0, true), &facts) && facts.span.begin_ns == 20 * MS);
    assert_int_equal(timeline_span(timeline, (span_id){ID_NONE - 4}, &facts, &err), -ENOENT);
    assert_int_equal(timeline_links(timeline, outer, NULL, 0, &err), 0);
}

static void test_idle_lanes_are_hidden_and_found_again(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = small_timeline();
    (void)state;
    assert_true(timeline_hide_idle(timeline, true, 0, 40 * MS, LANE_NONE_INDEX)); /* worker begins at 50 ms */
    assert_int_equal(timeline->shown_count, 2);
    assert_int_equal(timeline->shown[1], 1);
    assert_int_equal(timeline_hidden(timeline), 1);
    assert_false(timeline_hide_idle(timeline, true, 0, 40 * MS, LANE_NONE_INDEX));
    assert_true(timeline_hide_idle(timeline, true, 0, 40 * MS, 2)); /* somebody was led there */
    assert_int_equal(timeline->shown_count, 3);
    assert_true(timeline_hide_idle(timeline, true, 200 * MS, 300 * MS, LANE_NONE_INDEX));
    assert_int_equal(timeline->shown_count, 0); /* nor the process */
    assert_true(timeline_hide_idle(timeline, true, 60 * MS, 70 * MS, LANE_NONE_INDEX));
    assert_int_equal(timeline->shown_count, 3);
    timeline_fold(timeline, 0, false);
    assert_int_equal(timeline->shown_count, 1);
    assert_true(timeline_hide_idle(timeline, false, 60 * MS, 70 * MS, LANE_NONE_INDEX));
    assert_int_equal(timeline_hidden(timeline), 0);
}

static void test_rows_of_a_window_are_written(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = small_timeline();
    CLEANUP(timeline_destroyp) struct timeline *running = running_timeline(1);
    struct text out = TEXT_INIT;
    bool cut;
    (void)state;
    assert_int_equal(timeline_csv(timeline, 15 * MS, 55 * MS, 100, &out, &cut, &err), 0);
    assert_string_equal(out.data, "process,lane,depth,name,category,kind,begin_ns,end_ns,value\n"
                                  "prog 42,main 42,0,outer,,range,0,100000000,\n"
                                  "prog 42,main 42,1,inner,,wait,10000000,20000000,\n"
                                  "prog 42,worker 43,0,outer,,range,50000000,100000000,\n");
    assert_false(cut);
    text_clear(&out);
    assert_int_equal(timeline_csv(timeline, 15 * MS, 55 * MS, 2, &out, &cut, &err), 0);
    assert_true(cut && strstr(out.data, "inner") && !strstr(out.data, "worker"));
    text_clear(&out);
    timeline_set_now(running, 120 * MS);
    assert_int_equal(timeline_csv(running, 115 * MS, 118 * MS, 100, &out, &cut, &err), 0);
    assert_non_null(strstr(out.data, "main 42,0,outer,,recv,110000000,,\n")); /* it has not ended */
    text_finish(&out);
}

/* More spans than are looked at one by one, before the run's zero: as of a part that was cut out of a run. */
static void test_lanes_of_many_spans_are_idle_only_where_they_are(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id busy = fixture_track(builder, TRACK_KIND_THREAD, "busy", 42), late = fixture_track(builder, TRACK_KIND_THREAD, "late", 43);
    (void)state;
    for (int64_t i = -9000; i < 0; i++)
        fixture_span(builder, busy, i * 1000, i * 1000 + 900, "call", SPAN_KIND_API);
    fixture_span(builder, late, 100 * MS, 101 * MS, "late", SPAN_KIND_API);
    CLEANUP(timeline_destroyp) struct timeline *timeline = timeline_of(builder);
    for (int64_t i = -9000; i < 0; i++) {
        timeline_hide_idle(timeline, true, i * 1000 + 100, i * 1000 + 200, LANE_NONE_INDEX);
        assert_false(timeline->lanes[1].idle);
        assert_true(timeline->lanes[2].idle);
    }
    assert_true(timeline_hide_idle(timeline, true, 50 * MS, 60 * MS, LANE_NONE_INDEX));
    assert_int_equal(timeline->shown_count, 0);
    assert_true(timeline_hide_idle(timeline, true, -60 * MS, -50 * MS, LANE_NONE_INDEX));
    assert_int_equal(timeline->shown_count, 0);
}

static void add_value(struct trace_builder *builder, track_id counter, int64_t time_ns, double value)
{
    const struct counter_value at = {.time_ns = time_ns, .value = value};
    assert_int_equal(trace_builder_add_counter(builder, counter, &at), 0);
}

static struct timeline *timeline_with_a_last_moment(void)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id main_thread = fixture_track(builder, TRACK_KIND_THREAD, "main", 42), last = fixture_track(builder, TRACK_KIND_THREAD, "last", 43);
    track_id counter = fixture_track(builder, TRACK_KIND_COUNTER, "rate", -1);
    fixture_span(builder, main_thread, 0, 10 * MS, "work", SPAN_KIND_RANGE);
    fixture_span(builder, last, 20 * MS, 20 * MS, "mark", SPAN_KIND_API);
    add_value(builder, counter, 5 * MS, 1);
    add_value(builder, counter, 12 * MS, 2);
    add_value(builder, counter, 20 * MS, 7);
    return timeline_of(builder);
}

static void test_the_last_moment_belongs_to_the_run(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = timeline_with_a_last_moment();
    struct text out = TEXT_INIT;
    bool cut;
    (void)state;
    assert_int_equal(timeline->last_ns, 20 * MS);
    assert_int_equal(timeline_csv(timeline, 0, 20 * MS, 100, &out, &cut, &err), 0);
    assert_non_null(strstr(out.data, "last 43,0,mark,,api,20000000,20000000,\n"));
    assert_non_null(strstr(out.data, "counter,20000000,,7\n"));
    text_clear(&out);
    assert_int_equal(timeline_csv(timeline, 0, 12 * MS, 100, &out, &cut, &err), 0); /* elsewhere a stretch ends before its end */
    assert_true(strstr(out.data, "counter,5000000,,1\n") && !strstr(out.data, "counter,12000000") && !strstr(out.data, "mark"));
    text_finish(&out);
    assert_true(timeline_hide_idle(timeline, true, 15 * MS, 20 * MS, LANE_NONE_INDEX));
    assert_true(timeline->lanes[1].idle && !timeline->lanes[2].idle);
    assert_int_equal(cell(picture_of(timeline, 2, 0, 20 * MS, 10), 0, 9)->count, 1);
    assert_int_not_equal(timeline_span_at(timeline, 2, 18 * MS, 20 * MS, 0).index, ID_NONE);
}

static void test_values_that_were_left_out_are_told(void **state)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = timeline_with_a_last_moment();
    (void)state;
    for (uint64_t most = 3; most <= 5; most++) { /* the two spans and the three values are five rows */
        struct text out = TEXT_INIT;
        unsigned lines = 0;
        bool cut;
        assert_int_equal(timeline_csv(timeline, 0, 20 * MS, most, &out, &cut, &err), 0);
        for (const char *at = out.data; (at = strchr(at, '\n')); at++)
            lines++;
        assert_int_equal(lines, most + 1);
        assert_int_equal(cut, most < 5);
        text_finish(&out);
    }
}

static void test_a_ruler_has_round_steps(void **state)
{
    char text[64];
    (void)state;
    assert_int_equal(timeline_ruler_step(1000 * MS, 140), 100 * MS);
    assert_int_equal(timeline_ruler_step(1000, 140), 100);
    assert_string_equal(timeline_time_label(text, sizeof text, 250 * MS, 50 * MS), "250 ms");
    assert_string_equal(timeline_time_label(text, sizeof text, 1250 * MS, 50 * MS), "1.25 s");
    assert_string_equal(timeline_time_label(text, sizeof text, 0, 50 * MS), "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lanes_are_a_tree_without_what_nothing_was_recorded_of),
        cmocka_unit_test(test_cells_tell_what_ran_in_them_by_nesting),
        cmocka_unit_test(test_a_span_that_began_before_the_window_is_in_it),
        cmocka_unit_test(test_single_spans_are_found_by_place_order_and_name),
        cmocka_unit_test(test_many_spans_are_drawn_from_levels_of_detail),
        cmocka_unit_test(test_calls_that_have_not_ended_reach_until_now),
        cmocka_unit_test(test_calls_that_have_not_ended_are_selected_like_spans),
        cmocka_unit_test(test_idle_lanes_are_hidden_and_found_again),
        cmocka_unit_test(test_rows_of_a_window_are_written),
        cmocka_unit_test(test_lanes_of_many_spans_are_idle_only_where_they_are),
        cmocka_unit_test(test_the_last_moment_belongs_to_the_run),
        cmocka_unit_test(test_values_that_were_left_out_are_told),
        cmocka_unit_test(test_a_ruler_has_round_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
