/* SPDX-License-Identifier: MIT */
/* Shared by the files of the timeline; nobody else includes it. */
#ifndef HP_VIEW_TIMELINE_INTERNAL_H
#define HP_VIEW_TIMELINE_INTERNAL_H

#include "base/arena.h"
#include "timeline.h"

/* What is known of a name where only the name is: of the spans with it the kind that took most time. */
struct name_facts {
    int64_t total_ns;
    string_id category;
    uint8_t kind;
    bool chosen, known;
    int8_t found; /* -1: not looked at yet */
};

struct picture_slot {
    uint32_t lane;
    struct lane_picture picture;
};

struct timeline_inside {
    struct arena arena;            /* names of lanes */
    struct timeline_lane *in_order;/* lanes as they come, when they are shown sorted */
    uint32_t *lane_of_track;
    uint32_t track_count;

    struct name_facts *names;      /* by string id */
    uint32_t name_count;
    const struct trace_filter *filter;
    struct filter_match *match;
    const regex_t *pattern;

    bool hide_idle;                /* and of which window, and which one stays */
    int64_t idle_begin_ns, idle_end_ns;
    uint32_t kept, idle_count;

    int64_t begin_ns, end_ns;      /* what the pictures are of */
    unsigned columns, depth;
    struct picture_slot *slots;
    size_t slot_count, slot_capacity;
};

static inline struct timeline_inside *inside_of(const struct timeline *timeline)
{
    return timeline->inside;
}
/* Where a stretch that is shown ends, exclusive: the last moment of the run belongs to it where it reaches that far. */
static inline int64_t timeline_end(const struct timeline *timeline, int64_t end_ns)
{
    return end_ns == timeline->last_ns && end_ns < INT64_MAX ? end_ns + 1 : end_ns;
}
void timeline_show_lanes(struct timeline *timeline); /* what is shown, by what is folded and idle */
void timeline_forget_pictures(struct timeline *timeline);
bool timeline_name_found(struct timeline *timeline, string_id name);
const struct name_facts *timeline_name(const struct timeline *timeline, string_id name);

/* Rows of nesting, given out in order of begin: the first that is free. */
struct row_slots {
    int64_t end_ns[TIMELINE_DEPTH_MAX];
    unsigned limit, used;
};
unsigned row_slots_take(struct row_slots *slots, int64_t begin_ns, int64_t end_ns);

/* Calls that a thread is in have ids of their own, from the greatest down. */
static inline span_id open_call_id(uint32_t call)
{
    return (span_id){ID_NONE - 1 - call};
}
/* The same as a row of a block of its own. */
struct open_row {
    struct span_block block;
    struct open_call call;
    int64_t end_ns;
    uint8_t kind;
};
void open_row_fill(const struct timeline *timeline, uint32_t call, struct open_row *row);
/* Calls that a lane's thread is in, in order of begin, among what is visited in that order: those that began before a time. */
struct open_cursor {
    uint32_t next, end;
};
static inline struct open_cursor open_cursor_of(const struct timeline_lane *lane)
{
    return (struct open_cursor){lane->first_call, lane->first_call + lane->calls};
}
struct visited_span;
/* Visits those that began before `before_ns` and were not visited yet. */
int timeline_visit_open(const struct timeline *timeline, struct open_cursor *calls, int64_t before_ns, int64_t begin_ns,
                        int (*visit)(void *context, const struct visited_span *span), void *context);
bool open_cursor_next(const struct timeline *timeline, struct open_cursor *cursor, int64_t before_ns, uint32_t *ret_call);

/* Calls visit for each span of the lane, calls that have not ended among them, that meets [begin_ns, timeline_end(end_ns)), by begin; stops when it returns non-zero, and returns that. */
struct visited_span {
    span_id id;
    int64_t begin_ns, end_ns;
    const struct span_block *block;
    uint32_t row;
    bool open;
};
int timeline_visit(const struct timeline *timeline, uint32_t lane, int64_t begin_ns, int64_t end_ns, uint32_t columns,
                   int (*visit)(void *context, const struct visited_span *span), void *context, struct error *err);

#endif
