/* SPDX-License-Identifier: MIT */
/* What commands print with: the look of a terminal, JSON and CSV that are a contract, warnings and progress on stderr.
 */
#ifndef HP_CLI_OUTPUT_H
#define HP_CLI_OUTPUT_H

#include "base/text.h"
#include "view/table.h"

#include <stdbool.h>
#include <stdint.h>

struct file_writer;
struct log;
struct progress;

enum output_format { OUTPUT_TEXT, OUTPUT_CSV, OUTPUT_JSON };

/* Width, colours and character set of a descriptor: NO_COLOR, TERM=dumb, COLUMNS and the locale are heeded. */
struct text_look output_look(int fd);
/* Writes a text and frees it; -ENOMEM when it had failed. */
int output_text(struct file_writer *out, struct text *text, struct error *err);

/* JSON into a text: commas and quoting are taken care of. Depth at most 16. */
struct json {
    struct text *out;
    unsigned depth;
    bool filled[16]; /* something stands in the container already */
};
void json_open(struct json *json, const char *key, char bracket); /* '{' or '['; key NULL in arrays and at the top */
void json_close(struct json *json, char bracket);                 /* '}' or ']' */
void json_string(struct json *json, const char *key, const char *value); /* NULL or "" becomes null */
void json_text(struct json *json, const char *key, const char *value);   /* as it is; NULL becomes null */
void json_i64(struct json *json, const char *key, int64_t value);
void json_u64(struct json *json, const char *key, uint64_t value);
void json_double(struct json *json, const char *key, double value, unsigned decimals); /* not finite: null */
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);

/* A CSV line: fields are separated, the line is ended by csv_end. */
struct csv {
    struct text *out;
    bool filled;
};
void csv_text(struct csv *csv, const char *value); /* NULL becomes empty */
void csv_i64(struct csv *csv, int64_t value);
void csv_u64(struct csv *csv, uint64_t value);
void csv_double(struct csv *csv, double value, unsigned decimals);
void csv_empty(struct csv *csv);
void csv_end(struct csv *csv);

/* Warnings and news on stderr, "hprofiler: " in front, above a progress bar if one is shown. */
const struct log *output_log(void);
/* A bar on stderr, only if that is a terminal and only once something has taken over a second. */
const struct progress *output_progress(void);
void output_progress_clear(void);
/* While something else has the screen: lines wait (the newest few thousand characters of them), and no bar is drawn. */
void output_hold(bool hold);

#endif
