/* SPDX-License-Identifier: MIT */
/* A flame graph as a picture: callers on top. */
#ifndef HP_CHART_DRAW_FLAME_H
#define HP_CHART_DRAW_FLAME_H

#include "caption.h"

#include "view/call_tree.h"
#include "view/flame_difference.h"

struct flame_scene {
    const struct trace *trace;
    const struct calling_context *context;
    uint32_t root;       /* the frame over the whole width */
    const bool *found;   /* by node, what a search is for; NULL: there is none */
    const struct frame_difference *differences; /* by node, from another tree: their colours and signs; NULL: nothing to compare with */
    bool shown_is_before;                       /* of the two trees this is the earlier one */
    const char *shown_name, *other_name;        /* of the two traces; only where they are compared */
};

/* 0 or -ENOMEM */
int draw_flame(struct drawing *drawing, const struct flame_scene *scene, const struct caption *caption);

#endif
