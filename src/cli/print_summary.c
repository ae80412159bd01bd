/* SPDX-License-Identifier: MIT */
/* The summary of a trace on stdout. The keys of JSON and the columns of CSV are a contract: docs/metrics.md. */
#include "print_summary.h"

#include "base/file.h"
#include "view/summary.h"

#include <string.h>

void json_optional(struct json *json, const char *key, struct optional_i64 value)
{
    if (value.known)
        json_i64(json, key, value.value);
    else
        json_null(json, key);
}

static void json_callers(struct json *json, const struct summary_function *function)
{
    json_open(json, "callers", '[');
    for (size_t i = 0; i < function->caller_count; i++) {
        json_open(json, NULL, '{');
        json_text(json, "name", function->callers[i].name);
        json_string(json, "module", function->callers[i].module);
        json_u64(json, "count", function->callers[i].count);
        json_i64(json, "self_ns", function->callers[i].self_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_functions(struct json *json, const struct summary *summary, size_t count)
{
    json_open(json, "functions", '[');
    for (size_t i = 0; i < count; i++) {
        const struct summary_function *function = &summary->functions[i];
        json_open(json, NULL, '{');
        json_text(json, "source", function->group == SUMMARY_SAMPLES ? "samples" : "spans");
        json_text(json, "name", function->name);
        json_string(json, "category", function->category);
        json_string(json, "module", function->module);
        json_u64(json, "count", function->count);
        json_i64(json, "total_ns", function->total_ns);
        json_i64(json, "self_ns", function->self_ns);
        json_optional(json, "min_ns", (struct optional_i64){function->group != SUMMARY_SAMPLES, function->min_ns});
        json_optional(json, "max_ns", (struct optional_i64){function->group != SUMMARY_SAMPLES, function->max_ns});
        json_double(json, "percent", function->percent, 3);
        json_callers(json, function);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_modules_and_threads(struct json *json, const struct summary *summary)
{
    json_open(json, "modules", '[');
    for (size_t i = 0; i < summary->module_count; i++) {
        json_open(json, NULL, '{');
        json_string(json, "name", summary->modules[i].name);
        json_u64(json, "count", summary->modules[i].count);
        json_i64(json, "self_ns", summary->modules[i].self_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
    json_open(json, "threads", '[');
    for (size_t i = 0; i < summary->thread_count; i++) {
        const struct summary_thread *thread = &summary->threads[i];
        json_open(json, NULL, '{');
        json_string(json, "name", thread->name);
        json_i64(json, "pid", thread->pid);
        json_i64(json, "tid", thread->tid);
        json_u64(json, "samples", thread->samples);
        json_optional(json, "cpu_ns", (struct optional_i64){summary->cpu_known, thread->cpu_ns});
        json_optional(json, "blocked_ns", thread->blocked_ns);
        json_optional(json, "preempted_ns", thread->preempted_ns);
        json_optional(json, "life_ns", thread->life_ns);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_ledger(struct json *json, const struct summary *summary)
{
    json_open(json, "ledger", '[');
    for (uint32_t i = 0; i < summary->ledger_count; i++) {
        const struct ledger_entry *entry = &summary->ledger[i];
        json_open(json, NULL, '{');
        json_string(json, "source", trace_text(summary->trace, entry->source));
        json_u64(json, "seen", entry->seen);
        json_u64(json, "recorded", entry->recorded);
        json_u64(json, "lost", entry->lost);
        json_string(json, "reason", trace_text(summary->trace, entry->reason));
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void json_processes(struct json *json, const struct summary *summary)
{
    json_open(json, "processes", '[');
    for (size_t i = 0; i < summary->process_count; i++) {
        const struct summary_process *process = &summary->processes[i];
        json_open(json, NULL, '{');
        json_i64(json, "pid", process->pid);
        json_optional(json, "rank", (struct optional_i64){process->rank >= 0, process->rank});
        json_string(json, "command", process->command);
        json_string(json, "executable", process->executable);
        json_u64(json, "generation", process->generation);
        json_i64(json, "start_ns", process->start_ns);
        json_optional(json, "end_ns", process->end_ns);
        json_optional(json, "exit_status", summary_exit_status(process->wait_status));
        json_optional(json, "wait_status", (struct optional_i64){process->wait_status != -1, process->wait_status});
        json_bool(json, "replaced_by_exec", process->replaced);
        json_bool(json, "attached", process->attached);
        json_optional(json, "cpu_ns", (struct optional_i64){summary->cpu_known, process->cpu_ns});
        json_string(json, "reason", process->reason);
        json_close(json, '}');
    }
    json_close(json, ']');
}

/* 0 is "not known": nobody samples at 0 Hz. */
static void json_hz(struct json *json, const char *key, double frequency_hz)
{
    if (frequency_hz > 0)
        json_double(json, key, frequency_hz, 1);
    else
        json_null(json, key);
}

static void json_sampling(struct json *json, const struct summary *summary)
{
    json_open(json, "sampling", '{');
    json_string(json, "event", trace_metadata(summary->trace, "sampling.event"));
    json_string(json, "callgraph", trace_metadata(summary->trace, "sampling.callgraph"));
    json_hz(json, "frequency", summary->frequency_hz);
    json_hz(json, "frequency_delivered", summary->delivered_hz);
    json_u64(json, "samples", summary->samples);
    json_u64(json, "samples_kernel", summary->samples_kernel);
    json_u64(json, "samples_truncated", summary->samples_truncated);
    json_open(json, "samples_truncated_by", '{');
    for (int i = 0; i < SAMPLE_CUT_COUNT; i++)
        json_u64(json, sample_cut_name((enum sample_cut)i), summary->samples_cut[i]);
    json_close(json, '}');
    json_u64(json, "samples_without_stack", summary->samples_without_stack);
    json_optional(json, "sampled_ns", (struct optional_i64){summary->cpu_known, summary->sampled_ns});
    json_i64(json, "kernel_ns", summary->kernel_ns);
    json_i64(json, "excluded_ns", summary->excluded_ns);
    json_optional(json, "unsampled_ns", summary->unsampled_ns);
    json_optional(json, "blocked_ns", summary->blocked_ns);
    json_optional(json, "preempted_ns", summary->preempted_ns);
    json_close(json, '}');
}

static void print_json(const struct summary *summary, const struct summary_advice *advice, size_t count, struct text *out)
{
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "command", trace_metadata(summary->trace, "command"));
    json_i64(&json, "duration_ns", summary->duration_ns);
    json_optional(&json, "run_ns", summary->run_ns);
    json_optional(&json, "exit_status", summary->exit_status);
    json_optional(&json, "overhead_ns", summary->overhead_ns);
    json_optional(&json, "start_realtime_ns", summary->start_realtime_ns);
    json_sampling(&json, summary);
    json_functions(&json, summary, count);
    json_modules_and_threads(&json, summary);
    json_processes(&json, summary);
    json_summary_devices(&json, summary);
    json_summary_ranges(&json, summary);
    json_summary_openmp(&json, summary);
    json_summary_mpi(&json, summary);
    json_summary_advice(&json, advice, summary->trace);
    json_ledger(&json, summary);
    json_close(&json, '}');
}

/* The functions: the table that a spreadsheet wants. */
static void print_csv(const struct summary *summary, size_t count, struct text *out)
{
    struct csv csv = {.out = out};
    text_add_string(out, "source,name,category,module,count,total_ns,self_ns,min_ns,max_ns,percent\n");
    for (size_t i = 0; i < count; i++) {
        const struct summary_function *function = &summary->functions[i];
        csv_text(&csv, function->group == SUMMARY_SAMPLES ? "samples" : "spans");
        csv_text(&csv, function->name);
        csv_text(&csv, function->category);
        csv_text(&csv, function->module);
        csv_u64(&csv, function->count);
        csv_i64(&csv, function->total_ns);
        csv_i64(&csv, function->self_ns);
        if (function->group != SUMMARY_SAMPLES) {
            csv_i64(&csv, function->min_ns);
            csv_i64(&csv, function->max_ns);
        } else {
            csv_empty(&csv);
            csv_empty(&csv);
        }
        csv_double(&csv, function->percent, 3);
        csv_end(&csv);
    }
}

/* --top counts functions of each group; what is left out for it is overwritten by those that stay. */
static size_t take_top(struct summary *summary, uint64_t top)
{
    size_t from = 0, to = 0;
    if (!top)
        return summary->function_count;
    for (size_t group = 0; group < SUMMARY_GROUPS; group++) {
        size_t count = summary->group_count[group], shown = top < count ? (size_t)top : count;
        memmove(summary->functions + to, summary->functions + from, shown * sizeof *summary->functions);
        from += count;
        to += shown;
    }
    return to;
}

static void warn_of_nothing(const struct trace *trace, const struct trace_filter *where, const struct log *log)
{
    struct text reason = TEXT_INIT;
    filter_explain(where, trace, &reason);
    log_warning(log, "nothing in the trace matches --where%s%s", reason.length ? ": " : "", reason.length ? reason.data : "");
    text_finish(&reason);
}

static void draw_all(const struct summary *summary, const struct summary_advice *advice, uint64_t top, const struct text_look *look, struct text *out)
{
    summary_draw(summary, top, look, out);
    draw_summary_advice(advice, summary->trace, look, out);
}

int print_summary(struct trace *trace, const struct summary_options *options, const struct invocation *invocation,
                  struct error *err)
{
    CLEANUP(summary_destroyp) struct summary *summary = NULL;
    CLEANUP(summary_advice_finish) struct summary_advice advice = {0};
    struct text text = TEXT_INIT;
    int result = summary_create(trace, options->where, invocation->progress, &summary, err);
    if (result < 0)
        return result;
    uint64_t top = options->top;
    if (top == SUMMARY_TOP_DEFAULT)
        top = invocation->format == OUTPUT_TEXT ? 15 : 0;
    if (invocation->format != OUTPUT_CSV)
        summary_advise(summary, options->advice, invocation->progress, &advice);
    output_progress_clear();
    if (options->where && !summary->function_count)
        warn_of_nothing(trace, options->where, invocation->log);
    if (invocation->format == OUTPUT_TEXT)
        draw_all(summary, &advice, top, &invocation->look, &text);
    else if (invocation->format == OUTPUT_JSON)
        print_json(summary, &advice, take_top(summary, top), &text);
    else
        print_csv(summary, take_top(summary, top), &text);
    return output_text(invocation->out, &text, err);
}
