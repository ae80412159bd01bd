/* SPDX-License-Identifier: MIT */
/* Rooflines: logarithmic axes, roofs with their names along them, kernels as discs whose area is their part of the time. */
#include "draw_roofline.h"

#include <math.h>
#include <stdio.h>

#define LEFT 74.0
#define BOTTOM 46.0
#define MARGIN 16.0
#define LETTERS 10.5
#define TICKS_MAX 256
#define RADIUS_LEAST 3.5
#define RADIUS_MOST 13.0
#define CROWD 200         /* so many kernels would hide roofs and names: they are drawn below them */
#define LABELS_MAX 12     /* kernels with a name */
#define CANDIDATES_MAX 40 /* the heaviest, for one */

struct plot {
    struct drawing *drawing;
    const struct roofline_scene *scene;
    double x, y, width, height;
};

static double x_of(const struct plot *plot, double at)
{
    const struct roofline_window *window = &plot->scene->window;
    return plot->x + (at - window->left) / (window->right - window->left) * plot->width;
}

static double y_of(const struct plot *plot, double at)
{
    const struct roofline_window *window = &plot->scene->window;
    return plot->y + plot->height - (at - window->bottom) / (window->top - window->bottom) * plot->height;
}

/* --- axes ------------------------------------------------------------------------------------------------------------ */

static void draw_x_axis(struct plot *plot)
{
    const struct roofline_window *window = &plot->scene->window;
    struct roofline_tick ticks[TICKS_MAX];
    double end = plot->y + plot->height;
    size_t count = roofline_ticks(window->left, window->right, (unsigned)(plot->width / 60), ticks, TICKS_MAX);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        double x = x_of(plot, ticks[i].at);
        drawing_line(plot->drawing, x, ticks[i].labelled ? plot->y : end, x, end + (ticks[i].labelled ? 5 : 3), COLOUR_FAINT, ticks[i].labelled ? 0.6 : 0.4);
        if (ticks[i].labelled)
            drawing_text(plot->drawing, x, end + 17, 0, (struct lettering){.size = LETTERS, .colour = COLOUR_DIM, .anchor = ANCHOR_MIDDLE},
                         roofline_number(text, sizeof text, ticks[i].value));
    }
    drawing_textf(plot->drawing, plot->x + plot->width / 2, end + 36, plot->width, (struct lettering){.size = LETTERS, .anchor = ANCHOR_MIDDLE},
                  "arithmetic intensity (%s/byte)", plot->scene->chart->operation);
}

static void draw_y_axis(struct plot *plot)
{
    const struct roofline_window *window = &plot->scene->window;
    struct roofline_tick ticks[TICKS_MAX];
    size_t count = roofline_ticks(window->bottom, window->top, (unsigned)(plot->height / 40), ticks, TICKS_MAX);
    for (size_t i = 0; i < count; i++) {
        char text[32];
        double y = y_of(plot, ticks[i].at);
        drawing_line(plot->drawing, plot->x - (ticks[i].labelled ? 5 : 3), y, ticks[i].labelled ? plot->x + plot->width : plot->x, y, COLOUR_FAINT, ticks[i].labelled ? 0.6 : 0.4);
        if (ticks[i].labelled)
            drawing_text(plot->drawing, plot->x - 8, y + 4, 0, (struct lettering){.size = LETTERS, .colour = COLOUR_DIM, .anchor = ANCHOR_RIGHT},
                         roofline_number(text, sizeof text, ticks[i].value));
    }
    drawing_textf(plot->drawing, 18, plot->y + plot->height / 2, plot->height, (struct lettering){.size = LETTERS, .anchor = ANCHOR_MIDDLE, .upright = true},
                  "performance (%s/s)", plot->scene->chart->operation);
}

/* --- roofs ----------------------------------------------------------------------------------------------------------- */

/* Above the end of a peak, or below the begin of a slope, where no other roof comes close. */
static void draw_roof_name(struct plot *plot, const struct roofline_roof *roof, const struct roofline_line *line)
{
    char number[32];
    double x = x_of(plot, line->from_x), y = y_of(plot, line->from_y);
    struct lettering lettering = {.size = LETTERS, .colour = roof->is_bandwidth ? COLOUR_GOOD : COLOUR_ACCENT, .anchor = roof->is_bandwidth ? ANCHOR_LEFT : ANCHOR_RIGHT};
    roofline_number(number, sizeof number, roof->value);
    if (!roof->is_bandwidth)
        drawing_textf(plot->drawing, x_of(plot, line->to_x) - 4, y - 5, fmax(x_of(plot, line->to_x) - x - 8, 1), lettering, "%s %s%s/s", roof->name, number, plot->scene->chart->operation);
    else
        drawing_textf(plot->drawing, x + 14, fmin(y + 4, plot->y + plot->height - 6), plot->width / 3, lettering, "%s %sB/s", roof->name, number);
}

static void draw_roofs(struct plot *plot)
{
    const struct roofline_chart *chart = plot->scene->chart;
    for (size_t i = 0; i < chart->roof_count; i++) {
        const struct roofline_roof *roof = &chart->roofs[i];
        struct roofline_line line;
        if (!roofline_roof_line(chart, roof, &plot->scene->window, &line))
            continue;
        drawing_line(plot->drawing, x_of(plot, line.from_x), y_of(plot, line.from_y), x_of(plot, line.to_x), y_of(plot, line.to_y),
                     roof->is_bandwidth ? COLOUR_GOOD : COLOUR_ACCENT, 1.75);
        draw_roof_name(plot, roof, &line);
    }
}

/* --- kernels --------------------------------------------------------------------------------------------------------- */

static bool is_inside(const struct roofline_scene *scene, const struct roofline_point *point)
{
    const struct roofline_window *window = &scene->window;
    if (!roofline_is_placed(point))
        return false;
    double x = log10(point->intensity), y = log10(point->performance);
    return x >= window->left && x <= window->right && y >= window->bottom && y <= window->top;
}

static enum colour point_colour(size_t number)
{
    static const unsigned hues[] = {1, 0, 3, 2, 6, 4, 5, 7};
    return (enum colour)(COLOUR_HUES + hues[number % PALETTE_HUES] * PALETTE_SHADES + 1);
}

static double radius_of(const struct roofline_point *point)
{
    double weight = point->weight > 0 ? fmin(point->weight, 1) : 0;
    return fmax(RADIUS_LEAST, RADIUS_MOST * sqrt(weight));
}

/* The baseline of a kernel's name: beside it, or below a peak that would strike it out. */
static double name_y(const struct plot *plot, double y, double radius)
{
    const struct roofline_chart *chart = plot->scene->chart;
    for (size_t i = 0; i < chart->roof_count; i++) {
        double roof = chart->roofs[i].is_bandwidth ? -100 : y_of(plot, log10(chart->roofs[i].value));
        if (fabs(roof - y) < 15)
            return fmax(roof, y + radius) + 13;
    }
    return y + 4;
}

/* Where a kernel's name stands: beside it, on the side that has room. */
struct label {
    double x, y, width; /* its left end, its baseline */
    bool left;          /* of the kernel */
};

static struct label label_of(const struct plot *plot, const struct roofline_point *point, bool selected)
{
    double x = x_of(plot, log10(point->intensity)), y = y_of(plot, log10(point->performance)), radius = radius_of(point) + (selected ? 9 : 5);
    double room = fmin(plot->x + plot->width - x - radius, 220);
    struct label label = {.x = x + radius, .y = selected ? y - 6 : name_y(plot, y, radius - 5), .left = room < 90};
    if (label.left)
        room = fmin(x - radius - plot->x - 2, 220);
    label.width = fmax(fmin(drawing_text_width(point->name, LETTERS, selected), room), 0);
    if (label.left)
        label.x = x - radius - label.width;
    return label;
}

/* On a ground of its own, so that lines don't strike it out. */
static void draw_label(struct plot *plot, const struct roofline_point *point, const struct label *label, bool selected)
{
    struct lettering lettering = {.size = LETTERS, .anchor = label->left ? ANCHOR_RIGHT : ANCHOR_LEFT, .bold = selected};
    drawing_rect(plot->drawing, label->x - 1, label->y - 9, label->width + 2, 12, COLOUR_GROUND);
    if (label->width > 0)
        drawing_name(plot->drawing, label->left ? label->x + label->width : label->x, label->y, label->width, lettering, point->name);
}

static void draw_point(struct plot *plot, size_t number)
{
    const struct roofline_point *point = &plot->scene->chart->points[number];
    double x = x_of(plot, log10(point->intensity)), y = y_of(plot, log10(point->performance)), radius = radius_of(point);
    drawing_circle(plot->drawing, x, y, radius, point_colour(number));
    drawing_tip(plot->drawing, point->name);
    drawing_ring(plot->drawing, x, y, radius, COLOUR_GROUND, 0.75);
}

struct labels {
    struct label taken[LABELS_MAX];
    unsigned count;
};

/* False: another name lies there. */
static bool take_place(struct labels *labels, const struct label *label)
{
    if (labels->count == LABELS_MAX)
        return false;
    for (unsigned i = 0; i < labels->count; i++) {
        const struct label *other = &labels->taken[i];
        if (fabs(other->y - label->y) < 13 && other->x < label->x + label->width + 4 && label->x < other->x + other->width + 4)
            return false;
    }
    labels->taken[labels->count++] = *label;
    return true;
}

/* Names of the heaviest; of those that would lie over another's only the heavier one. */
static void draw_names(struct plot *plot)
{
    const struct roofline_scene *scene = plot->scene;
    struct labels labels = {.count = 0};
    long at = -1, first = -1;
    for (int i = 0; i < CANDIDATES_MAX; i++) {
        at = roofline_next(scene->chart, at, true);
        if (at < 0 || at == first)
            break;
        first = i ? first : at;
        if (!is_inside(scene, &scene->chart->points[at]) || at == scene->selected)
            continue;
        struct label label = label_of(plot, &scene->chart->points[at], false);
        if (take_place(&labels, &label))
            draw_label(plot, &scene->chart->points[at], &label, false);
    }
}

static void draw_points(struct plot *plot)
{
    const struct roofline_scene *scene = plot->scene;
    for (size_t i = 0; i < scene->chart->point_count; i++)
        if (is_inside(scene, &scene->chart->points[i]) && (long)i != scene->selected)
            draw_point(plot, i);
}

/* --- the selected one ------------------------------------------------------------------------------------------------ */

static void draw_crosshair(struct plot *plot, const struct roofline_point *point)
{
    const struct roofline_window *window = &plot->scene->window;
    struct roofline_headroom headroom = roofline_headroom(plot->scene->chart, point);
    double x = x_of(plot, log10(point->intensity)), y = y_of(plot, log10(point->performance)), end = plot->y + plot->height;
    char number[32];
    drawing_dashes(plot->drawing, plot->x, y, plot->x + plot->width, y, COLOUR_WARN, 0.8);
    drawing_dashes(plot->drawing, x, plot->y, x, end, COLOUR_WARN, 0.8);
    if (headroom.roof && headroom.factor > 1 && log10(headroom.attainable) > window->bottom) {
        double roof = fmax(y_of(plot, log10(headroom.attainable)), plot->y);
        double width = drawing_text_width(roofline_number(number, sizeof number, round(headroom.factor * 100) / 100), LETTERS, true) + 42;
        drawing_line(plot->drawing, x, y, x, roof, COLOUR_WARN, 2.5);
        if (y - roof < 30) /* no room for its number: the line of facts has it */
            return;
        drawing_rect(plot->drawing, x + 5, (y + roof) / 2 - 7, width, 14, COLOUR_GROUND);
        drawing_textf(plot->drawing, x + 7, (y + roof) / 2 + 4, 0, (struct lettering){.size = LETTERS, .colour = COLOUR_WARN, .bold = true}, "%s times", number);
    }
}

static void draw_selected(struct plot *plot)
{
    const struct roofline_scene *scene = plot->scene;
    if (scene->selected < 0 || (size_t)scene->selected >= scene->chart->point_count || !is_inside(scene, &scene->chart->points[scene->selected]))
        return;
    const struct roofline_point *point = &scene->chart->points[scene->selected];
    struct label label = label_of(plot, point, true);
    draw_crosshair(plot, point);
    draw_label(plot, point, &label, true);
    draw_point(plot, (size_t)scene->selected);
    drawing_ring(plot->drawing, x_of(plot, log10(point->intensity)), y_of(plot, log10(point->performance)), radius_of(point) + 2.5, COLOUR_WARN, 1.75);
}

void draw_roofline(struct drawing *drawing, const struct roofline_scene *scene)
{
    double top = scene->titled ? 44 : MARGIN;
    struct plot plot = {drawing, scene, LEFT, top, fmax(scene->width - LEFT - MARGIN, 10), fmax(scene->height - top - BOTTOM, 10)};
    drawing->width = scene->width;
    drawing->height = scene->height;
    drawing->title = scene->chart->title;
    if (scene->titled)
        drawing_name(drawing, LEFT, 26, plot.width, (struct lettering){.size = 15, .bold = true}, scene->chart->title);
    draw_x_axis(&plot);
    draw_y_axis(&plot);
    drawing_frame(drawing, plot.x, plot.y, plot.width, plot.height, COLOUR_FAINT, 1);
    bool crowded = scene->chart->point_count > CROWD;
    if (crowded)
        draw_points(&plot);
    draw_roofs(&plot);
    draw_names(&plot);
    if (!crowded)
        draw_points(&plot);
    draw_selected(&plot);
}
