/* SPDX-License-Identifier: MIT */
/*
 * A list of rows with columns as a screen needs it: sorted, searched and selected, but drawn elsewhere. Sections of unlike rows
 * share one grid: a heading row starts each. Texts are copied.
 */
#ifndef HP_VIEW_GRID_H
#define HP_VIEW_GRID_H

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/text.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

#define GRID_COLUMNS_MAX 12

struct grid_column {
    const char *title;
    unsigned width;   /* cells wanted; of the last column: the least */
    unsigned drop;    /* in narrow screens the greatest goes first; 0 = stays */
    bool right;       /* numbers */
    bool bar;         /* the number is a share, 0 to 1, drawn as a bar */
    bool sorts_up;    /* small first, when sorted by it the first time */
    const char *csv;  /* heading of its values (not texts) as CSV: "self_ns"; "": left out there; NULL: texts below the title */
};

enum grid_style { GRID_PLAIN, GRID_HEADING, GRID_DIM, GRID_GOOD, GRID_WARN, GRID_BAD, GRID_FREE };

struct grid_cell {
    const char *text;
    double value; /* what is sorted by, and a bar's length */
};

struct grid_row {
    uint64_t id;      /* what it stands for: the maker's */
    uint8_t style;    /* GRID_HEADING: first cell over the full width; GRID_FREE: likewise, plain text, that can be selected if it has an id */
    uint8_t depth;    /* of indentation, in trees */
    char fold;        /* 'o' open, 'c' closed branch, 0 leaf */
    uint8_t colour;   /* enum colour of a mark before the name; 0 = none */
    bool matches;     /* the search */
    bool sentence;    /* the last cell is one: cut at its end, not in the middle as names are, and over empty cells before it */
    const char *note; /* more about it, where there is room for details; NULL: nothing */
    struct grid_cell *cells;
};

struct grid {
    const struct grid_column *columns;
    unsigned column_count;
    struct grid_row *rows;
    size_t row_count, row_capacity;
    int sort_column;  /* -1: as made */
    bool sort_up;
    struct arena arena;
    bool failed;      /* out of memory on the way */
};

void grid_init(struct grid *grid, const struct grid_column *columns, unsigned column_count);
void grid_clear(struct grid *grid);
void grid_finish(struct grid *grid);

struct grid_row *grid_add(struct grid *grid, uint64_t id, enum grid_style style); /* NULL and failed: no memory */
void grid_set(struct grid *grid, unsigned column, double value, const char *text); /* of the row added last */
void grid_setf(struct grid *grid, unsigned column, double value, const char *format, ...) __attribute__((format(printf, 4, 5)));
void grid_note(struct grid *grid, const char *note); /* of the row added last */
void grid_heading(struct grid *grid, const char *title, const char *explanation);

/* Sorts within sections; stable. */
void grid_sort(struct grid *grid, int column, bool up);
/* Marks the rows in which a text matches; NULL: none. Returns how many. */
size_t grid_search(struct grid *grid, const regex_t *pattern);

void grid_add_line(const struct grid *grid, size_t row, char separator, struct text *out);
/* With a line of headings; sections and the depth of trees are columns. */
void grid_add_csv(const struct grid *grid, struct text *out);

#endif
