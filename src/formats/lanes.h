/* SPDX-License-Identifier: MIT */
/*
 * Lanes: viewers draw spans of one thread as a stack and drop or garble what overlaps without nesting. The packer puts
 * the spans of a track, given in order of begin, onto the fewest-first lane where they nest or follow.
 */
#ifndef HP_FORMATS_LANES_H
#define HP_FORMATS_LANES_H

#include <stddef.h>
#include <stdint.h>

#define LANES_NESTING 32 /* lanes on which spans may nest; further ones only follow each other */

struct lane {
    int64_t *ends; /* of the open spans, outermost first */
    size_t depth, capacity;
};

struct lanes {
    struct lane nesting[LANES_NESTING];
    unsigned nesting_count;
    struct flat_lane {
        int64_t busy_until_ns;
        uint32_t lane;
    } *heap;       /* least busy_until_ns first */
    size_t heap_count, heap_capacity;
    uint32_t count; /* lanes used so far */
};

void lanes_init(struct lanes *lanes);
void lanes_reset(struct lanes *lanes); /* for the next track; keeps memory */
void lanes_finish(struct lanes *lanes);
/* end_ns >= begin_ns; begins must not decrease. -ENOMEM or the lane's number, from 0. */
int64_t lanes_place(struct lanes *lanes, int64_t begin_ns, int64_t end_ns);
/* Onto a lane that is empty by then, of a track whose spans do not nest. A track has its spans placed by one of the two. */
int64_t lanes_place_apart(struct lanes *lanes, int64_t begin_ns, int64_t end_ns);

#endif
