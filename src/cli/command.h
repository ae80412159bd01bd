/* SPDX-License-Identifier: MIT */
/* A command is data and one function; the dispatcher does what all share: parsing, --help, errors, did stdout get
 * written. */
#ifndef HP_CLI_COMMAND_H
#define HP_CLI_COMMAND_H

#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "output.h"

struct file_writer;

/* Exit statuses that are ours; `run` passes on the target's own otherwise. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_PROFILER_FAILED = 125,
    EXIT_CANNOT_RUN = 126,
    EXIT_NOT_FOUND = 127
};

/* The first member of every command's options struct. */
struct common_values {
    bool help;
    const char *format; /* "text", "csv" or "json"; NULL where a command has no --format */
};
#define OPTION_HELP                                                                                                    \
    {                                                                                                                  \
        .short_name = 'h', .long_name = "help", .kind = OPTION_FLAG, .offset = offsetof(struct common_values, help),   \
        .help = "show this help"                                                                                       \
    }
#define OPTION_FORMAT                                                                                                  \
    {                                                                                                                  \
        .long_name = "format", .kind = OPTION_CHOICE, .offset = offsetof(struct common_values, format),                \
        .choices = "text|csv|json", .help = "how results are printed: for people, or for programs [text]"              \
    }

struct invocation {
    const struct command *command;
    int operand_count;
    char **operands;       /* without options */
    char **target;         /* what follows "--", NULL-terminated; NULL if there was no "--" */
    const struct log *log; /* to stderr, "hprofiler: " in front */
    const struct progress *progress;
    struct file_writer *out; /* stdout; the dispatcher flushes it and reports a failure */
    struct text_look look;   /* of stdout */
    enum output_format format;
};

struct command {
    const char *name;
    const char *summary;     /* one line, no full stop */
    const char *usage;       /* "[options] -- COMMAND..." behind the name */
    const char *description; /* paragraphs for help and man page */
    const char *examples;    /* "command\n    what it does\n" blocks; NULL = none */
    /* Adds what comes from tables to help and man page ("Formats:" ...); NULL = nothing. */
    void (*details)(struct text *out);
    const struct option_spec *options;
    size_t values_size; /* of the options struct, zeroed, then preset() */
    void (*preset)(void *values);
    int minimum_operands, maximum_operands; /* maximum -1 = any number */
    const char *const *operand_names;       /* for messages, NULL-terminated, e.g. {"TRACE", NULL} */
    enum option_hint operand_hint;          /* for completion */
    const char *operand_choices;            /* for completion, "bash|zsh|fish"; NULL = none */
    bool takes_target;                      /* "-- COMMAND..." */
    bool hidden;                            /* not listed in help and completion */
    int failed_status;                      /* exit status of a failure; 0 = EXIT_FAILED and EXIT_USAGE */
    /* Looks at values and operands before anything is done: what it refuses is wrong usage. NULL = nothing to look at. */
    int (*check)(const void *values, const struct invocation *invocation, struct error *err);
    /* Returns the exit status, or -errno with err set: the dispatcher prints it. */
    int (*run)(const void *values, const struct invocation *invocation, struct error *err);
};

extern const struct command *const commands[]; /* NULL-terminated, in the order of help */
const struct command *command_find(const char *name);
/* The command that a name of other profilers stands for, or whose name is nearest to a mistyped one; NULL if none is. */
const struct command *command_nearest(const char *name);

#endif
