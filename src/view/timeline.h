/* SPDX-License-Identifier: MIT */
/*
 * The timeline of a trace without a screen: lanes as a tree (node, process, thread or stream or counter), and for a stretch of time
 * cut into columns what each lane shows in each. A few rows are drawn exactly, span by span; many come from the trace's levels of
 * detail, so that ten million spans cost no more than ten thousand. All front ends draw this.
 */
#ifndef HP_VIEW_TIMELINE_H
#define HP_VIEW_TIMELINE_H

#include "base/cleanup.h"
#include "trace/filter.h"
#include "trace/trace.h"

#include <regex.h>

struct error;

enum lane_kind { LANE_NODE, LANE_PROCESS, LANE_THREAD, LANE_STREAM, LANE_COUNTER, LANE_OTHER };

#define LANE_NONE_INDEX UINT32_MAX
struct timeline_lane {
    enum lane_kind kind;
    uint32_t parent;         /* LANE_NONE_INDEX: none */
    uint32_t level;          /* of indentation */
    uint32_t children;       /* lanes below a node or process, all levels: they follow it */
    process_id process;
    track_id track, sched;   /* TRACK_NONE; sched: the thread's lane of times off the CPU */
    const char *name;        /* "worker · 4711" */
    uint32_t name_head;      /* bytes of it that are a program's name: where room is short, that is cut first */
    uint64_t spans, samples;
    uint32_t first_call, calls; /* that its thread is in: of trace_open_calls */
    uint32_t first_block, end_block; /* of spans; in a growing trace: of all tracks */
    int64_t busy_ns;         /* time with at least one span, else CPU time; for sorting */
    bool open;               /* node, process: lanes below are shown */
    bool idle;               /* nothing of it is in the window that idle lanes were hidden for */
    unsigned depth_seen;     /* levels of nesting that were drawn: the lane does not shrink while one pans */
};

#define TIMELINE_DEPTH_MAX 24

struct timeline_cell {
    float busy;       /* 0..1: part of the column in which a span ran; counters: height of the value */
    float off;        /* CPU rows: part in which the thread was off the CPU though it lives */
    uint32_t count;   /* spans in it */
    uint8_t kind;     /* enum span_kind */
    bool begins;      /* the first column of a span */
    bool open;        /* the span has not ended: it goes on beyond what is known */
    bool chosen;      /* by the filter (all are without one) */
    bool found;       /* by the search */
    string_id name, category;
    span_id span;     /* SPAN_NONE: several, or not known by level of detail */
};

struct lane_picture {
    unsigned columns, depth;       /* depth: rows of spans */
    bool exact;                    /* every span was looked at */
    bool rough;                    /* there was no time to: asked again it may become exact */
    bool has_cpu;                  /* one more row: samples and times off the CPU */
    bool is_counter;
    double low, high, last;        /* of a counter, in the window */
    struct timeline_cell *cells;   /* depth (+ 1) rows of `columns` */
};

struct timeline {
    struct trace *trace;
    struct timeline_lane *lanes;
    uint32_t lane_count;
    uint32_t *shown;       /* lanes that are not in a folded one, nor hidden as idle */
    uint32_t shown_count;
    bool by_busy;
    int64_t first_ns, last_ns; /* of the trace */
    int64_t now_ns;        /* of a run that goes on: until then calls that have not ended are drawn; timeline_set_now */
    int64_t hurry_ns;      /* on CLOCK_MONOTONIC: from then on lanes of many spans are drawn roughly; 0 = never */
    void *inside;          /* timeline_internal.h */
};

int timeline_create(struct trace *trace, struct timeline **ret_timeline, struct error *err);
void timeline_destroy(struct timeline *timeline);
DEFINE_CLEANUP(struct timeline *, timeline_destroy)

void timeline_fold(struct timeline *timeline, uint32_t lane, bool open);
void timeline_fold_all(struct timeline *timeline, bool open);
/* Hides lanes that have nothing in the window but times off the CPU, all but `kept` (LANE_NONE_INDEX: none); or shows all. True: `shown` is another. */
bool timeline_hide_idle(struct timeline *timeline, bool hide, int64_t begin_ns, int64_t end_ns, uint32_t kept);
uint32_t timeline_hidden(const struct timeline *timeline); /* how many lanes are hidden so */
int timeline_sort(struct timeline *timeline, bool by_busy);
/* Time goes on while nothing is recorded: calls that have not ended reach that far. */
void timeline_set_now(struct timeline *timeline, int64_t now_ns);
/* What is drawn faint, and what is drawn bright; NULL: nothing of that. They must live until replaced. -ENOMEM */
int timeline_choose(struct timeline *timeline, const struct trace_filter *filter);
void timeline_search(struct timeline *timeline, const regex_t *pattern);

/* [begin_ns, end_ns) in `columns` columns, at most `depth` rows. The picture lives until the window, or the filter, changes. */
int timeline_picture(struct timeline *timeline, uint32_t lane, int64_t begin_ns, int64_t end_ns, unsigned columns, unsigned depth,
                     const struct lane_picture **ret_picture, struct error *err);

/* One span with all that is known of it. */
struct span_facts {
    span_id id;
    struct span span;
    uint32_t lane;       /* its own, LANE_NONE_INDEX if none shows it */
    int64_t end_ns;      /* as far as known */
    bool unfinished;
    bool open;           /* its thread is in it: the run goes on */
    struct payload payload;
    unsigned row;        /* level of nesting */
};
int timeline_span(struct timeline *timeline, span_id span, struct span_facts *ret_facts, struct error *err); /* -ENOENT */
bool timeline_open_call(const struct timeline *timeline, span_id span, struct span_facts *ret_facts); /* as it is now; false: it is no call that has not ended */
uint32_t timeline_lane_of(const struct timeline *timeline, track_id track);
/* The innermost span of a lane that lies over [begin_ns, end_ns), at `row` or above it; SPAN_NONE. */
span_id timeline_span_at(struct timeline *timeline, uint32_t lane, int64_t begin_ns, int64_t end_ns, unsigned row);
/* The span that begins next (or before) on the lane; with `found` only what the search is for, over all lanes. SPAN_NONE: none. */
span_id timeline_step(struct timeline *timeline, uint32_t lane, span_id from, int64_t from_ns, bool forward);
span_id timeline_find_next(struct timeline *timeline, span_id from, bool forward);
/* The longest span with this name (and kind, if it is known) that lies in [begin_ns, end_ns). */
span_id timeline_longest(struct timeline *timeline, string_id name, int kind, int64_t begin_ns, int64_t end_ns);

struct span_link {
    span_id other;
    enum link_kind kind;
    enum confidence confidence;
    bool outgoing;
};
/* The links of a span, at most `capacity`; returns how many there are, or -errno. */
int timeline_links(struct timeline *timeline, span_id span, struct span_link *links, unsigned capacity, struct error *err);
/* Where an arrow leaves the one span and reaches the other: at their begins or ends, as the kind of link has it. */
void timeline_link_times(enum link_kind kind, const struct span_facts *from, const struct span_facts *to, int64_t *ret_from_ns, int64_t *ret_to_ns);

/*
 * Spans and values of the shown lanes in [begin_ns, end_ns) as CSV, of those that the filter chooses, at most so many rows; *ret_cut: there are
 * more. A stretch that reaches the run's last moment has that, too. What was added before an error is not all.
 */
struct text;
int timeline_csv(struct timeline *timeline, int64_t begin_ns, int64_t end_ns, uint64_t most, struct text *out, bool *ret_cut, struct error *err);

/* Ruler: a round step that gives at most columns / 12 labels. */
int64_t timeline_ruler_step(int64_t window_ns, unsigned columns);
char *timeline_time_label(char *text, size_t size, int64_t time_ns, int64_t step_ns);

#endif
