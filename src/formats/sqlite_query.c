/* SPDX-License-Identifier: MIT */
/* One statement, from its text to its rows. */
#include "sqlite_query.h"

#include "base/error.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#ifndef HP_HAVE_SQLITE

int query_run(const struct trace *trace, const char *sql, const struct query_output *output, struct error *err)
{
    return error_set(err, -EOPNOTSUPP, "query: this hprofiler was built without SQLite: install libsqlite3-dev and build again");
}

const char *query_table_summary(unsigned index)
{
    return NULL;
}

#else

#include "sqlite_tables.h"

/* A trace is read and nothing else: no writing, no other files, no settings, no code from outside. */
static int authorize(void *context, int action, const char *first, const char *second, const char *schema, const char *trigger)
{
    bool *refused = context;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        if (second && strcmp(second, "load_extension") != 0 && strcmp(second, "fts3_tokenizer") != 0)
            return SQLITE_OK;
        break;
    case SQLITE_PRAGMA:
        if (first && (strcmp(first, "table_info") == 0 || strcmp(first, "table_list") == 0))
            return SQLITE_OK;
        break;
    }
    *refused = true;
    return SQLITE_DENY;
}

/*
 * A virtual table declares itself when a statement first names it, which is an update of the schema for the authorizer: so
 * each is named once before that is on, SQLite's own table functions as well.
 */
static int open_table(sqlite3 *db, const char *name)
{
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", name);
    int r = sql ? sqlite3_prepare_v2(db, sql, -1, &statement, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    sqlite3_finalize(statement);
    return r;
}

static int open_tables(sqlite3 *db)
{
    static const char *const functions[] = {"json_each", "json_tree", "pragma_table_info", "pragma_table_list"};
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        (void)open_table(db, functions[i]); /* not in every SQLite */
    for (unsigned i = 0; i < query_table_count; i++) {
        int r = open_table(db, query_tables[i].name);
        if (r != SQLITE_OK)
            return r;
    }
    return SQLITE_OK;
}

static int deliver_columns(sqlite3_stmt *statement, const struct query_output *output)
{
    unsigned count = (unsigned)sqlite3_column_count(statement);
    const char **names = malloc((count + 1) * sizeof(*names));
    if (!names)
        return -ENOMEM;
    for (unsigned i = 0; i < count; i++)
        names[i] = sqlite3_column_name(statement, (int)i);
    int r = output->columns(output->context, names, count);
    free(names);
    return r;
}

static void take_value(sqlite3_stmt *statement, int column, struct query_value *value)
{
    *value = (struct query_value){.type = QUERY_NULL};
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        value->type = QUERY_INTEGER;
        value->integer = sqlite3_column_int64(statement, column);
        break;
    case SQLITE_FLOAT:
        value->type = QUERY_REAL;
        value->real = sqlite3_column_double(statement, column);
        break;
    case SQLITE_TEXT:
        value->type = QUERY_TEXT;
        value->text = (const char *)sqlite3_column_text(statement, column);
        value->size = (size_t)sqlite3_column_bytes(statement, column);
        break;
    case SQLITE_BLOB:
        value->type = QUERY_BLOB;
        value->text = sqlite3_column_blob(statement, column);
        value->size = (size_t)sqlite3_column_bytes(statement, column);
        break;
    }
}

static int deliver_rows(sqlite3 *db, sqlite3_stmt *statement, const struct query_output *output, struct error *err)
{
    unsigned count = (unsigned)sqlite3_column_count(statement);
    struct query_value *values = calloc(count + 1, sizeof(*values));
    if (!values)
        return error_set(err, -ENOMEM, "query: out of memory");
    int r = 0, step;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW && r >= 0) {
        for (unsigned i = 0; i < count; i++)
            take_value(statement, (int)i, &values[i]);
        r = output->row(output->context, values, count);
        if (r < 0)
            break;
    }
    free(values);
    if (r < 0)
        return error_set_errno(err, r, "query: cannot hand on the rows");
    if (step != SQLITE_DONE)
        return error_set(err, step == SQLITE_CORRUPT ? -EBADMSG : -EINVAL, "query: %s", sqlite3_errmsg(db));
    return 0;
}

static int statement_error(sqlite3 *db, const char *sql, bool refused, struct error *err)
{
    int offset = sqlite3_error_offset(db);
    if (refused)
        return error_set(err, -EPERM, "query: only SELECT is possible: a trace is read and never changed");
    if (offset >= 0)
        return error_set(err, -EINVAL, "query: %s (at character %d: \"%.40s\")", sqlite3_errmsg(db), offset + 1, sql + offset);
    return error_set(err, -EINVAL, "query: %s", sqlite3_errmsg(db));
}

static int run_statement(sqlite3 *db, const char *sql, const bool *refused, const struct query_output *output, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &statement, &rest) != SQLITE_OK)
        return statement_error(db, sql, *refused, err);
    int r;
    if (!statement)
        r = error_set(err, -EINVAL, "query: there is no statement");
    else if (rest[strspn(rest, " \t\r\n;")])
        r = error_set(err, -EINVAL, "query: one statement at a time; behind the first there is \"%.40s\"", rest);
    else if ((r = deliver_columns(statement, output)) < 0)
        r = error_set_errno(err, r, "query: cannot hand on the columns");
    else
        r = deliver_rows(db, statement, output, err);
    sqlite3_finalize(statement);
    return r;
}

int query_run(const struct trace *trace, const char *sql, const struct query_output *output, struct error *err)
{
    sqlite3 *db = NULL;
    struct text scratch = TEXT_INIT;
    bool refused = false;
    int r = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (r == SQLITE_OK)
        r = query_tables_register(db, trace, &scratch);
    if (r == SQLITE_OK)
        r = open_tables(db);
    if (r != SQLITE_OK) {
        error_set(err, -ENOMEM, "query: SQLite does not start: %s", db ? sqlite3_errmsg(db) : "out of memory");
        r = -ENOMEM;
    } else {
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
        sqlite3_set_authorizer(db, authorize, &refused);
        r = run_statement(db, sql, &refused, output, err);
    }
    sqlite3_close_v2(db);
    text_finish(&scratch);
    return r;
}

const char *query_table_summary(unsigned index)
{
    static const char *const summaries[] = {
        "tracks(id, kind, name, node, rank, pid, tid, device, stream, process)",
        "spans(id, track, begin_ns, end_ns, name, category, parent, correlation, kind, args, stack)",
        "samples(track, time_ns, stack, weight, cpu, event, flags)",
        "frames(stack, depth, name, module, file, line, inlined)",
        "counters(track, time_ns, name, value, unit)",
        "links(kind, from_span, to_span, confidence)",
        "ledger(source, seen, recorded, lost, reason)",
        "metadata(key, value)",
        "instants(track, time_ns, name, category, args)",
        ("processes(id, node, pid, start_ns, parent, generation, command, exit_status, clock_domain, attached, reason, end_ns, "
         "executable, rank)"),
        "groups(id, kind, name, sequence)",
        "members(\"group\", span, rank)",
    };
    return index < sizeof(summaries) / sizeof(summaries[0]) ? summaries[index] : NULL;
}

#endif
