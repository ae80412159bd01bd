/* SPDX-License-Identifier: MIT */
/* Files of the first version of the format must open for ever, and hold what they held. */
#include "trace_fixture.h"

#include "../../data/native_v1.h"

static struct trace *open_data(const char *name)
{
    char path[4096];
    const char *slash = strrchr(__FILE__, '/');
    snprintf(path, sizeof(path), "%.*s/../../data/%s", (int)(slash - __FILE__), __FILE__, name);
    struct trace *trace;
    struct error err = ERROR_INIT;
    int result = trace_open_native(path, &trace, &err);
    if (result == -EOPNOTSUPP) {
        print_message("skipped: %s\n", err.text);
        skip();
    }
    if (result < 0)
        fail_msg("%s", err.text);
    return trace;
}

static struct trace *expected(bool growing)
{
    struct trace_builder *builder;
    struct trace *trace;
    assert_int_equal(trace_builder_create(NULL, &builder, NULL), 0);
    assert_int_equal(native_v1_fill(builder), 0);
    if (growing)
        assert_int_equal(trace_builder_snapshot(builder, &trace, NULL), 0);
    else
        assert_int_equal(trace_builder_finish(builder, &trace, NULL), 0);
    trace_builder_destroy(builder);
    return trace;
}

static void compare_spans(const struct trace *read, const struct trace *made)
{
    for (uint32_t i = 0; i < trace_block_count(made, FAMILY_SPANS); i++) {
        struct span_block left, right;
        assert_int_equal(trace_spans_get(read, i, &left, NULL), 0);
        assert_int_equal(trace_spans_get(made, i, &right, NULL), 0);
        assert_int_equal(left.info.count, right.info.count);
        for (uint32_t row = 0; row < left.info.count; row++) {
            struct payload payload, other;
            assert_int_equal(left.begin_ns[row], right.begin_ns[row]);
            assert_int_equal(left.end_ns[row], right.end_ns[row]);
            assert_int_equal(left.kind[row], right.kind[row]);
            assert_int_equal(left.parent ? left.parent[row].index : ID_NONE, right.parent ? right.parent[row].index : ID_NONE);
            assert_int_equal(left.correlation[row], right.correlation[row]);
            assert_int_equal(left.stack[row].index, right.stack[row].index);
            assert_string_equal(trace_text(read, left.name[row]), trace_text(made, right.name[row]));
            assert_string_equal(trace_text(read, left.category[row]), "test");
            assert_int_equal(span_payload(&left, row, &payload), 0);
            assert_int_equal(span_payload(&right, row, &other), 0);
            assert_int_equal(payload.json_size, other.json_size);
            assert_memory_equal(payload.json, other.json, other.json_size);
        }
        trace_spans_put(read, &left);
        trace_spans_put(made, &right);
    }
}

static void compare_rest(const struct trace *read, const struct trace *made)
{
    uint32_t count, other_count;
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        assert_int_equal(trace_row_count(read, (enum family)family), trace_row_count(made, (enum family)family));
    const struct trace_process *processes = trace_processes(read, &count);
    assert_int_equal(count, 1);
    assert_int_equal(processes[0].rank, 3);
    assert_string_equal(trace_text(read, processes[0].executable), "/usr/bin/program");
    const struct trace_frame *frames = trace_frames(read, &count);
    assert_int_equal(count, 3);
    assert_int_equal(frames[2].address, 0x1002);
    assert_string_equal(trace_text(read, frames[2].file), "program.c");
    const struct ledger_entry *ledger = trace_ledger(read, &count);
    assert_int_equal(count, 1);
    assert_int_equal(ledger[0].lost, 10);
    assert_string_equal(trace_metadata(read, "command"), "program");
    const struct sample_aggregate *samples, *other;
    assert_int_equal(trace_sample_aggregates(read, &samples, &count, NULL), 0);
    assert_int_equal(trace_sample_aggregates(made, &other, &other_count, NULL), 0);
    assert_int_equal(count, other_count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(samples[i].stack.index, other[i].stack.index);
        assert_int_equal(samples[i].flags, other[i].flags);
        assert_int_equal(samples[i].count, other[i].count);
        assert_int_equal(samples[i].weight, other[i].weight);
    }
    const struct span_aggregate *spans, *other_spans;
    assert_int_equal(trace_span_aggregates(read, &spans, &count, NULL), 0);
    assert_int_equal(trace_span_aggregates(made, &other_spans, &other_count, NULL), 0);
    assert_int_equal(count, other_count);
    assert_int_equal(spans[0].self_ns, other_spans[0].self_ns);
    struct counter_block counters;
    assert_int_equal(trace_counters_get(read, 0, &counters, NULL), 0);
    assert_true(counters.value[299] == 149.5);
    trace_counters_put(read, &counters);
    struct member_block members;
    assert_int_equal(trace_members_get(read, 0, &members, NULL), 0);
    assert_int_equal(members.span[0].index, 299);
    assert_int_equal(members.rank[0], 3);
    trace_members_put(read, &members);
}

static void check(const char *name, bool growing)
{
    struct trace *read = open_data(name), *made = expected(growing);
    assert_int_equal(trace_is_growing(read), growing);
    assert_int_equal(trace_incomplete(read) != NULL, growing);
    compare_spans(read, made);
    compare_rest(read, made);
    trace_unref(read);
    trace_unref(made);
}

static void test_a_finished_file_of_version_1_opens(void **state)
{
    check("native-v1.hpt", false);
}

static void test_a_growing_file_of_version_1_opens(void **state)
{
    check("native-v1-growing.hpt", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_finished_file_of_version_1_opens),
        cmocka_unit_test(test_a_growing_file_of_version_1_opens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
