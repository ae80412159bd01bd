/* SPDX-License-Identifier: MIT */
/*
 * What one recorded span costs, beside the bare cost of two reads of the tick counter and a 48-byte store to warm memory, in
 * the same process, interleaved. The program is recorder and target: it makes a session, starts itself with the test collector
 * preloaded, and drains meanwhile. Also: a runtime that records nothing, against none at all.
 *
 *     bench_span [--spans MILLIONS] [--session-dir DIR]
 *
 * On a machine that others use, too, only the minima and the CPU columns mean something; with all cores busy by the threads
 * themselves a span costs them its own CPU time and the recorder's.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "collect/test/collector.h"
#include "record/session.h"
#include "wire/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define ROUND 400000u
#define BUFFER_BYTES (3u << 20)
extern char **environ;

__attribute__((noinline)) static void nothing(void)
{
    __asm__ volatile("");
}

static double bare_ns(uint8_t *buffer, uint64_t count)
{
    uint8_t *at = buffer, *end = buffer + BUFFER_BYTES - 48;
    int64_t begin = clock_raw_ns();
    for (uint64_t i = 0; i < count; i++) {
        uint64_t *words = (uint64_t *)(void *)at;
        uint64_t from = wire_ticks();
        nothing();
        uint64_t to = wire_ticks();
        words[0] = 8;
        words[1] = from;
        words[2] = to;
        words[3] = 0;
        words[4] = i;
        words[5] = 0;
        __asm__ volatile("" ::: "memory");
        at = at < end - 48 ? at + 48 : buffer;
    }
    return (double)(clock_raw_ns() - begin) / (double)count;
}

static double traced_ns(uint64_t count)
{
    int64_t begin = clock_raw_ns();
    for (uint64_t i = 0; i < count; i++)
        test_call();
    return (double)(clock_raw_ns() - begin) / (double)count;
}

static int compare(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct worker {
    uint64_t rounds;
    double bare_min, bare_median, traced_min, traced_median, traced_mean, traced_cpu;
};

static int64_t thread_cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

static void *worker_run(void *object)
{
    struct worker *worker = object;
    uint64_t rounds = worker->rounds;
    double *bare = calloc(rounds, sizeof *bare), *traced = calloc(rounds, sizeof *traced);
    uint8_t *buffer = malloc(BUFFER_BYTES);
    if (!bare || !traced || !buffer)
        abort();
    memset(buffer, 1, BUFFER_BYTES);
    traced_ns(2 * ROUND); /* chunks are there and warm */
    for (uint64_t i = 0; i < rounds; i++) {
        bare[i] = bare_ns(buffer, ROUND / 4);
        int64_t cpu = thread_cpu_ns();
        traced[i] = traced_ns(ROUND);
        worker->traced_cpu += (double)(thread_cpu_ns() - cpu) / ROUND / (double)rounds;
        worker->traced_mean += traced[i] / (double)rounds;
    }
    qsort(bare, rounds, sizeof *bare, compare);
    qsort(traced, rounds, sizeof *traced, compare);
    worker->bare_min = bare[0];
    worker->bare_median = bare[rounds / 2];
    worker->traced_min = traced[0];
    worker->traced_median = traced[rounds / 2];
    free(bare);
    free(traced);
    free(buffer);
    return NULL;
}

static void target_measure(const char *what, unsigned threads, uint64_t rounds)
{
    struct worker workers[4] = {0};
    pthread_t ids[4];
    for (unsigned i = 0; i < threads; i++) {
        workers[i].rounds = rounds;
        if (pthread_create(&ids[i], NULL, worker_run, &workers[i]) != 0)
            abort();
    }
    for (unsigned i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    for (unsigned i = 0; i < threads; i++) {
        const struct worker *w = &workers[i];
        printf("%-22s %6.1f %6.1f   %6.1f %6.1f %6.1f %6.1f   %5.2f %5.2f %5.2f %5.2f\n", what, w->bare_min, w->bare_median,
               w->traced_min, w->traced_median, w->traced_mean, w->traced_cpu, w->traced_min / w->bare_min, w->traced_median / w->bare_median,
               w->traced_mean / w->bare_median, w->traced_cpu / w->bare_min);
    }
    fflush(stdout);
}

static int target_main(const char *mode, uint64_t spans)
{
    if (strcmp(mode, "spin") == 0) {
        volatile uint64_t sum = 0;
        int64_t begin = clock_raw_ns();
        for (uint64_t i = 0; i < spans; i++)
            sum += i * i;
        (void)sum;
        printf("%lld\n", (long long)(clock_raw_ns() - begin));
        return 0;
    }
    if (!test_call || test_call() != 1) {
        fprintf(stderr, "bench_span: the test collector isn't loaded\n");
        return 1;
    }
    target_measure("1 thread", 1, 25);
    target_measure("2 threads", 2, 25);
    if (spans)
        target_measure("1 thread, sustained", 1, spans / ROUND);
    if (spans)
        target_measure("2 threads, sustained", 2, spans / 2 / ROUND);
    return 0;
}

/* execve takes strings that it doesn't change as if it might. */
static int run_self(const char *const texts[], char **environment, int output, int *ret_status)
{
    union {
        const char *const *texts;
        char *const *arguments;
    } either = {.texts = texts};
    char *const *arguments = either.arguments;
    pid_t pid = fork();
    if (pid == 0) {
        if (output >= 0)
            dup2(output, 1);
        execve("/proc/self/exe", arguments, environment);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, ret_status, 0) < 0)
        return -errno;
    return 0;
}

static int64_t spin_ns(char **environment)
{
    const char *const arguments[] = {"bench_span", "--target", "spin", "100000000", NULL};
    int pipes[2], status;
    char text[64] = "";
    if (pipe(pipes) < 0 || run_self(arguments, environment, pipes[1], &status) < 0)
        return -1;
    ssize_t size = read(pipes[0], text, sizeof text - 1);
    close(pipes[0]);
    close(pipes[1]);
    return size > 0 ? atoll(text) : -1;
}

/* A loop that records nothing, with the runtime and the collector loaded and without: minima of interleaved runs. */
static void idle_measure(char **with, char **without)
{
    int64_t best_with = INT64_MAX, best_without = INT64_MAX;
    for (int i = 0; i < 12; i++) {
        int64_t a = spin_ns(without), b = spin_ns(with);
        best_without = a > 0 && a < best_without ? a : best_without;
        best_with = b > 0 && b < best_with ? b : best_with;
    }
    printf("%-22s %.2f ms bare, %.2f ms with the runtime: %+.2f %%\n", "loaded, no events", (double)best_without / 1e6,
           (double)best_with / 1e6, ((double)best_with / (double)best_without - 1) * 100);
}

static int preload_paths(char *out, size_t size, struct error *err)
{
    char runtime[4096], collector[4096];
    int code = session_library_path(NULL, "runtime", runtime, sizeof runtime, err);
    if (code == 0)
        code = session_library_path(NULL, "test", collector, sizeof collector, err);
    if (code == 0)
        snprintf(out, size, "%s:%s", runtime, collector);
    return code;
}

static int bench(uint64_t spans, const char *parent, struct error *err)
{
    CLEANUP(session_destroyp) struct session *session = NULL;
    struct session_options options = {.parent = parent, .command = "bench_span"};
    char preload[8200], count[32], **environment = NULL;
    int code = session_create(&options, &session, err);
    if (code == 0)
        code = preload_paths(preload, sizeof preload, err);
    if (code == 0)
        code = session_environment(session, environ, preload, &environment, err);
    if (code)
        return code;
    snprintf(count, sizeof count, "%llu", (unsigned long long)spans);
    const char *const arguments[] = {"bench_span", "--target", "spans", count, NULL};
    int status;
    printf("ns per span            bare: min  median   span: min  median mean  CPU      ratio: min  median mean  CPU (mean by bare median, CPU by bare min)\n");
    fflush(stdout);
    int64_t cpu = clock_process_cpu_ns();
    code = run_self(arguments, environment, -1, &status);
    cpu = clock_process_cpu_ns() - cpu;
    int64_t begin = clock_monotonic_ns();
    if (code == 0)
        code = session_finish(session, err);
    struct spool_statistics statistics;
    spool_statistics(session_spool(session), &statistics);
    printf("spool: %llu records, %llu bytes of records, %llu bytes on disk (%.2f a record), %.0f ms to finish\n"
           "recorder: %.2f ns of CPU time a record\n",
           (unsigned long long)statistics.records, (unsigned long long)statistics.raw_bytes,
           (unsigned long long)statistics.stored_bytes, (double)statistics.stored_bytes / (double)statistics.records,
           (double)(clock_monotonic_ns() - begin) / 1e6, (double)cpu / (double)statistics.records);
    idle_measure(environment, environ);
    session_environment_free(environment);
    int removed = session_remove(session_directory(session), NULL);
    return code ? code : removed;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "--target") == 0)
        return target_main(argv[2], strtoull(argv[3], NULL, 10));
    uint64_t millions = 100;
    const char *parent = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--spans") == 0)
            millions = strtoull(argv[i + 1], NULL, 10);
        else if (strcmp(argv[i], "--session-dir") == 0)
            parent = argv[i + 1];
    }
    struct error err = ERROR_INIT;
    if (bench(millions * 1000000, parent, &err) < 0) {
        fprintf(stderr, "bench_span: %s\n", err.text);
        return 1;
    }
    return 0;
}
