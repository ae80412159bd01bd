/* SPDX-License-Identifier: MIT */
/* `merge-nodes`: the traces of several nodes, or ranks, as one trace on one clock. */
#include "commands.h"

#include "analysis/node_merge.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "formats/format.h"
#include "open_together.h"
#include "print_merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct merge_values {
    struct common_values common;
    const char *output;
    struct option_list assumptions;
    bool repair;
};

static const struct option_spec options[] = {
    {.short_name = 'o',
     .long_name = "output",
     .kind = OPTION_STRING,
     .offset = offsetof(struct merge_values, output),
     .value_name = "FILE",
     .hint = HINT_FILE,
     .help = "the trace to write; its ending picks the format"},
    {.long_name = "assume-offset",
     .kind = OPTION_LIST,
     .offset = offsetof(struct merge_values, assumptions),
     .value_name = "NODE=SECONDS",
     .help = "where nothing tells how NODE's clock stands to the others: its real-time clock is so much ahead of the reference's, 0 for "
             "clocks kept equal; NODE may be a glob; may be repeated"},
    {.long_name = "repair-causality",
     .kind = OPTION_FLAG,
     .offset = offsetof(struct merge_values, repair),
     .help = "move what seems to come in before it went out, and what lies around it; by how much is kept beside the times"},
    OPTION_FORMAT,
    OPTION_HELP,
    OPTION_END,
};

/* --- options ------------------------------------------------------------------------------------------------------ */

static int parse_assumption(char *text, struct clock_assumption *ret_assumption, struct error *err)
{
    char *equals = strrchr(text, '=');
    uint64_t value = 0;
    const char *number = equals ? equals + 1 + (equals[1] == '-') : NULL;
    if (!equals || equals == text || parse_duration(number, &value) < 0 || value > INT64_MAX / 16)
        return error_set(err, -EINVAL, "--assume-offset needs NODE=SECONDS, such as node7=0 or 'gpu*=-1.5', not '%s'", text);
    *equals = '\0';
    *ret_assumption = (struct clock_assumption){text, equals[1] == '-' ? -(int64_t)value : (int64_t)value};
    return 0;
}

struct assumptions {
    char *texts[64];
    struct clock_assumption items[64];
    size_t count;
};

static void assumptions_finish(struct assumptions *assumptions)
{
    for (size_t i = 0; i < assumptions->count; i++)
        free(assumptions->texts[i]);
}

static int parse_assumptions(const struct merge_values *values, struct assumptions *ret_assumptions, struct error *err)
{
    int code = 0;
    ret_assumptions->count = 0;
    for (size_t i = 0; i < values->assumptions.count && code == 0; i++) {
        char *text = strdup(values->assumptions.items[i]);
        if (!text)
            return error_set(err, -ENOMEM, "out of memory");
        ret_assumptions->texts[i] = text;
        ret_assumptions->count++;
        code = parse_assumption(text, &ret_assumptions->items[i], err);
    }
    return code;
}

static int check_output(const struct merge_values *values, const struct invocation *invocation, struct error *err)
{
    struct stat to, from;
    if (!values->output)
        return error_set(err, -EINVAL, "which file is to be written? -o FILE");
    const struct trace_format *format = trace_format_for_path(values->output);
    if (!format || !format->write)
        return error_set(err, -EINVAL, "the ending of '%s' names no format: use .hpt, or .json for viewers of Chrome's format", values->output);
    for (int i = 0; i < invocation->operand_count && stat(values->output, &to) == 0; i++)
        if (stat(invocation->operands[i], &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
            return error_set(err, -EINVAL, "'%s' is one of the traces to be merged: write to another file", values->output);
    return 0;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    CLEANUP(assumptions_finish) struct assumptions assumptions = {.count = 0};
    int code = parse_assumptions(values, &assumptions, err);
    return code ? code : check_output(values, invocation, err);
}

/* --- the work ----------------------------------------------------------------------------------------------------- */

static int merge(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct merge_values *merge_values = values;
    CLEANUP(assumptions_finish) struct assumptions assumptions = {.count = 0};
    CLEANUP(trace_unrefp) struct trace *whole = NULL;
    CLEANUP(node_merge_report_finish) struct node_merge_report report = {0};
    int code = parse_assumptions(merge_values, &assumptions, err);
    const struct node_merge_options how = {assumptions.items, assumptions.count, merge_values->repair};
    if (code == 0)
        code = open_together(invocation, &how, &whole, &report, err);
    if (code)
        return code;
    code = trace_format_for_path(merge_values->output)->write(whole, invocation->progress, merge_values->output, err);
    output_progress_clear();
    if (code)
        return code;
    warn_of_merge(&report, invocation->log);
    code = print_merge(&report, invocation, err);
    if (code == 0)
        log_info(invocation->log, "%d %s merged into %s", invocation->operand_count, invocation->operand_count == 1 ? "trace" : "traces",
                 merge_values->output);
    return code;
}

static const char *const operands[] = {"TRACE", NULL};

const struct command command_merge_nodes = {
    .name = "merge-nodes",
    .summary = "make one trace of the traces of several nodes or ranks, on one clock",
    .usage = "TRACE... -o FILE [options]",
    .description =
        "Takes the traces that `mpirun ... hprofiler run ... -- COMMAND` left, one a rank, and makes one trace of them. Clocks of different "
        "nodes are aligned by what processes measured at MPI_Init and MPI_Finalize, else through the messages and collectives between them; "
        "where there is neither, it is refused unless --assume-offset says how they stand. Traces of one machine have one clock already.\n\n"
        "Messages and collectives are joined across the traces. A message that comes in before it went out is a violation: how many there "
        "are is printed, as is by how much each node's clock may be off. Nothing is moved unless --repair-causality asks for it. "
        "docs/merge-nodes.md says what all this means, and what the trace has of it.",
    .examples = "mpirun -np 64 hprofiler run -o app.%r.hpt -- ./app; hprofiler merge-nodes app.*.hpt -o app.hpt\n    record each rank, then look at them together\n"
                "hprofiler merge-nodes a.hpt b.hpt -o both.hpt --assume-offset '*=0'\n    the nodes' real-time clocks are equal\n",
    .options = options,
    .values_size = sizeof(struct merge_values),
    .minimum_operands = 1,
    .maximum_operands = -1,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .check = check,
    .run = merge,
};
