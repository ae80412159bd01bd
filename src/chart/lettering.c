/* SPDX-License-Identifier: MIT */
/*
 * Texts of drawings: cleaned, measured and cut. The widths are those of DejaVu Sans, which is wider than most: where another font stands
 * in for it, a text takes less room rather than more.
 */
#include "drawing_internal.h"

#include "view/table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Thousandths of the size, for ' ' to '~'. */
static const uint16_t widths[2][95] = {
    {318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636,
     636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
     603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635,
     634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838},
    {348, 456, 521, 838, 696, 1002, 872, 306, 457, 457, 523, 838, 380, 415, 380, 365, 696, 696, 696, 696, 696, 696, 696, 696,
     696, 696, 400, 400, 838, 838, 838, 580, 1000, 774, 762, 734, 830, 683, 683, 821, 837, 372, 372, 775, 637, 995, 837, 850,
     733, 850, 770, 720, 682, 812, 774, 1103, 771, 724, 725, 457, 365, 457, 838, 500, 500, 675, 716, 593, 716, 678, 435, 716,
     712, 343, 343, 665, 343, 1042, 712, 687, 716, 716, 493, 595, 478, 712, 652, 924, 645, 652, 582, 712, 365, 712, 838}};
#define ELLIPSIS "\xe2\x80\xa6"
#define ELLIPSIS_WIDTH 1.0 /* of the size */
#define OTHER_WIDTH 0.66   /* letters beyond ASCII */

static double code_width(const char *at, size_t taken, uint32_t code, bool bold)
{
    unsigned cells = text_cells(at, taken);
    if (code >= ' ' && code <= '~')
        return widths[bold][code - ' '] / 1000.0;
    return cells == 2 ? 1.05 : cells == 0 ? 0 : code == 0x2026 ? ELLIPSIS_WIDTH : OTHER_WIDTH;
}

static double width_of(const char *text, size_t length, bool bold)
{
    double width = 0;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = utf8_decode(text + at, length - at, &code);
        width += code_width(text + at, taken, code, bold);
        at += taken;
    }
    return width;
}

double drawing_text_width(const char *text, double size, bool bold)
{
    return width_of(text, strlen(text), bold) * size;
}

/* Bytes from the begin that take at most `room`. */
static size_t head_within(const char *text, size_t length, bool bold, double room)
{
    size_t at = 0;
    while (at < length) {
        uint32_t code;
        size_t taken = utf8_decode(text + at, length - at, &code);
        room -= code_width(text + at, taken, code, bold);
        if (room < 0)
            break;
        at += taken;
    }
    return at;
}

/* Where a tail begins that takes at most `room`. */
static size_t tail_within(const char *text, size_t length, bool bold, double room)
{
    size_t at = 0;
    double left = width_of(text, length, bold);
    while (at < length && left > room) {
        uint32_t code;
        size_t taken = utf8_decode(text + at, length - at, &code);
        left -= code_width(text + at, taken, code, bold);
        at += taken;
    }
    return at;
}

/* The text as it fits, `tail` of the room for its end. False: nothing of it does. */
static bool cut(const struct text *clean, bool bold, double room, double tail, struct text *out)
{
    double inner = room - ELLIPSIS_WIDTH;
    size_t head = inner > 0 ? head_within(clean->data, clean->length, bold, inner * (1 - tail)) : 0;
    size_t rest = tail > 0 && inner > 0 ? tail_within(clean->data, clean->length, bold, inner * tail) : clean->length;
    if (!head)
        return false;
    text_add(out, clean->data, head);
    text_add_string(out, ELLIPSIS);
    text_add(out, clean->data + rest, clean->length - rest);
    return !out->failed;
}

static double place(struct drawing *drawing, double x, double y, double room, const struct lettering *lettering, const char *text, double tail)
{
    struct text clean = TEXT_INIT, shorter = TEXT_INIT;
    const struct text *shown = &clean;
    double size = lettering->size, width = 0;
    text_add_line(&clean, text, strnlen(text, 4096));
    if (clean.length && !clean.failed && !(room < 0)) {
        width = width_of(clean.data, clean.length, lettering->bold) * size;
        if (room > 0 && width > room) {
            shown = &shorter;
            width = cut(&clean, lettering->bold, room / size, tail, &shorter) ? width_of(shorter.data, shorter.length, lettering->bold) * size : 0;
        }
        if (width > 0)
            drawing_add_letters(drawing, x, y, width, room > 0 && width * 1.15 > room, lettering, shown->data, shown->length);
    }
    drawing->failed |= clean.failed || shorter.failed;
    text_finish(&clean);
    text_finish(&shorter);
    return width;
}

double drawing_text(struct drawing *drawing, double x, double y, double room, struct lettering lettering, const char *text)
{
    return place(drawing, x, y, room, &lettering, text, 0);
}

double drawing_name(struct drawing *drawing, double x, double y, double room, struct lettering lettering, const char *name)
{
    return place(drawing, x, y, room, &lettering, name, room > lettering.size * 9 ? 0.4 : 0);
}

double drawing_textf(struct drawing *drawing, double x, double y, double room, struct lettering lettering, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return place(drawing, x, y, room, &lettering, text, 0);
}
