/* SPDX-License-Identifier: MIT */
/* Edges of MPI on runs of two to four ranks made by hand. */
#include "graph_fixture.h"

static struct trace_builder *builder_of(uint32_t ranks, track_id *tracks)
{
    struct trace_builder *builder = fixture_builder(0);
    for (uint32_t i = 0; i < ranks; i++)
        tracks[i] = graph_rank(builder, (int32_t)i);
    return builder;
}

static span_id send_at(struct trace_builder *builder, track_id track, int64_t begin_ns, int64_t end_ns, const char *name, uint64_t bytes, const char *mode)
{
    const struct payload payload = send_payload(builder, 1, bytes, mode, 1);
    return graph_span(builder, track, begin_ns, end_ns, name, SPAN_KIND_SEND, &payload);
}

static span_id receive_at(struct trace_builder *builder, track_id track, int64_t begin_ns, int64_t end_ns, const char *name, int32_t from)
{
    const struct payload payload = receive_payload(from, 8, 1);
    return graph_span(builder, track, begin_ns, end_ns, name, SPAN_KIND_RECV, &payload);
}

static void test_a_receive_waits_for_its_send(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 500, 510, "MPI_Send", 8, "standard"),
               receive_at(builder, rank[1], 100, 520, "MPI_Recv", 0));
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 600, 610, "MPI_Send", 8, "standard"),
               receive_at(builder, rank[1], 900, 910, "MPI_Recv", 0));
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[0], 500, rank[1], 520, EDGE_RULE_MESSAGE, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, rank[0], 600, rank[1], 910, EDGE_RULE_MESSAGE, CONFIDENCE_CERTAIN, false);
    assert_int_equal(kind_before(&made, rank[1], 520), INTERVAL_WAIT);
    assert_int_equal(kind_before(&made, rank[1], 910), INTERVAL_WORK);
    assert_int_equal(kind_before(&made, rank[0], 510), INTERVAL_WORK);
    assert_int_equal(made.graph->counts.unexplained, 0);
    graph_unmade(&made);
    (void)state;
}

static void test_a_posted_receive_ends_where_it_is_waited_for(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    span_id send = send_at(builder, rank[0], 500, 510, "MPI_Isend", 8, "standard"), receive = receive_at(builder, rank[1], 100, 110, "MPI_Irecv", 0);
    span_id sent = graph_span(builder, rank[0], 700, 720, "MPI_Wait", SPAN_KIND_WAIT, NULL);
    span_id received = graph_span(builder, rank[1], 200, 530, "MPI_Waitall", SPAN_KIND_WAIT, NULL);
    graph_link(builder, LINK_KIND_MESSAGE, send, receive);
    graph_link(builder, LINK_KIND_REQUEST, send, sent);
    graph_link(builder, LINK_KIND_REQUEST, receive, received);
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[0], 500, rank[1], 530, EDGE_RULE_MESSAGE, CONFIDENCE_CERTAIN, true);
    assert_null(edge_between(&made, rank[0], 500, rank[1], 110));
    assert_int_equal(kind_before(&made, rank[0], 720), INTERVAL_WORK); /* a small send is gone by itself */
    assert_int_equal(kind_before(&made, rank[1], 110), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static void test_a_wait_for_what_the_trace_has_not_is_unexplained(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    receive_at(builder, rank[1], 100, 520, "MPI_Recv", 0);
    receive_at(builder, rank[1], 600, 610, "MPI_Recv", -1); /* from nobody */
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(kind_before(&made, rank[1], 520), INTERVAL_UNEXPLAINED);
    assert_int_equal(kind_before(&made, rank[1], 610), INTERVAL_WORK);
    assert_int_equal(made.graph->counts.unexplained, 1);
    assert_int_equal(made.graph->counts.unexplained_ns, 420);
    graph_unmade(&made);
    (void)state;
}

static void test_a_synchronous_send_waits_for_its_receive(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 100, 810, "MPI_Ssend", 8, "synchronous"),
               receive_at(builder, rank[1], 800, 820, "MPI_Recv", 0));
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[1], 800, rank[0], 810, EDGE_RULE_RENDEZVOUS, CONFIDENCE_CERTAIN, true);
    assert_int_equal(kind_before(&made, rank[0], 810), INTERVAL_WAIT);
    graph_unmade(&made);
    (void)state;
}

/* Whether a send waits is told by the largest one that did not, and the smallest that did. */
static void test_only_a_large_send_waits(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 100, 110, "MPI_Send", 4096, "standard"),
               receive_at(builder, rank[1], 800, 820, "MPI_Recv", 0));
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 1000, 1900, "MPI_Send", 4096, "standard"),
               receive_at(builder, rank[1], 1800, 1910, "MPI_Recv", 0));
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 2000, 2900, "MPI_Send", 8192, "standard"),
               receive_at(builder, rank[1], 2800, 2910, "MPI_Recv", 0));
    struct made_graph made = graph_made(builder, NULL);
    assert_null(edge_between(&made, rank[1], 1800, rank[0], 1900));
    assert_edge(&made, rank[1], 2800, rank[0], 2900, EDGE_RULE_LARGE_SEND, CONFIDENCE_HIGH, true);
    assert_int_equal(edges_by(&made, EDGE_RULE_LARGE_SEND), 1);
    graph_unmade(&made);
    (void)state;
}

/* One of 8192 bytes was seen to wait, so larger ones do, though their receives were posted before. Between that and 4096 nobody knows. */
static void test_what_was_seen_to_wait_tells_of_larger_sends(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 100, 110, "MPI_Send", 4096, "standard"),
               receive_at(builder, rank[1], 800, 820, "MPI_Recv", 0));
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 1000, 1900, "MPI_Send", 8192, "standard"),
               receive_at(builder, rank[1], 1800, 1910, "MPI_Recv", 0));
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 2100, 2200, "MPI_Send", 10000, "standard"),
               receive_at(builder, rank[1], 2000, 2210, "MPI_Recv", 0));
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 2300, 2500, "MPI_Send", 5000, "standard"),
               receive_at(builder, rank[1], 2350, 2510, "MPI_Recv", 0));
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 2700, 2800, "MPI_Send", 5000, "standard"),
               receive_at(builder, rank[1], 2600, 2810, "MPI_Recv", 0));
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[1], 1800, rank[0], 1900, EDGE_RULE_LARGE_SEND, CONFIDENCE_HIGH, true);
    assert_edge(&made, rank[1], 2000, rank[0], 2200, EDGE_RULE_LARGE_SEND, CONFIDENCE_HIGH, false);
    assert_edge(&made, rank[1], 2350, rank[0], 2500, EDGE_RULE_LARGE_SEND, CONFIDENCE_MEDIUM, true);
    assert_int_equal(edges_by(&made, EDGE_RULE_LARGE_SEND), 3);
    graph_unmade(&made);
    (void)state;
}

/* Both wait for each other's message in one call, and each has posted its receive before: the later message is the cause, not that posting. */
static void test_a_later_message_explains_a_call_better_than_a_posting(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    span_id sends[2] = {send_at(builder, rank[0], 100, 110, "MPI_Isend", 64, "standard"), send_at(builder, rank[1], 900, 910, "MPI_Isend", 64, "standard")};
    span_id receives[2] = {receive_at(builder, rank[0], 90, 95, "MPI_Irecv", 1), receive_at(builder, rank[1], 800, 810, "MPI_Irecv", 0)};
    graph_link(builder, LINK_KIND_MESSAGE, sends[0], receives[1]);
    graph_link(builder, LINK_KIND_MESSAGE, sends[1], receives[0]);
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 10, 11, "MPI_Send", 64, "standard"), /* a quick one */
               receive_at(builder, rank[1], 5, 15, "MPI_Recv", 0));
    for (int i = 0; i < 2; i++) {
        span_id wait = graph_span(builder, rank[i], i ? 920 : 120, i ? 930 : 940, "MPI_Waitall", SPAN_KIND_WAIT, NULL);
        graph_link(builder, LINK_KIND_REQUEST, sends[i], wait);
        graph_link(builder, LINK_KIND_REQUEST, receives[i], wait);
    }
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(edges_by(&made, EDGE_RULE_LARGE_SEND), 0);
    graph_unmade(&made);
    (void)state;
}

/* Of slow sends that end at any time after the posting nothing is said. */
static void test_where_nothing_was_seen_of_sends_nothing_is_guessed(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 100, 900, "MPI_Send", 1 << 20, "standard"),
               receive_at(builder, rank[1], 300, 910, "MPI_Recv", 0));
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(edges_by(&made, EDGE_RULE_LARGE_SEND), 0);
    assert_int_equal(kind_before(&made, rank[0], 900), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static struct payload collective(uint64_t bytes, int32_t root)
{
    struct payload payload = {.kind = PAYLOAD_COLLECTIVE};
    set_u64(&payload, FIELD_COLLECTIVE_comm, 1);
    set_u64(&payload, FIELD_COLLECTIVE_bytes_sent, bytes);
    if (root >= 0)
        set_u64(&payload, FIELD_COLLECTIVE_root, (uint64_t)root);
    return payload;
}

/* Three ranks that come at 100, 200, 300 and leave at 400, 410, 420. */
static struct made_graph three(const char *name, uint64_t bytes, int32_t root, track_id *rank)
{
    struct trace_builder *builder = builder_of(3, rank);
    span_id spans[3];
    const struct payload payload = collective(bytes, root);
    for (int i = 0; i < 3; i++)
        spans[i] = graph_span(builder, rank[i], 100 * (i + 1), 400 + 10 * i, name, SPAN_KIND_COLLECTIVE, &payload);
    graph_group(builder, LINK_KIND_COLLECTIVE, spans, 3);
    return graph_made(builder, NULL);
}

static void test_all_wait_for_the_last_at_a_reduction(void **state)
{
    track_id rank[3];
    struct made_graph made = three("MPI_Allreduce", 8, -1, rank);
    for (int i = 0; i < 2; i++) {
        assert_edge(&made, rank[2], 300, rank[i], 400 + 10 * i, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, true);
        assert_int_equal(kind_before(&made, rank[i], 400 + 10 * i), INTERVAL_WAIT);
    }
    assert_int_equal(kind_before(&made, rank[2], 420), INTERVAL_WORK); /* who is last waits for nobody */
    assert_int_equal(edges_by(&made, EDGE_RULE_COLLECTIVE), 6);
    graph_unmade(&made);
    (void)state;
}

static void test_nothing_to_reduce_holds_nobody_up(void **state)
{
    track_id rank[3];
    struct made_graph made = three("MPI_Allreduce", 0, -1, rank);
    assert_int_equal(edges_by(&made, EDGE_RULE_COLLECTIVE), 0);
    assert_int_equal(made.graph->counts.unexplained, 0);
    graph_unmade(&made);
    (void)state;
}

static void test_a_broadcast_waits_for_its_root_only(void **state)
{
    track_id rank[3];
    struct made_graph made = three("MPI_Bcast", 8, 1, rank);
    assert_edge(&made, rank[1], 200, rank[0], 400, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, rank[1], 200, rank[2], 420, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, false);
    assert_int_equal(edges_by(&made, EDGE_RULE_COLLECTIVE), 2);
    assert_int_equal(kind_before(&made, rank[1], 410), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static void test_only_the_root_waits_at_a_reduction_to_it(void **state)
{
    track_id rank[3];
    struct made_graph made = three("MPI_Reduce", 8, 0, rank);
    assert_edge(&made, rank[2], 300, rank[0], 400, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, true);
    assert_null(edge_between(&made, rank[2], 300, rank[1], 410));
    assert_int_equal(kind_before(&made, rank[1], 410), INTERVAL_WORK);
    graph_unmade(&made);
    (void)state;
}

static void test_a_scan_waits_for_the_ranks_before(void **state)
{
    track_id rank[3];
    struct trace_builder *builder = builder_of(3, rank);
    span_id spans[3];
    const struct payload payload = collective(8, -1);
    static const int64_t begins[] = {100, 300, 200}, ends[] = {110, 320, 330};
    assert_int_equal(trace_builder_set_metadata(builder, "mpi.comm.1", "{\"kind\":\"communicator\",\"size\":3,\"ranks\":\"0-2\"}"), 0);
    for (int i = 0; i < 3; i++)
        spans[i] = graph_span(builder, rank[i], begins[i], ends[i], "MPI_Scan", SPAN_KIND_COLLECTIVE, &payload);
    graph_group(builder, LINK_KIND_COLLECTIVE, spans, 3);
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[1], 300, rank[2], 330, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, rank[0], 100, rank[1], 320, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, false);
    assert_null(edge_between(&made, rank[1], 300, rank[0], 110));
    graph_unmade(&made);
    (void)state;
}

/* Who gets nothing from a rank does not wait for it. */
static void test_neighbours_wait_for_neighbours_only(void **state)
{
    track_id rank[3];
    struct trace_builder *builder = builder_of(3, rank);
    span_id spans[3];
    static const char *const nothing_from[] = {"0,2", "1", "0,2"};
    static const int64_t ends[] = {420, 430, 415};
    for (int i = 0; i < 3; i++) {
        struct payload payload = collective(8, -1);
        set_text(builder, &payload, FIELD_COLLECTIVE_no_data_from, nothing_from[i]);
        spans[i] = graph_span(builder, rank[i], 100 * (i + 1), ends[i], "MPI_Neighbor_allgather", SPAN_KIND_COLLECTIVE, &payload);
    }
    graph_group(builder, LINK_KIND_COLLECTIVE, spans, 3);
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[1], 200, rank[0], 420, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, true);
    assert_null(edge_between(&made, rank[2], 300, rank[0], 420));
    assert_edge(&made, rank[2], 300, rank[1], 430, EDGE_RULE_COLLECTIVE, CONFIDENCE_CERTAIN, true);
    graph_unmade(&made);
    (void)state;
}

static void test_members_that_are_elsewhere_leave_it_unexplained(void **state)
{
    track_id rank[1];
    struct trace_builder *builder = builder_of(1, rank);
    const struct payload payload = collective(8, -1);
    assert_int_equal(trace_builder_set_metadata(builder, "mpi.comm.1", "{\"kind\":\"communicator\",\"size\":4}"), 0);
    span_id span = graph_span(builder, rank[0], 100, 400, "MPI_Barrier", SPAN_KIND_COLLECTIVE, &payload);
    graph_group(builder, LINK_KIND_COLLECTIVE, &span, 1);
    struct made_graph made = graph_made(builder, NULL);
    assert_int_equal(kind_before(&made, rank[0], 400), INTERVAL_UNEXPLAINED);
    graph_unmade(&made);
    (void)state;
}

static span_id access_call(struct trace_builder *builder, track_id track, int64_t begin_ns, int64_t end_ns, const char *name, int32_t target, const char *lock)
{
    struct payload payload = {.kind = PAYLOAD_RMA};
    set_u64(&payload, FIELD_RMA_window, 9);
    if (target >= 0)
        set_u64(&payload, FIELD_RMA_target, (uint64_t)target);
    if (lock)
        set_text(builder, &payload, FIELD_RMA_lock, lock);
    return graph_span(builder, track, begin_ns, end_ns, name, SPAN_KIND_RMA, &payload);
}

static void test_windows_between_groups_and_under_locks(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    span_id post = access_call(builder, rank[1], 300, 310, "MPI_Win_post", -1, NULL), start = access_call(builder, rank[0], 100, 320, "MPI_Win_start", -1, NULL);
    span_id complete = access_call(builder, rank[0], 500, 510, "MPI_Win_complete", -1, NULL), wait = access_call(builder, rank[1], 400, 520, "MPI_Win_wait", -1, NULL);
    graph_link(builder, LINK_KIND_SYNC, post, start);
    graph_link(builder, LINK_KIND_SYNC, complete, wait);
    access_call(builder, rank[0], 1000, 1010, "MPI_Win_lock", 0, "exclusive");
    access_call(builder, rank[0], 1500, 1510, "MPI_Win_unlock", 0, NULL);
    access_call(builder, rank[1], 1100, 1505, "MPI_Win_lock", 0, "shared");
    access_call(builder, rank[1], 1600, 1610, "MPI_Win_unlock", 0, NULL);
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[1], 300, rank[0], 320, EDGE_RULE_WINDOW_SYNC, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, rank[0], 500, rank[1], 520, EDGE_RULE_WINDOW_SYNC, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, rank[0], 1500, rank[1], 1505, EDGE_RULE_PASSIVE_TARGET, CONFIDENCE_HIGH, true);
    assert_int_equal(made.graph->counts.unexplained, 0);
    graph_unmade(&made);
    (void)state;
}

/*
 * Rank 0 works on memory of rank 1, which is out of MPI until 200 us: what ends right then waited for it. Not what ends later, nor what began while the target was in a call, nor
 * what is told to have waited for a lock.
 */
static void test_one_sided_calls_wait_for_their_target_to_come(void **state)
{
    static const struct {
        int64_t begin_ns, end_ns, target_ns;
        bool waits;
    } cases[] = {{100000, 205000, 200000, true}, {100000, 215000, 200000, false}, {190000, 200500, 200000, false}, {100000, 205000, 90000, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        track_id rank[2];
        struct trace_builder *builder = builder_of(2, rank);
        access_call(builder, rank[0], 1000, 1010, "MPI_Win_lock", 1, "shared");
        access_call(builder, rank[0], cases[i].begin_ns, cases[i].end_ns, "MPI_Accumulate", 1, NULL);
        access_call(builder, rank[0], 300000, 300100, "MPI_Win_unlock", 1, NULL);
        receive_at(builder, rank[1], cases[i].target_ns, 400000, "MPI_Recv", 0);
        struct made_graph made = graph_made(builder, NULL);
        assert_int_equal(edges_by(&made, EDGE_RULE_TARGET_PROGRESS), cases[i].waits);
        if (cases[i].waits)
            assert_edge(&made, rank[1], 200000, rank[0], 205000, EDGE_RULE_TARGET_PROGRESS, CONFIDENCE_MEDIUM, true);
        assert_int_equal(kind_before(&made, rank[0], cases[i].end_ns), cases[i].waits ? INTERVAL_WAIT : INTERVAL_WORK);
        graph_unmade(&made);
    }
    (void)state;
}

/* A gap in the numbers of a process' postings: what waits in it may have waited for something else. */
static void test_losses_lower_the_confidence_of_their_time(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    for (uint64_t i = 1; i <= 3; i++) {
        uint64_t order = i == 3 ? 5 : i;
        int64_t begin_ns = (int64_t)i * 1000;
        const struct payload send = send_payload(builder, 1, 8, "standard", i), receive = receive_payload(0, 8, order);
        graph_link(builder, LINK_KIND_MESSAGE, graph_span(builder, rank[0], begin_ns, begin_ns + 10, "MPI_Send", SPAN_KIND_SEND, &send),
                   graph_span(builder, rank[1], begin_ns - 300, begin_ns + 20, "MPI_Recv", SPAN_KIND_RECV, &receive));
    }
    assert_int_equal(trace_builder_add_ledger(builder, "runtime records", 0, 0, 2, "full disk"), 0);
    struct made_graph made = graph_made(builder, NULL);
    assert_edge(&made, rank[0], 1000, rank[1], 1020, EDGE_RULE_MESSAGE, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, rank[0], 3000, rank[1], 3020, EDGE_RULE_MESSAGE, CONFIDENCE_HIGH, true);
    graph_unmade(&made);
    (void)state;
}

/* Rank 1 on a machine of its own, whose clock may be off by `bound` ns (NULL: nobody compared it); messages that come after 50, 500, -50 and -500 ns. */
static struct made_graph two_nodes(const char *bound, track_id *rank)
{
    static const int64_t lags[] = {50, 500, -50, -500};
    struct trace_builder *builder = builder_of(1, rank);
    const struct trace_node other = {.name = trace_builder_string(builder, "node1"), .clock_domain = trace_builder_string(builder, "boot:2")};
    struct trace_process process = {.pid = 2000, .rank = 1, .start_ns = INT64_MIN / 8, .end_ns = INT64_MIN, .parent = PROCESS_NONE, .exit_status = -1};
    process_id id;
    assert_int_equal(trace_builder_add_node(builder, &other, &process.node), 0);
    assert_int_equal(trace_builder_add_process(builder, &process, &id), 0);
    const struct trace_track track = {.kind = TRACK_KIND_THREAD, .process = id, .tid = 2000, .device = -1, .stream = -1, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    assert_int_equal(trace_builder_add_track(builder, &track, &rank[1]), 0);
    assert_int_equal(trace_builder_set_metadata(builder, "clock.bound_ns.0", "0"), 0);
    if (bound)
        assert_int_equal(trace_builder_set_metadata(builder, "clock.bound_ns.1", bound), 0);
    for (int i = 0; i < 4; i++) {
        int64_t sent_ns = (i + 1) * 10000;
        graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], sent_ns, sent_ns + 10, "MPI_Send", 8, "standard"),
                   receive_at(builder, rank[1], sent_ns - 5000, sent_ns + lags[i], "MPI_Recv", 0));
    }
    struct made_graph made = {.trace = fixture_finish(builder)};
    struct error err = ERROR_INIT;
    if (dependency_graph_create(made.trace, NULL, NULL, &made.graph, &err) < 0)
        fail_msg("%s", err.text);
    return made;
}

static void test_what_clocks_leave_open_lowers_the_confidence(void **state)
{
    track_id rank[2];
    struct made_graph made = two_nodes("100", rank);
    assert_edge(&made, rank[0], 10000, rank[1], 10050, EDGE_RULE_MESSAGE, CONFIDENCE_HIGH, true);
    assert_edge(&made, rank[0], 20000, rank[1], 20500, EDGE_RULE_MESSAGE, CONFIDENCE_CERTAIN, true);
    assert_edge(&made, rank[0], 30000, rank[1], 29950, EDGE_RULE_MESSAGE, CONFIDENCE_HIGH, true);
    assert_null(edge_between(&made, rank[0], 40000, rank[1], 39500));
    assert_int_equal(made.graph->counts.backward, 1);
    assert_int_equal(made.graph->counts.largest_backward_ns, 500);
    graph_unmade(&made);
    made = two_nodes(NULL, rank);
    assert_edge(&made, rank[0], 20000, rank[1], 20500, EDGE_RULE_MESSAGE, CONFIDENCE_HIGH, true);
    graph_unmade(&made);
    (void)state;
}

static void test_messages_are_found_without_links(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    send_at(builder, rank[0], 500, 510, "MPI_Send", 8, "standard");
    receive_at(builder, rank[1], 100, 520, "MPI_Recv", 0);
    struct made_graph made = graph_made(builder, &(struct graph_options){.infer_all = true});
    assert_edge(&made, rank[0], 500, rank[1], 520, EDGE_RULE_MESSAGE, CONFIDENCE_HIGH, true);
    graph_unmade(&made);
    (void)state;
}

static void test_rules_can_be_left_out(void **state)
{
    track_id rank[2];
    struct trace_builder *builder = builder_of(2, rank);
    graph_link(builder, LINK_KIND_MESSAGE, send_at(builder, rank[0], 500, 510, "MPI_Send", 8, "standard"),
               receive_at(builder, rank[1], 100, 520, "MPI_Recv", 0));
    struct made_graph made = graph_made(builder, &(struct graph_options){.leave_out_rules = 1u << EDGE_RULE_MESSAGE});
    assert_int_equal(made.graph->edge_count, 0);
    assert_int_equal(kind_before(&made, rank[1], 520), INTERVAL_UNEXPLAINED);
    graph_unmade(&made);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_sided_calls_wait_for_their_target_to_come),
        cmocka_unit_test(test_a_receive_waits_for_its_send),
        cmocka_unit_test(test_a_posted_receive_ends_where_it_is_waited_for),
        cmocka_unit_test(test_a_wait_for_what_the_trace_has_not_is_unexplained),
        cmocka_unit_test(test_a_synchronous_send_waits_for_its_receive),
        cmocka_unit_test(test_only_a_large_send_waits),
        cmocka_unit_test(test_what_was_seen_to_wait_tells_of_larger_sends),
        cmocka_unit_test(test_a_later_message_explains_a_call_better_than_a_posting),
        cmocka_unit_test(test_where_nothing_was_seen_of_sends_nothing_is_guessed),
        cmocka_unit_test(test_all_wait_for_the_last_at_a_reduction),
        cmocka_unit_test(test_nothing_to_reduce_holds_nobody_up),
        cmocka_unit_test(test_a_broadcast_waits_for_its_root_only),
        cmocka_unit_test(test_only_the_root_waits_at_a_reduction_to_it),
        cmocka_unit_test(test_a_scan_waits_for_the_ranks_before),
        cmocka_unit_test(test_neighbours_wait_for_neighbours_only),
        cmocka_unit_test(test_members_that_are_elsewhere_leave_it_unexplained),
        cmocka_unit_test(test_windows_between_groups_and_under_locks),
        cmocka_unit_test(test_losses_lower_the_confidence_of_their_time),
        cmocka_unit_test(test_what_clocks_leave_open_lowers_the_confidence),
        cmocka_unit_test(test_messages_are_found_without_links),
        cmocka_unit_test(test_rules_can_be_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
