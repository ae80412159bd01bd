/* SPDX-License-Identifier: MIT */
/*
 * The traces that the terminal UI's screens are of: make_traces FOLDER. All times are made up, so that screens stay the same.
 * make_traces FOLDER grow: writes FOLDER/growing.hpt, and what comes later once FOLDER/go is there.
 */
#include "base/cleanup.h"
#include "base/error.h"
#include "trace/builder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MS INT64_C(1000000)

static struct trace_builder *builder;
static bool modules_known; /* to the builder */
static struct error err;

static void check(int result)
{
    if (result < 0) {
        fprintf(stderr, "make_traces: %s\n", err.code ? err.text : strerror(-result));
        exit(1);
    }
}

static string_id text(const char *string)
{
    return trace_builder_string(builder, string);
}

static process_id process(const char *command, int32_t pid, int32_t rank)
{
    node_id node = {0};
    process_id id;
    struct trace_process facts = {.node = node, .pid = pid, .rank = rank, .end_ns = 1000 * MS, .parent = PROCESS_NONE, .command = text(command),
                                  .executable = text("/opt/bin/solver"), .exit_status = 0};
    check(trace_builder_add_process(builder, &facts, &id));
    return id;
}

static track_id track(process_id owner, enum track_kind kind, const char *name, int32_t number)
{
    track_id id;
    bool thread = kind == TRACK_KIND_THREAD || kind == TRACK_KIND_SCHED, stream = kind == TRACK_KIND_STREAM;
    struct trace_track facts = {.kind = kind, .name = text(name), .process = owner, .tid = thread ? number : -1, .device = stream ? 0 : -1,
                                .stream = stream ? number : -1, .unit = kind == TRACK_KIND_COUNTER ? text("W") : STRING_NONE,
                                .start_ns = 0, .end_ns = 1000 * MS};
    check(trace_builder_add_track(builder, &facts, &id));
    return id;
}

static span_id span(track_id on, int64_t begin_ns, int64_t end_ns, const char *name, const char *category, enum span_kind kind)
{
    span_id handle;
    struct span facts = {.track = on, .begin_ns = begin_ns, .end_ns = end_ns, .name = text(name), .category = text(category), .kind = kind,
                         .parent = SPAN_NONE, .stack = STACK_NONE};
    check(trace_builder_add_span(builder, &facts, NULL, &handle));
    return handle;
}

static void link_spans(enum link_kind kind, span_id from, span_id to)
{
    check(trace_builder_add_link(builder, &(struct trace_link){kind, CONFIDENCE_CERTAIN, from, to}));
}

static void begin_trace(void)
{
    node_id node;
    modules_known = false;
    check(trace_builder_create(NULL, &builder, &err));
    check(trace_builder_add_node(builder, &(struct trace_node){text("node0"), text("00000000-0000-0000-0000-000000000000:1")}, &node));
    check(trace_builder_set_metadata(builder, "command", "solver"));
    check(trace_builder_set_metadata(builder, "clock_domain", "00000000-0000-0000-0000-000000000000:1"));
}

static void end_trace(const char *folder, const char *name)
{
    char path[4096];
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    check(trace_builder_finish(builder, &trace, &err));
    check(trace_write_native(trace, path, NULL, &err));
    trace_builder_destroy(builder);
}

/* --- the rich one ---------------------------------------------------------------------------------------------------- */

static stack_id stack_of(const char *const *functions)
{
    static const char *const modules[] = {"/opt/bin/solver", "/lib/libm.so.6"};
    static module_id module[2];
    stack_id stack = STACK_NONE;
    for (int i = 0; i < 2 && !modules_known; i++)
        check(trace_builder_add_module(builder, &(struct trace_module){text(modules[i]), STRING_NONE, 0}, &module[i]));
    modules_known = true;
    for (; *functions; functions++) {
        frame_id frame;
        bool is_libm = strcmp(*functions, "exp") == 0;
        check(trace_builder_add_frame(builder, &(struct trace_frame){text(*functions), module[is_libm], is_libm ? STRING_NONE : text("/src/solver.c"), is_libm ? 0 : 42, 0, 0}, &frame));
        check(trace_builder_add_stack(builder, stack, frame, &stack));
    }
    return stack;
}

static void add_samples(track_id thread, int64_t from_ns, int64_t to_ns)
{
    static const char *const stacks[][6] = {
        {"_start", "main", "solve", "smooth", NULL}, {"_start", "main", "solve", "smooth", "exp", NULL}, {"_start", "main", "solve", "residual", NULL},
        {"_start", "main", "read_input", NULL},      {"_start", "main", "solve", "std::vector<int, std::allocator<int> >::push_back(int&&)", NULL}};
    static const uint8_t turns[] = {0, 1, 0, 2, 0, 0, 1, 3, 0, 4};
    stack_id known[5];
    for (int i = 0; i < 5; i++)
        known[i] = stack_of(stacks[i]);
    for (int64_t time_ns = from_ns, i = 0; time_ns < to_ns; time_ns += MS, i++)
        check(trace_builder_add_sample(builder, thread, &(struct sample){time_ns, MS, known[turns[i % 10]], 0, SAMPLE_EVENT_CPU_CLOCK, 0}));
}

static span_id add_rank(int rank)
{
    process_id owner = process("solver", 100 + rank, rank);
    track_id main_thread = track(owner, TRACK_KIND_THREAD, "main", 100 + rank), worker = track(owner, TRACK_KIND_THREAD, "worker", 110 + rank);
    track_id sched = track(owner, TRACK_KIND_SCHED, "", 110 + rank), stream = track(owner, TRACK_KIND_STREAM, "stream 7", 7);
    track_id power = track(owner, TRACK_KIND_COUNTER, "GPU power", -1);
    span_id sent = SPAN_NONE, received;
    span(main_thread, 10 * MS, 90 * MS, "MPI_Init", "mpi", SPAN_KIND_INIT);
    for (int step = 0; step < 8; step++) {
        int64_t at = (100 + step * 110) * MS + rank * 5 * MS;
        char name[32];
        snprintf(name, sizeof name, "step %d", step);
        span(main_thread, at, at + 100 * MS, name, "nvtx", SPAN_KIND_RANGE);
        span_id launch = span(main_thread, at + 5 * MS, at + 9 * MS, "cudaLaunchKernel", "cuda", SPAN_KIND_LAUNCH);
        span(main_thread, at + 10 * MS, at + 50 * MS, "cudaStreamSynchronize", "cuda", SPAN_KIND_SYNC);
        span_id kernel = span(stream, at + 12 * MS, at + 48 * MS, "saxpy(float, float*)", "cuda", SPAN_KIND_KERNEL);
        span(stream, at + 49 * MS, at + 52 * MS, "copy device to host", "cuda", SPAN_KIND_COPY);
        sent = span(main_thread, at + 55 * MS, at + 60 * MS, "MPI_Send", "mpi", SPAN_KIND_SEND);
        received = span(main_thread, at + 62 * MS, at + 80 * MS, "MPI_Recv", "mpi", SPAN_KIND_RECV);
        span(main_thread, at + 82 * MS, at + 98 * MS, "MPI_Wait", "mpi", SPAN_KIND_WAIT);
        link_spans(LINK_KIND_LAUNCH, launch, kernel);
        (void)received;
        span(worker, at, at + 40 * MS, "loop", "openmp", SPAN_KIND_LOOP);
        span(worker, at + 40 * MS, at + 95 * MS, "barrier", "openmp", SPAN_KIND_BARRIER);
        span(sched, at + 45 * MS, at + 95 * MS, "blocked", "", SPAN_KIND_BLOCKED);
        for (int i = 0; i < 11; i++)
            check(trace_builder_add_counter(builder, power, &(struct counter_value){at + i * 10 * MS, 60 + (i * 37 + step * 11) % 240}));
    }
    add_samples(main_thread, 0, 100 * MS);
    add_samples(worker, 100 * MS, 500 * MS);
    return sent;
}

static void make_app(const char *folder)
{
    begin_trace();
    add_rank(0);
    add_rank(1);
    check(trace_builder_add_ledger(builder, "runtime records", 1000, 990, 10, "the buffer was full"));
    end_trace(folder, "app.hpt");
}

/* Calls with stacks and no sample, as `run --call-tree -b cuda,mpi` has them: one function launches two kernels, another waits. */
static span_id call(track_id on, int64_t begin_ns, int64_t end_ns, const char *name, enum span_kind kind, const char *const *functions)
{
    span_id handle;
    struct span facts = {.track = on, .begin_ns = begin_ns, .end_ns = end_ns, .name = text(name), .category = text(kind == SPAN_KIND_RECV ? "mpi" : "cuda"),
                         .kind = kind, .parent = SPAN_NONE, .stack = stack_of(functions)};
    check(trace_builder_add_span(builder, &facts, NULL, &handle));
    return handle;
}

static void make_calls(const char *folder)
{
    static const char *const step[] = {"_start", "main", "solve", "step", NULL}, *const halo[] = {"_start", "main", "solve", "exchange_halo", NULL};
    begin_trace();
    process_id owner = process("solver", 100, 0);
    track_id main_thread = track(owner, TRACK_KIND_THREAD, "main", 100), stream = track(owner, TRACK_KIND_STREAM, "stream 7", 7);
    for (int i = 0; i < 9; i++) {
        int64_t at = (i * 110) * MS;
        span_id first = call(main_thread, at, at + 2 * MS, "cudaLaunchKernel", SPAN_KIND_LAUNCH, step);
        span_id second = call(main_thread, at + 3 * MS, at + 4 * MS, "cudaLaunchKernel", SPAN_KIND_LAUNCH, step);
        call(main_thread, at + 5 * MS, at + 60 * MS, "cudaStreamSynchronize", SPAN_KIND_SYNC, step);
        call(main_thread, at + 62 * MS, at + 92 * MS, "MPI_Recv", SPAN_KIND_RECV, halo);
        link_spans(LINK_KIND_LAUNCH, first, span(stream, at + 3 * MS, at + 43 * MS, "saxpy(float, float*)", "cuda", SPAN_KIND_KERNEL));
        link_spans(LINK_KIND_LAUNCH, second, span(stream, at + 44 * MS, at + 59 * MS, "reduce(float*)", "cuda", SPAN_KIND_KERNEL));
    }
    end_trace(folder, "calls.hpt");
}

/* --- the same program before a change -------------------------------------------------------------------------------- */

static void make_before(const char *folder)
{
    static const struct {
        const char *stack[6];
        int samples;
    } parts[] = {{{"_start", "main", "solve", "smooth", NULL}, 300}, {{"_start", "main", "solve", "smooth", "exp", NULL}, 20},
                 {{"_start", "main", "solve", "residual", NULL}, 100}, {{"_start", "main", "read_input", NULL}, 280},
                 {{"_start", "main", "check", "verify", NULL}, 200}};
    begin_trace();
    track_id main_thread = track(process("solver", 90, -1), TRACK_KIND_THREAD, "main", 90);
    int64_t time_ns = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        stack_id stack = stack_of(parts[i].stack);
        for (int j = 0; j < parts[i].samples; j++, time_ns += MS)
            check(trace_builder_add_sample(builder, main_thread, &(struct sample){time_ns, MS, stack, 0, SAMPLE_EVENT_CPU_CLOCK, 0}));
    }
    end_trace(folder, "before.hpt");
}

/* Two first frames of one name, as of a program that is linked dynamically: the loader's comes first, the program's is the larger one. */
static void make_twins(const char *folder)
{
    static const char *const files[] = {"/lib64/ld-linux-x86-64.so.2", "/opt/bin/solver"}, *const callees[] = {"_dl_start", "main"};
    begin_trace();
    track_id main_thread = track(process("solver", 90, -1), TRACK_KIND_THREAD, "main", 90);
    int64_t time_ns = 0;
    for (int i = 0; i < 2; i++) {
        module_id module;
        frame_id frame;
        stack_id stack;
        check(trace_builder_add_module(builder, &(struct trace_module){text(files[i]), STRING_NONE, 0}, &module));
        check(trace_builder_add_frame(builder, &(struct trace_frame){text("_start"), module, STRING_NONE, 0, 0, 0}, &frame));
        check(trace_builder_add_stack(builder, STACK_NONE, frame, &stack));
        check(trace_builder_add_frame(builder, &(struct trace_frame){text(callees[i]), module, STRING_NONE, 0, 0, 0}, &frame));
        check(trace_builder_add_stack(builder, stack, frame, &stack));
        for (int j = 0; j < (i ? 36 : 4); j++, time_ns += MS)
            check(trace_builder_add_sample(builder, main_thread, &(struct sample){time_ns, MS, stack, 0, SAMPLE_EVENT_CPU_CLOCK, 0}));
    }
    end_trace(folder, "twins.hpt");
}

/* --- the odd ones ---------------------------------------------------------------------------------------------------- */

static void make_odd(const char *folder)
{
    char name[64], *longest = malloc(2001);
    begin_trace();
    end_trace(folder, "empty.hpt");
    begin_trace();
    span(track(process("one", 1, -1), TRACK_KIND_THREAD, "main", 1), 5 * MS, 6 * MS, "only", "test", SPAN_KIND_RANGE);
    end_trace(folder, "one.hpt");
    begin_trace();
    for (int rank = 0; rank < 2; rank++)
        span(track(process("imbalance.openmpi", 9221 + rank, rank), TRACK_KIND_THREAD, "main", 9221 + rank), 5 * MS, 900 * MS, "work", "test", SPAN_KIND_RANGE);
    end_trace(folder, "ranks.hpt");
    begin_trace();
    process_id many = process("many", 1, -1);
    for (int i = 0; i < 10000; i++) {
        snprintf(name, sizeof name, "worker %d", i);
        span(track(many, TRACK_KIND_THREAD, name, 1000 + i), i * MS / 10, (i + 200) * MS / 10, "work", "test", SPAN_KIND_TASK);
    }
    end_trace(folder, "lanes.hpt");
    begin_trace();
    process_id odd = process("od\x1b[31md\tname", 1, -1);
    memset(longest, 'x', 2000);
    longest[2000] = '\0';
    span(track(odd, TRACK_KIND_THREAD, longest, 1), 0, 10 * MS, longest, "test", SPAN_KIND_TASK);
    span(track(odd, TRACK_KIND_THREAD, "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe3\x81\xae\xe5\x90\x8d\xe5\x89\x8d", 2), 0, 10 * MS,
         "\xe8\xa8\x88\xe7\xae\x97\xe3\x81\x99\xe3\x82\x8b\xf0\x9f\x94\xa5 e\xcc\x81t\xc3\xa9", "test", SPAN_KIND_TASK);
    span(track(odd, TRACK_KIND_THREAD, "bad \xff\xfe bytes\r\n\x07", 3), 0, 10 * MS, "\x1b]0;title\x07 \x1b[2J gone", "test", SPAN_KIND_TASK);
    span(track(odd, TRACK_KIND_THREAD, "", 4), 0, 10 * MS, "", "", SPAN_KIND_TASK);
    end_trace(folder, "names.hpt");
    free(longest);
}

static void append(struct trace_stream *stream)
{
    CLEANUP(trace_unrefp) struct trace *snapshot = NULL;
    check(trace_builder_snapshot(builder, &snapshot, &err));
    check(trace_stream_append(stream, snapshot, &err));
}

static void grow(const char *folder)
{
    char path[4096];
    struct trace_stream *stream;
    begin_trace();
    track_id main_thread = track(process("grows", 1, -1), TRACK_KIND_THREAD, "main", 1);
    span(main_thread, 0, 10 * MS, "first", "test", SPAN_KIND_TASK);
    snprintf(path, sizeof path, "%s/growing.hpt", folder);
    check(trace_stream_create(path, &stream, &err));
    append(stream);
    snprintf(path, sizeof path, "%s/go", folder);
    for (int i = 0; i < 6000 && access(path, F_OK) < 0; i++)
        usleep(10000);
    span(main_thread, 20 * MS, 40 * MS, "second", "test", SPAN_KIND_TASK);
    append(stream);
    trace_stream_destroy(stream);
    trace_builder_destroy(builder);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[2], "grow") == 0) {
        grow(argv[1]);
        return 0;
    }
    if (argc != 2) {
        fprintf(stderr, "usage: make_traces FOLDER [grow]\n");
        return 1;
    }
    make_app(argv[1]);
    make_calls(argv[1]);
    make_before(argv[1]);
    make_twins(argv[1]);
    make_odd(argv[1]);
    return 0;
}
