/* SPDX-License-Identifier: MIT */
/*
 * Unwinding while samples arrive: jobs go to worker threads at idle priority and come back as stacks. What waits too long
 * is taken back by its producer (and packed to disk), so that a sample is never in memory only for more than a moment.
 */
#ifndef HP_RECORD_UNWIND_POOL_H
#define HP_RECORD_UNWIND_POOL_H

#include "base/cleanup.h"
#include "symbol/unwind.h"

#include <sys/types.h>

struct error;
struct map_view;
struct unwind_pool;

enum { UNWIND_FRAMES_MAXIMUM = 1024 };

struct unwind_job {
    pid_t pid, tid;
    int64_t time_ns, weight, queued_ns;
    uint16_t cpu;
    uint8_t event, flags;
    struct map_view *view;         /* its producer's reference; workers only look through it */
    const struct address_map *map; /* of the view */
    struct unwind_sample sample;   /* stack lies behind the job */
    const uint64_t *kernel;        /* kernel part of the stack, innermost first, behind the job */
    size_t kernel_count;
    size_t bytes;                  /* of memory, for the bound */
    /* The result: takes the place of stack and kernel. */
    struct unwind_frame *frames;
    size_t frame_count;
    enum unwind_end end;
};

/* Copies what it is given. The place behind a job has room for the frames of its stack. NULL when out of memory. */
struct unwind_job *unwind_job_create(const struct unwind_sample *sample, const uint64_t *kernel, size_t kernel_count);
void unwind_job_destroy(struct unwind_job *job); /* does not release the view */
/* Does the job here and now. */
void unwind_job_run(struct unwinder *unwinder, struct unwind_job *job);
/* The flags of its sample once it is done: those it came with, and whether its stack is truncated and by what. A cut of
 * PAGE_ABSENT in those it came with says that the copy is shorter than was asked for, and counts if the stack ends there. */
uint8_t unwind_job_flags(const struct unwind_job *job);

struct unwind_pool_options {
    unsigned threads;     /* 0 = one for each usable CPU, 16 at most */
    size_t limit_bytes;   /* of waiting jobs; 0 = 32 MiB */
};
int unwind_pool_create(const struct unwind_pool_options *options, struct unwind_pool **ret_pool, struct error *err);
void unwind_pool_destroy(struct unwind_pool *pool); /* joins the workers; takes back and frees whatever is left */
DEFINE_CLEANUP(struct unwind_pool *, unwind_pool_destroy)

/* False when the bound is reached: the job stays the caller's. */
bool unwind_pool_put(struct unwind_pool *pool, struct unwind_job *job);
struct unwind_job *unwind_pool_result(struct unwind_pool *pool); /* NULL when none is ready */
/* The oldest job that no worker has begun, if it was queued before `before_ns`; NULL when there is none. */
struct unwind_job *unwind_pool_take_back(struct unwind_pool *pool, int64_t before_ns);
size_t unwind_pool_pending(const struct unwind_pool *pool); /* put, and neither returned nor taken back */

#endif
