/* SPDX-License-Identifier: MIT */
/* `efficiency`: which share of the processors' time a run made use of, and what took the rest. */
#include "commands.h"
#include "open_together.h"
#include "print_efficiency.h"

#include "analysis/run_reading.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/thread_pool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct efficiency_values {
    struct common_values common;
    const char *scaling, *window;
    uint64_t top;
};

#define TOP_DEFAULT UINT64_MAX

static const struct option_spec options[] = {
    {.long_name = "scaling",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct efficiency_values, scaling),
     .choices = "strong|weak",
     .help = "of several traces: whether the problem stays the same or grows with the threads [strong]"},
    {.long_name = "window",
     .kind = OPTION_STRING,
     .offset = offsetof(struct efficiency_values, window),
     .value_name = "FROM:TO",
     .help = "only this part of the run, from its start, e.g. 1.5:2 or 250ms:1s [MPI_Init to MPI_Finalize, or all]"},
    {.long_name = "top",
     .kind = OPTION_U64,
     .offset = offsetof(struct efficiency_values, top),
     .value_name = "N",
     .help = "delays, and in json waits, to list; 0: all [10; json: all]",
     .maximum = 1000000},
    OPTION_FORMAT,
    OPTION_HELP,
    OPTION_END,
};

static void preset(void *values)
{
    ((struct efficiency_values *)values)->top = TOP_DEFAULT;
}

static int parse_side(const char *text, size_t length, int64_t empty_ns, int64_t *ret_ns)
{
    char copy[64];
    uint64_t value;
    if (!length) {
        *ret_ns = empty_ns;
        return 0;
    }
    if (length >= sizeof copy)
        return -EINVAL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (parse_duration(copy, &value) < 0 || value > INT64_MAX)
        return -EINVAL;
    *ret_ns = (int64_t)value;
    return 0;
}

static int parse_window(const char *text, struct efficiency_options *ret_options, struct error *err)
{
    const char *colon = strchr(text, ':');
    if (!colon || parse_side(text, (size_t)(colon - text), 0, &ret_options->begin_ns) < 0 ||
        parse_side(colon + 1, strlen(colon + 1), -1, &ret_options->end_ns) < 0)
        return error_set(err, -EINVAL, "--window needs FROM:TO, such as 1.5:2, 250ms:1s or :10, not '%s'", text);
    if (ret_options->end_ns >= 0 && ret_options->begin_ns >= ret_options->end_ns)
        return error_set(err, -EINVAL, "--window '%s' ends before it begins", text);
    ret_options->has_window = true;
    return 0;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct efficiency_values *efficiency_values = values;
    struct efficiency_options ignored;
    (void)invocation;
    return efficiency_values->window ? parse_window(efficiency_values->window, &ignored, err) : 0;
}

static void run_finish(struct efficiency_run *run)
{
    efficiency_destroy(run->efficiency);
    wait_states_destroy(run->waits);
    free(run->blame);
    trace_unref(run->trace);
}

/* Wait states are found beside the factors: they need nothing of each other, and both take their time on large traces. */
struct waiting {
    struct efficiency_run *run;
    struct run_reading *reading; /* let go as soon as it is looked at no more: it is large */
    int result;
    struct error err;
};

static void find_waits(void *context)
{
    struct waiting *waiting = context;
    struct efficiency_run *run = waiting->run;
    waiting->result = wait_states_create_from(waiting->reading, &run->waits, &waiting->err);
    run_reading_unref(TAKE_PTR(waiting->reading));
    if (waiting->result == 0)
        waiting->result = wait_states_blame(run->waits, run->trace, &run->blame, &run->blame_count, &waiting->err);
}

static int find_both(const struct efficiency_options *options_here, const struct invocation *invocation, struct efficiency_run *run, struct error *err)
{
    struct waiting waiting = {.run = run, .err = ERROR_INIT};
    struct efficiency_options with_run = *options_here;
    CLEANUP(thread_pool_destroyp) struct thread_pool *pool = NULL;
    int result = run_reading_create(run->trace, true, invocation->progress, &with_run.run, err);
    if (result < 0)
        return result;
    waiting.reading = run_reading_ref(with_run.run);
    bool beside = thread_pool_create(1, &pool) == 0 && thread_pool_submit(pool, find_waits, &waiting) == 0;
    result = efficiency_create(run->trace, &with_run, invocation->progress, &run->efficiency, err);
    if (beside)
        thread_pool_wait(pool);
    else if (result == 0)
        find_waits(&waiting);
    run_reading_unref(waiting.reading);
    if (result == 0 && waiting.result < 0)
        return error_set(err, waiting.result, "%s", waiting.err.text);
    return result;
}

static int look_at(const char *path, const struct efficiency_options *window, const struct invocation *invocation,
                   struct efficiency_run *run, struct error *err)
{
    struct efficiency_options options_here = *window;
    run->path = path;
    int result = open_aligned(path, invocation, &run->trace, err);
    if (result == 0 && options_here.has_window && options_here.end_ns < 0) {
        int64_t ignored;
        trace_time_range(run->trace, &ignored, &options_here.end_ns);
    }
    return result == 0 ? find_both(&options_here, invocation, run, err) : result;
}

/* Whether a trace has some of its program's ranks only: it is no run of a series, but a piece of one. */
static bool is_piece(const struct trace *trace)
{
    const char *size = trace_metadata(trace, "mpi.world_size");
    uint32_t count, ranks = 0;
    const struct trace_process *processes = trace_processes(trace, &count);
    for (uint32_t i = 0; i < count; i++)
        ranks += processes[i].rank >= 0;
    return size && ranks > 0 && strtoull(size, NULL, 10) > ranks;
}

static int check_series(const struct efficiency_report *report, const struct invocation *invocation, struct error *err)
{
    size_t pieces = 0;
    for (size_t i = 0; i < report->run_count; i++)
        pieces += is_piece(report->runs[i].trace);
    if (pieces < 2)
        return 0;
    return error_set(err, -EINVAL, "%zu of these traces have only some of their program's ranks, so they are no runs to compare; put the ranks "
                     "of each run together first: hprofiler merge-nodes %s ... -o run.hpt", pieces, invocation->operands[0]);
}

static int run(const void *values, const struct invocation *invocation, struct error *err)
{
    const struct efficiency_values *efficiency_values = values;
    struct efficiency_options window = {0};
    struct efficiency_report report = {.weak = efficiency_values->scaling && strcmp(efficiency_values->scaling, "weak") == 0,
                                       .top = efficiency_values->top};
    if (report.top == TOP_DEFAULT)
        report.top = invocation->format == OUTPUT_TEXT ? 10 : 0;
    report.runs = calloc((size_t)invocation->operand_count, sizeof *report.runs);
    if (!report.runs)
        return error_set(err, -ENOMEM, "efficiency: out of memory");
    int result = efficiency_values->window ? parse_window(efficiency_values->window, &window, err) : 0;
    for (int i = 0; i < invocation->operand_count && result == 0; i++) {
        struct efficiency_run *one = &report.runs[report.run_count++];
        result = look_at(invocation->operands[i], &window, invocation, one, err);
        if (result == 0)
            efficiency_scale(report.runs[0].efficiency, one->efficiency, report.weak, &one->scaling);
    }
    if (result == 0)
        result = check_series(&report, invocation, err);
    if (result == 0)
        result = print_efficiency(&report, invocation, err);
    for (size_t i = 0; i < report.run_count; i++)
        run_finish(&report.runs[i]);
    free(report.runs);
    return result;
}

static const char *const operands[] = {"TRACE", NULL};

const struct command command_efficiency = {
    .name = "efficiency",
    .summary = "tell how much of the processors' time was useful, and why not more",
    .usage = "TRACE... [options]",
    .description = "Prints the factors of POP's models of parallel efficiency (multiplicative; of MPI with OpenMP, multiplicative and additive) and of "
                   "TALP's for hosts and devices, each with its formula and inputs; what a trace cannot tell is \"not applicable\" or \"not "
                   "separable\". Then the waits by their pattern (late sender, wait at barrier, idle threads, host blocked on device, ...), and what "
                   "delayed others most: directly, and through waits that were caused in turn.\n\n"
                   "Several traces are runs of one program on more and more processors: the first is the reference of computation scalability. "
                   "Traces of the ranks of one run are to be merged before (merge-nodes).\n\n"
                   "Without --window, MPI programs are looked at from MPI_Init to MPI_Finalize, others from begin to end. Waits are those of the whole "
                   "trace.",
    .examples = "hprofiler efficiency solver.hpt\n    all factors of one run\n"
                "hprofiler efficiency solver-2.hpt solver-4.hpt solver-8.hpt\n    how it scales\n"
                "hprofiler efficiency solver.hpt --format json | jq -r '.factors[] | [.name, .value] | @tsv'\n    for a program\n",
    .options = options,
    .values_size = sizeof(struct efficiency_values),
    .preset = preset,
    .minimum_operands = 1,
    .maximum_operands = -1,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .check = check,
    .run = run,
};
