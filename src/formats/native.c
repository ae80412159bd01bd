/* SPDX-License-Identifier: MIT */
/* The native file as an entry of the table: reading and writing are the trace module's. */
#include "base/error.h"
#include "exports.h"
#include "trace/builder.h"
#include "trace/file_format.h"

#include <string.h>

static bool native_probe(const uint8_t *head, size_t head_size, uint64_t size)
{
    return head_size >= NATIVE_MAGIC_SIZE && memcmp(head, NATIVE_MAGIC, NATIVE_MAGIC_SIZE) == 0;
}

static int native_read(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace,
                       struct error *err)
{
    return trace_open_native(path, ret_trace, err);
}

static int native_write(const struct trace *trace, const struct progress *progress, const char *path, struct error *err)
{
    return trace_write_native(trace, path, progress, err);
}

const struct trace_format format_native = {
    .name = "native",
    .extension = ".hpt",
    .summary = "hprofiler's own columnar file: opens at once whatever its size",
    .probe = native_probe,
    .read = native_read,
    .write = native_write,
};
