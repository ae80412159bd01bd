/* SPDX-License-Identifier: MIT */
/* Character cells of UTF-8 text. libc's wcwidth depends on the locale, which we leave alone; the ranges here are the
 * blocks that terminals draw wide or not at all. */
#include "table.h"

#include <stdint.h>
#include <string.h>

struct range {
    uint32_t first, last;
};

static const struct range zero_width[] = {
    {0x0000, 0x001f}, {0x007f, 0x009f}, {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd}, {0x0610, 0x061a},
    {0x064b, 0x065f}, {0x06d6, 0x06dc}, {0x0900, 0x0902}, {0x093c, 0x093c}, {0x0941, 0x0948}, {0x0e31, 0x0e31},
    {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e}, {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200f}, {0x202a, 0x202e},
    {0x2060, 0x2064}, {0x20d0, 0x20f0}, {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};

static const struct range wide[] = {
    {0x1100, 0x115f}, {0x231a, 0x231b}, {0x23e9, 0x23ec},   {0x2e80, 0x303e},   {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff}, {0xa000, 0xa4cf}, {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
    {0xff00, 0xff60}, {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

static bool in_ranges(const struct range *ranges, size_t count, uint32_t code)
{
    for (size_t i = 0; i < count && ranges[i].first <= code; i++)
        if (code <= ranges[i].last)
            return true;
    return false;
}

static unsigned code_cells(uint32_t code)
{
    if (code >= 0x20 && code < 0x7f)
        return 1;
    if (in_ranges(zero_width, sizeof zero_width / sizeof *zero_width, code))
        return 0;
    return in_ranges(wide, sizeof wide / sizeof *wide, code) ? 2 : 1;
}

unsigned text_cells(const char *string, size_t length)
{
    unsigned cells = 0;
    while (length) {
        uint32_t code;
        size_t taken = utf8_decode(string, length, &code);
        cells += code_cells(code);
        string += taken;
        length -= taken;
    }
    return cells;
}
