/* SPDX-License-Identifier: MIT */
/* `query`: SQL over a trace. Rows are printed as they come: a result may be larger than memory. */
#include "commands.h"

#include "base/file.h"
#include "formats/format.h"
#include "formats/sqlite_query.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define BATCH_ROWS 5000 /* of a text table: columns are as wide as the rows of one batch need */

static const struct option_spec options[] = {OPTION_FORMAT, OPTION_HELP, OPTION_END};

struct printer {
    const struct invocation *invocation;
    struct text text;
    unsigned count;
    char **names;
    uint64_t rows;
    struct table *table; /* text: the batch being collected */
    struct table_column *columns;
    unsigned batch_rows;
    bool header_shown;
};

static void printer_finish(struct printer *printer)
{
    table_destroy(printer->table);
    text_finish(&printer->text);
    for (unsigned i = 0; printer->names && i < printer->count; i++)
        free(printer->names[i]);
    free(printer->names);
    free(printer->columns);
}

/* Hands over what has gathered; -EPIPE and the like end the query early. */
static int flush(struct printer *printer)
{
    if (printer->text.failed)
        return -ENOMEM;
    if (printer->text.length)
        file_write(printer->invocation->out, printer->text.data, printer->text.length);
    text_clear(&printer->text);
    return file_writer_failed(printer->invocation->out) ? -EIO : 0;
}

static void add_blob(struct text *out, const struct query_value *value)
{
    for (size_t i = 0; i < value->size; i++)
        text_addf(out, "%02x", (unsigned char)value->text[i]);
}

/* The shortest of two forms that reads back as the same number. */
static void add_real(struct text *out, double real)
{
    char text[40];
    snprintf(text, sizeof text, "%.15g", real);
    if (strtod(text, NULL) != real)
        snprintf(text, sizeof text, "%.17g", real);
    text_add_string(out, text);
}

static void add_plain(struct text *out, const struct query_value *value)
{
    if (value->type == QUERY_INTEGER)
        text_addf(out, "%" PRId64, value->integer);
    else if (value->type == QUERY_REAL)
        add_real(out, value->real);
    else if (value->type == QUERY_TEXT)
        text_add(out, value->text, value->size);
    else if (value->type == QUERY_BLOB)
        add_blob(out, value);
}

/* --- json and csv --------------------------------------------------------------------------------------------------
 */

static void add_json(struct text *out, const struct query_value *value)
{
    bool finite = value->type != QUERY_REAL || isfinite(value->real);
    if (value->type == QUERY_NULL || !finite) {
        text_add_string(out, "null");
    } else if (value->type == QUERY_TEXT || value->type == QUERY_BLOB) {
        text_add_char(out, '"');
        if (value->type == QUERY_TEXT)
            text_add_json(out, value->text, value->size);
        else
            add_blob(out, value);
        text_add_char(out, '"');
    } else {
        add_plain(out, value);
    }
}

static void add_json_row(struct printer *printer, const struct query_value *values)
{
    text_add_string(&printer->text, printer->rows ? ",\n{" : "\n{");
    for (unsigned i = 0; i < printer->count; i++) {
        text_add_string(&printer->text, i ? ",\"" : "\"");
        text_add_json(&printer->text, printer->names[i], strlen(printer->names[i]));
        text_add_string(&printer->text, "\":");
        add_json(&printer->text, &values[i]);
    }
    text_add_char(&printer->text, '}');
}

static void add_csv_row(struct printer *printer, const struct query_value *values)
{
    for (unsigned i = 0; i < printer->count; i++) {
        if (i)
            text_add_char(&printer->text, ',');
        if (values[i].type == QUERY_TEXT)
            text_add_csv(&printer->text, values[i].text, values[i].size);
        else
            add_plain(&printer->text, &values[i]);
    }
    text_add_char(&printer->text, '\n');
}

/* --- text ----------------------------------------------------------------------------------------------------------
 */

static int draw_batch(struct printer *printer)
{
    if (!printer->table)
        return 0;
    table_draw(printer->table, &printer->invocation->look, 0, &printer->text);
    table_destroy(printer->table);
    printer->table = NULL;
    printer->header_shown = true;
    return flush(printer);
}

static int begin_batch(struct printer *printer, const struct query_value *values)
{
    for (unsigned i = 0; i < printer->count; i++) {
        bool number = values && (values[i].type == QUERY_INTEGER || values[i].type == QUERY_REAL);
        printer->columns[i] = (struct table_column){
            .title = printer->header_shown ? NULL : printer->names[i],
            .align = number ? ALIGN_RIGHT : ALIGN_LEFT,
            .shrink = number ? SHRINK_NEVER : SHRINK_MIDDLE,
            .minimum = 12,
        };
    }
    printer->batch_rows = 0;
    return table_create(printer->columns, printer->count, &printer->table);
}

static int add_text_row(struct printer *printer, const struct query_value *values)
{
    int result = 0;
    if (!printer->table)
        result = begin_batch(printer, values);
    if (result < 0)
        return result;
    table_row(printer->table);
    for (unsigned i = 0; i < printer->count; i++) {
        struct text cell = TEXT_INIT;
        add_plain(&cell, &values[i]);
        table_cell(printer->table, cell.data ? cell.data : "");
        text_finish(&cell);
    }
    return ++printer->batch_rows < BATCH_ROWS ? 0 : draw_batch(printer);
}

/* --- the query's output --------------------------------------------------------------------------------------------
 */

static int take_columns(void *context, const char *const *names, unsigned count)
{
    struct printer *printer = context;
    printer->names = calloc((size_t)count + 1, sizeof *printer->names);
    printer->columns = calloc((size_t)count + 1, sizeof *printer->columns);
    if (!printer->names || !printer->columns)
        return -ENOMEM;
    printer->count = count;
    for (unsigned i = 0; i < count; i++) {
        printer->names[i] = strdup(names[i]);
        if (!printer->names[i])
            return -ENOMEM;
        if (printer->invocation->format != OUTPUT_CSV)
            continue;
        text_add_string(&printer->text, i ? "," : "");
        text_add_csv(&printer->text, names[i], strlen(names[i]));
    }
    if (printer->invocation->format == OUTPUT_CSV)
        text_add_char(&printer->text, '\n');
    if (printer->invocation->format == OUTPUT_JSON)
        text_add_char(&printer->text, '[');
    return 0;
}

static int take_row(void *context, const struct query_value *values, unsigned count)
{
    struct printer *printer = context;
    int result = 0;
    (void)count;
    if (printer->invocation->format == OUTPUT_JSON)
        add_json_row(printer, values);
    else if (printer->invocation->format == OUTPUT_CSV)
        add_csv_row(printer, values);
    else
        result = add_text_row(printer, values);
    printer->rows++;
    if (result == 0 && printer->text.length > 65536)
        result = flush(printer);
    return result;
}

static int print_end(struct printer *printer)
{
    if (printer->invocation->format == OUTPUT_JSON)
        text_add_string(&printer->text, printer->rows ? "\n]\n" : "]\n");
    if (printer->invocation->format == OUTPUT_TEXT && !printer->rows && begin_batch(printer, NULL) < 0)
        return -ENOMEM;
    int result = draw_batch(printer);
    return result < 0 ? result : flush(printer);
}

static int query(const void *values, const struct invocation *invocation, struct error *err)
{
    (void)values;
    CLEANUP(trace_unrefp) struct trace *trace = NULL;
    int result = trace_open(invocation->operands[0], invocation->progress, invocation->log, &trace, err);
    if (result < 0)
        return result;
    output_progress_clear();
    struct printer printer = {.invocation = invocation};
    struct query_output output = {.columns = take_columns, .row = take_row, .context = &printer};
    result = query_run(trace, invocation->operands[1], &output, err);
    if (result == 0)
        result = print_end(&printer);
    bool output_failed = file_writer_failed(invocation->out);
    printer_finish(&printer);
    if (output_failed)
        return 0; /* the dispatcher says why */
    return result < 0 && err->code == 0 ? error_set_errno(err, result, "cannot print the result") : result;
}

static void details(struct text *out)
{
    if (!query_table_summary(0)) {
        text_add_string(out,
                        "This hprofiler was built without SQLite, so that query is off: install libsqlite3-dev and "
                        "build again.\n");
        return;
    }
    const struct text_look look = {.width = 78};
    text_add_string(out, "Tables:\n");
    for (unsigned i = 0; query_table_summary(i); i++) {
        text_add_string(out, "  ");
        text_add_wrapped(out, &look, 2, 6, query_table_summary(i));
    }
}

static const char *const operands[] = {"TRACE", "SQL", NULL};

const struct command command_query = {
    .name = "query",
    .summary = "ask a trace in SQL",
    .usage = "TRACE 'SQL' [options]",
    .description =
        "Runs one SELECT over the trace's columns, which are tables of SQLite; nothing is copied into a database. "
        "Times "
        "are integer nanoseconds since the trace's start. Rows are printed as they come; json is an array of objects.",
    .examples =
        "hprofiler query app.hpt 'select name, sum(end_ns - begin_ns) from spans group by name order by 2 desc'\n"
        "    total time of each name\n"
        "hprofiler query app.hpt 'select key, value from metadata'\n    what the recording says of itself\n",
    .details = details,
    .options = options,
    .values_size = sizeof(struct common_values),
    .minimum_operands = 2,
    .maximum_operands = 2,
    .operand_names = operands,
    .operand_hint = HINT_TRACE,
    .run = query,
};
