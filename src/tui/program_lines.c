/* SPDX-License-Identifier: MIT */
/* Lines that left a screen at its top. */
#include "program_lines.h"

#include <stdlib.h>
#include <string.h>

void program_lines_finish(struct program_lines *lines)
{
    for (size_t i = 0; i < PROGRAM_LINES_MAX; i++)
        free(lines->lines[i].cells);
}

static bool is_blank(const struct cell *cell)
{
    return cell->glyph == ' ' && cell->look.fill == COLOUR_DEFAULT && !(cell->look.attributes & (CELL_REVERSE | CELL_UNDERLINE));
}

void program_lines_add(struct program_lines *lines, const struct cell *cells, int columns)
{
    struct program_line *line = &lines->lines[(lines->first + lines->count) % PROGRAM_LINES_MAX];
    if (lines->count == PROGRAM_LINES_MAX)
        lines->first = (lines->first + 1) % PROGRAM_LINES_MAX;
    else
        lines->count++;
    while (columns > 0 && is_blank(&cells[columns - 1]))
        columns--;
    free(line->cells);
    *line = (struct program_line){NULL, 0};
    if (columns <= 0 || !(line->cells = malloc((size_t)columns * sizeof *cells)))
        return;
    memcpy(line->cells, cells, (size_t)columns * sizeof *cells);
    line->columns = columns;
}

const struct program_line *program_lines_get(const struct program_lines *lines, size_t back)
{
    return back < lines->count ? &lines->lines[(lines->first + lines->count - 1 - back) % PROGRAM_LINES_MAX] : NULL;
}

bool program_lines_take(struct program_lines *lines, struct cell *ret_cells, int columns)
{
    const struct program_line *line = program_lines_get(lines, 0);
    for (int x = 0; line && x < columns; x++)
        ret_cells[x] = x < line->columns ? line->cells[x] : (struct cell){.glyph = ' '};
    lines->count -= line != NULL;
    return line != NULL;
}
