/* SPDX-License-Identifier: MIT */
/* A drawing as pixels, by cairo. */
#include "drawing_internal.h"

#include "base/error.h"
#include "view/table.h"

#include <errno.h>

#ifdef HP_HAVE_CAIRO

#include <cairo.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIXELS_MAX 16384 /* along an edge */

const char *drawing_pixels_unfit(void)
{
    return NULL;
}

static void set_colour(cairo_t *cairo, const struct drawing *drawing, unsigned colour)
{
    struct rgb rgb = drawing_rgb(drawing, colour);
    cairo_set_source_rgb(cairo, rgb.red / 255.0, rgb.green / 255.0, rgb.blue / 255.0);
}

static void paint_box(cairo_t *cairo, const struct drawing_mark *mark)
{
    /* As crisp as SVG's: edges lie on pixels, or a column of short spans would be a blur. */
    cairo_set_antialias(cairo, CAIRO_ANTIALIAS_NONE);
    cairo_rectangle(cairo, mark->x, mark->y, mark->width, mark->height);
    if (mark->shape == SHAPE_RECT)
        cairo_fill(cairo);
    else
        cairo_stroke(cairo);
    cairo_set_antialias(cairo, CAIRO_ANTIALIAS_DEFAULT);
}

static void paint_hatch(cairo_t *cairo, const struct drawing_mark *mark)
{
    double begin = ceil((mark->x + mark->y) / HATCH_STEP) * HATCH_STEP;
    long lines = (long)ceil((mark->x + mark->width + mark->y + mark->height - begin) / HATCH_STEP);
    cairo_save(cairo);
    cairo_rectangle(cairo, mark->x, mark->y, mark->width, mark->height);
    cairo_clip(cairo);
    /* Lines of x + y = a multiple of the step, so that neighbours go on as one. */
    for (long i = 0; i < lines; i++) {
        double sum = begin + (double)i * HATCH_STEP;
        cairo_move_to(cairo, sum - mark->y, mark->y);
        cairo_line_to(cairo, sum - mark->y - mark->height, mark->y + mark->height);
    }
    cairo_stroke(cairo);
    cairo_restore(cairo);
}

static void paint_points(cairo_t *cairo, const struct drawing *drawing, const struct drawing_mark *mark)
{
    static const double dashes[] = {4, 3};
    for (size_t i = 0; i < mark->count; i++)
        cairo_line_to(cairo, drawing->points[mark->first + i].x, drawing->points[mark->first + i].y);
    if (mark->shape == SHAPE_AREA) {
        cairo_close_path(cairo);
        cairo_fill(cairo);
        return;
    }
    cairo_set_dash(cairo, dashes, mark->shape == SHAPE_DASHES ? 2 : 0, 0);
    cairo_stroke(cairo);
    cairo_set_dash(cairo, dashes, 0, 0);
}

static void paint_circle(cairo_t *cairo, const struct drawing_mark *mark)
{
    cairo_new_sub_path(cairo);
    cairo_arc(cairo, mark->x, mark->y, mark->width, 0, 2 * 3.14159265358979);
    if (mark->shape == SHAPE_CIRCLE)
        cairo_fill(cairo);
    else
        cairo_stroke(cairo);
}

/* Code points that are no characters: cairo would draw nothing any more. Each becomes as many signs as it has bytes. */
static void replace_noncharacters(char *text)
{
    for (size_t at = 0, length = strlen(text); at < length;) {
        uint32_t code;
        size_t taken = utf8_decode(text + at, length - at, &code);
        if ((code & 0xfffe) == 0xfffe || (code >= 0xfdd0 && code <= 0xfdef))
            memset(text + at, '?', taken);
        at += taken;
    }
}

/* Where the font is another and wider than was measured, letters are made narrower. */
static void paint_text(cairo_t *cairo, const struct drawing *drawing, const struct drawing_mark *mark)
{
    char *text = strndup(drawing->words.data + mark->first, mark->count);
    cairo_text_extents_t extents;
    if (!text)
        return;
    replace_noncharacters(text);
    cairo_select_font_face(cairo, DRAWING_FONT, CAIRO_FONT_SLANT_NORMAL, mark->bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cairo, (double)mark->thickness);
    cairo_text_extents(cairo, text, &extents);
    double narrower = mark->tight && extents.x_advance > mark->width ? mark->width / extents.x_advance : 1;
    double width = extents.x_advance * narrower;
    cairo_save(cairo);
    cairo_translate(cairo, mark->x, mark->y);
    if (mark->upright)
        cairo_rotate(cairo, -3.14159265358979 / 2);
    cairo_translate(cairo, mark->anchor == ANCHOR_LEFT ? 0 : mark->anchor == ANCHOR_RIGHT ? -width : -width / 2, 0);
    cairo_scale(cairo, narrower, 1);
    cairo_move_to(cairo, 0, 0);
    cairo_show_text(cairo, text);
    cairo_restore(cairo);
    cairo_new_path(cairo);
    free(text);
}

/* Letters are placed to fractions of a pixel and not fitted to the grid, which differs from machine to machine. */
static void set_font_options(cairo_t *cairo)
{
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_set_font_options(cairo, options);
    cairo_font_options_destroy(options);
}

static void paint(cairo_t *cairo, const struct drawing *drawing)
{
    set_font_options(cairo);
    set_colour(cairo, drawing, COLOUR_GROUND);
    cairo_paint(cairo);
    cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
    for (size_t i = 0; i < drawing->count; i++) {
        const struct drawing_mark *mark = &drawing->marks[i];
        set_colour(cairo, drawing, mark->colour);
        cairo_set_line_width(cairo, (double)mark->thickness);
        if (mark->shape == SHAPE_TEXT)
            paint_text(cairo, drawing, mark);
        else if (mark->shape == SHAPE_HATCH)
            paint_hatch(cairo, mark);
        else if (mark->shape <= SHAPE_FRAME)
            paint_box(cairo, mark);
        else if (mark->shape <= SHAPE_AREA)
            paint_points(cairo, drawing, mark);
        else
            paint_circle(cairo, mark);
    }
}

static int render(const struct drawing *drawing, double scale, cairo_surface_t **ret_surface, struct error *err)
{
    double edge = fmax(drawing->width, drawing->height);
    if (drawing->failed)
        return error_set(err, -ENOMEM, "out of memory for a picture");
    if (!(edge >= 1))
        return error_set(err, -EINVAL, "there is nothing to draw");
    if (edge * scale > PIXELS_MAX)
        scale = PIXELS_MAX / edge;
    int width = (int)fmax(1, ceil(drawing->width * scale - 1e-6)), height = (int)fmax(1, ceil(drawing->height * scale - 1e-6));
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, width, height);
    cairo_t *cairo = cairo_create(surface);
    cairo_scale(cairo, scale, scale);
    paint(cairo, drawing);
    cairo_status_t status = cairo_status(cairo);
    cairo_destroy(cairo);
    cairo_surface_flush(surface);
    if (status != CAIRO_STATUS_SUCCESS) {
        cairo_surface_destroy(surface);
        return error_set(err, status == CAIRO_STATUS_NO_MEMORY ? -ENOMEM : -EIO, "cairo can't draw the picture: %s", cairo_status_to_string(status));
    }
    *ret_surface = surface;
    return 0;
}

int drawing_to_pixels(const struct drawing *drawing, double scale, struct pixels *ret_pixels, struct error *err)
{
    cairo_surface_t *surface = NULL;
    int result = render(drawing, scale, &surface, err);
    if (result < 0)
        return result;
    struct pixels pixels = {NULL, (unsigned)cairo_image_surface_get_width(surface), (unsigned)cairo_image_surface_get_height(surface),
                            (unsigned)cairo_image_surface_get_stride(surface)};
    size_t size = (size_t)pixels.stride * pixels.height;
    pixels.data = malloc(size);
    if (pixels.data)
        memcpy(pixels.data, cairo_image_surface_get_data(surface), size);
    cairo_surface_destroy(surface);
    if (!pixels.data)
        return error_set(err, -ENOMEM, "out of memory for a picture");
    for (size_t i = 3; i < size; i += 4) /* what cairo leaves undefined: all is opaque */
        pixels.data[i - (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 3 : 0)] = 255;
    *ret_pixels = pixels;
    return 0;
}

static cairo_status_t add_bytes(void *context, const unsigned char *data, unsigned length)
{
    struct text *out = context;
    text_add(out, (const char *)data, length);
    return out->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

int drawing_add_png(const struct drawing *drawing, double scale, struct text *out, struct error *err)
{
    cairo_surface_t *surface = NULL;
    int result = render(drawing, scale, &surface, err);
    if (result < 0)
        return result;
    cairo_status_t status = cairo_surface_write_to_png_stream(surface, add_bytes, out);
    cairo_surface_destroy(surface);
    return status == CAIRO_STATUS_SUCCESS ? 0 : error_set(err, -ENOMEM, "cairo can't write the picture: %s", cairo_status_to_string(status));
}

#else

#define UNFIT "this hprofiler was built without cairo (libcairo2-dev)"

const char *drawing_pixels_unfit(void)
{
    return UNFIT;
}

int drawing_to_pixels(const struct drawing *drawing, double scale, struct pixels *ret_pixels, struct error *err)
{
    (void)drawing;
    (void)scale;
    (void)ret_pixels;
    return error_set(err, -ENOTSUP, "%s", UNFIT);
}

int drawing_add_png(const struct drawing *drawing, double scale, struct text *out, struct error *err)
{
    (void)drawing;
    (void)scale;
    (void)out;
    return error_set(err, -ENOTSUP, "%s", UNFIT);
}

#endif
