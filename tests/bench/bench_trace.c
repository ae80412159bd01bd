/* SPDX-License-Identifier: MIT */
/*
 * What the trace model costs: adding spans, finishing, writing, opening, the first page, a filtered sum, levels of detail.
 * bench_trace [millions of spans, default 2] [folder for the file, default /tmp]
 */
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "trace/builder.h"
#include "trace/filter.h"
#include "trace/lod.h"

#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct error err;

static void check(int result, const char *what)
{
    if (result < 0) {
        fprintf(stderr, "bench_trace: %s: %s\n", what, err.code ? err.text : strerror(-result));
        exit(1);
    }
}

/* CPU time of all threads: on a quiet machine with one thread the same as time, and steady on a busy one. */
static double seconds_since(int64_t begin_ns)
{
    return (double)(clock_process_cpu_ns() - begin_ns) / 1e9;
}

static double resident_mb(void)
{
    char line[128];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof(line), file)) {
        if (strncmp(line, "VmRSS:", 6) == 0)
            kilobytes = strtod(line + 6, NULL);
    }
    if (file)
        fclose(file);
    return kilobytes / 1024;
}

struct shape {
    const char *name;
    uint32_t tracks;
    bool at_end;    /* rows are added when spans end, as recorders do: callers after callees */
    bool shuffled;  /* rows of 64 neighbours come in reverse, and some far too late */
    bool json;      /* each span with 40 bytes of JSON arguments */
};

#define NAMES 200
#define DEPTH 8

struct generator {
    const struct shape *shape;
    struct trace_builder *builder;
    track_id tracks[16];
    string_id names[NAMES], category;
    uint64_t random, added;
    int64_t now_ns[16];
};

static uint32_t next_random(struct generator *generator)
{
    generator->random = generator->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(generator->random >> 33);
}

static void add(struct generator *generator, uint32_t track, int64_t begin_ns, int64_t end_ns)
{
    char json[64];
    struct payload payload = {.kind = PAYLOAD_JSON, .json = json};
    struct span span = {.track = generator->tracks[track], .begin_ns = begin_ns, .end_ns = end_ns,
                        .name = generator->names[next_random(generator) % NAMES], .category = generator->category,
                        .kind = (enum span_kind)(generator->added % 16 ? SPAN_KIND_API : SPAN_KIND_SYNC),
                        .parent = SPAN_NONE, .stack = STACK_NONE};
    if (generator->shape->json)
        payload.json_size = (uint32_t)snprintf(json, sizeof(json), "{\"bytes\":%u,\"stream\":%u}",
                                               next_random(generator), track);
    span_id handle;
    check(trace_builder_add_span(generator->builder, &span, generator->shape->json ? &payload : NULL, &handle), "add");
    generator->added++;
}

/* A nest of DEPTH spans. */
static void add_nest(struct generator *generator, uint32_t track)
{
    int64_t begin_ns[DEPTH], end_ns[DEPTH], now_ns = generator->now_ns[track];
    for (int i = 0; i < DEPTH; i++)
        begin_ns[i] = now_ns += next_random(generator) % 500;
    for (int i = DEPTH - 1; i >= 0; i--)
        end_ns[i] = now_ns += next_random(generator) % 500;
    for (int i = 0; i < DEPTH; i++) {
        int row = generator->shape->at_end ? DEPTH - 1 - i : i;
        int64_t shift_ns = generator->shape->shuffled && next_random(generator) % 1000 == 0 ? 50000000 : 0;
        add(generator, track, begin_ns[row] - shift_ns, end_ns[row]);
    }
    generator->now_ns[track] = now_ns + 10;
}

static struct trace *build(const struct shape *shape, uint64_t count, double *ret_add_s, double *ret_finish_s,
                           double *ret_memory_mb)
{
    struct generator generator = {.shape = shape, .random = 1};
    double before_mb = resident_mb();
    check(trace_builder_create(NULL, &generator.builder, &err), "create");
    struct trace_node node = {0};
    node_id node_index;
    check(trace_builder_add_node(generator.builder, &node, &node_index), "node");
    struct trace_process process = {.node = node_index, .pid = 1, .rank = -1, .parent = PROCESS_NONE, .end_ns = INT64_MIN,
                                    .command = trace_builder_string(generator.builder, "bench")};
    process_id process_index;
    check(trace_builder_add_process(generator.builder, &process, &process_index), "process");
    for (uint32_t i = 0; i < shape->tracks; i++) {
        struct trace_track track = {.kind = TRACK_KIND_THREAD, .tid = (int32_t)i, .device = -1, .stream = -1,
                                    .process = process_index, .start_ns = INT64_MIN, .end_ns = INT64_MIN};
        check(trace_builder_add_track(generator.builder, &track, &generator.tracks[i]), "track");
    }
    generator.category = trace_builder_string(generator.builder, "api");
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[32];
        snprintf(name, sizeof(name), "function_%u", i);
        generator.names[i] = trace_builder_string(generator.builder, name);
    }
    int64_t begin_ns = clock_process_cpu_ns();
    while (generator.added < count)
        add_nest(&generator, (uint32_t)(generator.added / DEPTH) % shape->tracks);
    *ret_add_s = seconds_since(begin_ns);
    *ret_memory_mb = resident_mb() - before_mb;
    begin_ns = clock_process_cpu_ns();
    struct trace *trace;
    check(trace_builder_finish(generator.builder, &trace, &err), "finish");
    *ret_finish_s = seconds_since(begin_ns);
    trace_builder_destroy(generator.builder);
    return trace;
}

static double filtered_sum(struct trace *trace)
{
    struct trace_filter *filter;
    struct filter_match *match;
    check(trace_filter_compile("name=function_1*,kind=api,thread=*", &filter, &err), "filter");
    check(filter_match_create(filter, trace, &match), "match");
    int64_t begin_ns = clock_process_cpu_ns(), total_ns = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        uint32_t columns = SPAN_COLUMN_BIT(SPAN_COLUMN_BEGIN) | SPAN_COLUMN_BIT(SPAN_COLUMN_END) |
                           SPAN_COLUMN_BIT(SPAN_COLUMN_NAME) | SPAN_COLUMN_BIT(SPAN_COLUMN_KIND);
        check(trace_spans_scan(trace, i, columns, &block, &err), "get");
        for (uint32_t row = 0; row < block.info.count; row++)
            total_ns += filter_match_span(match, &block, row) ? block.end_ns[row] - block.begin_ns[row] : 0;
        trace_spans_put(trace, &block);
    }
    double seconds = seconds_since(begin_ns);
    filter_match_destroy(match);
    trace_filter_destroy(filter);
    if (total_ns == 0)
        exit(1);
    return seconds;
}

/* Runs one shape and prints its line; in a child, so that memory is its own. */
static void run(const struct shape *shape, uint64_t count, const char *path)
{
    double add_s, finish_s, memory_mb;
    struct trace *trace = build(shape, count, &add_s, &finish_s, &memory_mb);
    int64_t begin_ns = clock_process_cpu_ns();
    check(trace_write_native(trace, path, NULL, &err), "write");
    double write_s = seconds_since(begin_ns);
    trace_unref(trace);
    malloc_trim(0);
    struct stat status;
    check(stat(path, &status) < 0 ? -1 : 0, "stat");
    double before_mb = resident_mb();
    begin_ns = clock_process_cpu_ns();
    check(trace_open_native(path, &trace, &err), "open");
    const struct span_aggregate *rows;
    const struct lod *lod;
    uint32_t row_count;
    check(trace_span_aggregates(trace, &rows, &row_count, &err), "aggregates");
    double open_s = seconds_since(begin_ns), open_mb = resident_mb() - before_mb;
    begin_ns = clock_process_cpu_ns();
    check(trace_lod(trace, FAMILY_SPANS, (track_id){0}, &lod, &err), "lod");
    double lod_s = seconds_since(begin_ns);
    double where_s = filtered_sum(trace);
    double millions = (double)count / 1e6, file_mb = (double)status.st_size / 1e6;
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-34s %6.1f %6.1f %7.1f %6.1f %6.1f %7.1f %7.1f %6.1f %6.1f %7.0f %6.0f\n", shape->name,
           add_s * 1e3 / millions, finish_s * 1e3 / millions, memory_mb * 1.048576 / millions,
           write_s * 1e3 / millions, file_mb / millions, open_s * 1e3, open_mb, lod_s * 1e3, where_s * 1e3 / millions,
           (double)usage.ru_maxrss / 1024, file_mb);
    fflush(stdout);
    trace_unref(trace);
}

int main(int argc, char **argv)
{
    double millions = argc > 1 ? strtod(argv[1], NULL) : 2;
    const char *folder = argc > 2 ? argv[2] : "/tmp";
    static const struct shape shapes[] = {
        {"16 tracks, by begin", 16, false, false, false},
        {"16 tracks, by end (recorder)", 16, true, false, false},
        {"1 track, by end", 1, true, false, false},
        {"16 tracks, by end, stragglers", 16, true, true, false},
        {"16 tracks, by end, 40 B of JSON", 16, true, false, true},
    };
    char path[4096];
    snprintf(path, sizeof(path), "%s/hprofiler-bench-%ld.hpt", folder, (long)getpid());
    printf("%.1f million spans, nests of %d; times are CPU time of all threads\n", millions, DEPTH);
    printf("%-34s %6s %6s %7s %6s %6s %7s %7s %6s %6s %7s %6s\n", "", "add", "finish", "memory", "write", "file", "open",
           "open", "lod", "where", "peak", "file");
    printf("%-34s %6s %6s %7s %6s %6s %7s %7s %6s %6s %7s %6s\n", "", "ns/sp", "ns/sp", "B/span", "ns/sp", "B/span", "ms",
           "MB", "ms", "ns/sp", "MB", "MB");
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            run(&shapes[i], (uint64_t)(millions * 1e6), path);
            _exit(0);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0)
            break;
    }
    unlink(path);
    return 0;
}
