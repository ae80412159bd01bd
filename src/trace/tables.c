/* SPDX-License-Identifier: MIT */
/* Schemas of the small tables, and packing, unpacking and checking them by schema. */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

#define FIELD_OF(type, member, reference)                                                                              \
    {                                                                                                                  \
        #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), FIELD_##reference                  \
    }

static const struct table_field node_fields[] = {
    FIELD_OF(trace_node, name, STRING),
    FIELD_OF(trace_node, clock_domain, STRING),
};
static const struct table_field process_fields[] = {
    FIELD_OF(trace_process, node, NODE),
    FIELD_OF(trace_process, pid, PLAIN),
    FIELD_OF(trace_process, rank, PLAIN),
    FIELD_OF(trace_process, start_ns, PLAIN),
    FIELD_OF(trace_process, end_ns, PLAIN),
    FIELD_OF(trace_process, parent, PROCESS),
    FIELD_OF(trace_process, generation, PLAIN),
    FIELD_OF(trace_process, command, STRING),
    FIELD_OF(trace_process, executable, STRING),
    FIELD_OF(trace_process, exit_status, PLAIN),
    FIELD_OF(trace_process, attached, BOOL),
    FIELD_OF(trace_process, reason, STRING),
};
static const struct table_field track_fields[] = {
    FIELD_OF(trace_track, kind, TRACK_KIND),
    FIELD_OF(trace_track, name, STRING),
    FIELD_OF(trace_track, process, PROCESS),
    FIELD_OF(trace_track, tid, PLAIN),
    FIELD_OF(trace_track, device, PLAIN),
    FIELD_OF(trace_track, stream, PLAIN),
    FIELD_OF(trace_track, unit, STRING),
    FIELD_OF(trace_track, start_ns, PLAIN),
    FIELD_OF(trace_track, end_ns, PLAIN),
};
static const struct table_field module_fields[] = {
    FIELD_OF(trace_module, path, STRING),
    FIELD_OF(trace_module, build_id, STRING),
    FIELD_OF(trace_module, flags, PLAIN),
};
static const struct table_field frame_fields[] = {
    FIELD_OF(trace_frame, function, STRING),
    FIELD_OF(trace_frame, module, MODULE),
    FIELD_OF(trace_frame, file, STRING),
    FIELD_OF(trace_frame, line, PLAIN),
    FIELD_OF(trace_frame, flags, PLAIN),
    FIELD_OF(trace_frame, address, PLAIN),
};
static const struct table_field stack_fields[] = {
    FIELD_OF(stack_node, parent, STACK_PARENT),
    FIELD_OF(stack_node, frame, FRAME),
};
static const struct table_field group_fields[] = {
    FIELD_OF(trace_group, kind, LINK_KIND),
    FIELD_OF(trace_group, name, STRING),
    FIELD_OF(trace_group, sequence, PLAIN),
};
static const struct table_field ledger_fields[] = {
    FIELD_OF(ledger_entry, source, STRING),
    FIELD_OF(ledger_entry, seen, PLAIN),
    FIELD_OF(ledger_entry, recorded, PLAIN),
    FIELD_OF(ledger_entry, lost, PLAIN),
    FIELD_OF(ledger_entry, reason, STRING),
};
static const struct table_field metadata_fields[] = {
    FIELD_OF(metadata_entry, key, STRING),
    FIELD_OF(metadata_entry, value, STRING),
};

#define SCHEMA(name, fields, type) {name, fields, sizeof(fields) / sizeof(fields[0]), sizeof(struct type)}
static const struct table_schema schemas[TABLE_COUNT] = {
    [TABLE_NODES] = SCHEMA("nodes", node_fields, trace_node),
    [TABLE_PROCESSES] = SCHEMA("processes", process_fields, trace_process),
    [TABLE_TRACKS] = SCHEMA("tracks", track_fields, trace_track),
    [TABLE_MODULES] = SCHEMA("modules", module_fields, trace_module),
    [TABLE_FRAMES] = SCHEMA("frames", frame_fields, trace_frame),
    [TABLE_STACKS] = SCHEMA("stacks", stack_fields, stack_node),
    [TABLE_GROUPS] = SCHEMA("groups", group_fields, trace_group),
    [TABLE_LEDGER] = SCHEMA("ledger", ledger_fields, ledger_entry),
    [TABLE_METADATA] = SCHEMA("metadata", metadata_fields, metadata_entry),
};

const struct table_schema *table_schema(enum table table)
{
    return &schemas[table];
}

uint32_t table_packed_row_size(enum table table)
{
    uint32_t size = 0;
    for (uint8_t i = 0; i < schemas[table].field_count; i++)
        size += schemas[table].fields[i].size;
    return size;
}

struct shared_table *shared_table_create(enum table table, const void *rows, uint32_t count)
{
    size_t bytes = (size_t)schemas[table].row_size * count;
    struct shared_table *shared = calloc(1, sizeof(*shared) + bytes + 1);
    if (!shared)
        return NULL;
    shared->references = 1;
    shared->count = count;
    if (bytes && rows)
        memcpy(shared->rows, rows, bytes);
    return shared;
}

struct shared_table *shared_table_ref(struct shared_table *table)
{
    table->references++;
    return table;
}

void shared_table_unref(struct shared_table *table)
{
    if (table && --table->references == 0)
        free(table);
}

void table_pack(enum table table, const void *rows, uint32_t count, uint8_t *out)
{
    const struct table_schema *schema = &schemas[table];
    const uint8_t *row = rows;
    for (uint32_t i = 0; i < count; i++, row += schema->row_size) {
        for (uint8_t field = 0; field < schema->field_count; field++) {
            memcpy(out, row + schema->fields[field].offset, schema->fields[field].size);
            out += schema->fields[field].size;
        }
    }
}

void table_unpack(enum table table, const uint8_t *packed, uint32_t packed_row_size, uint32_t count, void *rows)
{
    const struct table_schema *schema = &schemas[table];
    uint8_t *row = rows;
    memset(rows, 0, (size_t)count * schema->row_size);
    for (uint32_t i = 0; i < count; i++, row += schema->row_size, packed += packed_row_size) {
        uint32_t position = 0;
        for (uint8_t field = 0; field < schema->field_count; field++) {
            const struct table_field *spec = &schema->fields[field];
            if (position + spec->size > packed_row_size)
                break;
            if (spec->reference == FIELD_BOOL) /* any other byte in a bool would be undefined behaviour */
                row[spec->offset] = packed[position] != 0;
            else
                memcpy(row + spec->offset, packed + position, spec->size);
            position += spec->size;
        }
    }
}

static bool reference_valid(uint8_t reference, uint32_t value, uint32_t row, const uint32_t counts[TABLE_COUNT],
                            uint32_t strings)
{
    switch (reference) {
    case FIELD_STRING: return value < strings;
    case FIELD_NODE: return value == ID_NONE || value < counts[TABLE_NODES];
    case FIELD_PROCESS: return value == ID_NONE || value < counts[TABLE_PROCESSES];
    case FIELD_MODULE: return value == ID_NONE || value < counts[TABLE_MODULES];
    case FIELD_FRAME: return value < counts[TABLE_FRAMES];
    case FIELD_STACK_PARENT: return value == ID_NONE || value < row;
    case FIELD_TRACK_KIND: return value < TRACK_KIND_COUNT;
    case FIELD_LINK_KIND: return value < LINK_KIND_COUNT;
    default: return true;
    }
}

int64_t table_first_bad_row(enum table table, const void *rows, uint32_t count, const uint32_t counts[TABLE_COUNT],
                            uint32_t strings)
{
    const struct table_schema *schema = &schemas[table];
    const uint8_t *row = rows;
    for (uint32_t i = 0; i < count; i++, row += schema->row_size) {
        for (uint8_t field = 0; field < schema->field_count; field++) {
            const struct table_field *spec = &schema->fields[field];
            uint32_t value;
            if (spec->reference == FIELD_PLAIN || spec->reference == FIELD_BOOL)
                continue;
            memcpy(&value, row + spec->offset, 4);
            if (!reference_valid(spec->reference, value, i, counts, strings))
                return i;
        }
    }
    return -1;
}

int64_t processes_endless_row(const struct trace_process *processes, uint32_t count)
{
    uint8_t *state = calloc(count ? count : 1, 1); /* 1: on this walk, 2: known to end */
    if (!state)
        return -2;
    int64_t endless = -1;
    for (uint32_t i = 0; i < count && endless < 0; i++) {
        uint32_t at = i;
        while (at < count && state[at] == 0) {
            state[at] = 1;
            at = processes[at].parent.index;
        }
        if (at < count && state[at] == 1)
            endless = at;
        for (at = i; endless < 0 && at < count && state[at] == 1; at = processes[at].parent.index)
            state[at] = 2;
    }
    free(state);
    return endless;
}
