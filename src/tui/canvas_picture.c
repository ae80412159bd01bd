/* SPDX-License-Identifier: MIT */
/* What is drawn on a canvas as text. */
#include "canvas.h"

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
