/* SPDX-License-Identifier: MIT */
/* All events of a recording: for each followed task one on every CPU, and one ring a CPU that they share. */
#ifndef HP_SAMPLE_EVENT_SET_H
#define HP_SAMPLE_EVENT_SET_H

#include "base/cleanup.h"
#include "perf_event.h"
#include "perf_ring.h"

struct event_set;

int event_set_create(const struct sampling_plan *plan, const struct log *log, struct event_set **ret_set, struct error *err);
void event_set_destroy(struct event_set *set);
DEFINE_CLEANUP(struct event_set *, event_set_destroy)

/*
 * Follows a task and everything it will start. -ESRCH when it has ended. A task that is already followed because its
 * creator was must not be added: its samples would count twice.
 */
int event_set_add_task(struct event_set *set, pid_t tid, struct error *err);
/* Hz that the events are opened with: less than the plan's once the kernel has lowered its limit. */
unsigned event_set_frequency(const struct event_set *set);
int event_set_enable(struct event_set *set);  /* after a delayed start */
int event_set_disable(struct event_set *set); /* no more samples; mappings and switches go on */

/* Readable (level-triggered) when a ring has passed its watermark. */
int event_set_poll_fd(const struct event_set *set);

struct event_record {
    struct perf_record record;
    enum perf_event_role role;
    const void *raw; /* the whole record, raw_bytes of it; valid during the callback */
    size_t raw_bytes;
};
/* Reads every ring to where it is now and hands each record over; a negative result of the callback ends the reading and is returned. */
int event_set_read(struct event_set *set, int (*handle)(void *context, const struct event_record *record), void *context);

struct event_totals {
    uint64_t faults;             /* page faults of all followed tasks, exact */
    bool faults_known;
    uint64_t lost_samples;       /* exact where the kernel counts them (6.0 on) */
    bool lost_known;
    uint64_t bad_records;        /* bytes in a ring that were no record */
    uint64_t ring_bytes;         /* of all rings together */
};
/* Samples lost so far for want of room; 0 where the kernel does not count them. A read for each event. */
uint64_t event_set_lost_samples(const struct event_set *set);
void event_set_totals(const struct event_set *set, struct event_totals *ret_totals);

#endif
