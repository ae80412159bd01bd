/* SPDX-License-Identifier: MIT */
/* `what-if`: how long the run would have taken. */
#include "commands.h"
#include "open_together.h"
#include "print_path.h"

#include "analysis/what_if.h"
#include "base/cleanup.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#define SCALES_MAX 16
#define TOP_DEFAULT UINT64_MAX

struct what_if_values {
    struct common_values common;
    struct option_list scales;
    const char *balance, *network, *by;
    uint64_t top;
};

static const struct option_spec options[] = {
    {.long_name = "scale",
     .kind = OPTION_LIST,
     .offset = offsetof(struct what_if_values, scales),
     .value_name = "FILTER:FACTOR",
     .help =
         "these activities take FACTOR of their own time, e.g. 'kind=compute,rank=0:0.5'; may be given several times"},
    {.long_name = "balance",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct what_if_values, balance),
     .choices = "ranks",
     .help = "the code of each MPI rank between collectives of all takes the ranks' average"},
    {.long_name = "network",
     .kind = OPTION_STRING,
     .offset = offsetof(struct what_if_values, network),
     .value_name = "LATENCY,BANDWIDTH",
     .help = "messages and collectives take LATENCY + bytes/BANDWIDTH, e.g. '2us,10G' (bytes a second), '0,inf'"},
    {.long_name = "by",
     .kind = OPTION_CHOICE,
     .offset = offsetof(struct what_if_values, by),
     .choices = "activity|name|category|kind|lane|process|rank|node|function|line|path",
     .help = "what the new path's composition is by [activity]"},
    {.long_name = "top",
     .kind = OPTION_U64,
     .offset = offsetof(struct what_if_values, top),
     .value_name = "N",
     .help = "rows of the new path's composition; 0: all [15; json and csv: all]",
     .maximum = 1000000},
    OPTION_FORMAT,
    OPTION_HELP,
    OPTION_END,
};

/* The request, as the analysis takes it. */
struct request {
    struct what_if_options options;
    struct what_if_scale scales[SCALES_MAX];
    struct trace_filter *filters[SCALES_MAX];
};

static void request_finish(struct request *request)
{
    for (size_t i = 0; i < SCALES_MAX; i++)
        trace_filter_destroy(request->filters[i]);
}

static int request_init(struct request *request, const struct what_if_values *values, struct error *err)
{
    memset(request, 0, sizeof *request);
    if (values->scales.count > SCALES_MAX)
        return error_set(err, -EINVAL, "at most %d --scale", SCALES_MAX);
    if (!values->scales.count && !values->balance && !values->network)
        return error_set(err, -EINVAL,
                         "what if what? Say --scale FILTER:FACTOR, --balance ranks or --network LATENCY,BANDWIDTH");
    for (size_t i = 0; i < values->scales.count; i++) {
        int result =
            what_if_parse_scale(values->scales.items[i], &request->filters[i], &request->scales[i].factor, err);
        if (result < 0)
            return result;
        request->scales[i].filter = request->filters[i];
    }
    request->options.scales = request->scales;
    request->options.scale_count = values->scales.count;
    request->options.balance_ranks = values->balance != NULL;
    return values->network ? what_if_parse_network(values->network, &request->options, err) : 0;
}

static void preset(void *values)
{
    ((struct what_if_values *)values)->top = TOP_DEFAULT;
}

static int check(const void *values, const struct invocation *invocation, struct error *err)
{
    struct request request;
    (void)invocation;
    int result = request_init(&request, values, err);
    request_finish(&request);
    return result;
}

/* What was asked for beside scales; null: it was not. */
static void json_balance(struct json *json, const struct what_if *what_if, const struct what_if_values *values)
{
    if (!values->balance) {
        json_null(json, "balance");
        return;
    }
    json_open(json, "balance", '{');
    json_string(json, "balance", values->balance);
    json_u64(json, "phases", what_if->phases);
    json_u64(json, "unbalanced", what_if->unbalanced);
    json_close(json, '}');
}

static void json_network(struct json *json, const struct what_if *what_if, const struct what_if_values *values, const struct what_if_options *asked)
{
    if (!values->network) {
        json_null(json, "network");
        return;
    }
    json_open(json, "network", '{');
    json_string(json, "network", values->network);
    json_i64(json, "latency_ns", asked->latency_ns);
    json_double(json, "bytes_per_second", asked->bytes_per_second, 0); /* infinite: null */
    json_u64(json, "changed", what_if->network_edges);
    json_close(json, '}');
}

static void json_if(struct json *json, bool known, const char *key, int64_t value)
{
    if (known)
        json_i64(json, key, value);
    else
        json_null(json, key);
}

static void json_uncertainty(struct json *json, const struct what_if *what_if)
{
    const struct what_if_bounds *bounds = &what_if->bounds;
    json_open(json, "uncertainty", '{');
    json_if(json, bounds->preempted_known, "low_ns", bounds->low_ns);
    json_if(json, bounds->preempted_known, "high_ns", bounds->high_ns);
    json_double(json, "below_high_share", what_if_unsure_share(what_if), 4);
    json_i64(json, "without_below_high_ns", bounds->sure_edges_ns);
    json_i64(json, "changed_ns", bounds->changed_ns);
    json_if(json, bounds->preempted_known, "preempted_ns", bounds->preempted_ns);
    json_if(json, bounds->preempted_known, "preempted_stays_ns", bounds->preempted_stays_ns);
    json_close(json, '}');
}

static void print_json(const struct what_if *what_if, const struct what_if_values *values, const struct what_if_options *asked,
                       const struct path_rows *rows, uint64_t top, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_i64(&json, "measured_ns", what_if->measured_ns);
    json_i64(&json, "replayed_ns", what_if->replayed_ns);
    json_i64(&json, "predicted_ns", what_if->predicted_ns);
    json_uncertainty(&json, what_if);
    json_open(&json, "scales", '[');
    for (size_t i = 0; i < values->scales.count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "scale", values->scales.items[i]);
        json_u64(&json, "changed", what_if->scaled[i]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_balance(&json, what_if, values);
    json_network(&json, what_if, values, asked);
    json_composition(&json, rows, what_if->path->length_ns, top);
    json_close(&json, '}');
}

static void print_csv(const struct what_if *what_if, struct text *out)
{
    text_add_string(out, "measured_ns,replayed_ns,predicted_ns\n");
    text_addf(out, "%" PRId64 ",%" PRId64 ",%" PRId64 "\n", what_if->measured_ns, what_if->replayed_ns,
              what_if->predicted_ns);
}

static void fact_text(struct text *out, const struct text_look *look, const char *label, const char *value, const char *remark)
{
    char padded[32];
    snprintf(padded, sizeof padded, "%-11s", label);
    text_add_string(out, "  ");
    text_add_styled(out, look, STYLE_DIM, padded);
    text_addf(out, " %10s  ", value);
    text_add_wrapped(out, look, 27, 27, remark);
}

static void fact(struct text *out, const struct text_look *look, const char *label, int64_t time_ns, const char *remark)
{
    char time[32];
    fact_text(out, look, label, format_duration(time, sizeof time, time_ns), remark);
}

/* What the prediction rests on that may be otherwise. */
static void add_uncertainty(const struct what_if *what_if, const struct text_look *look, struct text *out)
{
    const struct what_if_bounds *bounds = &what_if->bounds;
    char low[32], high[32], time[32], percent[32], stays[32], remark[240];
    double share = what_if_unsure_share(what_if);
    if (!bounds->changed_ns)
        return;
    format_duration(time, sizeof time, bounds->sure_edges_ns);
    if (isnan(share))
        snprintf(remark, sizeof remark, "no change; without edges below high confidence: %s", time);
    else
        snprintf(remark, sizeof remark, "%.1f %% of the change rests on edges below high confidence; without them: %s", 100 * share, time);
    fact_text(out, look, "uncertain",
              !bounds->preempted_known ? "not known" : format_duration(low, sizeof low, bounds->low_ns), remark);
    if (bounds->preempted_known)
        snprintf(remark, sizeof remark, "%s, %s %% of what changes, were off the processor and change with it; if they stayed: %s",
                 format_duration(time, sizeof time, bounds->preempted_ns),
                 format_percent(percent, sizeof percent, (double)bounds->preempted_ns, (double)bounds->changed_ns),
                 format_duration(stays, sizeof stays, bounds->preempted_stays_ns));
    else
        snprintf(remark, sizeof remark, "how much of what changes was off the processor is not known: no records of the scheduler (--backend cpu)");
    fact_text(out, look, bounds->preempted_known ? "  to" : "", bounds->preempted_known ? format_duration(high, sizeof high, bounds->high_ns) : "", remark);
}

static void print_text(const struct what_if *what_if, const struct path_rows *rows, enum path_dimension by,
                       uint64_t top, const struct text_look *look, struct text *out)
{
    char remark[160];
    double measured = (double)what_if->measured_ns, replayed = (double)what_if->replayed_ns,
           predicted = (double)what_if->predicted_ns;
    text_add_styled(out, look, STYLE_BOLD, "What if");
    text_add_char(out, '\n');
    fact(out, look, "measured", what_if->measured_ns, "");
    snprintf(remark, sizeof remark, "the unchanged run, recomputed: %+.2f %%",
             measured > 0 ? 100 * (replayed - measured) / measured : 0.0);
    fact(out, look, "replayed", what_if->replayed_ns, remark);
    if (predicted > 0)
        snprintf(remark, sizeof remark, "%+.1f %% of the replayed time; %.2f times as fast",
                 100 * (predicted - replayed) / (replayed > 0 ? replayed : 1), replayed / predicted);
    else
        snprintf(remark, sizeof remark, "nothing that takes time is left");
    fact(out, look, "predicted", what_if->predicted_ns, remark);
    add_uncertainty(what_if, look, out);
    text_add_string(out, "\nThe critical path would be:\n");
    path_rows_draw(rows, by, what_if->path->length_ns, top, look, out);
}

static void warn(const struct what_if *what_if, const struct what_if_values *values, const struct request *request,
                 const struct trace *trace, const struct log *log)
{
    for (size_t i = 0; i < values->scales.count; i++) {
        if (what_if->scaled[i])
            continue;
        struct text reason = TEXT_INIT;
        filter_explain(request->filters[i], trace, &reason);
        log_warning(log, "--scale '%s' changes nothing%s%s", values->scales.items[i], reason.length ? ": " : "",
                    reason.length ? reason.data : "");
        text_finish(&reason);
    }
    if (values->network && !what_if->network_edges)
        log_warning(log, "--network changes nothing: no message and no collective that was matched");
    if (what_if->unbalanced)
        log_warning(log,
                    "--balance: %" PRIu64
                    " times a rank had no code of its own between two collectives: its share is missing",
                    what_if->unbalanced);
    if (what_if->measured_ns > 0 && what_if->replayed_ns * 100 / what_if->measured_ns != 100)
        log_warning(log, "the unchanged replay is not within 1 %% of the measured run: take the prediction with care");
}

static int predict(const struct what_if_values *values, const struct request *request, const struct trace *trace,
                   const struct invocation *invocation, struct error *err)
{
    CLEANUP(dependency_graph_destroyp) struct dependency_graph *graph = NULL;
    CLEANUP(activities_destroyp) struct activities *activities = NULL;
    CLEANUP(what_if_destroyp) struct what_if *what_if = NULL;
    CLEANUP(path_parts_destroyp) struct path_parts *parts = NULL;
    CLEANUP(path_rows_destroyp) struct path_rows *rows = NULL;
    enum path_dimension by = values->by ? (enum path_dimension)path_dimension_find(values->by) : PATH_BY_ACTIVITY;
    int result = dependency_graph_create(trace, NULL, invocation->progress, &graph, err);
    if (result == 0)
        result = activities_create(trace, invocation->progress, &activities, err);
    if (result == 0)
        result = what_if_create(graph, activities, &request->options, &what_if, err);
    if (result == 0)
        result = path_parts_create(what_if->path, activities, NULL, &parts, err);
    if (result == 0)
        result = path_rows_create(what_if->path, parts, NULL, by, &rows, err);
    if (result != 0)
        return result;
    struct text text = TEXT_INIT;
    uint64_t top = values->top == TOP_DEFAULT ? (invocation->format == OUTPUT_TEXT ? 15 : 0) : values->top;
    output_progress_clear();
    warn(what_if, values, request, trace, invocation->log);
    if (invocation->format == OUTPUT_JSON)
        print_json(what_if, values, &request->options, rows, top, &text);
    else if (invocation->format == OUTPUT_CSV)
        print_csv(what_if, &text);
    else
        print_text(what_if, rows, by, top, &invocation->look, &text);
    return output_text(invocation->out, &text, err);
}

static int run(const void *values, const struct invocation *invocation, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    struct request request;
    int result = request_init(&request, values, err);
    if (result == 0)
        result = open_aligned(invocation->operands[0], invocation, &trace, err);
    if (result == 0)
        result = predict(values, &request, trace, invocation, err);
    request_finish(&request);
    return result;
}

static void details(struct text *out)
{
    text_add_string(
        out,
        "What --scale addresses: the own time of the spans that match, what lies in other spans inside excluded; of a "
        "call "
        "that waits, what it takes by itself and from its release on, not the wait. kind=compute is the program's own "
        "code, outside of all calls or in regions, tasks, loops and ranges. The factor follows the last colon.\n\n"
        "Filter keys: name category kind node rank process thread device stream path.\n");
}

static const char *const operands[] = {"TRACE", NULL};

const struct command command_what_if = {
    .name = "what-if",
    .summary = "predict the run time if activities took another time",
    .usage = "TRACE --scale 'FILTER:FACTOR'... [--balance ranks] [--network LATENCY,BANDWIDTH]",
    .description = "Replays the run on its dependency graph with changed times, and prints the time measured, the time "
                   "of the unchanged "
                   "replay (how well the graph explains the run), the time predicted, between which times that may lie for "
                   "edges below high confidence and for time off the processor in what was changed, and what the critical path would "
                   "consist of then.",
    .examples =
        "hprofiler what-if app.hpt --scale 'kind=kernel,name=saxpy*:0.5'\n    if this kernel were twice as fast\n"
        "hprofiler what-if app.hpt --network 0,inf\n    on an ideal network\n"
        "hprofiler what-if app.hpt --balance ranks --scale 'kind=io:0'\n    if all ranks had the same to do, and i/o "
        "took no time\n",
    .details = details,
    .options = options,
    .values_size = sizeof(struct what_if_values),
    .preset = preset,
    .minimum_operands = 1,
    .maximum_operands = 1,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .check = check,
    .run = run,
};
