/* SPDX-License-Identifier: MIT */
/* The Flame Graph tab's trace beside another one: plain, compared, or the other one as it was. */
#ifndef HP_TUI_FLAME_SIDES_H
#define HP_TUI_FLAME_SIDES_H

#include "app.h"

#include "view/flame_difference.h"

enum flame_shown { FLAME_PLAIN, FLAME_NOW, FLAME_BEFORE, FLAME_SHOWN_COUNT };

struct flame_sides {
    enum flame_shown shown;
    const struct trace *trace;             /* whose frames are shown */
    struct calling_context *other;         /* what they are compared with; NULL: nothing */
    struct frame_difference *differences;  /* by node; NULL: plain */
};

/* The tree to be shown, the caller's. */
int flame_sides_make(struct app *app, struct flame_sides *sides, bool bottom_up, struct calling_context **ret_context, struct error *err);
void flame_sides_finish(struct flame_sides *sides);
bool flame_sides_turn(struct app *app, struct flame_sides *sides); /* to the next; false: there is nothing to compare with */
void flame_sides_draw_legend(struct app *app, const struct flame_sides *sides, int y, int columns);

/* The names of the trace whose frames are shown, and of the one that these are compared with. */
const char *flame_sides_shown_name(const struct app *app, const struct flame_sides *sides);
const char *flame_sides_other_name(const struct app *app, const struct flame_sides *sides);

static inline bool flame_sides_reversed(const struct flame_sides *sides)
{
    return sides->shown == FLAME_BEFORE;
}

#endif
