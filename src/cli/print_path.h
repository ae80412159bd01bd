/* SPDX-License-Identifier: MIT */
/* Critical paths on stdout, for programs and people. Keys and columns are a contract: docs/critical-path.md. */
#ifndef HP_CLI_PRINT_PATH_H
#define HP_CLI_PRINT_PATH_H

#include "analysis/wait_states.h"
#include "command.h"
#include "view/path_report.h"

struct path_blame {
    struct wait_blame *rows; /* most time first */
    size_t count;
    const struct string_table *texts; /* of their names */
};

/* Parts of a long text are written on the way; the rest is left in `out`. */
void print_path_json(const struct path_report *report, const struct path_blame *blame, uint64_t top, struct text *out,
                     struct file_writer *writer);
void print_path_csv(const struct path_rows *rows, int64_t whole_ns, uint64_t top, struct text *out);
/* The table of who waited for whom. */
void print_path_blame(const struct trace *trace, const struct path_blame *blame, uint64_t top,
                      const struct text_look *look, struct text *out);

/* "composition", as critical-path and what-if have it. */
void json_composition(struct json *json, const struct path_rows *rows, int64_t whole_ns, uint64_t top);

#endif
