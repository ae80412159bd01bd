/* SPDX-License-Identifier: MIT */
/*
 * A run that is watched, with all threads of it in one program that a sanitizer sees: many threads of the target record, its recorder drains, the
 * feed merges what is new, and snapshots are looked through as a UI does, all at once. At its end the target stays in a call until we have
 * seen that it is in it, and then that it has left it: by what the feed gives, not by times.
 */
#include "base/error.h"
#include "collect/test/collector.h"
#include "record/live_feed.h"
#include "record/session.h"
#include "record/session_files.h"
#include "trace/trace.h"
#include "view/timeline.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

enum { THREADS = 4, ROUNDS = 25, STEPS = 100, COLUMNS = 80 };

extern char **environ;

/* --- the target ------------------------------------------------------------------------------------------------------ */

static void *record_some(void *argument)
{
    for (uint64_t i = 0; i < STEPS; i++) {
        test_named("step", i);
        test_call();
    }
    return argument;
}

static void wait_for_end(void *argument)
{
    char byte;
    (void)argument;
    while (read(STDIN_FILENO, &byte, 1) < 0 && errno == EINTR)
        ;
}

static int target_main(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t ids[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&ids[i], NULL, record_some, NULL) != 0)
                return 1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(ids[i], NULL);
        usleep(40000); /* the feed looks twice a second */
    }
    test_call_with(wait_for_end, NULL);
    test_named("after", 1);
    wait_for_end(NULL); /* its data are looked at while it lives */
    return 0;
}

/* --- who watches ----------------------------------------------------------------------------------------------------- */

struct seen {
    uint64_t spans, snapshots;
    uint32_t open;      /* calls that have not ended, in the newest snapshot */
    bool after;
    char name[32];      /* of such a call */
};

static int look_at_lanes(struct trace *trace, struct seen *seen, struct error *err)
{
    CLEANUP(timeline_destroyp) struct timeline *timeline = NULL;
    const struct lane_picture *picture;
    uint32_t open = 0;
    int code = timeline_create(trace, &timeline, err);
    for (uint32_t lane = 0; code == 0 && lane < timeline->lane_count; lane++) {
        code = timeline_picture(timeline, lane, timeline->first_ns, timeline->last_ns + 1, COLUMNS, 4, &picture, err);
        open += code == 0 ? timeline->lanes[lane].calls : 0;
    }
    if (code == 0 && open != seen->open)
        return error_set(err, -EIO, "%u calls are open, lanes have %u", seen->open, open);
    return code;
}

static int look(struct trace *trace, struct seen *seen, struct error *err)
{
    const struct span_aggregate *names;
    uint32_t count;
    uint64_t spans = trace_row_count(trace, FAMILY_SPANS);
    if (spans < seen->spans)
        return error_set(err, -EIO, "a later snapshot has fewer spans");
    seen->spans = spans;
    seen->snapshots++;
    const struct open_call *calls = trace_open_calls(trace, &seen->open);
    if (seen->open)
        snprintf(seen->name, sizeof seen->name, "%s", trace_text(trace, calls[0].name));
    int code = trace_span_aggregates(trace, &names, &count, err);
    for (uint32_t i = 0; code == 0 && i < count; i++)
        seen->after |= strcmp(trace_text(trace, names[i].name), "after") == 0;
    return code ? code : look_at_lanes(trace, seen, err);
}

static bool in_a_call(const struct seen *seen)
{
    return seen->open == 1 && strcmp(seen->name, "test_call") == 0;
}

static bool out_of_it(const struct seen *seen)
{
    return seen->open == 0 && seen->after;
}

/* Looks at all that comes until it is good. */
static int until(struct live_feed *feed, int changed, struct seen *seen, bool (*good)(const struct seen *seen), struct error *err)
{
    int code = 0;
    while (code == 0 && !good(seen)) {
        struct pollfd wait = {.fd = changed, .events = POLLIN};
        uint64_t times;
        if (poll(&wait, 1, -1) < 0 && errno != EINTR)
            return error_set_errno(err, -errno, "poll");
        ssize_t got = read(changed, &times, sizeof times);
        (void)got;
        if (live_feed_problem(feed))
            return error_set(err, -EIO, "%s", live_feed_problem(feed));
        CLEANUP(trace_unrefp) struct trace *trace = live_feed_take(feed);
        code = trace ? look(trace, seen, err) : 0;
    }
    return code;
}

static pid_t start(const struct session *session, int *ret_in, struct error *err)
{
    char **environment;
    int ends[2];
    if (session_environment(session, environ, NULL, &environment, err) < 0 || pipe(ends) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], STDIN_FILENO);
        close(ends[0]);
        close(ends[1]);
        execle("/proc/self/exe", "runtime_live", "target", (char *)NULL, environment);
        _exit(127);
    }
    close(ends[0]);
    *ret_in = ends[1];
    session_environment_free(environment);
    return pid;
}

static int watch(struct live_feed *feed, int changed, int in, struct error *err)
{
    struct seen seen = {0};
    int code = until(feed, changed, &seen, in_a_call, err);
    if (code == 0 && write(in, "x", 1) != 1)
        code = error_set(err, -EIO, "the target does not listen");
    if (code == 0)
        code = until(feed, changed, &seen, out_of_it, err);
    uint64_t expected = 2ULL * THREADS * ROUNDS * STEPS + 2;
    if (code == 0 && seen.spans != expected)
        code = error_set(err, -EIO, "%llu of %llu spans were seen", (unsigned long long)seen.spans, (unsigned long long)expected);
    if (code == 0)
        printf("%llu snapshots, %llu spans\n", (unsigned long long)seen.snapshots, (unsigned long long)seen.spans);
    return code;
}

static int recorder_main(struct error *err)
{
    CLEANUP(session_destroyp) struct session *session = NULL;
    CLEANUP(closep) int changed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), in = -1;
    const struct session_options options = {.command = "runtime_live"};
    struct live_feed *feed = NULL;
    if (session_create(&options, &session, err) < 0)
        return -1;
    session_calibrate(session_spool(session));
    pid_t pid = start(session, &in, err);
    int status = -1, code = pid < 0 ? -1 : live_feed_create(session_directory(session), changed, &feed, err);
    if (code == 0)
        code = watch(feed, changed, in, err);
    closep(&in);
    in = -1;
    if (pid > 0 && (waitpid(pid, &status, 0) < 0 || status != 0) && code == 0)
        code = error_set(err, -EIO, "the target ended with status %d", status);
    if (!live_feed_destroy(feed))
        puts("the feed has not come to its end yet");
    if (session_finish(session, err) < 0)
        return -1;
    char directory[4096];
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    snprintf(directory, sizeof directory, "%s", session_directory(session));
    const struct merge_options whole = {.no_symbols = true};
    int merged = session_merge(directory, &whole, &trace, code ? NULL : err);
    return code ? code : merged;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "target") == 0)
        return target_main();
    struct error err = ERROR_INIT;
    if (recorder_main(&err) == 0)
        return 0;
    fprintf(stderr, "runtime_live: %s\n", err.text);
    return 1;
}
