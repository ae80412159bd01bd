/* SPDX-License-Identifier: MIT */
/*
 * The terminal of the program that is recorded, below the tabs or in their place: it shows what the program writes, and gives it the
 * keyboard. What the program writes is read whether the pane is shown or not: it must never wait for us.
 */
#ifndef HP_TUI_PROGRAM_PANE_H
#define HP_TUI_PROGRAM_PANE_H

#include "canvas.h"
#include "keys.h"

struct error;
struct input;
struct live_run;
struct program_screen;

enum pane_size { PANE_HIDDEN, PANE_PART, PANE_WHOLE };

struct program_pane {
    struct program_screen *screen;
    const struct live_run *run;
    int terminal;          /* what the program writes, and what it shall read; -1: nothing more */
    bool exists;           /* the program has such a terminal */
    enum pane_size size;
    bool typing;           /* keys are the program's */
    size_t scrolled;       /* lines back from the newest */
    struct text unsent;    /* what the program has not read yet */
    bool shown;            /* there was room for it */
    struct area area;      /* of its text; the title is above it */
};

int program_pane_open(struct program_pane *pane, const struct live_run *run, struct error *err);
void program_pane_close(struct program_pane *pane);

/* Reads what there is, up to a limit, and sends what waits; true: the picture changed. */
bool program_pane_listen(struct program_pane *pane);
/* Takes its part of an area, tells the program how large that is, and returns what is left for the tab. */
struct area program_pane_place(struct program_pane *pane, struct area all);
void program_pane_draw(struct program_pane *pane, struct canvas *canvas);
bool program_pane_cursor(const struct program_pane *pane, int *ret_y, int *ret_x); /* on the canvas; false: not to be shown */

void program_pane_key(struct program_pane *pane, uint32_t key);
bool program_pane_act(struct program_pane *pane, enum action action); /* scrolls; false: that is not for it */
bool program_pane_mouse(struct program_pane *pane, const struct input *input); /* false: it was elsewhere */

#endif
