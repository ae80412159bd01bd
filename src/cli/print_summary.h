/* SPDX-License-Identifier: MIT */
/* The summary of a trace on stdout, in the format that was asked for. */
#ifndef HP_CLI_PRINT_SUMMARY_H
#define HP_CLI_PRINT_SUMMARY_H

#include "command.h"
#include "trace/filter.h"
#include "trace/trace.h"
#include "analysis/advice.h"
#include "view/summary.h"

/* --top was not given: 15 in text, all in json and csv. */
#define SUMMARY_TOP_DEFAULT UINT64_MAX

enum advice_choice { ADVICE_CHOICE_AUTO, ADVICE_CHOICE_ALL, ADVICE_CHOICE_NONE }; /* auto: what large traces tell at once */
enum advice_choice advice_choice_find(const char *text); /* NULL: auto */

struct summary_options {
    uint64_t top;                     /* functions; 0 = all */
    const struct trace_filter *where; /* NULL = everything */
    enum advice_choice advice;
};
int print_summary(struct trace *trace, const struct summary_options *options, const struct invocation *invocation,
                  struct error *err);

struct summary_advice {
    struct advices *advices; /* NULL: none */
    char reason[256];        /* why */
};
void summary_advise(const struct summary *summary, enum advice_choice choice, const struct progress *progress, struct summary_advice *ret_advice);
void summary_advice_finish(struct summary_advice *advice);
void draw_summary_advice(const struct summary_advice *advice, const struct trace *trace, const struct text_look *look, struct text *out);

/* Parts of its JSON. */
void json_optional(struct json *json, const char *key, struct optional_i64 value);
void json_summary_openmp(struct json *json, const struct summary *summary);
void json_summary_devices(struct json *json, const struct summary *summary);
void json_summary_ranges(struct json *json, const struct summary *summary);
void json_summary_mpi(struct json *json, const struct summary *summary);
void json_summary_advice(struct json *json, const struct summary_advice *advice, const struct trace *trace);

#endif
