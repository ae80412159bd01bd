/* SPDX-License-Identifier: MIT */
/*
 * A screen in memory: character cells with colours. Everything is drawn here; what a terminal shows, what is exported and what
 * tests look at are copies of it. Texts may be hostile: control characters and marks without width never come through.
 */
#ifndef HP_TUI_CANVAS_H
#define HP_TUI_CANVAS_H

#include "base/cleanup.h"
#include "base/text.h"
#include "view/palette.h"

enum cell_attribute { CELL_BOLD = 1, CELL_UNDERLINE = 2, CELL_REVERSE = 4, CELL_DIM = 8 };

struct look {
    uint8_t text, fill; /* enum colour */
    uint8_t attributes;
};

struct cell {
    uint32_t glyph; /* 0: the right half of a wide one */
    struct look look;
};

struct canvas {
    struct cell *cells;
    int rows, columns;
    bool utf8; /* else glyphs have stand-ins in ASCII */
    bool mono; /* fills can't be seen: they are shown reversed */
    enum theme theme;
};

struct area {
    int y, x, rows, columns;
};

int canvas_resize(struct canvas *canvas, int rows, int columns); /* and clears; 0 or -ENOMEM */
void canvas_finish(struct canvas *canvas);
void canvas_clear(struct canvas *canvas);

void canvas_fill(struct canvas *canvas, struct area area, struct look look);
void canvas_glyph(struct canvas *canvas, int y, int x, struct look look, uint32_t glyph);
/* A glyph on what is there: only the text colour changes. */
void canvas_overlay(struct canvas *canvas, int y, int x, enum colour text, uint32_t glyph);
/* Another look for cells that are drawn already: fill of those that have none, and attributes. */
void canvas_highlight(struct canvas *canvas, struct area area, enum colour fill, unsigned attributes);

/* At most `width` cells of a text, cut with an ellipsis. Returns the cells used. */
int canvas_text(struct canvas *canvas, int y, int x, int width, struct look look, const char *text);
int canvas_textf(struct canvas *canvas, int y, int x, int width, struct look look, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void canvas_text_right(struct canvas *canvas, int y, int right, int width, struct look look, const char *text); /* ends before `right` */
/* Cut in the middle, where both ends tell something. */
int canvas_name(struct canvas *canvas, int y, int x, int width, struct look look, const char *name);

/* The picture as plain text. */
void canvas_add_text(const struct canvas *canvas, struct text *out);

#endif
