/* SPDX-License-Identifier: MIT */
/* `summary`. */
#include "commands.h"
#include "print_summary.h"

#include "base/cleanup.h"
#include "formats/format.h"

struct summary_values {
    struct common_values common;
    uint64_t top;
    const char *where, *advice;
};

#define SUMMARY_OPTIONS                                                                                                \
    {.long_name = "top",                                                                                               \
     .kind = OPTION_U64,                                                                                               \
     .offset = offsetof(struct summary_values, top),                                                                   \
     .value_name = "N",                                                                                                \
     .help = "functions to list; 0: all [15; json and csv: all]",                                                      \
     .maximum = 1000000},                                                                                              \
        {.long_name = "where",                                                                                         \
         .kind = OPTION_STRING,                                                                                        \
         .offset = offsetof(struct summary_values, where),                                                             \
         .value_name = "FILTER",                                                                                       \
         .help = "only what matches: key=glob terms joined by commas, e.g. 'thread=worker*,name=solve*'"},               \
        {.long_name = "advice",                                                                                        \
         .kind = OPTION_CHOICE,                                                                                        \
         .offset = offsetof(struct summary_values, advice),                                                            \
         .choices = "auto|all|none",                                                                                   \
         .help = "auto, all or none: of large traces all takes longer [auto]"},                                        \
        OPTION_FORMAT, OPTION_HELP, OPTION_END

static const struct option_spec options[] = {SUMMARY_OPTIONS};

static void preset(void *values)
{
    ((struct summary_values *)values)->top = SUMMARY_TOP_DEFAULT;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct summary_values *summary_values = values;
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    (void)invocation;
    return trace_filter_compile(summary_values->where, &filter, err);
}

static int run(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct summary_values *summary_values = values;
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int result = summary_values->where ? trace_filter_compile(summary_values->where, &filter, err) : 0;
    if (result == 0)
        result = trace_open(invocation->operands[0], invocation->progress, invocation->log, &trace, err);
    if (result < 0)
        return result;
    struct summary_options print = {.top = summary_values->top, .where = filter, .advice = advice_choice_find(summary_values->advice)};
    return print_summary(trace, &print, invocation, err);
}

static void details(struct text *out)
{
    text_add_string(out,
                    "Filter keys (--where): name category kind node rank process thread device stream path.\n"
                    "In a glob * matches anything, ? one character; \\, and \\\\ stand for a comma and a backslash.\n");
}

static const char *const operands[] = {"TRACE", NULL};

const struct command command_summary = {
    .name = "summary",
    .summary = "print where the time went",
    .usage = "TRACE [options]",
    .description = "Prints the functions with the most self time, with their total where stacks were taken; modules; "
                   "threads with their time on and "
                   "off the CPU; processes; of devices when they worked and why they were idle, and what worked for the ranges that the "
                   "program named; what could be done better, with the numbers that say so (docs/advisor.md); and what tells how far to trust it: samples seen, kept and lost, the share "
                   "of stacks that reach their "
                   "thread's root, the rate delivered, and the profiler's own cost.\n\n"
                   "Times of samples are CPU time that the samples stand for. --format json and csv are made for "
                   "programs: times are integer "
                   "nanoseconds, what is not known is null or empty. csv lists the functions.",
    .examples = "hprofiler summary app.hprofiler.json --top 30\n    more functions\n"
                "hprofiler summary app.hpt --where 'thread=worker*'\n    some threads only\n"
                "hprofiler summary app.hpt --where 'path=*step*'\n    what was called, and ran on devices, inside ranges named like step\n"
                "hprofiler summary app.hpt --format json | jq -r '.functions[0].name'\n    the hottest function, for a "
                "program\n",
    .details = details,
    .options = options,
    .values_size = sizeof(struct summary_values),
    .preset = preset,
    .minimum_operands = 1,
    .maximum_operands = 1,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .check = check,
    .run = run,
};
