/* SPDX-License-Identifier: MIT */
/* What lanes are called: nothing is said twice. */
#include "trace/trace_fixture.h"

#include "view/lane_label.h"

static struct error err;

static process_id add_process(struct trace_builder *builder, node_id node, const char *command, int32_t pid, int32_t rank)
{
    process_id id;
    struct trace_process facts = {.node = node, .pid = pid, .rank = rank, .parent = PROCESS_NONE, .command = trace_builder_string(builder, command)};
    assert_int_equal(trace_builder_add_process(builder, &facts, &id), 0);
    return id;
}

static track_id add_thread(struct trace_builder *builder, process_id process, const char *name, int32_t tid)
{
    track_id id;
    struct trace_track facts = {.kind = TRACK_KIND_THREAD, .name = trace_builder_string(builder, name), .process = process, .tid = tid, .device = -1, .stream = -1};
    assert_int_equal(trace_builder_add_track(builder, &facts, &id), 0);
    return id;
}

static void test_a_process_and_its_thread_are_not_named_twice(void **state)
{
    struct trace_builder *builder;
    struct trace *trace;
    (void)state;
    node_id node;
    assert_int_equal(trace_builder_create(NULL, &builder, &err), 0);
    assert_int_equal(trace_builder_add_node(builder, &(struct trace_node){.name = trace_builder_string(builder, "node0")}, &node), 0);
    process_id python = add_process(builder, node, "python3", 7399, -1), ranked = add_process(builder, node, "solver", 8000, 3);
    const struct {
        track_id track;
        const char *label;
    } cases[] = {{add_thread(builder, python, "python3", 7399), "python3 (7399)"},
                 {add_thread(builder, python, "python3", 7400), "python3 (7399) python3 (7400)"},
                 {add_thread(builder, python, "worker", 7399), "python3 (7399) worker (7399)"},
                 {add_thread(builder, ranked, "solver", 8000), "rank 3 solver (8000)"}};
    assert_int_equal(trace_builder_finish(builder, &trace, &err), 0);
    trace_builder_destroy(builder);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = TEXT_INIT;
        text_add_lane_label(&text, trace, cases[i].track);
        assert_string_equal(text.data, cases[i].label);
        text_finish(&text);
    }
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_process_and_its_thread_are_not_named_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
