/* SPDX-License-Identifier: MIT */
/*
 * Chrome JSON: how fast it is written and read, and with how much memory.
 *   bench_chrome generate SPANS FILE   a file as other programs write it: complete events of about 118 bytes on 16 threads
 *   bench_chrome read FILE [RUNS]      opens it; prints seconds, and the peak of memory that is not the mapped file's
 *   bench_chrome write FILE OUT [RUNS] opens it and writes it as ours; beside each run as many bytes that are there already
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "formats/exports.h"
#include "formats/json_out.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

static int generate(uint64_t count, const char *path, struct error *err)
{
    struct file_writer *file;
    if (file_writer_create(path, &file, err) < 0)
        return 1;
    struct json_out out;
    json_out_init(&out, file);
    JSON_OUT_LITERAL(&out, "{\"traceEvents\":[\n");
    uint64_t state = 1;
    for (uint64_t i = 0; i < count; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        char *at;
        json_out_need(&out, 256);
        at = out.at + sprintf(out.at, "{\"name\":\"function_%03u\",\"cat\":\"category_%u\",\"ph\":\"X\",\"ts\":", (unsigned)(state >> 33) % 500,
                              (unsigned)(state >> 50) % 8);
        at = format_microseconds(at, 1000000000 + i * 700);
        at = stpcpy(at, ",\"dur\":");
        at = format_microseconds(at, 1000 + (state >> 40) % 9000);
        at += sprintf(at, ",\"pid\":4242,\"tid\":%u,\"args\":{\"i\":%" PRIu64 "}}%s\n", 4242 + (unsigned)(i % 16), i, i + 1 < count ? "," : "");
        out.at = at;
    }
    JSON_OUT_LITERAL(&out, "]}\n");
    json_out_flush(&out);
    return file_writer_finish(file, err) < 0;
}

static atomic_bool watching;
static uint64_t peak_anonymous_kb;

/* The kernel keeps no peak of anonymous memory alone: it is looked at every few milliseconds. */
static void *watch(void *context)
{
    while (atomic_load(&watching)) {
        char *status;
        size_t size;
        if (file_read("/proc/self/status", 65536, &status, &size, NULL) == 0) {
            const char *line = strstr(status, "RssAnon:");
            uint64_t kb = line ? strtoull(line + 8, NULL, 10) : 0;
            peak_anonymous_kb = kb > peak_anonymous_kb ? kb : peak_anonymous_kb;
            free(status);
        }
        usleep(5000);
    }
    return NULL;
}

static int read_runs(const char *path, unsigned runs, struct error *err)
{
    struct stat status;
    if (stat(path, &status) < 0)
        return 1;
    for (unsigned run = 0; run < runs; run++) {
        pthread_t watcher;
        struct trace *trace;
        peak_anonymous_kb = 0;
        atomic_store(&watching, true);
        pthread_create(&watcher, NULL, watch, NULL);
        int64_t begin_ns = clock_monotonic_ns(), begin_cpu_ns = clock_process_cpu_ns();
        int r = trace_open(path, NULL, NULL, &trace, err);
        double seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9, cpu = (double)(clock_process_cpu_ns() - begin_cpu_ns) / 1e9;
        atomic_store(&watching, false);
        pthread_join(watcher, NULL);
        if (r < 0)
            return 1;
        printf("read  %7.3f s  %7.3f s CPU  %6.0f MB/s  %" PRIu64 " spans  peak anonymous %" PRIu64 " MB of a %" PRIu64 " MB file\n",
               seconds, cpu, (double)status.st_size / 1e6 / seconds, trace_row_count(trace, FAMILY_SPANS), peak_anonymous_kb / 1024,
               (uint64_t)status.st_size >> 20);
        trace_unref(trace);
    }
    return 0;
}

/* Seconds that the bytes alone cost: the same size to the same place, from a buffer that is full. */
static double write_bytes(const char *path, uint64_t size, struct error *err)
{
    static char bytes[480 << 10];
    struct file_writer *file;
    memset(bytes, 'x', sizeof(bytes));
    int64_t begin_ns = clock_monotonic_ns();
    if (file_writer_create(path, &file, err) < 0)
        return -1;
    for (uint64_t left = size; left;) {
        size_t part = left < sizeof(bytes) ? (size_t)left : sizeof(bytes);
        file_write(file, bytes, part);
        left -= part;
    }
    return file_writer_finish(file, err) < 0 ? -1 : (double)(clock_monotonic_ns() - begin_ns) / 1e9;
}

static int write_runs(const char *path, const char *out, unsigned runs, struct error *err)
{
    struct trace *trace;
    if (trace_open(path, NULL, NULL, &trace, err) < 0)
        return 1;
    int r = 0;
    for (unsigned run = 0; run < runs && r == 0; run++) {
        struct stat status;
        int64_t begin_ns = clock_monotonic_ns(), begin_cpu_ns = clock_process_cpu_ns();
        r = format_chrome.write(trace, NULL, out, err);
        double seconds = (double)(clock_monotonic_ns() - begin_ns) / 1e9, cpu = (double)(clock_process_cpu_ns() - begin_cpu_ns) / 1e9;
        if (r < 0 || stat(out, &status) < 0 || !S_ISREG(status.st_mode)) {
            printf("write %7.3f s  %7.3f s CPU\n", seconds, cpu);
            continue;
        }
        double megabytes = (double)status.st_size / 1e6, bytes_seconds = write_bytes(out, (uint64_t)status.st_size, err);
        printf("write %7.3f s  %7.3f s CPU  %6.0f MB/s, a second of CPU %6.0f MB  %lld bytes; the bytes alone %6.0f MB/s: %.1f times\n", seconds, cpu,
               megabytes / seconds, megabytes / cpu, (long long)status.st_size, megabytes / bytes_seconds, seconds / bytes_seconds);
    }
    trace_unref(trace);
    return r < 0;
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    int status = 2;
    if (argc == 4 && strcmp(argv[1], "generate") == 0)
        status = generate(strtoull(argv[2], NULL, 10), argv[3], &err);
    else if (argc >= 3 && strcmp(argv[1], "read") == 0)
        status = read_runs(argv[2], argc > 3 ? (unsigned)atoi(argv[3]) : 3, &err);
    else if (argc >= 4 && strcmp(argv[1], "write") == 0)
        status = write_runs(argv[2], argv[3], argc > 4 ? (unsigned)atoi(argv[4]) : 3, &err);
    else
        fprintf(stderr, "usage: bench_chrome generate SPANS FILE | read FILE [RUNS] | write FILE OUT [RUNS]\n");
    if (err.code)
        fprintf(stderr, "bench_chrome: %s\n", err.text);
    return status;
}
