/* SPDX-License-Identifier: MIT */
/*
 * Tables of text: cells are added row by row, and drawing decides widths for the room there is. Knows character cells
 * (East Asian wide, combining marks), not bytes. All front ends without a grid widget of their own draw with it.
 */
#ifndef HP_VIEW_TABLE_H
#define HP_VIEW_TABLE_H

#include "base/cleanup.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum table_align { ALIGN_LEFT, ALIGN_RIGHT };
enum text_style { STYLE_PLAIN, STYLE_BOLD, STYLE_DIM, STYLE_ACCENT, STYLE_GOOD, STYLE_WARN, STYLE_BAD, STYLE_COUNT };
/* What gives way when the room is too small. */
enum table_shrink { SHRINK_NEVER, SHRINK_END, SHRINK_MIDDLE, SHRINK_DROP, SHRINK_DROP_FIRST };

struct table_column {
    const char *title; /* NULL = a table without a header has NULL everywhere */
    enum table_align align;
    enum table_shrink shrink; /* END, MIDDLE: cut with an ellipsis; DROP: the whole column goes, last one first, when cutting is not enough */
    unsigned minimum;         /* cells that a column keeps when cut */
};

/* How to draw: shared by tables and free text. */
struct text_look {
    unsigned width; /* cells; 0 = as wide as it gets */
    bool colour;    /* ANSI attributes */
    bool utf8;
};

struct table;

int table_create(const struct table_column *columns, size_t column_count, struct table **ret_table);
void table_destroy(struct table *table);
DEFINE_CLEANUP(struct table *, table_destroy)

void table_row(struct table *table); /* starts a row; its cells follow in column order, missing ones are empty */
void table_cell(struct table *table, const char *text);
void table_cell_styled(struct table *table, enum text_style style, const char *text);
void table_cellf(struct table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Whether there is room for this column. */
bool table_shows(const struct table *table, const struct text_look *look, unsigned indent, size_t column);
/* Draws header and rows, `indent` blanks in front of each line. Sets out->failed when memory was short on the way. */
void table_draw(const struct table *table, const struct text_look *look, unsigned indent, struct text *out);

/* Free text in the same look. */
void text_add_styled(struct text *out, const struct text_look *look, enum text_style style, const char *string);
/* Words of `string` wrapped to the look's width, `indent` blanks in front of every line but the first, which starts at
 * `column`. Newlines in it are kept. */
void text_add_wrapped(struct text *out, const struct text_look *look, unsigned column, unsigned indent,
                      const char *string);
/* The text in exactly `width` cells, cut with an ellipsis (SHRINK_END, SHRINK_MIDDLE); it must be wider than that. */
void text_add_cut(struct text *out, const struct text_look *look, const char *text, unsigned width,
                  enum table_shrink shrink);
/* Character cells of a string; control characters take none. */
unsigned text_cells(const char *string, size_t length);

#endif
