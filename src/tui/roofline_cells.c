/* SPDX-License-Identifier: MIT */
/* Rooflines in characters: roofs in the eight dots of Braille cells, kernels as marks with their names, the axes around. */
#include "roofline_cells.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LEFT 9
#define TICKS_MAX 256
#define NAMED_MAX 40 /* kernels with a name, where there is room */

struct plot {
    struct canvas *canvas;
    struct area area;
    const struct roofline_chart *chart;
    const struct roofline_window *window;
};

struct area roofline_plot_area(struct area area)
{
    return (struct area){area.y, area.x + LEFT, area.rows - 2, area.columns - LEFT - 1};
}

static double x_of(const struct plot *plot, double at)
{
    return (at - plot->window->left) / (plot->window->right - plot->window->left) * (plot->area.columns - 1);
}

static double y_of(const struct plot *plot, double at)
{
    return (plot->window->top - at) / (plot->window->top - plot->window->bottom) * (plot->area.rows - 1);
}

static struct look look(enum colour text, unsigned attributes)
{
    return (struct look){(uint8_t)text, COLOUR_DEFAULT, (uint8_t)attributes};
}

static struct cell *cell_of(struct plot *plot, int y, int x)
{
    if (y < 0 || x < 0 || y >= plot->area.rows || x >= plot->area.columns)
        return NULL;
    return &plot->canvas->cells[(plot->area.y + y) * plot->canvas->columns + plot->area.x + x];
}

/* --- axes ------------------------------------------------------------------------------------------------------------ */

static void draw_x_axis(struct plot *plot)
{
    struct roofline_tick ticks[TICKS_MAX];
    struct canvas *canvas = plot->canvas;
    int y = plot->area.y + plot->area.rows, next = plot->area.x;
    char title[64];
    size_t count = roofline_ticks(plot->window->left, plot->window->right, (unsigned)plot->area.columns / 9 + 1, ticks, TICKS_MAX);
    for (int x = -1; x < plot->area.columns; x++)
        canvas_glyph(canvas, y, plot->area.x + x, look(COLOUR_FAINT, 0), x < 0 ? 0x2514 : 0x2500);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        int x = plot->area.x + (int)lround(x_of(plot, ticks[i].at));
        if (!ticks[i].labelled)
            continue;
        canvas_glyph(canvas, y, x, look(COLOUR_DIM, 0), 0x253c);
        roofline_number(text, sizeof text, ticks[i].value);
        int begin = x - (int)strlen(text) / 2;
        if (begin < next || begin + (int)strlen(text) > plot->area.x + plot->area.columns)
            continue;
        next = begin + canvas_text(canvas, y + 1, begin, 16, look(COLOUR_DIM, 0), text) + 2;
    }
    snprintf(title, sizeof title, "%.20s/byte", plot->chart->operation);
    if (next + (int)strlen(title) < plot->area.x + plot->area.columns)
        canvas_text_right(canvas, y + 1, plot->area.x + plot->area.columns, (int)strlen(title), look(COLOUR_DEFAULT, 0), title);
}

static void draw_y_axis(struct plot *plot)
{
    struct roofline_tick ticks[TICKS_MAX];
    size_t count = roofline_ticks(plot->window->bottom, plot->window->top, (unsigned)plot->area.rows / 3 + 1, ticks, TICKS_MAX);
    for (int y = 0; y < plot->area.rows; y++)
        canvas_glyph(plot->canvas, plot->area.y + y, plot->area.x - 1, look(COLOUR_FAINT, 0), 0x2502);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        int y = plot->area.y + (int)lround(y_of(plot, ticks[i].at));
        if (!ticks[i].labelled)
            continue;
        canvas_glyph(plot->canvas, y, plot->area.x - 1, look(COLOUR_DIM, 0), 0x253c);
        canvas_text_right(plot->canvas, y, plot->area.x - 2, LEFT - 2, look(COLOUR_DIM, 0), roofline_number(text, sizeof text, ticks[i].value));
    }
    canvas_textf(plot->canvas, plot->area.y, plot->area.x + 1, 20, look(COLOUR_DEFAULT, 0), "%.12s/s", plot->chart->operation);
}

/* --- roofs ----------------------------------------------------------------------------------------------------------- */

/* One of the eight dots of a cell; without Braille a dot, or a dash where the line is level. */
static void add_dot(struct plot *plot, int dot_y, int dot_x, enum colour colour, bool level)
{
    static const uint8_t dots[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    struct cell *cell = cell_of(plot, dot_y / 4, dot_x / 2);
    if (!cell || dot_y < 0 || dot_x < 0)
        return;
    uint32_t before = cell->glyph >= 0x2800 && cell->glyph < 0x2900 ? cell->glyph : 0x2800;
    cell->glyph = plot->canvas->utf8 ? before | dots[dot_y % 4][dot_x % 2] : (uint32_t)(level ? '-' : '.');
    cell->look = look(colour, 0);
}

static void draw_roof(struct plot *plot, const struct roofline_roof *roof)
{
    struct roofline_line line;
    enum colour colour = roof->is_bandwidth ? COLOUR_GOOD : COLOUR_ACCENT;
    if (!roofline_roof_line(plot->chart, roof, plot->window, &line))
        return;
    double from_x = x_of(plot, line.from_x) * 2, from_y = y_of(plot, line.from_y) * 4 + 2, to_x = x_of(plot, line.to_x) * 2, to_y = y_of(plot, line.to_y) * 4 + 2;
    int steps = (int)ceil(fmax(fabs(to_x - from_x), fabs(to_y - from_y))) + 1;
    for (int i = 0; i <= steps; i++) {
        double part = (double)i / steps;
        add_dot(plot, (int)lround(from_y + (to_y - from_y) * part), (int)lround(from_x + (to_x - from_x) * part), colour, !roof->is_bandwidth);
    }
}

static bool is_free(struct plot *plot, int y, int x, int width)
{
    for (int i = 0; i < width; i++) {
        const struct cell *cell = cell_of(plot, y, x + i);
        if (!cell || cell->glyph != ' ')
            return false;
    }
    return true;
}

static void draw_roof_name(struct plot *plot, const struct roofline_roof *roof)
{
    struct roofline_line line;
    char number[32], text[96];
    if (!roofline_roof_line(plot->chart, roof, plot->window, &line))
        return;
    roofline_number(number, sizeof number, roof->value);
    int length = snprintf(text, sizeof text, "%.40s %s%.12s/s", roof->name, number, roof->is_bandwidth ? "B" : plot->chart->operation);
    int y = (int)lround(y_of(plot, line.from_y)), x = (int)lround(x_of(plot, line.from_x));
    enum colour colour = roof->is_bandwidth ? COLOUR_GOOD : COLOUR_ACCENT;
    if (roof->is_bandwidth) /* to the right of where the slope begins */
        x += 4;
    else
        x = (int)lround(x_of(plot, line.to_x)) - length;
    for (int step = 0; step < 4; step++, y += roof->is_bandwidth && step ? 0 : -1, x += roof->is_bandwidth ? 3 : 0)
        if (is_free(plot, y, x - 1, length + 2)) {
            canvas_text(plot->canvas, plot->area.y + y, plot->area.x + x, length, look(colour, 0), text);
            break;
        }
}

/* --- kernels --------------------------------------------------------------------------------------------------------- */

static bool place(const struct plot *plot, const struct roofline_point *point, int *ret_y, int *ret_x)
{
    if (!roofline_is_placed(point))
        return false;
    double x = log10(point->intensity), y = log10(point->performance);
    if (x < plot->window->left || x > plot->window->right || y < plot->window->bottom || y > plot->window->top)
        return false;
    *ret_x = (int)lround(x_of(plot, x));
    *ret_y = (int)lround(y_of(plot, y));
    return true;
}

/* In the row of its mark, or just below or above it where a roof runs along that; `always`: whatever lies there. */
static void draw_name(struct plot *plot, int y, int x, const char *name, struct look with, bool always)
{
    static const int rows[] = {0, 1, -1};
    int width = (int)strnlen(name, 28), right = plot->area.columns - x - 2, at = x + 2;
    if (width > right && x > right) { /* on its other side */
        width = width < x - 2 ? width : x - 2;
        at = x - 1 - width;
    } else {
        width = width < right ? width : right;
    }
    for (int i = 0; i < 3 && width >= 3; i++)
        if (always || is_free(plot, y + rows[i], at, width)) {
            canvas_name(plot->canvas, plot->area.y + y + rows[i], plot->area.x + at, width, with, name);
            return;
        }
}

static void draw_points(struct plot *plot, long selected)
{
    long at = -1, first = -1;
    int y, x;
    for (size_t i = 0; i < plot->chart->point_count; i++)
        if ((long)i != selected && place(plot, &plot->chart->points[i], &y, &x))
            canvas_glyph(plot->canvas, plot->area.y + y, plot->area.x + x, look(COLOUR_WARN, CELL_BOLD), plot->chart->points[i].weight >= 0.1 ? 0x25cf : 0x2022);
    for (int i = 0; i < NAMED_MAX; i++) { /* the heaviest first: they take the room */
        at = roofline_next(plot->chart, at, true);
        if (at < 0 || at == first)
            break;
        first = i ? first : at;
        if (at != selected && place(plot, &plot->chart->points[at], &y, &x))
            draw_name(plot, y, x, plot->chart->points[at].name, look(COLOUR_DEFAULT, 0), false);
    }
}

/* From edge to edge, and thick from the kernel to the roof above it. */
static void draw_selected(struct plot *plot, const struct roofline_point *point)
{
    struct roofline_headroom headroom = roofline_headroom(plot->chart, point);
    struct look line = look(COLOUR_DIM, 0), strong = look(COLOUR_BAD, CELL_BOLD);
    int y, x;
    if (!place(plot, point, &y, &x))
        return;
    for (int i = 0; i < plot->area.columns; i++)
        if (is_free(plot, y, i, 1))
            canvas_glyph(plot->canvas, plot->area.y + y, plot->area.x + i, line, 0x2500);
    for (int i = 0; i < plot->area.rows; i++)
        if (is_free(plot, i, x, 1))
            canvas_glyph(plot->canvas, plot->area.y + i, plot->area.x + x, line, 0x2502);
    if (headroom.roof && headroom.factor > 1) {
        double roof = y_of(plot, log10(headroom.attainable));
        for (int i = y - 1; i > roof && i >= 0; i--)
            canvas_glyph(plot->canvas, plot->area.y + i, plot->area.x + x, strong, 0x2191);
    }
    canvas_glyph(plot->canvas, plot->area.y + y, plot->area.x + x, strong, 0x25cf);
    draw_name(plot, y, x, point->name, look(COLOUR_BAD, CELL_BOLD | CELL_UNDERLINE), true);
}

void roofline_draw_cells(struct canvas *canvas, struct area area, const struct roofline_chart *chart, const struct roofline_window *window, long selected)
{
    struct plot plot = {canvas, roofline_plot_area(area), chart, window};
    if (plot.area.rows < 3 || plot.area.columns < 10)
        return;
    for (size_t i = 0; i < chart->roof_count; i++)
        draw_roof(&plot, &chart->roofs[i]);
    for (size_t i = 0; i < chart->roof_count; i++)
        draw_roof_name(&plot, &chart->roofs[i]);
    draw_points(&plot, selected);
    draw_x_axis(&plot);
    draw_y_axis(&plot);
    if (selected >= 0 && (size_t)selected < chart->point_count)
        draw_selected(&plot, &chart->points[selected]);
}
