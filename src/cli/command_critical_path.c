/* SPDX-License-Identifier: MIT */
/* `critical-path`: what the run's time hung on, over all backends. */
#include "commands.h"
#include "open_together.h"
#include "parallel_program.h"
#include "print_path.h"
#include "ranks_path.h"

#include "base/cleanup.h"
#include "base/thread_pool.h"
#include "formats/format.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#define TOP_DEFAULT UINT64_MAX /* --top was not given: 20 in text, all in json and csv */

struct path_values {
    struct common_values common;
    uint64_t top;
    const char *where, *by, *output;
};

#define DIMENSION_CHOICES "activity|name|category|kind|lane|process|rank|node|function|line|path"

static const struct option_spec options[] = {
    {.long_name = "by",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct path_values, by),
     .choices = DIMENSION_CHOICES,
     .help = "what the composition is by [activity]"},
    {.long_name = "where",
     .kind = OPTION_STRING,
     .offset = offsetof(struct path_values, where),
     .value_name = "FILTER",
     .help =
         "show only the part of the path that matches: key=glob terms joined by commas, e.g. 'rank=3,kind=collective'"},
    {.long_name = "top",
     .kind = OPTION_U64,
     .offset = offsetof(struct path_values, top),
     .value_name = "N",
     .help = "rows of each table; 0: all [20; json and csv: all]",
     .maximum = 1000000},
    {.short_name = 'o',
     .long_name = "output",
     .kind = OPTION_STRING,
     .offset = offsetof(struct path_values, output),
     .value_name = "FILE",
     .hint = HINT_FILE,
     .help = "also write the trace with the path as a track of its own; the ending picks the format"},
    OPTION_FORMAT,
    OPTION_HELP,
    OPTION_END,
};

static void preset(void *values)
{
    ((struct path_values *)values)->top = TOP_DEFAULT;
}

static int check_output(const char *output, const char *input, struct error *err)
{
    const struct trace_format *format = output ? trace_format_for_path(output) : NULL;
    struct stat from, to;
    if (!output)
        return 0;
    if (!format || !format->write)
        return error_set(err, -EINVAL, "no trace is written with the ending of '%s': use .hprofiler.json or .hpt",
                         output);
    if (stat(output, &to) == 0 && stat(input, &from) == 0 && from.st_dev == to.st_dev && from.st_ino == to.st_ino)
        return error_set(err, -EINVAL, "'%s' is the trace itself, which would be lost: write to another file", output);
    return 0;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct path_values *path_values = values;
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    int result = trace_filter_compile(path_values->where, &filter, err);
    for (int i = 0; i < invocation->operand_count && result == 0; i++)
        result = check_output(path_values->output, invocation->operands[i], err);
    return result;
}

static int write_track(const struct path_values *values, const struct trace *trace, const struct path_report *report,
                       const struct invocation *invocation, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *with_path = NULL;
    struct trace_part part = {0};
    struct export_counts counts;
    int result = path_track_add(trace, report, invocation->progress, &with_path, err);
    if (result == 0)
        result = trace_export(with_path, trace_format_for_path(values->output), &part, invocation->progress,
                              values->output, &counts, err);
    return result;
}

static void warn_of_nothing(const struct trace *trace, const struct trace_filter *where, const struct log *log)
{
    struct text reason = TEXT_INIT;
    filter_explain(where, trace, &reason);
    log_warning(log, "nothing on the critical path matches --where%s%s", reason.length ? ": " : "",
                reason.length ? reason.data : "");
    text_finish(&reason);
}

static int print(const struct path_values *values, const struct path_report *report, const struct path_blame *blame,
                 const struct invocation *invocation, struct error *err)
{
    struct text text = TEXT_INIT;
    uint64_t top = values->top == TOP_DEFAULT ? (invocation->format == OUTPUT_TEXT ? 20 : 0) : values->top;
    if (invocation->format == OUTPUT_JSON)
        print_path_json(report, blame, top, &text, invocation->out);
    else if (invocation->format == OUTPUT_CSV)
        print_path_csv(report->rows, report->path->length_ns, top, &text);
    else {
        path_report_draw(report, top, &invocation->look, &text);
        print_path_blame(report->graph->trace, blame, top, &invocation->look, &text);
    }
    return output_text(invocation->out, &text, err);
}

/* Wait states are found beside the path: they need nothing of each other, and both take their time on large traces. */
struct blaming {
    const struct trace *trace;
    struct path_blame blame;
    int result;
    struct error err;
};

static void find_blame(void *context)
{
    struct blaming *blaming = context;
    blaming->result = wait_blame_create_named(blaming->trace, NULL, &blaming->blame.rows, &blaming->blame.count, &blaming->err);
}

static int find_all(const struct path_values *values, const struct trace *trace, const struct trace_filter *filter,
                    const struct invocation *invocation, struct path_report **ret_report, struct path_blame *ret_blame,
                    struct error *err)
{
    struct blaming blaming = {.trace = trace};
    struct path_report_options report_options = {.where = filter, .by = PATH_BY_ACTIVITY};
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    if (values->by)
        report_options.by = (enum path_dimension)path_dimension_find(values->by);
    bool wanted = invocation->format != OUTPUT_CSV;
    bool beside = wanted && thread_pool_create(1, &pool) == 0 && thread_pool_submit(pool, find_blame, &blaming) == 0;
    int result = path_report_create(trace, &report_options, invocation->progress, ret_report, err);
    if (beside)
        thread_pool_wait(pool);
    else if (wanted && result == 0)
        find_blame(&blaming);
    *ret_blame = blaming.blame;
    ret_blame->texts = trace_strings(trace);
    if (result == 0 && blaming.result < 0)
        return error_set(err, blaming.result, "%s", blaming.err.text);
    return result;
}

static int show(const struct path_values *values, const struct trace *trace, const struct trace_filter *filter,
                const struct invocation *invocation, struct error *err)
{
    CLEANUP(path_report_destroyp) struct path_report *report = NULL;
    struct path_blame blame = {NULL, 0, NULL};
    int result = find_all(values, trace, filter, invocation, &report, &blame, err);
    CLEANUP(freep) struct wait_blame *rows = blame.rows;
    if (result == 0 && values->output)
        result = write_track(values, trace, report, invocation, err);
    if (result < 0)
        return result;
    output_progress_clear();
    if (filter && !report->rows->count)
        warn_of_nothing(trace, filter, invocation->log);
    return print(values, report, &blame, invocation, err);
}

/* Several traces are those of one run's ranks or nodes: a path goes through all of them. */
static int open_run(const struct invocation *invocation, struct trace **ret_trace, struct error *err)
{
    if (invocation->operand_count == 1)
        return open_aligned(invocation->operands[0], invocation, ret_trace, err);
    static const struct node_merge_options as_measured = {0};
    CLEANUP(node_merge_report_finish) struct node_merge_report report = {0};
    int result = open_together(invocation, &as_measured, ret_trace, &report, err);
    if (result == 0)
        warn_of_merge(&report, invocation->log);
    return result;
}

static int show_of_ranks(const struct rank_group *group, const struct path_values *values, const struct invocation *invocation,
                         struct error *err)
{
    CLEANUP(ranks_path_finish) struct ranks_path path = {0};
    enum path_dimension by = values->by ? (enum path_dimension)path_dimension_find(values->by) : PATH_BY_ACTIVITY;
    int result = ranks_path_find(group, invocation, by, invocation->format != OUTPUT_CSV, &path, err);
    if (group->rank)
        return result < 0 ? EXIT_FAILED : 0; /* rank 0 says why */
    if (result < 0)
        return result;
    output_progress_clear();
    return print(values, path.report, &path.blame, invocation, err);
}

/* What needs the whole trace in one place; NULL: nothing does. */
static const char *needs_one_process(const struct path_values *values, const struct invocation *invocation)
{
    if (values->output)
        return "with -o";
    if (values->where)
        return "with --where";
    if (values->by && path_dimension_find(values->by) == PATH_BY_PATH)
        return "by path";
    return invocation->operand_count == 1 ? "of one trace" : NULL;
}

static int run_alone(const struct path_values *values, const struct invocation *invocation, struct error *err)
{
    CLEANUP(trace_filter_destroyp) struct trace_filter *filter = NULL;
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int result = values->where ? trace_filter_compile(values->where, &filter, err) : 0;
    if (result == 0)
        result = open_run(invocation, &trace, err);
    return result < 0 ? result : show(values, trace, filter, invocation, err);
}

static int run(const void *values, const struct invocation *invocation, struct error *err)
{
    struct launcher_rank launched;
    if (!launcher_rank_find(&launched) || launched.size == 1)
        return run_alone(values, invocation, err);
    const char *why = needs_one_process(values, invocation);
    const struct rank_group *group = why ? NULL : parallel_join(&launched, &why, err);
    if (group)
        return show_of_ranks(group, values, invocation, err);
    if (err->code || launched.rank)
        return err->code && !launched.rank ? err->code : 0;
    log_warning(invocation->log, "the critical path %s is found by rank 0 alone", why);
    return run_alone(values, invocation, err);
}

static void details(struct text *out)
{
    text_add_string(out, "The composition (--by):\n");
    for (int d = 0; d < PATH_DIMENSION_COUNT; d++)
        text_addf(out, "  %-10s %s\n", path_dimension_name((enum path_dimension)d),
                  path_dimension_text((enum path_dimension)d));
    text_add_string(out, "\nHow one thing waits for another (hops between lanes, at best with this confidence):\n");
    for (int rule = 0; rule < EDGE_RULE_COUNT; rule++)
        text_addf(out, "  %-18s %-8s %s\n", edge_rule_name((enum edge_rule)rule),
                  confidence_name(edge_rule_confidence((enum edge_rule)rule)), edge_rule_text((enum edge_rule)rule));
}

static const char *const operands[] = {"TRACE", NULL};

const struct command command_critical_path = {
    .name = "critical-path",
    .summary = "show what the run's time hung on",
    .usage = "TRACE... [options]",
    .description =
        "Finds the longest chain of things that had to follow each other, through all threads, devices and processes "
        "of the "
        "run: it is as long as the run, and nothing but what lies on it can make the run shorter. Printed are what it "
        "consists of, its hops in order (sequences that repeat stand once), how well each is proved, what threads did "
        "beyond the average of all, and who waited for whom.\n\n"
        "Every hop between lanes says what proves it: certain (a recorded identity), high (a rule of the programming "
        "model), medium (only "
        "the times). What nothing explains is shown as unexplained.\n\n"
        "Several traces are those that ranks or nodes of one run left, and are put together in memory as `hprofiler "
        "merge-nodes` does it, which has options for clocks that nothing compares. Under `mpirun -np N`, with several "
        "traces, N processes share the work, and rank 0 prints what one process would.",
    .examples =
        "hprofiler critical-path app.hprofiler.json\n    where to begin\n"
        "hprofiler critical-path app.hpt --by function --where rank=0\n    the code of rank 0 on it, by function\n"
        "hprofiler critical-path app.*.hpt\n    of a run of which each rank left a trace\n"
        "mpirun -np 4 hprofiler critical-path app.*.hpt\n    the same by four processes, on one machine or several\n"
        "hprofiler critical-path app.hpt -o path.hprofiler.json\n    for Perfetto: the path as a track of its own\n",
    .details = details,
    .options = options,
    .values_size = sizeof(struct path_values),
    .preset = preset,
    .minimum_operands = 1,
    .maximum_operands = -1,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .check = check,
    .run = run,
};
