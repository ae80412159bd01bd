/* SPDX-License-Identifier: MIT */
/* Drawing the lanes of the Timeline tab. */
#include "tab_timeline.h"

#include "analysis/path_hops.h"
#include "base/clock.h"
#include "view/table.h"
#include "view/units.h"

#include <math.h>
#include <string.h>

#define FRAME_NS 10000000 /* then the rest is drawn roughly, and finished in the next frames */
/* Calm: a counter has no say in what the spans around it mean. */
#define COLOUR_COUNTER ((enum colour)(COLOUR_HUES + 7 * PALETTE_SHADES + 1))
#define HOPS_MAX 20000 /* of the critical path on one picture */
#define HEAD_CELLS_MIN 3 /* of a program's name that is cut */
#define NOT_ENDED ", not ended"
#define SOLID 0.92f /* a column that is busy for so much of its time is filled */

struct lane_drawing {
    struct app *app;
    struct timeline_tab *tab;
    const struct lane_picture *picture;
    const struct timeline_lane *lane;
    int y, x, columns;
};

static enum colour colour_of(const struct timeline_cell *cell)
{
    return palette_for_span((enum span_kind)cell->kind, cell->category, cell->name);
}

static uint32_t height_glyph(float part)
{
    int eighths = (int)lroundf(part * 8);
    return eighths >= 8 ? 0x2588 : 0x2580 + (uint32_t)(eighths < 1 ? 1 : eighths);
}

/* Sub-column spans: how much of the column they take, as a height. */
static void draw_density(struct lane_drawing *drawing, int y, int x, const struct timeline_cell *cell)
{
    bool waits = span_kind_waits((enum span_kind)cell->kind);
    enum colour text = !cell->chosen ? COLOUR_FAINT : waits ? COLOUR_WAIT_TEXT : colour_of(cell);
    struct look look = {.text = (uint8_t)text, .attributes = cell->found ? CELL_UNDERLINE | CELL_BOLD : 0};
    canvas_glyph(&drawing->app->canvas, y, x, look, waits && cell->busy >= SOLID ? 0x2592 : height_glyph(cell->busy));
}

static bool same_run(const struct timeline_cell *left, const struct timeline_cell *right)
{
    if (left->span.index != right->span.index || left->chosen != right->chosen)
        return false;
    return left->span.index != ID_NONE || (string_is(left->name, right->name) && left->kind == right->kind);
}

static struct look run_look(const struct lane_drawing *drawing, const struct timeline_cell *cell)
{
    struct look look = {.fill = (uint8_t)colour_of(cell)};
    bool selected = cell->span.index != ID_NONE && cell->span.index == drawing->tab->span.index;
    if (span_kind_waits((enum span_kind)cell->kind) || !cell->chosen) {
        look.fill = COLOUR_WAIT;
        look.text = cell->chosen ? COLOUR_WAIT_TEXT : COLOUR_FAINT;
    } else {
        look.text = (uint8_t)palette_text_on(drawing->app->canvas.theme, (enum colour)look.fill);
    }
    if (selected)
        look = (struct look){drawing->app->canvas.theme == THEME_DARK ? COLOUR_BLACK : COLOUR_WHITE,
                             drawing->app->canvas.theme == THEME_DARK ? COLOUR_WHITE : COLOUR_BLACK, CELL_BOLD | CELL_UNDERLINE};
    if (cell->found)
        look.attributes |= CELL_BOLD | CELL_UNDERLINE;
    return look;
}

/* A span over whole columns: filled, with its name where there is room for some of it. */
static void draw_run(struct lane_drawing *drawing, int y, int first, int end, const struct timeline_cell *cell)
{
    struct canvas *canvas = &drawing->app->canvas;
    struct look look = run_look(drawing, cell);
    int x = drawing->x + first, width = end - first;
    bool waits = span_kind_waits((enum span_kind)cell->kind) && look.fill == COLOUR_WAIT && cell->chosen;
    for (int i = 0; i < width; i++)
        canvas_glyph(canvas, y, x + i, waits ? (struct look){COLOUR_FAINT, look.fill, 0} : look, waits ? 0x2571 : ' ');
    if (cell->begins && width >= 2)
        canvas_glyph(canvas, y, x, (struct look){COLOUR_BLACK, look.fill, 0}, 0x258f);
    if (cell->open && width >= 2) /* it goes on */
        canvas_glyph(canvas, y, x + width - 1, look, 0x25b6);
    int room = width - 2 - cell->open;
    const char *name = trace_text(drawing->app->trace, cell->name);
    if (!*name)
        name = span_kind_name((enum span_kind)cell->kind);
    if (room < 3 || !cell->name.index)
        return;
    int used = canvas_name(canvas, y, x + 1, room, look, name);
    if (cell->open && used + (int)strlen(NOT_ENDED) <= room)
        used += canvas_text(canvas, y, x + 1 + used, room - used, look, NOT_ENDED);
    if (waits && used + 1 <= room)
        canvas_glyph(canvas, y, x + 1 + used, (struct look){COLOUR_FAINT, look.fill, 0}, ' ');
}

static void draw_spans(struct lane_drawing *drawing, unsigned row)
{
    const struct timeline_cell *cells = &drawing->picture->cells[(size_t)row * drawing->picture->columns];
    int y = drawing->y + (int)row;
    for (int i = 0; i < drawing->columns;) {
        int end = i + 1;
        while (end < drawing->columns && cells[end].count && same_run(&cells[i], &cells[end]) && !(cells[end].begins && cells[end].span.index == ID_NONE))
            end++;
        int from = i, to = end;
        bool one = cells[i].span.index != ID_NONE && end - i >= 2; /* its first and last column may be filled in part */
        while (from < to && !one && cells[from].busy < SOLID)
            from++;
        if (!cells[i].count) {
            i++;
            continue;
        }
        if (from > i)
            to = from;
        else
            for (to = i; to < end && (one || cells[to].busy >= SOLID);)
                to++;
        if (to > i && from == i)
            draw_run(drawing, y, i, to, &cells[i]);
        for (int x = i; from > i && x < to; x++)
            draw_density(drawing, y, drawing->x + x, &cells[x]);
        if (cells[i].span.index != ID_NONE && cells[i].span.index == drawing->tab->span.index && from > i)
            canvas_highlight(&drawing->app->canvas, (struct area){y, drawing->x + i, 1, to - i}, COLOUR_SELECTED, CELL_BOLD | CELL_UNDERLINE);
        i = to > i ? to : i + 1;
    }
}

static void draw_cpu(struct lane_drawing *drawing)
{
    const struct timeline_cell *cells = &drawing->picture->cells[(size_t)drawing->picture->depth * drawing->picture->columns];
    int y = drawing->y + (int)drawing->picture->depth;
    for (int i = 0; i < drawing->columns; i++) {
        if (cells[i].busy > 0.02f)
            canvas_glyph(&drawing->app->canvas, y, drawing->x + i, look_of(COLOUR_GOOD), height_glyph(cells[i].busy));
        else if (cells[i].off > 0.5f)
            canvas_glyph(&drawing->app->canvas, y, drawing->x + i, look_of(COLOUR_FAINT), 0x00b7);
    }
}

static void draw_counter(struct lane_drawing *drawing)
{
    const struct timeline_cell *cells = drawing->picture->cells;
    for (int i = 0; i < drawing->columns; i++)
        if (cells[i].count)
            canvas_glyph(&drawing->app->canvas, drawing->y, drawing->x + i, look_of(COLOUR_COUNTER), height_glyph(cells[i].busy));
}

/* --- labels ---------------------------------------------------------------------------------------------------------- */

/* Of a process the program's name is cut before its rank and number are. Returns the cells. */
static int draw_name(struct canvas *canvas, int y, int x, int width, struct look look, const struct timeline_lane *lane)
{
    const char *tail = lane->name + lane->name_head;
    int tail_cells = (int)strlen(tail), head_cells = width - tail_cells; /* of the tail all is ASCII */
    if (!lane->name_head || head_cells < HEAD_CELLS_MIN || text_cells(lane->name, strlen(lane->name)) <= (unsigned)width)
        return canvas_name(canvas, y, x, width, look, lane->name);
    struct text head = TEXT_INIT, cut = TEXT_INIT;
    struct text_look text_look = {.utf8 = true};
    text_add(&head, lane->name, lane->name_head);
    text_add_cut(&cut, &text_look, head.data ? head.data : "", (unsigned)head_cells, SHRINK_END);
    int used = canvas_text(canvas, y, x, head_cells, look, cut.data ? cut.data : "");
    text_finish(&head);
    text_finish(&cut);
    return used + canvas_text(canvas, y, x + used, tail_cells, look, tail);
}

static void draw_label(struct lane_drawing *drawing, int rows, bool selected)
{
    struct canvas *canvas = &drawing->app->canvas;
    const struct timeline_lane *lane = drawing->lane;
    bool group = lane->kind == LANE_NODE || lane->kind == LANE_PROCESS;
    int indent = (int)lane->level * 2, width = drawing->tab->label_width - 1;
    struct look look = group ? look_bold(COLOUR_DEFAULT) : look_of(COLOUR_DEFAULT);
    if (group)
        canvas_glyph(canvas, drawing->y, indent, look_of(COLOUR_DIM), lane->open ? 0x25be : 0x25b8);
    int used = draw_name(canvas, drawing->y, indent + 2, width - indent - 2, look, lane) + indent + 2;
    if (lane->kind == LANE_COUNTER && drawing->picture->high > 0) {
        const struct trace_track *track = &trace_tracks(drawing->app->trace, &(uint32_t){0})[lane->track.index];
        char text[96];
        format_quantity(text, sizeof text, drawing->picture->high, trace_text(drawing->app->trace, track->unit));
        if ((int)strlen(text) < width - used) /* whole or not at all: a number that is cut is another one */
            canvas_text_right(canvas, drawing->y, width, width - used - 1, look_of(COLOUR_DIM), text);
    }
    if (drawing->picture->has_cpu && drawing->picture->depth)
        canvas_text_right(canvas, drawing->y + (int)drawing->picture->depth, width, 8, look_of(COLOUR_DIM), "on CPU");
    if (selected)
        canvas_highlight(canvas, (struct area){drawing->y, 0, rows, drawing->tab->label_width}, COLOUR_SELECTED, 0);
}

static int picture_rows(const struct timeline_lane *lane, const struct lane_picture *picture)
{
    int rows = (int)picture->depth + picture->has_cpu;
    (void)lane;
    return rows < 1 ? 1 : rows;
}

/* Draws what fits of a lane at y; returns its rows, 0 when it can't be drawn. */
static int draw_lane(struct app *app, struct timeline_tab *tab, uint32_t position, int y, bool only_measure)
{
    struct timeline *timeline = tab->timeline;
    uint32_t index = timeline->shown[position];
    struct timeline_lane *lane = &timeline->lanes[index];
    struct error err = ERROR_INIT;
    struct lane_drawing drawing = {.app = app, .tab = tab, .lane = lane, .y = y, .x = tab->lanes.x, .columns = tab->lanes.columns};
    unsigned depth = lane->kind == LANE_NODE || lane->kind == LANE_PROCESS ? 1 : tab->depth;
    if (timeline_picture(timeline, index, app->begin_ns, app->end_ns, (unsigned)tab->lanes.columns, depth, &drawing.picture, &err) < 0) {
        snprintf(tab->problem, sizeof tab->problem, "%.250s", err.text);
        return 1;
    }
    int rows = picture_rows(lane, drawing.picture);
    app->unfinished |= drawing.picture->rough;
    if (lane->depth_seen > depth + 1)
        lane->depth_seen = depth + 1;
    if (rows < (int)lane->depth_seen)
        rows = (int)lane->depth_seen;
    lane->depth_seen = (unsigned)rows;
    if (only_measure)
        return rows;
    if (drawing.picture->is_counter)
        draw_counter(&drawing);
    else
        for (unsigned row = 0; row < drawing.picture->depth; row++)
            draw_spans(&drawing, row);
    if (drawing.picture->has_cpu)
        draw_cpu(&drawing);
    draw_label(&drawing, rows, position == tab->selected);
    return rows;
}

/* --- ruler ----------------------------------------------------------------------------------------------------------- */

static int column_of(const struct app *app, const struct timeline_tab *tab, int64_t time_ns)
{
    double column = ((double)time_ns - (double)app->begin_ns) / timeline_column_ns(app, tab);
    return column < -1e6 ? -1000000 : column > 1e6 ? 1000000 : (int)floor(column);
}

static void draw_ruler(struct app *app, struct timeline_tab *tab, int y)
{
    int64_t step_ns = timeline_ruler_step(app->end_ns - app->begin_ns, (unsigned)tab->lanes.columns);
    int64_t tick_ns = app->begin_ns - app->begin_ns % step_ns;
    char label[64];
    for (int i = 0; i < 200 && tick_ns < app->end_ns; i++, tick_ns += step_ns) {
        int column = column_of(app, tab, tick_ns), room = tab->lanes.columns - column - 2;
        if (column < 0)
            continue;
        timeline_time_label(label, sizeof label, tick_ns, step_ns);
        canvas_glyph(&app->canvas, y, tab->lanes.x + column, look_of(COLOUR_FAINT), 0x258f);
        if (room >= (int)strlen(label))
            canvas_text(&app->canvas, y, tab->lanes.x + column + 1, room, look_of(COLOUR_DIM), label);
    }
    if (tab->marked) {
        int column = column_of(app, tab, tab->mark_ns);
        if (column >= 0 && column < tab->lanes.columns)
            canvas_glyph(&app->canvas, y, tab->lanes.x + column, look_bold(COLOUR_WARN), 0x25bc);
    }
}

/* Where the window lies in the whole run, beside the ruler. */
static void draw_overview(struct app *app, struct timeline_tab *tab, int y)
{
    int width = tab->label_width - 2;
    double all = (double)(app->last_ns - app->first_ns);
    int first = (int)((double)(app->begin_ns - app->first_ns) / all * width), end = (int)ceil((double)(app->end_ns - app->first_ns) / all * width);
    if (app_window_is_all(app) || width < 4)
        return;
    for (int i = 0; i < width; i++) {
        bool inside = i >= first && (i < end || i == first);
        canvas_glyph(&app->canvas, y, 1 + i, look_of(inside ? COLOUR_ACCENT : COLOUR_FAINT), inside ? 0x2588 : 0x2500);
    }
}

/* --- arrows ---------------------------------------------------------------------------------------------------------- */

static int y_of_lane(const struct timeline_tab *tab, uint32_t lane)
{
    for (int i = 0; i < tab->placed_count; i++)
        if (tab->placed[i].lane == lane)
            return tab->placed[i].y;
    return -1;
}

/* From the end of what comes first to the begin of what follows: down (or up) at the source's time, then across. */
static void draw_arrow(struct app *app, struct timeline_tab *tab, const struct span_link *link)
{
    struct span_facts other;
    struct error err = ERROR_INIT;
    if (timeline_span(tab->timeline, link->other, &other, &err) < 0)
        return;
    const struct span_facts *from = link->outgoing ? &tab->facts : &other, *to = link->outgoing ? &other : &tab->facts;
    int from_y = y_of_lane(tab, from->lane), to_y = y_of_lane(tab, to->lane);
    int64_t from_ns, to_ns;
    timeline_link_times(link->kind, from, to, &from_ns, &to_ns);
    int from_x = column_of(app, tab, from_ns), to_x = column_of(app, tab, to_ns);
    int last = tab->lanes.columns - 1, end = tab->lanes.y + tab->lanes.rows;
    if (from_y < 0 || to_y < 0 || from_y == to_y || (from_x < 0 && to_x < 0) || (from_x > last && to_x > last))
        return;
    from_x = from_x < 0 ? 0 : from_x > last ? last : from_x;
    to_x = to_x < 0 ? 0 : to_x > last ? last : to_x;
    int step = to_y > from_y ? 1 : -1, left = tab->lanes.x;
    for (int y = from_y + step; y != to_y && y < end; y += step)
        canvas_overlay(&app->canvas, y, left + from_x, COLOUR_WARN, 0x2502);
    if (from_x == to_x) {
        canvas_overlay(&app->canvas, to_y, left + to_x, COLOUR_WARN, step > 0 ? 0x25bc : 0x25b2);
        return;
    }
    bool right = to_x > from_x;
    canvas_overlay(&app->canvas, to_y, left + from_x, COLOUR_WARN, step > 0 ? (right ? 0x2570 : 0x256f) : (right ? 0x256d : 0x256e));
    for (int x = from_x + (right ? 1 : -1); x != to_x; x += right ? 1 : -1)
        canvas_overlay(&app->canvas, to_y, left + x, COLOUR_WARN, 0x2500);
    canvas_overlay(&app->canvas, to_y, left + to_x, COLOUR_WARN, right ? 0x25b6 : 0x25c0);
}

/* --- the critical path ----------------------------------------------------------------------------------------------- */

/* Underlined on the first row of each lane it is on; where nothing is drawn there, a line of its own. */
static void draw_path_hop(struct app *app, struct timeline_tab *tab, const struct path_hop *hop)
{
    struct canvas *canvas = &app->canvas;
    int y = hop->track.index == ID_NONE ? -1 : y_of_lane(tab, timeline_lane_of(tab->timeline, hop->track));
    int first = column_of(app, tab, hop->begin_ns), last = column_of(app, tab, hop->begin_ns + hop->duration_ns);
    if (y < 0)
        return;
    first = first < 0 ? 0 : first;
    last = last >= tab->lanes.columns ? tab->lanes.columns - 1 : last;
    for (int x = first; x <= last; x++) {
        const struct cell *cell = &canvas->cells[y * canvas->columns + tab->lanes.x + x];
        if (cell->glyph == ' ' && cell->look.fill == COLOUR_DEFAULT)
            canvas_glyph(canvas, y, tab->lanes.x + x, look_of(COLOUR_BAD), 0x2581);
        else
            canvas_highlight(canvas, (struct area){y, tab->lanes.x + x, 1, 1}, COLOUR_DEFAULT, CELL_UNDERLINE);
    }
}

static void draw_path(struct app *app, struct timeline_tab *tab)
{
    const struct path_hops *hops = path_tab_hops(app);
    size_t low = 0, high = hops ? hops->count : 0;
    if (!hops)
        return;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (hops->hops[middle].begin_ns < app->begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    low -= low > 0; /* the one that reaches into the window */
    for (size_t i = low; i < hops->count && i < low + HOPS_MAX && hops->hops[i].begin_ns < app->end_ns; i++)
        draw_path_hop(app, tab, &hops->hops[i]);
}

/* --- all ------------------------------------------------------------------------------------------------------------- */

/* The first lane to draw, so that the selected one is on the screen as a whole. */
static void scroll_to_selected(struct app *app, struct timeline_tab *tab)
{
    uint32_t count = tab->timeline->shown_count;
    if (tab->selected >= count)
        tab->selected = count ? count - 1 : 0;
    if (tab->top > tab->selected)
        tab->top = tab->selected;
    if (!count || tab->selected - tab->top > (uint32_t)tab->lanes.rows)
        tab->top = tab->selected > (uint32_t)tab->lanes.rows ? tab->selected - (uint32_t)tab->lanes.rows : 0;
    int rows = 0;
    for (uint32_t i = tab->selected + 1; count && i-- > tab->top;) {
        rows += draw_lane(app, tab, i, 0, true);
        if (rows > tab->lanes.rows && i < tab->selected) {
            tab->top = i + 1;
            break;
        }
    }
}

static void cut_below(struct app *app, const struct timeline_tab *tab)
{
    int end = tab->lanes.y + tab->lanes.rows;
    if (end < app->canvas.rows)
        canvas_fill(&app->canvas, (struct area){end, 0, app->canvas.rows - end, app->canvas.columns}, look_of(COLOUR_DEFAULT));
}

/* How many lanes are not to be seen, where there is room below those that are. */
static void draw_hidden(struct app *app, const struct timeline_tab *tab, int y)
{
    char text[96];
    uint32_t hidden = timeline_hidden(tab->timeline);
    snprintf(text, sizeof text, "%u lane%s with nothing in the window: H shows %s", hidden, hidden == 1 ? "" : "s", hidden == 1 ? "it" : "them");
    if (hidden && y < tab->lanes.y + tab->lanes.rows)
        canvas_text(&app->canvas, y, 2, app->canvas.columns - 4, look_of(COLOUR_DIM), text);
}

void timeline_draw_lanes(struct app *app, struct timeline_tab *tab)
{
    int y = tab->lanes.y, end = y + tab->lanes.rows;
    tab->problem[0] = '\0';
    tab->timeline->hurry_ns = clock_monotonic_ns() + FRAME_NS;
    timeline_set_now(tab->timeline, app->last_ns);
    timeline_open_call(tab->timeline, tab->span, &tab->facts); /* a selected one gets longer */
    timeline_refresh_lanes(tab, app->begin_ns, app->end_ns);
    draw_ruler(app, tab, y - 1);
    draw_overview(app, tab, y - 1);
    scroll_to_selected(app, tab);
    tab->placed_count = 0;
    for (uint32_t i = tab->top; i < tab->timeline->shown_count && y < end && tab->placed_count < 512; i++) {
        int rows = draw_lane(app, tab, i, y, false);
        tab->placed[tab->placed_count++] = (struct placed_lane){tab->timeline->shown[i], y, rows};
        y += rows;
    }
    draw_path(app, tab);
    cut_below(app, tab);
    int arrows = tab->link_count < LINKS_MAX ? tab->link_count : LINKS_MAX;
    for (int i = 0; i < arrows && tab->span.index != ID_NONE; i++)
        draw_arrow(app, tab, &tab->links[i]);
    draw_hidden(app, tab, y);
    if (!tab->timeline->lane_count)
        canvas_text(&app->canvas, tab->lanes.y + 1, 2, app->canvas.columns - 4, look_of(COLOUR_DIM), "nothing was recorded: this trace has no spans, samples or counters");
    if (*tab->problem)
        app_say(app, "%s", tab->problem);
}
