/* SPDX-License-Identifier: MIT */
/*
 * What --call-tree costs a traced call: taking the stack, finding or giving its number. Depths 20 and 50; one stack again and
 * again, and stacks that are new each time (in which case they are written to the process' log, too); and what the platform's
 * unwinder alone would take. Recorder and target are this one program, as in bench_span.
 *
 *     bench_stack [--session-dir DIR]
 */
#include "base/clock.h"
#include "base/error.h"
#include "collect/test/collector.h"
#include "record/session.h"
#include "wire/session.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unwind.h>

extern char **environ;

struct work {
    uint64_t bits; /* which of two functions is called at each level: 2^depth stacks */
    unsigned depth;
    uint64_t count;
    bool platform;
};

static _Unwind_Reason_Code take(struct _Unwind_Context *context, void *argument)
{
    *(uintptr_t *)argument += _Unwind_GetIP(context);
    return _URC_NO_REASON;
}

static void platform_stacks(uint64_t count)
{
    uintptr_t sum = 0;
    for (uint64_t i = 0; i < count; i++)
        _Unwind_Backtrace(take, &sum);
}

static void descend(const struct work *work, unsigned level);

__attribute__((noinline)) static void left(const struct work *work, unsigned level)
{
    char room[40];
    __asm__ volatile("" : : "r"(room) : "memory");
    descend(work, level + 1);
    __asm__ volatile("" : : "r"(room) : "memory");
}

__attribute__((noinline)) static void right(const struct work *work, unsigned level)
{
    char room[100];
    __asm__ volatile("" : : "r"(room) : "memory");
    descend(work, level + 1);
    __asm__ volatile("" : : "r"(room) : "memory");
}

__attribute__((noinline)) static void descend(const struct work *work, unsigned level)
{
    if (2 * level >= work->depth && work->platform)
        platform_stacks(work->count);
    else if (2 * level >= work->depth)
        test_stacks(work->count);
    else if (work->bits >> level & 1)
        left(work, level);
    else
        right(work, level);
    __asm__ volatile("" ::: "memory"); /* or the calls would become jumps */
}

static double repeated_ns(unsigned depth, bool platform)
{
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        const struct work work = {0, depth, platform ? 1000 : 20000, platform};
        int64_t begin = clock_raw_ns();
        descend(&work, 0);
        double ns = (double)(clock_raw_ns() - begin) / (double)work.count;
        best = ns < best ? ns : best;
    }
    return best;
}

static double unique_ns(unsigned depth)
{
    uint64_t count = depth >= 40 ? 50000 : 1000;
    int64_t begin = clock_raw_ns();
    for (uint64_t i = 1; i <= count; i++) {
        const struct work work = {depth >= 40 ? i * 0x9e3779b97f4a7c15ull >> 20 : i, depth, 1, false};
        descend(&work, 0);
    }
    return (double)(clock_raw_ns() - begin) / (double)count;
}

struct share {
    bool platform;
    double ns;
};

static void *thread_run(void *argument)
{
    struct share *share = argument;
    share->ns = repeated_ns(20, share->platform);
    return NULL;
}

static double both_ns(bool platform)
{
    struct share both[2] = {{platform, 0}, {platform, 0}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, thread_run, &both[i]) != 0)
            abort();
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    return (both[0].ns + both[1].ns) / 2;
}

static void target(void)
{
    printf("%-34s %10s %10s\n", "a stack, ns", "depth 20", "depth 50");
    printf("%-34s %10.0f %10.0f\n", "new each time", unique_ns(20), unique_ns(50));
    printf("%-34s %10.0f %10.0f\n", "the same again", repeated_ns(20, false), repeated_ns(50, false));
    printf("%-34s %10.0f\n", "the same again, two threads", both_ns(false));
    printf("%-34s %10.0f %10.0f\n", "the platform's unwinder", repeated_ns(20, true), repeated_ns(50, true));
    printf("%-34s %10.0f\n", "the platform's, two threads", both_ns(true));
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    struct session *session = NULL;
    struct session_options options = {.parent = argc == 3 ? argv[2] : NULL, .command = "bench", .flags = WIRE_SESSION_CALL_TREE};
    char runtime[4096], library[4096], preload[8200], **environment = NULL;
    if (test_stacks) {
        target();
        return 0;
    }
    if (session_create(&options, &session, &err) < 0 || session_library_path(NULL, "runtime", runtime, sizeof runtime, &err) < 0 ||
        session_library_path(NULL, "test", library, sizeof library, &err) < 0) {
        fprintf(stderr, "bench_stack: %s\n", err.text);
        return 1;
    }
    snprintf(preload, sizeof preload, "%s:%s", runtime, library);
    if (session_environment(session, environ, preload, &environment, &err) < 0)
        return 1;
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        execve("/proc/self/exe", argv, environment);
        _exit(127);
    }
    waitpid(pid, &status, 0);
    session_environment_free(environment);
    session_remove(session_directory(session), NULL);
    session_destroy(session);
    return status != 0;
}
