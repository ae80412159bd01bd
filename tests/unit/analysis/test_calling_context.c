/* SPDX-License-Identifier: MIT */
/* The calling context tree: paths, weights, order, truncated and missing stacks, windows, recursion. */
#include "../trace/trace_fixture.h"

#include "analysis/calling_context.h"

struct fixture {
    struct trace_builder *builder;
    track_id track;
    module_id own;
    int64_t now_ns;
};

/* A stack from "main a b", outermost first; "a@5" is function a at line 5, "+a" one of the profiler's own code. */
static stack_id stack_of(struct fixture *fixture, const char *path)
{
    char copy[128], *rest = copy, *word;
    stack_id stack = STACK_NONE;
    snprintf(copy, sizeof(copy), "%s", path);
    while ((word = strsep(&rest, " ")) != NULL) {
        char *line = strchr(word, '@');
        if (line)
            *line++ = 0;
        struct trace_frame frame = {.function = trace_builder_string(fixture->builder, word), .module = MODULE_NONE,
                                    .line = line ? (uint32_t)atoi(line) : 0};
        frame_id index;
        if (*word == '+')
            frame.module = fixture->own;
        assert_int_equal(trace_builder_add_frame(fixture->builder, &frame, &index), 0);
        assert_int_equal(trace_builder_add_stack(fixture->builder, stack, index, &stack), 0);
    }
    return stack;
}

static void add(struct fixture *fixture, const char *path, int64_t weight, uint8_t flags, uint8_t event)
{
    struct sample sample = {.time_ns = fixture->now_ns++, .weight = weight, .cpu = UINT16_MAX, .event = event, .flags = flags,
                            .stack = path ? stack_of(fixture, path) : STACK_NONE};
    assert_int_equal(trace_builder_add_sample(fixture->builder, fixture->track, &sample), 0);
}

static struct fixture start(void)
{
    struct fixture fixture = {.builder = fixture_builder(0)};
    struct trace_module own = {.path = trace_builder_string(fixture.builder, "/usr/lib/hprofiler/libhprofiler_mpi.so")};
    fixture.track = fixture_track(fixture.builder, TRACK_KIND_THREAD, "t", 1);
    assert_int_equal(trace_builder_add_module(fixture.builder, &own, &fixture.own), 0);
    return fixture;
}

/* "name:self/total(children)" in order, to compare a whole tree at once. */
static void print_node(const struct trace *trace, const struct calling_context *context, uint32_t index, char *out, size_t size)
{
    const struct context_node *node = &context->nodes[index];
    const char *name = index == 0 ? "root" : trace_text(trace, node->function);
    if (node->flags & CONTEXT_TRUNCATED)
        name = "TRUNCATED";
    if (node->flags & CONTEXT_OWN)
        name = "OWN";
    if (node->flags & CONTEXT_NO_STACK)
        name = "NONE";
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%s:%lld/%lld(", name, (long long)node->self_weight, (long long)node->total_weight);
    for (uint32_t child = node->first_child; child != ID_NONE; child = context->nodes[child].next_sibling)
        print_node(trace, context, child, out, size);
    used = strlen(out);
    snprintf(out + used, size - used, ")");
}

static void check(struct fixture *fixture, const struct context_options *options, const char *expected)
{
    struct trace *trace = fixture_finish(fixture->builder);
    struct calling_context *context;
    assert_int_equal(calling_context_create(trace, options, &context, NULL), 0);
    char text[2048] = "";
    print_node(trace, context, 0, text, sizeof(text));
    assert_string_equal(text, expected);
    calling_context_destroy(context);
    trace_unref(trace);
}

static void test_functions_are_one_node_whatever_their_lines(void **state)
{
    struct fixture fixture = start();
    add(&fixture, "main@1 a@10", 5, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, "main@2 a@11", 6, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, "main@2 b", 100, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, "main@2", 1, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, "main@2 b", 1000, 0, SAMPLE_EVENT_SWITCH); /* not CPU time */
    check(&fixture, NULL, "root:0/112(main:1/112(b:100/100()a:11/11()))");
}

static void test_bottom_up_trees_begin_with_the_leaf(void **state)
{
    struct fixture fixture = start();
    add(&fixture, "main a c", 5, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, "main b c", 7, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, "x c", 1, SAMPLE_TRUNCATED, SAMPLE_EVENT_CPU_CLOCK);
    struct context_options options = {.bottom_up = true};
    check(&fixture, &options, "root:0/13(c:0/13(b:0/7(main:7/7())a:0/5(main:5/5())x:0/1(TRUNCATED:1/1())))");
}

static void test_truncated_stacks_never_look_whole(void **state)
{
    struct fixture fixture = start();
    add(&fixture, "main a", 5, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, "main a", 3, SAMPLE_TRUNCATED, SAMPLE_EVENT_CPU_CLOCK);
    add(&fixture, NULL, 2, SAMPLE_NO_STACK, SAMPLE_EVENT_CPU_CLOCK);
    check(&fixture, NULL, "root:0/10(main:0/5(a:5/5())TRUNCATED:0/3(main:0/3(a:3/3()))NONE:2/2())");
}

static void add_stacks_with_own_code(struct fixture *fixture)
{
    add(fixture, "main +wrap send", 5, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(fixture, "main send", 6, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(fixture, "main +wrap", 1, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(fixture, "main +wrap +span +clock", 2, 0, SAMPLE_EVENT_CPU_CLOCK);
    add(fixture, "+thread +clock", 4, 0, SAMPLE_EVENT_CPU_CLOCK);
}

static void test_own_code_is_left_out_between_frames_and_one_node_at_their_end(void **state)
{
    struct fixture fixture = start();
    add_stacks_with_own_code(&fixture);
    check(&fixture, NULL, "root:0/18(main:0/14(send:11/11()OWN:3/3())OWN:4/4())");
    fixture = start();
    add_stacks_with_own_code(&fixture);
    struct context_options options = {.bottom_up = true};
    check(&fixture, &options, "root:0/18(send:0/11(main:11/11())OWN:4/7(main:3/3()))");
    fixture = start();
    add_stacks_with_own_code(&fixture);
    options = (struct context_options){.own_frames = true};
    check(&fixture, &options, "root:0/18(main:0/14(+wrap:1/8(send:5/5()+span:0/2(+clock:2/2()))send:6/6())+thread:0/4(+clock:4/4()))");
}

static void test_recursion_is_a_path(void **state)
{
    struct fixture fixture = start();
    add(&fixture, "f f f", 4, 0, SAMPLE_EVENT_CPU_CLOCK);
    check(&fixture, NULL, "root:0/4(f:0/4(f:0/4(f:4/4())))");
}

static void test_windows_and_filters_choose_samples(void **state)
{
    struct fixture fixture = start();
    for (int i = 0; i < 10; i++)
        add(&fixture, i % 2 ? "main a" : "main b", 1 + i, 0, SAMPLE_EVENT_TIMER);
    struct trace_filter *filter;
    assert_int_equal(trace_filter_compile("path=main/a", &filter, NULL), 0);
    struct context_options options = {.has_window = true, .window_begin_ns = 2, .window_end_ns = 5, .where = filter};
    check(&fixture, &options, "root:0/10(main:0/10(a:10/10()))");
    trace_filter_destroy(filter);
}

/* A chain as deep as this would take hours if it were walked once a frame. */
static void test_very_deep_stacks(void **state)
{
    struct fixture fixture = start();
    stack_id stack = STACK_NONE;
    for (int i = 0; i < 300000; i++) {
        struct trace_frame frame = {.function = trace_builder_string(fixture.builder, i % 2 ? "even" : "odd"), .module = MODULE_NONE};
        frame_id index;
        assert_int_equal(trace_builder_add_frame(fixture.builder, &frame, &index), 0);
        assert_int_equal(trace_builder_add_stack(fixture.builder, stack, index, &stack), 0);
    }
    struct sample sample = {.weight = 1, .stack = stack, .event = SAMPLE_EVENT_CYCLES};
    assert_int_equal(trace_builder_add_sample(fixture.builder, fixture.track, &sample), 0);
    struct trace *trace = fixture_finish(fixture.builder);
    struct calling_context *context;
    assert_int_equal(calling_context_create(trace, NULL, &context, NULL), 0);
    assert_int_equal(context->count, 300001);
    calling_context_destroy(context);
    trace_unref(trace);
}

static span_id add_call(struct fixture *fixture, const char *path, int64_t begin_ns, int64_t end_ns, const char *name, enum span_kind kind)
{
    struct span span = {.track = fixture->track, .begin_ns = begin_ns, .end_ns = end_ns, .kind = kind, .parent = SPAN_NONE,
                        .name = trace_builder_string(fixture->builder, name), .stack = path ? stack_of(fixture, path) : STACK_NONE};
    span_id handle;
    assert_int_equal(trace_builder_add_span(fixture->builder, &span, NULL, &handle), 0);
    return handle;
}

static span_id add_work(struct fixture *fixture, track_id stream, span_id launch, int64_t begin_ns, int64_t end_ns, const char *name,
                        enum span_kind kind)
{
    span_id work = fixture_span(fixture->builder, stream, begin_ns, end_ns, name, kind);
    struct trace_link link = {LINK_KIND_LAUNCH, CONFIDENCE_CERTAIN, launch, work};
    if (launch.index != ID_NONE)
        assert_int_equal(trace_builder_add_link(fixture->builder, &link), 0);
    return work;
}

/* A region of 100 ns with two calls within, one of which launches; a span without a stack; a sample, which doesn't count. */
static struct fixture calls(void)
{
    struct fixture fixture = start();
    track_id stream = fixture_track(fixture.builder, TRACK_KIND_STREAM, "s", -1);
    add(&fixture, "main other", 1000, 0, SAMPLE_EVENT_CPU_CLOCK);
    add_call(&fixture, "main solve", 0, 100, "parallel", SPAN_KIND_PARALLEL);
    add_call(&fixture, NULL, 5, 95, "range", SPAN_KIND_RANGE);
    span_id launch = add_call(&fixture, "main solve step", 10, 30, "launch", SPAN_KIND_LAUNCH);
    add_call(&fixture, "main solve step", 40, 50, "sync", SPAN_KIND_SYNC);
    span_id graph_launch = add_call(&fixture, "main", 200, 210, "graph launch", SPAN_KIND_LAUNCH);
    add_work(&fixture, stream, launch, 20, 320, "kernel", SPAN_KIND_KERNEL);
    add_work(&fixture, stream, SPAN_NONE, 330, 340, "nobody's", SPAN_KIND_KERNEL);
    add_work(&fixture, stream, graph_launch, 400, 500, "graph", SPAN_KIND_GRAPH);
    add_work(&fixture, stream, SPAN_NONE, 410, 440, "node", SPAN_KIND_KERNEL);
    return fixture;
}

static void test_calls_count_below_their_stacks_with_their_own_time(void **state)
{
    (void)state;
    struct fixture fixture = calls();
    struct context_options options = {.measure = CONTEXT_CALL_TIME};
    check(&fixture, &options, "root:0/110(main:0/110(solve:0/100(parallel:70/70()step:0/30(launch:20/20()sync:10/10()))graph launch:10/10()))");
    fixture = calls();
    options.bottom_up = true;
    check(&fixture, &options, "root:0/110(parallel:0/70(solve:0/70(main:70/70()))launch:0/20(step:0/20(solve:0/20(main:20/20())))"
                              "graph launch:0/10(main:10/10())sync:0/10(step:0/10(solve:0/10(main:10/10()))))");
    fixture = calls();
    options = (struct context_options){.measure = CONTEXT_CALL_COUNT};
    check(&fixture, &options, "root:0/4(main:0/4(solve:0/3(step:0/2(launch:1/1()sync:1/1())parallel:1/1())graph launch:1/1()))");
}

static void test_it_is_counted_how_many_calls_have_a_stack(void **state)
{
    (void)state;
    struct fixture fixture = calls();
    struct trace *trace = fixture_finish(fixture.builder);
    struct context_options options = {.measure = CONTEXT_CALL_TIME, .has_window = true, .window_begin_ns = 0, .window_end_ns = 100};
    struct calling_context *context;
    assert_int_equal(calling_context_create(trace, &options, &context, NULL), 0);
    assert_int_equal(context->calls, 4);
    assert_int_equal(context->calls_with_stack, 3);
    assert_int_equal(context->calls_ns, 100 + 90 + 20 + 10);
    assert_int_equal(context->calls_with_stack_ns, 100 + 20 + 10);
    calling_context_destroy(context);
    trace_unref(trace);
}

static void test_calls_stand_below_the_program_s_frames(void **state)
{
    (void)state;
    struct fixture fixture = start();
    add_call(&fixture, "main solve +GOMP_parallel GOMP_parallel +region", 0, 100, "parallel", SPAN_KIND_PARALLEL);
    add_call(&fixture, "+region", 200, 210, "nobody's", SPAN_KIND_PARALLEL);
    struct context_options options = {.measure = CONTEXT_CALL_TIME};
    check(&fixture, &options, "root:0/110(main:0/100(solve:0/100(GOMP_parallel:0/100(parallel:100/100())))nobody's:10/10())");
}

static void test_device_time_counts_below_what_launched_it(void **state)
{
    (void)state;
    struct fixture fixture = calls();
    struct context_options options = {.measure = CONTEXT_DEVICE_TIME};
    check(&fixture, &options, "root:0/400(main:0/400(solve:0/300(step:0/300(launch:0/300(kernel:300/300())))"
                              "graph launch:0/100(graph:70/70()node:30/30())))");
    fixture = calls();
    options.bottom_up = true;
    check(&fixture, &options, "root:0/400(kernel:0/300(launch:0/300(step:0/300(solve:0/300(main:300/300()))))"
                              "graph:0/70(graph launch:0/70(main:70/70()))node:0/30(graph launch:0/30(main:30/30())))");
}

static void test_windows_cut_calls_and_filters_choose_them(void **state)
{
    (void)state;
    struct fixture fixture = calls();
    struct context_options options = {.measure = CONTEXT_CALL_TIME, .has_window = true, .window_begin_ns = 20, .window_end_ns = 45};
    check(&fixture, &options, "root:0/25(main:0/25(solve:0/25(step:0/15(launch:10/10()sync:5/5())parallel:10/10())))");
    fixture = calls();
    options.measure = CONTEXT_DEVICE_TIME;
    check(&fixture, &options, "root:0/25(main:0/25(solve:0/25(step:0/25(launch:0/25(kernel:25/25())))))");
    fixture = calls();
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    assert_int_equal(trace_filter_compile("kind=parallel", &filter, NULL), 0);
    options = (struct context_options){.measure = CONTEXT_CALL_TIME, .where = filter};
    check(&fixture, &options, "root:0/70(main:0/70(solve:0/70(parallel:70/70())))");
}

static void test_it_is_known_whether_calls_have_stacks(void **state)
{
    (void)state;
    struct fixture fixture = calls();
    struct trace *trace = fixture_finish(fixture.builder);
    assert_true(trace_has_call_stacks(trace));
    trace_unref(trace);
    fixture = start();
    add(&fixture, "main other", 1000, 0, SAMPLE_EVENT_CPU_CLOCK);
    add_call(&fixture, NULL, 0, 100, "parallel", SPAN_KIND_PARALLEL);
    trace = fixture_finish(fixture.builder);
    assert_false(trace_has_call_stacks(trace));
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_one_node_whatever_their_lines),
        cmocka_unit_test(test_bottom_up_trees_begin_with_the_leaf),
        cmocka_unit_test(test_truncated_stacks_never_look_whole),
        cmocka_unit_test(test_own_code_is_left_out_between_frames_and_one_node_at_their_end),
        cmocka_unit_test(test_recursion_is_a_path),
        cmocka_unit_test(test_windows_and_filters_choose_samples),
        cmocka_unit_test(test_very_deep_stacks),
        cmocka_unit_test(test_calls_count_below_their_stacks_with_their_own_time),
        cmocka_unit_test(test_it_is_counted_how_many_calls_have_a_stack),
        cmocka_unit_test(test_calls_stand_below_the_program_s_frames),
        cmocka_unit_test(test_device_time_counts_below_what_launched_it),
        cmocka_unit_test(test_windows_cut_calls_and_filters_choose_them),
        cmocka_unit_test(test_it_is_known_whether_calls_have_stacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
