/* SPDX-License-Identifier: MIT */
/*
 * A native file that grows with its trace: each append writes what a new snapshot has more than the last one - strings,
 * rows of small tables, blocks - as chunks behind those that are there. Readers walk through them (trace_refresh). In an
 * append, what is referred to stands before what refers to it.
 */
#include "builder.h"
#include "native_writer.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

struct trace_stream {
    char *path;
    int fd;
    uint64_t position;
    uint32_t strings;
    struct shared_table *tables[TABLE_COUNT]; /* as written */
    uint32_t blocks[FAMILY_COUNT];
    bool begun;
};

void trace_stream_destroy(struct trace_stream *stream)
{
    if (!stream)
        return;
    for (unsigned table = 0; table < TABLE_COUNT; table++)
        shared_table_unref(stream->tables[table]);
    if (stream->fd >= 0)
        close(stream->fd);
    free(stream->path);
    free(stream);
}

int trace_stream_create(const char *path, struct trace_stream **ret_stream, struct error *err)
{
    CLEANUP(trace_stream_destroyp) struct trace_stream *stream = calloc(1, sizeof(*stream));
    if (!stream)
        return error_set(err, -ENOMEM, "%s: out of memory", path);
    stream->fd = -1;
    stream->path = strdup(path);
    if (!stream->path)
        return error_set(err, -ENOMEM, "%s: out of memory", path);
    stream->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (stream->fd < 0)
        return error_set_errno(err, -errno, "%s: cannot create", path);
    *ret_stream = TAKE_PTR(stream);
    return 0;
}

/* Rows that are new; all of them when those that were there have changed. */
static int append_table(struct trace_stream *stream, struct native_writer *writer, enum table table, struct shared_table *rows)
{
    struct shared_table *before = stream->tables[table];
    uint32_t first = before ? before->count : 0;
    bool changed = before && memcmp(before->rows, rows->rows, (size_t)first * table_schema(table)->row_size) != 0;
    int result = native_write_table(writer, table, rows, changed ? 0 : first, CHUNK_ALIGNMENT);
    if (result < 0)
        return result;
    shared_table_unref(before);
    stream->tables[table] = shared_table_ref(rows);
    return 0;
}

static int append_all(struct trace_stream *stream, struct native_writer *writer, const struct trace *trace, struct error *err)
{
    int result = 0;
    if (!stream->begun)
        result = native_write_header(writer, NATIVE_COMPATIBLE_STREAM, column_can_pack() ? NATIVE_INCOMPATIBLE_ZSTD : 0);
    if (result == 0)
        result = native_write_strings(writer, trace_strings(trace), stream->strings, CHUNK_ALIGNMENT);
    for (unsigned table = 0; table < TABLE_COUNT && result == 0; table++)
        result = append_table(stream, writer, (enum table)table, trace->tables[table]);
    for (unsigned family = 0; family < FAMILY_COUNT && result == 0; family++)
        result = native_write_blocks(writer, trace, (enum family)family, stream->blocks[family],
                                     trace->blocks[family].count, NULL, err);
    return result;
}

int trace_stream_append(struct trace_stream *stream, const struct trace *trace, struct error *err)
{
    struct native_writer writer = {.position = stream->position};
    int result = file_writer_create_fd(stream->fd, stream->path, &writer.file, err);
    if (result < 0)
        return result;
    struct error reason = ERROR_INIT;
    result = append_all(stream, &writer, trace, &reason);
    int finished = file_writer_finish(TAKE_PTR(writer.file), result == 0 || result == -EIO ? err : NULL);
    if (result < 0 && result != -EIO)
        error_set(err, result, "%s: %s", stream->path, reason.code ? reason.text : strerror(-result));
    result = finished < 0 ? finished : result;
    if (result == 0) {
        stream->begun = true;
        stream->position = writer.position;
        stream->strings = string_table_count(trace_strings(trace));
        for (unsigned family = 0; family < FAMILY_COUNT; family++)
            stream->blocks[family] = trace->blocks[family].count;
    }
    native_writer_finish(&writer);
    return result;
}
