/* SPDX-License-Identifier: MIT */
/* `efficiency` for people: trees of factors, waits by pattern, what delayed others most. */
#include "print_efficiency.h"

#include "view/display_name.h"
#include "view/late_code.h"
#include "view/units.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define INDENT 2

static void heading(struct text *out, const struct text_look *look, const char *title)
{
    text_add_char(out, '\n');
    text_add_styled(out, look, STYLE_BOLD, title);
    text_add_char(out, '\n');
}

/* POP calls 0.8 and more acceptable. */
static enum text_style style_of(double value)
{
    return value >= 0.8 ? STYLE_GOOD : value >= 0.6 ? STYLE_WARN : STYLE_BAD;
}

static void factor_row(struct table *table, const struct efficiency_factor_text *factor, const struct efficiency_value *value)
{
    char text[16];
    table_row(table);
    table_cellf(table, "%*s%s", (int)factor->depth * 2, "", factor->name);
    if (value->status == EFFICIENCY_KNOWN) {
        snprintf(text, sizeof text, "%.3f", value->value);
        table_cell_styled(table, style_of(value->value), text);
        table_cell(table, factor->formula);
    } else {
        table_cell(table, "-");
        table_cellf(table, "not separable: %s", value->reason);
    }
}

/* Of what a run has nothing of there is one line: of a whole model, else of the rows that it has not. */
static int text_model(struct text *out, const struct text_look *look, const struct efficiency *efficiency, enum efficiency_model model)
{
    static const struct table_column columns[] = {
        {"factor", ALIGN_LEFT, SHRINK_NEVER, 0}, {"value", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"formula", ALIGN_LEFT, SHRINK_END, 20}};
    CLEANUP(table_destroyp) struct table *table = NULL;
    const struct efficiency_model_text *text = efficiency_model_text(model);
    const char *reason = NULL;
    unsigned left_out = 0;
    if (table_create(columns, sizeof columns / sizeof *columns, &table) < 0)
        return -ENOMEM;
    for (unsigned i = 0, whole = 1; i < EFFICIENCY_FACTOR_COUNT; i++) {
        const struct efficiency_factor_text *factor = efficiency_factor_text((enum efficiency_factor)i);
        if (factor->model != model)
            continue;
        if (whole && efficiency->values[i].status == EFFICIENCY_NOT_APPLICABLE) {
            struct text line = TEXT_INIT;
            text_addf(&line, "%s: not applicable: %s", text->name, efficiency->values[i].reason);
            text_add_char(out, '\n');
            text_add_wrapped(out, look, 0, INDENT, line.data ? line.data : "");
            text_finish(&line);
            return 0;
        }
        whole = 0;
        if (efficiency->values[i].status == EFFICIENCY_NOT_APPLICABLE) {
            reason = efficiency->values[i].reason;
            left_out++;
            continue;
        }
        factor_row(table, factor, &efficiency->values[i]);
    }
    heading(out, look, text->name);
    text_add_string(out, "  ");
    text_add_wrapped(out, look, INDENT, INDENT, text->source);
    text_add_char(out, '\n');
    table_draw(table, look, INDENT, out);
    if (left_out)
        text_addf(out, "  %u more not applicable: %s\n", left_out, reason);
    return 0;
}

static void add_input(struct text *out, enum efficiency_input input, double value)
{
    const struct efficiency_input_text *text = efficiency_input_text(input);
    char number[32];
    if (!isfinite(value))
        return;
    if (*text->unit)
        format_duration(number, sizeof number, (int64_t)value);
    else
        snprintf(number, sizeof number, "%.0f", value);
    text_addf(out, "%s%s = %s", out->length ? ", " : "", text->symbol, number);
}

static void text_inputs(struct text *out, const struct text_look *look, const struct efficiency *efficiency)
{
    struct text line = TEXT_INIT;
    heading(out, look, "Inputs");
    for (unsigned i = 0; i < EFFICIENCY_INPUT_COUNT; i++)
        add_input(&line, (enum efficiency_input)i, efficiency->inputs.value[i]);
    text_add_string(out, "  ");
    text_add_wrapped(out, look, INDENT, INDENT, line.data ? line.data : "");
    text_finish(&line);
}

static int text_patterns(struct text *out, const struct text_look *look, const struct wait_states *waits)
{
    static const struct table_column columns[] = {{"waiting", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"times", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                                  {"pattern", ALIGN_LEFT, SHRINK_NEVER, 0}};
    CLEANUP(table_destroyp) struct table *table = NULL;
    bool done[WAIT_PATTERN_COUNT] = {false};
    if (!waits->count)
        return 0;
    if (table_create(columns, sizeof columns / sizeof *columns, &table) < 0)
        return -ENOMEM;
    for (;;) { /* most time first */
        int best = -1;
        for (int i = 0; i < WAIT_PATTERN_COUNT; i++)
            if (!done[i] && waits->sums[i].count && (best < 0 || waits->sums[i].time_ns > waits->sums[best].time_ns))
                best = i;
        if (best < 0)
            break;
        char duration[32], count[32];
        done[best] = true;
        table_row(table);
        table_cell(table, format_duration(duration, sizeof duration, waits->sums[best].time_ns));
        table_cell(table, format_count(count, sizeof count, waits->sums[best].count));
        table_cell(table, wait_pattern_name((enum wait_pattern)best));
    }
    heading(out, look, "Waiting");
    table_draw(table, look, INDENT, out);
    return 0;
}

/* In full, whatever the width: a column for it would be cut. */
static void text_remedies(struct text *out, const struct text_look *look, const struct wait_states *waits)
{
    if (!waits->count)
        return;
    heading(out, look, "What the patterns are, and what would remove them");
    for (int i = 0; i < WAIT_PATTERN_COUNT; i++) {
        struct text line = TEXT_INIT;
        if (!waits->sums[i].count)
            continue;
        text_addf(&line, "%s: %s", wait_pattern_name((enum wait_pattern)i), wait_pattern_text((enum wait_pattern)i));
        text_addf(&line, " -> %s", wait_pattern_remedy((enum wait_pattern)i));
        text_add_string(out, "  ");
        text_add_wrapped(out, look, INDENT, INDENT + 2, line.data ? line.data : "");
        text_finish(&line);
    }
}

/* The rank first: what is behind it may be cut. */
static void add_short_lane(struct text *out, const struct trace *trace, track_id lane)
{
    uint32_t track_count, process_count;
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    const struct trace_process *processes = trace_processes(trace, &process_count);
    uint32_t process = lane.index < track_count ? tracks[lane.index].process.index : process_count;
    const char *name = lane.index < track_count ? trace_text(trace, tracks[lane.index].name) : "";
    if (process < process_count && processes[process].rank >= 0 && *name && strncmp(name, "rank ", 5) != 0)
        text_addf(out, "rank %d %s", (int)processes[process].rank, name);
    else
        add_lane_name(out, trace, lane);
}

static void delay_row(struct table *table, const struct trace *trace, const struct wait_delay *delay)
{
    char duration[32];
    struct text lane = TEXT_INIT, activity = TEXT_INIT;
    const char *name = trace_text(trace, delay->name), *around = trace_text(trace, delay->around);
    add_short_lane(&lane, trace, delay->lane);
    const struct late_code code = {trace_text(trace, delay->function), delay->function_share, delay->blocked_share, delay->samples};
    if (*name)
        text_add_display_name(&activity, name);
    else
        text_add_late_code(&activity, &code, trace_row_count(trace, FAMILY_SAMPLES) && !delay->samples ? "code outside of calls (no samples there)" : "code outside of calls");
    if (*around) {
        text_add_string(&activity, " in ");
        text_add_display_name(&activity, around);
    }
    table_row(table);
    table_cell(table, format_duration(duration, sizeof duration, delay->direct_ns));
    table_cell(table, format_duration(duration, sizeof duration, delay->propagated_ns));
    table_cell(table, lane.data ? lane.data : "");
    table_cell(table, activity.data ? activity.data : "");
    table_cell(table, wait_pattern_name(delay->pattern));
    text_finish(&lane);
    text_finish(&activity);
}

static int text_delays(struct text *out, const struct text_look *look, const struct efficiency_run *run, uint64_t top)
{
    static const struct table_column columns[] = {
        {"direct", ALIGN_RIGHT, SHRINK_NEVER, 0},  {"propagated", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"who was late", ALIGN_LEFT, SHRINK_END, 12},
        {"what it did", ALIGN_LEFT, SHRINK_MIDDLE, 16}, {"waits", ALIGN_LEFT, SHRINK_END, 20}};
    CLEANUP(table_destroyp) struct table *table = NULL;
    if (!run->waits->delay_count)
        return 0;
    if (table_create(columns, sizeof columns / sizeof *columns, &table) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < run->waits->delay_count && (!top || i < top); i++)
        delay_row(table, run->trace, &run->waits->delays[i]);
    heading(out, look, "What others waited for");
    table_draw(table, look, INDENT, out);
    return 0;
}

/* What the factors would else call use. */
static void text_preempted(struct text *out, const struct text_look *look, const struct efficiency *efficiency)
{
    double average_ns = efficiency->inputs.value[EFFICIENCY_INPUT_V], threads = (double)efficiency->thread_count;
    double whole_ns = (double)(efficiency->end_ns - efficiency->begin_ns) * threads;
    char duration[32], line[200];
    if (isfinite(average_ns))
        snprintf(line, sizeof line, "%s of the threads' time, %.1f %%, they had work but no processor: not useful, counted apart (V)",
                 format_duration(duration, sizeof duration, (int64_t)(average_ns * threads)), whole_ns > 0 ? 100 * average_ns * threads / whole_ns : 0);
    else
        snprintf(line, sizeof line, "no records of the scheduler: a thread that had work but no processor counts as useful");
    text_add_string(out, "  ");
    text_add_wrapped(out, look, INDENT, INDENT, line);
}

static void text_head(struct text *out, const struct text_look *look, const struct efficiency_run *run)
{
    const struct efficiency *efficiency = run->efficiency;
    char duration[32];
    text_add_styled(out, look, STYLE_BOLD, run->path);
    text_addf(out, "\n  %zu process%s, %zu thread%s that compute%s, R = %s", efficiency->process_count,
              efficiency->process_count == 1 ? "" : "es", efficiency->thread_count, efficiency->thread_count == 1 ? "" : "s",
              efficiency->thread_count == 1 ? "s" : "", format_duration(duration, sizeof duration, efficiency->end_ns - efficiency->begin_ns));
    if (efficiency->other_threads)
        text_addf(out, "; %" PRIu64 " other thread%s not counted", efficiency->other_threads, efficiency->other_threads == 1 ? "" : "s");
    text_add_char(out, '\n');
    text_preempted(out, look, efficiency);
}

static int text_run(struct text *out, const struct text_look *look, const struct efficiency_run *run, uint64_t top)
{
    int result = 0;
    text_head(out, look, run);
    for (unsigned i = 0; i < EFFICIENCY_MODEL_COUNT && result == 0; i++)
        result = text_model(out, look, run->efficiency, (enum efficiency_model)i);
    text_inputs(out, look, run->efficiency);
    if (result == 0)
        result = text_patterns(out, look, run->waits);
    if (result == 0)
        result = text_delays(out, look, run, top);
    text_remedies(out, look, run->waits);
    return result;
}

static void number_cell(struct table *table, double value)
{
    if (isfinite(value))
        table_cellf(table, "%.3f", value);
    else
        table_cell(table, "-");
}

static int text_scaling(struct text *out, const struct text_look *look, const struct efficiency_report *report)
{
    static const struct table_column columns[] = {{"trace", ALIGN_LEFT, SHRINK_MIDDLE, 12}, {"threads", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                                  {"speed-up", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"global", ALIGN_RIGHT, SHRINK_NEVER, 0},
                                                  {"parallel", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"computation", ALIGN_RIGHT, SHRINK_NEVER, 0}};
    CLEANUP(table_destroyp) struct table *table = NULL;
    if (table_create(columns, sizeof columns / sizeof *columns, &table) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < report->run_count; i++) {
        const struct efficiency_run *run = &report->runs[i];
        table_row(table);
        table_cell(table, run->path);
        table_cellf(table, "%zu", run->efficiency->thread_count);
        number_cell(table, run->scaling.speedup);
        number_cell(table, run->scaling.global);
        number_cell(table, run->scaling.parallel);
        number_cell(table, run->scaling.computation);
    }
    heading(out, look, report->weak ? "Scaling, weak: the problem grows with the threads" : "Scaling, strong: the same problem");
    table_draw(table, look, INDENT, out);
    text_addf(out, "  computation scalability = %s; global = parallel * computation\n",
              report->weak ? "sum(u_ref) / sum(u) * T / T_ref" : "sum(u_ref) / sum(u)");
    text_add_string(out, "  its parts (instructions, IPC, frequency): not separable: no counts of instructions and cycles in the traces\n");
    return 0;
}

int text_efficiency(struct text *out, const struct text_look *look, const struct efficiency_report *report)
{
    int result = 0;
    for (size_t i = 0; i < report->run_count && result == 0; i++) {
        if (i)
            text_add_char(out, '\n');
        result = text_run(out, look, &report->runs[i], report->top);
    }
    return result == 0 && report->run_count > 1 ? text_scaling(out, look, report) : result;
}
