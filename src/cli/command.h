/* SPDX-License-Identifier: MIT */
/* A command is data and one function; the dispatcher does what all share: parsing, --help, errors, did stdout get written. */
#ifndef HP_CLI_COMMAND_H
#define HP_CLI_COMMAND_H

#include "base/error.h"
#include "base/options.h"
#include "base/log.h"

struct invocation {
    int operand_count;
    char **operands;        /* without options */
    char **target;          /* what follows "--", NULL-terminated; NULL if there was no "--" */
    const struct log *log;  /* to stderr, "hprofiler: " in front */
    const struct progress *progress;
};

struct command {
    const char *name;
    const char *summary;      /* one line */
    const char *usage;        /* "[options] -- COMMAND..." behind the name */
    const char *description;  /* paragraphs for help and man page */
    const char *examples;     /* "command\n    what it does\n" blocks */
    const struct option_spec *options;
    size_t values_size;       /* of the options struct, zeroed, then preset() */
    void (*preset)(void *values);
    /* Returns the exit status; with err set, the dispatcher prints it and exits with 125 (run) or 1. */
    int (*run)(const void *values, const struct invocation *invocation, struct error *err);
};

extern const struct command *const commands[]; /* NULL-terminated, in the order of help */

#endif
