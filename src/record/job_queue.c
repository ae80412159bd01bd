/* SPDX-License-Identifier: MIT */
/*
 * Each cell carries a turn number. A producer claims position p by moving put_position from p to p + 1, which it may do only
 * when cell p has turn p, stores its job and sets the turn to p + 1. A consumer claims p when the turn is p + 1 and sets it
 * to p + capacity: the turn of the next lap's producer. (D. Vyukov's bounded queue.)
 */
#include "job_queue.h"

#include <errno.h>
#include <stdlib.h>

int job_queue_init(struct job_queue *queue, size_t capacity)
{
    *queue = (struct job_queue){.mask = capacity - 1};
    queue->cells = calloc(capacity, sizeof(*queue->cells));
    if (!queue->cells)
        return -ENOMEM;
    for (size_t i = 0; i < capacity; i++)
        queue->cells[i].turn = i;
    return 0;
}

void job_queue_finish(struct job_queue *queue)
{
    free(queue->cells);
    queue->cells = NULL;
}

/* Claims the cell at *position once its turn is position + ahead; NULL when the queue is full (or empty). */
static struct job_cell *claim(struct job_queue *queue, uint64_t *position, uint64_t ahead, uint64_t *ret_position)
{
    uint64_t at = __atomic_load_n(position, __ATOMIC_RELAXED);
    for (;;) {
        struct job_cell *cell = &queue->cells[at & queue->mask];
        int64_t difference = (int64_t)(__atomic_load_n(&cell->turn, __ATOMIC_ACQUIRE) - (at + ahead));
        if (difference < 0)
            return NULL;
        if (difference > 0)
            at = __atomic_load_n(position, __ATOMIC_RELAXED);
        else if (__atomic_compare_exchange_n(position, &at, at + 1, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            *ret_position = at;
            return cell;
        }
    }
}

bool job_queue_put(struct job_queue *queue, void *job)
{
    uint64_t position;
    struct job_cell *cell = claim(queue, &queue->put_position, 0, &position);
    if (!cell)
        return false;
    __atomic_store_n(&cell->job, job, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->turn, position + 1, __ATOMIC_RELEASE);
    return true;
}

void *job_queue_take(struct job_queue *queue)
{
    uint64_t position;
    struct job_cell *cell = claim(queue, &queue->take_position, 1, &position);
    if (!cell)
        return NULL;
    void *job = __atomic_load_n(&cell->job, __ATOMIC_RELAXED);
    __atomic_store_n(&cell->turn, position + queue->mask + 1, __ATOMIC_RELEASE);
    return job;
}

void *job_queue_peek(const struct job_queue *queue)
{
    uint64_t at = __atomic_load_n(&queue->take_position, __ATOMIC_RELAXED);
    const struct job_cell *cell = &queue->cells[at & queue->mask];
    return __atomic_load_n(&cell->turn, __ATOMIC_ACQUIRE) == at + 1 ? __atomic_load_n(&cell->job, __ATOMIC_RELAXED) : NULL;
}
