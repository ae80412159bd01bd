/* SPDX-License-Identifier: MIT */
/* Thread pool: parallel loops and single jobs. Jobs may not block on other jobs of the same pool. */
#ifndef HP_BASE_THREAD_POOL_H
#define HP_BASE_THREAD_POOL_H

#include "cleanup.h"

#include <stdbool.h>
#include <stddef.h>

struct thread_pool;

/* threads 0 = one per usable core (sched_getaffinity). All signals are blocked in the workers. -errno on failure. */
int thread_pool_create(unsigned threads, struct thread_pool **ret_pool);
void thread_pool_destroy(struct thread_pool *pool); /* finishes what was submitted, then joins */
DEFINE_CLEANUP(struct thread_pool *, thread_pool_destroy)
unsigned thread_pool_size(const struct thread_pool *pool);

/* Runs job(context, index) for index 0..count-1 on the caller and size-1 workers; returns when all are done. May nest. */
void thread_pool_for(struct thread_pool *pool, size_t count, void (*job)(void *context, size_t index), void *context);
/* Queues one job; -EAGAIN when more than the bound are waiting (bound: 1024). */
int thread_pool_submit(struct thread_pool *pool, void (*job)(void *context), void *context);
void thread_pool_wait(struct thread_pool *pool);    /* until all submitted jobs are done */

#endif
