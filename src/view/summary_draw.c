/* SPDX-License-Identifier: MIT */
/* The summary as text for people: what ran, where its time went, how far that can be trusted, what it cost. */
#include "summary.h"
#include "units.h"

#include "base/string_table.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define MODULES_SHOWN 8
#define THREADS_SHOWN 12
#define BAR_CELLS 10
#define INDENT 2

struct drawing {
    const struct summary *summary;
    const struct text_look *look;
    struct text *out;
    uint64_t top;
};

static const char *metadata(const struct drawing *drawing, const char *key)
{
    const char *value = trace_metadata(drawing->summary->trace, key);
    return value ? value : "";
}

static const char *dot(const struct drawing *drawing)
{
    return drawing->look->utf8 ? " · " : " | ";
}

static void heading(struct drawing *drawing, const char *title, const char *explanation)
{
    text_add_char(drawing->out, '\n');
    text_add_styled(drawing->out, drawing->look, STYLE_BOLD, title);
    if (*explanation) {
        text_add_string(drawing->out, "  ");
        text_add_styled(drawing->out, drawing->look, STYLE_DIM, explanation);
    }
    text_add_char(drawing->out, '\n');
}

/* A pair of a label and a text, in the paragraph below the title. */
static void fact(struct drawing *drawing, const char *label, const char *value)
{
    char padded[32];
    snprintf(padded, sizeof padded, "%-11s", label);
    text_add_string(drawing->out, "  ");
    text_add_styled(drawing->out, drawing->look, STYLE_DIM, padded);
    text_add_char(drawing->out, ' ');
    text_add_wrapped(drawing->out, drawing->look, 14, 14, value);
}

/* --- the head ------------------------------------------------------------------------------------------------------
 */

static void draw_end(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    int status = summary->process_count ? summary->processes[0].wait_status : -1;
    if (status != -1 && WIFSIGNALED(status))
        text_addf(drawing->out, "%sended by signal %d (%s)", dot(drawing), WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
    else if (summary->exit_status.known)
        text_addf(drawing->out, "%sexit status %" PRId64, dot(drawing), summary->exit_status.value);
}

static void draw_title(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    char duration[32], start[64] = "";
    const char *command = metadata(drawing, "command");
    if (!*command && summary->process_count)
        command = summary->processes[0].command;
    const char *slash = strrchr(command, '/');
    text_add_styled(drawing->out, drawing->look, STYLE_BOLD,
                    slash && slash[1] ? slash + 1
                    : *command        ? command
                                      : "trace");
    text_addf(drawing->out, "%sran %s", dot(drawing), format_duration(duration, sizeof duration, summary->duration_ns));
    draw_end(drawing);
    if (summary->process_count)
        text_addf(drawing->out, "%s%zu process%s, %zu thread%s", dot(drawing), summary->process_count,
                  summary->process_count == 1 ? "" : "es", summary->thread_count,
                  summary->thread_count == 1 ? "" : "s");
    if (summary->start_realtime_ns.known) {
        time_t seconds = (time_t)(summary->start_realtime_ns.value / 1000000000);
        struct tm local;
        if (localtime_r(&seconds, &local))
            strftime(start, sizeof start, "%Y-%m-%d %H:%M:%S", &local);
        text_addf(drawing->out, "%s%s", dot(drawing), start);
    }
    text_add_char(drawing->out, '\n');
}

static void draw_sampling(struct drawing *drawing)
{
    const char *event = metadata(drawing, "sampling.event"), *asked = metadata(drawing, "sampling.frequency");
    const char *delivered = metadata(drawing, "sampling.frequency_delivered"),
               *stacks = metadata(drawing, "sampling.callgraph");
    struct text line = TEXT_INIT;
    if (!*event)
        return;
    text_addf(&line, "%s", event);
    if (*asked)
        text_addf(&line, ", %s Hz asked for", asked);
    if (*delivered)
        text_addf(&line, ", %s Hz delivered", delivered);
    if (strncmp(stacks, "dwarf,", 6) == 0) {
        char size[32];
        text_addf(&line, "; stacks by dwarf, %s copied",
                  format_bytes(size, sizeof size, strtoull(stacks + 6, NULL, 10)));
    } else if (*stacks && strcmp(stacks, "none") != 0) {
        text_addf(&line, "; stacks by %s", stacks);
    } else {
        text_add_string(&line, "; no stacks: callers are unknown (--perf-callgraph takes them)");
    }
    if (strcmp(metadata(drawing, "sampling.kernel"), "no") == 0)
        text_add_string(&line, "; user code only");
    fact(drawing, "sampled by", line.data ? line.data : "");
    text_finish(&line);
}

/* What profiling took: our own process' CPU time, measured, and the interrupts in the program, estimated from one's
 * cost. */
static void draw_cost(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    const char *recorder = metadata(drawing, "overhead.recorder_ns"),
               *interrupts = metadata(drawing, "overhead.interrupts_estimated_ns");
    char time[32];
    struct text line = TEXT_INIT;
    if (!summary->overhead_ns.known)
        return;
    text_addf(&line, "%s of CPU time", format_duration(time, sizeof time, summary->overhead_ns.value));
    if (summary->sampled_ns > 0 && !summary->filtered)
        text_addf(&line, ", %.1f %% of the program's",
                  100.0 * (double)summary->overhead_ns.value / (double)summary->sampled_ns);
    if (*recorder)
        text_addf(&line, "; %s in hprofiler, measured",
                  format_duration(time, sizeof time, strtoll(recorder, NULL, 10)));
    if (*interrupts)
        text_addf(&line, "; %s of interrupts in the program, estimated",
                  format_duration(time, sizeof time, strtoll(interrupts, NULL, 10)));
    fact(drawing, "own cost", line.data ? line.data : "");
    text_finish(&line);
}

static void draw_times(struct drawing *drawing)
{
    const struct summary *summary = drawing->summary;
    char text[256], time[32], other[32], percent[32];
    if (summary->samples) {
        double kernel_share =
            summary->sampled_ns > 0 ? 100.0 * (double)summary->kernel_ns / (double)summary->sampled_ns : 0;
        snprintf(text, sizeof text, "%s by samples", format_duration(time, sizeof time, summary->sampled_ns));
        size_t used = strlen(text);
        if (summary->duration_ns > 0 && !summary->filtered) {
            snprintf(text + used, sizeof text - used, ", %.2f CPUs busy on average",
                     (double)summary->sampled_ns / (double)summary->duration_ns);
            used = strlen(text);
        }
        if (strcmp(metadata(drawing, "sampling.kernel"), "no") != 0)
            snprintf(text + used, sizeof text - used, "; %.1f %% of it in the kernel", kernel_share);
        fact(drawing, "on CPU", text);
    }
    if (summary->off_cpu_known) {
        snprintf(text, sizeof text, "%s blocked, %s preempted, over all threads",
                 format_duration(time, sizeof time, summary->blocked_ns),
                 format_duration(other, sizeof other, summary->preempted_ns));
        fact(drawing, "off CPU", text);
    }
    if (summary->samples > summary->samples_without_stack) {
        uint64_t with = summary->samples - summary->samples_without_stack, whole = with - summary->samples_truncated;
        char count[32];
        format_percent(percent, sizeof percent, (double)whole, (double)summary->samples);
        snprintf(text, sizeof text, "%s %% of %s samples have a stack that reaches its thread's root", percent,
                 format_count(count, sizeof count, summary->samples));
        fact(drawing, "stacks", text);
    }
    draw_cost(drawing);
}

/* --- tables --------------------------------------------------------------------------------------------------------
 */

static void cell_duration(struct table *table, int64_t value_ns)
{
    char text[32];
    table_cell(table, format_duration(text, sizeof text, value_ns));
}

static void cell_optional(struct table *table, struct optional_i64 value)
{
    if (value.known)
        cell_duration(table, value.value);
    else
        table_cell(table, "");
}

static void cell_percent(struct table *table, double part, double whole)
{
    char text[32];
    table_cell(table, format_percent(text, sizeof text, part, whole));
}

static void cell_bar(struct table *table, const struct drawing *drawing, double part, double whole)
{
    char text[3 * BAR_CELLS + 1];
    table_cell_styled(table, STYLE_ACCENT, format_bar(text, sizeof text, part, whole, BAR_CELLS, drawing->look->utf8));
}

static void cell_count(struct table *table, uint64_t count)
{
    char text[32];
    table_cell(table, format_count(text, sizeof text, count));
}

static struct table *new_table(struct drawing *drawing, const struct table_column *columns, size_t count)
{
    struct table *table = NULL;
    if (table_create(columns, count, &table) < 0)
        drawing->out->failed = true;
    return table;
}

static void draw_rest(struct drawing *drawing, size_t shown, size_t count, const char *what, double percent)
{
    if (shown >= count)
        return;
    text_addf(drawing->out, "  %zu more %s", count - shown, what);
    if (percent >= 0)
        text_addf(drawing->out, ", %.1f %% together", percent);
    text_add_char(drawing->out, '\n');
}

static void draw_sampled_functions(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"self", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"", ALIGN_LEFT, SHRINK_DROP, 0},
        {"total", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"%", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"module", ALIGN_LEFT, SHRINK_MIDDLE, 10},
        {"function", ALIGN_LEFT, SHRINK_MIDDLE, 24},
    };
    const struct summary *summary = drawing->summary;
    bool stacks = summary->samples > summary->samples_without_stack;
    size_t count = summary->group_count[SUMMARY_SAMPLES],
           shown = drawing->top && drawing->top < count ? (size_t)drawing->top : count;
    double rest = 0, whole = (double)summary->sampled_ns;
    heading(drawing, "Functions", stacks ? "by self time; total: with what they call" : "by self time");
    CLEANUP(table_destroyp) struct table *table = new_table(drawing, columns, 7);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_function *function = &summary->functions[i];
        table_row(table);
        cell_duration(table, function->self_ns);
        cell_percent(table, (double)function->self_ns, whole);
        cell_bar(table, drawing, (double)function->self_ns, whole);
        if (stacks) {
            cell_duration(table, function->total_ns);
            cell_percent(table, (double)function->total_ns, whole);
        } else {
            table_cell(table, "");
            table_cell(table, "");
        }
        const char *slash = strrchr(function->module, '/');
        table_cell_styled(table, STYLE_DIM, slash ? slash + 1 : function->module);
        table_cell(table, function->name);
    }
    for (size_t i = shown; i < count; i++)
        rest += summary->functions[i].percent;
    if (table)
        table_draw(table, drawing->look, INDENT, drawing->out);
    draw_rest(drawing, shown, count, "functions (--top 0 shows all)", rest);
}

static void draw_spans(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"self", ALIGN_RIGHT, SHRINK_NEVER, 0},  {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"total", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"count", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"mean", ALIGN_RIGHT, SHRINK_DROP, 0},   {"min", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"max", ALIGN_RIGHT, SHRINK_DROP, 0},    {"category", ALIGN_LEFT, SHRINK_END, 8},
        {"name", ALIGN_LEFT, SHRINK_MIDDLE, 24},
    };
    const struct summary *summary = drawing->summary;
    size_t first = summary->group_count[SUMMARY_SAMPLES], count = summary->group_count[SUMMARY_SPANS];
    if (summary->filtered) /* who asks for kind=blocked wants to see it */
        count += summary->group_count[SUMMARY_OFF_CPU];
    size_t shown = drawing->top && drawing->top < count ? (size_t)drawing->top : count;
    double rest = 0;
    if (!count)
        return;
    heading(drawing, "Spans", "by self time: without what they contain on the same lane");
    CLEANUP(table_destroyp) struct table *table = new_table(drawing, columns, 9);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_function *function = &summary->functions[first + i];
        table_row(table);
        cell_duration(table, function->self_ns);
        cell_percent(table, function->percent, 100);
        cell_duration(table, function->total_ns);
        cell_count(table, function->count);
        cell_duration(table, function->count ? function->total_ns / (int64_t)function->count : 0);
        cell_duration(table, function->min_ns);
        cell_duration(table, function->max_ns);
        table_cell_styled(table, STYLE_DIM, function->category);
        table_cell(table, function->name);
    }
    for (size_t i = first + shown; i < first + count; i++)
        rest += summary->functions[i].percent;
    if (table)
        table_draw(table, drawing->look, INDENT, drawing->out);
    draw_rest(drawing, shown, count, "names (--top 0 shows all)", rest);
}

static void draw_modules(struct drawing *drawing)
{
    static const struct table_column columns[] = {{"self", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                                  {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                                  {"", ALIGN_LEFT, SHRINK_DROP, 0},
                                                  {"module", ALIGN_LEFT, SHRINK_MIDDLE, 24}};
    const struct summary *summary = drawing->summary;
    size_t shown = drawing->top && summary->module_count > MODULES_SHOWN ? MODULES_SHOWN : summary->module_count;
    double rest_ns = 0, whole = (double)summary->sampled_ns;
    heading(drawing, "Modules", "");
    CLEANUP(table_destroyp) struct table *table = new_table(drawing, columns, 4);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_module *module = &summary->modules[i];
        table_row(table);
        cell_duration(table, module->self_ns);
        cell_percent(table, (double)module->self_ns, whole);
        cell_bar(table, drawing, (double)module->self_ns, whole);
        table_cell(table, *module->name ? module->name : "[unknown]");
    }
    for (size_t i = shown; i < summary->module_count; i++)
        rest_ns += (double)summary->modules[i].self_ns;
    if (table)
        table_draw(table, drawing->look, INDENT, drawing->out);
    draw_rest(drawing, shown, summary->module_count, "modules", whole > 0 ? 100 * rest_ns / whole : -1);
}

static void draw_threads(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"on CPU", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"blocked", ALIGN_RIGHT, SHRINK_DROP, 0}, {"preempted", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"lived", ALIGN_RIGHT, SHRINK_DROP, 0},   {"samples", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"thread", ALIGN_LEFT, SHRINK_END, 12},   {"tid", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"process", ALIGN_LEFT, SHRINK_DROP, 0},
    };
    const struct summary *summary = drawing->summary;
    size_t shown = drawing->top && summary->thread_count > THREADS_SHOWN ? THREADS_SHOWN : summary->thread_count;
    double rest_ns = 0, whole = (double)summary->sampled_ns;
    heading(drawing, "Threads", "");
    CLEANUP(table_destroyp) struct table *table = new_table(drawing, columns, 9);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_thread *thread = &summary->threads[i];
        char id[48];
        table_row(table);
        cell_duration(table, thread->cpu_ns);
        cell_percent(table, (double)thread->cpu_ns, whole);
        cell_optional(table, thread->blocked_ns);
        cell_optional(table, thread->preempted_ns);
        cell_optional(table, thread->life_ns);
        cell_count(table, thread->samples);
        table_cell(table, *thread->name ? thread->name : "?");
        snprintf(id, sizeof id, "%d", thread->tid);
        table_cell(table, id);
        snprintf(id, sizeof id, " %d", thread->pid);
        struct text process = TEXT_INIT;
        text_addf(&process, "%s%s", thread->process, id);
        table_cell_styled(table, STYLE_DIM, process.data ? process.data : "");
        text_finish(&process);
    }
    for (size_t i = shown; i < summary->thread_count; i++)
        rest_ns += (double)summary->threads[i].cpu_ns;
    if (table)
        table_draw(table, drawing->look, INDENT, drawing->out);
    draw_rest(drawing, shown, summary->thread_count, "threads", whole > 0 ? 100 * rest_ns / whole : -1);
}

static void cell_end(struct table *table, const struct summary_process *process)
{
    char text[64];
    if (process->wait_status == -1)
        snprintf(text, sizeof text, "unknown");
    else if (WIFSIGNALED(process->wait_status))
        snprintf(text, sizeof text, "signal %d", WTERMSIG(process->wait_status));
    else
        snprintf(text, sizeof text, "%d", WEXITSTATUS(process->wait_status));
    table_cell(table, text);
}

/* Only when there is more to say than the title says. */
static void draw_processes(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"on CPU", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"began", ALIGN_RIGHT, SHRINK_DROP, 0},   {"pid", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"status", ALIGN_LEFT, SHRINK_DROP, 0},   {"program", ALIGN_LEFT, SHRINK_END, 12},
        {"note", ALIGN_LEFT, SHRINK_END, 20},
    };
    const struct summary *summary = drawing->summary;
    size_t shown = drawing->top && summary->process_count > THREADS_SHOWN ? THREADS_SHOWN : summary->process_count;
    if (summary->process_count < 2 && !(summary->process_count && *summary->processes[0].reason))
        return;
    heading(drawing, "Processes", "an exec begins a new one");
    CLEANUP(table_destroyp) struct table *table = new_table(drawing, columns, 7);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_process *process = &summary->processes[i];
        table_row(table);
        cell_duration(table, process->cpu_ns);
        cell_percent(table, (double)process->cpu_ns, (double)summary->sampled_ns);
        cell_duration(table, process->start_ns);
        table_cellf(table, "%d", process->pid);
        cell_end(table, process);
        table_cell(table, process->command);
        table_cell_styled(table, STYLE_WARN, process->reason);
    }
    if (table)
        table_draw(table, drawing->look, INDENT, drawing->out);
    draw_rest(drawing, shown, summary->process_count, "processes", -1);
}

static void draw_ledger(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"seen", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"recorded", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"lost", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"source", ALIGN_LEFT, SHRINK_END, 16},
        {"reason", ALIGN_LEFT, SHRINK_END, 20},
    };
    const struct summary *summary = drawing->summary;
    if (!summary->ledger_count)
        return;
    heading(drawing, "Ledger", "what was seen, kept and lost");
    CLEANUP(table_destroyp) struct table *table = new_table(drawing, columns, 5);
    for (uint32_t i = 0; table && i < summary->ledger_count; i++) {
        const struct ledger_entry *entry = &summary->ledger[i];
        char lost[32];
        table_row(table);
        cell_count(table, entry->seen);
        cell_count(table, entry->recorded);
        table_cell_styled(table, entry->lost ? STYLE_WARN : STYLE_PLAIN, format_count(lost, sizeof lost, entry->lost));
        table_cell(table, trace_text(summary->trace, entry->source));
        table_cell_styled(table, STYLE_DIM, trace_text(summary->trace, entry->reason));
    }
    if (table)
        table_draw(table, drawing->look, INDENT, drawing->out);
}

void summary_draw(const struct summary *summary, uint64_t top, const struct text_look *look, struct text *out)
{
    struct drawing drawing = {.summary = summary, .look = look, .out = out, .top = top};
    draw_title(&drawing);
    if (trace_incomplete(summary->trace)) {
        text_add_string(out, "  ");
        text_add_styled(out, look, STYLE_WARN, trace_incomplete(summary->trace));
        text_add_char(out, '\n');
    }
    draw_sampling(&drawing);
    draw_times(&drawing);
    if (summary->samples) {
        draw_sampled_functions(&drawing);
        draw_modules(&drawing);
    }
    draw_spans(&drawing);
    if (summary->thread_count)
        draw_threads(&drawing);
    draw_processes(&drawing);
    draw_ledger(&drawing);
    if (!summary->samples && !summary->function_count)
        text_add_string(out, summary->filtered
                                 ? "\nNothing in the trace matches the filter.\n"
                                 : "\nThe trace has no samples and no spans: the program may have been too short.\n");
}
