/* SPDX-License-Identifier: MIT */
/* The filter language: what is accepted, what matches, what the errors say. */
#include "trace_fixture.h"

#include "base/text.h"
#include "trace/filter.h"

static void expect_error(const char *text, const char *part)
{
    struct trace_filter *filter;
    struct error err = ERROR_INIT;
    assert_int_equal(trace_filter_compile(text, &filter, &err), -EINVAL);
    if (!strstr(err.text, part))
        fail_msg("'%s' has no '%s'", err.text, part);
}

static void test_errors_name_position_and_what_there_is(void **state)
{
    expect_error("nam=x", "position 1");
    expect_error("nam=x", "name category kind");
    expect_error("name=a,foo", "position 8");
    expect_error("name=a,,kind=api", "position 8");
    expect_error("kind=kernle", "kernel copy");
    expect_error("name=a,", "position 8");
}

struct scene {
    struct trace *trace;
    struct span_block block;
};

/* Row 0: outer [0,100]; 1: "a,b" in it; 2: leaf in that; on a thread of rank 2; all in one block. */
static struct scene make(void)
{
    struct trace_builder *builder = fixture_builder(0);
    trace_builder_process(builder, (process_id){0})->rank = 2;
    struct trace_track track = {.kind = TRACK_KIND_STREAM, .name = trace_builder_string(builder, "queue"), .process = {0},
                                .tid = 77, .device = 1, .stream = 5, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id id;
    assert_int_equal(trace_builder_add_track(builder, &track, &id), 0);
    fixture_span(builder, id, 0, 100, "outer", SPAN_KIND_GRAPH); /* what on a stream holds others */
    fixture_span(builder, id, 10, 60, "a,b", SPAN_KIND_KERNEL);
    fixture_span(builder, id, 20, 30, "back\\slash", SPAN_KIND_KERNEL);
    struct scene scene = {.trace = fixture_finish(builder)};
    assert_int_equal(trace_spans_get(scene.trace, 0, &scene.block, NULL), 0);
    return scene;
}

/* Bit i: row i matches. */
static unsigned matches(const struct scene *scene, const char *text)
{
    struct trace_filter *filter;
    struct filter_match *match;
    struct error err = ERROR_INIT;
    if (trace_filter_compile(text, &filter, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(filter_match_create(filter, scene->trace, &match), 0);
    unsigned bits = 0;
    for (uint32_t row = 0; row < scene->block.info.count; row++)
        bits |= (unsigned)filter_match_span(match, &scene->block, row) << row;
    filter_match_destroy(match);
    trace_filter_destroy(filter);
    return bits;
}

static void test_terms(void **state)
{
    struct scene scene = make();
    static const struct {
        const char *text;
        unsigned rows;
    } cases[] = {
        {"", 7}, {"name=*", 7}, {"name=outer", 1}, {"name=a\\,b", 2}, {"name=back\\\\slash", 4}, {"name=out", 0},
        {"kind=kernel", 6}, {"kind=k*", 6}, {"kind=kernel,name=a*", 2}, {"name=?????", 1},
        {"rank=2", 7}, {"rank=3", 0}, {"device=1", 7}, {"stream=5", 7}, {"stream=6", 0}, {"thread=queue", 7}, {"thread=77", 7},
        {"process=prog", 7}, {"process=42", 7}, {"process=p", 0}, {"node=node*", 7}, {"node=other", 0},
        {"path=outer", 1}, {"path=outer/a\\,b", 2}, {"path=outer/*", 6}, {"path=*slash", 4}, {"category=", 7}, {"category=x", 0},
        {" name=outer", 1}, {"name=outer, kind=graph", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (matches(&scene, cases[i].text) != cases[i].rows)
            fail_msg("'%s': rows %x, not %x", cases[i].text, matches(&scene, cases[i].text), cases[i].rows);
    }
    assert_int_equal(matches(&scene, NULL), 7);
    trace_spans_put(scene.trace, &scene.block);
    trace_unref(scene.trace);
}

static void test_a_filter_that_matches_nothing_is_explained(void **state)
{
    struct scene scene = make();
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"thread=nope", "no thread has the name or number 'nope'"},
        {"thread=queue,process=x,rank=3", "no process has the name or number 'x', no process has rank '3'"},
        {"node=other,device=9,stream=9", "no machine is called 'other', no device has the number '9', no stream has the number '9'"},
        {"name=l*,category=?", "no function and no span is called 'l*', no span is of category '?'"},
        {"name=outer,kind=kernel", ""}, {"path=nowhere", ""},
        {"name=\x1b[2J", "no function and no span is called '?[2J'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trace_filter *filter;
        struct text reason = TEXT_INIT;
        assert_int_equal(trace_filter_compile(cases[i].text, &filter, NULL), 0);
        filter_explain(filter, scene.trace, &reason);
        assert_string_equal(reason.data ? reason.data : "", cases[i].reason);
        text_finish(&reason);
        trace_filter_destroy(filter);
    }
    trace_spans_put(scene.trace, &scene.block);
    trace_unref(scene.trace);
}

static void test_samples_match_by_leaf_and_path(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    stack_id stack = STACK_NONE;
    const char *const names[] = {"main", "solve", "leaf"};
    for (int i = 0; i < 3; i++) {
        struct trace_frame frame = {.function = trace_builder_string(builder, names[i]), .module = MODULE_NONE};
        frame_id index;
        assert_int_equal(trace_builder_add_frame(builder, &frame, &index), 0);
        assert_int_equal(trace_builder_add_stack(builder, stack, index, &stack), 0);
    }
    struct sample sample = {.time_ns = 1, .weight = 1, .stack = stack, .event = SAMPLE_EVENT_SWITCH};
    assert_int_equal(trace_builder_add_sample(builder, track, &sample), 0);
    struct trace *trace = fixture_finish(builder);
    static const struct {
        const char *text;
        bool holds;
    } cases[] = {{"name=leaf", true}, {"name=main", false}, {"path=main/solve/leaf", true}, {"path=main/*", true},
                 {"path=solve*", false}, {"kind=blocked", true}, {"kind=compute", false}, {"device=*", false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct trace_filter *filter;
        struct filter_match *match;
        struct sample_block block;
        assert_int_equal(trace_filter_compile(cases[i].text, &filter, NULL), 0);
        assert_int_equal(filter_match_create(filter, trace, &match), 0);
        assert_int_equal(trace_samples_get(trace, 0, &block, NULL), 0);
        assert_int_equal(filter_match_sample(match, &block, 0), cases[i].holds);
        trace_samples_put(trace, &block);
        filter_match_destroy(match);
        trace_filter_destroy(filter);
    }
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors_name_position_and_what_there_is),
        cmocka_unit_test(test_terms),
        cmocka_unit_test(test_a_filter_that_matches_nothing_is_explained),
        cmocka_unit_test(test_samples_match_by_leaf_and_path),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
