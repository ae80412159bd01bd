/* SPDX-License-Identifier: MIT */
/* Traces of Score-P, EZTrace, TAU and others: an OTF2 archive, opened by its anchor file (traces.otf2). */
#include "exports.h"

#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

/* An anchor file begins with the version of its substrate, the byte order, and "OTF2". */
static bool probe(const uint8_t *head, size_t head_size, uint64_t size)
{
    return head_size >= 6 && (head[1] == 'B' || head[1] == 'L') && memcmp(head + 2, "OTF2", 4) == 0;
}

#if HP_HAVE_OTF2
#include "otf2_import.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANCHOR_CPU_SECONDS 5 /* an anchor of some dozen bytes takes a millisecond */

struct complaints {
    char first[256]; /* what the library said */
};

static __attribute__((format(printf, 6, 0))) OTF2_ErrorCode on_error(void *state, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code, const char *format,
                               va_list arguments)
{
    struct complaints *complaints = state;
    if (!complaints->first[0])
        vsnprintf(complaints->first, sizeof complaints->first, format, arguments);
    return code;
}

static void finish(struct otf2_import *import)
{
    for (size_t i = 0; i < import->location_count; i++) {
        map_finish(&import->locations[i].requests);
        free(import->locations[i].frames);
        free(import->locations[i].postings);
        free(import->locations[i].ended);
    }
    for (size_t i = 0; i < import->process_count; i++)
        map_finish(&import->processes[i].sequences);
    for (size_t i = 0; i < import->group_count; i++)
        free(import->groups[i].members);
    struct map *maps[] = {&import->strings,       &import->region_index,   &import->group_index, &import->comm_index, &import->process_index,
                          &import->location_index, &import->node_index, &import->clocked,     &import->collectives};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        map_finish(maps[i]);
    free(import->locations);
    free(import->processes);
    free(import->groups);
    free(import->regions);
    message_match_destroy(import->match);
    trace_builder_destroy(import->builder);
}

static int add_losses(struct otf2_import *import)
{
    static const char *const texts[OTF2_LOSS_COUNT] = {
#define X(enumerator, text) text,
        OTF2_LOSSES(X)
#undef X
    };
    int code = 0;
    for (int i = 0; i < OTF2_LOSS_COUNT && code == 0; i++)
        if (import->lost[i])
            code = trace_builder_add_ledger(import->builder, "OTF2 events", import->lost[i], 0, import->lost[i], texts[i]);
    return code;
}

static int read_archive(struct otf2_import *import, OTF2_Reader *reader, struct trace **ret_trace, struct error *err)
{
    int code = otf2_read_definitions(import, reader);
    if (code == 0)
        code = otf2_make_places(import);
    if (code == 0)
        code = otf2_read_events(import, reader);
    if (code == 0)
        code = otf2_finish_events(import);
    if (code == 0)
        code = add_losses(import);
    return code ? code : trace_builder_finish(import->builder, ret_trace, err);
}

static OTF2_ErrorCode say_nothing(void *state, const char *file, uint64_t line, const char *function, OTF2_ErrorCode code, const char *format,
                                  va_list arguments)
{
    return code;
}

/* The library counts up to whatever number a damaged anchor file has: a child opens it first, with a limit. True: it runs into it. */
static bool never_opens(const char *path)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        const struct rlimit limit = {ANCHOR_CPU_SECONDS, ANCHOR_CPU_SECONDS}, no_core = {0, 0};
        setrlimit(RLIMIT_CPU, &limit);
        setrlimit(RLIMIT_CORE, &no_core);
        OTF2_Error_RegisterCallback(say_nothing, NULL);
        OTF2_Reader_Open(path);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return false;
    return child > 0 && WIFSIGNALED(status);
}

static int read_otf2(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err)
{
    if (never_opens(path))
        return error_set(err, -EBADMSG, "cannot read the OTF2 archive '%s': its anchor file is damaged; nothing that opens it comes to an end", path);
    struct otf2_import import = {.world = ID_NONE, .ticks_per_second = 1000000000, .match = message_match_create()};
    struct complaints complaints = {0};
    OTF2_ErrorCallback before = OTF2_Error_RegisterCallback(on_error, &complaints);
    OTF2_Reader *reader = OTF2_Reader_Open(path);
    int code = import.match ? trace_builder_create(NULL, &import.builder, err) : -ENOMEM;
    if (!reader && code == 0)
        code = -EBADMSG;
    if (code == 0) {
        OTF2_Reader_SetSerialCollectiveCallbacks(reader);
        code = read_archive(&import, reader, ret_trace, err);
    }
    if (reader)
        OTF2_Reader_Close(reader);
    OTF2_Error_RegisterCallback(before, NULL);
    finish(&import);
    if (code < 0 && err && !err->code)
        error_set(err, code, "cannot read the OTF2 archive '%s': %s", path,
                  complaints.first[0] ? complaints.first : code == -ENOMEM ? "out of memory" : "its definitions or events are missing or damaged");
    return code;
}
#else
static int read_otf2(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err)
{
    return error_set(err, -EPROTONOSUPPORT, "'%s' is an OTF2 archive, and this hprofiler was built without OTF2: install libopen-trace-format2-dev and build again", path);
}
#endif

const struct trace_format format_otf2 = {
    .name = "otf2",
    .extension = ".otf2",
    .summary = "OTF2 archive of Score-P, EZTrace and others, opened by its anchor file (read only)",
    .probe = probe,
    .read = read_otf2,
};
