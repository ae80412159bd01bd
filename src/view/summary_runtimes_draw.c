/* SPDX-License-Identifier: MIT */
/* The table of OpenMP's regions in a summary. */
#include "summary_draw.h"
#include "units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REGIONS_SHOWN 10

static void cell_optional_count(struct table *table, struct optional_i64 value)
{
    if (value.known)
        table_cellf(table, "%" PRId64, value.value);
    else
        table_cell(table, "");
}

static void draw_openmp_rest(struct drawing *drawing, const struct summary_openmp *openmp)
{
    char tasks[32], time[32], locks[32], other[32];
    if (openmp->tasks)
        text_addf(drawing->out, "  %s stretches of tasks, %s\n", format_count(tasks, sizeof tasks, openmp->tasks),
                  format_duration(time, sizeof time, openmp->task_ns));
    if (openmp->lock_wait_ns)
        text_addf(drawing->out, "  %s waiting for locks and critical sections\n", format_duration(locks, sizeof locks, openmp->lock_wait_ns));
    if (openmp->other_wait_ns)
        text_addf(drawing->out, "  %s waiting at barriers of regions that were not recorded\n", format_duration(other, sizeof other, openmp->other_wait_ns));
}

void draw_openmp(struct drawing *drawing)
{
    static const struct table_column columns[] = {
        {"time", ALIGN_RIGHT, SHRINK_NEVER, 0},    {"count", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"longest", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"threads", ALIGN_RIGHT, SHRINK_DROP, 0},  {"waited", ALIGN_RIGHT, SHRINK_NEVER, 0}, {"%", ALIGN_RIGHT, SHRINK_DROP, 0},
        {"region", ALIGN_LEFT, SHRINK_MIDDLE, 16},
    };
    const struct summary_openmp *openmp = drawing->summary->openmp;
    if (!openmp || (!openmp->region_count && !openmp->tasks && !openmp->lock_wait_ns))
        return;
    size_t shown = draw_limit(drawing, openmp->region_count, REGIONS_SHOWN);
    int64_t largest_ns = openmp->region_count ? openmp->regions[0].total_ns : 0;
    draw_table_heading(drawing, "Parallel regions", largest_ns, "waited: at barriers, by all threads, and its % of their time in the region");
    CLEANUP(table_destroyp) struct table *table = draw_new_table(drawing, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; table && i < shown; i++) {
        const struct summary_region *region = &openmp->regions[i];
        table_row(table);
        draw_cell_time(table, drawing, region->total_ns);
        draw_cell_count(table, region->count);
        draw_cell_time(table, drawing, region->max_ns);
        cell_optional_count(table, region->threads);
        draw_cell_time(table, drawing, region->barrier_wait_ns);
        if (region->threads.known)
            draw_cell_percent(table, (double)region->barrier_wait_ns, (double)region->total_ns * (double)region->threads.value);
        else
            table_cell(table, "");
        table_cell(table, *region->name ? region->name : "[unnamed]");
    }
    if (table && shown)
        table_draw(table, drawing->look, DRAW_INDENT, drawing->out);
    draw_rest(drawing, shown, openmp->region_count, "regions", -1);
    draw_openmp_rest(drawing, openmp);
}
