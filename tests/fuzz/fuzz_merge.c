/* SPDX-License-Identifier: MIT */
/*
 * The merge of a session whose files hold anything: the input, cut in three by its last bytes, is the recorder's own stream, a
 * process log, and a chunk's records. Headers are whole, so that the records are reached.
 */
#include "base/error.h"
#include "base/file.h"
#include "record/session.h"
#include "trace/trace.h"
#include "wire/buffer.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define KEY 0xabcdull
#define ROOM 65536u

static void put_file(int directory_fd, const char *name, const void *header, size_t header_bytes, const uint8_t *data, size_t size)
{
    uint8_t *bytes = calloc(1, ROOM);
    int fd = openat(directory_fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (bytes && fd >= 0 && size < ROOM - header_bytes) {
        memcpy(bytes, header, header_bytes);
        memcpy(bytes + header_bytes, data, size);
        write_all(fd, bytes, ROOM);
    }
    closep(&fd);
    free(bytes);
}

static void put_target(struct session *session, const uint8_t *log, size_t log_size, const uint8_t *records, size_t size)
{
    int directory_fd = session_directory_fd(session);
    struct wire_process process = {.magic = WIRE_PROCESS_MAGIC, .major = WIRE_MAJOR, .byte_order = WIRE_BYTE_ORDER,
                                   .header_bytes = sizeof process, .log_offset = sizeof process, .pid = 5, .key = KEY,
                                   .clock = WIRE_CLOCK_TSC, .log_reserved = log_size};
    put_file(directory_fd, "process-5-000000000000abcd", &process, sizeof process, log, log_size);
    struct wire_chunk chunk = {.magic = WIRE_CHUNK_MAGIC, .major = WIRE_MAJOR, .byte_order = WIRE_BYTE_ORDER, .size_bytes = ROOM,
                               .process_key = KEY, .pid = 5, .tid = 5, .state = WIRE_CHUNK_ACTIVE, .lap = 1, .commit = size & ~7ull};
    put_file(directory_fd, "chunk-5-000000000000abcd-0", &chunk, sizeof chunk, records, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 4 || size > 30000)
        return 0;
    struct session *session = NULL;
    const struct session_options options = {.parent = "/tmp", .no_drain = true};
    if (session_create(&options, &session, NULL) < 0)
        return 0;
    size_t first = size * data[size - 1] / 256 & ~(size_t)7, second = (size - first) * data[size - 2] / 256 & ~(size_t)7;
    uint64_t *own = calloc(1, first + 8); /* aligned, as records are */
    if (own && first) {
        memcpy(own, data, first);
        struct spool_stream stream = {0};
        spool_append(session_spool(session), &stream, SPOOL_KEEP, own, first);
    }
    free(own);
    put_target(session, data + first, second, data + first + second, size - first - second);
    struct trace *trace = NULL;
    const struct merge_options merge = {.keep_session = true, .no_symbols = true};
    if (session_merge(session_directory(session), &merge, &trace, NULL) == 0)
        trace_unref(trace);
    char directory[4096];
    snprintf(directory, sizeof directory, "%s", session_directory(session));
    session_destroy(session);
    directory_remove(directory, NULL);
    return 0;
}
