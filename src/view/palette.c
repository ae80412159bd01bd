/* SPDX-License-Identifier: MIT */
/* Colours by meaning. */
#include "palette.h"

#include "base/map.h"

enum hue { HUE_BLUE, HUE_ORANGE, HUE_GREEN, HUE_PURPLE, HUE_SKY, HUE_YELLOW, HUE_RED, HUE_SLATE };

/* [theme][colour] up to the hues. */
static const struct rgb plain[2][COLOUR_HUES] = {
    [THEME_DARK] = {
        [COLOUR_DIM] = {140, 146, 156},   [COLOUR_FAINT] = {74, 80, 92},      [COLOUR_ACCENT] = {110, 190, 240},
        [COLOUR_GOOD] = {64, 184, 144},   [COLOUR_WARN] = {236, 176, 60},     [COLOUR_BAD] = {232, 112, 80},
        [COLOUR_BLACK] = {16, 18, 22},    [COLOUR_WHITE] = {244, 246, 250},   [COLOUR_BAND] = {36, 41, 51},
        [COLOUR_SELECTED] = {48, 60, 80}, [COLOUR_WAIT] = {52, 56, 64},       [COLOUR_WAIT_TEXT] = {150, 156, 166},
    },
    [THEME_LIGHT] = {
        [COLOUR_DIM] = {104, 110, 120},    [COLOUR_FAINT] = {186, 192, 200},   [COLOUR_ACCENT] = {0, 100, 170},
        [COLOUR_GOOD] = {0, 120, 84},      [COLOUR_WARN] = {160, 100, 0},      [COLOUR_BAD] = {184, 64, 20},
        [COLOUR_BLACK] = {16, 18, 22},     [COLOUR_WHITE] = {252, 252, 254},   [COLOUR_BAND] = {226, 231, 238},
        [COLOUR_SELECTED] = {200, 218, 240}, [COLOUR_WAIT] = {214, 217, 222},  [COLOUR_WAIT_TEXT] = {96, 102, 112},
    },
};

/* The middle shade of each hue. */
static const struct rgb hues[PALETTE_HUES] = {
    [HUE_BLUE] = {68, 138, 202},    [HUE_ORANGE] = {224, 158, 58}, [HUE_GREEN] = {52, 160, 124}, [HUE_PURPLE] = {196, 128, 168},
    [HUE_SKY] = {112, 182, 222},    [HUE_YELLOW] = {222, 206, 96}, [HUE_RED] = {210, 108, 62},   [HUE_SLATE] = {128, 140, 164},
};
static const int shade_percent[PALETTE_SHADES] = {84, 100, 114};

/* As most terminals have them. */
static const struct rgb of_terminals[16] = {
    {0, 0, 0},       {205, 49, 49},   {13, 188, 121},  {205, 180, 30},  {60, 110, 210},  {188, 63, 188},  {17, 168, 205},  {229, 229, 229},
    {102, 102, 102}, {241, 76, 76},   {35, 209, 139},  {245, 245, 67},  {90, 150, 250},  {214, 112, 214}, {41, 184, 219},  {255, 255, 255},
};

/* From much less than before to much more: blue to vermilion, which everybody can tell apart, the stronger the more. */
static const struct rgb changes[2][7] = {
    [THEME_DARK] = {{56, 140, 236}, {72, 118, 176}, {84, 104, 132}, {92, 96, 104}, {138, 104, 90}, {186, 106, 72}, {236, 112, 56}},
    [THEME_LIGHT] = {{40, 120, 220}, {112, 168, 228}, {180, 204, 230}, {214, 217, 222}, {236, 206, 190}, {238, 160, 124}, {226, 100, 44}},
};

static uint8_t scaled(uint8_t part, int percent)
{
    int value = part * percent / 100;
    return (uint8_t)(value > 255 ? 255 : value);
}

struct rgb palette_rgb(enum theme theme, enum colour colour)
{
    if (colour < COLOUR_HUES)
        return plain[theme][colour];
    if (colour >= COLOUR_LESS)
        return changes[theme][(unsigned)(colour - COLOUR_LESS) % 7];
    if (colour >= COLOUR_TERMINAL)
        return of_terminals[(unsigned)(colour - COLOUR_TERMINAL) % 16];
    unsigned number = (unsigned)colour - COLOUR_HUES;
    struct rgb base = hues[number / PALETTE_SHADES % PALETTE_HUES];
    int percent = shade_percent[number % PALETTE_SHADES];
    return (struct rgb){scaled(base.red, percent), scaled(base.green, percent), scaled(base.blue, percent)};
}

unsigned palette_ansi(enum theme theme, enum colour colour)
{
    static const uint8_t dark[COLOUR_HUES] = {
        [COLOUR_DIM] = 7,   [COLOUR_FAINT] = 8,  [COLOUR_ACCENT] = 14, [COLOUR_GOOD] = 10, [COLOUR_WARN] = 11,     [COLOUR_BAD] = 9,
        [COLOUR_BLACK] = 0, [COLOUR_WHITE] = 15, [COLOUR_BAND] = 8,    [COLOUR_SELECTED] = 4, [COLOUR_WAIT] = 8,   [COLOUR_WAIT_TEXT] = 7};
    static const uint8_t light[COLOUR_HUES] = {
        [COLOUR_DIM] = 8,   [COLOUR_FAINT] = 7,  [COLOUR_ACCENT] = 4, [COLOUR_GOOD] = 2, [COLOUR_WARN] = 3,        [COLOUR_BAD] = 1,
        [COLOUR_BLACK] = 0, [COLOUR_WHITE] = 15, [COLOUR_BAND] = 7,   [COLOUR_SELECTED] = 6, [COLOUR_WAIT] = 7,    [COLOUR_WAIT_TEXT] = 8};
    static const uint8_t by_hue[PALETTE_HUES] = {4, 3, 2, 5, 6, 11, 1, 7}, by_change[7] = {12, 4, 6, 7, 3, 1, 9};
    if (colour < COLOUR_HUES)
        return theme == THEME_DARK ? dark[colour] : light[colour];
    if (colour >= COLOUR_LESS)
        return by_change[(unsigned)(colour - COLOUR_LESS) % 7];
    if (colour >= COLOUR_TERMINAL)
        return (unsigned)(colour - COLOUR_TERMINAL) % 16;
    return by_hue[((unsigned)colour - COLOUR_HUES) / PALETTE_SHADES % PALETTE_HUES];
}

enum colour palette_nearest_terminal(struct rgb rgb)
{
    int best = 0, best_distance = INT32_MAX;
    for (int i = 0; i < 16; i++) {
        int red = of_terminals[i].red - rgb.red, green = of_terminals[i].green - rgb.green, blue = of_terminals[i].blue - rgb.blue;
        int distance = 3 * red * red + 4 * green * green + 2 * blue * blue;
        if (distance < best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return (enum colour)(COLOUR_TERMINAL + best);
}

enum colour palette_text_on(enum theme theme, enum colour fill)
{
    struct rgb rgb = palette_rgb(theme, fill);
    int luminance = (299 * rgb.red + 587 * rgb.green + 114 * rgb.blue) / 1000;
    return luminance > 110 ? COLOUR_BLACK : COLOUR_WHITE;
}

static enum hue hue_of_kind(enum span_kind kind)
{
    switch (kind) {
    case SPAN_KIND_KERNEL: case SPAN_KIND_GRAPH: case SPAN_KIND_COMPUTE:
        return HUE_BLUE;
    case SPAN_KIND_COPY: case SPAN_KIND_FILL: case SPAN_KIND_MAP: case SPAN_KIND_IO:
        return HUE_ORANGE;
    case SPAN_KIND_SEND: case SPAN_KIND_RECV: case SPAN_KIND_COLLECTIVE: case SPAN_KIND_RMA: case SPAN_KIND_COMM:
        return HUE_GREEN;
    case SPAN_KIND_LAUNCH: case SPAN_KIND_API: case SPAN_KIND_ALLOC: case SPAN_KIND_TARGET: case SPAN_KIND_INIT: case SPAN_KIND_BUILD:
        return HUE_PURPLE;
    case SPAN_KIND_PARALLEL: case SPAN_KIND_IMPLICIT_TASK: case SPAN_KIND_LOOP: case SPAN_KIND_SECTIONS: case SPAN_KIND_SINGLE:
    case SPAN_KIND_TASK: case SPAN_KIND_TASKGROUP: case SPAN_KIND_TASK_CREATE: case SPAN_KIND_MASKED: case SPAN_KIND_WORKSHARE:
        return HUE_SKY;
    case SPAN_KIND_RANGE:
        return HUE_YELLOW;
    case SPAN_KIND_CRITICAL: case SPAN_KIND_FAULT: case SPAN_KIND_ORDERED:
        return HUE_RED;
    default:
        return HUE_SLATE;
    }
}

enum colour palette_for_span(enum span_kind kind, string_id category, string_id name)
{
    /* Nothing says what a foreign file's spans are: their category's hue. */
    static const enum hue foreign[] = {HUE_BLUE, HUE_GREEN, HUE_PURPLE, HUE_ORANGE, HUE_SKY};
    enum hue hue = hue_of_kind(kind);
    if (kind == SPAN_KIND_UNKNOWN)
        hue = foreign[hash_u64(category.index) % (sizeof foreign / sizeof *foreign)];
    return (enum colour)(COLOUR_HUES + (unsigned)hue * PALETTE_SHADES + hash_u64(name.index) % PALETTE_SHADES);
}

enum colour palette_for_frame(uint32_t module, uint32_t function, bool kernel)
{
    static const enum hue of_modules[] = {HUE_ORANGE, HUE_SKY, HUE_GREEN, HUE_YELLOW, HUE_PURPLE, HUE_BLUE};
    enum hue hue = kernel ? HUE_RED : of_modules[module % (sizeof of_modules / sizeof *of_modules)];
    return (enum colour)(COLOUR_HUES + (unsigned)hue * PALETTE_SHADES + hash_u64(function) % PALETTE_SHADES);
}

bool span_kind_waits(enum span_kind kind)
{
    switch (kind) {
    case SPAN_KIND_WAIT: case SPAN_KIND_BARRIER: case SPAN_KIND_TASKWAIT: case SPAN_KIND_SYNC: case SPAN_KIND_BLOCKED: case SPAN_KIND_LOCK:
    case SPAN_KIND_PROBE: case SPAN_KIND_TEST:
        return true;
    default:
        return false;
    }
}
