/* SPDX-License-Identifier: MIT */
/* How much of a trace an export took: for the line that says so. */
#ifndef HP_CLI_EXPORT_COUNT_H
#define HP_CLI_EXPORT_COUNT_H

#include "formats/format.h"

#include <stdint.h>

struct export_counts {
    uint64_t spans, samples;
};

/* The rows that window and filter of `options` pick; without either nothing is read. */
int export_count(const struct trace *trace, const struct format_write_options *options,
                 struct export_counts *ret_counts, struct error *err);
/* One line on what was written to `path` (NULL = standard output, of which only emptiness is worth a line). */
void export_report(const struct export_counts *counts, const struct format_write_options *options, const char *path,
                   const struct log *log);

#endif
