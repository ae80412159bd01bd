/* SPDX-License-Identifier: MIT */
/* The critical path hop by hop, as text: what repeats stands once, and only the longest are shown. */
#include "path_draw.h"

#include "lane_label.h"
#include "units.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_fold_time(const void *left, const void *right)
{
    const struct path_fold *a = left, *b = right;
    if (a->time_ns != b->time_ns)
        return a->time_ns > b->time_ns ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* The longest `count` of the folds, sorted: each new one is put in its place, as hardly any of millions is among few longest. */
static void keep_longest(struct path_fold *longest, size_t count, const struct path_hops *hops)
{
    size_t kept = 0;
    for (size_t f = 0; f < hops->fold_count; f++) {
        const struct path_fold *fold = &hops->folds[f];
        if (kept == count && by_fold_time(fold, &longest[kept - 1]) > 0)
            continue;
        size_t at = kept < count ? kept++ : kept - 1;
        for (; at > 0 && by_fold_time(fold, &longest[at - 1]) < 0; at--)
            longest[at] = longest[at - 1];
        longest[at] = *fold;
    }
}

/* Least time of a fold that is shown: the longest ones are, in order of time, until the table is full. */
static struct path_fold last_shown(const struct path_hops *hops, size_t shown)
{
    enum { FEW = 256 };
    struct path_fold *sorted = malloc((hops->fold_count + 1) * sizeof *sorted);
    struct path_fold last = {.time_ns = 0, .first = UINT32_MAX};
    if (sorted && shown > 0 && shown < hops->fold_count) {
        if (shown <= FEW)
            keep_longest(sorted, shown, hops);
        else {
            memcpy(sorted, hops->folds, hops->fold_count * sizeof *sorted);
            qsort(sorted, hops->fold_count, sizeof *sorted, by_fold_time);
        }
        last = sorted[shown - 1];
    }
    free(sorted);
    return last;
}

static void draw_hop(struct path_drawing *drawing, struct table *table, const struct path_fold *fold, uint32_t at)
{
    const struct path_report *report = drawing->report;
    const struct trace *trace = report->graph->trace;
    struct path_hop hop = path_fold_hop(report->hops, fold, at);
    struct path_part part = path_hop_part(&hop);
    struct text name = TEXT_INIT, lane = TEXT_INIT;
    char begin[32], repeats[32] = "";
    const char *bracket = drawing->look->utf8 ? (fold->period == 1        ? ""
                                                 : at == 0                ? "┌"
                                                 : at + 1 == fold->period ? "└"
                                                                          : "│")
                                              : (fold->period == 1 ? "" : "|");
    path_part_name(trace, report->activities, &part, &name);
    text_add_lane_label(&lane, trace, hop.track);
    if (fold->repeats > 1 && at == 0)
        snprintf(repeats, sizeof repeats, "%s%" PRIu32, drawing->look->utf8 ? "×" : "x", fold->repeats);
    table_row(table);
    table_cell(table, format_duration(begin, sizeof begin, hop.begin_ns));
    path_drawing_time(table, drawing, hop.duration_ns);
    path_drawing_percent(table, hop.duration_ns, report->path->length_ns);
    if (hop.descheduled_ns)
        path_drawing_time(table, drawing, hop.descheduled_ns);
    else
        table_cell(table, "");
    table_cell(table, repeats);
    table_cell(table, fold->repeats > 1 ? bracket : "");
    path_drawing_proof(table, part.state != PATH_UNEXPLAINED && part.state != PATH_START, part.confidence);
    table_cell(table, path_part_kind(report->activities, &part));
    table_cell(table, name.data ? name.data : "");
    table_cell(table, lane.data ? lane.data : "");
    text_finish(&name);
    text_finish(&lane);
}

/* Under a microsecond each, or so little of the path that it shows as nothing: such hops tell nobody anything, one by one. */
#define TINY_NS 1000
#define TINY_PARTS 100000

static bool is_tiny(const struct path_drawing *drawing, const struct path_fold *fold, uint32_t at)
{
    struct path_hop hop = path_fold_hop(drawing->report->hops, fold, at);
    int64_t each_ns = hop.duration_ns / fold->repeats;
    return each_ns < TINY_NS || each_ns < drawing->report->path->length_ns / TINY_PARTS;
}

/* Tiny hops in a row, as one. */
static void draw_tiny(struct path_drawing *drawing, struct table *table, const struct path_fold *fold, uint32_t at, uint32_t count)
{
    struct path_hop sum = path_fold_hop(drawing->report->hops, fold, at);
    char begin[32];
    int64_t first_ns = sum.begin_ns;
    for (uint32_t i = 1; i < count; i++)
        sum.duration_ns += path_fold_hop(drawing->report->hops, fold, at + i).duration_ns;
    const char *bracket = drawing->look->utf8 ? (at + count == fold->period ? "└" : "│") : "|";
    table_row(table);
    table_cell(table, format_duration(begin, sizeof begin, first_ns));
    path_drawing_time(table, drawing, sum.duration_ns);
    path_drawing_percent(table, sum.duration_ns, drawing->report->path->length_ns);
    table_cell(table, "");
    table_cell(table, "");
    table_cell(table, bracket);
    table_cell(table, "");
    table_cell(table, "");
    table_cellf(table, "(%" PRIu32 " short hops)", count);
    table_cell(table, "");
}

/* The first one of a sequence stands by itself: it has the count of repeats. */
static void draw_fold(struct path_drawing *drawing, struct table *table, const struct path_fold *fold)
{
    uint32_t count;
    for (uint32_t at = 0; at < fold->period; at += count) {
        count = 0;
        while (at > 0 && at + count < fold->period && is_tiny(drawing, fold, at + count))
            count++;
        if (count > 1) {
            draw_tiny(drawing, table, fold, at, count);
        } else {
            count = 1;
            draw_hop(drawing, table, fold, at);
        }
    }
}

void path_drawing_hops(struct path_drawing *drawing)
{
    const struct table_column columns[] = {
        {"at", ALIGN_RIGHT, SHRINK_NEVER, 0},    {"time", ALIGN_RIGHT, SHRINK_NEVER, 0},
        {"%", ALIGN_RIGHT, SHRINK_DROP, 0},      {"off cpu", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"", ALIGN_RIGHT, SHRINK_NEVER, 0},      {"", ALIGN_LEFT, SHRINK_NEVER, 0},
        {"proof", ALIGN_LEFT, SHRINK_DROP, 0},   {"kind", ALIGN_LEFT, SHRINK_DROP, 0},
        {"what", ALIGN_LEFT, SHRINK_MIDDLE, 16}, {"lane", ALIGN_LEFT, SHRINK_END, 10},
    };
    const struct path_hops *hops = drawing->report->hops;
    size_t shown = path_drawing_limit(drawing, hops->fold_count);
    struct path_fold last = last_shown(hops, shown);
    int64_t rest_ns = 0, largest_ns = 0;
    if (!hops->fold_count)
        return;
    for (size_t f = 0; f < hops->fold_count; f++)
        largest_ns = hops->folds[f].time_ns > largest_ns ? hops->folds[f].time_ns : largest_ns;
    path_drawing_heading(drawing, "Hops", largest_ns, "in order; at: since the trace's begin; what repeats stands once, with the time of all");
    struct table *table = path_drawing_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t f = 0; table && f < hops->fold_count; f++) {
        const struct path_fold *fold = &hops->folds[f];
        if (shown < hops->fold_count && by_fold_time(fold, &last) > 0) {
            rest_ns += fold->time_ns;
            continue;
        }
        draw_fold(drawing, table, fold);
    }
    if (table)
        path_drawing_end_table(drawing, table);
    path_drawing_rest(drawing, shown, hops->fold_count, rest_ns, "shorter hops and sequences");
}
