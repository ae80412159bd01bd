/* SPDX-License-Identifier: MIT */
/* Lists of rows. */
#include "grid.h"

#include "base/array.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void grid_init(struct grid *grid, const struct grid_column *columns, unsigned column_count)
{
    *grid = (struct grid){.columns = columns, .column_count = column_count, .sort_column = -1};
    arena_init(&grid->arena);
}

void grid_clear(struct grid *grid)
{
    arena_finish(&grid->arena);
    arena_init(&grid->arena);
    grid->row_count = 0;
    grid->failed = false;
}

void grid_finish(struct grid *grid)
{
    arena_finish(&grid->arena);
    free(grid->rows);
    grid->rows = NULL;
    grid->row_count = 0;
}

struct grid_row *grid_add(struct grid *grid, uint64_t id, enum grid_style style)
{
    struct grid_row *rows = array_reserve(grid->rows, &grid->row_capacity, grid->row_count + 1, sizeof *rows);
    if (rows)
        grid->rows = rows;
    struct grid_cell *cells = rows ? arena_alloc(&grid->arena, grid->column_count * sizeof *cells) : NULL;
    if (!cells) {
        grid->failed = true;
        return NULL;
    }
    for (unsigned i = 0; i < grid->column_count; i++)
        cells[i] = (struct grid_cell){.text = ""};
    struct grid_row *row = &rows[grid->row_count++];
    *row = (struct grid_row){.id = id, .style = (uint8_t)style, .cells = cells};
    return row;
}

void grid_set(struct grid *grid, unsigned column, double value, const char *text)
{
    if (!grid->row_count || column >= grid->column_count)
        return;
    const char *copy = *text ? arena_strndup(&grid->arena, text, strlen(text)) : "";
    grid->failed |= !copy;
    grid->rows[grid->row_count - 1].cells[column] = (struct grid_cell){copy ? copy : "", value};
}

void grid_setf(struct grid *grid, unsigned column, double value, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    grid_set(grid, column, value, text);
}

void grid_note(struct grid *grid, const char *note)
{
    const char *copy = grid->row_count ? arena_strndup(&grid->arena, note, strlen(note)) : NULL;
    grid->failed |= !copy;
    if (copy)
        grid->rows[grid->row_count - 1].note = copy;
}

void grid_heading(struct grid *grid, const char *title, const char *explanation)
{
    if (grid->row_count && grid_add(grid, 0, GRID_FREE))
        grid_set(grid, 0, 0, "");
    if (grid_add(grid, 0, GRID_HEADING))
        grid_setf(grid, 0, 0, "%s%s%s", title, *explanation ? "  " : "", explanation);
}

/* qsort knows no context: what is compared goes along with each row. */
struct sort_entry {
    struct grid_row row;
    size_t place;
    int column;
    bool up;
};

static int compare(const void *left, const void *right)
{
    const struct sort_entry *a = left, *b = right;
    const struct grid_cell *first = &a->row.cells[a->column], *second = &b->row.cells[b->column];
    int order = (first->value > second->value) - (first->value < second->value);
    if (!order && first->value == 0)
        order = strcmp(first->text, second->text);
    if (order)
        return a->up ? order : -order;
    return (a->place > b->place) - (a->place < b->place);
}

static void sort_section(struct grid *grid, size_t first, size_t end, struct sort_entry *entries)
{
    for (size_t i = first; i < end; i++)
        entries[i - first] = (struct sort_entry){grid->rows[i], i, grid->sort_column, grid->sort_up};
    qsort(entries, end - first, sizeof *entries, compare);
    for (size_t i = first; i < end; i++)
        grid->rows[i] = entries[i - first].row;
}

static bool is_fixed(const struct grid_row *row)
{
    return row->style == GRID_HEADING || row->style == GRID_FREE;
}

void grid_sort(struct grid *grid, int column, bool up)
{
    struct sort_entry *entries = malloc((grid->row_count + 1) * sizeof *entries);
    grid->sort_column = column;
    grid->sort_up = up;
    for (size_t first = 0; entries && column >= 0 && first < grid->row_count;) {
        size_t end = first;
        while (end < grid->row_count && !is_fixed(&grid->rows[end]))
            end++;
        sort_section(grid, first, end, entries);
        first = end + (end == first);
    }
    free(entries);
}

size_t grid_search(struct grid *grid, const regex_t *pattern)
{
    size_t found = 0;
    for (size_t i = 0; i < grid->row_count; i++) {
        struct grid_row *row = &grid->rows[i];
        row->matches = false;
        for (unsigned column = 0; pattern && row->style != GRID_HEADING && column < grid->column_count && !row->matches; column++)
            row->matches = *row->cells[column].text && regexec(pattern, row->cells[column].text, 0, NULL, 0) == 0;
        found += row->matches;
    }
    return found;
}

void grid_add_line(const struct grid *grid, size_t row, char separator, struct text *out)
{
    for (unsigned column = 0; row < grid->row_count && column < grid->column_count; column++) {
        const char *cell = grid->rows[row].cells[column].text;
        if (column)
            text_add_char(out, separator);
        text_add_line(out, cell, strlen(cell));
    }
    text_add_char(out, '\n');
}

/* --- CSV ------------------------------------------------------------------------------------------------------------- */

static bool in_csv(const struct grid_column *column)
{
    return !column->bar && !(column->csv && !*column->csv);
}

static void add_csv_text(const char *text, struct text *out)
{
    text_add_csv(out, text, strlen(text));
}

static void add_csv_cell(const struct grid_column *column, const struct grid_cell *cell, struct text *out)
{
    text_add_char(out, ',');
    if (column->csv && column->right && *cell->text && (cell->value != 0 || *cell->text == '0'))
        text_addf(out, "%.0f", cell->value);
    else
        add_csv_text(cell->text, out);
}

static bool is_tree(const struct grid *grid)
{
    for (size_t row = 0; row < grid->row_count; row++)
        if (grid->rows[row].fold)
            return true;
    return false;
}

void grid_add_csv(const struct grid *grid, struct text *out)
{
    const char *section = "";
    bool tree = is_tree(grid);
    text_add_string(out, tree ? "section,depth" : "section");
    for (unsigned i = 0; i < grid->column_count; i++) {
        if (!in_csv(&grid->columns[i]))
            continue;
        text_add_char(out, ',');
        add_csv_text(grid->columns[i].csv ? grid->columns[i].csv : grid->columns[i].title, out);
    }
    text_add_char(out, '\n');
    for (const struct grid_row *row = grid->rows; row < grid->rows + grid->row_count; row++) {
        if (row->style == GRID_HEADING)
            section = row->cells[0].text;
        if (is_fixed(row))
            continue;
        const char *gap = strstr(section, "  "); /* what explains the heading is no name */
        text_add_csv(out, section, gap ? (size_t)(gap - section) : strlen(section));
        if (tree)
            text_addf(out, ",%u", row->depth);
        for (unsigned i = 0; i < grid->column_count; i++)
            if (in_csv(&grid->columns[i]))
                add_csv_cell(&grid->columns[i], &row->cells[i], out);
        text_add_char(out, '\n');
    }
}
