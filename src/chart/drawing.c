/* SPDX-License-Identifier: MIT */
/* Collecting marks. */
#include "drawing_internal.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void drawing_init(struct drawing *drawing, enum theme theme)
{
    *drawing = (struct drawing){.theme = theme, .title = ""};
}

void drawing_finish(struct drawing *drawing)
{
    free(drawing->marks);
    free(drawing->points);
    text_finish(&drawing->words);
    *drawing = (struct drawing){0};
}

struct rgb drawing_rgb(const struct drawing *drawing, unsigned colour)
{
    bool dark = drawing->theme == THEME_DARK;
    if (colour == COLOUR_GROUND)
        return dark ? (struct rgb){20, 23, 28} : (struct rgb){255, 255, 255};
    if (colour == COLOUR_DEFAULT)
        return dark ? (struct rgb){216, 220, 228} : (struct rgb){32, 36, 40};
    return palette_rgb(drawing->theme, (enum colour)colour);
}

/* A scrap mark where memory is short: it is written to and forgotten. */
static struct drawing_mark *add_mark(struct drawing *drawing, enum drawing_shape shape, enum colour colour)
{
    static _Thread_local struct drawing_mark scrap;
    struct drawing_mark *marks = array_reserve(drawing->marks, &drawing->capacity, drawing->count + 1, sizeof *marks);
    struct drawing_mark *mark = &scrap;
    if (marks) {
        drawing->marks = marks;
        mark = &marks[drawing->count++];
    } else {
        drawing->failed = true;
    }
    *mark = (struct drawing_mark){.shape = (uint8_t)shape, .colour = (uint8_t)colour};
    return mark;
}

static void add_box(struct drawing *drawing, enum drawing_shape shape, double x, double y, double width, double height, enum colour colour, double thickness)
{
    if (!(width > 0) || !(height > 0))
        return;
    struct drawing_mark *mark = add_mark(drawing, shape, colour);
    mark->x = x;
    mark->y = y;
    mark->width = width;
    mark->height = height;
    mark->thickness = (float)thickness;
}

void drawing_rect(struct drawing *drawing, double x, double y, double width, double height, enum colour colour)
{
    add_box(drawing, SHAPE_RECT, x, y, width, height, colour, 0);
}

void drawing_frame(struct drawing *drawing, double x, double y, double width, double height, enum colour colour, double thickness)
{
    add_box(drawing, SHAPE_FRAME, x, y, width, height, colour, thickness);
}

void drawing_hatch(struct drawing *drawing, double x, double y, double width, double height, enum colour colour)
{
    add_box(drawing, SHAPE_HATCH, x, y, width, height, colour, 1);
}

static void add_points(struct drawing *drawing, enum drawing_shape shape, const struct drawing_point *points, size_t count, enum colour colour, double thickness)
{
    struct drawing_point *all = array_reserve(drawing->points, &drawing->point_capacity, drawing->point_count + count, sizeof *all);
    if (!all || count < 2) {
        drawing->failed |= !all;
        return;
    }
    drawing->points = all;
    memcpy(all + drawing->point_count, points, count * sizeof *points);
    struct drawing_mark *mark = add_mark(drawing, shape, colour);
    mark->first = drawing->point_count;
    mark->count = count;
    mark->thickness = (float)thickness;
    drawing->point_count += count;
}

void drawing_lines(struct drawing *drawing, const struct drawing_point *points, size_t count, enum colour colour, double thickness)
{
    add_points(drawing, SHAPE_LINE, points, count, colour, thickness);
}

void drawing_area(struct drawing *drawing, const struct drawing_point *points, size_t count, enum colour colour)
{
    add_points(drawing, SHAPE_AREA, points, count, colour, 0);
}

void drawing_line(struct drawing *drawing, double x, double y, double to_x, double to_y, enum colour colour, double thickness)
{
    add_points(drawing, SHAPE_LINE, (struct drawing_point[]){{x, y}, {to_x, to_y}}, 2, colour, thickness);
}

void drawing_dashes(struct drawing *drawing, double x, double y, double to_x, double to_y, enum colour colour, double thickness)
{
    add_points(drawing, SHAPE_DASHES, (struct drawing_point[]){{x, y}, {to_x, to_y}}, 2, colour, thickness);
}

void drawing_circle(struct drawing *drawing, double x, double y, double radius, enum colour colour)
{
    add_box(drawing, SHAPE_CIRCLE, x, y, radius, radius, colour, 0);
}

void drawing_ring(struct drawing *drawing, double x, double y, double radius, enum colour colour, double thickness)
{
    add_box(drawing, SHAPE_RING, x, y, radius, radius, colour, thickness);
}

void drawing_tip(struct drawing *drawing, const char *text)
{
    if (!drawing->count || !*text)
        return;
    size_t first = drawing->words.length;
    text_add_line(&drawing->words, text, strlen(text));
    drawing->failed |= drawing->words.failed;
    drawing->marks[drawing->count - 1].tip = first;
    drawing->marks[drawing->count - 1].tip_length = drawing->words.length - first;
}

void pixels_finish(struct pixels *pixels)
{
    free(pixels->data);
    *pixels = (struct pixels){0};
}

void drawing_add_letters(struct drawing *drawing, double x, double y, double width, bool tight, const struct lettering *lettering, const char *text, size_t length)
{
    size_t first = drawing->words.length;
    text_add(&drawing->words, text, length);
    struct drawing_mark *mark = add_mark(drawing, SHAPE_TEXT, lettering->colour);
    drawing->failed |= drawing->words.failed;
    mark->x = x;
    mark->y = y;
    mark->width = width;
    mark->tight = tight;
    mark->anchor = (uint8_t)lettering->anchor;
    mark->bold = lettering->bold;
    mark->upright = lettering->upright;
    mark->thickness = (float)lettering->size;
    mark->first = first;
    mark->count = drawing->words.length - first;
}
