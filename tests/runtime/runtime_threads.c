/* SPDX-License-Identifier: MIT */
/*
 * The runtime's own sources linked into a program, so that a sanitizer sees their threads, which it cannot in the preloaded
 * library: many threads record, intern and end at once, handlers interrupt them, and the recorder in the parent drains. Checks
 * that everything has arrived, in the order of each thread.
 */
#include "base/error.h"
#include "collect/test/collector.h"
#include "record/session.h"
#include "trace/trace.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>

#define THREADS 8
#define ROUNDS 40
#define STEPS 200

extern char **environ;

static void *record_some(void *argument)
{
    char name[32];
    for (uint64_t i = 0; i < STEPS; i++) {
        snprintf(name, sizeof name, "name %llu", (unsigned long long)(i % 50));
        test_named(name, i);
        test_call();
    }
    return argument;
}

static void on_alarm(int number)
{
    (void)number;
    test_call();
}

static int target_main(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &action, NULL);
    struct itimerval timer = {{0, 700}, {0, 700}};
    setitimer(ITIMER_REAL, &timer, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_t ids[THREADS];
        for (int i = 0; i < THREADS; i++)
            if (pthread_create(&ids[i], NULL, record_some, NULL) != 0)
                return 1;
        for (int i = 0; i < THREADS; i++)
            pthread_join(ids[i], NULL);
    }
    memset(&timer, 0, sizeof timer);
    setitimer(ITIMER_REAL, &timer, NULL);
    return 0;
}

static int count_named(const struct trace *trace, uint64_t *ret_count)
{
    *ret_count = 0;
    for (uint32_t i = 0; i < trace_block_count(trace, FAMILY_SPANS); i++) {
        struct span_block block;
        if (trace_spans_get(trace, i, &block, NULL) < 0)
            return -1;
        int64_t last = INT64_MIN;
        for (uint32_t row = 0; row < block.info.count; row++) {
            if (block.begin_ns[row] < last || block.end_ns[row] < block.begin_ns[row])
                return -1;
            last = block.begin_ns[row];
            *ret_count += strncmp(trace_text(trace, block.name[row]), "name ", 5) == 0;
        }
        trace_spans_put(trace, &block);
    }
    return 0;
}

static int check(const char *directory, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    const struct merge_options options = {.no_symbols = true};
    uint64_t named;
    if (session_merge(directory, &options, &trace, err) < 0)
        return -1;
    if (count_named(trace, &named) < 0)
        return error_set(err, -1, "spans are out of order");
    if (named != THREADS * ROUNDS * STEPS)
        return error_set(err, -1, "%llu of %d named spans arrived", (unsigned long long)named, THREADS * ROUNDS * STEPS);
    if (trace_row_count(trace, FAMILY_SPANS) < 2 * named)
        return error_set(err, -1, "plain spans are missing");
    return 0;
}

/* This program again, as the target. A cross build's needs its emulator, which the kernel may not know to start by itself. */
static void exec_target(char **environment)
{
    const char *emulator = getenv("HP_TEST_EMULATOR");
    if (emulator) {
        char self[1024] = "", command[4096];
        if (readlink("/proc/self/exe", self, sizeof self - 1) > 0 &&
            snprintf(command, sizeof command, "exec %s '%s' target", emulator, self) < (int)sizeof command)
            execle("/bin/sh", "sh", "-c", command, (char *)NULL, environment);
    } else {
        execle("/proc/self/exe", "runtime_threads", "target", (char *)NULL, environment);
    }
    _exit(127);
}

static int recorder_main(struct error *err)
{
    CLEANUP(session_destroyp) struct session *session = NULL;
    const struct session_options options = {.command = "runtime_threads"};
    char **environment;
    if (session_create(&options, &session, err) < 0 || session_environment(session, environ, NULL, &environment, err) < 0)
        return -1;
    pid_t pid = fork();
    if (pid == 0)
        exec_target(environment);
    int status = -1;
    if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
        return error_set(err, -1, "the target ended with status %d", status);
    session_environment_free(environment);
    if (session_finish(session, err) < 0)
        return -1;
    char directory[4096];
    snprintf(directory, sizeof directory, "%s", session_directory(session));
    return check(directory, err);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "target") == 0)
        return target_main();
    struct error err = ERROR_INIT;
    if (recorder_main(&err) == 0)
        return 0;
    fprintf(stderr, "runtime_threads: %s\n", err.text);
    return 1;
}
