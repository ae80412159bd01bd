/* SPDX-License-Identifier: MIT */
/*
 * SQL over a trace: its columns are SQLite virtual tables, read where they are, nothing is copied. Tables: tracks spans
 * samples frames counters links ledger metadata instants processes groups members (docs/formats/query.md).
 */
#ifndef HP_FORMATS_SQLITE_QUERY_H
#define HP_FORMATS_SQLITE_QUERY_H

#include "trace/trace.h"

struct error;

struct query_value {
    enum query_type { QUERY_NULL, QUERY_INTEGER, QUERY_REAL, QUERY_TEXT, QUERY_BLOB } type;
    int64_t integer;
    double real;
    const char *text; /* TEXT and BLOB: size bytes, NUL behind; valid during the call */
    size_t size;
};

/* Called with the column names once, also when there are no rows, then for each row. Negative: stop, and query_run returns it. */
struct query_output {
    int (*columns)(void *context, const char *const *names, unsigned count);
    int (*row)(void *context, const struct query_value *values, unsigned count);
    void *context;
};

/* One SELECT statement. -EINVAL with SQLite's message and place for a wrong one, -EPERM for one that would write or open
 * files; -EOPNOTSUPP when built without SQLite. */
int query_run(const struct trace *trace, const char *sql, const struct query_output *output, struct error *err);

/* For help texts: the i-th table's name and column list, "spans(id, track, ...)"; NULL behind the last. */
const char *query_table_summary(unsigned index);

#endif
