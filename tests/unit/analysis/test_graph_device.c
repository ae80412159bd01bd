/* SPDX-License-Identifier: MIT */
/* The graph of devices' work: who bound whom on small runs of which all is known. */
#include "cuda_fixture.h"

#include "analysis/dependency_graph.h"
#include "analysis/replay.h"

struct made {
    struct trace *trace;
    struct dependency_graph *graph;
};

static struct made finish(struct cuda *cuda)
{
    struct made made = {.trace = fixture_finish(cuda->builder)};
    struct error err = ERROR_INIT;
    if (dependency_graph_create(made.trace, NULL, NULL, &made.graph, &err) < 0)
        fail_msg("%s", err.text);
    int64_t *times_ns = malloc(((size_t)made.graph->point_count + 1) * sizeof *times_ns);
    replay(made.graph, NULL, NULL, times_ns);
    for (uint32_t p = 0; p < made.graph->point_count; p++)
        assert_int_equal(times_ns[p], made.graph->time_ns[p]);
    free(times_ns);
    return made;
}

static void destroy(struct made *made)
{
    dependency_graph_destroy(made->graph);
    trace_unref(made->trace);
}

static span_id find(const struct made *made, const char *name)
{
    for (uint32_t i = 0; i < trace_block_count(made->trace, FAMILY_SPANS); i++) {
        struct span_block block;
        assert_int_equal(trace_spans_get(made->trace, i, &block, NULL), 0);
        span_id found = SPAN_NONE;
        for (uint32_t row = 0; row < block.info.count; row++)
            if (strcmp(trace_text(made->trace, block.name[row]), name) == 0)
                found = (span_id){block.info.first + row};
        trace_spans_put(made->trace, &block);
        if (!span_id_is(found, SPAN_NONE))
            return found;
    }
    fail_msg("no span %s", name);
    return SPAN_NONE;
}

/* The point at this time whose interval's span is this one: its end; or the one behind which it begins. */
static uint32_t end_of(const struct made *made, const char *name)
{
    span_id span = find(made, name);
    uint32_t found = POINT_NONE;
    for (uint32_t p = 0; p < made->graph->point_count; p++)
        if (span_id_is(made->graph->span[p], span))
            found = p;
    assert_int_not_equal(found, POINT_NONE);
    return found;
}

static uint32_t begin_of(const struct made *made, const char *name)
{
    return end_of(made, name) - 1;
}

static const struct graph_edge *edge_between(const struct made *made, uint32_t from, uint32_t to)
{
    for (uint32_t e = made->graph->first_edge[to]; e < made->graph->first_edge[to + 1]; e++)
        if (made->graph->edges[e].from == from)
            return &made->graph->edges[e];
    return NULL;
}

static void expect_edge(const struct made *made, uint32_t from, uint32_t to, enum edge_rule rule, enum confidence confidence, bool bound)
{
    const struct graph_edge *edge = edge_between(made, from, to);
    assert_non_null(edge);
    assert_int_equal(edge->rule, rule);
    assert_int_equal(edge->confidence, confidence);
    assert_int_equal(edge->bound, bound);
}

static uint64_t edges_of(const struct made *made, enum edge_rule rule)
{
    uint64_t count = 0;
    for (int i = 0; i < CONFIDENCE_COUNT; i++)
        count += made->graph->counts.by_rule[rule][i];
    return count;
}

static void test_a_launch_and_the_sync_that_waits_for_it(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    cuda_kernel(&cuda, one, "a", 0, 20, 120);
    cuda_sync(&cuda, "stream", "sync", 13, -1, 30, 125);
    struct made made = finish(&cuda);
    expect_edge(&made, begin_of(&made, "cudaLaunchKernel"), begin_of(&made, "a"), EDGE_RULE_LAUNCH, CONFIDENCE_CERTAIN, true);
    expect_edge(&made, end_of(&made, "a"), end_of(&made, "sync"), EDGE_RULE_DEVICE_SYNC, CONFIDENCE_CERTAIN, true);
    assert_int_equal(made.graph->interval[end_of(&made, "sync")], INTERVAL_WAIT);
    assert_int_equal(made.graph->counts.unexplained, 0);
    destroy(&made);
}

/* The work was over as the sync began: the call is work of the host, and the edge holds slack. */
static void test_a_late_sync_is_work(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    cuda_kernel(&cuda, one, "a", 0, 20, 120);
    cuda_sync(&cuda, "stream", "sync", 13, -1, 300, 310);
    struct made made = finish(&cuda);
    expect_edge(&made, end_of(&made, "a"), end_of(&made, "sync"), EDGE_RULE_DEVICE_SYNC, CONFIDENCE_CERTAIN, false);
    assert_int_equal(made.graph->interval[end_of(&made, "sync")], INTERVAL_WORK);
    assert_int_equal(made.graph->counts.unexplained, 0);
    destroy(&made);
}

/* It cannot be: a clock is wrong, or the sync failed. Counted, never used. */
static void test_an_early_sync_is_counted_and_unexplained(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    cuda_kernel(&cuda, one, "a", 0, 20, 120);
    cuda_sync(&cuda, "stream", "sync", 13, -1, 30, 90);
    struct made made = finish(&cuda);
    assert_null(edge_between(&made, end_of(&made, "a"), end_of(&made, "sync")));
    assert_int_equal(made.graph->counts.backward, 1);
    assert_int_equal(made.graph->counts.largest_backward_ns, 30);
    assert_int_equal(made.graph->interval[end_of(&made, "sync")], INTERVAL_UNEXPLAINED);
    destroy(&made);
}

static void test_syncs_of_empty_streams_need_no_release(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    cuda_sync(&cuda, "stream", "empty", 13, -1, 0, 4);
    cuda_kernel(&cuda, one, "a", 10, 20, 120);
    cuda_sync(&cuda, "context", "sync", -1, -1, 30, 121);
    cuda_sync(&cuda, "context", "again", -1, -1, 130, 135);
    cuda_sync(&cuda, "event", "never", -1, 0, 140, 145);
    cuda_sync(&cuda, "event", "unknown", -1, -1, 150, 155);
    struct made made = finish(&cuda);
    assert_int_equal(made.graph->interval[end_of(&made, "empty")], INTERVAL_WORK);
    assert_int_equal(made.graph->interval[end_of(&made, "again")], INTERVAL_WORK);
    assert_int_equal(made.graph->interval[end_of(&made, "never")], INTERVAL_WORK);
    assert_int_equal(made.graph->interval[end_of(&made, "unknown")], INTERVAL_UNEXPLAINED);
    assert_int_equal(made.graph->counts.unexplained, 1);
    assert_int_equal(made.graph->counts.unexplained_ns, 5);
    destroy(&made);
}

static void test_an_event_binds_a_stream_to_another(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13"), two = cuda_stream(&cuda, 14, "stream 14");
    cuda_kernel(&cuda, one, "a", 0, 20, 120);
    cuda_sync(&cuda, "event record", "record", 13, 1, 10, 11);
    cuda_sync(&cuda, "stream wait", "wait", 14, 1, 12, 13);
    cuda_kernel(&cuda, two, "b", 20, 125, 200);
    cuda_kernel(&cuda, two, "c", 30, 202, 300);
    cuda_sync(&cuda, "context", "sync", -1, -1, 40, 305);
    struct made made = finish(&cuda);
    expect_edge(&made, end_of(&made, "a"), begin_of(&made, "b"), EDGE_RULE_EVENT_WAIT, CONFIDENCE_CERTAIN, true);
    assert_int_equal(edges_of(&made, EDGE_RULE_EVENT_WAIT), 1);
    expect_edge(&made, end_of(&made, "c"), end_of(&made, "sync"), EDGE_RULE_DEVICE_SYNC, CONFIDENCE_CERTAIN, true);
    expect_edge(&made, end_of(&made, "a"), end_of(&made, "sync"), EDGE_RULE_DEVICE_SYNC, CONFIDENCE_CERTAIN, false);
    assert_int_equal(made.graph->counts.unexplained, 0);
    destroy(&made);
}

static void test_the_default_stream(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id null = cuda_stream(&cuda, 7, "stream 7 (default)"), one = cuda_stream(&cuda, 13, "stream 13");
    cuda_kernel(&cuda, one, "a", 0, 20, 120);
    cuda_kernel(&cuda, null, "d", 10, 123, 200);
    cuda_kernel(&cuda, one, "b", 20, 204, 300);
    struct made made = finish(&cuda);
    expect_edge(&made, end_of(&made, "a"), begin_of(&made, "d"), EDGE_RULE_DEFAULT_STREAM, CONFIDENCE_HIGH, true);
    expect_edge(&made, end_of(&made, "d"), begin_of(&made, "b"), EDGE_RULE_DEFAULT_STREAM, CONFIDENCE_HIGH, true);
    destroy(&made);
}

static void test_copies_that_block(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 7, "stream 7 (default)");
    cuda_copy(&cuda, one, "read", "device-to-host", "device", true, 0, 120, 50, 100);
    cuda_copy(&cuda, one, "taken", "host-to-device", "pageable", true, 200, 210, 205, 230);
    cuda_copy(&cuda, one, "pageable", "device-to-host", "pageable", false, 500, 560, 520, 550);
    cuda_copy(&cuda, one, "async", "device-to-host", "pinned", false, 600, 605, 620, 640);
    struct made made = finish(&cuda);
    assert_int_equal(made.graph->interval[end_of(&made, "read")], INTERVAL_WAIT);
    assert_int_equal(made.graph->interval[end_of(&made, "taken")], INTERVAL_WORK);
    assert_int_equal(made.graph->interval[end_of(&made, "pageable")], INTERVAL_WAIT);
    assert_int_equal(made.graph->interval[end_of(&made, "async")], INTERVAL_WORK);
    assert_int_equal(made.graph->counts.by_rule[EDGE_RULE_BLOCKING_COPY][CONFIDENCE_HIGH], 2);
    assert_int_equal(made.graph->counts.unexplained, 0);
    assert_int_equal(made.graph->counts.backward, 0);
    destroy(&made);
}

/* Nodes side by side are lanes of their own: the next launch's are behind the last of this one. */
static void test_graphs_whose_nodes_overlap(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    for (int64_t at = 0; at <= 10000; at += 10000) {
        span_id call = cuda_span(&cuda, cuda.host, SPAN_KIND_LAUNCH, "cudaGraphLaunch", at / 100, at / 100 + 5, NULL);
        cuda_kernel_of(&cuda, one, call, at ? "a2" : "a1", at + 1000, at + 2000);
        cuda_kernel_of(&cuda, one, call, at ? "b2" : "b1", at + 2010, at + 8000);
        cuda_kernel_of(&cuda, one, call, at ? "c2" : "c1", at + 2011, at + 6000);
        cuda_kernel_of(&cuda, one, call, at ? "d2" : "d1", at + 8010, at + 9000);
    }
    cuda_sync(&cuda, "stream", "sync", 13, -1, 200, 19005);
    struct made made = finish(&cuda);
    expect_edge(&made, end_of(&made, "d1"), begin_of(&made, "a2"), EDGE_RULE_STREAM_ORDER, CONFIDENCE_CERTAIN, true);
    expect_edge(&made, end_of(&made, "a1"), begin_of(&made, "c1"), EDGE_RULE_TIME, CONFIDENCE_MEDIUM, true);
    expect_edge(&made, end_of(&made, "b1"), begin_of(&made, "d1"), EDGE_RULE_TIME, CONFIDENCE_MEDIUM, true);
    expect_edge(&made, end_of(&made, "d2"), end_of(&made, "sync"), EDGE_RULE_DEVICE_SYNC, CONFIDENCE_CERTAIN, true);
    destroy(&made);
}

/* OpenCL says by links what waited for what: a kernel for another queue's, the host's wait for both; clFinish of an idle queue for none. */
static void test_queues_that_say_it_by_links(void **state)
{
    struct cuda cuda = cuda_begin();
    struct trace_builder *builder = cuda.builder;
    track_id one = cuda_stream(&cuda, 0, "queue 0"), two = cuda_stream(&cuda, 1, "queue 1");
    string_id opencl = trace_builder_string(builder, "opencl");
    const struct {
        track_id track;
        const char *name;
        enum span_kind kind;
        int64_t begin_ns, end_ns;
        const char *what;
    } rows[] = {
        {cuda.host, "enqueue a", SPAN_KIND_LAUNCH, 0, 5, NULL}, {cuda.host, "enqueue b", SPAN_KIND_LAUNCH, 10, 15, NULL},
        {cuda.host, "set status", SPAN_KIND_API, 16, 18, NULL}, {one, "a", SPAN_KIND_KERNEL, 50, 150, NULL}, {two, "b", SPAN_KIND_KERNEL, 160, 260, NULL},
        {cuda.host, "wait", SPAN_KIND_SYNC, 20, 265, "queue"}, {cuda.host, "clFinish", SPAN_KIND_SYNC, 270, 275, "queue"},
        {cuda.host, "user event", SPAN_KIND_SYNC, 280, 285, "event"}};
    span_id spans[8];
    for (size_t i = 0; i < 8; i++) {
        struct payload payload = {.kind = PAYLOAD_DEVICE_SYNC};
        const struct span span = {.track = rows[i].track, .begin_ns = rows[i].begin_ns, .end_ns = rows[i].end_ns, .kind = rows[i].kind,
                                  .parent = SPAN_NONE, .stack = STACK_NONE, .name = trace_builder_string(builder, rows[i].name), .category = opencl};
        if (rows[i].what)
            cuda_word(&cuda, &payload, FIELD_DEVICE_SYNC_what, rows[i].what);
        assert_int_equal(trace_builder_add_span(builder, &span, rows[i].what ? &payload : NULL, &spans[i]), 0);
    }
    cuda_link(&cuda, LINK_KIND_LAUNCH, spans[0], spans[3]);
    cuda_link(&cuda, LINK_KIND_LAUNCH, spans[1], spans[4]);
    cuda_link(&cuda, LINK_KIND_DEPEND, spans[2], spans[3]);
    cuda_link(&cuda, LINK_KIND_DEPEND, spans[3], spans[4]);
    cuda_link(&cuda, LINK_KIND_SYNC, spans[4], spans[5]);
    struct made made = finish(&cuda);
    expect_edge(&made, begin_of(&made, "set status"), begin_of(&made, "a"), EDGE_RULE_DEVICE_DEPEND, CONFIDENCE_CERTAIN, true);
    expect_edge(&made, begin_of(&made, "enqueue a"), begin_of(&made, "a"), EDGE_RULE_LAUNCH, CONFIDENCE_CERTAIN, false);
    expect_edge(&made, end_of(&made, "a"), begin_of(&made, "b"), EDGE_RULE_DEVICE_DEPEND, CONFIDENCE_CERTAIN, true);
    expect_edge(&made, end_of(&made, "b"), end_of(&made, "wait"), EDGE_RULE_DEVICE_SYNC, CONFIDENCE_CERTAIN, true);
    assert_int_equal(made.graph->interval[end_of(&made, "clFinish")], INTERVAL_WORK);
    assert_int_equal(made.graph->interval[end_of(&made, "user event")], INTERVAL_UNEXPLAINED);
    destroy(&made);
}

/* Ranks of one process: an operation each, from its enqueuing to its kernel's end, the kernel on NCCL's lane and, for rank 1, in its stream. */
static void collective(struct cuda *cuda, const char *name, int64_t root)
{
    const group_id none = GROUP_NONE;
    group_id group = none;
    const struct trace_group row = {.kind = LINK_KIND_COLLECTIVE, .name = trace_builder_string(cuda->builder, name), .sequence = 5};
    assert_int_equal(trace_builder_add_group(cuda->builder, &row, &group), 0);
    trace_builder_string(cuda->builder, "nccl");
    for (int32_t rank = 0; rank < 3; rank++) {
        track_id operations = cuda_stream(cuda, rank, "NCCL operations"), kernels = cuda_stream(cuda, rank, "NCCL kernels");
        trace_builder_track(cuda->builder, operations)->device = trace_builder_track(cuda->builder, kernels)->device = -1;
        struct payload payload = {.kind = PAYLOAD_COLLECTIVE};
        cuda_field(&payload, FIELD_COLLECTIVE_root, (uint64_t)root);
        cuda_field(&payload, FIELD_COLLECTIVE_bytes_sent, 4096);
        char operation[8], kernel[8];
        snprintf(operation, sizeof operation, "o%d", rank);
        snprintf(kernel, sizeof kernel, "k%d", rank);
        const int64_t begins_ns[] = {100, 300, 200};
        span_id span = cuda_span(cuda, operations, SPAN_KIND_COLLECTIVE, operation, 50, 412 + rank, &payload);
        cuda_span(cuda, kernels, SPAN_KIND_KERNEL, kernel, begins_ns[rank], 400 + rank, NULL);
        const struct group_member member = {.group = group, .span = span, .rank = rank};
        assert_int_equal(trace_builder_add_member(cuda->builder, &member), 0);
    }
    cuda_kernel(cuda, cuda_stream(cuda, 13, "stream 13"), "ncclDevKernel", 60, 299, 403);
}

static void test_ranks_of_a_collective_wait_for_the_last(void **state)
{
    struct cuda cuda = cuda_begin();
    collective(&cuda, "AllReduce", 0);
    struct made made = finish(&cuda);
    uint32_t last = begin_of(&made, "ncclDevKernel"), stream_end = end_of(&made, "ncclDevKernel");
    uint32_t join = made.graph->edges[made.graph->first_edge[stream_end]].from;
    assert_int_equal(made.graph->lane[join], LANE_NONE);
    assert_int_equal(made.graph->time_ns[join], 299); /* the operations' kernel in the stream stands for that on NCCL's lane */
    assert_true(edge_between(&made, last, join)->bound);
    for (int rank = 0; rank < 3; rank += 2) {
        const char *name = rank ? "k2" : "k0";
        expect_edge(&made, begin_of(&made, name), join, EDGE_RULE_DEVICE_COLLECTIVE, CONFIDENCE_HIGH, false);
        expect_edge(&made, join, end_of(&made, name), EDGE_RULE_DEVICE_COLLECTIVE, CONFIDENCE_HIGH, true);
        assert_int_equal(made.graph->interval[end_of(&made, name)], INTERVAL_WAIT);
    }
    expect_edge(&made, begin_of(&made, "o0"), begin_of(&made, "k0"), EDGE_RULE_LAUNCH, CONFIDENCE_HIGH, true);
    assert_int_equal(made.graph->counts.unexplained, 0);
    destroy(&made);
}

static void test_the_root_of_a_broadcast_waits_for_nobody(void **state)
{
    struct cuda cuda = cuda_begin();
    collective(&cuda, "Broadcast", 2);
    struct made made = finish(&cuda);
    uint32_t join = made.graph->edges[made.graph->first_edge[end_of(&made, "k0")]].from;
    assert_int_equal(made.graph->time_ns[join], 200);
    assert_int_equal(made.graph->interval[end_of(&made, "k2")], INTERVAL_WORK);
    assert_int_equal(made.graph->interval[end_of(&made, "ncclDevKernel")], INTERVAL_WORK); /* the root was there before it began */
    assert_null(edge_between(&made, join, end_of(&made, "k2")));
    destroy(&made);
}

static span_id message(struct cuda *cuda, const char *name, enum span_kind kind, uint64_t buffer, uint64_t extent, int64_t begin_ns, int64_t end_ns)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE};
    bool sends = kind == SPAN_KIND_SEND;
    cuda_field(&payload, sends ? FIELD_MESSAGE_send_buffer : FIELD_MESSAGE_receive_buffer, buffer);
    cuda_field(&payload, sends ? FIELD_MESSAGE_send_extent : FIELD_MESSAGE_receive_extent, extent);
    trace_builder_string(cuda->builder, "mpi");
    return cuda_span(cuda, cuda->host, kind, name, begin_ns, end_ns, &payload);
}

static span_id copy_at(struct cuda *cuda, track_id stream, const char *name, uint64_t source, uint64_t destination, uint64_t bytes, int64_t call_ns,
                       int64_t begin_ns, int64_t end_ns)
{
    struct payload payload = {.kind = PAYLOAD_API};
    cuda_field(&payload, FIELD_API_bytes, bytes);
    cuda_field(&payload, FIELD_API_source, source);
    cuda_field(&payload, FIELD_API_destination, destination);
    span_id call = cuda_span(cuda, cuda->host, SPAN_KIND_API, "cudaMemcpyAsync", call_ns, call_ns + 3, &payload);
    span_id copy = cuda_span(cuda, stream, SPAN_KIND_COPY, name, begin_ns, end_ns, NULL);
    cuda_link(cuda, LINK_KIND_LAUNCH, call, copy);
    return copy;
}

/* A message sends the second half of what a copy wrote; another copy takes what a message brought. */
static void test_buffers_join_communication_and_copies(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    copy_at(&cuda, one, "older", 0x9000, 0x1000, 0x200, 0, 10, 20);
    copy_at(&cuda, one, "out", 0x9000, 0x1000, 0x200, 5, 30, 50);
    copy_at(&cuda, one, "beside", 0x9000, 0x1200, 0x100, 10, 52, 55);
    message(&cuda, "MPI_Send", SPAN_KIND_SEND, 0x1100, 0x100, 60, 70);
    message(&cuda, "MPI_Send to nobody's buffer", SPAN_KIND_SEND, 0x5000, 0x100, 72, 74);
    message(&cuda, "MPI_Recv", SPAN_KIND_RECV, 0x3000, 0x400, 80, 100);
    message(&cuda, "MPI_Irecv", SPAN_KIND_RECV, 0x3000, 0x400, 101, 102);
    copy_at(&cuda, one, "in", 0x3300, 0x9000, 0x10, 110, 120, 130);
    copy_at(&cuda, one, "early", 0x3500, 0x9000, 0x10, 135, 140, 150);
    struct made made = finish(&cuda);
    expect_edge(&made, end_of(&made, "out"), begin_of(&made, "MPI_Send"), EDGE_RULE_BUFFER, CONFIDENCE_HIGH, false);
    expect_edge(&made, end_of(&made, "MPI_Recv"), begin_of(&made, "in"), EDGE_RULE_BUFFER, CONFIDENCE_HIGH, false);
    assert_int_equal(edges_of(&made, EDGE_RULE_BUFFER), 2);
    destroy(&made);
}

/* Ranges from a start to an end are nobody's doing. */
static void test_ranges_on_lanes_of_their_own_are_no_lanes(void **state)
{
    struct cuda cuda = cuda_begin();
    track_id one = cuda_stream(&cuda, 13, "stream 13");
    const struct trace_track track = {.kind = TRACK_KIND_STREAM, .name = trace_builder_string(cuda.builder, "NVTX ranges"), .process = {0}, .tid = -1,
                                      .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    track_id ranges;
    assert_int_equal(trace_builder_add_track(cuda.builder, &track, &ranges), 0);
    fixture_span(cuda.builder, ranges, 0, 100000, "run", SPAN_KIND_RANGE);
    cuda_kernel(&cuda, one, "a", 0, 20, 120);
    struct made made = finish(&cuda);
    for (uint32_t i = 0; i < made.graph->lane_count; i++)
        assert_false(track_id_is(made.graph->lanes[i].track, ranges));
    assert_int_equal(made.graph->end_ns, 120);
    destroy(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_launch_and_the_sync_that_waits_for_it),
        cmocka_unit_test(test_a_late_sync_is_work),
        cmocka_unit_test(test_an_early_sync_is_counted_and_unexplained),
        cmocka_unit_test(test_syncs_of_empty_streams_need_no_release),
        cmocka_unit_test(test_an_event_binds_a_stream_to_another),
        cmocka_unit_test(test_the_default_stream),
        cmocka_unit_test(test_copies_that_block),
        cmocka_unit_test(test_graphs_whose_nodes_overlap),
        cmocka_unit_test(test_queues_that_say_it_by_links),
        cmocka_unit_test(test_ranks_of_a_collective_wait_for_the_last),
        cmocka_unit_test(test_the_root_of_a_broadcast_waits_for_nobody),
        cmocka_unit_test(test_buffers_join_communication_and_copies),
        cmocka_unit_test(test_ranges_on_lanes_of_their_own_are_no_lanes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
