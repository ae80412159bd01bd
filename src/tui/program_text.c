/* SPDX-License-Identifier: MIT */
/* A screen of plain text. */
#include "program_text.h"

#include "view/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct cell *cell_at(const struct program_text *text, int y, int x)
{
    return &text->cells[(size_t)y * (size_t)text->columns + (size_t)x];
}

static void clear_row(struct program_text *text, int y)
{
    for (int x = 0; x < text->columns; x++)
        *cell_at(text, y, x) = (struct cell){.glyph = ' '};
}

int program_text_init(struct program_text *text, int rows, int columns)
{
    *text = (struct program_text){0};
    return program_text_resize(text, rows, columns);
}

void program_text_finish(struct program_text *text)
{
    program_lines_finish(&text->above);
    free(text->cells);
}

/* Rows that no longer fit leave at the top, as far as the cursor stands below them; where there is more room they come back. */
int program_text_resize(struct program_text *text, int rows, int columns)
{
    struct cell *cells = calloc((size_t)rows * (size_t)columns + 1, sizeof *cells), *before = text->cells;
    if (!cells)
        return -ENOMEM;
    int rows_before = text->rows, columns_before = text->columns, gone = text->y >= rows ? text->y - rows + 1 : 0;
    for (int y = 0; y < gone; y++)
        program_lines_add(&text->above, &before[(size_t)y * (size_t)columns_before], columns_before);
    text->cells = cells;
    text->rows = rows;
    text->columns = columns;
    int back = rows > rows_before ? rows - rows_before : 0;
    if (back > (int)text->above.count)
        back = (int)text->above.count;
    for (int y = back; y-- > 0;)
        program_lines_take(&text->above, cell_at(text, y, 0), columns);
    text->y += back - gone;
    text->x = text->x < columns ? text->x : columns;
    for (int y = back; y < rows; y++) {
        int from = y - back + gone;
        clear_row(text, y);
        for (int x = 0; from < rows_before && x < columns && x < columns_before; x++)
            *cell_at(text, y, x) = before[(size_t)from * (size_t)columns_before + (size_t)x];
    }
    free(before);
    return 0;
}

static void next_line(struct program_text *text)
{
    if (text->y + 1 < text->rows) {
        text->y++;
        return;
    }
    program_lines_add(&text->above, text->cells, text->columns);
    memmove(text->cells, cell_at(text, 1, 0), (size_t)(text->rows - 1) * (size_t)text->columns * sizeof *text->cells);
    clear_row(text, text->rows - 1);
}

static void put(struct program_text *text, uint32_t glyph, int width)
{
    if (!width || width > text->columns)
        return;
    if (text->x + width > text->columns) {
        next_line(text);
        text->x = 0;
    }
    *cell_at(text, text->y, text->x) = (struct cell){.glyph = glyph};
    if (width == 2)
        *cell_at(text, text->y, text->x + 1) = (struct cell){.glyph = 0};
    text->x += width;
}

static void put_control(struct program_text *text, unsigned char byte)
{
    if (byte == '\n') {
        next_line(text);
    } else if (byte == '\r') {
        text->x = 0;
    } else if (byte == '\b' && text->x > 0) {
        text->x--;
    } else if (byte == '\t') {
        text->x = (text->x / 8 + 1) * 8;
        text->x = text->x < text->columns ? text->x : text->columns - 1;
    }
}

/* Bytes of the present character so far; it is shown once it is whole, or can't become so. */
static void put_byte(struct program_text *text, char byte)
{
    static const uint8_t lengths[16] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
    bool goes_on = ((unsigned char)byte & 0xc0) == 0x80;
    if (text->byte_count && !goes_on) {
        put(text, 0xfffd, 1);
        text->byte_count = 0;
    }
    text->bytes[text->byte_count++] = byte;
    if (text->byte_count < lengths[(unsigned char)text->bytes[0] >> 4])
        return;
    uint32_t code;
    utf8_decode(text->bytes, text->byte_count, &code);
    bool control = code >= 0x80 && code < 0xa0;
    put(text, code, control ? 0 : code == 0xfffd ? 1 : (int)text_cells(text->bytes, text->byte_count));
    text->byte_count = 0;
}

/* Inside a sequence: where it ends. Returns the next state. */
static int follow_sequence(int state, unsigned char byte)
{
    if (byte == 0x18 || byte == 0x1a) /* cancelled */
        return TEXT_PLAIN;
    switch (state) {
    case TEXT_ESCAPE:
        if (byte == '[')
            return TEXT_SEQUENCE;
        if (byte == ']' || byte == 'P' || byte == 'X' || byte == '^' || byte == '_')
            return TEXT_STRING;
        return byte >= 0x20 && byte < 0x30 ? TEXT_CHARSET : TEXT_PLAIN;
    case TEXT_SEQUENCE:
        return byte >= 0x40 && byte < 0x7f ? TEXT_PLAIN : TEXT_SEQUENCE;
    case TEXT_STRING:
        return byte == 7 ? TEXT_PLAIN : byte == 0x1b ? TEXT_STRING_END : TEXT_STRING;
    case TEXT_CHARSET:
        return byte >= 0x30 ? TEXT_PLAIN : TEXT_CHARSET;
    default:
        return byte == '\\' ? TEXT_PLAIN : TEXT_STRING;
    }
}

void program_text_write(struct program_text *text, const char *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        if (byte == 0x1b && text->state != TEXT_STRING)
            text->state = TEXT_ESCAPE;
        else if (text->state != TEXT_PLAIN)
            text->state = follow_sequence(text->state, byte);
        else if (byte < 0x20 || byte == 0x7f)
            put_control(text, byte);
        else
            put_byte(text, bytes[i]);
    }
}

const struct cell *program_text_row(const struct program_text *text, int row, int *ret_columns)
{
    if (row < 0) {
        const struct program_line *line = program_lines_get(&text->above, (size_t)(-row - 1));
        *ret_columns = line ? line->columns : 0;
        return line ? line->cells : NULL;
    }
    *ret_columns = row < text->rows ? text->columns : 0;
    return row < text->rows ? cell_at(text, row, 0) : NULL;
}
