/* SPDX-License-Identifier: MIT */
/* Facts of the machine, calibration and ledger records of the recorder, the target's environment, where our libraries are. */
#include "session_files.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "session.h"
#include "wire/clock.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void session_boot_id(char out[40])
{
    CLEANUP(freep) char *text = NULL;
    size_t size;
    memset(out, 0, 40);
    if (file_read("/proc/sys/kernel/random/boot_id", 4096, &text, &size, NULL) == 0)
        snprintf(out, 40, "%.*s", (int)strcspn(text, "\n"), text);
}

int session_calibrate(struct spool *spool)
{
    struct wire_calibration record = {.header = {WIRE_CALIBRATION, sizeof record / 8, 0}, .spread = UINT64_MAX};
    for (int round = 0; round < 5; round++) {
        uint64_t before = wire_ticks();
        int64_t raw = clock_raw_ns();
        uint64_t after = wire_ticks();
        if (after - before < record.spread) {
            record.spread = after - before;
            record.ticks = before + record.spread / 2;
            record.raw_ns = raw;
        }
    }
    return spool_put(spool, SPOOL_KEEP, &record.header);
}

int session_ledger(struct spool *spool, const char *source, const char *reason, uint64_t seen, uint64_t recorded, uint64_t lost)
{
    size_t first = strlen(source) + 1, second = strlen(reason) + 1;
    struct {
        struct wire_ledger record;
        char text[512];
    } all = {0};
    if (first + second > sizeof all.text)
        return -EINVAL;
    memcpy(all.text, source, first);
    memcpy(all.text + first, reason, second);
    all.record.header = (struct wire_header){
        WIRE_LEDGER, (uint16_t)((sizeof all.record + wire_round_up((uint32_t)(first + second))) / 8), (uint32_t)(first + second)};
    all.record.seen = seen;
    all.record.recorded = recorded;
    all.record.lost = lost;
    return spool_put(spool, SPOOL_KEEP, &all.record.header);
}

void session_environment_free(char **environment)
{
    for (size_t i = 0; environment && environment[i]; i++)
        free(environment[i]);
    free(environment);
}

/* ':' and blanks separate the names in LD_PRELOAD: a path that holds one can't be given there. */
static int preload_check(const char *preload, struct error *err)
{
    for (const char *at = preload; at && *at;) {
        size_t length = strcspn(at, ":");
        if (length == 0 || *at != '/' || strcspn(at, " \t\n") < length)
            return error_set(err, -EINVAL,
                             "%.*s: a library in LD_PRELOAD needs an absolute path without colon and blank; install hprofiler elsewhere",
                             (int)length, at);
        at += length + (at[length] == ':');
    }
    return 0;
}

static char *preload_join(const char *user, const char *preload)
{
    char *text = NULL;
    if (asprintf(&text, "LD_PRELOAD=%s%s%s", user ? user : "", user && *user ? ":" : "", preload) < 0)
        return NULL;
    return text;
}

static bool is_variable(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

int session_environment(const struct session *session, char *const environment[], const char *preload, char ***ret_environment,
                        struct error *err)
{
    int code = preload_check(preload, err);
    if (code)
        return code;
    size_t count = 0, out = 0;
    while (environment[count])
        count++;
    char **copy = calloc(count + 3, sizeof *copy);
    const char *user = NULL;
    bool complete = copy;
    for (size_t i = 0; complete && i < count; i++) {
        if (preload && is_variable(environment[i], "LD_PRELOAD")) {
            user = environment[i] + strlen("LD_PRELOAD=");
            continue;
        }
        if (!is_variable(environment[i], WIRE_ENVIRONMENT))
            complete = (copy[out++] = strdup(environment[i]));
    }
    if (complete && preload)
        complete = (copy[out++] = preload_join(user, preload));
    if (complete && asprintf(&copy[out], "%s=%s", WIRE_ENVIRONMENT, session_directory(session)) < 0) {
        copy[out] = NULL;
        complete = false;
    }
    if (!complete) {
        session_environment_free(copy);
        return error_set(err, -ENOMEM, "session: out of memory");
    }
    *ret_environment = copy;
    return 0;
}

int session_library_path(const char *directory, const char *name, char *ret_path, size_t size, struct error *err)
{
    static const char *const places[] = {"../lib", "../lib/hprofiler", "../lib64/hprofiler", "."};
    char program[PATH_MAX], path[PATH_MAX * 2], real[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length > 0 ? length : 0] = 0;
    char *slash = strrchr(program, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (directory)
            snprintf(path, sizeof path, "%s/libhprofiler_%s.so", directory, name);
        else
            snprintf(path, sizeof path, "%s/%s/libhprofiler_%s.so", program, places[i], name);
        if (realpath(path, real) && strlen(real) < size) {
            strcpy(ret_path, real);
            return 0;
        }
    }
    return error_set(err, -ENOENT, "libhprofiler_%s.so: not found beside %s; was hprofiler installed whole?", name,
                     directory ? directory : program);
}
