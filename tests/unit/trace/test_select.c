/* SPDX-License-Identifier: MIT */
/* A part of a trace: what stays, how it is cut, and that what belongs together stays together. */
#include "trace_fixture.h"

#include "trace/select.h"

static struct trace *part_of(const struct trace *trace, const struct trace_part *part)
{
    struct error err = ERROR_INIT;
    struct trace *selected;
    if (trace_select(trace, part, NULL, &selected, &err) < 0)
        fail_msg("%s", err.text);
    return selected;
}

static struct trace *part_where(const struct trace *trace, const char *where)
{
    struct trace_filter *filter;
    assert_int_equal(trace_filter_compile(where, &filter, NULL), 0);
    struct trace *selected = part_of(trace, &(struct trace_part){.where = filter});
    trace_filter_destroy(filter);
    return selected;
}

/* Appends "name begin end parent;" for each span, an unfinished end as "-", no parent as "-". */
static void expect_spans(const struct trace *trace, const char *expected)
{
    char text[512] = "";
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        assert_int_equal(trace_spans_get(trace, i, &block, NULL), 0);
        for (uint32_t row = 0; row < block.info.count; row++) {
            char end[24] = "-", parent[24] = "-";
            if (block.end_ns[row] != INT64_MIN)
                snprintf(end, sizeof(end), "%lld", (long long)block.end_ns[row]);
            if (block.parent && block.parent[row].index != ID_NONE)
                snprintf(parent, sizeof(parent), "%u", block.parent[row].index);
            size_t used = strlen(text);
            snprintf(text + used, sizeof(text) - used, "%s %lld %s %s;", trace_text(trace, block.name[row]), (long long)block.begin_ns[row],
                     end, parent);
        }
        trace_spans_put(trace, &block);
    }
    assert_string_equal(text, expected);
}

static void test_a_window_cuts_spans(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id thread = fixture_track(builder, TRACK_KIND_THREAD, "t", 5), ended = fixture_track(builder, TRACK_KIND_THREAD, "u", 6);
    trace_builder_track(builder, ended)->end_ns = 450;
    trace_builder_process(builder, (process_id){0})->end_ns = 1000;
    fixture_span(builder, thread, 0, 1000, "outer", SPAN_KIND_API);
    fixture_span(builder, thread, 100, 900, "middle", SPAN_KIND_API);
    fixture_span(builder, thread, 250, 300, "inner", SPAN_KIND_API);
    fixture_span(builder, thread, 150, 200, "before", SPAN_KIND_API);
    fixture_span(builder, thread, 500, 600, "after", SPAN_KIND_API);
    fixture_span(builder, thread, 450, INT64_MIN, "open", SPAN_KIND_API);
    fixture_span(builder, ended, 400, INT64_MIN, "unfinished", SPAN_KIND_API);
    for (int64_t time_ns = 100; time_ns <= 900; time_ns += 100)
        assert_int_equal(trace_builder_add_sample(builder, thread, &(struct sample){.time_ns = time_ns, .weight = 1, .stack = STACK_NONE}), 0);
    assert_int_equal(trace_builder_set_metadata(builder, "overhead_ns", "77"), 0);
    struct trace *trace = fixture_finish(builder);
    struct trace *part = part_of(trace, &(struct trace_part){.has_window = true, .begin_ns = 200, .end_ns = 500});
    expect_spans(part, "outer 200 500 -;middle 200 500 0;inner 250 300 1;open 450 500 0;unfinished 400 - -;");
    assert_int_equal(trace_row_count(part, FAMILY_SAMPLES), 4);
    assert_null(trace_metadata(part, "overhead_ns")); /* of the whole run */
    int64_t begin_ns, end_ns;
    trace_extent(part, &begin_ns, &end_ns);
    assert_int_equal(begin_ns, 200);
    assert_int_equal(end_ns, 500);
    trace_unref(part);
    part = part_of(trace, &(struct trace_part){.has_window = true, .begin_ns = INT64_MIN, .end_ns = INT64_MAX});
    trace_extent(part, &begin_ns, &end_ns);
    assert_int_equal(begin_ns, 0);
    assert_int_equal(end_ns, 1000);
    assert_int_equal(trace_row_count(part, FAMILY_SPANS), trace_row_count(trace, FAMILY_SPANS));
    trace_unref(part);
    trace_unref(trace);
}

/* A kernel on the first track was caused by a call on the second one, which stands behind it. */
static void test_parents_and_links_follow_what_stays(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id stream = fixture_track(builder, TRACK_KIND_STREAM, "s", -1), thread = fixture_track(builder, TRACK_KIND_THREAD, "t", 5);
    span_id outer = fixture_span(builder, thread, 0, 100, "keep_outer", SPAN_KIND_API);
    fixture_span(builder, thread, 5, 50, "keep_middle", SPAN_KIND_API);
    span_id call = fixture_span(builder, thread, 10, 20, "launch", SPAN_KIND_LAUNCH), kernel;
    struct span span = {.track = stream, .begin_ns = 30, .end_ns = 40, .kind = SPAN_KIND_KERNEL, .parent = call, .stack = STACK_NONE,
                        .name = trace_builder_string(builder, "keep_kernel")};
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, &kernel), 0);
    trace_builder_add_link(builder, &(struct trace_link){LINK_KIND_FORK, CONFIDENCE_CERTAIN, call, kernel});
    trace_builder_add_link(builder, &(struct trace_link){LINK_KIND_FORK, CONFIDENCE_CERTAIN, outer, kernel});
    trace_builder_add_instant(builder, thread, &(struct instant){7, trace_builder_string(builder, "launch"), STRING_NONE}, NULL);
    trace_builder_add_instant(builder, thread, &(struct instant){8, trace_builder_string(builder, "keep_tick"), STRING_NONE}, NULL);
    struct trace *trace = fixture_finish(builder);
    expect_spans(trace, "keep_kernel 30 40 3;keep_outer 0 100 -;keep_middle 5 50 1;launch 10 20 2;");
    struct trace *part = part_where(trace, "name=keep_*");
    expect_spans(part, "keep_kernel 30 40 2;keep_outer 0 100 -;keep_middle 5 50 1;");
    assert_int_equal(trace_row_count(part, FAMILY_LINKS), 1);
    struct link_block links;
    assert_int_equal(trace_links_get(part, 0, &links, NULL), 0);
    assert_int_equal(links.from[0].index, 1);
    assert_int_equal(links.to[0].index, 0);
    trace_links_put(part, &links);
    assert_int_equal(trace_row_count(part, FAMILY_INSTANTS), 1);
    assert_string_equal(trace_metadata(part, PART_WHERE_KEY), "name=keep_*");
    struct trace *smaller = part_where(part, "thread=t");
    expect_spans(smaller, "keep_outer 0 100 -;keep_middle 5 50 0;");
    uint32_t tracks;
    trace_tracks(smaller, &tracks);
    assert_int_equal(tracks, 1); /* the other one can have no rows */
    assert_string_equal(trace_metadata(smaller, PART_WHERE_KEY), "name=keep_*,thread=t");
    trace_unref(smaller);
    trace_unref(part);
    trace_unref(trace);
}

static void test_a_window_that_ends_before_it_begins_is_refused(void **state)
{
    struct trace *trace = fixture_finish(fixture_builder(0)), *part;
    struct error err = ERROR_INIT;
    assert_int_equal(trace_select(trace, &(struct trace_part){.has_window = true, .begin_ns = 2, .end_ns = 1}, NULL, &part, &err), -EINVAL);
    trace_unref(trace);
}

/* A second node with a clock of its own, its process and thread. */
static track_id other_clock(struct trace_builder *builder)
{
    node_id node;
    process_id process;
    track_id track;
    assert_int_equal(trace_builder_add_node(builder, &(struct trace_node){.name = trace_builder_string(builder, "node1"),
                                                                          .clock_domain = trace_builder_string(builder, "boot:2")}, &node), 0);
    assert_int_equal(trace_builder_add_process(builder, &(struct trace_process){.node = node, .pid = 7, .rank = 1, .end_ns = INT64_MIN,
                     .parent = PROCESS_NONE, .command = trace_builder_string(builder, "other"), .exit_status = -1}, &process), 0);
    assert_int_equal(trace_builder_add_track(builder, &(struct trace_track){.kind = TRACK_KIND_THREAD, .name = trace_builder_string(builder, "o"),
                     .process = process, .tid = 7, .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN}, &track), 0);
    return track;
}

static void test_clocks_that_were_never_compared_are_divided(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id there = other_clock(builder), here = fixture_track(builder, TRACK_KIND_THREAD, "t", 5);
    span_id to = fixture_span(builder, there, 10, 20, "receive", SPAN_KIND_RECV), from = fixture_span(builder, here, 30, 40, "send", SPAN_KIND_SEND);
    fixture_span(builder, here, 50, 60, "more", SPAN_KIND_API);
    assert_int_equal(trace_builder_add_link(builder, &(struct trace_link){LINK_KIND_MESSAGE, CONFIDENCE_CERTAIN, from, to}), 0);
    assert_int_equal(trace_builder_add_ledger(builder, "source", 3, 2, 1, "why"), 0);
    struct trace *trace = fixture_finish(builder), **parts;
    uint32_t count, rows;
    assert_true(trace_has_several_clocks(trace));
    assert_int_equal(trace_split_clocks(trace, NULL, &parts, &count, NULL), 0);
    assert_int_equal(count, 2);
    expect_spans(parts[0], "send 30 40 -;more 50 60 -;");
    expect_spans(parts[1], "receive 10 20 -;");
    for (uint32_t i = 0; i < 2; i++) {
        const struct trace_process *process = trace_processes(parts[i], &rows);
        assert_int_equal(rows, 1);
        assert_int_equal(process->pid, i == 0 ? 42 : 7);
        assert_string_equal(trace_metadata(parts[i], "clock_domain"), i == 0 ? "boot:1" : "boot:2");
        assert_false(trace_has_several_clocks(parts[i]));
        trace_ledger(parts[i], &rows);
        assert_int_equal(rows, i == 0); /* counted once */
        assert_int_equal(trace_row_count(parts[i], FAMILY_LINKS), 0);
        trace_unref(parts[i]);
    }
    free(parts);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_window_cuts_spans),
        cmocka_unit_test(test_parents_and_links_follow_what_stays),
        cmocka_unit_test(test_a_window_that_ends_before_it_begins_is_refused),
        cmocka_unit_test(test_clocks_that_were_never_compared_are_divided),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
