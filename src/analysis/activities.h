/* SPDX-License-Identifier: MIT */
/* What the spans of a trace are, as a number each: spans of one name, category and kind are one activity. */
#ifndef HP_ANALYSIS_ACTIVITIES_H
#define HP_ANALYSIS_ACTIVITIES_H

#include "trace/filter.h"

struct parcel;
struct progress;

#define ACTIVITY_NONE 0 /* code outside of all spans: the first row */

struct activity {
    string_id name, category;
    enum span_kind kind; /* SPAN_KIND_COMPUTE for ACTIVITY_NONE */
};

struct activities {
    const struct string_table *texts; /* of names and categories; NULL: the trace's */
    uint32_t count;
    struct activity *rows;
    uint32_t span_count;
    uint32_t *of_span;
    struct string_table *own_texts;   /* of joined ones */
};

int activities_create(const struct trace *trace, const struct progress *progress, struct activities **ret_activities,
                      struct error *err);
void activities_destroy(struct activities *activities);
DEFINE_CLEANUP(struct activities *, activities_destroy)

/* Activities of traces that are pieces of one, as they go to where they are joined: in the order of the pieces, so that they get the numbers
 * that those of the whole would have. */
void activities_pack(const struct activities *activities, const struct trace *trace, struct parcel *parcel);
int activities_join(struct parcel *pieces, size_t count, struct activities **ret_activities, struct error *err);

static inline uint32_t activity_of(const struct activities *activities, span_id span)
{
    return span.index < activities->span_count ? activities->of_span[span.index] : ACTIVITY_NONE;
}

/* Spans whose own time is the program's code, not a runtime's: parts of regions, tasks, loops, ranges ... */
bool span_kind_is_code(enum span_kind kind);

/*
 * What a filter asks for: spans, and of each track the share of its code outside of calls. That is all or nothing where
 * the filter asks for a track or kind=compute; where it asks for functions (name, path), it is their share of the
 * track's CPU samples.
 */
struct activity_set {
    uint32_t span_count, track_count;
    uint8_t *spans;      /* a bit by span id */
    double *code_shares; /* by track, 0 to 1 */
    bool *whole_tracks;  /* tracks whose code is in it because no function is asked for */
    struct filter_match *match; /* for samples; it needs the filter, and is not shared by threads */
    bool any;            /* it holds something */
};

int activity_set_create(const struct trace *trace, const struct trace_filter *filter, struct activity_set **ret_set,
                        struct error *err);
void activity_set_destroy(struct activity_set *set);
DEFINE_CLEANUP(struct activity_set *, activity_set_destroy)

/* How much of an interval within `span` (SPAN_NONE: outside of all) of a track is in the set; `code`: the span's own
 * time is code. */
static inline double activity_set_share(const struct activity_set *set, track_id track, span_id span, bool code)
{
    if (span.index < set->span_count && (set->spans[span.index / 8] >> span.index % 8 & 1))
        return 1;
    if (span.index != ID_NONE && !code)
        return 0;
    return track.index < set->track_count ? set->code_shares[track.index] : 0;
}

/* The same for what is shown of it: code is not scaled by the share of its track, but counts with its own samples. */
enum activity_portion { ACTIVITY_NOTHING, ACTIVITY_BY_SAMPLES, ACTIVITY_WHOLE };
static inline enum activity_portion activity_set_portion(const struct activity_set *set, track_id track, span_id span, bool code)
{
    if (!set || (span.index < set->span_count && (set->spans[span.index / 8] >> span.index % 8 & 1)))
        return ACTIVITY_WHOLE;
    if ((span.index != ID_NONE && !code) || track.index >= set->track_count)
        return ACTIVITY_NOTHING;
    if (set->whole_tracks[track.index])
        return ACTIVITY_WHOLE;
    return code && set->code_shares[track.index] > 0 ? ACTIVITY_BY_SAMPLES : ACTIVITY_NOTHING;
}

#endif
