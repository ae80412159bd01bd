/* SPDX-License-Identifier: MIT */
/*
 * Wait states: where a thread or a device waited for another one, why, and for how long exactly; and what they cost: each wait's time
 * is charged to what delayed its release, directly and through the waits that it caused in turn. Definitions: docs/metrics.md,
 * "Wait states".
 */
#ifndef HP_ANALYSIS_WAIT_STATES_H
#define HP_ANALYSIS_WAIT_STATES_H

#include "trace/trace.h"

struct parcel;
struct progress;
struct run_reading;

enum wait_pattern {
#define WAIT_PATTERN(enumerator, name, charged, text, remedy) WAIT_##enumerator,
#include "wait_patterns.def"
    WAIT_PATTERN_COUNT
};
const char *wait_pattern_name(enum wait_pattern pattern);
const char *wait_pattern_text(enum wait_pattern pattern);
const char *wait_pattern_remedy(enum wait_pattern pattern);

struct wait_state {
    span_id span;        /* the call that waited; SPAN_NONE: a thread or device without anything to do */
    track_id lane;       /* who waited */
    span_id cause;       /* what it waited for: the late call, the holder's span; SPAN_NONE: not known, or code outside of calls */
    track_id cause_lane; /* who was late; TRACK_NONE: not known */
    int64_t begin_ns, time_ns;
    uint8_t pattern;     /* enum wait_pattern */
    uint8_t confidence;  /* enum confidence */
};

/* What delayed others, summed by lane and activity, and for which pattern. */
struct wait_delay {
    track_id lane;        /* who was late */
    string_id name;       /* innermost span; STRING_NONE: code outside of calls; "preempted": it had no processor */
    string_id around;     /* name of the span that encloses it; STRING_NONE: none */
    string_id category;
    stack_id stack;       /* of the innermost span, where taken */
    string_id function;   /* of code outside of calls: the one that was sampled most in it; STRING_NONE: too few samples, or mostly blocked */
    double function_share; /* the part of that code's time that its samples stand for; without what the thread was preempted for */
    uint64_t samples;     /* the function's; STRING_NONE: of all of that code */
    double blocked_share; /* of code outside of calls: the part of its time off the processor, blocked */
    uint8_t pattern;      /* enum wait_pattern: of the waits that it caused directly */
    uint64_t count;       /* wait states */
    int64_t direct_ns;    /* waits that it caused itself (Scalasca's short-term cost) */
    int64_t propagated_ns; /* waits that those caused in turn (long-term cost) */
};

/* direct and propagated costs and uncharged_ns add up to waited_ns, which has each wait state once. */
struct wait_states {
    struct wait_state *states;
    size_t count;
    struct wait_delay *delays; /* largest cost first */
    size_t delay_count;
    int64_t waited_ns;
    int64_t uncharged_ns;      /* nobody known to charge, or completion */
    struct wait_sum {
        uint64_t count;
        int64_t time_ns;
    } sums[WAIT_PATTERN_COUNT];
    uint64_t incomplete_groups; /* collectives of which one member alone is in the trace: not looked at */
    uint64_t backward;          /* left before who had to come came: clocks, or no such dependence; not counted as waits */
};

/* Wait states of a finished trace, by lane, then begin. progress may be NULL. */
int wait_states_create(const struct trace *trace, const struct progress *progress, struct wait_states **ret_states, struct error *err);
/* The same of a trace whose spans, lanes' times and links were read already. */
int wait_states_create_from(struct run_reading *run, struct wait_states **ret_states, struct error *err);
void wait_states_destroy(struct wait_states *states);
DEFINE_CLEANUP(struct wait_states *, wait_states_destroy)

/* Wait states by (late lane's activity, waiting lane, pattern), summed, most time first: what `critical-path` calls blame. The caller frees. */
struct wait_blame {
    track_id cause_lane; /* TRACK_NONE: not known */
    string_id cause;     /* name of what was waited for; STRING_NONE: code outside of calls */
    track_id victim_lane;
    string_id victim;    /* the call that waited; STRING_NONE: a thread or device without anything to do */
    string_id function;  /* of code outside of calls, where asked for: the one that was sampled most in it meanwhile; STRING_NONE: too few samples, or mostly blocked */
    double function_share; /* as of delays */
    uint64_t samples;
    double blocked_share;
    uint8_t pattern;
    uint8_t confidence;  /* the least */
    uint64_t count;
    int64_t time_ns;
};
int wait_states_blame(const struct wait_states *states, const struct trace *trace, struct wait_blame **ret_rows, size_t *ret_count,
                      struct error *err);
/* The same of a trace, without keeping a state or charging anybody: much quicker where nothing else is wanted. */
int wait_blame_create(const struct trace *trace, const struct progress *progress, struct wait_blame **ret_rows, size_t *ret_count,
                      struct error *err);

/* With the functions of code outside of calls. */
int wait_blame_create_named(const struct trace *trace, const struct progress *progress, struct wait_blame **ret_rows, size_t *ret_count,
                            struct error *err);

/*
 * The same of a run whose traces are in several places: what waits for other processes (messages, collectives, windows) is found in one
 * place that has MPI's calls of all, the rest where each trace is. Lanes are numbered from first_track on.
 */
enum wait_scope { WAITS_BETWEEN_PROCESSES, WAITS_WITHIN_PROCESSES };
int wait_blame_pack(const struct trace *trace, enum wait_scope scope, uint32_t first_track, struct parcel *parcel, struct error *err);
/* Rows of all pieces, most time first; their names are in *ret_texts. The caller frees both. */
int wait_blame_join(struct parcel *pieces, size_t count, struct wait_blame **ret_rows, size_t *ret_count, struct string_table **ret_texts,
                    struct error *err);

#endif
