/* SPDX-License-Identifier: MIT */
/*
 * Jobs whose results are taken in the order in which they were queued: a ring of slots that workers run ahead of the
 * caller. Whoever takes a job that nobody has begun runs it himself, so that it goes on without workers as well.
 * One thread queues and takes; what a slot holds is the caller's and belongs to the job from queueing to taking.
 */
#ifndef HP_BASE_ORDERED_JOBS_H
#define HP_BASE_ORDERED_JOBS_H

#include "cleanup.h"

#include <stdbool.h>
#include <stddef.h>

struct ordered_jobs;
struct thread_pool;

#define ORDERED_JOBS_MAX 34

/* As many slots as keep the pool (NULL: no workers) busy. 0 or -ENOMEM. */
int ordered_jobs_create(struct thread_pool *pool, void (*run)(void *context, size_t slot), void *context, struct ordered_jobs **ret_jobs);
void ordered_jobs_destroy(struct ordered_jobs *jobs); /* what was not begun never runs, what runs is waited for */
DEFINE_CLEANUP(struct ordered_jobs *, ordered_jobs_destroy)
size_t ordered_jobs_slots(const struct ordered_jobs *jobs);

bool ordered_jobs_room(const struct ordered_jobs *jobs, size_t *ret_slot); /* the slot to fill for the next job; false: all are taken */
void ordered_jobs_queue(struct ordered_jobs *jobs);                       /* queues that slot */
bool ordered_jobs_take(struct ordered_jobs *jobs, size_t *ret_slot);       /* the oldest, done; false: nothing is queued */
void ordered_jobs_release(struct ordered_jobs *jobs);                     /* the slot taken is free again */

#endif
