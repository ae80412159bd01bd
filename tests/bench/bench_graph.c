/* SPDX-License-Identifier: MIT */
/*
 * What the dependency graph and the critical path of a large trace cost, in time and memory: ranks that compute, send to the next, receive
 * from the one before, and now and then reduce over all.
 * bench_graph [millions of spans, default 10] [lanes, default 64]
 */
#include "analysis/critical_path.h"
#include "analysis/replay.h"
#include "base/clock.h"
#include "base/error.h"
#include "trace/builder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUND_SPANS = 4, ROUNDS_A_REDUCTION = 10 };

static void check(int code, const struct error *err, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "bench_graph: %s: %d %s\n", what, code, err ? err->text : "");
    exit(1);
}

static double wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double peak_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

struct program {
    struct trace_builder *builder;
    uint32_t ranks;
    track_id *tracks;
    span_id *sends, *receives;
    string_id compute, send, receive, reduce, category;
    uint64_t seed;
};

static uint32_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

static void add_rank(struct program *program, node_id node, uint32_t rank)
{
    process_id process;
    const struct trace_process row = {.node = node, .pid = (int32_t)rank + 100, .rank = (int32_t)rank, .end_ns = INT64_MIN, .parent = PROCESS_NONE,
                                      .exit_status = 0};
    check(trace_builder_add_process(program->builder, &row, &process), NULL, "a process");
    const struct trace_track track = {.kind = TRACK_KIND_THREAD, .process = process, .tid = (int32_t)rank + 100, .device = -1, .stream = -1,
                                      .start_ns = INT64_MIN, .end_ns = INT64_MIN};
    check(trace_builder_add_track(program->builder, &track, &program->tracks[rank]), NULL, "a track");
}

static span_id add_span(struct program *program, uint32_t rank, int64_t begin_ns, int64_t end_ns, string_id name, enum span_kind kind,
                        const struct payload *payload)
{
    span_id handle;
    const struct span span = {.track = program->tracks[rank], .begin_ns = begin_ns, .end_ns = end_ns, .name = name, .category = program->category,
                              .kind = kind, .parent = SPAN_NONE, .stack = STACK_NONE};
    check(trace_builder_add_span(program->builder, &span, payload, &handle), NULL, "a span");
    return handle;
}

static struct payload message(bool send, uint32_t peer, uint64_t order)
{
    struct payload payload = {.kind = PAYLOAD_MESSAGE, .present = 1u << FIELD_MESSAGE_comm | 1u << FIELD_MESSAGE_order};
    unsigned to = send ? FIELD_MESSAGE_send_to : FIELD_MESSAGE_receive_from, bytes = send ? FIELD_MESSAGE_send_bytes : FIELD_MESSAGE_receive_bytes;
    payload.present |= 1u << to | 1u << bytes;
    payload.fields[FIELD_MESSAGE_comm].u64 = 1;
    payload.fields[FIELD_MESSAGE_order].u64 = order;
    payload.fields[to].i64 = peer;
    payload.fields[bytes].u64 = 1024;
    return payload;
}

/* All ranks' sends of a round begin before its receives end; the round's end is the same for all. */
static void add_round(struct program *program, uint64_t round)
{
    const int64_t begin_ns = (int64_t)round * 10000;
    group_id group = GROUP_NONE;
    bool reduces = round % ROUNDS_A_REDUCTION == 0;
    const struct trace_group row = {.kind = LINK_KIND_COLLECTIVE, .name = program->reduce, .sequence = round};
    if (reduces)
        check(trace_builder_add_group(program->builder, &row, &group), NULL, "a group");
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        int64_t computed_ns = begin_ns + 1000 + random_next(&program->seed) % 4000;
        uint32_t next = (rank + 1) % program->ranks, before = (rank + program->ranks - 1) % program->ranks;
        const struct payload send = message(true, next, 2 * round + 1), receive = message(false, before, 2 * round + 2);
        add_span(program, rank, begin_ns, computed_ns, program->compute, SPAN_KIND_RANGE, NULL);
        program->sends[rank] = add_span(program, rank, computed_ns, computed_ns + 200, program->send, SPAN_KIND_SEND, &send);
        program->receives[rank] = add_span(program, rank, computed_ns + 300, begin_ns + 6000, program->receive, SPAN_KIND_RECV, &receive);
        const struct payload reduce = {.kind = PAYLOAD_COLLECTIVE, .present = 1u << FIELD_COLLECTIVE_comm | 1u << FIELD_COLLECTIVE_bytes_sent,
                                       .fields = {[FIELD_COLLECTIVE_comm] = {.u64 = 1}, [FIELD_COLLECTIVE_bytes_sent] = {.u64 = 8}}};
        span_id last = add_span(program, rank, begin_ns + 6000 + rank, begin_ns + 9000, reduces ? program->reduce : program->compute,
                                reduces ? SPAN_KIND_COLLECTIVE : SPAN_KIND_RANGE, reduces ? &reduce : NULL);
        const struct group_member member = {group, last, (int32_t)rank};
        if (reduces)
            check(trace_builder_add_member(program->builder, &member), NULL, "a member");
    }
    for (uint32_t rank = 0; rank < program->ranks; rank++) {
        const struct trace_link link = {LINK_KIND_MESSAGE, CONFIDENCE_CERTAIN, program->sends[rank], program->receives[(rank + 1) % program->ranks]};
        check(trace_builder_add_link(program->builder, &link), NULL, "a link");
    }
}

static struct trace *make(uint64_t spans, uint32_t ranks)
{
    struct error err = ERROR_INIT;
    struct program program = {.ranks = ranks, .tracks = calloc(ranks, sizeof(track_id)), .sends = calloc(ranks, sizeof(span_id)),
                              .receives = calloc(ranks, sizeof(span_id)), .seed = 1};
    struct trace *trace;
    node_id node;
    check(trace_builder_create(NULL, &program.builder, &err), &err, "a builder");
    const struct trace_node machine = {.name = trace_builder_string(program.builder, "node"), .clock_domain = trace_builder_string(program.builder, "1")};
    check(trace_builder_add_node(program.builder, &machine, &node), NULL, "a node");
    program.compute = trace_builder_string(program.builder, "compute");
    program.send = trace_builder_string(program.builder, "MPI_Send");
    program.receive = trace_builder_string(program.builder, "MPI_Recv");
    program.reduce = trace_builder_string(program.builder, "MPI_Allreduce");
    program.category = trace_builder_string(program.builder, "mpi");
    for (uint32_t rank = 0; rank < ranks; rank++)
        add_rank(&program, node, rank);
    for (uint64_t round = 0; round < spans / ranks / ROUND_SPANS; round++)
        add_round(&program, round);
    check(trace_builder_finish(program.builder, &trace, &err), &err, "the trace");
    trace_builder_destroy(program.builder);
    free(program.tracks);
    free(program.sends);
    free(program.receives);
    return trace;
}

static void measure(const struct trace *trace)
{
    struct error err = ERROR_INIT;
    struct dependency_graph *graph;
    struct critical_path *path;
    double begin_s = wall_s(), before_mb = peak_mb();
    int64_t begin_cpu_ns = clock_process_cpu_ns();
    check(dependency_graph_create(trace, NULL, NULL, &graph, &err), &err, "the graph");
    double graph_s = wall_s() - begin_s;
    begin_s = wall_s();
    check(critical_path_create(graph, &path, &err), &err, "the path");
    double path_s = wall_s() - begin_s;
    CLEANUP(freep) int64_t *times = malloc((size_t)graph->point_count * sizeof *times);
    begin_s = wall_s();
    replay(graph, NULL, NULL, times);
    double cpu_s = (double)(clock_process_cpu_ns() - begin_cpu_ns) / 1e9;
    printf("%10" PRIu64 " spans %10" PRIu32 " points %9" PRIu32 " edges   graph %6.2f s   path %6.2f s   replay %6.2f s   all %6.2f s of processors   peak %6.0f MB (trace made: %6.0f MB)\n",
           trace_row_count(trace, FAMILY_SPANS), graph->point_count, graph->edge_count, graph_s, path_s, wall_s() - begin_s, cpu_s, peak_mb(), before_mb);
    printf("unexplained %" PRIu64 ", backward %" PRIu64 ", replay %+" PRId64 " ns\n", graph->counts.unexplained, graph->counts.backward,
           replay_makespan(graph, times) - (graph->end_ns - graph->begin_ns));
    critical_path_destroy(path);
    dependency_graph_destroy(graph);
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    uint64_t spans = argc > 1 ? strtoull(argv[1], NULL, 10) * 1000000 : 10000000;
    uint32_t lanes = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 64;
    char file[] = "/tmp/bench_graph.XXXXXX";
    int fd = mkstemp(file);
    struct trace *trace = make(spans, lanes ? lanes : 1);
    check(fd < 0 ? -1 : trace_write_native(trace, file, NULL, &err), &err, "the file");
    trace_unref(trace);
    check(trace_open_native(file, &trace, &err), &err, "the file");
    remove(file);
    measure(trace);
    trace_unref(trace);
    return 0;
}
