/* SPDX-License-Identifier: MIT */
/* What is drawn on a canvas as text and as SVG. */
#include "canvas.h"

#include <string.h>

static void add_glyph(struct text *out, uint32_t code)
{
    char bytes[4];
    size_t length = 1;
    bytes[0] = (char)code;
    if (code >= 0x10000) {
        bytes[0] = (char)(0xf0 | code >> 18);
        bytes[1] = (char)(0x80 | (code >> 12 & 0x3f));
        bytes[2] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[3] = (char)(0x80 | (code & 0x3f));
        length = 4;
    } else if (code >= 0x800) {
        bytes[0] = (char)(0xe0 | code >> 12);
        bytes[1] = (char)(0x80 | (code >> 6 & 0x3f));
        bytes[2] = (char)(0x80 | (code & 0x3f));
        length = 3;
    } else if (code >= 0x80) {
        bytes[0] = (char)(0xc0 | code >> 6);
        bytes[1] = (char)(0x80 | (code & 0x3f));
        length = 2;
    }
    text_add(out, bytes, length);
}

static int row_end(const struct canvas *canvas, int y)
{
    int end = canvas->columns;
    while (end > 0 && canvas->cells[y * canvas->columns + end - 1].glyph == ' ')
        end--;
    return end;
}

void canvas_add_text(const struct canvas *canvas, struct text *out)
{
    for (int y = 0; y < canvas->rows; y++) {
        int end = row_end(canvas, y);
        for (int x = 0; x < end; x++)
            if (canvas->cells[y * canvas->columns + x].glyph)
                add_glyph(out, canvas->cells[y * canvas->columns + x].glyph);
        text_add_char(out, '\n');
    }
}

#define CELL_WIDTH 8.4
#define CELL_HEIGHT 17

static const char *css(const struct canvas *canvas, enum colour colour, const char *standard, char *out)
{
    struct rgb rgb = palette_rgb(canvas->theme, colour);
    if (colour == COLOUR_DEFAULT)
        return standard;
    snprintf(out, 8, "#%02x%02x%02x", rgb.red, rgb.green, rgb.blue);
    return out;
}

static bool same_look(struct look left, struct look right)
{
    return left.text == right.text && left.fill == right.fill && left.attributes == right.attributes;
}

static void add_run(const struct canvas *canvas, int y, int x, int end, struct text *out)
{
    char text_colour[8], fill_colour[8];
    const struct cell *cells = &canvas->cells[y * canvas->columns];
    bool dark = canvas->theme == THEME_DARK, reverse = cells[x].look.attributes & CELL_REVERSE;
    const char *text = css(canvas, cells[x].look.text, dark ? "#d8dce4" : "#202428", text_colour);
    const char *fill = css(canvas, cells[x].look.fill, dark ? "#14171c" : "#fcfcfd", fill_colour);
    if (cells[x].look.fill != COLOUR_DEFAULT || reverse)
        text_addf(out, "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x * CELL_WIDTH, y * CELL_HEIGHT,
                  (end - x) * CELL_WIDTH + 0.3, CELL_HEIGHT, reverse ? text : fill);
    text_addf(out, "<text x=\"%.1f\" y=\"%d\" textLength=\"%.1f\" fill=\"%s\"%s>", x * CELL_WIDTH, y * CELL_HEIGHT + 13,
              (end - x) * CELL_WIDTH, reverse ? fill : text, cells[x].look.attributes & CELL_BOLD ? " font-weight=\"bold\"" : "");
    for (; x < end; x++) {
        uint32_t glyph = cells[x].glyph;
        if (glyph == '<' || glyph == '&')
            text_add_string(out, glyph == '<' ? "&lt;" : "&amp;");
        else if (glyph)
            add_glyph(out, glyph);
    }
    text_add_string(out, "</text>\n");
}

void canvas_add_svg(const struct canvas *canvas, struct text *out)
{
    text_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" font-family=\"'DejaVu Sans Mono',Menlo,monospace\" "
              "font-size=\"14\" xml:space=\"preserve\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"%s\"/>\n",
              canvas->columns * CELL_WIDTH, canvas->rows * CELL_HEIGHT, canvas->theme == THEME_DARK ? "#14171c" : "#fcfcfd");
    for (int y = 0; y < canvas->rows; y++) {
        const struct cell *cells = &canvas->cells[y * canvas->columns];
        for (int x = 0, end; x < canvas->columns; x = end) {
            bool blank = true;
            for (end = x; end < canvas->columns && same_look(cells[end].look, cells[x].look); end++)
                blank &= cells[end].glyph == ' ';
            if (!blank || cells[x].look.fill != COLOUR_DEFAULT || cells[x].look.attributes & CELL_REVERSE)
                add_run(canvas, y, x, end, out);
        }
    }
    text_add_string(out, "</svg>\n");
}
