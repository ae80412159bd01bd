/* SPDX-License-Identifier: MIT */
/* Between the sums of a path and their division by samples. */
#ifndef HP_ANALYSIS_PATH_PARTS_INTERNAL_H
#define HP_ANALYSIS_PATH_PARTS_INTERNAL_H

#include "path_parts.h"

/* A stretch of code on the path, part `part` of the sums. */
struct code_stretch {
    uint32_t track, part;
    int64_t begin_ns, end_ns;
};

/* Replaces parts by those that samples divide them into. Stretches are sorted by track, then time, on the way. */
int path_parts_divide(struct path_parts *parts, struct code_stretch *stretches, size_t stretch_count,
                      const struct activity_set *where, const struct trace *trace, struct error *err);

#endif
