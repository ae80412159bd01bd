/* SPDX-License-Identifier: MIT */
/* A grid on the screen: what all tabs that are lists share. */
#ifndef HP_TUI_LIST_VIEW_H
#define HP_TUI_LIST_VIEW_H

#include "app.h"

#include "view/grid.h"

struct list_view {
    struct grid grid;
    size_t selected, top;
    int page;           /* rows that were shown last */
    struct area area;   /* of the rows */
};

void list_draw(struct list_view *list, struct app *app, struct area area);
bool list_act(struct list_view *list, struct app *app, enum action action);
/* True: the click was on the row that is selected now. */
bool list_mouse(struct list_view *list, const struct input *input);
void list_select_id(struct list_view *list, uint64_t id);
/* For tabs that are lists (struct tab, is_list): the selected row, all rows; a click on the selected row is Enter. */
void list_copy(struct app *app, void *state, struct text *out);
int list_csv(struct app *app, void *state, struct text *out, struct error *err);
void list_click(struct app *app, void *state, const struct input *input);
const struct grid_row *list_row(const struct list_view *list); /* NULL: none is selected */

#endif
