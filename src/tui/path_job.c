/* SPDX-License-Identifier: MIT */
/* Finding a critical path beside the UI. The thread is never waited for: whoever lets go last, it or the UI, frees the job. */
#include "path_job.h"

#include "base/error.h"
#include "base/progress.h"
#include "base/shrunk_file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct path_job {
    struct trace *trace;
    char filter[256];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    /* Guarded by the lock. */
    unsigned references;
    bool done, cancelled;
    char what[64];
    uint64_t step, total;
    /* The thread's until it is done. */
    struct path_result found;
    int result;
    struct error err;
    struct timespec begin;
};

void path_result_finish(struct path_result *result)
{
    path_report_destroy(result->report);
    free(result->blame.rows);
    *result = (struct path_result){0};
}

static int find(struct trace *trace, const char *filter, const struct progress *progress, struct path_result *ret_result, struct error *err)
{
    CLEANUP(trace_filter_destroyp) struct trace_filter *where = NULL;
    struct path_result found = {0};
    int result = *filter ? trace_filter_compile(filter, &where, err) : 0;
    struct path_report_options options = {.where = where, .by = PATH_BY_ACTIVITY};
    if (result == 0)
        result = path_report_create(trace, &options, progress, &found.report, err);
    if (result == 0 && progress_cancelled(progress))
        result = error_set(err, -ECANCELED, "stopped");
    progress_update(progress, "summing up waits", 0, 0);
    if (result == 0)
        result = wait_blame_create_named(trace, NULL, &found.blame.rows, &found.blame.count, err);
    if (result == 0)
        *ret_result = found;
    else
        path_result_finish(&found);
    return result;
}

int path_find(struct trace *trace, const char *filter, struct path_result *ret_result, struct error *err)
{
    return find(trace, filter, NULL, ret_result, err);
}

/* --- the thread ------------------------------------------------------------------------------------------------------ */

static void let_go(struct path_job *job)
{
    pthread_mutex_lock(&job->lock);
    bool last = --job->references == 0;
    pthread_mutex_unlock(&job->lock);
    if (!last)
        return;
    path_result_finish(&job->found);
    trace_unref(job->trace);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

static void update(void *context, const char *what, uint64_t done, uint64_t total)
{
    struct path_job *job = context;
    pthread_mutex_lock(&job->lock);
    snprintf(job->what, sizeof job->what, "%s", what);
    job->step = done;
    job->total = total;
    pthread_mutex_unlock(&job->lock);
}

static bool is_cancelled(void *context)
{
    struct path_job *job = context;
    pthread_mutex_lock(&job->lock);
    bool cancelled = job->cancelled;
    pthread_mutex_unlock(&job->lock);
    return cancelled;
}

static void *work(void *context)
{
    struct path_job *job = context;
    struct progress progress = {.update = update, .context = job, .cancelled = is_cancelled};
    job->result = find(job->trace, job->filter, &progress, &job->found, &job->err);
    pthread_mutex_lock(&job->lock);
    job->done = true;
    pthread_cond_signal(&job->changed);
    pthread_mutex_unlock(&job->lock);
    let_go(job);
    return NULL;
}

/* Signals are the UI's: its thread gives the terminal back. */
static int start_thread(struct path_job *job)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    signals_of_others(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int failure = pthread_create(&thread, &attributes, work, job);
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -failure;
}

int path_job_start(struct trace *trace, const char *filter, struct path_job **ret_job, struct error *err)
{
    struct path_job *job = calloc(1, sizeof *job);
    pthread_condattr_t attributes;
    if (!job)
        return error_set(err, -ENOMEM, "out of memory");
    job->trace = trace_ref(trace);
    job->references = 2;
    snprintf(job->filter, sizeof job->filter, "%s", filter);
    snprintf(job->what, sizeof job->what, "reading spans");
    pthread_mutex_init(&job->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&job->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    clock_gettime(CLOCK_MONOTONIC, &job->begin);
    int result = start_thread(job);
    if (result < 0) {
        job->references = 1;
        let_go(job);
        return error_set(err, result, "no thread to find the critical path with: %s", strerror(-result));
    }
    *ret_job = job;
    return 0;
}

/* --- the UI ---------------------------------------------------------------------------------------------------------- */

bool path_job_wait(struct path_job *job, unsigned wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)wait_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&job->lock);
    while (!job->done && pthread_cond_timedwait(&job->changed, &job->lock, &until) == 0)
        continue;
    bool done = job->done;
    pthread_mutex_unlock(&job->lock);
    return done;
}

void path_job_progress(struct path_job *job, char *what, size_t size, uint64_t *ret_done, uint64_t *ret_total, int64_t *ret_elapsed_ns)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *ret_elapsed_ns = (int64_t)(now.tv_sec - job->begin.tv_sec) * 1000000000 + (now.tv_nsec - job->begin.tv_nsec);
    pthread_mutex_lock(&job->lock);
    snprintf(what, size, "%s", job->what);
    *ret_done = job->step;
    *ret_total = job->total;
    pthread_mutex_unlock(&job->lock);
}

int path_job_take(struct path_job *job, struct path_result *ret_result, struct error *err)
{
    int result = job->result;
    if (result == 0) {
        *ret_result = job->found;
        job->found = (struct path_result){0};
    } else {
        error_set(err, result, "%s", job->err.text);
    }
    let_go(job);
    return result;
}

void path_job_drop(struct path_job *job)
{
    if (!job)
        return;
    pthread_mutex_lock(&job->lock);
    job->cancelled = true;
    pthread_mutex_unlock(&job->lock);
    let_go(job);
}
