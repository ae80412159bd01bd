/* SPDX-License-Identifier: MIT */
/* `view`: a saved trace in the terminal UI; where that can't be, its summary. */
#include "commands.h"
#include "open_ui.h"
#include "print_summary.h"

#include "base/cleanup.h"
#include "formats/format.h"

struct view_values {
    struct common_values common;
    uint64_t top;
    const char *where, *against;
    int ui;
};

static const struct option_spec options[] = {
    OPTION_UI(struct view_values, "open the terminal UI, or print the summary"),
    {.long_name = "against",
     .kind = OPTION_STRING,
     .offset = offsetof(struct view_values, against),
     .value_name = "OTHER",
     .hint = HINT_TRACE,
     .help = "in the UI's flame graph what differs from another trace, such as one of before a change"},
    {.long_name = "top",
     .kind = OPTION_U64,
     .offset = offsetof(struct view_values, top),
     .value_name = "N",
     .help = "of the summary: functions to list; 0: all [15; json and csv: all]",
     .maximum = 1000000},
    {.long_name = "where",
     .kind = OPTION_STRING,
     .offset = offsetof(struct view_values, where),
     .value_name = "FILTER",
     .help = "of the summary: only what matches; in the UI f sets a filter"},
    OPTION_FORMAT,
    OPTION_HELP,
    OPTION_END,
};

static void preset(void *values)
{
    struct view_values *view = values;
    view->top = SUMMARY_TOP_DEFAULT;
    view->ui = -1;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct view_values *view = values;
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    (void)invocation;
    return trace_filter_compile(view->where, &filter, err);
}

static int run(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct view_values *view = values;
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    CLEANUP(trace_unrefp) struct trace *other = NULL;
    /* Who asks for something of the summary wants the summary. */
    bool plain = view->where || view->common.format || view->top != SUMMARY_TOP_DEFAULT;
    bool ui = ui_wanted(view->ui < 0 && plain ? 0 : view->ui, invocation->log);
    int result = view->where ? trace_filter_compile(view->where, &filter, err) : 0;
    if (result == 0)
        result = trace_open(invocation->operands[0], invocation->progress, invocation->log, &trace, err);
    if (result == 0 && view->against && ui)
        result = trace_open(view->against, invocation->progress, invocation->log, &other, err);
    if (result < 0)
        return result;
    output_progress_clear();
    if (ui)
        return ui_open_against(trace, invocation->operands[0], other, view->against, err);
    if (view->against)
        log_info(invocation->log, "--against is for the flame graph of the terminal UI: the summary compares nothing");
    struct summary_options print = {.top = view->top, .where = filter};
    return print_summary(trace, &print, invocation, err);
}

static const char *const operands[] = {"TRACE", NULL};

const struct command command_view = {
    .name = "view",
    .summary = "open a saved trace in the terminal UI",
    .usage = "TRACE [options]",
    .description = "Opens a saved trace, whatever format it has, in the terminal UI: timeline, hotspots, call tree, flame graph. Where input or "
                   "output is no terminal, and with --no-ui, --where, --top or --format, it prints the summary, as `hprofiler summary` does.\n\n"
                   "The UI uses the terminal's colours as far as it has them: 24-bit where COLORTERM says so, 256, 16 or none (NO_COLOR). "
                   "HPROFILER_THEME=light or dark chooses those for its ground.",
    .examples = "hprofiler view app.hprofiler.json\n    look at it\n"
                "hprofiler view after.hpt --against before.hpt\n    where the CPU time went that it did not go before\n"
                "hprofiler view app.hpt --no-ui\n    what is in it, in text\n",
    .details = ui_describe,
    .options = options,
    .values_size = sizeof(struct view_values),
    .preset = preset,
    .minimum_operands = 1,
    .maximum_operands = 1,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .check = check,
    .run = run,
};
