/* SPDX-License-Identifier: MIT */
/* The Flame Graph tab's trace beside another one. */
#include "flame_sides.h"

#include "stacks.h"

#include "view/flame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void flame_sides_finish(struct flame_sides *sides)
{
    calling_context_destroy(TAKE_PTR(sides->other));
    free(TAKE_PTR(sides->differences));
}

/* A window is of this trace's time: the other one is compared as a whole. */
static struct context_options options_for(const struct app *app, bool bottom_up, bool is_other)
{
    struct context_options options = stacks_options(app, bottom_up);
    options.has_window &= !is_other;
    return options;
}

static int compare(struct app *app, struct flame_sides *sides, bool bottom_up, struct calling_context *context, struct error *err)
{
    bool reversed = flame_sides_reversed(sides);
    const struct trace *other_trace = reversed ? app->trace : app->other;
    struct context_options options = options_for(app, bottom_up, !reversed);
    int result = calling_context_create(other_trace, &options, &sides->other, err);
    if (result < 0)
        return result;
    bool is_part = options_for(app, bottom_up, false).has_window;
    struct flame_side shown = {sides->trace, context, is_part && !reversed}, other = {other_trace, sides->other, is_part && reversed};
    sides->differences = flame_difference_create(&shown, &other, reversed);
    return sides->differences ? 0 : error_set(err, -ENOMEM, "out of memory for a comparison");
}

int flame_sides_make(struct app *app, struct flame_sides *sides, bool bottom_up, struct calling_context **ret_context, struct error *err)
{
    CLEANUP(calling_context_destroyp) struct calling_context *context = NULL;
    struct context_options options = options_for(app, bottom_up, flame_sides_reversed(sides));
    flame_sides_finish(sides);
    sides->trace = flame_sides_reversed(sides) ? app->other : app->trace;
    int result = calling_context_create(sides->trace, &options, &context, err);
    if (result == 0 && (app->live || sides->shown != FLAME_PLAIN) && flame_order_by_name(sides->trace, context) < 0)
        result = error_set(err, -ENOMEM, "out of memory for a flame graph");
    if (result == 0 && sides->shown != FLAME_PLAIN)
        result = compare(app, sides, bottom_up, context, err);
    if (result == 0)
        *ret_context = TAKE_PTR(context);
    return result;
}

bool flame_sides_turn(struct app *app, struct flame_sides *sides)
{
    if (!app->other) {
        app_say(app, "there is nothing to compare with: view TRACE --against OTHER");
        return false;
    }
    sides->shown = (enum flame_shown)((sides->shown + 1) % FLAME_SHOWN_COUNT);
    return true;
}

/* --- what the signs and colours say ---------------------------------------------------------------------------------- */

static const char *file_name(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash && slash[1] ? slash + 1 : path ? path : "";
}

const char *flame_sides_shown_name(const struct app *app, const struct flame_sides *sides)
{
    return file_name(flame_sides_reversed(sides) ? app->other_path : app->path);
}

const char *flame_sides_other_name(const struct app *app, const struct flame_sides *sides)
{
    return file_name(flame_sides_reversed(sides) ? app->path : app->other_path);
}

static int draw_key(struct canvas *canvas, int y, int x, int end, enum colour fill, const char *text)
{
    struct look look = {(uint8_t)palette_text_on(canvas->theme, fill), (uint8_t)fill, 0};
    return x + (int)strlen(text) < end ? x + canvas_text(canvas, y, x, end - x, look, text) + 1 : x;
}

void flame_sides_draw_legend(struct app *app, const struct flame_sides *sides, int y, int columns)
{
    struct canvas *canvas = &app->canvas;
    bool reversed = flame_sides_reversed(sides);
    const char *name = file_name(app->other_path);
    const char *next = reversed ? "D: plain" : "D: as it was there";
    int x = 1, end = columns - 1 - (int)strlen(next) - 1;
    canvas_text_right(canvas, y, columns - 1, columns - 2, look_of(COLOUR_DIM), next);
    if (sides->other->count <= 1) {
        canvas_textf(canvas, y, x, end - x, look_of(COLOUR_WARN), "%s has none of this to compare with", name);
        return;
    }
    int room = end - 34 > 12 ? end - 34 : 12;
    x += canvas_text(canvas, y, x, 9, look_of(COLOUR_DIM), reversed ? "as it was" : "against") + 1;
    if (reversed)
        x += canvas_text(canvas, y, x, 3, look_of(COLOUR_DIM), "in") + 1;
    x += canvas_name(canvas, y, x, room - x, look_of(COLOUR_DEFAULT), name) + 2;
    x = draw_key(canvas, y, x, end, (enum colour)(COLOUR_SAME + 2), reversed ? "+more now" : "+more");
    x = draw_key(canvas, y, x, end, (enum colour)(COLOUR_SAME - 2), reversed ? "-less now" : "-less");
    x = draw_key(canvas, y, x, end, reversed ? COLOUR_LESS : (enum colour)(COLOUR_SAME + 3), reversed ? "--gone" : "++new");
    draw_key(canvas, y, x, end, COLOUR_SAME, "same");
}
