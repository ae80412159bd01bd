/* SPDX-License-Identifier: MIT */
/* One track cut into points: between graph_lanes.c, which drives it, and the files that cut. Only the graph's files include this. */
#ifndef HP_ANALYSIS_GRAPH_CUT_H
#define HP_ANALYSIS_GRAPH_CUT_H

#include "base/error.h"
#include "graph_rules.h"

/* What kind of stretch a span is, as far as its kind and name tell. */
enum cut_class {
    CUT_CODE,   /* the program's own: off the processor in it is nobody's wait that is known */
    CUT_CALL,   /* a traced call: what it does inside is its own */
    CUT_WAIT,   /* a blocking call */
    CUT_TASKS,  /* one in which tasks may run: barriers, taskwait */
    CUT_LOCK,   /* waits until it has the lock: the payload knows */
    CUT_GROUP,  /* waits in its last part: the payload knows */
    CUT_FORK,   /* a parallel region: waits for its last part */
    CUT_PAYLOAD /* a call that waits if its payload says so */
};
/* Names of MPI's calls, once for all lanes: bits by string id. */
enum { CUT_NAME_WAITS_NOT = 1, CUT_NAME_WAITS = 2, CUT_NAME_ONE_SIDED = 4 };
enum cut_class cut_class_of(enum span_kind kind, uint8_t name_flags);
/* By string id; NULL: out of memory. */
uint8_t *cut_names(const struct trace *trace);
/* By string id: one number for equal texts of any trace. NULL: out of memory. */
uint32_t *cut_text_numbers(const struct trace *trace);

struct cut_point {
    int64_t time_ns;
    uint32_t span, class_of_wait;
    uint8_t kind;
    bool last; /* of its lane, where a track is cut into several */
};
struct cut_extra {
    uint32_t span, point;
    uint8_t which;
};

struct cut_track {
    struct graph_rules *rules;
    const uint8_t *names;
    const uint32_t *text_numbers;
    track_id track, sched;      /* TRACK_NONE: nothing is known of when it ran */
    string_id preempted;
    uint32_t first_block, block_count, sched_first_block, sched_block_count;
    int64_t start_ns, end_ns;   /* of what it did outside spans; INT64_MIN = not to be told */
    int64_t clock_bound_ns;
    bool unknown;               /* of a part of a run: nothing tells what it did */
    bool worker;                /* a runtime's: idle outside its parts of regions */
    struct cut_point *points;
    size_t count, capacity;
    struct cut_extra *extras;
    size_t extra_count, extra_capacity;
    int code;
    struct error err;
};

/* Both fill points, extras, and in rules the numbers of begins and ends (from 0 within the track) and the kinds of its spans. */
int cut_thread(struct cut_track *track);
int cut_stream(struct cut_track *track);
int cut_add_point(struct cut_track *track, int64_t time_ns, enum interval_kind kind, uint32_t span, uint32_t class_of_wait);

/* Of what waits of one sort have in common: a name's text, a track. */
static inline uint32_t cut_class_of_wait(uint32_t number, uint8_t kind)
{
    return (number * UINT32_C(2654435761) ^ kind) | 1;
}

#endif
