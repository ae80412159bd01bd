/* SPDX-License-Identifier: MIT */
/* A session with hand-made files of a target in it. */
#ifndef HP_TESTS_SESSION_FIXTURE_H
#define HP_TESTS_SESSION_FIXTURE_H

#include "unit.h"

#include "base/error.h"
#include "base/file.h"
#include "record/session.h"
#include "trace/trace.h"
#include "wire/buffer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FIXTURE_KEY 0x1234567890abcdefull
#define FIXTURE_CHUNK_BYTES 65536u

struct fixture {
    char parent[64];
    struct session *session;
    char directory[4096];
};

static inline int fixture_setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    strcpy(fixture->parent, "/tmp/test-session-XXXXXX");
    if (!mkdtemp(fixture->parent))
        return -1;
    struct session_options options = {.parent = fixture->parent, .command = "made", .no_drain = true};
    struct error err = ERROR_INIT;
    if (session_create(&options, &fixture->session, &err) < 0)
        return -1;
    strcpy(fixture->directory, session_directory(fixture->session));
    *state = fixture;
    return 0;
}

static inline int fixture_teardown(void **state)
{
    struct fixture *fixture = *state;
    session_destroy(fixture->session);
    int code = directory_remove(fixture->parent, NULL);
    free(fixture);
    return code;
}

static inline void fixture_write(struct fixture *fixture, const char *name, const void *data, size_t size)
{
    int fd = openat(session_directory_fd(fixture->session), name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write_all(fd, data, size), 0);
    close(fd);
}

/* A process file of `pid` with the texts in its log; ids are returned in order. Its clock is raw ns. `collector`: which of the
 * texts names a collector that was in it; -1 = none. */
static inline void fixture_process_with(struct fixture *fixture, int32_t pid, uint64_t key, uint16_t minor, int64_t start_raw_ns,
                                        const char *const *texts, uint32_t *ret_ids, int collector)
{
    static uint8_t bytes[65536];
    memset(bytes, 0, sizeof bytes);
    struct wire_process *process = (struct wire_process *)(void *)bytes;
    *process = (struct wire_process){
        .magic = WIRE_PROCESS_MAGIC, .major = WIRE_MAJOR, .minor = minor, .byte_order = WIRE_BYTE_ORDER,
        .header_bytes = sizeof *process + minor * 64u, .log_offset = sizeof *process + minor * 64u, .pid = pid, .key = key,
        .start_raw_ns = start_raw_ns, .start_time = (uint64_t)start_raw_ns, .clock = WIRE_CLOCK_RAW, .executable = "/usr/bin/made",
    };
    uint32_t at = 64; /* offset 0 is never a string */
    for (size_t i = 0; texts[i]; i++) {
        struct wire_header header = {WIRE_STRING, (uint16_t)(1 + wire_round_up((uint32_t)strlen(texts[i])) / 8), (uint32_t)strlen(texts[i])};
        memcpy(bytes + process->log_offset + at, &header, sizeof header);
        memcpy(bytes + process->log_offset + at + 8, texts[i], strlen(texts[i]));
        ret_ids[i] = at / 8;
        at += wire_bytes(&header);
    }
    if (collector >= 0) {
        const struct wire_process_info info = {.header = {WIRE_PROCESS_INFO, sizeof info / 8, ret_ids[collector]},
                                               .time = (uint64_t)start_raw_ns, .topic = WIRE_INFO_COLLECTOR};
        memcpy(bytes + process->log_offset + at, &info, sizeof info);
        at += sizeof info;
    }
    process->log_reserved = at;
    char name[80];
    snprintf(name, sizeof name, "process-%d-%016llx", pid, (unsigned long long)key);
    fixture_write(fixture, name, bytes, sizeof bytes);
}

static inline void fixture_process(struct fixture *fixture, int32_t pid, uint64_t key, uint16_t minor, int64_t start_raw_ns,
                                   const char *const *texts, uint32_t *ret_ids)
{
    fixture_process_with(fixture, pid, key, minor, start_raw_ns, texts, ret_ids, -1);
}

/* A chunk file holding `size` bytes of records. */
static inline void fixture_chunk(struct fixture *fixture, int32_t pid, uint64_t key, uint32_t number, uint32_t state, const void *records,
                                 size_t size)
{
    static uint8_t bytes[FIXTURE_CHUNK_BYTES];
    memset(bytes, 0, sizeof bytes);
    struct wire_chunk *chunk = (struct wire_chunk *)(void *)bytes;
    *chunk = (struct wire_chunk){
        .magic = WIRE_CHUNK_MAGIC, .major = WIRE_MAJOR, .byte_order = WIRE_BYTE_ORDER, .size_bytes = sizeof bytes, .number = number,
        .process_key = key, .pid = pid, .tid = pid, .state = state, .lap = 1, .commit = size,
    };
    memcpy(bytes + WIRE_CHUNK_DATA, records, size);
    char name[80];
    snprintf(name, sizeof name, "chunk-%d-%016llx-%u", pid, (unsigned long long)key, number);
    fixture_write(fixture, name, bytes, sizeof bytes);
}

static inline struct trace *fixture_merge(struct fixture *fixture)
{
    struct trace *trace = NULL;
    struct error err = ERROR_INIT;
    const struct merge_options options = {.keep_session = true, .no_symbols = true};
    int code = session_merge(fixture->directory, &options, &trace, &err);
    if (code)
        fail_msg("merge: %s", err.text);
    return trace;
}

static inline uint64_t fixture_lost(const struct trace *trace, const char *reason)
{
    uint32_t count;
    const struct ledger_entry *rows = trace_ledger(trace, &count);
    uint64_t lost = 0;
    for (uint32_t i = 0; i < count; i++)
        if (strstr(trace_text(trace, rows[i].reason), reason))
            lost += rows[i].lost;
    return lost;
}

#endif
