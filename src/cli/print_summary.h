/* SPDX-License-Identifier: MIT */
/* The summary of a trace on stdout, in the format that was asked for. */
#ifndef HP_CLI_PRINT_SUMMARY_H
#define HP_CLI_PRINT_SUMMARY_H

#include "command.h"
#include "trace/filter.h"
#include "trace/trace.h"

struct summary_options {
    uint64_t top;                     /* functions; 0 = all */
    const struct trace_filter *where; /* NULL = everything */
    const char *trace_path;           /* for the hint how to go on; NULL = none */
};
int print_summary(const struct trace *trace, const struct summary_options *options, const struct invocation *invocation, struct error *err);

#endif
