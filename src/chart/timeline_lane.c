/* SPDX-License-Identifier: MIT */
/* What lanes show: spans, CPU time, counters. */
#include "timeline_drawing.h"

#include "base/array.h"

#include <math.h>

#define SOLID 0.92f     /* a column that is busy for so much of its time is filled */
#define HEIGHTS 8       /* that columns in which several short spans lie can have */
#define CPU_COLUMNS 12  /* that share a bar: samples are far apart */
#define COLOUR_COUNTER ((enum colour)(COLOUR_HUES + 7 * PALETTE_SHADES + 1))

struct row_drawing {
    struct timeline_drawing *timeline;
    const struct timeline_cell *cells;
    unsigned columns;
    double y, height;
};

static double x_of(const struct row_drawing *row, unsigned column)
{
    return row->timeline->left + (double)column / FINENESS;
}

static enum colour colour_of(struct timeline_drawing *timeline, const struct timeline_cell *cell)
{
    enum colour colour = palette_for_span((enum span_kind)cell->kind, cell->category, cell->name);
    timeline->kinds[cell->kind] = true;
    timeline->kind_colour[cell->kind] = (uint8_t)colour;
    return colour;
}

static bool same_span(const struct timeline_cell *left, const struct timeline_cell *right)
{
    if (left->span.index != right->span.index || left->chosen != right->chosen)
        return false;
    return left->span.index != ID_NONE || (string_is(left->name, right->name) && left->kind == right->kind && !right->begins);
}

static unsigned height_of(const struct timeline_cell *cell)
{
    if (cell->span.index != ID_NONE && cell->busy >= SOLID)
        return HEIGHTS;
    long eighths = lroundf(cell->busy * HEIGHTS);
    return eighths < 1 ? 1 : eighths > HEIGHTS ? HEIGHTS : (unsigned)eighths;
}

/* --- spans ----------------------------------------------------------------------------------------------------------- */

static void draw_span_name(struct row_drawing *row, double x, double width, const struct timeline_cell *cell, struct lettering lettering, bool hatched)
{
    struct drawing *drawing = row->timeline->drawing;
    const char *name = trace_text(row->timeline->scene->timeline->trace, cell->name);
    double room = width - 7;
    if (!cell->name.index || width < 22)
        return;
    if (hatched) { /* letters on slanted lines can't be read */
        double wanted = drawing_text_width(name, lettering.size, lettering.bold);
        drawing_rect(drawing, x + 2, row->y + 2, (wanted < room ? wanted : room) + 4, row->height - 4, COLOUR_WAIT);
    }
    drawing_name(drawing, x + 4, row->y + row->height - 4.5, room, lettering, name);
}

static void draw_span(struct row_drawing *row, unsigned first, unsigned end)
{
    struct timeline_drawing *timeline = row->timeline;
    struct drawing *drawing = timeline->drawing;
    const struct timeline_cell *cell = &row->cells[first];
    double x = x_of(row, first), width = (double)(end - first) / FINENESS, inner = width > 1.5 ? width - 0.5 : width;
    bool hatched = span_kind_waits((enum span_kind)cell->kind) && cell->chosen;
    enum colour fill = colour_of(timeline, cell);
    struct lettering lettering = {.size = 10, .bold = cell->found, .colour = palette_text_on(drawing->theme, fill)};
    if (hatched || !cell->chosen) {
        fill = COLOUR_WAIT;
        lettering.colour = cell->chosen ? COLOUR_WAIT_TEXT : COLOUR_FAINT;
    }
    drawing_rect(drawing, x, row->y, inner, row->height, fill);
    if (width >= 2)
        drawing_tip(drawing, trace_text(timeline->scene->timeline->trace, cell->name));
    if (hatched)
        drawing_hatch(drawing, x, row->y, inner, row->height, COLOUR_FAINT);
    draw_span_name(row, x, width, cell, lettering, hatched);
    if (cell->found)
        drawing_rect(drawing, x, row->y + row->height - 2, inner, 2, COLOUR_WARN);
    if (timeline->scene->selected && cell->span.index == timeline->scene->selected->id.index && cell->span.index != ID_NONE)
        drawing_frame(drawing, x, row->y, width < 2 ? 2 : width, row->height, COLOUR_DEFAULT, 2);
}

/* Several short spans in each column: how much of it they take, as a height. */
static void draw_density(struct row_drawing *row, unsigned first, unsigned end)
{
    const struct timeline_cell *cell = &row->cells[first];
    bool waits = span_kind_waits((enum span_kind)cell->kind);
    enum colour colour = colour_of(row->timeline, cell);
    double height = row->height * height_of(cell) / HEIGHTS;
    drawing_rect(row->timeline->drawing, x_of(row, first), row->y + row->height - height, (double)(end - first) / FINENESS, height,
                 !cell->chosen ? COLOUR_FAINT : waits ? COLOUR_WAIT_TEXT : colour);
}

static void draw_spans(struct row_drawing *row)
{
    for (unsigned i = 0; i < row->columns;) {
        const struct timeline_cell *cell = &row->cells[i];
        unsigned end = i + 1;
        if (!cell->count) {
            i++;
            continue;
        }
        while (end < row->columns && row->cells[end].count && same_span(cell, &row->cells[end]))
            end++;
        bool one = cell->span.index != ID_NONE && end - i >= 2; /* its first and last column may be filled in part */
        if (!one)
            for (end = i + 1; end < row->columns && row->cells[end].count && same_span(cell, &row->cells[end]) && height_of(&row->cells[end]) == height_of(cell);)
                end++;
        if (one || cell->busy >= SOLID)
            draw_span(row, i, end);
        else
            draw_density(row, i, end);
        i = end;
    }
}

/* --- CPU time and counters ------------------------------------------------------------------------------------------- */

static void draw_cpu(struct row_drawing *row)
{
    struct drawing *drawing = row->timeline->drawing;
    for (unsigned i = 0; i < row->columns; i += CPU_COLUMNS) {
        unsigned count = row->columns - i < CPU_COLUMNS ? row->columns - i : CPU_COLUMNS;
        float busy = 0, off = 0;
        for (unsigned column = i; column < i + count; column++) {
            busy += row->cells[column].busy;
            off += row->cells[column].off;
        }
        double height = (row->height - 2) * fminf(busy / (float)count, 1), width = (double)count / FINENESS;
        if (busy > 0)
            drawing_rect(drawing, x_of(row, i), row->y + row->height - height, width, height, COLOUR_GOOD);
        else if (off / (float)count > 0.5f)
            drawing_rect(drawing, x_of(row, i), row->y + row->height / 2, width, 1, COLOUR_FAINT);
    }
}

static void draw_counter(struct row_drawing *row)
{
    struct drawing_point *points = NULL;
    size_t capacity = 0, count = 0;
    unsigned first = 0;
    double bottom = row->y + row->height;
    while (first < row->columns && !row->cells[first].count)
        first++;
    if (first < row->columns)
        points = array_reserve(NULL, &capacity, 2 * (size_t)row->columns + 4, sizeof *points);
    for (unsigned i = first; points && i < row->columns; i++) { /* a value holds until the next */
        double y = bottom - (double)row->cells[i].busy * (row->height - 2);
        if (count && points[count - 1].y == y) {
            points[count - 1].x = x_of(row, i + 1);
            continue;
        }
        points[count++] = (struct drawing_point){x_of(row, i), y};
        points[count++] = (struct drawing_point){x_of(row, i + 1), y};
    }
    if (count) {
        points[count] = (struct drawing_point){points[count - 1].x, bottom};
        points[count + 1] = (struct drawing_point){points[0].x, bottom};
        drawing_area(row->timeline->drawing, points, count + 2, COLOUR_COUNTER);
    }
    free(points);
}

void timeline_draw_lane(struct timeline_drawing *timeline, const struct placed_lane *placed, const struct lane_picture *picture)
{
    struct row_drawing row = {.timeline = timeline, .cells = picture->cells, .columns = picture->columns, .y = placed->y, .height = LANE_ROW - 1};
    if (picture->is_counter) {
        row.height = COUNTER_HEIGHT;
        draw_counter(&row);
        return;
    }
    for (unsigned i = 0; i < picture->depth; i++, row.y += LANE_ROW, row.cells += picture->columns)
        draw_spans(&row);
    if (picture->has_cpu)
        draw_cpu(&row);
}
