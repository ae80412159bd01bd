/* SPDX-License-Identifier: MIT */
/*
 * Two calling context trees side by side, such as of a program before and after a change: by frame, which part of each trace's total it had.
 * Which frames are the same: frame_pairs.h. Of several that are, each has what all of them have together.
 */
#ifndef HP_VIEW_FLAME_DIFFERENCE_H
#define HP_VIEW_FLAME_DIFFERENCE_H

#include "analysis/calling_context.h"
#include "palette.h"

struct frame_difference {
    double before, now;   /* parts of the totals, 0 to 1 */
    int64_t before_weight, now_weight; /* what is counted itself: times, or numbers of calls */
    bool absolute;        /* these can be compared: both are of whole runs */
    bool only_here;       /* the other tree has no such frame */
    int8_t level;         /* -3 much less than before .. 3 much more; 0: as before, or the samples are too few to tell */
};

struct flame_side {
    const struct trace *trace;
    const struct calling_context *context;
    bool is_part;         /* of a window: what it counts is less for that alone */
};

/* By node of `shown`, to be freed; shown_is_before: of the two it is the earlier one. NULL: no memory. Samples are compared as such: what
 * chance alone may do (two standard errors) is no change. */
struct frame_difference *flame_difference_create(const struct flame_side *shown, const struct flame_side *other, bool shown_is_before);

enum colour frame_difference_colour(const struct frame_difference *difference);
/* "+", "-", "" - and twice where only one tree has the frame. */
const char *frame_difference_sign(const struct frame_difference *difference, bool shown_is_before);
/* "was 4.1 %: +8.2 points, +120.00 ms", "not there before" ...; of all together "was 1.200 s: +120.00 ms". */
void frame_difference_describe(const struct frame_difference *difference, enum context_measure measure, bool shown_is_before, struct text *out);
void frame_difference_describe_all(const struct frame_difference *difference, enum context_measure measure, bool shown_is_before, struct text *out);

#endif
