/* SPDX-License-Identifier: MIT */
/*
 * SQLite's side of a virtual table: which constraints it may hand down, and walking. What is handed down is "id = ?",
 * "track = ?" (frames: "stack = ?") and bounds of the time a table is sorted by: whole blocks are passed over, and SQLite
 * tests every row again, so that a bound only has to be right, not tight.
 */
#ifdef HP_HAVE_SQLITE

#include "sqlite_tables.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

struct query_vtab {
    sqlite3_vtab base;
    const struct query_table *table;
    const struct trace *trace;
    struct text *scratch;
};

struct query_binding {
    const struct query_table *table;
    const struct trace *trace;
    struct text *scratch;
};

static int vtab_connect(sqlite3 *db, void *context, int argc, const char *const *argv, sqlite3_vtab **ret_vtab, char **ret_error)
{
    const struct query_binding *binding = context;
    char *declaration = sqlite3_mprintf("CREATE TABLE t(%s)", binding->table->columns);
    int r = declaration ? sqlite3_declare_vtab(db, declaration) : SQLITE_NOMEM;
    sqlite3_free(declaration);
    struct query_vtab *vtab = r == SQLITE_OK ? sqlite3_malloc64(sizeof(*vtab)) : NULL;
    if (!vtab)
        return r == SQLITE_OK ? SQLITE_NOMEM : r;
    *vtab = (struct query_vtab){.table = binding->table, .trace = binding->trace, .scratch = binding->scratch};
    *ret_vtab = &vtab->base;
    return SQLITE_OK;
}

static int vtab_disconnect(sqlite3_vtab *vtab)
{
    sqlite3_free(vtab);
    return SQLITE_OK;
}

/* A letter for each constraint that is handed down, in the order of the arguments: i id, t track, and for times = < [ > ]. */
static char constraint_letter(const struct query_table *table, const struct sqlite3_index_constraint *constraint)
{
    bool equal = constraint->op == SQLITE_INDEX_CONSTRAINT_EQ;
    if (constraint->iColumn == table->id_column && table->id_column >= 0)
        return equal ? 'i' : 0;
    if (constraint->iColumn == table->track_column && table->track_column >= 0)
        return equal ? 't' : 0;
    if (constraint->iColumn != table->time_column || table->time_column < 0)
        return 0;
    switch (constraint->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
        return '=';
    case SQLITE_INDEX_CONSTRAINT_LT:
    case SQLITE_INDEX_CONSTRAINT_LE:
        return '<';
    case SQLITE_INDEX_CONSTRAINT_GT:
    case SQLITE_INDEX_CONSTRAINT_GE:
        return '>';
    }
    return 0;
}

static double table_rows(const struct query_vtab *vtab)
{
    uint32_t count;
    switch (vtab->table->walk) {
    case WALK_ROWS:
        return vtab->table->count(vtab->trace);
    case WALK_BLOCKS:
        return (double)trace_row_count(vtab->trace, vtab->table->family);
    case WALK_FRAMES:
        trace_stacks(vtab->trace, &count);
        return count * 20.0;
    }
    return 1;
}

static int vtab_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const struct query_vtab *vtab = (const struct query_vtab *)base;
    double rows = table_rows(vtab) + 1;
    char *letters = sqlite3_malloc(info->nConstraint + 1);
    int count = 0;
    if (!letters)
        return SQLITE_NOMEM;
    for (int i = 0; i < info->nConstraint; i++) {
        char letter = info->aConstraint[i].usable ? constraint_letter(vtab->table, &info->aConstraint[i]) : 0;
        if (!letter)
            continue;
        letters[count++] = letter;
        info->aConstraintUsage[i].argvIndex = count;
        rows = letter == 'i' ? (vtab->table->walk == WALK_FRAMES ? 20 : 1) : rows / (letter == 't' || letter == '=' ? 16 : 4);
        if (letter == 'i' && vtab->table->walk != WALK_FRAMES)
            info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
    }
    letters[count] = 0;
    info->idxStr = letters;
    info->needToFreeIdxStr = 1;
    info->estimatedRows = (sqlite3_int64)(rows < 1 ? 1 : rows);
    info->estimatedCost = rows < 1 ? 1 : rows;
    return SQLITE_OK;
}

static int vtab_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret_cursor)
{
    const struct query_vtab *vtab = (const struct query_vtab *)base;
    struct query_cursor *cursor = sqlite3_malloc64(sizeof(*cursor));
    if (!cursor)
        return SQLITE_NOMEM;
    memset(cursor, 0, sizeof(*cursor));
    cursor->table = vtab->table;
    cursor->trace = vtab->trace;
    cursor->scratch = vtab->scratch;
    cursor->ended = true;
    *ret_cursor = &cursor->base;
    return SQLITE_OK;
}

static void put_block(struct query_cursor *cursor)
{
    if (!cursor->held)
        return;
    cursor->held = false;
    switch (cursor->table->family) {
    case FAMILY_SPANS: trace_spans_put(cursor->trace, &cursor->data.spans); break;
    case FAMILY_SAMPLES: trace_samples_put(cursor->trace, &cursor->data.samples); break;
    case FAMILY_INSTANTS: trace_instants_put(cursor->trace, &cursor->data.instants); break;
    case FAMILY_COUNTERS: trace_counters_put(cursor->trace, &cursor->data.counters); break;
    case FAMILY_LINKS: trace_links_put(cursor->trace, &cursor->data.links); break;
    case FAMILY_MEMBERS: trace_members_put(cursor->trace, &cursor->data.members); break;
    case FAMILY_COUNT: break;
    }
}

static int get_block(struct query_cursor *cursor, struct error *err)
{
    switch (cursor->table->family) {
    case FAMILY_SPANS: return trace_spans_get(cursor->trace, cursor->block, &cursor->data.spans, err);
    case FAMILY_SAMPLES: return trace_samples_get(cursor->trace, cursor->block, &cursor->data.samples, err);
    case FAMILY_INSTANTS: return trace_instants_get(cursor->trace, cursor->block, &cursor->data.instants, err);
    case FAMILY_COUNTERS: return trace_counters_get(cursor->trace, cursor->block, &cursor->data.counters, err);
    case FAMILY_LINKS: return trace_links_get(cursor->trace, cursor->block, &cursor->data.links, err);
    case FAMILY_MEMBERS: return trace_members_get(cursor->trace, cursor->block, &cursor->data.members, err);
    case FAMILY_COUNT: break;
    }
    return -1;
}

static int vtab_close(sqlite3_vtab_cursor *base)
{
    put_block((struct query_cursor *)base);
    sqlite3_free(base);
    return SQLITE_OK;
}

/* The times of the block's rows, which ascend. */
static const int64_t *block_times(const struct query_cursor *cursor)
{
    switch (cursor->table->family) {
    case FAMILY_SPANS: return cursor->data.spans.begin_ns;
    case FAMILY_SAMPLES: return cursor->data.samples.time_ns;
    case FAMILY_INSTANTS: return cursor->data.instants.time_ns;
    case FAMILY_COUNTERS: return cursor->data.counters.time_ns;
    default: return NULL;
    }
}

/* Whether no row of the block can be wanted. Of spans only the begins are sorted: the next block of the track bounds them. */
static bool block_passed_over(const struct query_cursor *cursor, const struct block_info *info)
{
    if (cursor->track >= 0 && info->track.index != cursor->track)
        return true;
    if (cursor->id >= 0 && (cursor->id < info->first || cursor->id >= (int64_t)info->first + info->count))
        return true;
    if (cursor->table->time_column < 0)
        return false;
    if (info->begin_ns > cursor->most_ns)
        return true;
    if (cursor->table->family != FAMILY_SPANS)
        return info->end_ns < cursor->least_ns;
    if (cursor->block + 1 >= trace_block_count(cursor->trace, FAMILY_SPANS))
        return false;
    struct block_info next = trace_block_info(cursor->trace, FAMILY_SPANS, cursor->block + 1);
    return track_id_is(next.track, info->track) && next.run == info->run && next.begin_ns < cursor->least_ns;
}

/* Rows of the held block that can be wanted. */
static void bound_rows(struct query_cursor *cursor)
{
    const struct block_info *info = &cursor->data.info;
    const int64_t *times = block_times(cursor);
    cursor->row = 0;
    cursor->row_end = info->count;
    if (times && cursor->least_ns != INT64_MIN)
        cursor->row = array_count_below(times, info->count, cursor->least_ns);
    if (times && cursor->most_ns != INT64_MAX)
        cursor->row_end = array_count_below(times, info->count, cursor->most_ns + 1);
    if (cursor->id >= 0) {
        cursor->row = (uint32_t)(cursor->id - info->first);
        cursor->row_end = cursor->row + 1;
    }
}

/* Holds the block that the cursor stands on. A join asks for row after row of the same one: it is not read again. */
static int hold_block(struct query_cursor *cursor, struct error *err)
{
    if (cursor->held && cursor->held_block == cursor->block)
        return 0;
    put_block(cursor);
    int code = get_block(cursor, err);
    if (code < 0)
        return code;
    cursor->held = true;
    cursor->held_block = cursor->block;
    return 0;
}

static int next_block(struct query_cursor *cursor)
{
    for (; cursor->block < cursor->block_end; cursor->block++) {
        struct block_info info = trace_block_info(cursor->trace, cursor->table->family, cursor->block);
        if (block_passed_over(cursor, &info))
            continue;
        struct error err = ERROR_INIT;
        if (hold_block(cursor, &err) < 0) {
            sqlite3_free(cursor->base.pVtab->zErrMsg);
            cursor->base.pVtab->zErrMsg = sqlite3_mprintf("%s", err.text);
            return SQLITE_CORRUPT;
        }
        bound_rows(cursor);
        if (cursor->row < cursor->row_end) {
            cursor->block++;
            return SQLITE_OK;
        }
    }
    cursor->ended = true;
    return SQLITE_OK;
}

static void begin_stack(struct query_cursor *cursor)
{
    cursor->at = (stack_id){cursor->stack};
    cursor->depth = 0;
    cursor->ended = cursor->stack >= cursor->stack_end;
}

static int vtab_next(sqlite3_vtab_cursor *base)
{
    struct query_cursor *cursor = (struct query_cursor *)base;
    uint32_t count;
    const struct stack_node *stacks;
    switch (cursor->table->walk) {
    case WALK_ROWS:
        cursor->ended = ++cursor->row >= cursor->row_end;
        return SQLITE_OK;
    case WALK_BLOCKS:
        return ++cursor->row < cursor->row_end ? SQLITE_OK : next_block(cursor);
    case WALK_FRAMES:
        stacks = trace_stacks(cursor->trace, &count);
        cursor->at = stacks[cursor->at.index].parent;
        cursor->depth++;
        if (cursor->at.index >= count || cursor->depth > count) { /* a damaged table may loop */
            cursor->stack++;
            begin_stack(cursor);
        }
        return SQLITE_OK;
    }
    return SQLITE_INTERNAL;
}

/* Values that are no integers are left to SQLite's own test, but NULL: nothing equals it, nor is less or more. */
static void take_constraint(struct query_cursor *cursor, char letter, sqlite3_value *value)
{
    if (sqlite3_value_type(value) != SQLITE_INTEGER)
        return;
    int64_t number = sqlite3_value_int64(value);
    bool none = number < 0 || number > UINT32_MAX;
    switch (letter) {
    case 'i':
        cursor->id = none ? INT64_C(1) << 40 : number;
        break;
    case 't':
        cursor->track = none ? INT64_C(1) << 40 : number;
        break;
    case '=':
        cursor->least_ns = number > cursor->least_ns ? number : cursor->least_ns;
        cursor->most_ns = number < cursor->most_ns ? number : cursor->most_ns;
        break;
    case '<':
        cursor->most_ns = number < cursor->most_ns ? number : cursor->most_ns;
        break;
    case '>':
        cursor->least_ns = number > cursor->least_ns ? number : cursor->least_ns;
        break;
    }
}

static int vtab_filter(sqlite3_vtab_cursor *base, int number, const char *letters, int argc, sqlite3_value **argv)
{
    struct query_cursor *cursor = (struct query_cursor *)base;
    uint32_t count;
    cursor->track = cursor->id = -1;
    cursor->least_ns = INT64_MIN;
    cursor->most_ns = INT64_MAX;
    cursor->ended = false;
    for (int i = 0; i < argc; i++) {
        take_constraint(cursor, letters[i], argv[i]);
        cursor->ended |= sqlite3_value_type(argv[i]) == SQLITE_NULL;
    }
    if (cursor->ended) /* such as each span without a parent in a join by it */
        return SQLITE_OK;
    switch (cursor->table->walk) {
    case WALK_ROWS:
        count = cursor->table->count(cursor->trace);
        cursor->row = cursor->id >= 0 && cursor->id < count ? (uint32_t)cursor->id : 0;
        cursor->row_end = cursor->id < 0 ? count : cursor->id < count ? cursor->row + 1 : 0;
        cursor->ended = cursor->row >= cursor->row_end;
        return SQLITE_OK;
    case WALK_BLOCKS:
        cursor->block = 0;
        cursor->block_end = trace_block_count(cursor->trace, cursor->table->family);
        return next_block(cursor);
    case WALK_FRAMES:
        trace_stacks(cursor->trace, &count);
        cursor->stack = cursor->id >= 0 && cursor->id < count ? (uint32_t)cursor->id : 0;
        cursor->stack_end = cursor->id < 0 ? count : cursor->id < count ? cursor->stack + 1 : 0;
        begin_stack(cursor);
        return SQLITE_OK;
    }
    return SQLITE_INTERNAL;
}

static int vtab_eof(sqlite3_vtab_cursor *base)
{
    return ((const struct query_cursor *)base)->ended;
}

static int vtab_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    const struct query_cursor *cursor = (const struct query_cursor *)base;
    cursor->table->column(cursor, result, column);
    return SQLITE_OK;
}

static int vtab_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret_rowid)
{
    const struct query_cursor *cursor = (const struct query_cursor *)base;
    switch (cursor->table->walk) {
    case WALK_ROWS:
        *ret_rowid = cursor->row;
        break;
    case WALK_BLOCKS:
        *ret_rowid = (sqlite3_int64)cursor->block << 32 | cursor->row;
        break;
    case WALK_FRAMES:
        *ret_rowid = (sqlite3_int64)cursor->stack << 32 | cursor->depth;
        break;
    }
    return SQLITE_OK;
}

/* No xCreate: the tables are simply there, under their names, in every schema. */
static const sqlite3_module module = {
    .iVersion = 1,
    .xConnect = vtab_connect,
    .xBestIndex = vtab_best_index,
    .xDisconnect = vtab_disconnect,
    .xDestroy = vtab_disconnect,
    .xOpen = vtab_open,
    .xClose = vtab_close,
    .xFilter = vtab_filter,
    .xNext = vtab_next,
    .xEof = vtab_eof,
    .xColumn = vtab_column,
    .xRowid = vtab_rowid,
};

int query_tables_register(sqlite3 *db, const struct trace *trace, struct text *scratch)
{
    for (unsigned i = 0; i < query_table_count; i++) {
        struct query_binding *binding = malloc(sizeof(*binding));
        if (!binding)
            return SQLITE_NOMEM;
        *binding = (struct query_binding){.table = &query_tables[i], .trace = trace, .scratch = scratch};
        int r = sqlite3_create_module_v2(db, query_tables[i].name, &module, binding, free);
        if (r != SQLITE_OK)
            return r;
    }
    return SQLITE_OK;
}

#endif
