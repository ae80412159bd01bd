/* SPDX-License-Identifier: MIT */
/*
 * A recorder for tests: makes a session, runs a command with the test collector preloaded, and prints the merged trace as one
 * JSON document. `session_probe run [options] -- COMMAND...`, `session_probe merge DIRECTORY`, `session_probe list PARENT`.
 */
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "record/session.h"
#include "trace/trace.h"
#include "wire/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

struct options {
    struct session_options session;
    const char *announce;   /* file that gets the session directory's name before the command starts */
    bool keep, leave;       /* leave: exit without finishing, as if killed */
    bool no_preload, symbols;
    const char *library_directory;
    char *const *command;
};

static void die(const char *what, const struct error *err)
{
    fprintf(stderr, "session_probe: %s: %s\n", what, err ? err->text : strerror(errno));
    exit(125);
}

static void log_line(void *context, enum log_level level, const char *line)
{
    (void)context;
    if (level == LOG_WARNING)
        fprintf(stderr, "warning: %s\n", line);
}
static const struct log to_stderr = {log_line, NULL};

/* What one track holds of one name: numbers in the payload should come in order, without gap. */
struct tally {
    string_id name;
    uint64_t count, least, greatest, sum, valued, stacks;
    int64_t begin_ns, end_ns;
    stack_id stack; /* of the last span that had one */
};

static struct tally *tally_of(struct tally **tallies, size_t *count, string_id name)
{
    static size_t last; /* names come in turns: the next is likely to be the one behind */
    for (size_t i = 0; i < *count; i++)
        if (string_is((*tallies)[(last + 1 + i) % *count].name, name))
            return &(*tallies)[last = (last + 1 + i) % *count];
    bool full = (*count & (*count - 1)) == 0; /* room is doubled: a sanitizer moves the block each time */
    struct tally *grown = full ? realloc(*tallies, (*count ? *count * 2 : 1) * sizeof *grown) : *tallies;
    if (!grown)
        die("memory", NULL);
    *tallies = grown;
    grown[*count] = (struct tally){.name = name, .least = UINT64_MAX, .begin_ns = INT64_MAX, .end_ns = INT64_MIN, .stack = STACK_NONE};
    return &grown[(*count)++];
}

static void tally_span(struct tally *tally, const struct span_block *block, uint32_t row)
{
    struct payload payload;
    tally->count++;
    tally->begin_ns = block->begin_ns[row] < tally->begin_ns ? block->begin_ns[row] : tally->begin_ns;
    tally->end_ns = block->end_ns[row] > tally->end_ns ? block->end_ns[row] : tally->end_ns;
    if (block->stack && !stack_id_is(block->stack[row], STACK_NONE)) {
        tally->stacks++;
        tally->stack = block->stack[row];
    }
    if (span_payload(block, row, &payload) != 0 || payload.kind != PAYLOAD_TEST || !(payload.present & 1))
        return;
    uint64_t value = payload.fields[0].u64;
    tally->valued++;
    tally->sum += value;
    tally->least = value < tally->least ? value : tally->least;
    tally->greatest = value > tally->greatest ? value : tally->greatest;
}

static void put_text(struct text *out, const char *text)
{
    text_add_char(out, '"');
    text_add_json(out, text, strlen(text));
    text_add_char(out, '"');
}

/* Innermost first. */
static void put_stack(struct text *out, const struct trace *trace, stack_id stack)
{
    uint32_t count;
    const struct stack_node *nodes = trace_stacks(trace, &count);
    const struct trace_frame *frames = trace_frames(trace, &count);
    text_add_string(out, "[");
    for (bool first = true; !stack_id_is(stack, STACK_NONE); stack = nodes[stack.index].parent, first = false) {
        text_add_string(out, first ? "" : ",");
        put_text(out, trace_text(trace, frames[nodes[stack.index].frame.index].function));
    }
    text_add_string(out, "]");
}

static void put_tallies(struct text *out, const struct trace *trace, const struct tally *tallies, size_t count)
{
    text_add_string(out, "{");
    for (size_t i = 0; i < count; i++) {
        const struct tally *t = &tallies[i];
        text_add_string(out, i ? "," : "");
        put_text(out, trace_text(trace, t->name));
        text_addf(out, ":{\"count\":%llu,\"valued\":%llu,\"least\":%llu,\"greatest\":%llu,\"sum\":%llu,\"stacks\":%llu,\"begin_ns\":%lld,\"end_ns\":%lld,\"stack\":",
                  (unsigned long long)t->count, (unsigned long long)t->valued, (unsigned long long)t->least, (unsigned long long)t->greatest,
                  (unsigned long long)t->sum, (unsigned long long)t->stacks, (long long)t->begin_ns, (long long)t->end_ns);
        put_stack(out, trace, t->stack);
        text_add_string(out, "}");
    }
    text_add_string(out, "}");
}

static void put_tracks(struct text *out, const struct trace *trace)
{
    uint32_t count, blocks = trace_block_count(trace, FAMILY_SPANS);
    const struct trace_track *tracks = trace_tracks(trace, &count);
    text_add_string(out, "\"tracks\":[");
    for (uint32_t track = 0; track < count; track++) {
        struct tally *tallies = NULL;
        size_t tally_count = 0;
        for (uint32_t i = 0; i < blocks; i++) {
            struct span_block block;
            if (trace_block_info(trace, FAMILY_SPANS, i).track.index != track || trace_spans_get(trace, i, &block, NULL) < 0)
                continue;
            for (uint32_t row = 0; row < block.info.count; row++)
                tally_span(tally_of(&tallies, &tally_count, block.name[row]), &block, row);
            trace_spans_put(trace, &block);
        }
        text_addf(out, "%s{\"kind\":\"%s\",\"tid\":%d,\"device\":%d,\"stream\":%d,\"process\":%u,\"start_ns\":%lld,\"end_ns\":%lld,\"name\":", track ? "," : "",
                  track_kind_name(tracks[track].kind), tracks[track].tid, tracks[track].device, tracks[track].stream, tracks[track].process.index,
                  (long long)tracks[track].start_ns, (long long)tracks[track].end_ns);
        put_text(out, trace_text(trace, tracks[track].name));
        text_add_string(out, ",\"spans\":");
        put_tallies(out, trace, tallies, tally_count);
        text_add_string(out, "}");
        free(tallies);
    }
    text_add_string(out, "]");
}

static void put_processes(struct text *out, const struct trace *trace)
{
    uint32_t count;
    const struct trace_process *rows = trace_processes(trace, &count);
    text_add_string(out, "\"processes\":[");
    for (uint32_t i = 0; i < count; i++) {
        text_addf(out, "%s{\"pid\":%d,\"generation\":%u,\"parent\":%lld,\"start_ns\":%lld,\"command\":", i ? "," : "", rows[i].pid,
                  rows[i].generation, rows[i].parent.index == ID_NONE ? -1ll : (long long)rows[i].parent.index,
                  (long long)rows[i].start_ns);
        put_text(out, trace_text(trace, rows[i].command));
        text_add_string(out, ",\"reason\":");
        put_text(out, trace_text(trace, rows[i].reason));
        text_add_string(out, "}");
    }
    text_add_string(out, "]");
}

static void put_ledger(struct text *out, const struct trace *trace)
{
    uint32_t count;
    const struct ledger_entry *rows = trace_ledger(trace, &count);
    text_add_string(out, "\"ledger\":[");
    for (uint32_t i = 0; i < count; i++) {
        text_addf(out, "%s{\"seen\":%llu,\"recorded\":%llu,\"lost\":%llu,\"source\":", i ? "," : "", (unsigned long long)rows[i].seen,
                  (unsigned long long)rows[i].recorded, (unsigned long long)rows[i].lost);
        put_text(out, trace_text(trace, rows[i].source));
        text_add_string(out, ",\"reason\":");
        put_text(out, trace_text(trace, rows[i].reason));
        text_add_string(out, "}");
    }
    text_add_string(out, "]");
}

static void put_metadata(struct text *out, const struct trace *trace)
{
    text_add_string(out, "\"metadata\":{");
    for (uint32_t i = 0; i < trace_metadata_count(trace); i++) {
        const char *key, *value;
        trace_metadata_at(trace, i, &key, &value);
        text_add_string(out, i ? "," : "");
        put_text(out, key);
        text_add_string(out, ":");
        put_text(out, value);
    }
    text_add_string(out, "}");
}

static int64_t sample_weight(const struct trace *trace)
{
    int64_t weight = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SAMPLES); i++) {
        struct sample_block block;
        if (trace_samples_get(trace, i, &block, NULL) < 0)
            die("samples", NULL);
        for (uint32_t row = 0; row < block.info.count; row++)
            weight += block.weight[row];
        trace_samples_put(trace, &block);
    }
    return weight;
}

static void print_trace(const struct trace *trace, const char *directory, int status)
{
    struct text out = TEXT_INIT;
    int64_t begin_ns, end_ns;
    trace_time_range(trace, &begin_ns, &end_ns);
    text_addf(&out, "{\"status\":%d,\"directory\":\"%s\",\"spans\":%llu,\"instants\":%llu,\"counters\":%llu,\"links\":%llu,\"samples\":%llu,"
                    "\"sample_weight_ns\":%lld,\"begin_ns\":%lld,\"end_ns\":%lld,",
              status, directory, (unsigned long long)trace_row_count(trace, FAMILY_SPANS),
              (unsigned long long)trace_row_count(trace, FAMILY_INSTANTS), (unsigned long long)trace_row_count(trace, FAMILY_COUNTERS),
              (unsigned long long)trace_row_count(trace, FAMILY_LINKS), (unsigned long long)trace_row_count(trace, FAMILY_SAMPLES),
              (long long)sample_weight(trace), (long long)begin_ns, (long long)end_ns);
    put_processes(&out, trace);
    text_add_string(&out, ",");
    put_tracks(&out, trace);
    text_add_string(&out, ",");
    put_ledger(&out, trace);
    text_add_string(&out, ",");
    put_metadata(&out, trace);
    text_add_string(&out, "}\n");
    fputs(out.data, stdout);
    text_finish(&out);
}

static int merge(const char *directory, bool keep, bool symbols, int status)
{
    struct error err = ERROR_INIT;
    const struct merge_options options = {.keep_session = keep, .no_symbols = !symbols, .log = &to_stderr};
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    if (session_merge(directory, &options, &trace, &err) < 0)
        die("merge", &err);
    print_trace(trace, directory, status);
    return 0;
}

static void announce(const char *path, const char *directory)
{
    char temporary[4096];
    snprintf(temporary, sizeof temporary, "%s.new", path);
    FILE *file = fopen(temporary, "w");
    if (!file || fprintf(file, "%s\n", directory) < 0 || fclose(file) != 0 || rename(temporary, path) != 0)
        die(path, NULL);
}

static int run(const struct options *options)
{
    struct error err = ERROR_INIT;
    struct session *session = NULL;
    char library[4096], runtime[4096], preload[8200], **environment = NULL;
    if (session_create(&options->session, &session, &err) < 0)
        die("session", &err);
    if (session_library_path(options->library_directory, "test", library, sizeof library, &err) < 0)
        die("library", &err);
    if (session_library_path(options->library_directory, "runtime", runtime, sizeof runtime, &err) < 0)
        die("library", &err);
    snprintf(preload, sizeof preload, "%s:%s", runtime, library);
    if (session_environment(session, environ, options->no_preload ? NULL : preload, &environment, &err) < 0)
        die("environment", &err);
    if (options->announce)
        announce(options->announce, session_directory(session));
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        execvpe(options->command[0], options->command, environment);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        die("wait", NULL);
    if (options->leave)
        _exit(0);
    if (session_finish(session, &err) < 0)
        fprintf(stderr, "session_probe: finish: %s\n", err.text);
    char directory[4096];
    snprintf(directory, sizeof directory, "%s", session_directory(session));
    session_environment_free(environment);
    session_destroy(session);
    return merge(directory, options->keep, options->symbols, status);
}

static int list(const char *parent)
{
    struct session_info *sessions;
    size_t count;
    struct error err = ERROR_INIT;
    if (session_list(parent, &sessions, &count, &err) < 0)
        die("list", &err);
    for (size_t i = 0; i < count; i++)
        printf("%s\t%s\t%d\n", sessions[i].path, sessions[i].command, sessions[i].live);
    free(sessions);
    return 0;
}

static void parse(int argc, char **argv, struct options *options)
{
    struct session_options *session = &options->session;
    for (int i = 2; i < argc; i++) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        if (strcmp(name, "--") == 0) {
            options->command = argv + i + 1;
            return;
        }
        if (strcmp(name, "--raw-clock") == 0)
            session->raw_clock = true;
        else if (strcmp(name, "--no-shared-map") == 0)
            session->no_shared_map = true;
        else if (strcmp(name, "--no-drain") == 0)
            session->no_drain = true;
        else if (strcmp(name, "--inactive") == 0)
            session->inactive = true;
        else if (strcmp(name, "--call-tree") == 0)
            session->flags |= WIRE_SESSION_CALL_TREE;
        else if (strcmp(name, "--symbols") == 0)
            options->symbols = true;
        else if (strcmp(name, "--keep") == 0)
            options->keep = true;
        else if (strcmp(name, "--leave") == 0)
            options->leave = true;
        else if (strcmp(name, "--no-preload") == 0)
            options->no_preload = true;
        else if (strcmp(name, "--session-dir") == 0)
            session->parent = argv[++i];
        else if (strcmp(name, "--libraries") == 0)
            options->library_directory = argv[++i];
        else if (strcmp(name, "--announce") == 0)
            options->announce = argv[++i];
        else if (strcmp(name, "--buffer-limit") == 0)
            session->buffer_limit_bytes = strtoull(argv[++i], NULL, 10);
        else if (strcmp(name, "--chunk-limit") == 0)
            session->chunk_limit_bytes = strtoull(argv[++i], NULL, 10);
        else if (strcmp(name, "--sampling") == 0)
            session->sampling = (uint32_t)strtoul(argv[++i], NULL, 10);
        else
            die(value, NULL);
    }
    errno = EINVAL;
    die("no command", NULL);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "merge") == 0)
        return merge(argv[2], true, false, 0);
    if (argc == 3 && strcmp(argv[1], "list") == 0)
        return list(argv[2]);
    if (argc < 3 || strcmp(argv[1], "run") != 0) {
        fprintf(stderr, "usage: session_probe run [options] -- COMMAND... | merge DIRECTORY | list PARENT\n");
        return 125;
    }
    struct options options = {.session = {.command = "probe", .log = &to_stderr, .sampling_period_ns = 1000000, .sampling_stack_bytes = 8192}};
    parse(argc, argv, &options);
    return run(&options);
}
