/* SPDX-License-Identifier: MIT */
/* Formats: the side door. One const table entry per format; a direction that a format lacks is NULL. */
#ifndef HP_FORMATS_FORMAT_H
#define HP_FORMATS_FORMAT_H

#include "base/progress.h"
#include "trace/select.h"
#include "trace/trace.h"

struct error;
struct log;

struct trace_format {
    const char *name;                  /* as --to has it */
    const char *extension;             /* ".hpt"; also how run -o FILE picks */
    const char *summary;
    /* Does this file look like mine? head: its first bytes (up to 4096), size: of the whole file. */
    bool (*probe)(const uint8_t *head, size_t head_size, uint64_t size);
    int (*read)(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err);
    int (*write)(const struct trace *trace, const struct progress *progress, const char *path, struct error *err); /* all of it */
};

extern const struct trace_format *const trace_formats[]; /* NULL-terminated; readers are probed in this order */
const struct trace_format *trace_format_find(const char *name);
const struct trace_format *trace_format_for_path(const char *path); /* by its ending; NULL = none fits */

struct export_counts {
    uint64_t spans, samples;
};

/* Writes a trace, or a part of it, and tells how many rows that was. */
int trace_export(const struct trace *trace, const struct trace_format *format, const struct trace_part *part,
                 const struct progress *progress, const char *path, struct export_counts *ret_counts, struct error *err);

/* Opens any trace we can read; the error names file, format and offset. */
int trace_open(const char *path, const struct progress *progress, const struct log *log, struct trace **ret_trace, struct error *err);

#endif
