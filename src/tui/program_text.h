/* SPDX-License-Identifier: MIT */
/*
 * A screen of plain text: lines, carriage return, backspace and tabs are followed, all other control characters and sequences are dropped.
 * What is left of a terminal where there is no library for a real one.
 */
#ifndef HP_TUI_PROGRAM_TEXT_H
#define HP_TUI_PROGRAM_TEXT_H

#include "program_lines.h"

struct program_text {
    struct cell *cells; /* rows * columns */
    int rows, columns, y, x;
    struct program_lines above;
    enum { TEXT_PLAIN, TEXT_ESCAPE, TEXT_SEQUENCE, TEXT_STRING, TEXT_STRING_END, TEXT_CHARSET } state;
    char bytes[4];      /* of a character that has not come whole */
    size_t byte_count;
};

int program_text_init(struct program_text *text, int rows, int columns); /* 0 or -ENOMEM */
void program_text_finish(struct program_text *text);
int program_text_resize(struct program_text *text, int rows, int columns);
void program_text_write(struct program_text *text, const char *bytes, size_t size);
/* As program_screen_row. */
const struct cell *program_text_row(const struct program_text *text, int row, int *ret_columns);

#endif
