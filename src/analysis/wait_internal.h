/* SPDX-License-Identifier: MIT */
/* What the files of wait states share. */
#ifndef HP_ANALYSIS_WAIT_INTERNAL_H
#define HP_ANALYSIS_WAIT_INTERNAL_H

#include "preempted.h"
#include "run_reading.h"
#include "wait_states.h"

#include "base/map.h"
#include "base/saturated.h"

enum wait_charge { CHARGE_EXCESS, CHARGE_ACTIVITY, CHARGE_HOLDER, CHARGE_NOBODY };
enum wait_charge wait_pattern_charge(enum wait_pattern pattern);

/* A lane was in step with the others of an event (a collective, a barrier, a message, a fork) when it went on. */
struct wait_step {
    uint32_t lane, event;
    int64_t leave_ns;
};

/* Code outside of calls that a delay is made of. */
struct wait_outside {
    uint32_t lane, delay; /* delay: place in out->delays as they are found */
    int64_t begin_ns, end_ns;
};

/* Wait states summed as they are found. */
struct wait_blame_sum {
    struct wait_blame *rows;
    size_t count, capacity;
    uint32_t *slots; /* a hash table of rows' numbers, at most half full */
    size_t slot_count;
    bool with_functions;
    struct wait_outside *outside; /* with_functions: code outside of calls that was waited for; `delay` is a row's number */
    size_t outside_count, outside_capacity;
};

struct wait_building {
    const struct trace *trace;
    struct run_reading *run;
    struct span_table *table;
    const struct lane_times *times; /* run's, as links */
    const struct preempted *preempted; /* by the rule of path_preempted.h: no wait, and nobody's work */
    unsigned scopes; /* bits by enum wait_scope; 0 = all */
    struct wait_blame_sum *blame; /* not NULL: only sums are wanted, so that no state or step is kept and nothing charged */
    struct backends backends;
    const struct trace_link *links;
    size_t link_count;
    struct group_member *members;
    size_t member_count;
    struct map requests; /* posting span -> the span in which it was waited for */
    struct wait_step *steps;
    size_t step_count, step_capacity;
    uint32_t event_count;
    struct wait_states *out;
    size_t capacity;
    struct error *err;
};

/* Adds one if it waited at all: time_ns over 0. */
int wait_add(struct wait_building *building, const struct wait_state *state);
/* The same of what comes behind the release: without what the thread was preempted for. */
int wait_add_released(struct wait_building *building, const struct wait_state *state);
int wait_add_step(struct wait_building *building, uint32_t lane, uint32_t event, int64_t leave_ns);

/* Rows of sums; finish gives them away, most time first. -ENOMEM at worst. */
int wait_blame_add(struct wait_blame_sum *sum, const struct wait_state *state, string_id cause, string_id victim);
int wait_blame_finish(struct wait_blame_sum *sum, const struct string_table *texts, struct wait_blame **ret_rows, size_t *ret_count);
void wait_blame_clear(struct wait_blame_sum *sum);

/* The call in which what `span` posted was waited for: itself, or by its request. False: nobody waited (a test, an unknown end). */
bool wait_call_of(const struct wait_building *building, uint32_t span, uint32_t *ret_call);
static inline const char *wait_span_name(const struct wait_building *building, uint32_t span)
{
    return trace_text(building->trace, building->table->name[span]);
}
/* Whether a list of ranks, "3,5-9", has this one. */
bool wait_ranks_have(const char *list, int32_t rank);

/* Each finds the wait states of its part and the steps that come with them. */
int wait_find_messages(struct wait_building *building);
int wait_find_collectives(struct wait_building *building);
int wait_find_windows(struct wait_building *building);
int wait_find_openmp(struct wait_building *building);
int wait_find_idle_threads(struct wait_building *building);
int wait_find_devices(struct wait_building *building);
int wait_find_nccl(struct wait_building *building);

struct wait_function {
    string_id function;   /* STRING_NONE: too few samples, or mostly blocked */
    double share;         /* of the stretches' time, without what the lane was preempted for: what its samples stand for */
    uint64_t samples;     /* its own; without a function: all */
    double blocked_share; /* of that time */
};
/* For each place that stretches have, the function that was sampled most in them, by at least so many samples; stretches are sorted here. */
#define WAIT_FUNCTION_SAMPLES 5
#define WAIT_BLOCKED_SHARE 0.5 /* blocked for more of it: no function made it late */
int wait_functions_find(const struct trace *trace, struct wait_outside *stretches, size_t count, struct wait_function *found, size_t found_count,
                        struct error *err);
/* Names the functions of delays by the samples in these stretches, which are sorted here. */
int wait_name_functions(struct wait_building *building, struct wait_outside *stretches, size_t count);

/* Fills out->delays and uncharged_ns; out->states are sorted. */
int wait_charge_delays(struct wait_building *building);

#endif
