/* SPDX-License-Identifier: MIT */
/* Tables of text: collecting cells, fitting widths, drawing. */
#include "table.h"

#include "base/arena.h"
#include "base/array.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define COLUMN_GAP 2

struct cell {
    const char *text;
    unsigned cells;
    enum text_style style;
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    const char **titles;
    struct arena arena;
    struct cell *cells; /* row after row, column_count each */
    size_t used, capacity;
    size_t column; /* the next cell's, column_count = the row is full */
    bool failed;
};

/* What a table may hold: valid UTF-8 without control characters, whatever a symbol or a column of a query was called. */
static const char *clean_copy(struct table *table, const char *text)
{
    struct text clean = TEXT_INIT;
    text_add_line(&clean, text, strlen(text));
    const char *copy = clean.failed ? NULL : arena_strndup(&table->arena, clean.data ? clean.data : "", clean.length);
    text_finish(&clean);
    table->failed |= !copy;
    return copy ? copy : "";
}

int table_create(const struct table_column *columns, size_t column_count, struct table **ret_table)
{
    struct table *table = calloc(1, sizeof *table);
    if (!table)
        return -ENOMEM;
    table->columns = columns;
    table->column_count = column_count;
    table->column = column_count;
    arena_init(&table->arena);
    table->titles = calloc(column_count + 1, sizeof *table->titles);
    for (size_t column = 0; table->titles && column < column_count; column++)
        table->titles[column] = columns[column].title ? clean_copy(table, columns[column].title) : "";
    if (!table->titles || table->failed) {
        table_destroy(table);
        return -ENOMEM;
    }
    *ret_table = table;
    return 0;
}

void table_destroy(struct table *table)
{
    if (!table)
        return;
    arena_finish(&table->arena);
    free(table->titles);
    free(table->cells);
    free(table);
}

void table_row(struct table *table)
{
    size_t needed = table->used + table->column_count;
    struct cell *cells = array_reserve(table->cells, &table->capacity, needed, sizeof *cells);
    if (!cells) {
        table->failed = true;
        table->column = table->column_count;
        return;
    }
    table->cells = cells;
    for (size_t i = 0; i < table->column_count; i++)
        cells[table->used + i] = (struct cell){.text = ""};
    table->used = needed;
    table->column = 0;
}

void table_cell_styled(struct table *table, enum text_style style, const char *text)
{
    if (table->column >= table->column_count)
        return;
    struct cell *cell = &table->cells[table->used - table->column_count + table->column++];
    cell->text = clean_copy(table, text);
    cell->cells = text_cells(cell->text, strlen(cell->text));
    cell->style = style;
}

void table_cell(struct table *table, const char *text)
{
    table_cell_styled(table, STYLE_PLAIN, text);
}

void table_cellf(struct table *table, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_cell(table, text);
}

/* --- widths --------------------------------------------------------------------------------------------------------
 */

/* A column that may go and has no text at all is not shown: nobody knew what belongs there. */
static bool is_empty(const struct table *table, size_t column)
{
    if (table->columns[column].shrink != SHRINK_DROP || !table->used)
        return false;
    for (size_t row = 0; row < table->used; row += table->column_count)
        if (table->cells[row + column].cells)
            return false;
    return true;
}

static void natural_widths(const struct table *table, unsigned *widths)
{
    for (size_t column = 0; column < table->column_count; column++)
        widths[column] = is_empty(table, column) ? 0 : text_cells(table->titles[column], strlen(table->titles[column]));
    for (size_t row = 0; row < table->used; row += table->column_count)
        for (size_t column = 0; column < table->column_count; column++)
            if (table->cells[row + column].cells > widths[column])
                widths[column] = table->cells[row + column].cells;
}

static unsigned total_width(const struct table *table, const unsigned *widths)
{
    unsigned total = 0;
    for (size_t column = 0; column < table->column_count; column++)
        if (widths[column])
            total += widths[column] + (total ? COLUMN_GAP : 0);
    return total;
}

static bool is_cut(enum table_shrink shrink)
{
    return shrink == SHRINK_END || shrink == SHRINK_MIDDLE;
}

/* Columns that fit not even when others are cut as far as they may be go, from the right: width 0. */
static void drop_columns(const struct table *table, unsigned room, enum table_shrink which, unsigned *least, unsigned *widths)
{
    for (size_t column = table->column_count; column-- && total_width(table, least) > room;)
        if (table->columns[column].shrink == which)
            least[column] = widths[column] = 0;
}

/* Width 0 hides a column. The widest is cut first; what droppable columns leave goes to the others. `least` is a scratch
 * array. */
static void fit_widths(const struct table *table, unsigned room, unsigned *least, unsigned *widths)
{
    for (size_t column = 0; column < table->column_count; column++) {
        const struct table_column *spec = &table->columns[column];
        least[column] = is_cut(spec->shrink) && widths[column] > spec->minimum ? spec->minimum : widths[column];
    }
    drop_columns(table, room, SHRINK_DROP_FIRST, least, widths);
    drop_columns(table, room, SHRINK_DROP, least, widths);
    while (total_width(table, widths) > room) {
        size_t widest = table->column_count;
        for (size_t column = 0; column < table->column_count; column++) {
            if (!is_cut(table->columns[column].shrink) || widths[column] <= table->columns[column].minimum)
                continue;
            if (widest == table->column_count || widths[column] > widths[widest])
                widest = column;
        }
        if (widest == table->column_count)
            return; /* it does not fit: the terminal wraps */
        widths[widest]--;
    }
}

/* --- drawing -------------------------------------------------------------------------------------------------------
 */

static const char *const style_codes[STYLE_COUNT] = {
    [STYLE_PLAIN] = "",        [STYLE_BOLD] = "\033[1m",  [STYLE_DIM] = "\033[2m",  [STYLE_ACCENT] = "\033[36m",
    [STYLE_GOOD] = "\033[32m", [STYLE_WARN] = "\033[33m", [STYLE_BAD] = "\033[31m",
};

void text_add_styled(struct text *out, const struct text_look *look, enum text_style style, const char *string)
{
    bool coloured = look->colour && style != STYLE_PLAIN && *string;
    if (coloured)
        text_add_string(out, style_codes[style]);
    text_add_line(out, string, strlen(string));
    if (coloured)
        text_add_string(out, "\033[0m");
}

static void add_blanks(struct text *out, unsigned count)
{
    while (count--)
        text_add_char(out, ' ');
}

/* Bytes of the longest prefix that takes at most `cells` cells. */
static size_t head_for_cells(const char *text, size_t length, unsigned cells)
{
    size_t at = 0;
    uint32_t code;
    while (at < length) {
        size_t taken = utf8_decode(text + at, length - at, &code);
        unsigned width = text_cells(text + at, taken);
        if (width > cells)
            break;
        cells -= width;
        at += taken;
    }
    return at;
}

/* Bytes of the longest suffix that does. */
static size_t tail_for_cells(const char *text, size_t length, unsigned cells)
{
    size_t at = 0;
    uint32_t code;
    for (unsigned left = text_cells(text, length); left > cells && at < length;) {
        size_t taken = utf8_decode(text + at, length - at, &code);
        left -= text_cells(text + at, taken);
        at += taken;
    }
    return length - at;
}

void text_add_cut(struct text *out, const struct text_look *look, const char *text, unsigned width,
                  enum table_shrink shrink)
{
    size_t length = strlen(text);
    const char *ellipsis = look->utf8 ? "…" : "~";
    unsigned kept = width > 1 ? width - 1 : 0;
    unsigned tail = shrink == SHRINK_MIDDLE ? kept / 2 : 0;
    size_t head_bytes = head_for_cells(text, length, kept - tail);
    size_t tail_bytes = tail ? tail_for_cells(text, length, tail) : 0;
    unsigned used = text_cells(text, head_bytes) + text_cells(text + length - tail_bytes, tail_bytes) + 1;
    text_add(out, text, head_bytes);
    text_add_string(out, ellipsis);
    text_add(out, text + length - tail_bytes, tail_bytes);
    add_blanks(out, width > used ? width - used : 0);
}

struct line {
    const struct table *table;
    const struct text_look *look;
    const unsigned *widths;
    unsigned pending; /* blanks owed before the next text, so that no line ends with blanks */
    bool started;
};

static void draw_cell(struct line *line, size_t column, const struct cell *cell, struct text *out)
{
    const struct table_column *spec = &line->table->columns[column];
    unsigned width = line->widths[column];
    if (!width)
        return;
    line->pending += line->started ? COLUMN_GAP : 0;
    line->started = true;
    unsigned cells = cell->cells < width ? cell->cells : width;
    unsigned before = spec->align == ALIGN_RIGHT ? width - cells : 0;
    if (cell->cells) {
        add_blanks(out, line->pending + before);
        line->pending = 0;
        bool coloured = line->look->colour && cell->style != STYLE_PLAIN;
        if (coloured)
            text_add_string(out, style_codes[cell->style]);
        if (cell->cells > width)
            text_add_cut(out, line->look, cell->text, width, spec->shrink);
        else
            text_add_string(out, cell->text);
        if (coloured)
            text_add_string(out, "\033[0m");
        line->pending = spec->align == ALIGN_RIGHT ? 0 : width - cells;
    } else {
        line->pending += width;
    }
}

static void draw_header(const struct table *table, const struct text_look *look, const unsigned *widths,
                        unsigned indent, struct text *out)
{
    struct line line = {.table = table, .look = look, .widths = widths, .pending = indent};
    for (size_t column = 0; column < table->column_count; column++) {
        const char *title = table->titles[column];
        struct cell cell = {title, text_cells(title, strlen(title)), STYLE_DIM};
        draw_cell(&line, column, &cell, out);
    }
    text_add_char(out, '\n');
}

/* NULL when memory is short. */
static unsigned *final_widths(const struct table *table, const struct text_look *look, unsigned indent)
{
    unsigned *widths = calloc(2 * table->column_count + 1, sizeof *widths);
    if (!widths || table->failed) {
        free(widths);
        return NULL;
    }
    natural_widths(table, widths);
    if (look->width)
        fit_widths(table, look->width > indent ? look->width - indent : 1, widths + table->column_count, widths);
    return widths;
}

bool table_shows(const struct table *table, const struct text_look *look, unsigned indent, size_t column)
{
    unsigned *widths = final_widths(table, look, indent);
    bool shown = widths && column < table->column_count && widths[column];
    free(widths);
    return shown;
}

void table_draw(const struct table *table, const struct text_look *look, unsigned indent, struct text *out)
{
    unsigned *widths = final_widths(table, look, indent);
    if (!widths) {
        out->failed = true;
        return;
    }
    if (table->column_count && table->columns[0].title)
        draw_header(table, look, widths, indent, out);
    for (size_t row = 0; row < table->used; row += table->column_count) {
        struct line line = {.table = table, .look = look, .widths = widths, .pending = indent};
        for (size_t column = 0; column < table->column_count; column++)
            draw_cell(&line, column, &table->cells[row + column], out);
        text_add_char(out, '\n');
    }
    free(widths);
}

void text_add_wrapped(struct text *out, const struct text_look *look, unsigned column, unsigned indent,
                      const char *string)
{
    bool first = true; /* of its line: no blank goes in front */
    while (*string) {
        if (*string == '\n') {
            text_add_char(out, '\n');
            string++;
            if (*string && *string != '\n')
                add_blanks(out, indent);
            column = indent;
            first = true;
            continue;
        }
        size_t length = strcspn(string, " \n");
        unsigned cells = text_cells(string, length);
        if (!first && look->width && column + 1 + cells > look->width) {
            text_add_char(out, '\n');
            add_blanks(out, indent);
            column = indent;
        } else if (!first) {
            text_add_char(out, ' ');
            column++;
        }
        text_add(out, string, length);
        column += cells;
        first = false;
        string += length;
        while (*string == ' ')
            string++;
    }
    text_add_char(out, '\n');
}
