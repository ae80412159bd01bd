/* SPDX-License-Identifier: MIT */
/* The summary of a trace on stdout, in the format that was asked for. */
#ifndef HP_CLI_PRINT_SUMMARY_H
#define HP_CLI_PRINT_SUMMARY_H

#include "command.h"
#include "trace/filter.h"
#include "trace/trace.h"
#include "view/summary.h"

/* --top was not given: 15 in text, all in json and csv. */
#define SUMMARY_TOP_DEFAULT UINT64_MAX

struct summary_options {
    uint64_t top;                     /* functions; 0 = all */
    const struct trace_filter *where; /* NULL = everything */
};
int print_summary(struct trace *trace, const struct summary_options *options, const struct invocation *invocation,
                  struct error *err);

/* Parts of its JSON. */
void json_optional(struct json *json, const char *key, struct optional_i64 value);
void json_summary_openmp(struct json *json, const struct summary *summary);
void json_summary_devices(struct json *json, const struct summary *summary);
void json_summary_ranges(struct json *json, const struct summary *summary);
void json_summary_mpi(struct json *json, const struct summary *summary);

#endif
