/* SPDX-License-Identifier: MIT */
/* Lines that left a screen at its top: the newest ones are kept, as cells. */
#ifndef HP_TUI_PROGRAM_LINES_H
#define HP_TUI_PROGRAM_LINES_H

#include "canvas.h"

#define PROGRAM_LINES_MAX 5000

struct program_line {
    struct cell *cells;
    int columns;
};

struct program_lines {
    struct program_line lines[PROGRAM_LINES_MAX]; /* a ring */
    size_t first, count;
};

void program_lines_finish(struct program_lines *lines);
/* Blanks at the end are not kept. A line for which there is no memory is kept as an empty one. */
void program_lines_add(struct program_lines *lines, const struct cell *cells, int columns);
/* Takes the newest line back onto the screen: at most `columns` cells, the rest blank; false: there is none. */
bool program_lines_take(struct program_lines *lines, struct cell *ret_cells, int columns);
/* 0 is the newest; NULL: there are not so many. */
const struct program_line *program_lines_get(const struct program_lines *lines, size_t back);

#endif
