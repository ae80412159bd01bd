/* SPDX-License-Identifier: MIT */
/* The virtual tables, for sqlite_*.c only. */
#ifndef HP_FORMATS_SQLITE_TABLES_H
#define HP_FORMATS_SQLITE_TABLES_H

#include "base/error.h"
#include "base/text.h"
#include "trace/trace.h"

#include <sqlite3.h>

/* How a table is walked. */
enum query_walk {
    WALK_ROWS,   /* a small table: rows 0..count-1 */
    WALK_BLOCKS, /* a family's blocks */
    WALK_FRAMES, /* for each stack, its frames */
};

struct query_cursor;
struct query_table {
    const char *name;
    const char *columns;             /* as in a CREATE TABLE */
    enum query_walk walk;
    enum family family;              /* WALK_BLOCKS */
    int id_column, track_column, time_column; /* that constraints are pushed down for; -1 = none. WALK_FRAMES: id is the stack */
    uint32_t (*count)(const struct trace *trace); /* WALK_ROWS */
    void (*column)(const struct query_cursor *cursor, sqlite3_context *result, int column);
};
extern const struct query_table query_tables[];
extern const unsigned query_table_count;

union query_block {
    struct block_info info; /* the first member of each */
    struct span_block spans;
    struct sample_block samples;
    struct instant_block instants;
    struct counter_block counters;
    struct link_block links;
    struct member_block members;
};

struct query_cursor {
    sqlite3_vtab_cursor base;
    const struct query_table *table;
    const struct trace *trace;
    struct text *scratch;            /* of the query, for args */
    uint32_t row, row_end;           /* WALK_ROWS: of the table; WALK_BLOCKS: in the block */
    uint32_t block, block_end;
    bool held;                       /* `data` is block `held_block` and must be put back */
    uint32_t held_block;
    union query_block data;
    uint32_t stack, stack_end;       /* WALK_FRAMES */
    stack_id at;                     /* the node whose frame is the row */
    uint32_t depth;
    bool ended;
    int64_t track;                   /* only this one; -1 = all */
    int64_t id;                      /* only this one; -1 = all */
    int64_t least_ns, most_ns;
};

/* Registers all tables with the connection; they live until it is closed. */
int query_tables_register(sqlite3 *db, const struct trace *trace, struct text *scratch);

#endif
