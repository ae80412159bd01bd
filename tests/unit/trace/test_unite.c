/* SPDX-License-Identifier: MIT */
/* Several traces as one: all rows are there under new numbers, times are moved, what is the same is there once. */
#include "trace_fixture.h"

#include "trace/unite.h"

static int64_t later(const void *context, int64_t time_ns)
{
    return time_ns + *(const int64_t *)context;
}

/* A thread with an outer and an inner span (a launch with a payload that has a string), a sample, an instant, a counter, a link, a group. */
static struct trace *make_part(const char *command, uint64_t correlation)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id thread = fixture_track(builder, TRACK_KIND_THREAD, command, 42), counter = fixture_track(builder, TRACK_KIND_COUNTER, "load", -1);
    struct trace_process *process = trace_builder_process(builder, (process_id){0});
    process->command = trace_builder_string(builder, command);
    process->end_ns = 900;
    module_id module, own_module;
    frame_id frame, own_frame;
    stack_id root, leaf;
    group_id group;
    const struct trace_module shared = {.path = trace_builder_string(builder, "/lib/libm.so"), .build_id = trace_builder_string(builder, "abcd")};
    const struct trace_module own = {.path = trace_builder_string(builder, command)};
    assert_int_equal(trace_builder_add_module(builder, &own, &own_module), 0);
    assert_int_equal(trace_builder_add_module(builder, &shared, &module), 0);
    const struct trace_frame in_shared = {.function = trace_builder_string(builder, "sin"), .module = module, .address = 16};
    const struct trace_frame in_own = {.function = trace_builder_string(builder, "main"), .module = own_module};
    assert_int_equal(trace_builder_add_frame(builder, &in_own, &own_frame), 0);
    assert_int_equal(trace_builder_add_frame(builder, &in_shared, &frame), 0);
    assert_int_equal(trace_builder_add_stack(builder, STACK_NONE, own_frame, &root), 0);
    assert_int_equal(trace_builder_add_stack(builder, root, frame, &leaf), 0);
    span_id outer = fixture_span(builder, thread, 100, 800, "outer", SPAN_KIND_API), inner;
    const struct span span = {.track = thread, .begin_ns = 200, .end_ns = INT64_MIN, .kind = SPAN_KIND_SEND, .parent = outer, .correlation = correlation,
                              .name = trace_builder_string(builder, "inner"), .stack = leaf};
    struct payload payload = {.kind = PAYLOAD_MESSAGE, .present = 1u << FIELD_MESSAGE_mode | 1u << FIELD_MESSAGE_order};
    payload.fields[FIELD_MESSAGE_mode].string = trace_builder_string(builder, "synchronous");
    payload.fields[FIELD_MESSAGE_order].u64 = correlation;
    assert_int_equal(trace_builder_add_span(builder, &span, &payload, &inner), 0);
    assert_int_equal(trace_builder_add_link(builder, &(struct trace_link){.kind = LINK_KIND_REQUEST, .from = outer, .to = inner}), 0);
    assert_int_equal(trace_builder_add_group(builder, &(struct trace_group){.kind = LINK_KIND_COLLECTIVE, .sequence = 7}, &group), 0);
    assert_int_equal(trace_builder_add_member(builder, &(struct group_member){.group = group, .span = inner, .rank = 3}), 0);
    assert_int_equal(trace_builder_add_sample(builder, thread, &(struct sample){.time_ns = 300, .weight = 5, .stack = leaf, .cpu = 1}), 0);
    assert_int_equal(trace_builder_add_instant(builder, thread, &(struct instant){.time_ns = 400, .name = in_own.function}, NULL), 0);
    assert_int_equal(trace_builder_add_counter(builder, counter, &(struct counter_value){500, 0.5}), 0);
    return fixture_finish(builder);
}

struct united {
    struct trace *parts[2], *whole;
    uint32_t processes[2];
};

/* The second part an hour later, on a node of its own; both parts' groups are one. */
static void unite(struct united *united)
{
    static const int64_t delays[] = {0, INT64_C(3600000000000)};
    static const uint64_t correlations[] = {9, 9};
    struct trace_unite *unite;
    struct error err = ERROR_INIT;
    assert_int_equal(trace_unite_create(NULL, &unite, &err), 0);
    struct trace_builder *builder = trace_unite_builder(unite);
    node_id nodes[2];
    group_id group;
    for (int i = 0; i < 2; i++)
        assert_int_equal(trace_builder_add_node(builder, &(struct trace_node){.name = trace_builder_string(builder, i ? "b" : "a")}, &nodes[i]), 0);
    assert_int_equal(trace_builder_add_group(builder, &(struct trace_group){.kind = LINK_KIND_COLLECTIVE, .sequence = 1}, &(group_id){0}), 0);
    assert_int_equal(trace_builder_add_group(builder, &(struct trace_group){.kind = LINK_KIND_COLLECTIVE, .sequence = 7}, &group), 0);
    for (int i = 0; i < 2; i++) {
        united->parts[i] = make_part(i ? "second" : "first", correlations[i]);
        const struct unite_part part = {
            .trace = united->parts[i], .nodes = &nodes[i], .groups = &group, .time = later, .time_context = &delays[i]};
        assert_int_equal(trace_unite_add(unite, &part, &united->processes[i], &err), 0);
    }
    const struct trace_link link = {.kind = LINK_KIND_MESSAGE, .confidence = CONFIDENCE_HIGH, .from = {0}, .to = {1}};
    assert_int_equal(trace_unite_link(unite, 0, 1, &link), 0);
    assert_int_equal(trace_unite_link(unite, 0, 2, &link), -EINVAL);
    assert_int_equal(trace_unite_link(unite, 0, 1, &(struct trace_link){.from = {0}, .to = {99}}), -EINVAL);
    assert_int_equal(trace_unite_finish(unite, &united->whole, &err), 0);
    trace_unite_destroy(unite);
}

static void forget(struct united *united)
{
    trace_unref(united->parts[0]);
    trace_unref(united->parts[1]);
    trace_unref(united->whole);
}

static void test_tables_are_joined(void **state)
{
    struct united united;
    uint32_t count;
    unite(&united);
    const struct trace_process *processes = trace_processes(united.whole, &count);
    assert_int_equal(count, 2);
    assert_int_equal(united.processes[1], 1);
    assert_int_equal(processes[1].node.index, 1);
    assert_int_equal(processes[1].end_ns, INT64_C(3600000000000) + 900);
    assert_string_equal(trace_text(united.whole, processes[1].command), "second");
    const struct trace_track *tracks = trace_tracks(united.whole, &count);
    assert_int_equal(count, 4);
    assert_int_equal(tracks[2].process.index, 1);
    assert_true(tracks[2].start_ns == INT64_MIN);
    trace_modules(united.whole, &count);
    assert_int_equal(count, 3); /* libm once */
    trace_frames(united.whole, &count);
    assert_int_equal(count, 3); /* sin once, main of two programs */
    trace_stacks(united.whole, &count);
    assert_int_equal(count, 4);
    forget(&united);
}

static void test_spans_keep_what_they_are(void **state)
{
    struct united united;
    unite(&united);
    assert_int_equal(trace_row_count(united.whole, FAMILY_SPANS), 4);
    struct span_block block;
    uint64_t correlations[2];
    for (uint32_t i = 0; i < 2; i++) {
        int64_t delay = i ? INT64_C(3600000000000) : 0;
        struct payload payload;
        assert_int_equal(trace_spans_get(united.whole, i, &block, NULL), 0);
        assert_int_equal(block.info.count, 2);
        assert_int_equal(block.begin_ns[1], 200 + delay);
        assert_true(block.end_ns[1] == INT64_MIN);
        assert_int_equal(block.parent[1].index, block.info.first);
        assert_int_equal(span_payload(&block, 1, &payload), 0);
        assert_string_equal(trace_text(united.whole, payload.fields[FIELD_MESSAGE_mode].string), "synchronous");
        assert_int_equal(payload.fields[FIELD_MESSAGE_order].u64, 9);
        correlations[i] = block.correlation[1];
        trace_spans_put(united.whole, &block);
    }
    assert_int_equal(correlations[0], 9);
    assert_int_equal(correlations[1], (UINT64_C(1) << 40) + 9);
    forget(&united);
}

static void test_links_and_members_lead_to_the_same_spans(void **state)
{
    struct united united;
    struct link_block links;
    struct member_block members;
    unite(&united);
    assert_int_equal(trace_links_get(united.whole, 0, &links, NULL), 0);
    assert_int_equal(links.info.count, 3);
    unsigned seen = 0;
    for (uint32_t i = 0; i < 3; i++) {
        bool message = links.kind[i] == LINK_KIND_MESSAGE;
        uint32_t from = links.from[i].index, to = links.to[i].index;
        assert_true(message ? from == 0 && to == 3 && links.confidence[i] == CONFIDENCE_HIGH : to == from + 1 && (from == 0 || from == 2));
        seen |= 1u << (message ? 0 : 1 + from);
    }
    assert_int_equal(seen, 1 | 2 | 8);
    trace_links_put(united.whole, &links);
    assert_int_equal(trace_members_get(united.whole, 0, &members, NULL), 0);
    assert_int_equal(members.info.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(members.group[i].index, 1);
        assert_int_equal(members.rank[i], 3);
        assert_int_equal(members.span[i].index, 1 + 2 * i);
    }
    trace_members_put(united.whole, &members);
    forget(&united);
}

static void test_points_are_moved_with_their_clock(void **state)
{
    struct united united;
    unite(&united);
    for (uint32_t i = 0; i < 2; i++) {
        int64_t delay = i ? INT64_C(3600000000000) : 0;
        struct sample_block samples;
        struct instant_block instants;
        struct counter_block counters;
        uint32_t count;
        assert_int_equal(trace_samples_get(united.whole, i, &samples, NULL), 0);
        assert_int_equal(samples.time_ns[0], 300 + delay);
        const struct stack_node *leaf = &trace_stacks(united.whole, &count)[samples.stack[0].index];
        const struct trace_frame *frames = trace_frames(united.whole, &count);
        assert_string_equal(trace_text(united.whole, frames[leaf->frame.index].function), "sin");
        trace_samples_put(united.whole, &samples);
        assert_int_equal(trace_instants_get(united.whole, i, &instants, NULL), 0);
        assert_int_equal(instants.time_ns[0], 400 + delay);
        trace_instants_put(united.whole, &instants);
        assert_int_equal(trace_counters_get(united.whole, i, &counters, NULL), 0);
        assert_int_equal(counters.time_ns[0], 500 + delay);
        trace_counters_put(united.whole, &counters);
    }
    forget(&united);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables_are_joined),
        cmocka_unit_test(test_spans_keep_what_they_are),
        cmocka_unit_test(test_links_and_members_lead_to_the_same_spans),
        cmocka_unit_test(test_points_are_moved_with_their_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
