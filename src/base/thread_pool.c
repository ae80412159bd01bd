/* SPDX-License-Identifier: MIT */
/*
 * Thread pool: one lock for the queue of jobs and the list of running loops; the indexes of a loop are handed out by an
 * atomic counter. The caller of a loop works on it too, so loops may be started from inside jobs.
 */
#include "base/thread_pool.h"

#include "shrunk_file.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define QUEUE_BOUND 1024u

struct job {
    void (*run)(void *context);
    void *context;
};

/* Lives on the stack of the thread that started it, which leaves only when `helpers` is 0 and the loop is off the list. */
struct loop {
    struct loop *next;
    void (*run)(void *context, size_t index);
    void *context;
    size_t count;
    atomic_size_t claimed;
    unsigned helpers, helpers_maximum; /* under the lock */
};

struct thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;  /* something to do, or the end */
    pthread_cond_t done;  /* a job or a helper has finished */
    struct loop *loops;
    struct job queue[QUEUE_BOUND];
    unsigned first, waiting, running; /* of the queue */
    bool ending;
    unsigned size; /* threads started */
    pthread_t threads[];
};

static void loop_run(struct loop *loop)
{
    for (;;) {
        size_t index = atomic_fetch_add_explicit(&loop->claimed, 1, memory_order_relaxed);
        if (index >= loop->count)
            return;
        loop->run(loop->context, index);
    }
}

static struct loop *find_loop(const struct thread_pool *pool)
{
    for (struct loop *loop = pool->loops; loop; loop = loop->next)
        if (loop->helpers < loop->helpers_maximum &&
            atomic_load_explicit(&loop->claimed, memory_order_relaxed) < loop->count)
            return loop;
    return NULL;
}

/* One piece of work under the lock, which is released while it runs. False if there is none. */
static bool work_once(struct thread_pool *pool)
{
    struct loop *loop = find_loop(pool);
    if (loop) {
        loop->helpers++;
        pthread_mutex_unlock(&pool->lock);
        loop_run(loop);
        pthread_mutex_lock(&pool->lock);
        loop->helpers--;
        pthread_cond_broadcast(&pool->done);
        return true;
    }
    if (!pool->waiting)
        return false;
    struct job job = pool->queue[pool->first];
    pool->first = (pool->first + 1) % QUEUE_BOUND;
    pool->waiting--;
    pool->running++;
    pthread_mutex_unlock(&pool->lock);
    job.run(job.context);
    pthread_mutex_lock(&pool->lock);
    pool->running--;
    pthread_cond_broadcast(&pool->done);
    return true;
}

static void *worker_main(void *context)
{
    struct thread_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        if (work_once(pool))
            continue;
        if (pool->ending)
            break;
        pthread_cond_wait(&pool->work, &pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static unsigned usable_cores(void)
{
    cpu_set_t set;
    int count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 0;
    if (count <= 0) /* over 1024 CPUs the set is too small */
        count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : 1;
}

int thread_pool_create(unsigned threads, struct thread_pool **ret_pool)
{
    if (!threads)
        threads = usable_cores();
    if (threads > 4096)
        threads = 4096;
    struct thread_pool *pool = calloc(1, sizeof(*pool) + threads * sizeof(pool->threads[0]));
    if (!pool)
        return -ENOMEM;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->done, NULL);
    sigset_t all, before;
    signals_of_others(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = 0;
    while (pool->size < threads && !failure) {
        failure = pthread_create(&pool->threads[pool->size], NULL, worker_main, pool);
        if (!failure)
            pthread_setname_np(pool->threads[pool->size++], "hp-pool");
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure && !pool->size) {
        thread_pool_destroy(pool);
        return -failure;
    }
    *ret_pool = pool; /* fewer threads than asked for (RLIMIT_NPROC) still do the work */
    return 0;
}

void thread_pool_destroy(struct thread_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned index = 0; index < pool->size; index++)
        pthread_join(pool->threads[index], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_cond_destroy(&pool->done);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

unsigned thread_pool_size(const struct thread_pool *pool)
{
    return pool->size;
}

void thread_pool_for(struct thread_pool *pool, size_t count, void (*job)(void *context, size_t index), void *context)
{
    struct loop loop = {.run = job, .context = context, .count = count, .helpers_maximum = pool->size - 1};
    if (count <= 1 || pool->size == 1) {
        loop_run(&loop);
        return;
    }
    pthread_mutex_lock(&pool->lock);
    loop.next = pool->loops;
    pool->loops = &loop; /* cppcheck-suppress autoVariables ; taken off the list below */
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    loop_run(&loop);
    pthread_mutex_lock(&pool->lock);
    struct loop **link = &pool->loops;
    while (*link != &loop)
        link = &(*link)->next;
    *link = loop.next;
    while (loop.helpers)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

int thread_pool_submit(struct thread_pool *pool, void (*job)(void *context), void *context)
{
    pthread_mutex_lock(&pool->lock);
    bool full = pool->waiting == QUEUE_BOUND;
    if (!full) {
        pool->queue[(pool->first + pool->waiting) % QUEUE_BOUND] = (struct job){job, context};
        pool->waiting++;
        pthread_cond_signal(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    return full ? -EAGAIN : 0;
}

void thread_pool_wait(struct thread_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->waiting || pool->running)
        pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
