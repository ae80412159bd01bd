/* SPDX-License-Identifier: MIT */
/* What run, attach and recover share: recording options, the output file, and from a session to a trace and its
 * summary. */
#ifndef HP_CLI_RECORDING_H
#define HP_CLI_RECORDING_H

#include "command.h"
#include "formats/format.h"
#include "record/record.h"

struct watch;

struct recording_values {
    struct common_values common;
    const char *output;
    int summary;
    uint64_t frequency_hz;
    const char *callgraph;
    uint64_t buffer_limit_bytes, delay_ns, duration_ns, top;
    const char *session_parent;
};

/* Each a table entry of its own, so that run and attach list them in one place. */
#define RECORDING_FIELD(field) offsetof(struct recording_values, field)
#define OPTION_OUTPUT                                                                                                  \
    {                                                                                                                  \
        .short_name = 'o', .long_name = "output", .kind = OPTION_STRING, .offset = RECORDING_FIELD(output),            \
        .value_name = "FILE", .hint = HINT_FILE,                                                                       \
        .help = "the trace; its ending picks the format; replaced if it exists "                                        \
                "[NAME.hprofiler.json; an earlier one is kept as .old]"                                         \
    }
#define OPTION_SUMMARY                                                                                                 \
    {                                                                                                                  \
        .long_name = "summary", .kind = OPTION_NEGATABLE, .offset = RECORDING_FIELD(summary),                          \
        .help = "print the summary to stdout afterwards [on]"                                                          \
    }
#define OPTION_TOP                                                                                                     \
    {                                                                                                                  \
        .long_name = "top", .kind = OPTION_U64, .offset = RECORDING_FIELD(top), .value_name = "N",                     \
        .help = "functions in the summary; 0: all [15; json and csv: all]", .maximum = 1000000                         \
    }
#define RECORDING_OPTIONS                                                                                              \
    {.long_name = "perf-freq",                                                                                         \
     .kind = OPTION_U64,                                                                                               \
     .offset = RECORDING_FIELD(frequency_hz),                                                                          \
     .value_name = "HZ",                                                                                               \
     .help = "samples a second of each thread that runs [999]",                                                        \
     .minimum = 1,                                                                                                     \
     .maximum = 100000},                                                                                               \
        {.long_name = "perf-callgraph",                                                                                \
         .kind = OPTION_STRING,                                                                                        \
         .offset = RECORDING_FIELD(callgraph),                                                                         \
         .value_name = "fp|dwarf[,BYTES]|lbr",                                                                         \
         .choices = "fp|dwarf|dwarf,|lbr",                                                                             \
         .help = "take call stacks: by frame pointers, by unwind tables over a copy of the stack's top (BYTES of it "  \
                 "[32K]), or from the processor's branch record [no stacks]"},                                         \
        {.long_name = "buffer-limit",                                                                                  \
         .kind = OPTION_SIZE,                                                                                          \
         .offset = RECORDING_FIELD(buffer_limit_bytes),                                                                \
         .value_name = "SIZE",                                                                                         \
         .help = "keep only the newest SIZE of what is recorded (flight recorder) [keep all]",                         \
         .minimum = 65536},                                                                                            \
        {.long_name = "delay",                                                                                         \
         .kind = OPTION_DURATION,                                                                                      \
         .offset = RECORDING_FIELD(delay_ns),                                                                          \
         .value_name = "S",                                                                                            \
         .help = "begin to record S seconds after the start [0]"},                                                     \
        {.long_name = "duration",                                                                                      \
         .kind = OPTION_DURATION,                                                                                      \
         .offset = RECORDING_FIELD(duration_ns),                                                                       \
         .value_name = "S",                                                                                            \
         .help = "record for S seconds only [to the end]"},                                                            \
    {                                                                                                                  \
        .long_name = "session-dir", .kind = OPTION_STRING, .offset = RECORDING_FIELD(session_parent),                  \
        .value_name = "DIR", .hint = HINT_DIRECTORY,                                                                   \
        .help = "where the session directory is made during the run, on a local disk [$TMPDIR, else /tmp]"             \
    }

void recording_preset(void *values);
/* Wrong usage: a way of call stacks that there is not, an output whose ending names no format. */
int recording_check(const struct recording_values *values, struct error *err);
int recording_fill_options(const struct recording_values *values, const struct log *log,
                           struct record_options *ret_options, struct error *err);

struct output_file {
    char path[4096];
    const struct trace_format *format;
    bool named; /* by -o: what is there is replaced; else it is kept as PATH.old */
};
/* The -o file, or NAME.hprofiler.json; checked now, before anything runs: format known, directory writable. */
int output_file_prepare(const char *output, const char *name, struct output_file *ret_file, struct error *err);

struct finish_options {
    const char *session_directory;
    const struct output_file *file; /* NULL = named after the traced program (recover) */
    bool keep_session, summary;
    bool ui; /* open the terminal UI in the end */
    struct watch *watch; /* it is open since the beginning; NULL = it is not */
    bool recovering; /* by `recover`: a session that makes no trace was not ours to keep */
    uint64_t top;
};
/* Makes the trace of a session, writes it, removes the session, prints the summary, opens the UI. When it fails, the session is kept
 * and the error says how to go on. */
int recording_finish(const struct finish_options *options, const struct invocation *invocation, struct error *err);

#endif
