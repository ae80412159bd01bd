/* SPDX-License-Identifier: MIT */
/*
 * Which frames of two calling context trees are the same: those of one name and file (module; of calls their category) below callers that are
 * the same. A name that only one file has here and only another one there is the same, too: programs and libraries are renamed. What cannot
 * be told apart, such as siblings of one name in one file, is taken together on both sides.
 */
#ifndef HP_VIEW_FRAME_PAIRS_H
#define HP_VIEW_FRAME_PAIRS_H

#include "flame_difference.h"

struct frame_pair {
    uint32_t first[2];   /* a frame of each side, and in `next` the others */
    int64_t weight[2];   /* of all together */
    uint64_t count[2];
};

struct frame_pairs {
    struct frame_pair *pairs; /* [0] is of the roots */
    uint32_t count;
    uint32_t *pair_of;        /* by node of the first side; ID_NONE: the second one has no such frame */
    uint32_t *next[2];        /* by node of each side: the next one of its pair, ID_NONE */
};

/* 0 or -ENOMEM; to be finished either way. */
int frame_pairs_make(struct frame_pairs *pairs, const struct flame_side *first, const struct flame_side *second);
void frame_pairs_finish(struct frame_pairs *pairs);

#endif
