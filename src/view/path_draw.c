/* SPDX-License-Identifier: MIT */
/* The critical path as text for people. */
#include "path_draw.h"
#include "analysis/path_preempted.h"
#include "lane_label.h"
#include "run_length.h"
#include "units.h"

#include "base/cleanup.h"
#include "base/saturated.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2
#define BAR_CELLS 10

size_t path_drawing_limit(const struct path_drawing *drawing, size_t count)
{
    return drawing->top && drawing->top < count ? (size_t)drawing->top : count;
}

void path_drawing_heading(struct path_drawing *drawing, const char *title, int64_t largest_ns, const char *explanation)
{
    drawing->unit = time_unit_for(largest_ns);
    text_add_char(drawing->out, '\n');
    text_add_styled(drawing->out, drawing->look, STYLE_BOLD, title);
    text_addf(drawing->out, " (%s)  ", drawing->unit->name);
    text_add_styled(drawing->out, drawing->look, STYLE_DIM, explanation);
    text_add_char(drawing->out, '\n');
}

static void fact(struct path_drawing *drawing, const char *label, const char *value)
{
    char padded[32];
    snprintf(padded, sizeof padded, "%-11s", label);
    text_add_string(drawing->out, "  ");
    text_add_styled(drawing->out, drawing->look, STYLE_DIM, padded);
    text_add_char(drawing->out, ' ');
    text_add_wrapped(drawing->out, drawing->look, 14, 14, value);
}

void path_drawing_time(struct table *table, const struct path_drawing *drawing, int64_t time_ns)
{
    char text[32];
    table_cell(table, format_in_unit(text, sizeof text, time_ns, drawing->unit));
}

void path_drawing_percent(struct table *table, int64_t part_ns, int64_t whole_ns)
{
    char text[32];
    table_cell(table, format_percent(text, sizeof text, (double)part_ns, (double)whole_ns));
}

void path_drawing_end_table(struct path_drawing *drawing, struct table *table)
{
    table_draw(table, drawing->look, INDENT, drawing->out);
    table_destroy(table);
}

struct table *path_drawing_table(struct path_drawing *drawing, const struct table_column *columns, size_t count)
{
    struct table *table = NULL;
    if (table_create(columns, count, &table) < 0)
        drawing->out->failed = true;
    return table;
}

void path_drawing_rest(struct path_drawing *drawing, size_t shown, size_t count, int64_t time_ns, const char *what)
{
    char text[32];
    if (shown < count)
        text_addf(drawing->out, "  and %zu more %s, %s (--top 0 shows all)\n", count - shown, what,
                  format_duration(text, sizeof text, time_ns));
}

/* --- what it consists of -------------------------------------------------------------------------------------------
 */

static const char *proof(bool explained, uint8_t confidence)
{
    return explained ? confidence_name((enum confidence)confidence) : "unexplained";
}

void path_drawing_proof(struct table *table, bool explained, uint8_t confidence)
{
    enum text_style style = !explained ? STYLE_BAD : confidence == CONFIDENCE_CERTAIN ? STYLE_PLAIN : STYLE_WARN;
    table_cell_styled(table, style, proof(explained, confidence));
}

static void draw_rows(struct path_drawing *drawing, const struct path_rows *rows, enum path_dimension by, int64_t whole_ns)
{
    const struct table_column columns[] = {
        {"time", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"", ALIGN_LEFT, SHRINK_DROP_FIRST, 0}, {"count", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"proof", ALIGN_LEFT, SHRINK_DROP, 0},  {"category", ALIGN_LEFT, SHRINK_DROP, 0},
        {"kind", ALIGN_LEFT, SHRINK_DROP, 0},   {"what", ALIGN_LEFT, SHRINK_MIDDLE, 16},
        {"lane", ALIGN_LEFT, SHRINK_END, 10},
    };
    size_t shown = path_drawing_limit(drawing, rows->count);
    int64_t rest_ns = rows->total_ns;
    path_drawing_heading(drawing, "What it consists of", rows->count ? rows->rows[0].time_ns : 0, path_dimension_text(by));
    struct table *table = path_drawing_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++) {
        const struct path_row *row = &rows->rows[i];
        char bar[3 * BAR_CELLS + 1], count[32];
        table_row(table);
        path_drawing_time(table, drawing, row->time_ns);
        path_drawing_percent(table, row->time_ns, whole_ns);
        table_cell(table,
                   format_bar(bar, sizeof bar, (double)row->time_ns, (double)whole_ns, BAR_CELLS, drawing->look->utf8));
        table_cell(table, format_count(count, sizeof count, row->count));
        path_drawing_proof(table, row->explained, row->confidence);
        table_cell(table, row->category);
        table_cell(table, row->kind);
        table_cell(table, row->name);
        table_cell(table, row->lane);
        rest_ns -= row->time_ns;
    }
    if (table)
        path_drawing_end_table(drawing, table);
    path_drawing_rest(drawing, shown, rows->count, rest_ns, "rows");
}

void path_rows_draw(const struct path_rows *rows, enum path_dimension by, int64_t whole_ns, uint64_t top,
                    const struct text_look *look, struct text *out)
{
    struct path_drawing drawing = {.look = look, .out = out, .top = top};
    draw_rows(&drawing, rows, by, whole_ns);
}

/* --- the head ------------------------------------------------------------------------------------------------------
 */

static void add_share(struct text *line, const char *dot, const char *name, int64_t part_ns, int64_t whole_ns)
{
    char percent[32];
    if (part_ns > 0)
        text_addf(line, "%s%s %s %%", line->length ? dot : "", name,
                  format_percent(percent, sizeof percent, (double)part_ns, (double)whole_ns));
}

static void draw_title(struct path_drawing *drawing, const char *dot)
{
    const struct critical_path *path = drawing->report->path;
    const char *command = trace_metadata(path->graph->trace, "command");
    const char *slash = command ? strrchr(command, '/') : NULL;
    char makespan[32], length[32], low[32], high[32], percent[32];
    struct text line = TEXT_INIT;
    text_add_styled(drawing->out, drawing->look, STYLE_BOLD,
                    slash && slash[1]     ? slash + 1
                    : command && *command ? command
                                          : "trace");
    if (path->length_ns == 0) {
        text_addf(drawing->out, "%snothing in the trace takes time: there is no critical path\n", dot);
        return;
    }
    struct run_length run = run_length_of(path->graph->trace);
    text_addf(drawing->out, "%sran %s%scritical path %s, %s %% of it explained\n", dot,
              format_duration(makespan, sizeof makespan, run.partial ? run.run_ns : run.recorded_ns), dot,
              format_duration(length, sizeof length, path->length_ns),
              format_percent(percent, sizeof percent, (double)path->explained_ns, (double)path->length_ns));
    text_addf(&line, "%s: from the first to the last moment of the lanes that depend on each other", format_duration(makespan, sizeof makespan, path->makespan_ns));
    fact(drawing, "looked at", line.data ? line.data : "");
    text_clear(&line);
    if (path->length_low_ns != path->length_high_ns) {
        text_addf(&line, "%s to %s, as the clocks of the nodes are known",
                  format_duration(low, sizeof low, path->length_low_ns),
                  format_duration(high, sizeof high, path->length_high_ns));
        fact(drawing, "length", line.data ? line.data : "");
    }
    text_finish(&line);
}

static void draw_proofs(struct path_drawing *drawing, const char *dot)
{
    const struct critical_path *path = drawing->report->path;
    struct text line = TEXT_INIT;
    for (int confidence = 0; confidence < CONFIDENCE_LOW; confidence++)
        add_share(&line, dot, confidence_name((enum confidence)confidence), path->confidence_ns[confidence],
                  path->length_ns);
    add_share(&line, dot, "unexplained", path->length_ns - path->explained_ns, path->length_ns);
    fact(drawing, "proved by", line.data ? line.data : "");
    text_clear(&line);
    int64_t edges_ns = 0, preempted_ns = 0, held_up_ns = 0; /* the last two: within work, within lags */
    for (int rule = 0; rule < EDGE_RULE_COUNT; rule++)
        edges_ns += path->rule_ns[rule];
    for (uint32_t s = 0; s < path->step_count; s++)
        *(path->steps[s].edge == EDGE_NONE ? &preempted_ns : &held_up_ns) += path_step_preempted(path, s);
    add_share(&line, dot, "work", path->kind_ns[INTERVAL_WORK] - preempted_ns, path->length_ns);
    add_share(&line, dot, "off the processor", path->kind_ns[INTERVAL_DESCHEDULED] + preempted_ns + held_up_ns, path->length_ns);
    add_share(&line, dot, "between a device's commands", path->kind_ns[INTERVAL_IDLE], path->length_ns);
    add_share(&line, dot, "latencies", edges_ns + path->kind_ns[INTERVAL_WAIT] - held_up_ns, path->length_ns);
    add_share(&line, dot, "waits for nobody knows what", path->kind_ns[INTERVAL_UNEXPLAINED] + path->start_ns,
              path->length_ns);
    fact(drawing, "time in", line.data ? line.data : "");
    text_finish(&line);
}

/* Threads beside the main ones that were sampled, where nothing depends on anything: nothing tells what the main thread waits for. */
static void draw_threads_apart(struct path_drawing *drawing)
{
    const struct trace *trace = drawing->report->path->graph->trace;
    const struct sample_aggregate *rows;
    uint32_t track_count, process_count, count;
    const struct trace_track *tracks = trace_tracks(trace, &track_count);
    const struct trace_process *processes = trace_processes(trace, &process_count);
    CLEANUP(freep) int64_t *cpu_ns = calloc((size_t)track_count + 1, sizeof *cpu_ns);
    char time[32];
    struct text line = TEXT_INIT;
    int64_t sum_ns = 0;
    unsigned threads = 0;
    if (drawing->report->graph->counts.edges || !cpu_ns || trace_sample_aggregates(trace, &rows, &count, NULL) < 0)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].track.index < track_count && sample_event_is_cpu(rows[i].event) && rows[i].weight > 0)
            add_saturated(&cpu_ns[rows[i].track.index], rows[i].weight);
    for (uint32_t i = 0; i < track_count; i++) {
        uint32_t process = tracks[i].process.index;
        if (!cpu_ns[i] || process >= process_count || tracks[i].tid == processes[process].pid)
            continue;
        threads++;
        add_saturated(&sum_ns, cpu_ns[i]);
    }
    if (threads) {
        text_addf(&line, "%u other thread%s that computed %s: nothing records what threads wait for (pthreads)", threads, threads == 1 ? "" : "s",
                  format_duration(time, sizeof time, sum_ns));
        fact(drawing, "not in it", line.data ? line.data : "");
    }
    text_finish(&line);
}

static void draw_graph(struct path_drawing *drawing, const char *dot)
{
    const struct dependency_graph *graph = drawing->report->graph;
    const struct critical_path *path = drawing->report->path;
    const struct graph_counts *counts = &graph->counts;
    char points[32], edges[32], time[32], number[32];
    struct text line = TEXT_INIT;
    text_addf(&line, "%s points, %s edges", format_count(points, sizeof points, counts->points),
              format_count(edges, sizeof edges, counts->edges));
    if (counts->below_medium)
        text_addf(&line, "%s%s edges too unsure to be used", dot,
                  format_count(number, sizeof number, counts->below_medium));
    if (counts->backward)
        text_addf(&line, "%s%s edges not used: effect before cause, by up to %s", dot,
                  format_count(number, sizeof number, counts->backward),
                  format_duration(time, sizeof time, counts->largest_backward_ns));
    if (counts->cycles)
        text_addf(&line, "%s%s edges taken out of circles", dot, format_count(number, sizeof number, counts->cycles));
    fact(drawing, "graph", line.data ? line.data : "");
    text_clear(&line);
    if (counts->unexplained) {
        text_addf(&line, "%s in the whole run that nothing explains, %s of all lanes' time",
                  format_count(number, sizeof number, counts->unexplained),
                  format_duration(time, sizeof time, counts->unexplained_ns));
        fact(drawing, "waits", line.data ? line.data : "");
    }
    text_clear(&line);
    if (path->near_found &&
        path->length_low_ns != path->length_high_ns) { /* else they are ties, of no interest to people */
        text_addf(&line, "%s other ways may be as long, as far as the clocks tell",
                  format_count(number, sizeof number, path->near_found));
        fact(drawing, "beside it", line.data ? line.data : "");
    }
    text_finish(&line);
}

/* --- other lanes ---------------------------------------------------------------------------------------------------
 */

static void draw_allocation(struct path_drawing *drawing, const char *dot)
{
    const struct path_imbalance *imbalance = drawing->report->imbalance;
    char time[32];
    struct text line = TEXT_INIT;
    if (imbalance->threads < 2)
        return;
    text_addf(&line, "%s on %" PRIu32 " threads: ", format_duration(time, sizeof time, imbalance->allocation_ns),
              imbalance->threads);
    struct text shares = TEXT_INIT;
    add_share(&shares, dot, "in activities that are on the path", imbalance->critical_ns, imbalance->allocation_ns);
    add_share(&shares, dot, "in others", imbalance->non_critical_ns, imbalance->allocation_ns);
    add_share(&shares, dot, "unused", imbalance->unused_ns, imbalance->allocation_ns);
    text_add_string(&line, shares.data ? shares.data : "");
    fact(drawing, "allocation", line.data ? line.data : "");
    text_finish(&shares);
    text_finish(&line);
}

static void draw_imbalance(struct path_drawing *drawing)
{
    const struct table_column columns[] = {
        {"imbalance", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"%", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"on path", ALIGN_RIGHT, SHRINK_NEVER, 0},   {"average", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"category", ALIGN_LEFT, SHRINK_DROP, 0},    {"what", ALIGN_LEFT, SHRINK_MIDDLE, 16},
    };
    const struct path_report *report = drawing->report;
    const struct path_imbalance *imbalance = report->imbalance;
    size_t count = 0;
    while (count < imbalance->count && imbalance->rows[count].imbalance_ns > 0)
        count++;
    size_t shown = path_drawing_limit(drawing, count);
    if (imbalance->threads + imbalance->device_lanes < 2 || count == 0)
        return;
    path_drawing_heading(drawing, "Critical imbalance", imbalance->rows[0].path_ns,
            "time on the path beyond the average of all lanes");
    struct table *table = path_drawing_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++) {
        const struct imbalance_row *row = &imbalance->rows[i];
        struct path_part part = {
            .activity = row->activity, .track = TRACK_NONE, .frame = FRAME_NONE, .state = PATH_WORK};
        struct text name = TEXT_INIT;
        path_part_name(report->graph->trace, report->activities, &part, &name);
        table_row(table);
        path_drawing_time(table, drawing, row->imbalance_ns);
        path_drawing_percent(table, row->imbalance_ns, report->path->length_ns);
        path_drawing_time(table, drawing, row->path_ns);
        path_drawing_time(table, drawing, row->average_ns);
        table_cell(table, path_part_category(report->graph->trace, report->activities, &part));
        table_cell(table, name.data ? name.data : "");
        text_finish(&name);
    }
    if (table)
        path_drawing_end_table(drawing, table);
}

/* What is not on the path at all, the nearest to it first. */
static void draw_slack(struct path_drawing *drawing)
{
    const struct table_column columns[] = {
        {"slack", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"time", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"count", ALIGN_RIGHT, SHRINK_DROP, 0},  {"category", ALIGN_LEFT, SHRINK_DROP, 0},
        {"what", ALIGN_LEFT, SHRINK_MIDDLE, 16}, {"lane", ALIGN_LEFT, SHRINK_END, 10},
    };
    const struct path_report *report = drawing->report;
    const struct path_slack *slack = report->slack;
    size_t first = 0, shown;
    int64_t largest_ns = 0;
    while (first < slack->count && slack->rows[first].slack_ns == 0)
        first++;
    shown = first + path_drawing_limit(drawing, slack->count - first);
    for (size_t i = first; i < shown; i++)
        largest_ns = slack->rows[i].time_ns > largest_ns ? slack->rows[i].time_ns : largest_ns;
    if (first == shown)
        return;
    path_drawing_heading(drawing, "Beside the path", largest_ns, "what could take that much longer before the run does; work only");
    struct table *table = path_drawing_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = first; table && i < shown; i++) {
        const struct slack_row *row = &slack->rows[i];
        struct path_part part = {
            .activity = row->activity, .track = row->track, .frame = FRAME_NONE, .state = PATH_WORK};
        struct text name = TEXT_INIT, lane = TEXT_INIT;
        char count[32];
        path_part_name(report->graph->trace, report->activities, &part, &name);
        text_add_lane_label(&lane, report->graph->trace, row->track);
        table_row(table);
        path_drawing_time(table, drawing, row->slack_ns);
        path_drawing_time(table, drawing, row->time_ns);
        table_cell(table, format_count(count, sizeof count, row->count));
        table_cell(table, path_part_category(report->graph->trace, report->activities, &part));
        table_cell(table, name.data ? name.data : "");
        table_cell(table, lane.data ? lane.data : "");
        text_finish(&name);
        text_finish(&lane);
    }
    if (table)
        path_drawing_end_table(drawing, table);
}

void path_report_draw(const struct path_report *report, uint64_t top, const struct text_look *look, struct text *out)
{
    struct path_drawing drawing = {.report = report, .look = look, .out = out, .top = top};
    const char *dot = look->utf8 ? " · " : " | ";
    draw_title(&drawing, dot);
    if (report->path->length_ns == 0)
        return;
    draw_proofs(&drawing, dot);
    draw_allocation(&drawing, dot);
    draw_graph(&drawing, dot);
    draw_threads_apart(&drawing);
    if (report->rows->count)
        draw_rows(&drawing, report->rows, report->by, report->path->length_ns);
    else
        text_add_string(out, "\nNothing on the path matches the filter.\n");
    path_drawing_hops(&drawing);
    draw_imbalance(&drawing);
    draw_slack(&drawing);
}
