/* SPDX-License-Identifier: MIT */
/* Ordered jobs: the state of a slot says who may run it; only the end of a run goes through the lock. */
#include "base/ordered_jobs.h"

#include "base/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

enum slot_state { SLOT_FREE, SLOT_QUEUED, SLOT_RUNNING, SLOT_DONE };

struct slot {
    struct ordered_jobs *jobs;
    atomic_int state;
};

struct ordered_jobs {
    struct thread_pool *pool;
    void (*run)(void *context, size_t slot);
    void *context;
    uint64_t queued, taken; /* jobs so far; job n is in slots[n % slot_count] */
    size_t slot_count;
    pthread_mutex_t lock;
    pthread_cond_t done;
    struct slot slots[ORDERED_JOBS_MAX];
};

int ordered_jobs_create(struct thread_pool *pool, void (*run)(void *context, size_t slot), void *context, struct ordered_jobs **ret_jobs)
{
    struct ordered_jobs *jobs = calloc(1, sizeof(*jobs));
    if (!jobs)
        return -ENOMEM;
    jobs->pool = pool;
    jobs->run = run;
    jobs->context = context;
    jobs->slot_count = pool ? thread_pool_size(pool) + 2 : 1;
    if (jobs->slot_count > ORDERED_JOBS_MAX)
        jobs->slot_count = ORDERED_JOBS_MAX;
    for (size_t i = 0; i < jobs->slot_count; i++)
        jobs->slots[i].jobs = jobs;
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->done, NULL);
    *ret_jobs = jobs;
    return 0;
}

size_t ordered_jobs_slots(const struct ordered_jobs *jobs)
{
    return jobs->slot_count;
}

static bool begin(struct slot *slot)
{
    int expected = SLOT_QUEUED;
    return atomic_compare_exchange_strong(&slot->state, &expected, SLOT_RUNNING);
}

static void run(struct slot *slot)
{
    struct ordered_jobs *jobs = slot->jobs;
    jobs->run(jobs->context, (size_t)(slot - jobs->slots));
}

/* A worker may come late, when the caller has run the slot and queued another job in its place: then it takes that. */
static void worker_job(void *context)
{
    struct slot *slot = context;
    if (!begin(slot))
        return;
    run(slot);
    pthread_mutex_lock(&slot->jobs->lock);
    atomic_store(&slot->state, SLOT_DONE);
    pthread_cond_broadcast(&slot->jobs->done);
    pthread_mutex_unlock(&slot->jobs->lock);
}

bool ordered_jobs_room(const struct ordered_jobs *jobs, size_t *ret_slot)
{
    *ret_slot = jobs->queued % jobs->slot_count;
    return jobs->queued - jobs->taken < jobs->slot_count;
}

void ordered_jobs_queue(struct ordered_jobs *jobs)
{
    struct slot *slot = &jobs->slots[jobs->queued++ % jobs->slot_count];
    atomic_store(&slot->state, SLOT_QUEUED);
    if (jobs->pool)
        (void)thread_pool_submit(jobs->pool, worker_job, slot); /* refused: the caller runs it */
}

bool ordered_jobs_take(struct ordered_jobs *jobs, size_t *ret_slot)
{
    struct slot *slot = &jobs->slots[jobs->taken % jobs->slot_count];
    if (jobs->taken == jobs->queued)
        return false;
    *ret_slot = (size_t)(slot - jobs->slots);
    if (begin(slot)) {
        run(slot);
        atomic_store(&slot->state, SLOT_DONE);
        return true;
    }
    pthread_mutex_lock(&jobs->lock);
    while (atomic_load(&slot->state) != SLOT_DONE)
        pthread_cond_wait(&jobs->done, &jobs->lock);
    pthread_mutex_unlock(&jobs->lock);
    return true;
}

void ordered_jobs_release(struct ordered_jobs *jobs)
{
    atomic_store(&jobs->slots[jobs->taken++ % jobs->slot_count].state, SLOT_FREE);
}

void ordered_jobs_destroy(struct ordered_jobs *jobs)
{
    if (!jobs)
        return;
    for (size_t i = 0; i < jobs->slot_count; i++) {
        int expected = SLOT_QUEUED;
        atomic_compare_exchange_strong(&jobs->slots[i].state, &expected, SLOT_FREE);
    }
    if (jobs->pool)
        thread_pool_wait(jobs->pool);
    pthread_cond_destroy(&jobs->done);
    pthread_mutex_destroy(&jobs->lock);
    free(jobs);
}
