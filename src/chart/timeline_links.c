/* SPDX-License-Identifier: MIT */
/* What goes from lane to lane: arrows of the selected span, and the critical path. */
#include "timeline_drawing.h"

#include "analysis/path_hops.h"
#include "base/error.h"

#include <math.h>

#define HOPS_MAX 200000
#define CROSSINGS_MAX 300 /* of the critical path; more would be a curtain */

static const struct placed_lane *place_of(const struct timeline_drawing *timeline, uint32_t lane)
{
    for (unsigned i = 0; i < timeline->placed_count; i++)
        if (timeline->placed[i].lane == lane)
            return &timeline->placed[i];
    return NULL;
}

/* --- arrows ---------------------------------------------------------------------------------------------------------- */

static void draw_head(struct drawing *drawing, double x, double y, bool down)
{
    double back = down ? -6 : 6;
    drawing_area(drawing, (struct drawing_point[]){{x - 3.5, y + back}, {x + 3.5, y + back}, {x, y}}, 3, COLOUR_WARN);
}

/* The row that a span is drawn in. */
static double span_y(const struct timeline_drawing *timeline, const struct placed_lane *place, const struct span_facts *facts)
{
    struct span_facts around = *facts;
    struct error err = ERROR_INIT;
    unsigned row = 0;
    while (row + 1 < timeline->scene->depth && around.span.parent.index != ID_NONE &&
           timeline_span(timeline->scene->timeline, around.span.parent, &around, &err) == 0 && around.lane == facts->lane)
        row++;
    return fmin(place->y + row * LANE_ROW, place->y + place->height - LANE_ROW);
}

/* Down (or up) from the one, across in the gap before the other, and into it. */
static void draw_arrow(struct timeline_drawing *timeline, const struct span_facts *from, const struct span_facts *to, enum link_kind kind)
{
    const struct placed_lane *from_place = place_of(timeline, from->lane), *to_place = place_of(timeline, to->lane);
    int64_t from_ns, to_ns;
    timeline_link_times(kind, from, to, &from_ns, &to_ns);
    const struct timeline_scene *scene = timeline->scene;
    if (!from_place || !to_place || from_place == to_place || (from_ns < scene->begin_ns && to_ns < scene->begin_ns) ||
        (from_ns > scene->end_ns && to_ns > scene->end_ns))
        return;
    bool down = to_place->y > from_place->y;
    double x = timeline_x_within(timeline, (double)from_ns), to_x = timeline_x_within(timeline, (double)to_ns);
    double y = span_y(timeline, from_place, from) + (down ? LANE_ROW - 1 : 0), to_y = span_y(timeline, to_place, to) + (down ? 0 : LANE_ROW - 1);
    double gap = down ? to_place->y - LANE_GAP / 2 : to_place->y + to_place->height + LANE_GAP / 2;
    struct drawing_point points[] = {{x, y}, {x, gap}, {to_x, gap}, {to_x, to_y + (down ? -3 : 3)}};
    drawing_circle(timeline->drawing, x, y, 2, COLOUR_WARN);
    drawing_lines(timeline->drawing, points, 4, COLOUR_WARN, 1.25);
    draw_head(timeline->drawing, to_x, to_y + (down ? 1 : -1), down);
}

void timeline_draw_arrows(struct timeline_drawing *timeline)
{
    const struct timeline_scene *scene = timeline->scene;
    for (unsigned i = 0; scene->selected && i < scene->link_count; i++) {
        struct span_facts other;
        struct error err = ERROR_INIT;
        if (timeline_span(scene->timeline, scene->links[i].other, &other, &err) < 0)
            continue;
        if (scene->links[i].outgoing)
            draw_arrow(timeline, scene->selected, &other, scene->links[i].kind);
        else
            draw_arrow(timeline, &other, scene->selected, scene->links[i].kind);
    }
}

/* --- the critical path ----------------------------------------------------------------------------------------------- */

struct path_stroke {
    const struct placed_lane *place;
    double x, end;
};

static void draw_stroke(struct timeline_drawing *timeline, const struct path_stroke *stroke)
{
    if (stroke->place)
        drawing_rect(timeline->drawing, stroke->x, stroke->place->y + LANE_ROW - 3, fmax(stroke->end - stroke->x, 0.5), 3, COLOUR_BAD);
}

static void draw_crossing(struct timeline_drawing *timeline, const struct placed_lane *from, const struct placed_lane *to, double x)
{
    drawing_line(timeline->drawing, x, from->y + LANE_ROW - 1.5, x, to->y + LANE_ROW - 1.5, COLOUR_BAD, 1);
}

static unsigned count_crossings(const struct timeline_scene *scene)
{
    unsigned crossings = 0;
    for (size_t i = 1; i < scene->hop_count && i < HOPS_MAX; i++)
        crossings += scene->hops[i].begin_ns >= scene->begin_ns && scene->hops[i].begin_ns < scene->end_ns &&
                     scene->hops[i].track.index != scene->hops[i - 1].track.index;
    return crossings;
}

void timeline_draw_path(struct timeline_drawing *timeline)
{
    const struct timeline_scene *scene = timeline->scene;
    struct path_stroke stroke = {NULL, 0, 0};
    bool crossings = count_crossings(scene) <= CROSSINGS_MAX;
    for (size_t i = 0; i < scene->hop_count && i < HOPS_MAX; i++) {
        const struct path_hop *hop = &scene->hops[i];
        int64_t end_ns = hop->begin_ns + hop->duration_ns;
        if (hop->track.index == ID_NONE || end_ns < scene->begin_ns || hop->begin_ns >= scene->end_ns)
            continue;
        const struct placed_lane *place = place_of(timeline, timeline_lane_of(scene->timeline, hop->track));
        double x = timeline_x_within(timeline, (double)hop->begin_ns), end = timeline_x_within(timeline, (double)end_ns);
        if (place && place == stroke.place && x - stroke.end < 0.5) { /* goes on */
            stroke.end = fmax(stroke.end, end);
            continue;
        }
        draw_stroke(timeline, &stroke);
        if (crossings && place && stroke.place && place != stroke.place)
            draw_crossing(timeline, stroke.place, place, x);
        stroke = (struct path_stroke){place, x, end};
    }
    draw_stroke(timeline, &stroke);
}
