/* SPDX-License-Identifier: MIT */
/*
 * Level of detail: for each track a pyramid of time buckets, so that a timeline of any length is drawn from a few thousand
 * of them and no column is decoded. Bucket i of a level covers [i, i + 1) * width_ns; the width is a power of two, four
 * times that of the level below. The finest level has about one bucket for 64 rows, at least 64 and at most 65,536.
 */
#ifndef HP_TRACE_LOD_H
#define HP_TRACE_LOD_H

#include "trace.h"

struct lod_bucket {
    uint32_t count;           /* rows that begin in it */
    string_id name;           /* spans: the innermost name that most of the busy time had: exact if it had over half of it */
    string_id longest_name;   /* spans: of the longest span that begins in it */
    uint32_t reserved;
    union {
        int64_t busy_ns;      /* spans: time in which at least one was running; samples: sum of weights */
        double minimum;       /* counters */
    };
    union {
        int64_t longest_ns;   /* spans: the longest that begins in it */
        double maximum;       /* counters */
    };
    int64_t vote_ns;          /* spans: how far `name` is ahead; needed to join buckets */
};

#define LOD_LEVELS_MAX 12
struct lod_level {
    int64_t width_ns;
    int64_t first;            /* index of buckets[0] */
    uint32_t count;
    const struct lod_bucket *buckets;
};
struct lod {
    uint32_t level_count;     /* 0: no rows */
    struct lod_level levels[LOD_LEVELS_MAX]; /* finest first */
};

/*
 * The pyramid of one track's spans, samples, instants or counters. A native file has it stored; else it is computed once.
 * *ret_lod lives as long as the trace. Any thread.
 */
int trace_lod(const struct trace *trace, enum family family, track_id track, const struct lod **ret_lod, struct error *err);
/* The coarsest level whose buckets are no wider than width_ns; NULL: even the finest is wider, decode blocks instead. */
const struct lod_level *lod_level_for(const struct lod *lod, int64_t width_ns);
/* Which of buckets[] has a time, before the run's zero too: may be below 0, or beyond the last. */
static inline int64_t lod_bucket_of(const struct lod_level *level, int64_t time_ns)
{
    return time_ns / level->width_ns - (time_ns % level->width_ns < 0) - level->first;
}

#endif
