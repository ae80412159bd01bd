/* SPDX-License-Identifier: MIT */
/* The traces that a command was given, one a rank or a node, opened as one trace on one clock. */
#ifndef HP_CLI_OPEN_TOGETHER_H
#define HP_CLI_OPEN_TOGETHER_H

#include "analysis/node_merge.h"
#include "command.h"

struct trace;

/* Traces that are to be merged: one a clock, so that a file can be several. */
struct inputs {
    struct trace **traces;
    const char **names; /* whose paths they are: of who opened them */
    uint32_t count;
    size_t capacity, name_capacity;
};
void inputs_finish(struct inputs *inputs);
int open_input(struct inputs *inputs, const char *path, const struct progress *progress, const struct log *log, struct error *err);

/* All operands of the invocation, merged as `how` says. */
int open_together(const struct invocation *invocation, const struct node_merge_options *how, struct trace **ret_trace,
                  struct node_merge_report *ret_report, struct error *err);
/* One trace; where the clocks of its nodes were never compared (OTF2 archives), they are aligned first, or it is refused. */
int open_aligned(const char *path, const struct invocation *invocation, struct trace **ret_trace, struct error *err);
/* What the report notes, as warnings, one a line. */
void warn_of_merge(const struct node_merge_report *report, const struct log *log);

#endif
