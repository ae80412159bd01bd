/* SPDX-License-Identifier: MIT */
/* The frame of a timeline: ruler, lanes one below the other, legend. */
#include "timeline_drawing.h"

#include "base/error.h"
#include "view/units.h"

#include <errno.h>

#define RULER 20.0

static bool is_group(const struct timeline_lane *lane)
{
    return lane->kind == LANE_NODE || lane->kind == LANE_PROCESS;
}

static int picture_of(const struct timeline_drawing *timeline, uint32_t lane, const struct lane_picture **ret_picture, struct error *err)
{
    const struct timeline_scene *scene = timeline->scene;
    unsigned depth = is_group(&scene->timeline->lanes[lane]) ? 1 : scene->depth;
    return timeline_picture(scene->timeline, lane, scene->begin_ns, scene->end_ns, timeline_columns(timeline), depth, ret_picture, err);
}

/* --- places ---------------------------------------------------------------------------------------------------------- */

/* Which lanes there is room for, and where. */
static int place_lanes(struct timeline_drawing *timeline, struct error *err)
{
    const struct timeline_scene *scene = timeline->scene;
    unsigned rows = 0;
    double y = timeline->top + 4;
    for (uint32_t i = scene->first; i < scene->timeline->shown_count; i++) {
        uint32_t lane = scene->timeline->shown[i];
        const struct lane_picture *picture;
        int result = picture_of(timeline, lane, &picture, err);
        if (result < 0)
            return result;
        unsigned levels = picture->depth + picture->has_cpu;
        rows += levels < 1 ? 1 : levels;
        if (timeline->placed_count && rows > TIMELINE_ROWS_MAX)
            break;
        if (timeline->placed_count == TIMELINE_ROWS_MAX)
            break;
        double height = picture->is_counter ? COUNTER_HEIGHT : (levels < 1 ? 1 : levels) * LANE_ROW;
        timeline->placed[timeline->placed_count++] = (struct placed_lane){lane, y, height};
        y += height + LANE_GAP;
    }
    timeline->bottom = y;
    return 0;
}

/* --- ruler ----------------------------------------------------------------------------------------------------------- */

static void draw_ruler(struct timeline_drawing *timeline)
{
    const struct timeline_scene *scene = timeline->scene;
    struct drawing *drawing = timeline->drawing;
    int64_t step_ns = timeline_ruler_step(scene->end_ns - scene->begin_ns, (unsigned)(timeline->width / 8));
    int64_t tick_ns = scene->begin_ns - scene->begin_ns % step_ns;
    double end = timeline->left + timeline->width;
    for (int i = 0; i < 200 && tick_ns <= scene->end_ns; i++, tick_ns += step_ns) {
        char label[64];
        double x = timeline_x(timeline, (double)tick_ns);
        if (tick_ns < scene->begin_ns)
            continue;
        drawing_line(drawing, x, timeline->top - 5, x, timeline->bottom, COLOUR_FAINT, 0.5);
        timeline_time_label(label, sizeof label, tick_ns, step_ns);
        if (x + 4 + drawing_text_width(label, 10, false) <= end)
            drawing_text(drawing, x + 3, timeline->top - 4, 0, (struct lettering){.size = 10, .colour = COLOUR_DIM}, label);
    }
    drawing_line(drawing, timeline->left, timeline->top, end, timeline->top, COLOUR_FAINT, 1);
}

static void draw_mark(struct timeline_drawing *timeline)
{
    const struct timeline_scene *scene = timeline->scene;
    double x = timeline_x(timeline, (double)scene->mark_ns);
    if (!scene->marked || scene->mark_ns < scene->begin_ns || scene->mark_ns > scene->end_ns)
        return;
    drawing_dashes(timeline->drawing, x, timeline->top, x, timeline->bottom, COLOUR_WARN, 1);
    drawing_area(timeline->drawing, (struct drawing_point[]){{x - 4, timeline->top - 6}, {x + 4, timeline->top - 6}, {x, timeline->top}}, 3, COLOUR_WARN);
}

/* --- labels ---------------------------------------------------------------------------------------------------------- */

static void draw_label(struct timeline_drawing *timeline, const struct placed_lane *placed, const struct lane_picture *picture)
{
    struct drawing *drawing = timeline->drawing;
    const struct timeline_lane *lane = &timeline->scene->timeline->lanes[placed->lane];
    double x = PICTURE_MARGIN + lane->level * 10, room = timeline->left - 8 - x, y = placed->y + 11.5;
    struct lettering lettering = {.size = LETTER_SIZE, .bold = is_group(lane)}, dim = {.size = 9, .colour = COLOUR_DIM, .anchor = ANCHOR_RIGHT};
    if (is_group(lane) && placed != timeline->placed)
        drawing_line(drawing, PICTURE_MARGIN, placed->y - LANE_GAP / 2, timeline->left + timeline->width, placed->y - LANE_GAP / 2, COLOUR_FAINT, 0.5);
    drawing_name(drawing, x, y, room, lettering, lane->name);
    if (picture->is_counter) {
        const struct trace_track *track = &trace_tracks(timeline->scene->timeline->trace, &(uint32_t){0})[lane->track.index];
        const char *unit = trace_text(timeline->scene->timeline->trace, track->unit);
        char low[64], high[64];
        drawing_textf(drawing, timeline->left - 8, placed->y + COUNTER_HEIGHT - 2, room, dim, "%s to %s",
                      picture->low < 0 ? format_quantity(low, sizeof low, picture->low, unit) : "0", format_quantity(high, sizeof high, picture->high, unit));
    } else if (picture->has_cpu && picture->depth) {
        drawing_text(drawing, timeline->left - 8, y + picture->depth * LANE_ROW, room, dim, "on CPU");
    }
}

/* --- legend ---------------------------------------------------------------------------------------------------------- */

#define LEGEND_WAITS PALETTE_HUES

/* The kinds of one hue that were drawn; waits have none. */
static void legend_names(const struct timeline_drawing *timeline, unsigned hue, struct text *out)
{
    for (unsigned kind = 0; kind < 256; kind++) {
        bool waits = span_kind_waits((enum span_kind)kind);
        unsigned own = waits ? LEGEND_WAITS : (timeline->kind_colour[kind] - (unsigned)COLOUR_HUES) / PALETTE_SHADES;
        if (!timeline->kinds[kind] || own != hue)
            continue;
        if (kind == SPAN_KIND_UNKNOWN)
            text_addf(out, "%sother", out->length ? ", " : "");
        else
            text_addf(out, "%s%s", out->length ? ", " : "", span_kind_name((enum span_kind)kind));
    }
}

static double draw_legend(struct timeline_drawing *timeline, double y)
{
    struct drawing *drawing = timeline->drawing;
    double x = timeline->left, end = timeline->left + timeline->width;
    bool any = false;
    for (unsigned hue = 0; hue <= LEGEND_WAITS + 1; hue++) {
        struct text names = TEXT_INIT;
        bool path = hue == LEGEND_WAITS + 1;
        if (path && timeline->scene->hop_count)
            text_add_string(&names, "critical path");
        else if (!path)
            legend_names(timeline, hue, &names);
        double width = names.length && !names.failed ? 16 + drawing_text_width(names.data, 10, false) : 0;
        if (any && width > 0 && x + width > end) {
            x = timeline->left;
            y += 16;
        }
        if (width > 0) {
            drawing_rect(drawing, x, path ? y - 4 : y - 9, 10, path ? 3 : 10, path ? COLOUR_BAD : hue == LEGEND_WAITS ? COLOUR_WAIT : (enum colour)(COLOUR_HUES + hue * PALETTE_SHADES + 1));
            if (hue == LEGEND_WAITS)
                drawing_hatch(drawing, x, y - 9, 10, 10, COLOUR_WAIT_TEXT);
            drawing_text(drawing, x + 15, y, end - x - 15, (struct lettering){.size = 10, .colour = COLOUR_DIM}, names.data);
            x += width + 18;
            any = true;
        }
        text_finish(&names);
    }
    return any ? y + 16 : y;
}

static void draw_count(struct timeline_drawing *timeline, double y)
{
    const struct timeline_scene *scene = timeline->scene;
    uint32_t all = scene->timeline->shown_count;
    char from[32], to[32], of[32];
    if (timeline->placed_count < all)
        drawing_textf(timeline->drawing, PICTURE_MARGIN, y, LABEL_WIDTH - PICTURE_MARGIN - 8, (struct lettering){.size = 10, .colour = COLOUR_DIM}, "lanes %s to %s of %s",
                      format_count(from, sizeof from, scene->first + (uint64_t)1), format_count(to, sizeof to, scene->first + (uint64_t)timeline->placed_count),
                      format_count(of, sizeof of, all));
}

/* --- all ------------------------------------------------------------------------------------------------------------- */

int draw_timeline(struct drawing *drawing, const struct timeline_scene *scene, const struct caption *caption, struct error *err)
{
    struct timeline_drawing timeline = {.drawing = drawing, .scene = scene, .left = LABEL_WIDTH, .width = PICTURE_WIDTH - LABEL_WIDTH - PICTURE_MARGIN};
    scene->timeline->hurry_ns = 0; /* nobody waits for a screen */
    timeline.top = draw_caption(drawing, caption, PICTURE_WIDTH) + RULER;
    int result = place_lanes(&timeline, err);
    if (result < 0)
        return result;
    if (timeline.placed_count)
        draw_ruler(&timeline);
    for (unsigned i = 0; i < timeline.placed_count; i++) {
        const struct lane_picture *picture;
        result = picture_of(&timeline, timeline.placed[i].lane, &picture, err);
        if (result < 0)
            return result;
        timeline_draw_lane(&timeline, &timeline.placed[i], picture);
        draw_label(&timeline, &timeline.placed[i], picture);
    }
    timeline_draw_path(&timeline);
    timeline_draw_arrows(&timeline);
    draw_mark(&timeline);
    if (!timeline.placed_count)
        drawing_text(drawing, PICTURE_MARGIN, timeline.top + 20, 0, (struct lettering){.size = 11.5, .colour = COLOUR_DIM}, "nothing was recorded: this trace has no spans, samples or counters");
    double y = timeline.bottom + 14;
    draw_count(&timeline, y);
    y = draw_legend(&timeline, y);
    drawing->width = PICTURE_WIDTH;
    drawing->height = (timeline.placed_count ? y : timeline.top + 30) + PICTURE_MARGIN / 2;
    return 0;
}
