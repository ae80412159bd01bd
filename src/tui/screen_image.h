/* SPDX-License-Identifier: MIT */
/* An image over a part of the screen that ncurses leaves blank. */
#ifndef HP_TUI_SCREEN_IMAGE_H
#define HP_TUI_SCREEN_IMAGE_H

#include "canvas.h"

#include "chart/terminal_image.h"

/* Cells of the terminal in pixels; false: it doesn't tell. */
bool screen_cell_size(unsigned *ret_width, unsigned *ret_height);
/* Writes what terminal_image_add made, after the screen was shown. */
void screen_image_show(const struct area *area, enum image_protocol protocol, const struct text *image);
/* Takes images away: the next picture is written as a whole. */
void screen_image_remove(enum image_protocol protocol);

#endif
