/* SPDX-License-Identifier: MIT */
/* The Flame Graph tab: an icicle of the call stacks. */
#include "flame_sides.h"
#include "memory.h"
#include "stacks.h"

#include "chart/draw_flame.h"
#include "base/map.h"
#include "view/flame.h"
#include "view/units.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct flame_tab {
    struct calling_context *context;
    struct flame_sides sides;
    struct flame flame;
    bool *found;            /* by node: the search matches */
    uint32_t root, selected;
    uint32_t top;           /* row of the graph that is drawn first */
    bool bottom_up;
    struct area area;       /* where the graph was drawn */
};

static int create(struct app *app, void **ret_state, struct error *err)
{
    struct flame_tab *tab = calloc(1, sizeof *tab);
    if (!tab)
        return error_set(err, -ENOMEM, "out of memory");
    tab->sides = (struct flame_sides){.shown = app->other ? FLAME_NOW : FLAME_PLAIN, .trace = app->trace};
    *ret_state = tab;
    return 0;
}

static void destroy(void *state)
{
    struct flame_tab *tab = state;
    calling_context_destroy(tab->context);
    flame_sides_finish(&tab->sides);
    flame_finish(&tab->flame);
    free(tab->found);
    free(tab);
}

/* --- making ---------------------------------------------------------------------------------------------------------- */

static void mark_found(struct app *app, struct flame_tab *tab)
{
    const regex_t *pattern = app_pattern(app);
    uint32_t at = 0;
    if (!tab->context)
        return;
    free(tab->found);
    tab->found = calloc(tab->context->count + (size_t)1, sizeof *tab->found);
    while (tab->found && pattern && (at = context_find_next(tab->sides.trace, tab->context, pattern, at, true)) != ID_NONE && !tab->found[at])
        tab->found[at] = true;
}

static void remake(struct app *app, struct flame_tab *tab)
{
    struct error err = ERROR_INIT;
    stacks_default_measure(app);
    calling_context_destroy(TAKE_PTR(tab->context));
    tab->root = tab->selected = tab->top = 0;
    if (flame_sides_make(app, &tab->sides, tab->bottom_up, &tab->context, &err) < 0)
        app_say(app, "%s", err.text);
    mark_found(app, tab);
}

static void changed(struct app *app, void *state, unsigned changes)
{
    struct flame_tab *tab = state;
    if (changes & (CHANGED_WINDOW | CHANGED_FILTER | CHANGED_MEASURE))
        remake(app, tab);
    else
        mark_found(app, tab);
}

/* --- drawing --------------------------------------------------------------------------------------------------------- */

/* Names are numbered anew in the trace of the whole run: colours of a run that one watches go by the names themselves. */
static enum colour colour_of(const struct app *app, const struct flame_tab *tab, const struct context_node *node)
{
    struct context_node steady = *node;
    const char *name = trace_text(tab->sides.trace, node->function);
    if (app->live)
        steady.function.index = (uint32_t)hash_bytes(name, strlen(name));
    return context_node_colour(&steady);
}

static struct look box_look(struct app *app, const struct flame_tab *tab, uint32_t node)
{
    const struct context_node *facts = &tab->context->nodes[node];
    const struct frame_difference *difference = tab->sides.differences ? &tab->sides.differences[node] : NULL;
    enum colour fill = node == 0 ? COLOUR_BAND : difference ? frame_difference_colour(difference) : colour_of(app, tab, facts);
    struct look look = {.fill = (uint8_t)fill, .text = node == 0 ? COLOUR_DEFAULT : (uint8_t)palette_text_on(app->canvas.theme, fill)};
    if (app->searching && tab->found && node && !tab->found[node])
        look = (struct look){COLOUR_WAIT_TEXT, COLOUR_WAIT, 0};
    else if (app->searching && tab->found && tab->found[node])
        look.attributes = CELL_BOLD | CELL_UNDERLINE;
    else if (fill == COLOUR_WAIT)
        look.text = COLOUR_WAIT_TEXT;
    if (node == tab->selected)
        look = (struct look){app->canvas.theme == THEME_DARK ? COLOUR_BLACK : COLOUR_WHITE, app->canvas.theme == THEME_DARK ? COLOUR_WHITE : COLOUR_BLACK,
                             CELL_BOLD | CELL_UNDERLINE};
    return look;
}

static void draw_box(struct app *app, struct flame_tab *tab, const struct flame_box *box, int y)
{
    struct canvas *canvas = &app->canvas;
    int x = tab->area.x + (int)box->column, width = (int)box->width;
    if (box->node == ID_NONE) {
        for (int i = 0; i < width; i++)
            canvas_glyph(canvas, y, x + i, look_of(COLOUR_FAINT), 0x2591);
        return;
    }
    struct look look = box_look(app, tab, box->node);
    struct text name = TEXT_INIT;
    canvas_fill(canvas, (struct area){y, x, 1, width}, look);
    if (width >= 2)
        canvas_glyph(canvas, y, x, (struct look){COLOUR_BLACK, look.fill, 0}, 0x258f);
    if (tab->sides.differences)
        text_add_string(&name, frame_difference_sign(&tab->sides.differences[box->node], flame_sides_reversed(&tab->sides)));
    if (name.length && width < 4)
        canvas_glyph(canvas, y, x + (width > 1), look, (uint8_t)name.data[0]);
    context_node_name(tab->sides.trace, &tab->context->nodes[box->node], &name);
    if (width >= 4 && name.data)
        canvas_name(canvas, y, x + 1, width - 1, look, name.data);
    text_finish(&name);
}

static double found_weight(const struct flame_tab *tab)
{
    double weight = 0;
    for (uint32_t i = 1; tab->found && i < tab->context->count; i++) {
        uint32_t at = tab->context->nodes[i].parent;
        if (!tab->found[i])
            continue;
        while (at != ID_NONE && !tab->found[at])
            at = tab->context->nodes[at].parent;
        if (at == ID_NONE) /* nothing above it that counts it already */
            weight += (double)tab->context->nodes[i].total_weight;
    }
    return weight;
}

static void draw_facts(struct app *app, struct flame_tab *tab, int y, int columns)
{
    const struct context_node *nodes = tab->context->nodes, *node = &nodes[tab->selected];
    struct text line = TEXT_INIT;
    char total[32], self[32], percent[16], count[32];
    context_node_name(tab->sides.trace, node, &line);
    enum context_measure measure = tab->context->measure;
    text_addf(&line, "   %s, %s %%", context_weight_text(total, sizeof total, measure, node->total_weight, NULL),
              format_percent(percent, sizeof percent, (double)node->total_weight, (double)nodes[0].total_weight));
    if (!tab->selected)
        stacks_add_lack(tab->sides.trace, tab->context, &line);
    if (tab->sides.differences) {
        text_add_string(&line, "   ");
        (tab->selected ? frame_difference_describe : frame_difference_describe_all)(&tab->sides.differences[tab->selected], measure,
                                                                                    flame_sides_reversed(&tab->sides), &line);
    }
    text_addf(&line, "   self %s   ", context_weight_text(self, sizeof self, measure, node->self_weight, NULL));
    if (measure != CONTEXT_CALL_COUNT)
        text_addf(&line, "%s %s   ", format_count(count, sizeof count, node->total_count), context_measure_unit(measure));
    if (tab->selected)
        context_node_place(tab->sides.trace, node, &line);
    else
        text_addf(&line, "by %s", context_measure_text(measure));
    if (app->searching)
        text_addf(&line, "   found: %s %% of all", format_percent(percent, sizeof percent, found_weight(tab), (double)nodes[0].total_weight));
    canvas_text(&app->canvas, y, 1, columns - 2, look_of(COLOUR_DEFAULT), line.data ? line.data : "");
    text_finish(&line);
}

static void draw(struct app *app, void *state, struct area area)
{
    struct flame_tab *tab = state;
    if (!tab->context || tab->context->count <= 1) {
        stacks_draw_missing(app, tab->context, area);
        return;
    }
    int above = tab->sides.differences ? 2 : 1;
    draw_facts(app, tab, area.y, area.columns);
    if (tab->sides.differences)
        flame_sides_draw_legend(app, &tab->sides, area.y + 1, area.columns);
    tab->area = (struct area){area.y + above, area.x, area.rows - above, area.columns};
    if (flame_lay_out(&tab->flame, tab->context, tab->root, (unsigned)area.columns, 512) < 0) {
        app_say(app, "out of memory for a flame graph");
        return;
    }
    const struct flame_box *selected = flame_box_of(&tab->flame, tab->selected);
    uint32_t rows = (uint32_t)tab->area.rows;
    if (selected && selected->row < tab->top)
        tab->top = selected->row;
    if (selected && selected->row >= tab->top + rows)
        tab->top = selected->row - rows + 1;
    for (size_t i = 0; i < tab->flame.count; i++) {
        const struct flame_box *box = &tab->flame.boxes[i];
        if (box->row >= tab->top && box->row < tab->top + rows)
            draw_box(app, tab, box, tab->area.y + (int)(box->row - tab->top));
    }
}

/* --- moving ---------------------------------------------------------------------------------------------------------- */

static bool is_below(const struct flame_tab *tab, uint32_t node, uint32_t above)
{
    for (; node != ID_NONE; node = tab->context->nodes[node].parent)
        if (node == above)
            return true;
    return false;
}

static void select_node(struct flame_tab *tab, uint32_t node)
{
    tab->selected = node;
    if (!is_below(tab, node, tab->root))
        tab->root = 0;
}

static void zoom_to(struct flame_tab *tab, uint32_t node)
{
    tab->root = tab->selected = node;
    tab->top = 0;
}

static void zoom_out(struct flame_tab *tab)
{
    uint32_t parent = tab->context->nodes[tab->root].parent;
    if (parent == ID_NONE)
        return;
    /* Frames that are as wide as their caller would look the same: up to where something is seen. */
    while (parent && tab->context->nodes[parent].total_weight == tab->context->nodes[tab->root].total_weight)
        parent = tab->context->nodes[parent].parent;
    tab->selected = tab->root;
    tab->root = parent;
    tab->top = 0;
}

/* The frame beside the selected one: its sibling, else the next box of the row. */
static void move_sideways(struct flame_tab *tab, bool right)
{
    /* Several keys may come before the next picture: what was laid out for the last one may be of another tree. */
    if (flame_lay_out(&tab->flame, tab->context, tab->root, tab->area.columns > 0 ? (unsigned)tab->area.columns : 1, 512) < 0)
        return;
    const struct flame_box *at = flame_box_of(&tab->flame, tab->selected), *best = NULL;
    for (size_t i = 0; at && i < tab->flame.count; i++) {
        const struct flame_box *box = &tab->flame.boxes[i];
        if (box->row != at->row || box->node == ID_NONE || box == at || (box->column > at->column) != right)
            continue;
        if (!best || (right ? box->column < best->column : box->column > best->column))
            best = box;
    }
    if (best)
        tab->selected = best->node;
}

static void next_match(struct app *app, struct flame_tab *tab, bool forward)
{
    if (!app->searching) {
        app_say(app, "there is no search: / begins one");
        return;
    }
    uint32_t node = context_find_next(tab->sides.trace, tab->context, app_pattern(app), tab->selected, forward);
    if (node == ID_NONE)
        app_say(app, "no frame matches %s", app->search_text);
    else
        select_node(tab, node);
}

/* The other side, at the same frame as far as it is there. */
static void turn_side(struct app *app, struct flame_tab *tab)
{
    struct text kept = TEXT_INIT;
    if (tab->context) {
        stacks_remember_path(tab->sides.trace, tab->context, tab->root, &kept);
        stacks_remember_path(tab->sides.trace, tab->context, tab->selected, &kept);
    }
    if (flame_sides_turn(app, &tab->sides)) {
        struct memory memory = memory_of(&kept);
        remake(app, tab);
        if (tab->context) {
            tab->root = stacks_recall_path(tab->sides.trace, tab->context, &memory);
            select_node(tab, stacks_recall_path(tab->sides.trace, tab->context, &memory));
        }
    }
    text_finish(&kept);
}

static bool act(struct app *app, void *state, enum action action)
{
    struct flame_tab *tab = state;
    if (action == ACTION_COMPARE) {
        turn_side(app, tab);
        return true;
    }
    if (!tab->context || tab->context->count <= 1)
        return false;
    const struct context_node *nodes = tab->context->nodes;
    switch (action) {
    case ACTION_UP:
        if (tab->selected != tab->root && nodes[tab->selected].parent != ID_NONE)
            tab->selected = nodes[tab->selected].parent;
        break;
    case ACTION_DOWN:
        if (nodes[tab->selected].first_child != ID_NONE)
            tab->selected = flame_widest_child(tab->context, tab->selected);
        break;
    case ACTION_PAN_LEFT: case ACTION_PAN_RIGHT:
        move_sideways(tab, action == ACTION_PAN_RIGHT);
        break;
    case ACTION_FIRST:
        tab->selected = tab->root;
        break;
    case ACTION_LAST:
        while (nodes[tab->selected].first_child != ID_NONE)
            tab->selected = flame_widest_child(tab->context, tab->selected);
        break;
    case ACTION_ZOOM_IN:
        zoom_to(tab, tab->selected);
        break;
    case ACTION_ZOOM_OUT:
        zoom_out(tab);
        break;
    case ACTION_CANCEL: case ACTION_RESET:
        zoom_to(tab, 0);
        break;
    case ACTION_TURN:
        tab->bottom_up = !tab->bottom_up;
        remake(app, tab);
        break;
    case ACTION_MEASURE:
        stacks_next_measure(app);
        break;
    case ACTION_SEARCH: case ACTION_NEXT_MATCH: case ACTION_PREVIOUS_MATCH:
        next_match(app, tab, action != ACTION_PREVIOUS_MATCH);
        break;
    default:
        return false;
    }
    return true;
}

static bool offers(const struct app *app, const void *state, enum action action)
{
    (void)state;
    return action != ACTION_COMPARE || app->other;
}

static void mouse(struct app *app, void *state, const struct input *input)
{
    struct flame_tab *tab = state;
    (void)app;
    if (!tab->context || tab->context->count <= 1)
        return;
    const struct flame_box *box = flame_at(&tab->flame, tab->top + (uint32_t)(input->y - tab->area.y), (unsigned)(input->x - tab->area.x));
    if (input->mouse == MOUSE_RIGHT)
        zoom_out(tab);
    else if (input->mouse == MOUSE_WHEEL_UP || input->mouse == MOUSE_WHEEL_DOWN)
        act(app, state, input->mouse == MOUSE_WHEEL_UP ? ACTION_UP : ACTION_DOWN);
    else if (box && box->node != ID_NONE && input->y >= tab->area.y)
        zoom_to(tab, box->node);
}

/* --- other tabs ------------------------------------------------------------------------------------------------------ */

static bool subject(struct app *app, void *state, struct subject *ret_subject)
{
    struct flame_tab *tab = state;
    (void)app; /* other tabs know only this trace's names */
    return !flame_sides_reversed(&tab->sides) && stacks_subject(tab->context, tab->selected, ret_subject);
}

static const struct calling_context *context_of(const void *state)
{
    return ((const struct flame_tab *)state)->context;
}

static bool show(struct app *app, void *state, const struct subject *wanted)
{
    struct flame_tab *tab = state;
    if (flame_sides_reversed(&tab->sides)) {
        tab->sides.shown = FLAME_NOW;
        remake(app, tab);
    }
    uint32_t node = stacks_go_to(app, &(struct stacks_place){TAB_FLAME, context_of, tab, tab->bottom_up}, wanted);
    if (node == ID_NONE)
        return false;
    select_node(tab, node);
    return true;
}

static void remember(struct app *app, void *state, struct text *out)
{
    struct flame_tab *tab = state;
    if (!tab->context || tab->context->count <= 1)
        return;
    memory_add_number(out, tab->bottom_up);
    memory_add_number(out, tab->sides.shown);
    memory_add_number(out, tab->top);
    stacks_remember_path(tab->sides.trace, tab->context, tab->root, out);
    stacks_remember_path(tab->sides.trace, tab->context, tab->selected, out);
}

static void recall(struct app *app, void *state, struct memory *memory)
{
    struct flame_tab *tab = state;
    bool bottom_up = memory_number(memory) != 0;
    enum flame_shown shown = (enum flame_shown)memory_number(memory);
    if (bottom_up != tab->bottom_up || shown != tab->sides.shown) {
        tab->bottom_up = bottom_up;
        tab->sides.shown = shown;
        remake(app, tab);
    }
    tab->top = (uint32_t)memory_number(memory);
    if (!tab->context)
        return;
    tab->root = stacks_recall_path(tab->sides.trace, tab->context, memory);
    select_node(tab, stacks_recall_path(tab->sides.trace, tab->context, memory));
}

static void copy(struct app *app, void *state, struct text *out)
{
    struct flame_tab *tab = state;
    uint32_t path[64], depth = 0;
    if (!tab->context || !tab->selected)
        return;
    for (uint32_t at = tab->selected; at != 0 && at != ID_NONE && depth < 64; at = tab->context->nodes[at].parent)
        path[depth++] = at;
    while (depth-- > 0) { /* as folded stacks have it */
        context_node_name(tab->sides.trace, &tab->context->nodes[path[depth]], out);
        text_add_string(out, depth ? ";" : " ");
    }
    text_addf(out, "%lld", (long long)tab->context->nodes[tab->selected].total_weight);
}

typedef void node_text(const struct trace *trace, const struct context_node *node, struct text *out);

static void csv_text(const struct flame_tab *tab, const struct context_node *node, node_text *write, struct text *out)
{
    struct text text = TEXT_INIT;
    write(tab->sides.trace, node, &text);
    text_add_csv(out, text.data ? text.data : "", text.length);
    text_finish(&text);
}

/* Of a window the other trace has no such part: what is counted cannot be compared. */
static void csv_difference(const struct frame_difference *difference, struct text *out)
{
    text_addf(out, "%.6f,%.6f,", difference->before, difference->now);
    if (difference->absolute)
        text_addf(out, "%lld,%lld,", (long long)difference->before_weight, (long long)difference->now_weight);
    else
        text_add_string(out, ",,");
}

static int csv(struct app *app, void *state, struct text *out, struct error *err)
{
    struct flame_tab *tab = state;
    enum context_measure measure = tab->context ? tab->context->measure : CONTEXT_SAMPLES;
    const struct frame_difference *differences = tab->sides.differences;
    const char *unit = measure == CONTEXT_CALL_COUNT ? "" : "_ns";
    text_addf(out, "node,parent,depth,total%s,self%s,%s,", unit, unit, measure == CONTEXT_SAMPLES ? "samples" : "count"); /* named as in the Call Tree's */
    if (differences)
        text_addf(out, "part_before,part_now,total_before%s,total_now%s,", unit, unit);
    text_add_string(out, "place,name\n");
    for (uint32_t i = 1; tab->context && i < tab->context->count; i++) {
        const struct context_node *node = &tab->context->nodes[i];
        const char *name = trace_text(tab->sides.trace, node->function);
        text_addf(out, "%u,%u,%u,%lld,%lld,%llu,", i, node->parent, node->depth, (long long)node->total_weight, (long long)node->self_weight,
                  (unsigned long long)node->total_count);
        if (differences)
            csv_difference(&differences[i], out);
        csv_text(tab, node, context_node_place, out);
        text_add_char(out, ',');
        if (*name)
            text_add_csv(out, name, strlen(name));
        else
            csv_text(tab, node, context_node_name, out);
        text_add_char(out, '\n');
    }
    return 0;
}

static int picture(struct app *app, void *state, const struct caption *caption, struct drawing *out, struct error *err)
{
    struct flame_tab *tab = state;
    struct flame_scene scene = {.trace = tab->sides.trace, .context = tab->context, .root = tab->root, .found = app->searching ? tab->found : NULL,
                                .differences = tab->sides.differences, .shown_is_before = flame_sides_reversed(&tab->sides),
                                .shown_name = flame_sides_shown_name(app, &tab->sides), .other_name = flame_sides_other_name(app, &tab->sides)};
    (void)err;
    return draw_flame(out, &scene, caption);
}

const struct tab tab_flame = {
    .title = "Flame Graph", .short_title = "Flame", .place = KEYS_FLAME, .next = {TAB_HOTSPOTS, TAB_CALL_TREE, -1}, .create = create, .destroy = destroy, .draw = draw,
    .act = act, .offers = offers, .mouse = mouse, .changed = changed, .subject = subject, .show = show, .copy = copy, .csv = csv, .picture = picture, .remember = remember, .recall = recall,
};
