/* SPDX-License-Identifier: MIT */
/* Formats: the side door. One const table entry per format; a direction that a format lacks is NULL. */
#ifndef HP_FORMATS_FORMAT_H
#define HP_FORMATS_FORMAT_H

#include "base/progress.h"
#include "trace/filter.h"
#include "trace/trace.h"

struct error;
struct log;

struct format_write_options {
    bool has_window;                   /* only what overlaps [window_begin_ns, window_end_ns], cut to it */
    int64_t window_begin_ns, window_end_ns;
    const struct trace_filter *where;  /* NULL = everything */
    const struct progress *progress;
    const struct log *log;
};

struct trace_format {
    const char *name;                  /* as --to has it */
    const char *extension;             /* ".hpt"; also how run -o FILE picks */
    const char *summary;
    /* Does this file look like mine? head: its first bytes (up to 4096), size: of the whole file. */
    bool (*probe)(const uint8_t *head, size_t head_size, uint64_t size);
    int (*read)(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err);
    int (*write)(const struct trace *trace, const struct format_write_options *options, const char *path, struct error *err);
};

extern const struct trace_format *const trace_formats[]; /* NULL-terminated; readers are probed in this order */
const struct trace_format *trace_format_find(const char *name);
const struct trace_format *trace_format_for_path(const char *path); /* by its ending; NULL = none fits */

/* Writes a trace, or the part of it that the options pick (trace/select.h): formats write whole traces. */
int trace_export(const struct trace *trace, const struct trace_format *format, const struct format_write_options *options,
                 const char *path, struct error *err);

/* Opens any trace we can read; the error names file, format and offset. */
int trace_open(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err);

#endif
