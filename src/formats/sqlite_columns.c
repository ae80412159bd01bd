/* SPDX-License-Identifier: MIT */
/* The tables and the value of each of their columns. Absent is NULL. */
#ifdef HP_HAVE_SQLITE

#include "payload_json.h"
#include "sqlite_tables.h"

#include <string.h>

static void text_column(sqlite3_context *result, const char *text)
{
    if (text)
        sqlite3_result_text64(result, text, strlen(text), SQLITE_STATIC, SQLITE_UTF8); /* the trace outlives the query */
}

/* Strings of the model: absent is NULL. */
static void id_column(const struct query_cursor *cursor, sqlite3_context *result, string_id id)
{
    if (id.index)
        sqlite3_result_text64(result, trace_text(cursor->trace, id), string_table_length(trace_strings(cursor->trace), id),
                              SQLITE_STATIC, SQLITE_UTF8);
}

static void integer_column(sqlite3_context *result, int64_t value, int64_t absent)
{
    if (value != absent)
        sqlite3_result_int64(result, value);
}

/* SQLite's integers are signed: what does not fit comes as text. */
static void unsigned_column(sqlite3_context *result, uint64_t value)
{
    char number[24];
    if (value <= INT64_MAX)
        sqlite3_result_int64(result, (int64_t)value);
    else
        sqlite3_result_text(result, sqlite3_snprintf(sizeof(number), number, "%llu", (unsigned long long)value), -1, SQLITE_TRANSIENT);
}

static void args_column(const struct query_cursor *cursor, sqlite3_context *result, int failed, const struct payload *payload)
{
    if (failed < 0) {
        sqlite3_result_error(result, "damaged payload in the trace", -1);
        return;
    }
    text_clear(cursor->scratch);
    payload_add_json(cursor->scratch, cursor->trace, payload);
    if (cursor->scratch->failed)
        sqlite3_result_error_nomem(result);
    else if (cursor->scratch->length)
        sqlite3_result_text64(result, cursor->scratch->data, cursor->scratch->length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static const struct trace_process *process_of(const struct query_cursor *cursor, process_id id)
{
    uint32_t count;
    const struct trace_process *processes = trace_processes(cursor->trace, &count);
    return id.index < count ? &processes[id.index] : NULL;
}

static const struct trace_node *node_of(const struct query_cursor *cursor, const struct trace_process *process)
{
    uint32_t count;
    const struct trace_node *nodes = trace_nodes(cursor->trace, &count);
    return process && process->node.index < count ? &nodes[process->node.index] : NULL;
}

static uint32_t track_count(const struct trace *trace)
{
    uint32_t count;
    trace_tracks(trace, &count);
    return count;
}

static void track_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    uint32_t count;
    const struct trace_track *track = &trace_tracks(cursor->trace, &count)[cursor->row];
    const struct trace_process *process = process_of(cursor, track->process);
    const struct trace_node *node = node_of(cursor, process);
    switch (column) {
    case 0: sqlite3_result_int64(result, cursor->row); break;
    case 1: text_column(result, track_kind_name(track->kind)); break;
    case 2: id_column(cursor, result, track->name); break;
    case 3: id_column(cursor, result, node ? node->name : STRING_NONE); break;
    case 4: integer_column(result, process ? process->rank : -1, -1); break;
    case 5: integer_column(result, process ? process->pid : -1, -1); break;
    case 6: integer_column(result, track->tid, -1); break;
    case 7: integer_column(result, track->device, -1); break;
    case 8: integer_column(result, track->stream, -1); break;
    case 9: integer_column(result, track->process.index, ID_NONE); break;
    }
}

static void span_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const struct span_block *block = &cursor->data.spans;
    uint32_t row = cursor->row;
    struct payload payload;
    switch (column) {
    case 0: sqlite3_result_int64(result, (int64_t)block->info.first + row); break;
    case 1: sqlite3_result_int64(result, block->info.track.index); break;
    case 2: sqlite3_result_int64(result, block->begin_ns[row]); break;
    case 3: integer_column(result, block->end_ns[row], INT64_MIN); break;
    case 4: id_column(cursor, result, block->name ? block->name[row] : STRING_NONE); break;
    case 5: id_column(cursor, result, block->category ? block->category[row] : STRING_NONE); break;
    case 6: integer_column(result, block->parent ? block->parent[row].index : ID_NONE, ID_NONE); break;
    case 7:
        if (block->correlation && block->correlation[row])
            unsigned_column(result, block->correlation[row]);
        break;
    case 8: text_column(result, span_kind_name(block->kind ? block->kind[row] : SPAN_KIND_UNKNOWN)); break;
    case 9: args_column(cursor, result, span_payload(block, row, &payload), &payload); break;
    case 10: integer_column(result, block->stack ? block->stack[row].index : ID_NONE, ID_NONE); break;
    }
}

static void sample_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const struct sample_block *block = &cursor->data.samples;
    uint32_t row = cursor->row;
    switch (column) {
    case 0: sqlite3_result_int64(result, block->info.track.index); break;
    case 1: sqlite3_result_int64(result, block->time_ns[row]); break;
    case 2: integer_column(result, block->stack ? block->stack[row].index : ID_NONE, ID_NONE); break;
    case 3: sqlite3_result_int64(result, block->weight ? block->weight[row] : 0); break;
    case 4: integer_column(result, block->cpu ? block->cpu[row] : UINT16_MAX, UINT16_MAX); break;
    case 5: text_column(result, sample_event_name(block->event ? block->event[row] : 0)); break;
    case 6: sqlite3_result_int64(result, block->flags ? block->flags[row] : 0); break;
    }
}

static void frame_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    uint32_t stack_count, frame_count, module_count;
    const struct stack_node *stacks = trace_stacks(cursor->trace, &stack_count);
    const struct trace_frame *frames = trace_frames(cursor->trace, &frame_count);
    const struct trace_module *modules = trace_modules(cursor->trace, &module_count);
    frame_id id = stacks[cursor->at.index].frame;
    static const struct trace_frame unknown = {.module = {ID_NONE}};
    const struct trace_frame *frame = id.index < frame_count ? &frames[id.index] : &unknown;
    switch (column) {
    case 0: sqlite3_result_int64(result, cursor->stack); break;
    case 1: sqlite3_result_int64(result, cursor->depth); break;
    case 2: id_column(cursor, result, frame->function); break;
    case 3:
        if (frame->module.index < module_count)
            id_column(cursor, result, modules[frame->module.index].path);
        break;
    case 4: id_column(cursor, result, frame->file); break;
    case 5: integer_column(result, frame->line, 0); break;
    case 6: sqlite3_result_int64(result, frame->flags & FRAME_INLINED ? 1 : 0); break;
    }
}

static void counter_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const struct counter_block *block = &cursor->data.counters;
    uint32_t count;
    const struct trace_track *tracks = trace_tracks(cursor->trace, &count);
    const struct trace_track *track = block->info.track.index < count ? &tracks[block->info.track.index] : NULL;
    switch (column) {
    case 0: sqlite3_result_int64(result, block->info.track.index); break;
    case 1: sqlite3_result_int64(result, block->time_ns[cursor->row]); break;
    case 2: id_column(cursor, result, track ? track->name : STRING_NONE); break;
    case 3: sqlite3_result_double(result, block->value[cursor->row]); break;
    case 4: id_column(cursor, result, track ? track->unit : STRING_NONE); break;
    }
}

static void link_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const struct link_block *block = &cursor->data.links;
    switch (column) {
    case 0: text_column(result, link_kind_name(block->kind ? block->kind[cursor->row] : 0)); break;
    case 1: sqlite3_result_int64(result, block->from[cursor->row].index); break;
    case 2: sqlite3_result_int64(result, block->to[cursor->row].index); break;
    case 3: text_column(result, confidence_name(block->confidence ? block->confidence[cursor->row] : 0)); break;
    }
}

static uint32_t ledger_count(const struct trace *trace)
{
    uint32_t count;
    trace_ledger(trace, &count);
    return count;
}

static void ledger_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    uint32_t count;
    const struct ledger_entry *entry = &trace_ledger(cursor->trace, &count)[cursor->row];
    switch (column) {
    case 0: id_column(cursor, result, entry->source); break;
    case 1: unsigned_column(result, entry->seen); break;
    case 2: unsigned_column(result, entry->recorded); break;
    case 3: unsigned_column(result, entry->lost); break;
    case 4: id_column(cursor, result, entry->reason); break;
    }
}

static void metadata_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const char *key, *value;
    trace_metadata_at(cursor->trace, cursor->row, &key, &value);
    text_column(result, column ? value : key);
}

static void instant_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const struct instant_block *block = &cursor->data.instants;
    uint32_t row = cursor->row;
    struct payload payload;
    switch (column) {
    case 0: sqlite3_result_int64(result, block->info.track.index); break;
    case 1: sqlite3_result_int64(result, block->time_ns[row]); break;
    case 2: id_column(cursor, result, block->name ? block->name[row] : STRING_NONE); break;
    case 3: id_column(cursor, result, block->category ? block->category[row] : STRING_NONE); break;
    case 4: args_column(cursor, result, instant_payload(block, row, &payload), &payload); break;
    }
}

static uint32_t process_count(const struct trace *trace)
{
    uint32_t count;
    trace_processes(trace, &count);
    return count;
}

static void process_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const struct trace_process *process = process_of(cursor, (process_id){cursor->row});
    const struct trace_node *node = node_of(cursor, process);
    switch (column) {
    case 0: sqlite3_result_int64(result, cursor->row); break;
    case 1: id_column(cursor, result, node ? node->name : STRING_NONE); break;
    case 2: integer_column(result, process->pid, -1); break;
    case 3: integer_column(result, process->start_ns, INT64_MIN); break;
    case 4: integer_column(result, process->parent.index, ID_NONE); break;
    case 5: sqlite3_result_int64(result, process->generation); break;
    case 6: id_column(cursor, result, process->command); break;
    case 7: integer_column(result, wait_exit_status(process->exit_status), -1); break;
    case 8: id_column(cursor, result, node ? node->clock_domain : STRING_NONE); break;
    case 9: sqlite3_result_int64(result, process->attached); break;
    case 10: id_column(cursor, result, process->reason); break;
    case 11: integer_column(result, process->end_ns, INT64_MIN); break;
    case 12: id_column(cursor, result, process->executable); break;
    case 13: integer_column(result, process->rank, -1); break;
    }
}

static uint32_t group_count(const struct trace *trace)
{
    uint32_t count;
    trace_groups(trace, &count);
    return count;
}

static void group_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    uint32_t count;
    const struct trace_group *group = &trace_groups(cursor->trace, &count)[cursor->row];
    switch (column) {
    case 0: sqlite3_result_int64(result, cursor->row); break;
    case 1: text_column(result, link_kind_name(group->kind)); break;
    case 2: id_column(cursor, result, group->name); break;
    case 3: unsigned_column(result, group->sequence); break;
    }
}

static void member_column(const struct query_cursor *cursor, sqlite3_context *result, int column)
{
    const struct member_block *block = &cursor->data.members;
    switch (column) {
    case 0: sqlite3_result_int64(result, block->group[cursor->row].index); break;
    case 1: sqlite3_result_int64(result, block->span[cursor->row].index); break;
    case 2: integer_column(result, block->rank ? block->rank[cursor->row] : -1, -1); break;
    }
}

const struct query_table query_tables[] = {
    {"tracks", "id INTEGER, kind TEXT, name TEXT, node TEXT, rank INTEGER, pid INTEGER, tid INTEGER, device INTEGER, stream INTEGER, "
     "process INTEGER", WALK_ROWS, 0, 0, -1, -1, track_count, track_column},
    {"spans", "id INTEGER, track INTEGER, begin_ns INTEGER, end_ns INTEGER, name TEXT, category TEXT, parent INTEGER, "
     "correlation INTEGER, kind TEXT, args TEXT, stack INTEGER", WALK_BLOCKS, FAMILY_SPANS, 0, 1, 2, NULL, span_column},
    {"samples", "track INTEGER, time_ns INTEGER, stack INTEGER, weight INTEGER, cpu INTEGER, event TEXT, flags INTEGER", WALK_BLOCKS,
     FAMILY_SAMPLES, -1, 0, 1, NULL, sample_column},
    {"frames", "stack INTEGER, depth INTEGER, name TEXT, module TEXT, file TEXT, line INTEGER, inlined INTEGER", WALK_FRAMES, 0, 0, -1,
     -1, NULL, frame_column},
    {"counters", "track INTEGER, time_ns INTEGER, name TEXT, value REAL, unit TEXT", WALK_BLOCKS, FAMILY_COUNTERS, -1, 0, 1, NULL,
     counter_column},
    {"links", "kind TEXT, from_span INTEGER, to_span INTEGER, confidence TEXT", WALK_BLOCKS, FAMILY_LINKS, -1, -1, -1, NULL, link_column},
    {"ledger", "source TEXT, seen INTEGER, recorded INTEGER, lost INTEGER, reason TEXT", WALK_ROWS, 0, -1, -1, -1, ledger_count,
     ledger_column},
    {"metadata", "key TEXT, value TEXT", WALK_ROWS, 0, -1, -1, -1, trace_metadata_count, metadata_column},
    {"instants", "track INTEGER, time_ns INTEGER, name TEXT, category TEXT, args TEXT", WALK_BLOCKS, FAMILY_INSTANTS, -1, 0, 1, NULL,
     instant_column},
    {"processes", "id INTEGER, node TEXT, pid INTEGER, start_ns INTEGER, parent INTEGER, generation INTEGER, command TEXT, "
     "exit_status INTEGER, clock_domain TEXT, attached INTEGER, reason TEXT, end_ns INTEGER, executable TEXT, rank INTEGER", WALK_ROWS,
     0, 0, -1, -1, process_count, process_column},
    {"groups", "id INTEGER, kind TEXT, name TEXT, sequence INTEGER", WALK_ROWS, 0, 0, -1, -1, group_count, group_column},
    {"members", "\"group\" INTEGER, span INTEGER, rank INTEGER", WALK_BLOCKS, FAMILY_MEMBERS, -1, -1, -1, NULL, member_column},
};
const unsigned query_table_count = sizeof(query_tables) / sizeof(query_tables[0]);

#endif
