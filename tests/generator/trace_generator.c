/* SPDX-License-Identifier: MIT */
/* trace_generator: writes the trace of a simulated program, and the truth about it. */
#include "sim.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void usage(FILE *file)
{
    fprintf(file, "usage: trace_generator [options] -o TRACE.hpt\n"
                  "  --kind KIND        program, of\n                    ");
    program_kinds(file);
    fprintf(file, "\n                     or with a known path: bottleneck pipeline late_sender stairs slow_thread task_chain two_streams\n"
                  "  --seed N           of all random costs [1]\n"
                  "  --rounds N         length [20]\n"
                  "  --spans N          length by the least number of spans, instead\n"
                  "  --ranks N, --threads N, --streams N   size [by kind]\n"
                  "  --lanes N          size of the kind `all` in lanes: ranks of 4 threads and 4 streams\n"
                  "  --planted N, --moved N   which rank or thread is the slow one; and in the second half [1, as --planted]\n"
                  "  --truth FILE       writes what is true of it, as JSON\n"
                  "  --scaled NAME --scale FACTOR   the same program with this activity that much longer\n"
                  "  --no-what-if       leaves out what would be true with one activity scaled: a run each\n"
                  "  --bare             ranks' phases without annotations: code outside of all calls\n"
                  "  --gomp             OpenMP as it is recorded of GCC's libgomp: no static loops, all parts end with their region\n"
                  "  --check            judges the simulation by enumeration\n"
                  "  --read FILE        only reads all of a trace, as a measure for other readers\n"
                  "  -o FILE            the trace; with %%r in its name a trace of each rank\n");
}

static uint64_t number(const char *text)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || end == text || *end)
        fail("a number is expected");
    return value;
}

static void set_lanes(struct options *options, uint32_t lanes)
{
    options->kind = "all";
    options->threads = options->streams = 4;
    options->ranks = lanes / 8 ? lanes / 8 : 1;
}

static bool set_flag(struct options *options, const char *word)
{
    const struct { const char *name; bool *value; } flags[] = {
        {"--check", &options->check}, {"--no-what-if", &options->no_what_if}, {"--bare", &options->bare}, {"--gomp", &options->gomp}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(flags[i].name, word) == 0) {
            *flags[i].value = true;
            return true;
        }
    return false;
}

static void parse(int argc, char **argv, struct options *options)
{
    const struct { const char *name; uint32_t *value; } numbers[] = {
        {"--rounds", &options->rounds}, {"--ranks", &options->ranks}, {"--threads", &options->threads}, {"--streams", &options->streams},
        {"--planted", &options->planted}, {"--moved", &options->moved}};
    const struct { const char *name; const char **value; } texts[] = {{"--kind", &options->kind}, {"--truth", &options->truth}, {"--read", &options->read}, {"--scaled", &options->scale_name}, {"--scale", &options->scale}, {"-o", &options->output}};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool known = true;
        if (set_flag(options, argv[i]))
            continue;
        if (strcmp(argv[i], "--seed") == 0)
            options->seed = number(value);
        else if (strcmp(argv[i], "--spans") == 0)
            options->spans = number(value);
        else if (strcmp(argv[i], "--lanes") == 0)
            set_lanes(options, (uint32_t)number(value));
        else
            known = false;
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
            if (strcmp(argv[i], numbers[k].name) == 0) {
                *numbers[k].value = (uint32_t)number(value);
                known = true;
            }
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            if (strcmp(argv[i], texts[k].name) == 0) {
                *texts[k].value = value;
                known = true;
            }
        if (!known) {
            usage(strcmp(argv[i], "--help") == 0 ? stdout : stderr);
            exit(strcmp(argv[i], "--help") == 0 ? 0 : 2);
        }
        i++;
    }
}

/* Every column of every block, once. */
static int read_all(const char *path)
{
    struct error err = {0};
    struct trace *trace;
    struct span_block spans;
    struct link_block links;
    struct member_block members;
    if (trace_open_native(path, &trace, &err) < 0)
        fail(err.text);
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        if (trace_spans_scan(trace, i, UINT32_MAX, &spans, &err) < 0)
            fail(err.text);
        trace_spans_put(trace, &spans);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_LINKS); i++) {
        if (trace_links_get(trace, i, &links, &err) < 0)
            fail(err.text);
        trace_links_put(trace, &links);
    }
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_MEMBERS); i++) {
        if (trace_members_get(trace, i, &members, &err) < 0)
            fail(err.text);
        trace_members_put(trace, &members);
    }
    printf("%llu spans, %llu links, %llu members\n", (unsigned long long)trace_row_count(trace, FAMILY_SPANS),
           (unsigned long long)trace_row_count(trace, FAMILY_LINKS), (unsigned long long)trace_row_count(trace, FAMILY_MEMBERS));
    trace_unref(trace);
    return 0;
}

static void write_truth(struct sim *sim, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        fail("cannot write the truth");
    truth_write(sim, file);
    if (fclose(file) != 0)
        fail("cannot write the truth");
}

int main(int argc, char **argv)
{
    struct options options = {.kind = "all", .seed = 1, .rounds = 20, .planted = 1, .moved = UINT32_MAX};
    struct error err = {0};
    struct trace *trace;
    struct sim sim;
    parse(argc, argv, &options);
    if (options.moved == UINT32_MAX)
        options.moved = options.planted;
    if (options.read)
        return read_all(options.read);
    if (!options.output) {
        usage(stderr);
        return 2;
    }
    sim_init(&sim, &options);
    program_make(&sim);
    if (options.scale_name && options.scale) {
        sim.scale_name = name_add(&sim, options.scale_name, true);
        sim.scale = strtod(options.scale, NULL);
    }
    sim.history = options.truth || options.check;
    emit_start(&sim);
    sim_run(&sim);
    emit_end(&sim, &trace);
    if (strstr(options.output, "%r"))
        split_write(trace, options.output);
    else if (trace_write_native(trace, options.output, NULL, &err) < 0)
        fail(err.text);
    if (options.check)
        check_by_enumeration(&sim);
    if (options.truth)
        write_truth(&sim, options.truth);
    printf("%llu spans on %zu lanes\n", (unsigned long long)sim.spans, sim.lane_count);
    trace_unref(trace);
    sim_finish(&sim);
    return 0;
}
