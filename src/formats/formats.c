/* SPDX-License-Identifier: MIT */
/* The table of formats, and opening any trace by looking at it. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "exports.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const struct trace_format *const trace_formats[] = {
    &format_native,  &format_chrome, &format_folded, &format_speedscope, &format_flamegraph_html,
    &format_csv,     &format_otf2,   NULL,
};

const struct trace_format *trace_format_find(const char *name)
{
    for (size_t i = 0; trace_formats[i]; i++)
        if (strcmp(trace_formats[i]->name, name) == 0)
            return trace_formats[i];
    return NULL;
}

const struct trace_format *trace_format_for_path(const char *path)
{
    const struct trace_format *best = NULL;
    size_t best_length = 0, length = strlen(path);
    for (size_t i = 0; trace_formats[i]; i++) {
        const char *extension = trace_formats[i]->extension;
        size_t extension_length = extension ? strlen(extension) : 0;
        if (extension_length > best_length && extension_length < length &&
            strcmp(path + length - extension_length, extension) == 0) {
            best = trace_formats[i];
            best_length = extension_length;
        }
    }
    return best;
}

int trace_export(const struct trace *trace, const struct trace_format *format, const struct trace_part *part,
                 const struct progress *progress, const char *path, struct export_counts *ret_counts, struct error *err)
{
    CLEANUP(trace_unrefp) struct trace *selected = NULL;
    int r = part->has_window || part->where || trace_incomplete(trace) ? trace_select(trace, part, progress, &selected, err) : 0;
    if (selected)
        trace = selected;
    if (r == 0)
        r = format->write(trace, progress, path, err);
    if (r == 0)
        *ret_counts = (struct export_counts){trace_row_count(trace, FAMILY_SPANS), trace_row_count(trace, FAMILY_SAMPLES)};
    return r;
}

/* Names of everything that can be read, for the error. */
static void readable_names(char *text, size_t size)
{
    text[0] = 0;
    for (size_t i = 0; trace_formats[i]; i++) {
        if (!trace_formats[i]->read)
            continue;
        if (text[0])
            strncat(text, ", ", size - strlen(text) - 1);
        strncat(text, trace_formats[i]->name, size - strlen(text) - 1);
    }
}

static int refuse_directory(const char *path, struct error *err)
{
    struct text word = TEXT_INIT;
    text_add_word(&word, path);
    error_set(err, -EISDIR, "'%s' is a directory: give a trace file, or run `hprofiler recover %s` if it is what an interrupted recording left",
              path, word.data ? word.data : path);
    text_finish(&word);
    return -EISDIR;
}

static int read_head(const char *path, uint8_t *head, size_t *ret_head_size, uint64_t *ret_size, struct error *err)
{
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) < 0)
        return error_set_errno(err, -errno, "cannot open trace '%s'", path);
    if (S_ISDIR(status.st_mode))
        return refuse_directory(path, err);
    if (!S_ISREG(status.st_mode))
        return error_set(err, -EINVAL, "'%s' is not a regular file: save the trace to a file first", path);
    ssize_t size = pread(fd, head, 4096, 0);
    if (size < 0)
        return error_set_errno(err, -errno, "cannot read trace '%s'", path);
    if (size == 0)
        return error_set(err, -ENODATA, "'%s' is empty: there is no trace in it", path);
    *ret_head_size = (size_t)size;
    *ret_size = (uint64_t)status.st_size;
    return 0;
}

int trace_open(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err)
{
    uint8_t head[4096];
    size_t head_size = 0;
    uint64_t size = 0;
    int r = read_head(path, head, &head_size, &size, err);
    if (r < 0)
        return r;
    for (size_t i = 0; trace_formats[i]; i++) {
        if (!trace_formats[i]->read || !trace_formats[i]->probe || !trace_formats[i]->probe(head, head_size, size))
            continue;
        r = trace_formats[i]->read(path, progress, log, ret_trace, err);
        if (r == 0 && trace_incomplete(*ret_trace))
            log_warning(log, "'%s': %s", path, trace_incomplete(*ret_trace));
        return r;
    }
    if (head_size > 2 && head[0] == 0x1f && head[1] == 0x8b)
        return error_set(err, -EPROTONOSUPPORT, "'%s' is compressed with gzip: unpack it with `gunzip` first", path);
    char names[256];
    readable_names(names, sizeof(names));
    return error_set(err, -EPROTONOSUPPORT, "'%s' is not a trace that hprofiler can read (at offset 0: unknown start; it reads: %s)",
                     path, names);
}
