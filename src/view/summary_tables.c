/* SPDX-License-Identifier: MIT */
/* The tables of a summary: functions, callers, spans, modules, threads, processes, ledger. */
#include "display_name.h"
#include "summary_draw.h"
#include "trace/own_code.h"
#include "units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define CALLERS_SHOWN 8
#define MODULES_SHOWN 8
#define THREADS_SHOWN 12
#define CALLEES_SHOWN 5
#define CALLERS_OF_ONE 3
#define NAME_CELLS 120 /* of a line, in a pipe too */
#define BAR_CELLS 10

static void cell_duration(struct table *table, int64_t value_ns)
{
    char text[32];
    table_cell(table, format_duration(text, sizeof text, value_ns));
}

void draw_cell_percent(struct table *table, double part, double whole)
{
    char text[32];
    table_cell(table, format_percent(text, sizeof text, part, whole));
}

static void cell_bar(struct table *table, const struct drawing *drawing, double part, double whole)
{
    char text[3 * BAR_CELLS + 1];
    table_cell_styled(table, STYLE_ACCENT, format_bar(text, sizeof text, part, whole, BAR_CELLS, drawing->look->utf8));
}

void draw_cell_count(struct table *table, uint64_t count)
{
    char text[32];
    table_cell(table, format_count(text, sizeof text, count));
}

struct table *draw_new_table(struct drawing *drawing, const struct table_column *columns, size_t count)
{
    struct table *table = NULL;
    if (table_create(columns, count, &table) < 0)
        drawing->out->failed = true;
    return table;
}

void draw_rest(struct drawing *drawing, size_t shown, size_t count, const char *what, double percent)
{
    if (shown >= count)
        return;
    size_t noun = strcspn(what, " ");
    size_t one = noun - (noun > 4 && strncmp(what + noun - 4, "sses", 4) == 0 ? 2 : 1); /* processes, threads */
    text_addf(drawing->out, "  %zu more %.*s%s", count - shown, (int)(count - shown == 1 ? one : noun), what, what + noun);
    if (percent >= 0)
        text_addf(drawing->out, ", %.1f %% together", percent);
    text_add_char(drawing->out, '\n');
}

void draw_table_heading(struct drawing *drawing, const char *title, int64_t largest_ns, const char *explanation)
{
    char text[128];
    drawing->unit = time_unit_for(largest_ns);
    snprintf(text, sizeof text, "in %s%s%s", drawing->unit->name, *explanation ? ", " : "", explanation);
    draw_heading(drawing, title, text);
}

void draw_cell_time(struct table *table, const struct drawing *drawing, int64_t value_ns)
{
    char text[32];
    table_cell(table, format_in_unit(text, sizeof text, value_ns, drawing->unit));
}

static void cell_optional(struct table *table, const struct drawing *drawing, struct optional_i64 value)
{
    if (value.known)
        draw_cell_time(table, drawing, value.value);
    else
        table_cell(table, "");
}

static void cell_module(struct table *table, const char *module)
{
    const char *slash = strrchr(module, '/');
    table_cell_styled(table, STYLE_DIM, slash ? slash + 1 : module);
}

static void cell_name(struct table *table, const struct drawing *drawing, const char *name, unsigned cells)
{
    struct text whole = TEXT_INIT, cut = TEXT_INIT;
    text_add_display_name(&whole, name);
    const char *text = whole.data && !whole.failed ? whole.data : name;
    if (text_cells(text, strlen(text)) > cells) {
        text_add_cut(&cut, drawing->look, text, cells, SHRINK_MIDDLE);
        drawing->out->failed |= cut.failed;
    }
    table_cell(table, cut.data ? cut.data : text);
    text_finish(&cut);
    text_finish(&whole);
}

size_t draw_limit(const struct drawing *drawing, size_t count, size_t maximum)
{
    return drawing->top && count > maximum ? maximum : count;
}

/* --- functions -----------------------------------------------------------------------------------------------------
 */

static bool has_stacks(const struct summary *summary)
{
    return summary->samples > summary->samples_without_stack;
}

static void add_function_row(struct drawing *drawing, struct table *table, const struct summary_function *function)
{
    double whole = (double)drawing->summary->sampled_ns;
    table_row(table);
    draw_cell_time(table, drawing, function->self_ns);
    draw_cell_percent(table, (double)function->self_ns, whole);
    cell_bar(table, drawing, (double)function->self_ns, whole);
    if (has_stacks(drawing->summary)) {
        draw_cell_time(table, drawing, function->total_ns);
        draw_cell_percent(table, (double)function->total_ns, whole);
    } else {
        table_cell(table, "");
        table_cell(table, "");
    }
    cell_module(table, function->module);
    cell_name(table, drawing, function->name, NAME_CELLS);
}

static void draw_functions(struct drawing *drawing)
{
    static const struct table_column with_stacks[] =
        {
            {"self", ALIGN_RIGHT, SHRINK_NEVER, 0},
            {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
            {"", ALIGN_LEFT, SHRINK_DROP_FIRST, 0},
            {"total", ALIGN_RIGHT, SHRINK_DROP, 0},
            {"%", ALIGN_RIGHT, SHRINK_DROP, 0},
            {"module", ALIGN_LEFT, SHRINK_MIDDLE, 8},
            {"function", ALIGN_LEFT, SHRINK_MIDDLE, 16},
        },
                                     without[] = {
                                         {"self", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                         {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                         {"", ALIGN_LEFT, SHRINK_DROP_FIRST, 0},
                                         {"", ALIGN_RIGHT, SHRINK_DROP, 0},
                                         {"", ALIGN_RIGHT, SHRINK_DROP, 0},
                                         {"module", ALIGN_LEFT, SHRINK_MIDDLE, 8},
                                         {"function", ALIGN_LEFT, SHRINK_MIDDLE, 16},
                                     };
    enum { TOTAL_COLUMN = 3 };
    const struct summary *summary = drawing->summary;
    bool stacks = has_stacks(summary);
    size_t count = 0;
    double rest = 0;
    while (count < summary->group_count[SUMMARY_SAMPLES] && summary->functions[count].self_ns > 0)
        count++; /* those without any are in the table of callers */
    if (!count)
        return;
    size_t shown = draw_limit(drawing, count, (size_t)drawing->top);
    drawing->unit = time_unit_for(summary->functions[0].self_ns);
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, stacks ? with_stacks : without, 7);
    for (size_t i = 0; table && i < shown; i++)
        add_function_row(drawing, table, &summary->functions[i]);
    for (size_t i = shown; i < count; i++)
        rest += summary->functions[i].percent;
    if (!table)
        return;
    bool total = stacks && table_shows(table, drawing->look, DRAW_INDENT, TOTAL_COLUMN);
    draw_table_heading(drawing, "Functions", summary->functions[0].self_ns,
                  total ? "by self time; total: with what they call" : "by self time");
    table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, count, "functions (--top 0 shows all)", rest);
}

static int by_total(const void *left, const void *right)
{
    const struct summary_function *a = *(const struct summary_function *const *)left,
                                  *b = *(const struct summary_function *const *)right;
    if (a->total_ns != b->total_ns)
        return a->total_ns < b->total_ns ? 1 : -1;
    return strcmp(a->name, b->name);
}

static void add_caller_rows(struct drawing *drawing, struct table *table, const struct summary_function *function)
{
    for (size_t i = 0; i < function->caller_count && i < CALLERS_OF_ONE; i++) {
        const struct summary_caller *caller = &function->callers[i];
        table_row(table);
        draw_cell_time(table, drawing, caller->self_ns);
        draw_cell_percent(table, (double)caller->self_ns, (double)function->self_ns);
        cell_name(table, drawing, function->name, NAME_CELLS / 2);
        cell_name(table, drawing, caller->name, NAME_CELLS / 2);
    }
}

/* Of the functions with most self time: where they are called from, and what share of that time each caller stands for. */
static void draw_callers_of_hottest(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"self", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"function", ALIGN_LEFT, SHRINK_MIDDLE, 12},
        {"called by", ALIGN_LEFT, SHRINK_MIDDLE, 12},
    };
    const struct summary *summary = drawing->summary;
    size_t count = draw_limit(drawing, summary->group_count[SUMMARY_SAMPLES], CALLEES_SHOWN);
    if (!has_stacks(summary) || !count || !summary->functions[0].self_ns)
        return;
    draw_table_heading(drawing, "Callers of the hottest functions", summary->functions[0].self_ns, "% of the function's self time");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, 4);
    for (size_t i = 0; table && i < count; i++)
        if (summary->functions[i].self_ns > summary->sampled_ns / 100)
            add_caller_rows(drawing, table, &summary->functions[i]);
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
}

/* What runs before a thread's own function answers nothing (it may be called elsewhere too: clone3 by who starts threads). An interrupt on top of a busy function makes no caller of it:
 * at least a twentieth of its total has to be spent below it. The profiler's own code is no part of what the program calls. */
static bool is_telling_caller(const struct summary_function *function)
{
    int64_t some_ns = function->total_ns / 20;
    return !path_is_own_code(function->module) && function->start_ns <= function->total_ns - some_ns && function->total_ns - function->self_ns > some_ns;
}

/* Functions that call: what the tree of calls looks like from its root. */
static void draw_callers(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"total", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"", ALIGN_LEFT, SHRINK_DROP_FIRST, 0},
        {"module", ALIGN_LEFT, SHRINK_MIDDLE, 8},
        {"function", ALIGN_LEFT, SHRINK_MIDDLE, 16},
    };
    const struct summary *summary = drawing->summary;
    size_t all = summary->group_count[SUMMARY_SAMPLES], count = 0;
    if (!has_stacks(summary))
        return; /* what a function is inlined into is known, but that is not who calls */
    CLEANUP(freep) const struct summary_function **callers = calloc(all + 1, sizeof *callers);
    if (!callers) {
        drawing->out->failed = true;
        return;
    }
    for (size_t i = 0; i < all; i++)
        if (is_telling_caller(&summary->functions[i]))
            callers[count++] = &summary->functions[i];
    if (!count)
        return;
    qsort(callers, count, sizeof *callers, by_total);
    size_t shown = draw_limit(drawing, count, CALLERS_SHOWN);
    draw_table_heading(drawing, "Callers", callers[0]->total_ns, "by total time, with what they call");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, 5);
    for (size_t i = 0; table && i < shown; i++) {
        table_row(table);
        draw_cell_time(table, drawing, callers[i]->total_ns);
        draw_cell_percent(table, (double)callers[i]->total_ns, (double)summary->sampled_ns);
        cell_bar(table, drawing, (double)callers[i]->total_ns, (double)summary->sampled_ns);
        cell_module(table, callers[i]->module);
        cell_name(table, drawing, callers[i]->name, NAME_CELLS);
    }
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, count, "callers", -1);
}

static void draw_spans(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"self", ALIGN_RIGHT, SHRINK_NEVER, 0},  {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"total", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"count", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"mean", ALIGN_RIGHT, SHRINK_DROP, 0},   {"min", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"max", ALIGN_RIGHT, SHRINK_DROP, 0},    {"category", ALIGN_LEFT, SHRINK_END, 8},
        {"name", ALIGN_LEFT, SHRINK_MIDDLE, 34},
    };
    const struct summary *summary = drawing->summary;
    size_t first = summary->group_count[SUMMARY_SAMPLES], count = summary->group_count[SUMMARY_SPANS];
    if (summary->filtered) /* who asks for kind=blocked wants to see it */
        count += summary->group_count[SUMMARY_OFF_CPU];
    size_t shown = draw_limit(drawing, count, (size_t)drawing->top);
    double rest = 0;
    if (!count)
        return;
    draw_table_heading(drawing, "Spans", summary->functions[first].self_ns,
                  "by self time: without what they contain on their lane");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, 9);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_function *function = &summary->functions[first + i];
        table_row(table);
        draw_cell_time(table, drawing, function->self_ns);
        draw_cell_percent(table, function->percent, 100);
        draw_cell_time(table, drawing, function->total_ns);
        draw_cell_count(table, function->count);
        cell_duration(table, function->count ? function->total_ns / (int64_t)function->count : 0);
        cell_duration(table, function->min_ns);
        cell_duration(table, function->max_ns);
        table_cell_styled(table, STYLE_DIM, function->category);
        cell_name(table, drawing, function->name, NAME_CELLS);
    }
    for (size_t i = first + shown; i < first + count; i++)
        rest += summary->functions[i].percent;
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, count, "names (--top 0 shows all)", rest);
}

static void draw_modules(struct drawing *drawing)
{
    static const struct table_column columns[] = {{"self", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                                  {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                                  {"", ALIGN_LEFT, SHRINK_DROP_FIRST, 0},
                                                  {"module", ALIGN_LEFT, SHRINK_MIDDLE, 24}};
    const struct summary *summary = drawing->summary;
    size_t shown = draw_limit(drawing, summary->module_count, MODULES_SHOWN);
    double rest_ns = 0, whole = (double)summary->sampled_ns;
    if (!summary->module_count)
        return;
    draw_table_heading(drawing, "Modules", summary->modules[0].self_ns, "");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, 4);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_module *module = &summary->modules[i];
        table_row(table);
        draw_cell_time(table, drawing, module->self_ns);
        draw_cell_percent(table, (double)module->self_ns, whole);
        cell_bar(table, drawing, (double)module->self_ns, whole);
        table_cell(table, *module->name ? module->name : "[unknown]");
    }
    for (size_t i = shown; i < summary->module_count; i++)
        rest_ns += (double)summary->modules[i].self_ns;
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, summary->module_count, "modules", whole > 0 ? 100 * rest_ns / whole : -1);
}

static int64_t largest_thread_time(const struct summary *summary)
{
    int64_t largest_ns = 0;
    for (size_t i = 0; i < summary->thread_count; i++) {
        const struct summary_thread *thread = &summary->threads[i];
        const int64_t times[] = {thread->cpu_ns, thread->blocked_ns.value, thread->preempted_ns.value, thread->life_ns.value};
        for (size_t time = 0; time < sizeof times / sizeof *times; time++)
            largest_ns = times[time] > largest_ns ? times[time] : largest_ns;
    }
    return largest_ns;
}

/* CPU time and its share, in two columns. */
static void cell_cpu(struct table *table, struct drawing *drawing, int64_t cpu_ns)
{
    if (!drawing->summary->cpu_known) {
        table_cell(table, "-");
        table_cell(table, "");
        return;
    }
    draw_cell_time(table, drawing, cpu_ns);
    draw_cell_percent(table, (double)cpu_ns, (double)drawing->summary->sampled_ns);
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
    size_t shown = draw_limit(drawing, summary->thread_count, THREADS_SHOWN);
    double rest_ns = 0, whole = (double)summary->sampled_ns;
    if (!summary->thread_count || (!summary->cpu_known && !largest_thread_time(summary)))
        return; /* names alone say nothing of times */
    draw_table_heading(drawing, "Threads", largest_thread_time(summary), "");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, 9);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_thread *thread = &summary->threads[i];
        char id[48];
        table_row(table);
        cell_cpu(table, drawing, thread->cpu_ns);
        cell_optional(table, drawing, thread->blocked_ns);
        cell_optional(table, drawing, thread->preempted_ns);
        cell_optional(table, drawing, thread->life_ns);
        if (summary->cpu_known)
            draw_cell_count(table, thread->samples);
        else
            table_cell(table, "");
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
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, summary->thread_count, "threads", whole > 0 ? 100 * rest_ns / whole : -1);
}

static void cell_end(struct table *table, const struct summary_process *process)
{
    char text[64];
    if (process->wait_status == -1)
        snprintf(text, sizeof text, process->replaced ? "exec" : "-");
    else if (WIFSIGNALED(process->wait_status))
        snprintf(text, sizeof text, "signal %d", WTERMSIG(process->wait_status));
    else
        snprintf(text, sizeof text, "%d", WEXITSTATUS(process->wait_status));
    table_cell(table, text);
}

static int by_cpu_time(const void *left, const void *right)
{
    const struct summary_process *a = *(const struct summary_process *const *)left,
                                 *b = *(const struct summary_process *const *)right;
    if (a->cpu_ns != b->cpu_ns)
        return a->cpu_ns < b->cpu_ns ? 1 : -1;
    return a < b ? -1 : a > b;
}

static int by_order(const void *left, const void *right)
{
    const struct summary_process *a = *(const struct summary_process *const *)left,
                                 *b = *(const struct summary_process *const *)right;
    return a < b ? -1 : a > b;
}

/* Of many processes those that used most CPU time, in the order in which they began. NULL: no memory. */
static const struct summary_process **pick_processes(const struct summary *summary, size_t shown)
{
    const struct summary_process **picked = calloc(summary->process_count + 1, sizeof *picked);
    for (size_t i = 0; picked && i < summary->process_count; i++)
        picked[i] = &summary->processes[i];
    if (picked && shown < summary->process_count) {
        qsort(picked, summary->process_count, sizeof *picked, by_cpu_time);
        qsort(picked, shown, sizeof *picked, by_order);
    }
    return picked;
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
    size_t shown = draw_limit(drawing, summary->process_count, THREADS_SHOWN);
    if (summary->process_count < 2 && !(summary->process_count && *summary->processes[0].reason))
        return;
    draw_table_heading(drawing, "Processes", summary->duration_ns, "an exec begins a new one");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, 7);
    const struct summary_process **picked = pick_processes(summary, shown);
    for (size_t i = 0; table && picked && i < shown; i++) {
        const struct summary_process *process = picked[i];
        table_row(table);
        cell_cpu(table, drawing, process->cpu_ns);
        draw_cell_time(table, drawing, process->start_ns);
        table_cellf(table, "%d", process->pid);
        cell_end(table, process);
        table_cell(table, process->command);
        table_cell_styled(table, STYLE_WARN, process->reason);
    }
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    free(picked);
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
    draw_heading(drawing, "Ledger", "what was seen, kept and lost");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, 5);
    for (uint32_t i = 0; table && i < summary->ledger_count; i++) {
        const struct ledger_entry *entry = &summary->ledger[i];
        char lost[32];
        table_row(table);
        draw_cell_count(table, entry->seen);
        draw_cell_count(table, entry->recorded);
        table_cell_styled(table, entry->lost ? STYLE_WARN : STYLE_PLAIN, format_count(lost, sizeof lost, entry->lost));
        table_cell(table, trace_text(summary->trace, entry->source));
        table_cell_styled(table, STYLE_DIM, trace_text(summary->trace, entry->reason));
    }
    if (table)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
}

void draw_tables(struct drawing *drawing)
{
    draw_functions(drawing);
    draw_callers_of_hottest(drawing);
    draw_callers(drawing);
    draw_spans(drawing);
    draw_devices(drawing);
    draw_ranges(drawing);
    draw_openmp(drawing);
    draw_mpi(drawing);
    draw_modules(drawing);
    draw_threads(drawing);
    draw_processes(drawing);
    draw_ledger(drawing);
}
