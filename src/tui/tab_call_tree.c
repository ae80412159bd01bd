/* SPDX-License-Identifier: MIT */
/* The Call Tree tab. */
#include "list_view.h"
#include "memory.h"
#include "stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct call_tree_tab {
    struct list_view list;
    struct call_tree *tree;
    bool bottom_up;
};

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct call_tree_tab *tab = calloc(1, sizeof *tab);
    (void)app;
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    grid_init(&tab->list.grid, call_tree_columns(CONTEXT_SAMPLES), CALL_TREE_COLUMNS);
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct call_tree_tab *tab = state;
    grid_finish(&tab->list.grid);
    call_tree_destroy(tab->tree);
    free(tab);
}

static void fill(struct app *app, struct call_tree_tab *tab)
{
    const struct grid_row *row = list_row(&tab->list);
    uint64_t id = row ? row->id : ID_NONE;
    call_tree_fill(tab->tree, &tab->list.grid);
    grid_search(&tab->list.grid, app_pattern(app));
    list_select_id(&tab->list, id);
}

static void remake(struct app *app, struct call_tree_tab *tab)
{
    struct error err = ERROR_INIT;
    stacks_default_measure(app);
    struct context_options options = stacks_options(app, tab->bottom_up);
    call_tree_destroy(TAKE_PTR(tab->tree));
    tab->list.selected = tab->list.top = 0;
    grid_clear(&tab->list.grid);
    tab->list.grid.columns = call_tree_columns(options.measure);
    if (call_tree_create(app->trace, &options, &tab->tree, &err) < 0) {
        app_say(app, "%s", err.text);
        return;
    }
    call_tree_open_hottest(tab->tree);
    fill(app, tab);
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct call_tree_tab *tab = state;
    if (changes & (CHANGED_WINDOW | CHANGED_FILTER | CHANGED_MEASURE))
        remake(app, tab);
    else
        grid_search(&tab->list.grid, app_pattern(app));
}

static void draw(struct app *app, void *state, struct area area)
{
    struct call_tree_tab *tab = state;
    if (!tab->tree || tab->tree->context->count <= 1) {
        stacks_draw_missing(app, tab->tree ? tab->tree->context : NULL, area);
        return;
    }
    struct text line = TEXT_INIT;
    text_addf(&line, "%s, by %s", tab->bottom_up ? "bottom-up" : "top-down", context_measure_text(tab->tree->context->measure));
    stacks_add_lack(app->trace, tab->tree->context, &line);
    text_add_string(&line, "; u and m change that");
    canvas_text(&app->canvas, area.y, 1, area.columns - 2, look_of(COLOUR_DIM), line.data ? line.data : "");
    text_finish(&line);
    list_draw(&tab->list, app, (struct area){area.y + 1, area.x, area.rows - 1, area.columns});
}

static void select_node(struct app *app, struct call_tree_tab *tab, uint32_t node)
{
    call_tree_reveal(tab->tree, node);
    fill(app, tab);
    list_select_id(&tab->list, node);
}

static void fold(struct app *app, struct call_tree_tab *tab, enum action action)
{
    const struct grid_row *row = list_row(&tab->list);
    if (!row)
        return;
    uint32_t node = (uint32_t)row->id, parent = tab->tree->context->nodes[node].parent;
    bool *open = &tab->tree->open[node], has_children = row->fold != 0;
    if (action == ACTION_PAN_LEFT && (!has_children || !*open)) {
        if (parent != 0)
            select_node(app, tab, parent);
        return;
    }
    if (action == ACTION_PAN_RIGHT && *open && has_children) {
        select_node(app, tab, tab->tree->context->nodes[node].first_child);
        return;
    }
    *open = action == ACTION_FOLD ? !*open : action == ACTION_PAN_RIGHT;
    fill(app, tab);
}

static void fold_all(struct app *app, struct call_tree_tab *tab)
{
    bool any = false;
    for (uint32_t i = 1; i < tab->tree->context->count; i++)
        any |= tab->tree->open[i];
    if (any)
        call_tree_close_all(tab->tree);
    else
        call_tree_open_hottest(tab->tree);
    fill(app, tab);
}

/* Matches in closed branches count, too. */
static void next_match(struct app *app, struct call_tree_tab *tab, bool forward)
{
    const struct grid_row *row = list_row(&tab->list);
    if (!app->searching) {
        app_say(app, "there is no search: / begins one");
        return;
    }
    uint32_t node = context_find_next(app->trace, tab->tree->context, app_pattern(app), row ? (uint32_t)row->id : 0, forward);
    if (node == ID_NONE)
        app_say(app, "nothing here matches %s", app->search_text);
    else
        select_node(app, tab, node);
}

static bool act(struct app *app, void *state, enum action action)
{
    struct call_tree_tab *tab = state;
    if (!tab->tree)
        return false;
    switch (action) {
    case ACTION_FOLD: case ACTION_PAN_LEFT: case ACTION_PAN_RIGHT:
        fold(app, tab, action);
        return true;
    case ACTION_FOLD_ALL:
        fold_all(app, tab);
        return true;
    case ACTION_TURN:
        tab->bottom_up = !tab->bottom_up;
        remake(app, tab);
        return true;
    case ACTION_MEASURE:
        stacks_next_measure(app);
        return true;
    case ACTION_SEARCH: case ACTION_NEXT_MATCH: case ACTION_PREVIOUS_MATCH:
        next_match(app, tab, action != ACTION_PREVIOUS_MATCH);
        return true;
    case ACTION_SORT: case ACTION_REVERSE:
        return false; /* a tree has its own order */
    default:
        return list_act(&tab->list, app, action);
    }
}

static void mouse(struct app *app, void *state, const struct input *input)
{
    struct call_tree_tab *tab = state;
    if (tab->tree && list_mouse(&tab->list, input) && input->mouse == MOUSE_CLICK)
        fold(app, tab, ACTION_FOLD);
}

static bool subject(struct app *app, void *state, struct subject *ret_subject)
{
    struct call_tree_tab *tab = state;
    const struct grid_row *row = list_row(&tab->list);
    (void)app;
    return tab->tree && row && stacks_subject(tab->tree->context, (uint32_t)row->id, ret_subject);
}

static const struct calling_context *context_of(const void *state)
{
    const struct call_tree_tab *tab = state;
    return tab->tree ? tab->tree->context : NULL;
}

static bool show(struct app *app, void *state, const struct subject *wanted)
{
    struct call_tree_tab *tab = state;
    uint32_t node = stacks_go_to(app, &(struct stacks_place){TAB_CALL_TREE, context_of, tab, tab->bottom_up}, wanted);
    if (node == ID_NONE)
        return false;
    select_node(app, tab, node);
    return true;
}

#define BRANCHES_MAX 4000 /* that are found open again */

static void remember(struct app *app, void *state, struct text *out)
{
    struct call_tree_tab *tab = state;
    const struct grid_row *row = list_row(&tab->list);
    uint32_t open = 0;
    if (!tab->tree || tab->tree->context->count <= 1)
        return;
    const struct calling_context *context = tab->tree->context;
    for (uint32_t i = 1; i < context->count; i++)
        open += tab->tree->open[i] && open < BRANCHES_MAX;
    memory_add_number(out, tab->bottom_up);
    memory_add_number(out, (int64_t)(tab->list.selected - tab->list.top));
    memory_add_number(out, open);
    for (uint32_t i = 1; i < context->count && open; i++)
        if (tab->tree->open[i]) {
            stacks_remember_path(app->trace, context, i, out);
            open--;
        }
    stacks_remember_path(app->trace, context, row ? (uint32_t)row->id : 0, out);
}

static void recall(struct app *app, void *state, struct memory *memory)
{
    struct call_tree_tab *tab = state;
    if (memory_number(memory)) {
        tab->bottom_up = true;
        remake(app, tab);
    }
    size_t below_top = (size_t)memory_number(memory);
    int64_t open = memory_number(memory);
    if (!tab->tree || tab->tree->context->count <= 1)
        return;
    const struct calling_context *context = tab->tree->context;
    call_tree_close_all(tab->tree);
    for (; open > 0; open--)
        tab->tree->open[stacks_recall_path(app->trace, context, memory)] = true;
    uint32_t node = stacks_recall_path(app->trace, context, memory);
    if (node)
        select_node(app, tab, node);
    else
        fill(app, tab);
    tab->list.top = tab->list.selected > below_top ? tab->list.selected - below_top : 0;
}

const struct tab tab_call_tree = {
    .title = "Call Tree", .short_title = "Calls", .place = KEYS_TREE, .next = {TAB_FLAME, TAB_HOTSPOTS, -1}, .create = create, .destroy = destroy, .draw = draw,
    .act = act, .mouse = mouse, .changed = changed, .subject = subject, .show = show, .copy = list_copy, .csv = list_csv, .remember = remember, .recall = recall,
};
