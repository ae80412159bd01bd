/* SPDX-License-Identifier: MIT */
/* The builder: what goes in comes out, sorted, nested, with handles resolved, whatever the order of adding. */
#include "trace_fixture.h"

static void test_empty_trace(void **state)
{
    struct trace *trace = fixture_finish(fixture_builder(0));
    int64_t begin_ns, end_ns;
    trace_time_range(trace, &begin_ns, &end_ns);
    assert_int_equal(begin_ns, 0);
    assert_int_equal(end_ns, 0);
    assert_int_equal(trace_block_count(trace, FAMILY_SPANS), 0);
    const struct span_aggregate *spans;
    uint32_t count;
    assert_int_equal(trace_span_aggregates(trace, &spans, &count, NULL), 0);
    assert_int_equal(count, 0);
    const struct sample_aggregate *samples;
    assert_int_equal(trace_sample_aggregates(trace, &samples, &count, NULL), 0);
    assert_int_equal(count, 0);
    trace_unref(trace);
}

/* One span as the test knows it. */
struct model_span {
    struct span span;
    uint32_t handle, id, sequence;
    uint64_t value; /* its payload's */
    uint32_t link_to;
};

static int model_order(const void *left, const void *right)
{
    const struct model_span *a = left, *b = right;
    if (a->span.track.index != b->span.track.index)
        return a->span.track.index < b->span.track.index ? -1 : 1;
    if (a->span.begin_ns != b->span.begin_ns)
        return a->span.begin_ns < b->span.begin_ns ? -1 : 1;
    uint64_t a_end = a->span.end_ns == INT64_MIN ? UINT64_MAX : (uint64_t)a->span.end_ns + (UINT64_C(1) << 63);
    uint64_t b_end = b->span.end_ns == INT64_MIN ? UINT64_MAX : (uint64_t)b->span.end_ns + (UINT64_C(1) << 63);
    if (a_end != b_end)
        return a_end > b_end ? -1 : 1;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

static int by_sequence(const void *left, const void *right)
{
    const struct model_span *a = left, *b = right;
    return (a->sequence > b->sequence) - (a->sequence < b->sequence);
}

/* Parent by definition: the latest-begun span on the track before this one that contains it whole. */
static uint32_t model_parent(const struct model_span *spans, uint32_t index, int64_t last_ns)
{
    int64_t end_ns = spans[index].span.end_ns == INT64_MIN ? last_ns : spans[index].span.end_ns;
    int64_t begin_ns = spans[index].span.begin_ns;
    end_ns = end_ns < begin_ns ? begin_ns : end_ns;
    for (uint32_t i = index; i-- > 0 && track_id_is(spans[i].span.track, spans[index].span.track);) {
        int64_t other_ns = spans[i].span.end_ns == INT64_MIN ? last_ns : spans[i].span.end_ns;
        if (other_ns >= end_ns && other_ns > begin_ns)
            return i;
    }
    return ID_NONE;
}

struct shape {
    uint32_t count, tracks;
    int64_t spread_ns;  /* begins jump back by up to this */
    int64_t step_ns, length_ns;
    size_t memory_limit;
    bool parents, snapshots, payloads;
};

static struct model_span *model_build(const struct shape *shape, struct trace_builder *builder, uint64_t seed)
{
    struct model_span *spans = calloc(shape->count, sizeof(*spans));
    assert_non_null(spans);
    track_id first = {0};
    for (uint32_t i = 0; i < shape->tracks; i++) {
        track_id id = fixture_track(builder, TRACK_KIND_THREAD, "thread", (int32_t)i);
        first = i == 0 ? id : first;
    }
    for (uint32_t i = 0; i < shape->count; i++) {
        struct model_span *model = &spans[i];
        char name[24];
        snprintf(name, sizeof(name), "f%u", random_next(&seed) % 50);
        int64_t begin_ns = (int64_t)i * shape->step_ns - (shape->spread_ns ? random_next(&seed) % shape->spread_ns : 0);
        int64_t end_ns = random_next(&seed) % 100 == 0 ? INT64_MIN : begin_ns + random_next(&seed) % shape->length_ns;
        model->sequence = i;
        model->span = (struct span){.track = {first.index + random_next(&seed) % shape->tracks}, .begin_ns = begin_ns,
                                    .end_ns = end_ns, .name = trace_builder_string(builder, name),
                                    .kind = (enum span_kind)(random_next(&seed) % SPAN_KIND_COUNT), .parent = SPAN_NONE,
                                    .correlation = i % 3 ? 0 : i, .stack = STACK_NONE};
        if (shape->parents && i && i % 7 == 0)
            model->span.parent.index = spans[random_next(&seed) % i].handle;
        model->value = random_next(&seed);
        struct payload payload = {.kind = PAYLOAD_TEST, .present = 1, .fields[0].u64 = model->value};
        span_id handle;
        assert_int_equal(trace_builder_add_span(builder, &model->span, shape->payloads ? &payload : NULL, &handle), 0);
        model->handle = handle.index;
        if (shape->snapshots && i % 3001 == 3000) {
            struct trace *snapshot;
            assert_int_equal(trace_builder_snapshot(builder, &snapshot, NULL), 0);
            assert_int_equal(trace_row_count(snapshot, FAMILY_SPANS), i + 1);
            trace_unref(snapshot);
        }
    }
    for (uint32_t i = 0; i < shape->count; i++) {
        spans[i].link_to = random_next(&seed) % shape->count;
        struct trace_link link = {LINK_KIND_LAUNCH, CONFIDENCE_HIGH, {spans[i].handle}, {spans[spans[i].link_to].handle}};
        assert_int_equal(trace_builder_add_link(builder, &link), 0);
    }
    return spans;
}

static void check_span_block(const struct trace *trace, uint32_t index, const struct model_span *spans,
                             const uint32_t *id_of_sequence, const struct shape *shape, const struct model_span *by_seq)
{
    struct span_block block;
    struct error err = ERROR_INIT;
    assert_int_equal(trace_spans_get(trace, index, &block, &err), 0);
    for (uint32_t row = 0; row < block.info.count; row++) {
        uint32_t id = block.info.first + row;
        const struct span *expected = &spans[id].span;
        assert_int_equal(block.info.track.index, expected->track.index);
        assert_int_equal(block.begin_ns[row], expected->begin_ns);
        assert_int_equal(block.end_ns[row], expected->end_ns);
        assert_int_equal(block.name[row].index, expected->name.index);
        assert_int_equal(block.kind ? block.kind[row] : 0, expected->kind);
        assert_int_equal(block.correlation ? block.correlation[row] : 0, expected->correlation);
        uint32_t parent = ID_NONE;
        if (expected->parent.index != ID_NONE) {
            for (uint32_t i = 0; i < shape->count; i++) {
                if (by_seq[i].handle == expected->parent.index)
                    parent = id_of_sequence[i];
            }
        } else {
            int64_t begin_ns, end_ns;
            trace_time_range(trace, &begin_ns, &end_ns);
            parent = model_parent(spans, id, end_ns);
        }
        assert_int_equal(block.parent ? block.parent[row].index : ID_NONE, parent);
        struct payload payload;
        assert_int_equal(span_payload(&block, row, &payload), 0);
        assert_int_equal(payload.kind, shape->payloads ? PAYLOAD_TEST : PAYLOAD_NONE);
        if (shape->payloads)
            assert_int_equal(payload.fields[0].u64, spans[id].value);
    }
    trace_spans_put(trace, &block);
}

static void check_links(const struct trace *trace, const uint32_t *id_of_sequence, const struct model_span *by_seq)
{
    uint32_t sequence = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        assert_int_equal(trace_links_get(trace, i, &block, NULL), 0);
        for (uint32_t row = 0; row < block.info.count; row++, sequence++) {
            assert_int_equal(block.from[row].index, id_of_sequence[sequence]);
            assert_int_equal(block.to[row].index, id_of_sequence[by_seq[sequence].link_to]);
            assert_int_equal(block.confidence[row], CONFIDENCE_HIGH);
        }
        trace_links_put(trace, &block);
    }
}

static void check_shape(const struct shape *shape, uint64_t seed)
{
    struct trace_builder *builder = fixture_builder(shape->memory_limit);
    struct model_span *spans = model_build(shape, builder, seed);
    struct model_span *by_seq = malloc(shape->count * sizeof(*by_seq));
    uint32_t *id_of_sequence = malloc(shape->count * sizeof(*id_of_sequence));
    memcpy(by_seq, spans, shape->count * sizeof(*by_seq));
    qsort(spans, shape->count, sizeof(*spans), model_order);
    for (uint32_t i = 0; i < shape->count; i++)
        id_of_sequence[spans[i].sequence] = i;
    struct trace *trace = fixture_finish(builder);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), shape->count);
    assert_int_equal(trace_row_count(trace, FAMILY_LINKS), shape->count);
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++)
        check_span_block(trace, i, spans, id_of_sequence, shape, by_seq);
    check_links(trace, id_of_sequence, by_seq);
    qsort(spans, shape->count, sizeof(*spans), by_sequence);
    for (uint32_t i = 0; i < shape->count; i += 97) {
        uint32_t block, row;
        assert_true(trace_span_find(trace, (span_id){i}, &block, &row));
        assert_int_equal(trace_block_info(trace, FAMILY_SPANS, block).first + row, i);
    }
    uint32_t block, row;
    assert_false(trace_span_find(trace, (span_id){shape->count}, &block, &row));
    trace_unref(trace);
    free(spans);
    free(by_seq);
    free(id_of_sequence);
}

static void test_rows_in_order(void **state)
{
    check_shape(&(struct shape){.count = 9000, .tracks = 2, .step_ns = 10, .length_ns = 9, .payloads = true}, 1);
}
static void test_rows_in_order_that_overlap(void **state)
{
    check_shape(&(struct shape){.count = 9000, .tracks = 1, .step_ns = 10, .length_ns = 300, .parents = true}, 2);
}
static void test_rows_in_any_order_are_merged(void **state)
{
    check_shape(&(struct shape){.count = 12000, .tracks = 2, .spread_ns = 1000000, .step_ns = 10, .length_ns = 500,
                                .parents = true, .payloads = true}, 3);
}
static void test_nearly_sorted_rows(void **state)
{
    check_shape(&(struct shape){.count = 12000, .tracks = 1, .spread_ns = 300, .step_ns = 10, .length_ns = 200}, 4);
}
static void test_many_equal_begins(void **state)
{
    check_shape(&(struct shape){.count = 5000, .tracks = 1, .spread_ns = 3, .step_ns = 0, .length_ns = 50, .payloads = true}, 5);
}
static void test_crumbs_of_snapshots_are_joined(void **state)
{
    check_shape(&(struct shape){.count = 12010, .tracks = 3, .spread_ns = 100, .step_ns = 10, .length_ns = 100,
                                .parents = true, .snapshots = true, .payloads = true}, 6);
}
static void test_blocks_in_the_spill_file(void **state)
{
    check_shape(&(struct shape){.count = 12000, .tracks = 2, .spread_ns = 5000, .step_ns = 10, .length_ns = 500,
                                .parents = true, .payloads = true, .memory_limit = 1}, 7);
}

static void test_impossible_rows_are_refused_and_do_not_stick(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    struct span span = {.track = track, .begin_ns = 10, .end_ns = 9, .parent = SPAN_NONE, .stack = STACK_NONE};
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, NULL), -EINVAL);
    span.begin_ns = INT64_MAX - 1;
    span.end_ns = INT64_MAX;
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, NULL), -EINVAL);
    span.begin_ns = span.end_ns = 0;
    span.track.index = 99;
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, NULL), -EINVAL);
    struct trace_link link = {LINK_KIND_LAUNCH, CONFIDENCE_HIGH, {5}, {6}};
    assert_int_equal(trace_builder_add_link(builder, &link), -EINVAL);
    stack_id stack;
    assert_int_equal(trace_builder_add_stack(builder, STACK_NONE, (frame_id){3}, &stack), -EINVAL);
    fixture_span(builder, track, 1, 2, "ok", SPAN_KIND_API);
    struct trace *trace = fixture_finish(builder);
    assert_int_equal(trace_row_count(trace, FAMILY_SPANS), 1);
    trace_unref(trace);
}

static const struct span_aggregate *aggregate_of(const struct trace *trace, const char *name)
{
    const struct span_aggregate *rows;
    uint32_t count;
    assert_int_equal(trace_span_aggregates(trace, &rows, &count, NULL), 0);
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(trace_text(trace, rows[i].name), name) == 0)
            return &rows[i];
    }
    fail_msg("no aggregate %s", name);
    return NULL;
}

static void test_self_time_is_total_minus_children(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    fixture_span(builder, track, 0, 100, "outer", SPAN_KIND_API);
    fixture_span(builder, track, 10, 40, "inner", SPAN_KIND_API);
    fixture_span(builder, track, 30, 50, "inner", SPAN_KIND_API); /* overlaps its sibling by 10 */
    fixture_span(builder, track, 12, 20, "leaf", SPAN_KIND_API);
    fixture_span(builder, track, 90, INT64_MIN, "open", SPAN_KIND_API); /* until the end of the trace, 100 */
    struct trace *live;
    assert_int_equal(trace_builder_snapshot(builder, &live, NULL), 0);
    struct trace *trace = fixture_finish(builder);
    for (int pass = 0; pass < 2; pass++) {
        const struct trace *subject = pass ? live : trace;
        assert_int_equal(aggregate_of(subject, "outer")->self_ns, 100 - 40 - 10);
        assert_int_equal(aggregate_of(subject, "inner")->total_ns, 50);
        assert_int_equal(aggregate_of(subject, "inner")->self_ns, 42);
        assert_int_equal(aggregate_of(subject, "inner")->min_ns, 20);
        assert_int_equal(aggregate_of(subject, "inner")->max_ns, 30);
        assert_int_equal(aggregate_of(subject, "open")->total_ns, 10);
        assert_int_equal(aggregate_of(subject, "leaf")->count, 1);
    }
    trace_unref(live);
    trace_unref(trace);
}

static void test_samples_counters_instants_groups(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id thread = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    track_id counter = fixture_track(builder, TRACK_KIND_COUNTER, "bytes", -1);
    struct trace_module module = {.path = trace_builder_string(builder, "/bin/x")};
    module_id module_index;
    assert_int_equal(trace_builder_add_module(builder, &module, &module_index), 0);
    struct trace_frame frame = {.function = trace_builder_string(builder, "main"), .module = module_index, .line = 3};
    frame_id frame_index, same_frame;
    assert_int_equal(trace_builder_add_frame(builder, &frame, &frame_index), 0);
    assert_int_equal(trace_builder_add_frame(builder, &frame, &same_frame), 0);
    assert_int_equal(frame_index.index, same_frame.index);
    stack_id root, leaf, again;
    assert_int_equal(trace_builder_add_stack(builder, STACK_NONE, frame_index, &root), 0);
    assert_int_equal(trace_builder_add_stack(builder, root, frame_index, &leaf), 0);
    assert_int_equal(trace_builder_add_stack(builder, root, frame_index, &again), 0);
    assert_int_equal(leaf.index, again.index);
    for (int i = 0; i < 5000; i++) {
        struct sample sample = {.time_ns = 5000 - i, .weight = 7, .stack = i % 2 ? leaf : root, .cpu = UINT16_MAX,
                                .event = SAMPLE_EVENT_CPU_CLOCK};
        assert_int_equal(trace_builder_add_sample(builder, thread, &sample), 0);
        struct counter_value value = {i, i * 0.5};
        assert_int_equal(trace_builder_add_counter(builder, counter, &value), 0);
    }
    struct payload json = {.kind = PAYLOAD_JSON, .json = "{\"a\":1}", .json_size = 7};
    struct instant instant = {.time_ns = -5, .name = trace_builder_string(builder, "mark")};
    assert_int_equal(trace_builder_add_instant(builder, thread, &instant, &json), 0);
    span_id span = fixture_span(builder, thread, 1, 2, "s", SPAN_KIND_COLLECTIVE);
    struct trace_group group = {.kind = LINK_KIND_COLLECTIVE, .name = trace_builder_string(builder, "allreduce")};
    group_id group_index;
    assert_int_equal(trace_builder_add_group(builder, &group, &group_index), 0);
    struct group_member member = {group_index, span, -1};
    assert_int_equal(trace_builder_add_member(builder, &member), 0);
    assert_int_equal(trace_builder_add_ledger(builder, "samples", 10, 9, 1, "ring full"), 0);
    assert_int_equal(trace_builder_add_ledger(builder, "samples", 10, 8, 2, "ring full"), 0);
    assert_int_equal(trace_builder_set_metadata(builder, "command", "a"), 0);
    assert_int_equal(trace_builder_set_metadata(builder, "command", "b"), 0);
    char key[64];
    for (int i = 0; i < 500; i++) { /* a value of the builder's own, which moves as the keys come */
        snprintf(key, sizeof(key), "a key that needs room of its own, number %d", i);
        assert_int_equal(trace_builder_set_metadata(builder, key, string_table_text(trace_builder_strings(builder), group.name)), 0);
    }
    struct trace *trace = fixture_finish(builder);

    const struct sample_aggregate *rows;
    uint32_t count;
    assert_int_equal(trace_sample_aggregates(trace, &rows, &count, NULL), 0);
    assert_int_equal(count, 2);
    assert_int_equal(rows[0].count + rows[1].count, 5000);
    assert_int_equal(rows[0].weight, 2500 * 7);
    struct sample_block samples;
    assert_int_equal(trace_samples_get(trace, 0, &samples, NULL), 0);
    assert_int_equal(samples.time_ns[0], 1);
    assert_null(samples.cpu); /* unknown in every row */
    trace_samples_put(trace, &samples);
    struct counter_block values;
    assert_int_equal(trace_counters_get(trace, 0, &values, NULL), 0);
    assert_true(values.value[3] == 1.5);
    trace_counters_put(trace, &values);
    struct instant_block instants;
    assert_int_equal(trace_instants_get(trace, 0, &instants, NULL), 0);
    struct payload payload;
    assert_int_equal(instant_payload(&instants, 0, &payload), 0);
    assert_int_equal(payload.kind, PAYLOAD_JSON);
    assert_memory_equal(payload.json, "{\"a\":1}", 7);
    trace_instants_put(trace, &instants);
    struct member_block members;
    assert_int_equal(trace_members_get(trace, 0, &members, NULL), 0);
    assert_int_equal(members.rank[0], -1);
    assert_int_equal(members.span[0].index, 0);
    trace_members_put(trace, &members);
    const struct ledger_entry *ledger = trace_ledger(trace, &count);
    assert_int_equal(count, 1);
    assert_int_equal(ledger[0].seen, 20);
    assert_int_equal(ledger[0].lost, 3);
    assert_string_equal(trace_metadata(trace, "command"), "b");
    assert_string_equal(trace_metadata(trace, key), "allreduce");
    assert_null(trace_metadata(trace, "nothing"));
    int64_t begin_ns, end_ns;
    trace_time_range(trace, &begin_ns, &end_ns);
    assert_int_equal(begin_ns, -5);
    assert_int_equal(end_ns, 5000);
    trace_unref(trace);
}

/* Ids that a snapshot shows hold in later ones; its contents don't change while the builder goes on. */
static void test_snapshots_keep_their_ids(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    span_id late = fixture_span(builder, track, 50, 60, "late", SPAN_KIND_API);
    span_id early = fixture_span(builder, track, 0, 100, "early", SPAN_KIND_API);
    struct trace_link link = {LINK_KIND_LAUNCH, CONFIDENCE_CERTAIN, early, late};
    assert_int_equal(trace_builder_add_link(builder, &link), 0);
    struct trace *first, *second;
    assert_int_equal(trace_builder_snapshot(builder, &first, NULL), 0);
    fixture_span(builder, track, 5, 6, "new", SPAN_KIND_API);
    assert_int_equal(trace_builder_snapshot(builder, &second, NULL), 0);
    assert_true(trace_generation(second) > trace_generation(first));
    assert_true(trace_is_growing(first));
    struct trace *snapshots[] = {first, second};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(trace_row_count(snapshots[i], FAMILY_SPANS), 2 + i);
        struct link_block links;
        assert_int_equal(trace_links_get(snapshots[i], 0, &links, NULL), 0);
        uint32_t block, row;
        assert_true(trace_span_find(snapshots[i], links.from[0], &block, &row));
        struct span_block spans;
        assert_int_equal(trace_spans_get(snapshots[i], block, &spans, NULL), 0);
        assert_string_equal(trace_text(snapshots[i], spans.name[row]), "early");
        assert_int_equal(spans.parent[1].index, links.from[0].index);
        trace_spans_put(snapshots[i], &spans);
        trace_links_put(snapshots[i], &links);
    }
    trace_unref(first);
    struct trace *finished = fixture_finish(builder);
    assert_int_equal(trace_row_count(second, FAMILY_SPANS), 3);
    trace_unref(second);
    assert_false(trace_is_growing(finished));
    trace_unref(finished);
}

static void test_names_that_are_not_there_fail_the_trace(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    struct span span = {.track = track, .name = {99999}, .parent = SPAN_NONE, .stack = STACK_NONE};
    span_id handle;
    assert_int_equal(trace_builder_add_span(builder, &span, NULL, &handle), 0);
    struct trace *trace;
    struct error err = ERROR_INIT;
    assert_int_equal(trace_builder_finish(builder, &trace, &err), -EINVAL);
    assert_non_null(strstr(err.text, "spans"));
    trace_builder_destroy(builder);
    builder = fixture_builder(0);
    track = fixture_track(builder, TRACK_KIND_THREAD, "t", 1);
    trace_builder_track(builder, track)->process.index = 7;
    assert_int_equal(trace_builder_finish(builder, &trace, &err), -EINVAL);
    assert_non_null(strstr(err.text, "row 0 of tracks"));
    trace_builder_destroy(builder);
}

static void test_a_process_is_not_its_own_ancestor(void **state)
{
    struct trace_builder *builder = fixture_builder(0);
    struct trace_process process = {.node = {0}, .pid = 43, .rank = -1, .parent = {0}};
    process_id child;
    assert_int_equal(trace_builder_add_process(builder, &process, &child), 0);
    trace_builder_process(builder, (process_id){0})->parent = child;
    struct trace *trace = fixture_finish(builder);
    uint32_t count, steps = 0;
    const struct trace_process *processes = trace_processes(trace, &count);
    for (uint32_t at = child.index; at != ID_NONE; at = processes[at].parent.index)
        assert_true(++steps <= 2);
    trace_unref(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_trace),
        cmocka_unit_test(test_rows_in_order),
        cmocka_unit_test(test_rows_in_order_that_overlap),
        cmocka_unit_test(test_rows_in_any_order_are_merged),
        cmocka_unit_test(test_nearly_sorted_rows),
        cmocka_unit_test(test_many_equal_begins),
        cmocka_unit_test(test_crumbs_of_snapshots_are_joined),
        cmocka_unit_test(test_blocks_in_the_spill_file),
        cmocka_unit_test(test_impossible_rows_are_refused_and_do_not_stick),
        cmocka_unit_test(test_self_time_is_total_minus_children),
        cmocka_unit_test(test_samples_counters_instants_groups),
        cmocka_unit_test(test_snapshots_keep_their_ids),
        cmocka_unit_test(test_names_that_are_not_there_fail_the_trace),
        cmocka_unit_test(test_a_process_is_not_its_own_ancestor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
