/* SPDX-License-Identifier: MIT */
/* Progress of an export by blocks. */
#ifndef HP_FORMATS_WALK_H
#define HP_FORMATS_WALK_H

#include "base/progress.h"
#include "trace/trace.h"

struct walk {
    const struct progress *progress;
    const char *what;
    uint64_t blocks_done, blocks_total;
};

/* families: a mask of 1 << FAMILY_X of what will be walked. */
static inline struct walk walk_begin(const struct trace *trace, const struct progress *progress, const char *what, unsigned families)
{
    struct walk walk = {.progress = progress, .what = what};
    for (unsigned family = 0; family < FAMILY_COUNT; family++)
        if (families >> family & 1)
            walk.blocks_total += trace_block_count(trace, (enum family)family);
    return walk;
}

static inline void walk_step(struct walk *walk)
{
    progress_update(walk->progress, walk->what, ++walk->blocks_done, walk->blocks_total);
}

#endif
