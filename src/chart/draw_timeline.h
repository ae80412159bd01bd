/* SPDX-License-Identifier: MIT */
/* A timeline as a picture: lanes with their spans, CPU time and counters, arrows of the selected span, the critical path. */
#ifndef HP_CHART_DRAW_TIMELINE_H
#define HP_CHART_DRAW_TIMELINE_H

#include "caption.h"

#include "view/timeline.h"

struct path_hop;

#define TIMELINE_ROWS_MAX 72 /* of spans, counters and headings: lanes beyond are only counted */

struct timeline_scene {
    struct timeline *timeline;
    uint32_t first;                 /* among the lanes that are shown */
    int64_t begin_ns, end_ns;
    unsigned depth;                 /* levels of nesting at most */
    const struct span_facts *selected; /* NULL: none */
    const struct span_link *links;  /* of the selected span */
    unsigned link_count;
    const struct path_hop *hops;    /* of the critical path, by begin */
    size_t hop_count;
    bool marked;
    int64_t mark_ns;
};

int draw_timeline(struct drawing *drawing, const struct timeline_scene *scene, const struct caption *caption, struct error *err);

#endif
