/* SPDX-License-Identifier: MIT */
/*
 * Graphs of traces that no program could have made: spans of any kind anywhere, links and groups among any of them, payloads of any
 * numbers. Each has a graph, and the unchanged replay gives every point its time (graph_made).
 */
#include "graph_fixture.h"

enum { TRACKS = 5, SPANS = 120, LINKS = 80, GROUPS = 12 };

static const char *const names[] = {"MPI_Send",   "MPI_Isend",     "MPI_Recv",     "MPI_Irecv",    "MPI_Waitall", "MPI_Allreduce", "MPI_Bcast",    "MPI_Gatherv", "MPI_Scan",
                                    "MPI_Exscan", "MPI_Win_fence", "MPI_Win_post", "MPI_Win_start", "MPI_Win_lock", "MPI_Win_unlock", "MPI_Comm_dup", "MPI_Init",    "MPI_Finalize",
                                    "MPI_Iallreduce", "MPI_Probe", "MPI_Win_complete", "MPI_Win_wait", "kernel",    "region"};
static const char *const texts[] = {"standard", "synchronous", "exclusive", "shared", "0,2-3", "1", "-", "9999999-99999999", "event", "stream", "preempted", "complete"};

static struct payload any_payload(struct trace_builder *builder, uint64_t *seed)
{
    struct payload payload = {.kind = (enum payload_kind)(random_next(seed) % PAYLOAD_COUNT)};
    size_t count;
    const struct payload_field *fields = payload_fields(payload.kind, &count);
    if (payload.kind == PAYLOAD_JSON)
        payload.kind = PAYLOAD_NONE;
    for (size_t i = 0; payload.kind != PAYLOAD_NONE && i < count; i++) {
        if (random_next(seed) % 3 == 0)
            continue;
        payload.present |= 1u << i;
        if (fields[i].type == PAYLOAD_TYPE_STRING)
            payload.fields[i].string = trace_builder_string(builder, texts[random_next(seed) % (sizeof texts / sizeof *texts)]);
        else if (fields[i].type == PAYLOAD_TYPE_DOUBLE)
            payload.fields[i].number = random_next(seed);
        else
            payload.fields[i].u64 = random_next(seed) % 50 == 0 ? UINT64_MAX - random_next(seed) % 4 : random_next(seed) % 6;
    }
    return payload;
}

static track_id any_track(struct trace_builder *builder, uint64_t *seed, int32_t number)
{
    static const enum track_kind kinds[] = {TRACK_KIND_THREAD, TRACK_KIND_THREAD, TRACK_KIND_THREAD, TRACK_KIND_STREAM, TRACK_KIND_SCHED};
    track_id main = graph_rank(builder, number);
    if (random_next(seed) % 2)
        return main;
    return fixture_track(builder, kinds[random_next(seed) % 5], "any", 1000 + (int32_t)(random_next(seed) % TRACKS));
}

static struct trace_builder *any_trace(uint64_t *seed)
{
    struct trace_builder *builder = fixture_builder(0);
    track_id tracks[TRACKS];
    span_id spans[SPANS];
    assert_int_equal(trace_builder_set_metadata(builder, "mpi.comm.1", "{\"kind\":\"communicator\",\"size\":3,\"ranks\":\"0-2\"}"), 0);
    assert_int_equal(trace_builder_set_metadata(builder, "mpi.comm.2", "{\"kind\":\"communicator\",\"size\":99,\"ranks\":\"4-999999999,x\"}"), 0);
    assert_int_equal(trace_builder_set_metadata(builder, "mpi.world_size", "5"), 0);
    if (random_next(seed) % 3 == 0)
        assert_int_equal(trace_builder_add_ledger(builder, "runtime records", 9, 0, 9, "lost"), 0);
    for (int32_t i = 0; i < TRACKS; i++)
        tracks[i] = any_track(builder, seed, i);
    for (int i = 0; i < SPANS; i++) {
        int64_t begin_ns = random_next(seed) % 1000, end_ns = begin_ns + random_next(seed) % 200;
        const struct payload payload = any_payload(builder, seed);
        spans[i] = graph_span(builder, tracks[random_next(seed) % TRACKS], begin_ns, random_next(seed) % 40 ? end_ns : INT64_MIN,
                              names[random_next(seed) % (sizeof names / sizeof *names)], (enum span_kind)(random_next(seed) % SPAN_KIND_COUNT),
                              payload.kind == PAYLOAD_NONE ? NULL : &payload);
    }
    for (int i = 0; i < LINKS; i++)
        graph_link(builder, (enum link_kind)(random_next(seed) % LINK_KIND_COUNT), spans[random_next(seed) % SPANS], spans[random_next(seed) % SPANS]);
    for (int i = 0; i < GROUPS; i++)
        graph_group(builder, random_next(seed) % 2 ? LINK_KIND_COLLECTIVE : LINK_KIND_BARRIER, &spans[random_next(seed) % (SPANS - 8)], random_next(seed) % 8);
    return builder;
}

static void test_any_trace_has_a_graph(void **state)
{
    uint64_t edges = 0;
    for (uint64_t round = 1; round <= 300; round++) {
        uint64_t seed = round;
        struct made_graph made = graph_made(any_trace(&seed), &(struct graph_options){.infer_all = round % 5 == 0});
        edges += made.graph->edge_count;
        assert_true(made.graph->point_count >= 2);
        graph_unmade(&made);
    }
    assert_true(edges > 3000); /* or it looked at nothing */
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_trace_has_a_graph)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
