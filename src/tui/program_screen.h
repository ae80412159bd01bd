/* SPDX-License-Identifier: MIT */
/*
 * What a program that runs on a pty of ours would see on its terminal: it is fed what the program writes, and says what cells show and
 * which bytes a key is. With libvterm a terminal as others are; without it lines of text, from which control sequences are dropped.
 */
#ifndef HP_TUI_PROGRAM_SCREEN_H
#define HP_TUI_PROGRAM_SCREEN_H

#include "canvas.h"

struct error;
struct program_screen;

int program_screen_create(int rows, int columns, struct program_screen **ret_screen, struct error *err);
void program_screen_destroy(struct program_screen *screen);
DEFINE_CLEANUP(struct program_screen *, program_screen_destroy)

void program_screen_resize(struct program_screen *screen, int rows, int columns);
/* What the program wrote. `answers`: bytes that a terminal sends back by itself are appended, as programs ask where the cursor is. */
void program_screen_write(struct program_screen *screen, const char *bytes, size_t size, struct text *answers);
/* A key (terminal.h) as the bytes that the program expects in its present mode. */
void program_screen_key(struct program_screen *screen, uint32_t key, struct text *out);

/* A row's cells; rows below 0 are those that left at the top: -1 the newest. NULL: there is none. */
const struct cell *program_screen_row(struct program_screen *screen, int row, int *ret_columns);
size_t program_screen_history(const struct program_screen *screen);
bool program_screen_cursor(const struct program_screen *screen, int *ret_y, int *ret_x); /* false: hidden */

#endif
