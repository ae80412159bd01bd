/* SPDX-License-Identifier: MIT */
/*
 * A bounded queue of pointers for several producers and consumers without a lock: threads at idle priority work on one end,
 * and one of them that loses its CPU in the middle of an operation must not hold up the thread that empties the kernel's rings.
 */
#ifndef HP_RECORD_JOB_QUEUE_H
#define HP_RECORD_JOB_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct job_cell {
    uint64_t turn; /* position + 0: free for the producer of that position; + 1: filled for its consumer */
    void *job;
};

struct job_queue {
    struct job_cell *cells;
    uint64_t mask;
    _Alignas(64) uint64_t put_position;
    _Alignas(64) uint64_t take_position;
};

int job_queue_init(struct job_queue *queue, size_t capacity); /* capacity: a power of two */
void job_queue_finish(struct job_queue *queue);
bool job_queue_put(struct job_queue *queue, void *job); /* false when full */
void *job_queue_take(struct job_queue *queue);          /* NULL when empty */
/* What a take would most likely give now; somebody else may take it first. */
void *job_queue_peek(const struct job_queue *queue);

#endif
