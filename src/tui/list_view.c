/* SPDX-License-Identifier: MIT */
/* A grid on the screen. */
#include "list_view.h"

#include "view/table.h"
#include "view/units.h"

#include <string.h>

#define GAP 2

static bool selectable(const struct grid_row *row)
{
    return row->style != GRID_HEADING && (row->style != GRID_FREE || row->id);
}

const struct grid_row *list_row(const struct list_view *list)
{
    const struct grid *grid = &list->grid;
    return list->selected < grid->row_count && selectable(&grid->rows[list->selected]) ? &grid->rows[list->selected] : NULL;
}

void list_select_id(struct list_view *list, uint64_t id)
{
    for (size_t i = 0; i < list->grid.row_count; i++)
        if (list->grid.rows[i].id == id && selectable(&list->grid.rows[i])) {
            list->selected = i;
            return;
        }
}

/* Width 0: no room. The last column takes what is left. */
static void fit_columns(const struct grid *grid, int room, int *widths)
{
    int left = room;
    for (unsigned i = 0; i < grid->column_count; i++) {
        widths[i] = (int)grid->columns[i].width;
        left -= widths[i] + (i ? GAP : 0);
    }
    for (unsigned worst; left < 0; left += widths[worst] + GAP, widths[worst] = 0) {
        worst = grid->column_count;
        for (unsigned i = 0; i < grid->column_count; i++)
            if (widths[i] && grid->columns[i].drop && (worst == grid->column_count || grid->columns[i].drop > grid->columns[worst].drop))
                worst = i;
        if (worst == grid->column_count)
            break;
    }
    widths[grid->column_count - 1] += left;
    if (widths[grid->column_count - 1] < 1)
        widths[grid->column_count - 1] = 1;
}

static void draw_bar(struct canvas *canvas, int y, int x, int width, double share)
{
    char bar[64];
    format_bar(bar, sizeof bar, share, 1, (unsigned)(width < 20 ? width : 20), canvas->utf8);
    canvas_text(canvas, y, x, width, look_of(COLOUR_ACCENT), bar);
}

static enum colour style_colour(uint8_t style)
{
    switch (style) {
    case GRID_DIM:
        return COLOUR_DIM;
    case GRID_GOOD:
        return COLOUR_GOOD;
    case GRID_WARN:
        return COLOUR_WARN;
    case GRID_BAD:
        return COLOUR_BAD;
    default:
        return COLOUR_DEFAULT;
    }
}

/* The text from a little before what the search found, where the middle that is left out would hide it. */
static void draw_found(struct canvas *canvas, int y, int x, int width, struct look look, const char *text, bool sentence, const regex_t *pattern)
{
    struct text cut = TEXT_INIT, shifted = TEXT_INIT;
    const struct text_look text_look = {.utf8 = true};
    regmatch_t match;
    text_add_cut(&cut, &text_look, text, (unsigned)width, sentence ? SHRINK_END : SHRINK_MIDDLE);
    bool shown = !cut.data || regexec(pattern, cut.data, 0, NULL, 0) == 0 || regexec(pattern, text, 1, &match, 0) != 0;
    size_t from = shown || match.rm_so < 4 ? 0 : (size_t)match.rm_so - 4;
    while (from && ((unsigned char)text[from] & 0xc0) == 0x80)
        from--;
    text_addf(&shifted, "%s%s", from ? "\xe2\x80\xa6" : "", text + from);
    canvas_text(canvas, y, x, width, look, shown || !shifted.data ? (cut.data ? cut.data : text) : shifted.data);
    text_finish(&cut);
    text_finish(&shifted);
}

static int name_begin(const struct grid_row *row, int width)
{
    int used = row->depth * 2 < width - 8 ? row->depth * 2 : width > 8 ? width - 8 : 0;
    return used + (row->fold || row->depth ? 2 : 0) + (row->colour ? 2 : 0);
}

static void draw_name(struct app *app, int y, int x, int width, const struct grid_row *row, struct look look, const char *text)
{
    struct canvas *canvas = &app->canvas;
    int used = row->depth * 2 < width - 8 ? row->depth * 2 : width > 8 ? width - 8 : 0;
    if (row->fold)
        canvas_glyph(canvas, y, x + used, look_of(COLOUR_DIM), row->fold == 'o' ? 0x25be : 0x25b8);
    used += row->fold || row->depth ? 2 : 0;
    if (row->colour && !canvas->mono) {
        canvas_glyph(canvas, y, x + used, look_of((enum colour)row->colour), 0x25cf);
        used += 2;
    }
    int room = width - used;
    if (row->matches && app_pattern(app) && room >= 12 && (int)text_cells(text, strlen(text)) > room)
        draw_found(canvas, y, x + used, room, look, text, row->sentence, app_pattern(app));
    else if (row->sentence)
        canvas_text(canvas, y, x + used, room, look, text);
    else
        canvas_name(canvas, y, x + used, room, look, text);
}

/* From this cell on there is nothing but the last one. */
static bool rest_is_empty(const struct grid *grid, const struct grid_row *row, unsigned from)
{
    for (unsigned i = from; i + 1 < grid->column_count; i++)
        if (*row->cells[i].text || grid->columns[i].bar)
            return false;
    return true;
}

static void draw_row(struct list_view *list, struct app *app, const struct grid_row *row, int y, const int *widths)
{
    struct canvas *canvas = &app->canvas;
    const struct grid *grid = &list->grid;
    int x = list->area.x + 1, end = list->area.x + list->area.columns - 1;
    if (row->style == GRID_HEADING || row->style == GRID_FREE) {
        const char *text = row->cells[0].text, *gap = strstr(text, "  ");
        if (row->style == GRID_HEADING && gap) {
            int used = canvas_textf(canvas, y, x, end - x, look_bold(COLOUR_ACCENT), "%.*s", (int)(gap - text), text);
            canvas_text(canvas, y, x + used + 2, end - x - used - 2, look_of(COLOUR_DIM), gap + 2);
        } else {
            canvas_text(canvas, y, x, end - x, row->style == GRID_HEADING ? look_bold(COLOUR_ACCENT) : look_of(row->id ? COLOUR_DEFAULT : COLOUR_DIM), text);
        }
        return;
    }
    for (unsigned i = 0; i < grid->column_count; i++) {
        struct look look = look_of(style_colour(row->style));
        if (!widths[i])
            continue;
        if (row->sentence && rest_is_empty(grid, row, i)) {
            look.attributes |= row->matches ? CELL_BOLD | CELL_UNDERLINE : 0;
            draw_name(app, y, x, end - x, row, look, row->cells[grid->column_count - 1].text);
            return;
        }
        if (i + 1 == grid->column_count || !grid->columns[i].right)
            look.attributes |= row->matches ? CELL_BOLD | CELL_UNDERLINE : 0;
        if (grid->columns[i].bar)
            draw_bar(canvas, y, x, widths[i], row->cells[i].value);
        else if (grid->columns[i].right)
            canvas_text_right(canvas, y, x + widths[i], widths[i], look, row->cells[i].text);
        else if (i + 1 == grid->column_count)
            draw_name(app, y, x, widths[i], row, look, row->cells[i].text);
        else
            canvas_text(canvas, y, x, widths[i], look, row->cells[i].text);
        x += widths[i] + GAP;
    }
}

static bool has_titles(const struct grid *grid)
{
    for (unsigned i = 0; i < grid->column_count; i++)
        if (*grid->columns[i].title)
            return true;
    return false;
}

static void draw_titles(struct list_view *list, struct app *app, int y, const int *widths)
{
    const struct grid *grid = &list->grid;
    int x = list->area.x + 1;
    for (unsigned i = 0; i < grid->column_count; i++) {
        bool sorted = grid->sort_column == (int)i;
        struct look look = sorted ? look_bold(COLOUR_ACCENT) : look_of(COLOUR_DIM);
        if (!widths[i])
            continue;
        if (grid->columns[i].right)
            canvas_text_right(&app->canvas, y, x + widths[i], widths[i], look, grid->columns[i].title);
        else
            canvas_text(&app->canvas, y, x, widths[i], look, grid->columns[i].title);
        if (sorted && i + 1 < grid->column_count)
            canvas_glyph(&app->canvas, y, x + widths[i], look, grid->sort_up ? 0x2191 : 0x2193);
        x += widths[i] + GAP;
    }
}

static void keep_selection_shown(struct list_view *list)
{
    size_t count = list->grid.row_count, page = list->page > 0 ? (size_t)list->page : 1;
    if (list->selected >= count)
        list->selected = count ? count - 1 : 0;
    while (list->selected + 1 < count && !selectable(&list->grid.rows[list->selected]))
        list->selected++;
    if (list->selected < list->top)
        list->top = list->selected;
    if (list->selected >= list->top + page)
        list->top = list->selected - page + 1;
    if (list->top + page > count)
        list->top = count > page ? count - page : 0;
    while (list->top && list->selected - list->top + 1 < page && !selectable(&list->grid.rows[list->top - 1]))
        list->top--; /* a heading goes with its rows */
}

/* --- details: what has no room in the selected row ------------------------------------------------------------------- */

#define DETAILS_FROM_ROWS 14 /* of the list */

/* The same for all rows of a list, so that it doesn't jump: enough for a long name, or for notes. */
static int details_rows(const struct list_view *list, int rows, const int *widths)
{
    const struct grid *grid = &list->grid;
    unsigned last = grid->column_count - 1;
    bool wide = false;
    if (rows < DETAILS_FROM_ROWS)
        return 0;
    for (size_t i = 0; i < grid->row_count; i++) {
        const struct grid_row *row = &grid->rows[i];
        if (row->note)
            return 4;
        wide |= selectable(row) && row->style != GRID_FREE && (int)strlen(row->cells[last].text) + name_begin(row, widths[last]) > widths[last];
    }
    return !wide ? 0 : rows < 30 ? 2 : 3;
}

/* The name, then what has no room for it or no column at all. */
static void add_details(const struct grid *grid, const struct grid_row *row, const int *widths, struct text *out)
{
    unsigned last = grid->column_count - 1;
    text_add_string(out, row->cells[last].text);
    for (unsigned i = 0; i < last; i++) {
        const struct grid_column *column = &grid->columns[i];
        const char *text = row->cells[i].text, *title = *column->title || !column->csv ? column->title : column->csv;
        bool noted = row->note && strncmp(row->note, text, strlen(text)) == 0; /* the note begins with it */
        if (!column->bar && *text && !noted && (int)text_cells(text, strlen(text)) > widths[i])
            text_addf(out, ", %s%s%s", title, *title ? ": " : "", text);
    }
    if (row->note)
        text_addf(out, "\n%s", row->note);
}

static void draw_details(const struct list_view *list, struct app *app, struct area area, const int *widths)
{
    const struct grid_row *row = list_row(list);
    const struct text_look look = {.width = (unsigned)(area.columns > 12 ? area.columns - 2 : 10), .utf8 = true};
    struct text all = TEXT_INIT, wrapped = TEXT_INIT;
    for (int x = 0; x < area.columns; x++)
        canvas_glyph(&app->canvas, area.y, x, look_of(COLOUR_FAINT), 0x2500);
    if (row && row->style != GRID_FREE)
        add_details(&list->grid, row, widths, &all);
    if (all.data)
        text_add_wrapped(&wrapped, &look, 0, 0, all.data);
    char *line = wrapped.data;
    for (int i = 1; i < area.rows && line && *line; i++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        canvas_text(&app->canvas, area.y + i, area.x + 1, area.columns - 2, look_of(COLOUR_DEFAULT), line);
        line = end ? end + 1 : NULL;
    }
    text_finish(&all);
    text_finish(&wrapped);
}

void list_draw(struct list_view *list, struct app *app, struct area area)
{
    int widths[GRID_COLUMNS_MAX];
    bool titles = has_titles(&list->grid);
    fit_columns(&list->grid, area.columns - 2, widths);
    int details = details_rows(list, area.rows, widths);
    list->area = (struct area){area.y + titles, area.x, area.rows - titles - details, area.columns};
    list->page = list->area.rows;
    keep_selection_shown(list);
    if (titles)
        draw_titles(list, app, area.y, widths);
    for (int i = 0; i < list->area.rows && list->top + (size_t)i < list->grid.row_count; i++) {
        size_t index = list->top + (size_t)i;
        draw_row(list, app, &list->grid.rows[index], list->area.y + i, widths);
        if (index == list->selected && selectable(&list->grid.rows[index]))
            canvas_highlight(&app->canvas, (struct area){list->area.y + i, area.x, 1, area.columns}, COLOUR_SELECTED, 0);
    }
    if (details)
        draw_details(list, app, (struct area){area.y + area.rows - details, area.x, details, area.columns}, widths);
}

static void move(struct list_view *list, long step)
{
    size_t count = list->grid.row_count;
    long at = (long)list->selected + step;
    if (!count)
        return;
    at = at < 0 ? 0 : at >= (long)count ? (long)count - 1 : at;
    long direction = step < 0 ? -1 : 1;
    for (long i = at; i >= 0 && i < (long)count; i += direction)
        if (selectable(&list->grid.rows[i])) {
            list->selected = (size_t)i;
            return;
        }
    for (long i = at; i >= 0 && i < (long)count; i -= direction)
        if (selectable(&list->grid.rows[i])) {
            list->selected = (size_t)i;
            break;
        }
    if (step < 0)
        list->top = 0; /* headings above the first row */
}

static void next_match(struct list_view *list, struct app *app, bool forward, bool from_here)
{
    size_t count = list->grid.row_count;
    if (!app->searching) {
        app_say(app, "there is no search: / begins one");
        return;
    }
    for (size_t i = from_here ? 0 : 1; i <= count && count; i++) {
        size_t at = (list->selected + (forward ? i : count - i % count)) % count;
        if (list->grid.rows[at].matches && selectable(&list->grid.rows[at])) {
            list->selected = at;
            return;
        }
    }
    app_say(app, "nothing here matches %s", app->search_text);
}

static void sort_next(struct list_view *list, bool reverse)
{
    struct grid *grid = &list->grid;
    const struct grid_row *row = list_row(list);
    uint64_t id = row ? row->id : 0;
    int column = grid->sort_column;
    bool up = !grid->sort_up;
    if (!reverse) {
        do
            column = (column + 1) % (int)grid->column_count;
        while (grid->columns[column].bar || !*grid->columns[column].title);
        up = grid->columns[column].sorts_up;
    }
    if (column < 0 || !has_titles(grid))
        return;
    grid_sort(grid, column, up);
    if (row && !reverse)
        list_select_id(list, id);
}

bool list_act(struct list_view *list, struct app *app, enum action action)
{
    long page = list->page > 1 ? list->page - 1 : 1;
    switch (action) {
    case ACTION_UP: case ACTION_DOWN:
        move(list, action == ACTION_UP ? -1 : 1);
        return true;
    case ACTION_PAGE_UP: case ACTION_PAGE_DOWN:
        move(list, action == ACTION_PAGE_UP ? -page : page);
        return true;
    case ACTION_FIRST: case ACTION_LAST:
        move(list, action == ACTION_FIRST ? -(long)list->grid.row_count : (long)list->grid.row_count);
        return true;
    case ACTION_SORT: case ACTION_REVERSE:
        sort_next(list, action == ACTION_REVERSE);
        return true;
    case ACTION_NEXT_MATCH: case ACTION_PREVIOUS_MATCH: case ACTION_SEARCH:
        next_match(list, app, action != ACTION_PREVIOUS_MATCH, action == ACTION_SEARCH);
        return true;
    default:
        return false;
    }
}

bool list_mouse(struct list_view *list, const struct input *input)
{
    if (input->mouse == MOUSE_WHEEL_UP || input->mouse == MOUSE_WHEEL_DOWN) {
        move(list, input->mouse == MOUSE_WHEEL_UP ? -3 : 3);
        return false;
    }
    size_t row = list->top + (size_t)(input->y - list->area.y);
    bool inside = input->y >= list->area.y && row < list->grid.row_count && selectable(&list->grid.rows[row]);
    bool again = inside && row == list->selected;
    if (inside)
        list->selected = row;
    return again;
}

/* --- for tabs whose state begins with a list ------------------------------------------------------------------------- */

void list_copy(struct app *app, void *state, struct text *out)
{
    const struct list_view *list = state;
    (void)app;
    if (list_row(list))
        grid_add_line(&list->grid, list->selected, '\t', out);
}

int list_csv(struct app *app, void *state, struct text *out, struct error *err)
{
    const struct list_view *list = state;
    (void)app;
    (void)err;
    grid_add_csv(&list->grid, out);
    return 0;
}

void list_click(struct app *app, void *state, const struct input *input)
{
    if (list_mouse(state, input) && input->mouse == MOUSE_CLICK)
        app_handle(app, &(struct input){.event = EVENT_KEY, .key = '\n'});
}
