/* SPDX-License-Identifier: MIT */
/* A drawing as SVG: one element a mark, texts as texts, so that they can be searched, read aloud and edited. */
#include "drawing_internal.h"

#include <math.h>
#include <string.h>

/* At most two decimals, none where they are zero. */
static void add_number(struct text *out, double value)
{
    char digits[32];
    if (!(fabs(value) < 1e7))
        value = value < 0 ? -1e7 : 1e7;
    int hundredths = (int)lround(fabs(value) * 100), length = 0;
    if (value < 0 && hundredths)
        text_add_char(out, '-');
    length = snprintf(digits, sizeof digits, "%d", hundredths / 100);
    text_add(out, digits, (size_t)length);
    if (hundredths % 100 == 0)
        return;
    snprintf(digits, sizeof digits, ".%02d", hundredths % 100);
    text_add(out, digits, digits[2] == '0' ? 2 : 3);
}

static void add_attribute(struct text *out, const char *name, double value)
{
    text_addf(out, " %s=\"", name);
    add_number(out, value);
    text_add_char(out, '"');
}

static void add_colour(struct text *out, const struct drawing *drawing, const char *name, unsigned colour)
{
    struct rgb rgb = drawing_rgb(drawing, colour);
    text_addf(out, " %s=\"#%02x%02x%02x\"", name, rgb.red, rgb.green, rgb.blue);
}

/* What was cleaned already, without what XML knows as its own or forbids. */
static void add_words(struct text *out, const char *words, size_t length)
{
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = utf8_decode(words + at, length - at, &code);
        if (code == '<')
            text_add_string(out, "&lt;");
        else if (code == '>')
            text_add_string(out, "&gt;");
        else if (code == '&')
            text_add_string(out, "&amp;");
        else if (code == '"')
            text_add_string(out, "&quot;");
        else if ((code & 0xfffe) == 0xfffe || (code >= 0x7f && code < 0xa0))
            text_add_char(out, '?');
        else
            text_add(out, words + at, taken);
        at += taken;
    }
}

static void add_tip(struct text *out, const struct drawing *drawing, const struct drawing_mark *mark, const char *element)
{
    if (!mark->tip_length) {
        text_add_string(out, "/>\n");
        return;
    }
    text_add_string(out, "><title>");
    add_words(out, drawing->words.data + mark->tip, mark->tip_length);
    text_addf(out, "</title></%s>\n", element);
}

static void add_box(struct text *out, const struct drawing *drawing, const struct drawing_mark *mark)
{
    text_add_string(out, "<rect");
    add_attribute(out, "x", mark->x);
    add_attribute(out, "y", mark->y);
    add_attribute(out, "width", mark->width);
    add_attribute(out, "height", mark->height);
    if (mark->shape == SHAPE_RECT) {
        add_colour(out, drawing, "fill", mark->colour);
    } else if (mark->shape == SHAPE_HATCH) {
        text_addf(out, " fill=\"url(#hatch%u)\"", mark->colour);
    } else {
        text_add_string(out, " class=\"f\"");
        add_colour(out, drawing, "stroke", mark->colour);
        add_attribute(out, "stroke-width", (double)mark->thickness);
    }
    add_tip(out, drawing, mark, "rect");
}

static void add_points(struct text *out, const struct drawing *drawing, const struct drawing_mark *mark)
{
    bool area = mark->shape == SHAPE_AREA;
    text_addf(out, "<%s points=\"", area ? "polygon" : "polyline");
    for (size_t i = 0; i < mark->count; i++) {
        const struct drawing_point *point = &drawing->points[mark->first + i];
        if (i)
            text_add_char(out, ' ');
        add_number(out, point->x);
        text_add_char(out, ',');
        add_number(out, point->y);
    }
    text_add_char(out, '"');
    if (area) {
        add_colour(out, drawing, "fill", mark->colour);
    } else {
        text_add_string(out, mark->shape == SHAPE_DASHES ? " class=\"f d\"" : " class=\"f\"");
        add_colour(out, drawing, "stroke", mark->colour);
        add_attribute(out, "stroke-width", (double)mark->thickness);
    }
    add_tip(out, drawing, mark, area ? "polygon" : "polyline");
}

static void add_circle(struct text *out, const struct drawing *drawing, const struct drawing_mark *mark)
{
    bool ring = mark->shape == SHAPE_RING;
    text_add_string(out, "<circle");
    add_attribute(out, "cx", mark->x);
    add_attribute(out, "cy", mark->y);
    add_attribute(out, "r", mark->width);
    if (ring) {
        text_add_string(out, " class=\"f\"");
        add_attribute(out, "stroke-width", (double)mark->thickness);
    }
    add_colour(out, drawing, ring ? "stroke" : "fill", mark->colour);
    add_tip(out, drawing, mark, "circle");
}

static void add_text(struct text *out, const struct drawing *drawing, const struct drawing_mark *mark)
{
    static const char *const anchors[] = {"", " text-anchor=\"middle\"", " text-anchor=\"end\""};
    text_add_string(out, "<text");
    if (mark->upright) {
        text_add_string(out, " transform=\"translate(");
        add_number(out, mark->x);
        text_add_char(out, ' ');
        add_number(out, mark->y);
        text_add_string(out, ") rotate(-90)\"");
    } else {
        add_attribute(out, "x", mark->x);
        add_attribute(out, "y", mark->y);
    }
    add_attribute(out, "font-size", (double)mark->thickness);
    add_colour(out, drawing, "fill", mark->colour);
    text_addf(out, "%s%s", anchors[mark->anchor], mark->bold ? " font-weight=\"bold\"" : "");
    if (mark->tight) {
        add_attribute(out, "textLength", mark->width);
        text_add_string(out, " lengthAdjust=\"spacingAndGlyphs\"");
    }
    text_add_char(out, '>');
    add_words(out, drawing->words.data + mark->first, mark->count);
    text_add_string(out, "</text>\n");
}

/* A pattern for each colour that areas are hatched in. */
static void add_hatches(struct text *out, const struct drawing *drawing)
{
    bool known[256] = {false};
    for (size_t i = 0; i < drawing->count; i++) {
        const struct drawing_mark *mark = &drawing->marks[i];
        if (mark->shape != SHAPE_HATCH || known[mark->colour])
            continue;
        known[mark->colour] = true;
        text_addf(out, "<pattern id=\"hatch%u\" width=\"%g\" height=\"%g\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1,1L1,-1M0,%gL%g,0M%g,%gL%g,%g\"",
                  mark->colour, HATCH_STEP, HATCH_STEP, HATCH_STEP, HATCH_STEP, HATCH_STEP - 1, HATCH_STEP + 1, HATCH_STEP + 1, HATCH_STEP - 1);
        add_colour(out, drawing, "stroke", mark->colour);
        text_add_string(out, "/></pattern>\n");
    }
}

void drawing_add_svg(const struct drawing *drawing, struct text *out)
{
    text_add_string(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"");
    add_attribute(out, "width", drawing->width);
    add_attribute(out, "height", drawing->height);
    text_add_string(out, " viewBox=\"0 0 ");
    add_number(out, drawing->width);
    text_add_char(out, ' ');
    add_number(out, drawing->height);
    text_add_string(out, "\" font-family=\"" DRAWING_FONT ",Verdana,Helvetica,Arial,sans-serif\" xml:space=\"preserve\">\n<title>");
    add_words(out, drawing->title, strlen(drawing->title));
    text_add_string(out, "</title>\n<style>rect{shape-rendering:crispEdges}.f{fill:none;stroke-linejoin:round}.d{stroke-dasharray:4 3}</style>\n<defs>\n");
    add_hatches(out, drawing);
    text_add_string(out, "</defs>\n<rect width=\"100%\" height=\"100%\"");
    add_colour(out, drawing, "fill", COLOUR_GROUND);
    text_add_string(out, "/>\n");
    for (size_t i = 0; i < drawing->count; i++) {
        const struct drawing_mark *mark = &drawing->marks[i];
        if (mark->shape == SHAPE_TEXT)
            add_text(out, drawing, mark);
        else if (mark->shape <= SHAPE_HATCH)
            add_box(out, drawing, mark);
        else if (mark->shape <= SHAPE_AREA)
            add_points(out, drawing, mark);
        else
            add_circle(out, drawing, mark);
    }
    text_add_string(out, "</svg>\n");
    if (drawing->failed)
        out->failed = true;
}
