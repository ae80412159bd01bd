/* SPDX-License-Identifier: MIT */
/* Cells in memory. */
#include "canvas.h"

#include "base/array.h"
#include "view/table.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int canvas_resize(struct canvas *canvas, int rows, int columns)
{
    struct cell *cells = array_resize_exact(canvas->cells, (size_t)rows * (size_t)columns + 1, sizeof *cells);
    if (!cells)
        return -ENOMEM;
    canvas->cells = cells;
    canvas->rows = rows;
    canvas->columns = columns;
    canvas_clear(canvas);
    return 0;
}

void canvas_finish(struct canvas *canvas)
{
    free(canvas->cells);
    canvas->cells = NULL;
    canvas->rows = canvas->columns = 0;
}

void canvas_clear(struct canvas *canvas)
{
    for (int i = 0; i < canvas->rows * canvas->columns; i++)
        canvas->cells[i] = (struct cell){.glyph = ' '};
}

static struct cell *cell_at(struct canvas *canvas, int y, int x)
{
    bool inside = y >= 0 && y < canvas->rows && x >= 0 && x < canvas->columns;
    return inside ? &canvas->cells[y * canvas->columns + x] : NULL;
}

static uint32_t ascii_for(uint32_t glyph)
{
    static const struct {
        uint32_t glyph;
        char ascii;
    } stand_ins[] = {
        {0x2026, '~'}, {0x00b7, '.'}, {0x2502, '|'}, {0x2500, '-'}, {0x2514, '`'}, {0x251c, '+'}, {0x250c, ','}, {0x256d, ','},
        {0x2570, '`'}, {0x256e, '.'}, {0x256f, '\''}, {0x2534, '+'}, {0x252c, '+'}, {0x253c, '+'}, {0x25b6, '>'}, {0x25c0, '<'},
        {0x25b2, '^'}, {0x25bc, 'v'}, {0x25b8, '+'}, {0x25be, '-'}, {0x2591, '.'}, {0x2592, ':'}, {0x2593, '%'}, {0x2571, '/'},
        {0x258f, '|'}, {0x2588, '#'}, {0x2192, '>'}, {0x2190, '<'}, {0x2191, '^'}, {0x2193, 'v'}, {0x2013, '-'}, {0x00d7, 'x'},
        {0x0394, 'd'}, {0x2022, '*'}, {0x25cf, '*'}, {0x2510, '.'}, {0x2518, '\''}, {0x00b5, 'u'},
    };
    for (size_t i = 0; i < sizeof stand_ins / sizeof *stand_ins; i++)
        if (stand_ins[i].glyph == glyph)
            return (uint32_t)stand_ins[i].ascii;
    if (glyph >= 0x2581 && glyph <= 0x2587) /* blocks of growing height */
        return (uint32_t) ".,:-=+*"[glyph - 0x2581];
    if (glyph >= 0x2589 && glyph <= 0x258e) /* of shrinking width */
        return glyph <= 0x258c ? '#' : ' ';
    return '?';
}

static void put(struct canvas *canvas, int y, int x, struct look look, uint32_t glyph)
{
    struct cell *cell = cell_at(canvas, y, x);
    if (cell)
        *cell = (struct cell){glyph < 0x80 || canvas->utf8 ? glyph : ascii_for(glyph), look};
}

void canvas_glyph(struct canvas *canvas, int y, int x, struct look look, uint32_t glyph)
{
    put(canvas, y, x, look, glyph);
}

void canvas_overlay(struct canvas *canvas, int y, int x, enum colour text, uint32_t glyph)
{
    struct cell *cell = cell_at(canvas, y, x);
    if (!cell)
        return;
    struct look look = cell->look;
    look.text = (uint8_t)text;
    look.attributes |= CELL_BOLD;
    put(canvas, y, x, look, glyph);
}

void canvas_fill(struct canvas *canvas, struct area area, struct look look)
{
    for (int y = area.y; y < area.y + area.rows; y++)
        for (int x = area.x; x < area.x + area.columns; x++)
            put(canvas, y, x, look, ' ');
}

void canvas_highlight(struct canvas *canvas, struct area area, enum colour fill, unsigned attributes)
{
    for (int y = area.y; y < area.y + area.rows; y++) {
        for (int x = area.x; x < area.x + area.columns; x++) {
            struct cell *cell = cell_at(canvas, y, x);
            if (!cell)
                continue;
            if (cell->look.fill == COLOUR_DEFAULT)
                cell->look.fill = (uint8_t)fill;
            cell->look.attributes |= (uint8_t)attributes;
        }
    }
}

/* The next character that takes room; false at the end. */
static bool next_glyph(const char **at, uint32_t *ret_code, int *ret_cells)
{
    while (**at) {
        size_t taken = utf8_decode(*at, strnlen(*at, 4), ret_code);
        *ret_cells = (int)text_cells(*at, taken);
        bool control = *ret_code < 0x20 || (*ret_code >= 0x7f && *ret_code < 0xa0);
        *at += taken;
        if (control) {
            *ret_code = *ret_code == '\t' || *ret_code == '\n' ? ' ' : '?';
            *ret_cells = 1;
        }
        if (*ret_cells)
            return true;
    }
    return false;
}

static int cells_of(const char *text, int limit)
{
    int cells = 0, width;
    for (uint32_t code; cells <= limit && next_glyph(&text, &code, &width);)
        cells += width;
    return cells;
}

int canvas_text(struct canvas *canvas, int y, int x, int width, struct look look, const char *text)
{
    int used = 0, cells;
    bool cut = cells_of(text, width) > width;
    for (uint32_t code; next_glyph(&text, &code, &cells);) {
        if (used + cells > width - (cut ? 1 : 0))
            break;
        bool wide = cells == 2 && canvas->utf8;
        put(canvas, y, x + used, look, code);
        if (cells == 2)
            put(canvas, y, x + used + 1, look, wide ? 0 : '?');
        used += cells;
    }
    if (cut && width > 0)
        put(canvas, y, x + used++, look, 0x2026);
    return used;
}

int canvas_textf(struct canvas *canvas, int y, int x, int width, struct look look, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return canvas_text(canvas, y, x, width, look, text);
}

void canvas_text_right(struct canvas *canvas, int y, int right, int width, struct look look, const char *text)
{
    int cells = cells_of(text, width);
    cells = cells > width ? width : cells;
    canvas_text(canvas, y, right - cells, cells, look, text);
}

int canvas_name(struct canvas *canvas, int y, int x, int width, struct look look, const char *name)
{
    if (width < 12 || cells_of(name, width) <= width)
        return canvas_text(canvas, y, x, width, look, name);
    struct text clean = TEXT_INIT, cut = TEXT_INIT;
    struct text_look text_look = {.utf8 = true};
    text_add_line(&clean, name, strlen(name));
    if (!clean.failed)
        text_add_cut(&cut, &text_look, clean.data, (unsigned)width, SHRINK_MIDDLE);
    int used = canvas_text(canvas, y, x, width, look, cut.data && !cut.failed ? cut.data : name);
    text_finish(&clean);
    text_finish(&cut);
    return used;
}
