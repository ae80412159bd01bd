/* SPDX-License-Identifier: MIT */
/* Flame graphs: boxes in their modules' hues, with names where they fit, and what a browser says of each. */
#include "draw_flame.h"

#include "view/flame.h"
#include "view/units.h"

#include <errno.h>

#define ROW 17.0
#define TEXT_SIZE 10.5
#define FINENESS 2 /* columns of the layout for each point */
#define ROWS_MAX 200

static void add_tip(struct drawing *drawing, const struct flame_scene *scene, const struct context_node *node)
{
    struct text tip = TEXT_INIT;
    char total[32], percent[16];
    context_node_name(scene->trace, node, &tip);
    text_addf(&tip, ": %s, %s %%", context_weight_text(total, sizeof total, scene->context->measure, node->total_weight, NULL),
              format_percent(percent, sizeof percent, (double)node->total_weight, (double)scene->context->nodes[0].total_weight));
    if (scene->differences) {
        text_add_string(&tip, "; ");
        size_t at = (size_t)(node - scene->context->nodes);
        (at ? frame_difference_describe : frame_difference_describe_all)(&scene->differences[at], scene->context->measure, scene->shown_is_before, &tip);
    }
    if (!tip.failed)
        drawing_tip(drawing, tip.data);
    text_finish(&tip);
}

/* A frame's name; of all together what is counted, too. */
static void add_name(const struct flame_scene *scene, uint32_t node, struct text *out)
{
    const struct calling_context *context = scene->context;
    char total[32];
    if (scene->differences)
        text_add_string(out, frame_difference_sign(&scene->differences[node], scene->shown_is_before));
    context_node_name(scene->trace, &context->nodes[node], out);
    if (!node)
        text_addf(out, ": %s, %s", context_measure_text(context->measure), context_weight_text(total, sizeof total, context->measure, context->nodes[0].total_weight, NULL));
}

static void draw_box(struct drawing *drawing, const struct flame_scene *scene, const struct flame_box *box, double top)
{
    double x = PICTURE_MARGIN + (double)box->column / FINENESS, y = top + box->row * ROW, width = (double)box->width / FINENESS;
    if (box->node == ID_NONE) { /* several, each too narrow to be seen */
        drawing_rect(drawing, x, y, width, ROW - 1, COLOUR_BAND);
        return;
    }
    const struct context_node *node = &scene->context->nodes[box->node];
    bool faint = scene->found && box->node && !scene->found[box->node], found = scene->found && scene->found[box->node];
    enum colour plain = scene->differences ? frame_difference_colour(&scene->differences[box->node]) : context_node_colour(node);
    enum colour fill = faint ? COLOUR_WAIT : !box->node ? COLOUR_BAND : plain;
    struct lettering lettering = {.size = TEXT_SIZE, .bold = found,
                                  .colour = fill == COLOUR_WAIT ? COLOUR_WAIT_TEXT : !box->node ? COLOUR_DEFAULT : palette_text_on(drawing->theme, fill)};
    struct text name = TEXT_INIT;
    drawing_rect(drawing, x, y, width > 1.5 ? width - 0.5 : width, ROW - 1, fill);
    if (width >= 1)
        add_tip(drawing, scene, node);
    add_name(scene, box->node, &name);
    if (name.data && !name.failed && width > 18)
        drawing_name(drawing, x + 4, y + 12, width - 8, lettering, name.data);
    text_finish(&name);
}

/* --- what the signs and colours say ---------------------------------------------------------------------------------- */

#define LEGEND_ROW 18.0
#define LEGEND_SIZE 10.0

static double draw_key(struct drawing *drawing, double x, double y, enum colour fill, const char *text)
{
    double end = PICTURE_WIDTH - PICTURE_MARGIN;
    drawing_rect(drawing, x, y - 9, 10, 10, fill);
    return x + 15 + drawing_text(drawing, x + 15, y, end - x - 15, (struct lettering){.size = LEGEND_SIZE, .colour = COLOUR_DIM}, text) + 18;
}

/* Which traces are compared, and what is said of a frame; returns where what is below it begins. */
static double draw_legend(struct drawing *drawing, const struct flame_scene *scene, double top)
{
    struct lettering lettering = {.size = LEGEND_SIZE};
    bool reversed = scene->shown_is_before;
    double x = PICTURE_MARGIN, y = top + 8, room = (PICTURE_WIDTH - 2 * PICTURE_MARGIN) / 2;
    struct text what = TEXT_INIT;
    text_addf(&what, reversed ? "as it was in %s, against %s" : "%s against %s", scene->shown_name, scene->other_name);
    if (what.data && !what.failed)
        x += drawing_text(drawing, x, y, room, lettering, what.data) + 18;
    text_finish(&what);
    x = draw_key(drawing, x, y, (enum colour)(COLOUR_SAME + 2), reversed ? "+ a larger part now" : "+ a larger part than before");
    x = draw_key(drawing, x, y, (enum colour)(COLOUR_SAME - 2), reversed ? "- a smaller part now" : "- a smaller part than before");
    x = draw_key(drawing, x, y, reversed ? COLOUR_LESS : (enum colour)(COLOUR_SAME + 3), reversed ? "-- gone now" : "++ not there before");
    draw_key(drawing, x, y, COLOUR_SAME, "no change");
    return top + LEGEND_ROW;
}

int draw_flame(struct drawing *drawing, const struct flame_scene *scene, const struct caption *caption)
{
    struct flame flame = {0};
    double top = draw_caption(drawing, caption, PICTURE_WIDTH);
    drawing->width = PICTURE_WIDTH;
    if (!scene->context || scene->context->count <= 1) {
        drawing_text(drawing, PICTURE_MARGIN, top + 14, 0, (struct lettering){.size = 11.5, .colour = COLOUR_DIM}, "nothing to count in this window");
        drawing->height = top + 20 + PICTURE_MARGIN;
        return 0;
    }
    if (scene->differences)
        top = draw_legend(drawing, scene, top);
    int result = flame_lay_out(&flame, scene->context, scene->root, (unsigned)((PICTURE_WIDTH - 2 * PICTURE_MARGIN) * FINENESS), ROWS_MAX);
    uint32_t rows = flame.count ? flame.boxes[flame.count - 1].row + 1 : 0;
    for (size_t i = 0; result == 0 && i < flame.count; i++)
        draw_box(drawing, scene, &flame.boxes[i], top);
    drawing->height = top + rows * ROW + PICTURE_MARGIN;
    flame_finish(&flame);
    return result;
}
