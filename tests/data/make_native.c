/* SPDX-License-Identifier: MIT */
/* Makes the native files that tests and fuzz targets start from: make_native FOLDER. The committed tests/data/native-v1*.hpt
 * came from this program when the format was new; they are kept, not made again. */
#include "native_v1.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>

static int make(const char *folder, struct error *err)
{
    char path[4096];
    CLEANUP(trace_builder_destroyp) struct trace_builder *builder = NULL;
    CLEANUP(trace_stream_destroyp) struct trace_stream *stream = NULL;
    CLEANUP(trace_unrefp) struct trace *snapshot = NULL;
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int result = trace_builder_create(NULL, &builder, err);
    if (result < 0 || native_v1_fill(builder) != 0)
        return error_set(err, -EINVAL, "cannot fill the trace");
    snprintf(path, sizeof(path), "%s/native-v1-growing.hpt", folder);
    result = trace_stream_create(path, &stream, err);
    if (result == 0)
        result = trace_builder_snapshot(builder, &snapshot, err);
    if (result == 0)
        result = trace_stream_append(stream, snapshot, err);
    if (result == 0)
        result = trace_builder_finish(builder, &trace, err);
    snprintf(path, sizeof(path), "%s/native-v1.hpt", folder);
    return result < 0 ? result : trace_write_native(trace, path, NULL, err);
}

int main(int argc, char **argv)
{
    struct error err = ERROR_INIT;
    if (argc == 2 && make(argv[1], &err) == 0)
        return 0;
    fprintf(stderr, "make_native: %s\n", argc == 2 ? err.text : "usage: make_native FOLDER");
    return 1;
}
