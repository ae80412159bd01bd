/* SPDX-License-Identifier: MIT */
/* A drawing as the bytes that make a terminal show it as an image. */
#ifndef HP_CHART_TERMINAL_IMAGE_H
#define HP_CHART_TERMINAL_IMAGE_H

#include "drawing.h"

enum image_protocol { IMAGE_NONE, IMAGE_KITTY, IMAGE_SIXEL, IMAGE_ITERM2 };

/* What the terminal of this process can show, as its environment tells. IMAGE_NONE also without chafa or cairo, and within tmux and
 * screen, which pass no images on. */
enum image_protocol terminal_image_protocol(void);

/* In so many character cells of so many pixels each; the drawing has their proportions. */
struct image_place {
    unsigned columns, rows, cell_width, cell_height;
};
int terminal_image_add(const struct drawing *drawing, double scale, enum image_protocol protocol, const struct image_place *place, struct text *out, struct error *err);
/* What takes all images off the screen; "" where to write over them does. */
const char *terminal_image_removal(enum image_protocol protocol);

#endif
