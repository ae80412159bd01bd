/* SPDX-License-Identifier: MIT */
/*
 * The producer alone allocates and frees jobs and counts view references: an allocator lock held by a preempted idle thread
 * would stall it. Two queues without locks and a semaphore are all that both sides share.
 */
#include "unwind_pool.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/shrunk_file.h"
#include "job_queue.h"
#include "trace/event.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE_CAPACITY = 8192, THREADS_MAXIMUM = 16, LIMIT_BYTES = 32 << 20 };

struct unwind_pool {
    struct job_queue todo, done;
    sem_t wakeups;
    pthread_t threads[THREADS_MAXIMUM];
    unsigned thread_count;
    bool stop;                  /* atomic */
    size_t limit_bytes, bytes;  /* bytes, pending: the producer's own */
    size_t pending;
};

static size_t frame_room(size_t stack_bytes, size_t kernel_count)
{
    /* Every frame but the first takes a return address of the stack. */
    size_t frames = stack_bytes / 8 + kernel_count + 2;
    return frames < UNWIND_FRAMES_MAXIMUM ? frames : UNWIND_FRAMES_MAXIMUM;
}

struct unwind_job *unwind_job_create(const struct unwind_sample *sample, const uint64_t *kernel, size_t kernel_count)
{
    size_t stack_room = (sample->stack_size + 15) & ~(size_t)15, kernel_bytes = kernel_count * sizeof(*kernel);
    size_t input = stack_room + kernel_bytes, output = frame_room(sample->stack_size, kernel_count) * sizeof(struct unwind_frame);
    size_t bytes = sizeof(struct unwind_job) + (input > output ? input : output);
    struct unwind_job *job = malloc(bytes);
    if (!job)
        return NULL;
    uint8_t *behind = (uint8_t *)(job + 1);
    *job = (struct unwind_job){.sample = *sample, .kernel_count = kernel_count, .bytes = bytes};
    if (sample->stack_size)
        memcpy(behind, sample->stack, sample->stack_size);
    job->sample.stack = behind;
    if (kernel_count)
        memcpy(behind + stack_room, kernel, kernel_bytes);
    job->kernel = (const uint64_t *)(const void *)(behind + stack_room);
    job->frames = (struct unwind_frame *)(void *)behind;
    return job;
}

void unwind_job_destroy(struct unwind_job *job)
{
    free(job);
}

void unwind_job_run(struct unwinder *unwinder, struct unwind_job *job)
{
    struct unwind_frame frames[UNWIND_FRAMES_MAXIMUM];
    size_t room = frame_room(job->sample.stack_size, job->kernel_count);
    size_t count = unwind_from_addresses(job->map, job->kernel, job->kernel_count, true, frames, room);
    if (room > count)
        count += unwind(unwinder, job->map, &job->sample, frames + count, room - count, &job->end);
    else
        job->end = UNWIND_LIMIT;
    memcpy(job->frames, frames, count * sizeof(frames[0]));
    job->frame_count = count;
}

uint8_t unwind_job_flags(const struct unwind_job *job)
{
    static const enum sample_cut cuts[] = {
        [UNWIND_STACK_ENDED] = SAMPLE_CUT_COPY_ENDED, [UNWIND_NO_CFI] = SAMPLE_CUT_NO_UNWIND_INFO,
        [UNWIND_BAD_FRAME] = SAMPLE_CUT_BAD_FRAME, [UNWIND_LIMIT] = SAMPLE_CUT_TOO_DEEP,
        [UNWIND_ELSEWHERE] = SAMPLE_CUT_ELSEWHERE};
    uint8_t flags = job->flags & (uint8_t)~SAMPLE_CUT_MASK;
    if (job->end == UNWIND_ROOT)
        return flags;
    bool page_absent = job->end == UNWIND_STACK_ENDED && sample_cut_of(job->flags) == SAMPLE_CUT_PAGE_ABSENT;
    enum sample_cut cut = page_absent ? SAMPLE_CUT_PAGE_ABSENT : cuts[job->end];
    return flags | (uint8_t)(SAMPLE_TRUNCATED | cut << SAMPLE_CUT_SHIFT);
}

static void *work(void *context)
{
    struct unwind_pool *pool = context;
    struct sched_param parameter = {0};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameter); /* refused: then at our own priority */
    CLEANUP(unwinder_destroyp) struct unwinder *unwinder = NULL;
    if (unwinder_create(&unwinder) < 0)
        return NULL;
    while (!__atomic_load_n(&pool->stop, __ATOMIC_ACQUIRE)) {
        struct unwind_job *job = job_queue_take(&pool->todo);
        if (!job) {
            while (sem_wait(&pool->wakeups) < 0 && errno == EINTR)
                ;
            continue;
        }
        unwind_job_run(unwinder, job);
        while (!job_queue_put(&pool->done, job))
            sched_yield(); /* cannot last: at most QUEUE_CAPACITY jobs are pending */
    }
    return NULL;
}

static unsigned default_threads(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return count < THREADS_MAXIMUM ? (unsigned)count : THREADS_MAXIMUM;
}

static int start_threads(struct unwind_pool *pool, unsigned wanted)
{
    sigset_t all, before;
    signals_of_others(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int r = 0;
    while (pool->thread_count < wanted && r == 0) {
        r = pthread_create(&pool->threads[pool->thread_count], NULL, work, pool);
        pool->thread_count += r == 0;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pool->thread_count ? 0 : -r;
}

int unwind_pool_create(const struct unwind_pool_options *options, struct unwind_pool **ret_pool, struct error *err)
{
    struct unwind_pool *pool = aligned_alloc(64, (sizeof(*pool) + 63) & ~(size_t)63);
    if (!pool)
        return error_set(err, -ENOMEM, "unwinding: out of memory");
    memset(pool, 0, sizeof(*pool));
    pool->limit_bytes = options->limit_bytes ? options->limit_bytes : LIMIT_BYTES;
    sem_init(&pool->wakeups, 0, 0);
    int r = job_queue_init(&pool->todo, QUEUE_CAPACITY);
    if (r == 0)
        r = job_queue_init(&pool->done, QUEUE_CAPACITY);
    unsigned threads = options->threads ? options->threads : default_threads();
    if (r == 0)
        r = start_threads(pool, threads < THREADS_MAXIMUM ? threads : THREADS_MAXIMUM);
    if (r < 0) {
        unwind_pool_destroy(pool);
        return error_set_errno(err, r, "unwinding: cannot start worker threads");
    }
    *ret_pool = pool;
    return 0;
}

void unwind_pool_destroy(struct unwind_pool *pool)
{
    if (!pool)
        return;
    __atomic_store_n(&pool->stop, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < pool->thread_count; i++)
        sem_post(&pool->wakeups);
    for (unsigned i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    if (pool->todo.cells)
        for (struct unwind_job *job; (job = job_queue_take(&pool->todo));)
            unwind_job_destroy(job);
    if (pool->done.cells)
        for (struct unwind_job *job; (job = job_queue_take(&pool->done));)
            unwind_job_destroy(job);
    job_queue_finish(&pool->todo);
    job_queue_finish(&pool->done);
    sem_destroy(&pool->wakeups);
    free(pool);
}

bool unwind_pool_put(struct unwind_pool *pool, struct unwind_job *job)
{
    job->queued_ns = clock_raw_ns();
    if (pool->bytes + job->bytes > pool->limit_bytes || pool->pending >= QUEUE_CAPACITY - 1 || !job_queue_put(&pool->todo, job))
        return false;
    pool->bytes += job->bytes;
    pool->pending++;
    int waiting; /* workers find jobs without waiting too: more tokens than workers would only make them spin later */
    if (sem_getvalue(&pool->wakeups, &waiting) == 0 && waiting < (int)pool->thread_count)
        sem_post(&pool->wakeups);
    return true;
}

static struct unwind_job *leave(struct unwind_pool *pool, struct unwind_job *job)
{
    if (job) {
        pool->bytes -= job->bytes;
        pool->pending--;
    }
    return job;
}

struct unwind_job *unwind_pool_result(struct unwind_pool *pool)
{
    return leave(pool, job_queue_take(&pool->done));
}

struct unwind_job *unwind_pool_take_back(struct unwind_pool *pool, int64_t before_ns)
{
    /* Jobs are freed by this thread only, so one that a worker takes at this moment may still be looked at. */
    const struct unwind_job *oldest = job_queue_peek(&pool->todo);
    return oldest && oldest->queued_ns < before_ns ? leave(pool, job_queue_take(&pool->todo)) : NULL;
}

size_t unwind_pool_pending(const struct unwind_pool *pool)
{
    return pool->pending;
}
