/* SPDX-License-Identifier: MIT */
/*
 * Which one-sided calls waited until their target came into MPI: libraries that need the target's help for what they do in its memory go on only
 * while it is in some call. Nobody records when they do; it is told from times, as medium confidence has it: the target was in no call of MPI when
 * this one began, and this one ended soon after the target's next call had begun: in a tenth at most of the time until then, without what its own thread was
 * preempted for. By chance a call that waits for something else ends so in one of eleven cases at most.
 */
#ifndef HP_ANALYSIS_TARGET_PROGRESS_H
#define HP_ANALYSIS_TARGET_PROGRESS_H

#include "preempted.h"

struct target_call {
    int64_t begin_ns, end_ns;
    int64_t reach_ns; /* the latest end of the rank's calls up to this one */
    uint32_t span;
    int32_t rank;
};

struct target_calls { /* all zero: empty */
    struct target_call *calls;
    size_t count, capacity;
};

/* -ENOMEM at worst. All are added, then sorted, then asked. */
int target_calls_add(struct target_calls *calls, int32_t rank, uint32_t span, int64_t begin_ns, int64_t end_ns);
void target_calls_sort(struct target_calls *calls);
void target_calls_finish(struct target_calls *calls);

/* The target's call that a one-sided call of a thread waited for; NULL: it did not, or nothing tells. */
const struct target_call *target_waited_for(const struct target_calls *calls, int32_t target, uint32_t track, int64_t begin_ns, int64_t end_ns,
                                            const struct preempted *preempted);
/* Whether a call works on a target's memory, or asks for it: by name. */
bool is_one_sided(const char *name);

#endif
