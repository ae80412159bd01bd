/* SPDX-License-Identifier: MIT */
/*
 * Colours of all front ends, by what they stand for. Hues are derived from Okabe and Ito's set, which people with any kind of
 * colour blindness can tell apart; waits are grey and hatched, so that no meaning hangs on a colour alone.
 */
#ifndef HP_VIEW_PALETTE_H
#define HP_VIEW_PALETTE_H

#include "trace/event.h"

#define PALETTE_HUES 8
#define PALETTE_SHADES 3

enum colour {
    COLOUR_DEFAULT, /* the terminal's or toolkit's own */
    COLOUR_DIM,     /* text that steps back */
    COLOUR_FAINT,   /* rulers, frames, lines */
    COLOUR_ACCENT,  /* what the eye shall find */
    COLOUR_GOOD,
    COLOUR_WARN,
    COLOUR_BAD,
    COLOUR_BLACK,   /* text on light fills */
    COLOUR_WHITE,   /* text on deep fills */
    COLOUR_BAND,    /* background of bars along the edges */
    COLOUR_SELECTED,/* background of the selected row */
    COLOUR_WAIT,    /* background of waits */
    COLOUR_WAIT_TEXT,
    COLOUR_HUES,    /* PALETTE_HUES * PALETTE_SHADES of them */
    COLOUR_TERMINAL = COLOUR_HUES + PALETTE_HUES * PALETTE_SHADES, /* a terminal's own 16, as programs write in them */
    COLOUR_LESS = COLOUR_TERMINAL + 16, /* three of them: much less, less, a little less than before; then the same, then more */
    COLOUR_SAME = COLOUR_LESS + 3,
    COLOUR_COUNT = COLOUR_SAME + 4
};

enum theme { THEME_DARK, THEME_LIGHT };

struct rgb {
    uint8_t red, green, blue;
};
struct rgb palette_rgb(enum theme theme, enum colour colour);
unsigned palette_ansi(enum theme theme, enum colour colour); /* the nearest by meaning of 16 colours; for COLOUR_DEFAULT meaningless */
enum colour palette_nearest_terminal(struct rgb rgb);
enum colour palette_text_on(enum theme theme, enum colour fill);

/* Fill of a span: hue by kind, shade by name, so that neighbours of one kind differ. */
enum colour palette_for_span(enum span_kind kind, string_id category, string_id name);
/* Of a function in a stack: by its module; the kernel's have a hue of their own. */
enum colour palette_for_frame(uint32_t module, uint32_t function, bool kernel);
/* Spans that wait for somebody else rather than work. */
bool span_kind_waits(enum span_kind kind);

#endif
