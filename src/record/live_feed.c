/* SPDX-License-Identifier: MIT */
/*
 * The target must not notice: the thread runs only where nobody else wants to, holds no lock that the recorder takes, and rests at
 * least ten times as long as a round took. Rounds become rarer as the run gets longer, as each leaves blocks that later ones go through.
 */
#include "live_feed.h"

#include "base/clock.h"
#include "base/error.h"
#include "merge_follow.h"
#include "trace/trace.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_PAUSE_NS 500000000
enum { REST_FACTOR = 10, PARTS_OF_RUN = 200, JOIN_S = 2 };

struct live_feed {
    char *directory;
    int changed_fd;
    pthread_t thread;
    pthread_mutex_t lock; /* stop, and who follows: who watches never takes it */
    pthread_cond_t wake;
    bool stop;
    struct merge_follow *follow;
    int64_t begin_ns;
    struct trace *newest; /* atomic */
    int64_t newest_ns;    /* atomic */
    bool failed;          /* atomic: problem is filled */
    struct error problem;
};

static void tell(struct live_feed *feed)
{
    uint64_t one = 1;
    while (write(feed->changed_fd, &one, sizeof one) < 0 && errno == EINTR)
        ;
}

static void publish(struct live_feed *feed, struct trace *snapshot, int64_t time_ns)
{
    trace_unref(__atomic_exchange_n(&feed->newest, snapshot, __ATOMIC_ACQ_REL));
    __atomic_store_n(&feed->newest_ns, time_ns, __ATOMIC_RELEASE);
    tell(feed);
}

static int begin_following(struct live_feed *feed)
{
    struct merge_follow *follow = NULL;
    int code = merge_follow_create(feed->directory, NULL, &follow, &feed->problem);
    pthread_mutex_lock(&feed->lock);
    feed->follow = follow;
    pthread_mutex_unlock(&feed->lock);
    return code;
}

/* The first one only marks what there is: see spool_marks.c. */
static int one_round(struct live_feed *feed, int64_t known_ns)
{
    struct trace *snapshot = NULL;
    int code = feed->follow ? 0 : begin_following(feed);
    if (code == 0)
        code = merge_follow_round(feed->follow, &snapshot, &feed->problem);
    if (code == 0 && snapshot)
        publish(feed, snapshot, known_ns);
    else if (code == 0 && feed->newest_ns >= 0)
        __atomic_store_n(&feed->newest_ns, known_ns, __ATOMIC_RELEASE);
    return code;
}

/* True when it is time to stop. */
static bool rest(struct live_feed *feed, int64_t round_ns)
{
    int64_t now_ns = clock_monotonic_ns(), pause_ns = REST_FACTOR * round_ns;
    if (pause_ns < (now_ns - feed->begin_ns) / PARTS_OF_RUN)
        pause_ns = (now_ns - feed->begin_ns) / PARTS_OF_RUN;
    if (pause_ns < LEAST_PAUSE_NS)
        pause_ns = LEAST_PAUSE_NS;
    struct timespec until = {(now_ns + pause_ns) / 1000000000, (now_ns + pause_ns) % 1000000000};
    pthread_mutex_lock(&feed->lock);
    int code = 0;
    while (!feed->stop && code == 0)
        code = pthread_cond_timedwait(&feed->wake, &feed->lock, &until);
    bool stop = feed->stop;
    pthread_mutex_unlock(&feed->lock);
    return stop;
}

static void *feed_run(void *object)
{
    struct live_feed *feed = object;
    struct sched_param parameter = {0};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &parameter); /* refused: then at our own priority */
    int64_t spent_ns = 0, known_ns = clock_monotonic_ns();
    while (!rest(feed, spent_ns)) {
        int64_t begin_ns = clock_thread_cpu_ns(), now_ns = clock_monotonic_ns();
        int code = one_round(feed, known_ns);
        if (code == -ECANCELED)
            break;
        if (code < 0) {
            __atomic_store_n(&feed->failed, true, __ATOMIC_RELEASE);
            tell(feed);
            break;
        }
        spent_ns = clock_thread_cpu_ns() - begin_ns;
        known_ns = now_ns;
    }
    return NULL;
}

static void locks_init(struct live_feed *feed)
{
    pthread_condattr_t attributes;
    pthread_mutex_init(&feed->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&feed->wake, &attributes);
    pthread_condattr_destroy(&attributes);
}

static void feed_free(struct live_feed *feed)
{
    trace_unref(feed->newest);
    merge_follow_destroy(feed->follow);
    pthread_cond_destroy(&feed->wake);
    pthread_mutex_destroy(&feed->lock);
    free(feed->directory);
    free(feed);
}

int live_feed_create(const char *session_directory, int changed_fd, struct live_feed **ret_feed, struct error *err)
{
    struct live_feed *feed = calloc(1, sizeof *feed);
    if (!feed)
        return error_set(err, -ENOMEM, "out of memory");
    locks_init(feed);
    feed->changed_fd = changed_fd;
    feed->begin_ns = clock_monotonic_ns();
    feed->newest_ns = -1;
    feed->problem = (struct error)ERROR_INIT;
    feed->directory = strdup(session_directory);
    int code = feed->directory ? -pthread_create(&feed->thread, NULL, feed_run, feed) : -ENOMEM;
    if (code) {
        feed_free(feed);
        return error_set_errno(err, code, "cannot follow the recording");
    }
    *ret_feed = feed;
    return 0;
}

void live_feed_stop(struct live_feed *feed)
{
    pthread_mutex_lock(&feed->lock);
    feed->stop = true;
    struct merge_follow *follow = feed->follow;
    if (follow)
        merge_follow_cancel(follow);
    pthread_cond_signal(&feed->wake);
    pthread_mutex_unlock(&feed->lock);
}

bool live_feed_destroy(struct live_feed *feed)
{
    struct timespec until;
    if (!feed)
        return true;
    live_feed_stop(feed);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += JOIN_S;
    if (pthread_timedjoin_np(feed->thread, NULL, &until) != 0)
        return false;
    feed_free(feed);
    return true;
}

struct trace *live_feed_take(struct live_feed *feed)
{
    return __atomic_exchange_n(&feed->newest, NULL, __ATOMIC_ACQ_REL);
}

int64_t live_feed_time_ns(const struct live_feed *feed)
{
    return __atomic_load_n(&feed->newest_ns, __ATOMIC_ACQUIRE);
}

const char *live_feed_problem(const struct live_feed *feed)
{
    return __atomic_load_n(&feed->failed, __ATOMIC_ACQUIRE) ? feed->problem.text : NULL;
}
