/* SPDX-License-Identifier: MIT */
/* What the user chose, kept from one trace to the next. */
#include "memory.h"

#include "list_view.h"

#include <stdlib.h>
#include <string.h>

void memory_add_text(struct text *out, const char *text)
{
    text_add(out, text, strlen(text) + 1);
}

void memory_add_number(struct text *out, int64_t number)
{
    text_addf(out, "%lld", (long long)number);
    text_add_char(out, '\0');
}

struct memory memory_of(const struct text *text)
{
    return text->data && !text->failed ? (struct memory){text->data, text->data + text->length} : (struct memory){NULL, NULL};
}

const char *memory_text(struct memory *memory)
{
    const char *text = memory->at;
    if (memory->at >= memory->end)
        return "";
    memory->at += strlen(text) + 1;
    return text;
}

int64_t memory_number(struct memory *memory)
{
    return strtoll(memory_text(memory), NULL, 10);
}

/* --- lists ----------------------------------------------------------------------------------------------------------- */

/* The column that says what a row is of: the first if it is one of texts, else the last. */
static unsigned name_column(const struct grid *grid)
{
    return grid->columns[0].right || grid->columns[0].bar ? grid->column_count - 1 : 0;
}

static bool is_heading(const struct grid_row *row)
{
    return row->style == GRID_HEADING;
}

/* Headings explain themselves behind two blanks, with numbers that change. */
static const char *heading_above(const struct grid *grid, size_t at)
{
    while (at > 0 && !is_heading(&grid->rows[at]))
        at--;
    return grid->row_count && is_heading(&grid->rows[at]) ? grid->rows[at].cells[0].text : "";
}

static bool same_heading(const char *left, const char *right)
{
    const char *gap = strstr(left, "  ");
    size_t length = gap ? (size_t)(gap - left) : strlen(left);
    return strncmp(left, right, length) == 0;
}

/* Who never left the first row wants to see the first one, whatever it is. */
static bool is_first(const struct list_view *list)
{
    size_t at = 0;
    while (at < list->selected && at < list->grid.row_count && (is_heading(&list->grid.rows[at]) || list->grid.rows[at].style == GRID_FREE))
        at++;
    return at == list->selected;
}

void list_remember(const struct list_view *list, struct text *out)
{
    const struct grid_row *row = is_first(list) ? NULL : list_row(list);
    memory_add_number(out, list->grid.sort_column);
    memory_add_number(out, list->grid.sort_up);
    memory_add_number(out, (int64_t)list->selected);
    memory_add_number(out, (int64_t)list->top);
    memory_add_text(out, row ? heading_above(&list->grid, list->selected) : "");
    memory_add_text(out, row ? row->cells[name_column(&list->grid)].text : "");
}

/* The row of that name nearest to where it was. */
static size_t find_row(const struct list_view *list, const char *heading, const char *name, size_t near)
{
    const struct grid *grid = &list->grid;
    unsigned column = name_column(grid);
    size_t best = grid->row_count, best_distance = SIZE_MAX;
    for (size_t i = 0; i < grid->row_count; i++) {
        size_t distance = i > near ? i - near : near - i;
        if (is_heading(&grid->rows[i]) || strcmp(grid->rows[i].cells[column].text, name) != 0 || !same_heading(heading, heading_above(grid, i)))
            continue;
        if (distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

void list_recall(struct list_view *list, struct memory *memory)
{
    int sort_column = (int)memory_number(memory);
    bool sort_up = memory_number(memory) != 0;
    size_t selected = (size_t)memory_number(memory), top = (size_t)memory_number(memory);
    const char *heading = memory_text(memory), *name = memory_text(memory);
    if (sort_column >= 0 && sort_column < (int)list->grid.column_count)
        grid_sort(&list->grid, sort_column, sort_up);
    size_t row = *name ? find_row(list, heading, name, selected) : list->grid.row_count;
    if (row < list->grid.row_count) {
        list->top = selected > top && row > selected - top ? row - (selected - top) : 0;
        list->selected = row;
    } else if (top < list->grid.row_count) {
        list->selected = selected; /* drawing keeps it inside */
        list->top = top;
    }
}
