/* SPDX-License-Identifier: MIT */
/*
 * Traces of random programs on nodes whose clocks are known: after the merge each message is joined to its own, each collective is whole, the
 * clocks are what they are within their bounds, and a repair leaves nothing that comes in before it went out. The dependency graph of pieces
 * that know nothing of each other but their shared parts is that of the whole.
 */
#include "analysis/graph_piece.h"
#include "analysis/node_merge.h"
#include "analysis/node_merge_piece.h"
#include "base/error.h"
#include "trace/builder.h"

#include "unit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS = 6, NODES_MAX = 4, WORLD = 77 };

static uint64_t state = 521288629u;

static int64_t random_between(int64_t least, int64_t most)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return least + (int64_t)(state % (uint64_t)(most - least + 1));
}

/* A program of RANKS ranks, one trace each, over some nodes. Times are true ones; each trace has them as its node's clock does. */
struct program {
    struct trace_builder *builders[RANKS];
    track_id tracks[RANKS];
    int64_t free_ns[RANKS];             /* when the rank's last call was over */
    uint64_t order[RANKS];
    uint64_t collectives, messages;
    int nodes;
    int64_t offset_ns[NODES_MAX], gain[NODES_MAX]; /* gain: ns in 10^9 */
    int64_t start_ns[RANKS];            /* of the recording, on the node's clock */
};

static int node_of(const struct program *program, int rank)
{
    return rank % program->nodes;
}

static int64_t clock_of(const struct program *program, int node, int64_t true_ns)
{
    return true_ns + program->offset_ns[node] + (int64_t)((__int128)true_ns * program->gain[node] / 1000000000);
}

static int64_t own_time(const struct program *program, int rank, int64_t true_ns)
{
    return clock_of(program, node_of(program, rank), true_ns) - program->start_ns[rank];
}

static void set_number(struct trace_builder *builder, const char *key, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, value);
    assert_int_equal(trace_builder_set_metadata(builder, key, text), 0);
}

static void begin_rank(struct program *program, int rank)
{
    char name[16];
    snprintf(name, sizeof name, "node%d", node_of(program, rank));
    assert_int_equal(trace_builder_create(&(struct builder_options){0}, &program->builders[rank], NULL), 0);
    struct trace_builder *builder = program->builders[rank];
    int64_t start = INT64_C(1000000000) + random_between(0, 1000000);
    program->free_ns[rank] = start;
    program->start_ns[rank] = clock_of(program, node_of(program, rank), start);
    node_id node;
    process_id process;
    assert_int_equal(trace_builder_add_node(builder, &(struct trace_node){trace_builder_string(builder, name), trace_builder_string(builder, name)}, &node), 0);
    assert_int_equal(trace_builder_add_process(builder, &(struct trace_process){.node = node, .pid = 5, .rank = rank, .parent = PROCESS_NONE,
                                                                                 .end_ns = INT64_MIN, .exit_status = -1}, &process), 0);
    const struct trace_track track = {.kind = TRACK_KIND_THREAD, .process = process, .tid = 5, .device = -1, .stream = -1,
                                      .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    assert_int_equal(trace_builder_add_track(builder, &track, &program->tracks[rank]), 0);
    set_number(builder, "start_monotonic_raw_ns", program->start_ns[rank]);
    set_number(builder, "start_realtime_ns", INT64_C(1700000000000000000) + start);
    set_number(builder, "mpi.world_size", RANKS);
    trace_builder_set_metadata(builder, "clock_domain", name);
    trace_builder_set_metadata(builder, "mpi.comm.77", "{\"kind\":\"communicator\",\"size\":6,\"ranks\":\"0-5\"}");
}

static span_id add_call(struct program *program, int rank, const char *name, enum span_kind kind, int64_t begin, int64_t end, struct payload *payload)
{
    struct trace_builder *builder = program->builders[rank];
    const struct span span = {.track = program->tracks[rank], .begin_ns = own_time(program, rank, begin), .end_ns = own_time(program, rank, end),
                              .kind = kind, .name = trace_builder_string(builder, name), .parent = SPAN_NONE, .stack = STACK_NONE};
    span_id handle;
    assert_int_equal(trace_builder_add_span(builder, &span, payload->kind ? payload : NULL, &handle), 0);
    program->free_ns[rank] = end + random_between(1, 1 << random_between(1, 16));
    return handle;
}

static void set(struct payload *payload, unsigned field, uint64_t value)
{
    payload->present |= 1u << field;
    payload->fields[field].u64 = value;
}

static struct payload message_payload(struct program *program, int rank)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE};
    set(&payload, FIELD_MESSAGE_comm, WORLD);
    set(&payload, FIELD_MESSAGE_order, ++program->order[rank]);
    return payload;
}

/* The bytes of a message are its number, so that a link can be held against the truth. */
static void send_message(struct program *program, int from, int to)
{
    struct payload send = message_payload(program, from), receive = message_payload(program, to);
    uint64_t tag = (uint64_t)random_between(0, 1), number = ++program->messages;
    int64_t begin = program->free_ns[from], arrival = begin + random_between(1000, 20000);
    set(&send, FIELD_MESSAGE_send_to, (uint64_t)to);
    set(&send, FIELD_MESSAGE_send_tag, tag);
    set(&send, FIELD_MESSAGE_send_bytes, number);
    set(&receive, FIELD_MESSAGE_receive_from, (uint64_t)from);
    set(&receive, FIELD_MESSAGE_receive_tag, tag);
    set(&receive, FIELD_MESSAGE_receive_bytes, number);
    add_call(program, from, "MPI_Send", SPAN_KIND_SEND, begin, begin + random_between(1, 2000), &send);
    int64_t posted = program->free_ns[to], done = (arrival > posted ? arrival : posted) + random_between(1, 1000);
    bool waits = random_between(0, 1);
    span_id call = add_call(program, to, waits ? "MPI_Irecv" : "MPI_Recv", SPAN_KIND_RECV, posted, waits ? posted + 10 : done, &receive);
    if (!waits)
        return;
    struct payload none = {0};
    int64_t wait = program->free_ns[to];
    span_id end = add_call(program, to, "MPI_Wait", SPAN_KIND_WAIT, wait, wait > done ? wait + 10 : done + 10, &none);
    assert_int_equal(trace_builder_add_link(program->builders[to], &(struct trace_link){.kind = LINK_KIND_REQUEST, .from = call, .to = end}), 0);
}

/* What no other rank gets to know of. */
static void work(struct program *program, int rank)
{
    struct payload none = {0};
    int64_t begin = program->free_ns[rank];
    add_call(program, rank, "phase", SPAN_KIND_RANGE, begin, begin + random_between(100, 30000), &none);
}

static void meet(struct program *program, const char *name, int root)
{
    uint64_t sequence = ++program->collectives;
    int64_t last = 0, root_ns = root >= 0 ? program->free_ns[root] : 0;
    for (int rank = 0; rank < RANKS; rank++)
        last = program->free_ns[rank] > last ? program->free_ns[rank] : last;
    for (int rank = 0; rank < RANKS; rank++) {
        struct trace_builder *builder = program->builders[rank];
        struct payload payload = {.kind = PAYLOAD_COLLECTIVE};
        int64_t begin = program->free_ns[rank], need = root < 0 ? last : root_ns;
        group_id group;
        set(&payload, FIELD_COLLECTIVE_comm, WORLD);
        set(&payload, FIELD_COLLECTIVE_sequence, sequence);
        if (root >= 0)
            set(&payload, FIELD_COLLECTIVE_root, (uint64_t)root);
        span_id span = add_call(program, rank, name, SPAN_KIND_COLLECTIVE, begin, (begin > need ? begin : need) + random_between(500, 20000), &payload);
        assert_int_equal(trace_builder_add_group(builder, &(struct trace_group){.kind = LINK_KIND_COLLECTIVE, .sequence = sequence,
                                                                                .name = trace_builder_string(builder, name)}, &group), 0);
        assert_int_equal(trace_builder_add_member(builder, &(struct group_member){.group = group, .span = span, .rank = rank}), 0);
    }
}

/* The first rank of a node against rank 0, at a true time; `off`: what the probe does not know. */
static void add_probe(struct program *program, int rank, int number, int64_t true_ns, int64_t error, int64_t off)
{
    char key[40], value[400];
    snprintf(key, sizeof key, "clock.probe.5.%d", number);
    snprintf(value, sizeof value,
             "{\"rank\":%d,\"peer\":0,\"when\":\"begin\",\"time_ns\":0,\"own_raw_ns\":%" PRId64 ",\"peer_raw_ns\":%" PRId64 ",\"error_ns\":%" PRId64
             ",\"trips\":20,\"own_domain\":\"%016x\",\"peer_domain\":\"%016x\"}",
             rank, clock_of(program, node_of(program, rank), true_ns), clock_of(program, 0, true_ns) + off, error,
             100 + node_of(program, rank), 100);
    assert_int_equal(trace_builder_set_metadata(program->builders[rank], key, value), 0);
}

static void run_program(struct program *program, int calls, bool probes, struct trace *traces[RANKS])
{
    *program = (struct program){.nodes = (int)random_between(1, NODES_MAX)};
    for (int node = 0; node < program->nodes; node++) {
        program->offset_ns[node] = random_between(0, INT64_C(5000000000000));
        program->gain[node] = random_between(-100000, 100000);
    }
    for (int rank = 0; rank < RANKS; rank++)
        begin_rank(program, rank);
    int64_t begin = program->free_ns[0];
    for (int i = 0; i < calls; i++) {
        int from = (int)random_between(0, RANKS - 1), what = (int)random_between(0, 9);
        if (what == 0)
            meet(program, "MPI_Allreduce", -1);
        else if (what == 1)
            meet(program, "MPI_Bcast", from);
        else if (what == 2)
            work(program, from);
        else
            send_message(program, from, (from + (int)random_between(1, RANKS - 1)) % RANKS);
    }
    for (int rank = 1; probes && rank < program->nodes; rank++)
        for (int k = 0; k < 2; k++) {
            int64_t error = random_between(100, 10000);
            add_probe(program, rank, k, k ? program->free_ns[0] : begin, error, random_between(-error, error));
        }
    for (int rank = 0; rank < RANKS; rank++) {
        struct payload payload = message_payload(program, rank);
        add_call(program, rank, "MPI_Finalize", SPAN_KIND_INIT, program->free_ns[rank], program->free_ns[rank] + 100, &payload);
        assert_int_equal(trace_builder_finish(program->builders[rank], &traces[rank], NULL), 0);
        trace_builder_destroy(program->builders[rank]);
    }
}

/* --- what came out ------------------------------------------------------------------------------------------------ */

static struct trace *merge(struct trace *traces[RANKS], bool repair, struct node_merge_report *report)
{
    static const char *const names[RANKS] = {"0", "1", "2", "3", "4", "5"};
    struct error err = ERROR_INIT;
    struct trace *whole;
    const struct node_merge_options options = {.repair = repair};
    if (node_merge((const struct trace *const *)(const void *)traces, names, RANKS, &options, NULL, &whole, report, &err) < 0)
        fail_msg("%s", err.text);
    return whole;
}

struct row {
    int64_t begin_ns, end_ns;
    struct payload payload;
};

static struct row row_of(const struct trace *trace, span_id span)
{
    uint32_t index, at;
    struct span_block block;
    struct row row;
    assert_true(trace_span_find(trace, span, &index, &at));
    assert_int_equal(trace_spans_get(trace, index, &block, NULL), 0);
    row = (struct row){.begin_ns = block.begin_ns[at], .end_ns = block.end_ns[at]};
    assert_int_equal(span_payload(&block, at, &row.payload), 0);
    trace_spans_put(trace, &block);
    return row;
}

/* Each message is joined to itself; returns how many came in before they went out (of those that were waited for in the call). */
static uint64_t check_messages(const struct trace *trace, const struct program *program)
{
    uint64_t late = 0, messages = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        struct link_block block;
        assert_int_equal(trace_links_get(trace, i, &block, NULL), 0);
        for (uint32_t at = 0; at < block.info.count; at++) {
            if ((block.kind ? block.kind[at] : 0) != LINK_KIND_MESSAGE)
                continue;
            struct row from = row_of(trace, block.from[at]), to = row_of(trace, block.to[at]);
            assert_int_equal(from.payload.fields[FIELD_MESSAGE_send_bytes].u64, to.payload.fields[FIELD_MESSAGE_receive_bytes].u64);
            assert_int_equal(block.confidence ? block.confidence[at] : 0, CONFIDENCE_CERTAIN);
            late += to.end_ns - to.begin_ns > 12 && to.end_ns < from.begin_ns; /* an Irecv takes 10 ns */
            messages++;
        }
        trace_links_put(trace, &block);
    }
    assert_int_equal(messages, program->messages);
    return late;
}

static void check_clocks(const struct trace *trace, const struct program *program, const struct node_merge_report *report)
{
    assert_int_equal(report->node_count, program->nodes);
    for (uint32_t i = 0; i < report->node_count; i++) {
        const struct node_report *node = &report->nodes[i];
        assert_int_equal(clock_bound_of_node(trace, (node_id){i}), node->bound_ns);
        assert_true(node->bound_ns >= 0 && (i == 0) == (node->source == CLOCK_BY_BEING_REFERENCE));
    }
}

/* What a node's clock is found to be against what it was, on the whole length: by spans whose true times are in order. */
static int64_t truth_of(const struct program *program, int node, int64_t own_ns)
{
    int64_t low = 0, high = INT64_C(1) << 50;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (clock_of(program, node, middle) < own_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return clock_of(program, 0, low);
}

static void check_offsets(const struct program *program, const struct node_merge_report *report)
{
    for (uint32_t i = 1; i < report->node_count; i++) {
        int node = report->nodes[i].name[4] - '0';
        int64_t own = program->start_ns[node];
        for (int rank = node; rank < RANKS; rank += program->nodes)
            own = program->start_ns[rank] < own ? program->start_ns[rank] : own;
        int64_t error = own + report->nodes[i].offset_ns - truth_of(program, node, own);
        /* A trace begins up to 1 ms before its first message: by then a clock may have drifted 500 ppm, twice. */
        assert_true((error < 0 ? -error : error) <= report->nodes[i].bound_ns + 2000);
    }
}

/* --- in pieces ---------------------------------------------------------------------------------------------------- */

static struct trace *merge_shared_parts(struct trace *traces[RANKS], struct parcel *frame)
{
    struct trace *parts[RANKS];
    struct node_merge_report report;
    struct error err = ERROR_INIT;
    for (int rank = 0; rank < RANKS; rank++)
        if (merge_shared_part(traces[rank], merge_shared_kinds(traces[rank]), NULL, &parts[rank], &err) < 0)
            fail_msg("%s", err.text);
    struct trace *shared = merge(parts, false, &report);
    merge_frame_pack(shared, &report, frame);
    node_merge_report_finish(&report);
    for (int rank = 0; rank < RANKS; rank++)
        trace_unref(parts[rank]);
    return shared;
}

/* Traces of a part of all ranks, placed in the whole. */
struct piece {
    struct trace *trace;
    uint32_t first_track;
};

static bool place_piece(struct trace *traces[RANKS], const struct parcel *frame, uint32_t first, uint32_t count, struct piece *piece)
{
    struct parcel own = *frame;
    struct error err = ERROR_INIT;
    bool active = false;
    if (node_merge_piece(&own, (const struct trace *const *)(const void *)(traces + first), first, count, NULL, &piece->trace, &piece->first_track,
                         &err) < 0 ||
        graph_piece_is_active(piece->trace, &active, &err) < 0)
        fail_msg("%s", err.text);
    return active;
}

static void pack_pieces(struct trace *traces[RANKS], const struct parcel *frame, uint32_t count, struct parcel *parcels)
{
    struct piece pieces[RANKS];
    struct error err = ERROR_INIT;
    bool active = false;
    for (uint32_t i = 0; i < count; i++)
        active |= place_piece(traces, frame, RANKS * i / count, RANKS * (i + 1) / count - RANKS * i / count, &pieces[i]);
    for (uint32_t i = 0; i < count; i++) {
        if (graph_piece_pack(pieces[i].trace, pieces[i].first_track, merge_shared_kinds(pieces[i].trace), active, NULL, &parcels[i], &err) < 0)
            fail_msg("%s", err.text);
        trace_unref(pieces[i].trace);
    }
}

#define SAME(column, count) assert_memory_equal(joined->column, graph->column, (count) * sizeof *graph->column)

static void compare_graphs(const struct dependency_graph *joined, const struct dependency_graph *graph)
{
    assert_int_equal(joined->lane_count, graph->lane_count);
    assert_int_equal(joined->point_count, graph->point_count);
    assert_int_equal(joined->edge_count, graph->edge_count);
    assert_memory_equal(&joined->counts, &graph->counts, sizeof graph->counts);
    for (uint32_t l = 0; l < graph->lane_count; l++) {
        assert_int_equal(joined->lanes[l].track.index, graph->lanes[l].track.index);
        assert_int_equal(joined->lanes[l].clock_bound_ns, graph->lanes[l].clock_bound_ns);
        assert_int_equal(joined->lanes[l].first_point, graph->lanes[l].first_point);
    }
    SAME(time_ns, graph->point_count);
    SAME(lane, graph->point_count);
    SAME(interval, graph->point_count);
    SAME(span, graph->point_count);
    SAME(interval_weight_ns, graph->point_count);
    SAME(order, graph->point_count);
    SAME(first_edge, graph->point_count + 1);
    for (uint32_t e = 0; e < graph->edge_count; e++) {
        const struct graph_edge *own = &joined->edges[e], *other = &graph->edges[e];
        assert_true(own->from == other->from && own->rule == other->rule && own->confidence == other->confidence && own->bound == other->bound &&
                    own->weight_ns == other->weight_ns);
    }
}

static void check_pieces(struct trace *traces[RANKS], const struct trace *whole, uint32_t count)
{
    struct parcel frame = PARCEL_INIT, pieces[RANKS] = {PARCEL_INIT};
    struct dependency_graph *graph = NULL, *joined = NULL;
    struct error err = ERROR_INIT;
    struct trace *shared = merge_shared_parts(traces, &frame);
    pack_pieces(traces, &frame, count, pieces);
    if (dependency_graph_create(whole, NULL, NULL, &graph, &err) < 0 || graph_pieces_join(shared, pieces, count, NULL, &joined, &err) < 0)
        fail_msg("%s", err.text);
    compare_graphs(joined, graph);
    dependency_graph_destroy(joined);
    dependency_graph_destroy(graph);
    trace_unref(shared);
    parcel_finish(&frame);
}

static void test_pieces_make_the_graph_of_the_whole(void **unused)
{
    for (int round = 0; round < 24; round++) {
        struct program program;
        struct trace *traces[RANKS];
        struct node_merge_report report;
        run_program(&program, (int)random_between(100, 400), round % 2, traces);
        struct trace *whole = merge(traces, false, &report);
        check_pieces(traces, whole, (uint32_t)random_between(1, RANKS));
        node_merge_report_finish(&report);
        trace_unref(whole);
        for (int rank = 0; rank < RANKS; rank++)
            trace_unref(traces[rank]);
    }
}

/* Of each rank's process it is known that it was there; who is in `busy` did something as well. */
static void run_some(uint32_t busy, struct trace *traces[RANKS])
{
    struct program program = {.nodes = 1};
    for (int rank = 0; rank < RANKS; rank++) {
        begin_rank(&program, rank);
        trace_builder_process(program.builders[rank], (process_id){0})->end_ns = 1000000;
        if (busy >> rank & 1)
            work(&program, rank);
        assert_int_equal(trace_builder_finish(program.builders[rank], &traces[rank], NULL), 0);
        trace_builder_destroy(program.builders[rank]);
    }
}

/* Such a process has no lane, unless none did anything: then all have. */
static void test_ranks_that_did_nothing(void **unused)
{
    for (uint32_t busy = 0; busy < 1u << RANKS; busy++) {
        struct trace *traces[RANKS];
        struct node_merge_report report;
        struct dependency_graph *graph = NULL;
        run_some(busy, traces);
        struct trace *whole = merge(traces, false, &report);
        assert_int_equal(dependency_graph_create(whole, NULL, NULL, &graph, NULL), 0);
        assert_int_equal(graph->lane_count, busy ? __builtin_popcount(busy) : RANKS);
        dependency_graph_destroy(graph);
        for (uint32_t count = 1; count <= RANKS; count++)
            check_pieces(traces, whole, count);
        node_merge_report_finish(&report);
        trace_unref(whole);
        for (int rank = 0; rank < RANKS; rank++)
            trace_unref(traces[rank]);
    }
}

static void run_rounds(bool probes)
{
    for (int round = 0; round < 60; round++) {
        struct program program;
        struct trace *traces[RANKS], *whole;
        struct node_merge_report report;
        run_program(&program, (int)random_between(100, 400), probes, traces);
        whole = merge(traces, false, &report);
        uint64_t late = check_messages(whole, &program);
        check_clocks(whole, &program, &report);
        check_offsets(&program, &report);
        assert_int_equal(report.collectives, program.collectives);
        assert_int_equal(report.incomplete_collectives + report.unmatched_ends, 0);
        assert_int_equal(report.measured.beyond_bound, 0);
        assert_true(report.before.violations >= late);
        node_merge_report_finish(&report);
        trace_unref(whole);
        whole = merge(traces, true, &report);
        assert_int_equal(check_messages(whole, &program), 0);
        assert_int_equal(report.after.violations + report.unmended, 0);
        node_merge_report_finish(&report);
        trace_unref(whole);
        for (int rank = 0; rank < RANKS; rank++)
            trace_unref(traces[rank]);
    }
}

static void test_random_programs_with_probes(void **unused)
{
    run_rounds(true);
}

static void test_random_programs_by_their_messages(void **unused)
{
    run_rounds(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_with_probes),
        cmocka_unit_test(test_random_programs_by_their_messages),
        cmocka_unit_test(test_pieces_make_the_graph_of_the_whole),
        cmocka_unit_test(test_ranks_that_did_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
