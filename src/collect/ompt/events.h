/* SPDX-License-Identifier: MIT */
/* What the runtime calls: one function an event (OMPT's signatures), and how each kind of frame is written. */
#ifndef HP_COLLECT_OMPT_EVENTS_H
#define HP_COLLECT_OMPT_EVENTS_H

#include "lane.h"

/* region.c */
void on_parallel_begin(union omp_data *encountering, const void *frame, union omp_data *parallel, unsigned requested, int flags, const void *code);
void on_parallel_end(union omp_data *parallel, union omp_data *encountering, int flags, const void *code);
void on_implicit_task(int endpoint, union omp_data *parallel, union omp_data *task, unsigned threads, unsigned index, int flags);
void write_parallel(struct lane *lane, const struct frame *frame, uint64_t end);
void write_implicit(struct lane *lane, const struct frame *frame, uint64_t end);

/* work.c */
void on_work(int type, int endpoint, union omp_data *parallel, union omp_data *task, uint64_t count, const void *code);
void on_dispatch(union omp_data *parallel, union omp_data *task, int kind, union omp_data instance);
void on_masked(int endpoint, union omp_data *parallel, union omp_data *task, const void *code);
void write_work(struct lane *lane, const struct frame *frame, uint64_t end);

/* sync.c */
void on_sync_region(int kind, int endpoint, union omp_data *parallel, union omp_data *task, const void *code);
void on_sync_wait(int kind, int endpoint, union omp_data *parallel, union omp_data *task, const void *code);
void write_sync(struct lane *lane, const struct frame *frame, uint64_t end);

/* mutex.c */
void on_mutex_acquire(int kind, unsigned hint, unsigned implementation, uint64_t mutex, const void *code);
void on_mutex_acquired(int kind, uint64_t mutex, const void *code);
void on_mutex_released(int kind, uint64_t mutex, const void *code);
void write_mutex(struct lane *lane, const struct frame *frame, uint64_t end);
void mutex_flush(struct lane *lane); /* locks still held when the thread ends */

/* task.c */
void on_task_create(union omp_data *encountering, const void *frame, union omp_data *task, int flags, int dependences, const void *code);
void on_task_schedule(union omp_data *prior, int status, union omp_data *next);
void on_task_dependence(union omp_data *first, union omp_data *second);
void on_cancel(union omp_data *task, int flags, const void *code);
void write_task(struct lane *lane, const struct frame *frame, uint64_t end, enum openmp_name reason);
uint64_t task_identify(struct lane *lane, union omp_data *task); /* its id, given now if it has none; 0 = no such task */

/*
 * A task's 8 bytes hold all that is known of it, so that tasks need no memory of ours however many wait: the number of its
 * stretch in 10 bits (full: not known), whether it is on a thread's stack, whether it is an explicit one, the number of its code in
 * 12 bits, its id in 40.
 */
#define TASK_PART_MAX 0x3ffu
#define TASK_HERE 0x400u
#define TASK_IS_EXPLICIT 0x800u
enum { TASK_CODE_SHIFT = 12, TASK_ID_SHIFT = 24 };
INLINE uint64_t task_id(uint64_t value)
{
    return value >> TASK_ID_SHIFT;
}
INLINE uint32_t task_code(uint64_t value)
{
    return (uint32_t)(value >> TASK_CODE_SHIFT) & (CODES - 1);
}

/* target.c */
void on_target(int kind, int endpoint, int device, union omp_data *task, uint64_t target, const void *code);
void on_target_emi(int kind, int endpoint, int device, union omp_data *task, union omp_data *target_task, union omp_data *target, const void *code);
void on_data_op(uint64_t target, uint64_t operation, int type, void *source, int source_device, void *destination, int destination_device, size_t bytes, const void *code);
void on_data_op_emi(int endpoint, union omp_data *target_task, union omp_data *target, uint64_t *operation, int type, void *source, int source_device, void *destination, int destination_device, size_t bytes, const void *code);
void on_submit(uint64_t target, uint64_t operation, unsigned teams);
void on_submit_emi(int endpoint, union omp_data *target, uint64_t *operation, unsigned teams);
void write_target(struct lane *lane, const struct frame *frame, uint64_t end);
void write_data_op(struct lane *lane, const struct frame *frame, uint64_t end);
void write_submit(struct lane *lane, const struct frame *frame, uint64_t end);

#endif
