/* SPDX-License-Identifier: MIT */
/* When threads could run but were not let, as another one had the processor: what the scheduler's records say, by thread. */
#ifndef HP_ANALYSIS_PREEMPTED_H
#define HP_ANALYSIS_PREEMPTED_H

#include "trace/trace.h"

struct preempted_stretch {
    uint32_t track; /* of the thread */
    int64_t begin_ns, end_ns;
};

struct preempted {
    struct preempted_stretch *stretches; /* by track, then begin: those of one thread do not overlap */
    size_t count;
    size_t *first;    /* by track: track_count + 1 entries */
    uint32_t first_track; /* what tracks are numbered from by who asks: not 0 where the trace is a piece of theirs */
    bool known;       /* the trace has records of the scheduler */
};

/* The same of one of the scheduler's names ("preempted", "blocked"), of threads that wanted[track] says. */
int off_processor_create(const struct trace *trace, const char *name, const bool *wanted, struct preempted **ret_stretches, struct error *err);
int preempted_create(const struct trace *trace, struct preempted **ret_preempted, struct error *err);
void preempted_destroy(struct preempted *preempted);
DEFINE_CLEANUP(struct preempted *, preempted_destroy)

/* The same, made once of each trace, to which it belongs. */
int preempted_of_trace(const struct trace *trace, const struct preempted **ret_preempted, struct error *err);

/* How long a thread was, within [begin_ns, end_ns). */
int64_t preempted_within(const struct preempted *preempted, uint32_t track, int64_t begin_ns, int64_t end_ns);

#endif
