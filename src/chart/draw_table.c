/* SPDX-License-Identifier: MIT */
/* Tables: a rule below the titles, numbers flush right, shares as bars. */
#include "draw_table.h"

#include "view/units.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define ROW 18.0
#define GAP 18.0
#define TEXT_SIZE 11.5
#define BAR_WIDTH 90.0
#define CELL_MAX 460.0 /* longer texts are cut */
#define NAME_MAX 640.0
#define INDENT 14.0
#define FREE_CELL (0.64 * TEXT_SIZE) /* what a character takes of a line that blanks make columns of: as wide as a digit */

struct table_drawing {
    struct drawing *drawing;
    const struct grid *grid;
    size_t first, end;
    double widths[GRID_COLUMNS_MAX]; /* 0: the column is empty */
};

static bool is_text(const struct grid_row *row)
{
    return row->style == GRID_HEADING || row->style == GRID_FREE;
}

static bool has_titles(const struct grid *grid)
{
    for (unsigned i = 0; i < grid->column_count; i++)
        if (*grid->columns[i].title)
            return true;
    return false;
}

static double name_indent(const struct grid_row *row)
{
    return row->depth * INDENT + (row->fold ? INDENT : 0) + (row->colour ? INDENT : 0);
}

static void measure(struct table_drawing *table)
{
    const struct grid *grid = table->grid;
    for (unsigned column = 0; column < grid->column_count; column++) {
        bool last = column + 1 == grid->column_count, any = false;
        double width = drawing_text_width(grid->columns[column].title, TEXT_SIZE, true), limit = last ? NAME_MAX : CELL_MAX;
        for (size_t i = table->first; i < table->end; i++) {
            const struct grid_row *row = &grid->rows[i];
            if (is_text(row))
                continue;
            any |= *row->cells[column].text || (grid->columns[column].bar && row->cells[column].value > 0);
            width = fmax(width, drawing_text_width(row->cells[column].text, TEXT_SIZE, row->matches) + (last ? name_indent(row) : 0));
        }
        if (grid->columns[column].bar)
            width = BAR_WIDTH;
        table->widths[column] = any ? fmin(width + 1, limit) : 0;
    }
}

static double full_width(const struct table_drawing *table)
{
    double width = -GAP;
    for (unsigned i = 0; i < table->grid->column_count; i++)
        width += table->widths[i] > 0 ? table->widths[i] + GAP : 0;
    return fmax(width, 440) + 2 * PICTURE_MARGIN;
}

static enum colour style_colour(uint8_t style)
{
    return style == GRID_DIM ? COLOUR_DIM : style == GRID_GOOD ? COLOUR_GOOD : style == GRID_WARN ? COLOUR_WARN : style == GRID_BAD ? COLOUR_BAD : COLOUR_DEFAULT;
}

/* Where a run of two or more blanks ends in a text; NULL: there is none. */
static const char *next_piece(const char *text, size_t *ret_length)
{
    const char *gap = strstr(text, "  ");
    *ret_length = gap ? (size_t)(gap - text) : strlen(text);
    return gap ? gap + strspn(gap, " ") : NULL;
}

/* "length   8.502 s  what it is": lines that blanks make columns of on a screen are columns here, too. False: it is no such line. */
static bool draw_columns(struct table_drawing *table, const char *text, double y, double room)
{
    size_t name_length, value_length;
    const char *value = *text == ' ' ? NULL : next_piece(text, &name_length), *rest = value && *value ? next_piece(value, &value_length) : NULL;
    if (!rest || !*rest)
        return false;
    struct lettering lettering = {.size = TEXT_SIZE, .colour = COLOUR_DIM}, right = lettering;
    double end = PICTURE_MARGIN + (double)((size_t)(value - text) + value_length) * FREE_CELL, begin = end + FREE_CELL * (double)(rest - value - (ptrdiff_t)value_length);
    right.anchor = ANCHOR_RIGHT;
    drawing_textf(table->drawing, PICTURE_MARGIN, y, room, lettering, "%.*s", (int)name_length, text);
    drawing_textf(table->drawing, end, y, room, right, "%.*s", (int)value_length, value);
    drawing_text(table->drawing, begin, y, PICTURE_MARGIN + room - begin, lettering, rest);
    return true;
}

static void draw_heading(struct table_drawing *table, const struct grid_row *row, double y, double width)
{
    const char *text = row->cells[0].text, *gap = strstr(text, "  ");
    double room = width - 2 * PICTURE_MARGIN;
    if (row->style == GRID_FREE && draw_columns(table, text, y, room))
        return;
    if (row->style == GRID_FREE) {
        drawing_text(table->drawing, PICTURE_MARGIN, y, room, (struct lettering){.size = TEXT_SIZE, .colour = COLOUR_DIM}, text);
        return;
    }
    struct lettering bold = {.size = TEXT_SIZE, .colour = COLOUR_ACCENT, .bold = true};
    double used = gap ? drawing_textf(table->drawing, PICTURE_MARGIN, y, room, bold, "%.*s", (int)(gap - text), text)
                      : drawing_name(table->drawing, PICTURE_MARGIN, y, room, bold, text);
    if (gap && room - used > 40)
        drawing_text(table->drawing, PICTURE_MARGIN + used + 10, y, room - used - 10, (struct lettering){.size = TEXT_SIZE - 1, .colour = COLOUR_DIM}, gap + 2);
}

static void draw_fold(struct drawing *drawing, double x, double y, bool open)
{
    struct drawing_point down[] = {{x, y - 7}, {x + 8, y - 7}, {x + 4, y - 1.5}}, right[] = {{x + 1, y - 8}, {x + 6.5, y - 4}, {x + 1, y}};
    drawing_area(drawing, open ? down : right, 3, COLOUR_DIM);
}

static void draw_name(struct table_drawing *table, const struct grid_row *row, double x, double y, double room, struct lettering lettering)
{
    double indent = fmin(row->depth * INDENT, room / 2);
    if (row->fold) {
        draw_fold(table->drawing, x + indent, y, row->fold == 'o');
        indent += INDENT;
    }
    if (row->colour) {
        drawing_rect(table->drawing, x + indent, y - 9, 9, 9, (enum colour)row->colour);
        indent += INDENT;
    }
    drawing_name(table->drawing, x + indent, y, room - indent, lettering, row->cells[table->grid->column_count - 1].text);
}

static void draw_row(struct table_drawing *table, const struct grid_row *row, double y)
{
    const struct grid *grid = table->grid;
    double x = PICTURE_MARGIN;
    for (unsigned i = 0; i < grid->column_count; i++) {
        double width = table->widths[i];
        struct lettering lettering = {.size = TEXT_SIZE, .colour = style_colour(row->style), .bold = row->matches && !grid->columns[i].right};
        if (!(width > 0))
            continue;
        if (grid->columns[i].bar) {
            double share = row->cells[i].value;
            drawing_rect(table->drawing, x, y - 9, width, 9, COLOUR_BAND);
            drawing_rect(table->drawing, x, y - 9, width * (share > 1 ? 1 : share), 9, COLOUR_ACCENT);
        } else if (grid->columns[i].right) {
            lettering.anchor = ANCHOR_RIGHT;
            drawing_text(table->drawing, x + width, y, width, lettering, row->cells[i].text);
        } else if (i + 1 == grid->column_count) {
            draw_name(table, row, x, y, width, lettering);
        } else {
            drawing_name(table->drawing, x, y, width, lettering, row->cells[i].text);
        }
        x += width + GAP;
    }
}

static double draw_titles(struct table_drawing *table, double y, double width)
{
    const struct grid *grid = table->grid;
    double x = PICTURE_MARGIN;
    for (unsigned i = 0; i < grid->column_count; i++) {
        bool right = grid->columns[i].right;
        struct lettering lettering = {.size = TEXT_SIZE, .bold = true, .colour = grid->sort_column == (int)i ? COLOUR_ACCENT : COLOUR_DIM, .anchor = right ? ANCHOR_RIGHT : ANCHOR_LEFT};
        if (!(table->widths[i] > 0))
            continue;
        drawing_text(table->drawing, right ? x + table->widths[i] : x, y, 0, lettering, grid->columns[i].title);
        x += table->widths[i] + GAP;
    }
    drawing_line(table->drawing, PICTURE_MARGIN, y + 6, width - PICTURE_MARGIN, y + 6, COLOUR_FAINT, 1);
    return y + ROW + 6;
}

void draw_table(struct drawing *drawing, const struct grid *grid, size_t first, const struct caption *caption)
{
    struct table_drawing table = {.drawing = drawing, .grid = grid, .first = first < grid->row_count ? first : 0, .end = grid->row_count};
    if (table.end - table.first > TABLE_ROWS_MAX)
        table.end = table.first + TABLE_ROWS_MAX;
    measure(&table);
    double width = full_width(&table), y = draw_caption(drawing, caption, width) + 8;
    if (has_titles(grid))
        y = draw_titles(&table, y, width);
    for (size_t i = table.first; i < table.end; i++) {
        const struct grid_row *row = &grid->rows[i];
        if (is_text(row))
            draw_heading(&table, row, y, width);
        else
            draw_row(&table, row, y);
        y += ROW;
    }
    if (!grid->row_count) {
        drawing_text(drawing, PICTURE_MARGIN, y, 0, (struct lettering){.size = TEXT_SIZE, .colour = COLOUR_DIM}, "no rows");
        y += ROW;
    }
    if (table.end < grid->row_count) {
        char count[32];
        drawing_textf(drawing, PICTURE_MARGIN, y, 0, (struct lettering){.size = TEXT_SIZE - 1, .colour = COLOUR_DIM}, "and %s more",
                      format_count(count, sizeof count, grid->row_count - table.end));
        y += ROW;
    }
    drawing->width = width;
    drawing->height = y - ROW + 6 + PICTURE_MARGIN;
}
