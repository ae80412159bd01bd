/* SPDX-License-Identifier: MIT */
/* A flame graph as a picture: callers on top. */
#ifndef HP_CHART_DRAW_FLAME_H
#define HP_CHART_DRAW_FLAME_H

#include "caption.h"

#include "view/call_tree.h"

struct flame_scene {
    const struct trace *trace;
    const struct calling_context *context;
    uint32_t root;       /* the frame over the whole width */
    const bool *found;   /* by node, what a search is for; NULL: there is none */
};

/* 0 or -ENOMEM */
int draw_flame(struct drawing *drawing, const struct flame_scene *scene, const struct caption *caption);

#endif
