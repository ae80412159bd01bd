/* SPDX-License-Identifier: MIT */
/* The small tables of a trace: one array each, shared between snapshots; what their fields refer to. */
#ifndef HP_TRACE_TABLES_H
#define HP_TRACE_TABLES_H

#include "trace.h"

enum table {
    TABLE_NODES, TABLE_PROCESSES, TABLE_TRACKS, TABLE_MODULES, TABLE_FRAMES, TABLE_STACKS, TABLE_GROUPS, TABLE_LEDGER,
    TABLE_METADATA, TABLE_COUNT
};
struct metadata_entry {
    string_id key, value;
};

enum table_reference {
    FIELD_PLAIN, FIELD_STRING, FIELD_NODE, FIELD_PROCESS, FIELD_MODULE, FIELD_FRAME,
    FIELD_STACK_PARENT,  /* a smaller index of the same table, or none: no cycles */
    FIELD_TRACK_KIND, FIELD_LINK_KIND, FIELD_BOOL,
};
/* One field of a row: in memory at offset, in files packed in this order, little-endian. */
struct table_field {
    const char *name;
    uint16_t offset;
    uint8_t size, reference;
};
struct table_schema {
    const char *name;
    const struct table_field *fields;
    uint8_t field_count;
    uint16_t row_size; /* in memory */
};
const struct table_schema *table_schema(enum table table);
uint32_t table_packed_row_size(enum table table);

/* Rows of one table, read-only once shared. */
struct shared_table {
    _Atomic uint32_t references;
    uint32_t count;
    _Alignas(16) unsigned char rows[];
};
struct shared_table *shared_table_create(enum table table, const void *rows, uint32_t count); /* copies; NULL on ENOMEM */
struct shared_table *shared_table_ref(struct shared_table *table);
void shared_table_unref(struct shared_table *table);

void table_pack(enum table table, const void *rows, uint32_t count, uint8_t *out);
/* rows: room for count rows. The packed rows may have a row size of an older or newer version: missing fields are 0. */
void table_unpack(enum table table, const uint8_t *packed, uint32_t packed_row_size, uint32_t count, void *rows);
/* Checks every reference of every row; counts: of all tables, strings: of the string table. Returns the bad row or -1. */
int64_t table_first_bad_row(enum table table, const void *rows, uint32_t count, const uint32_t counts[TABLE_COUNT],
                            uint32_t strings);
/* A row whose parent chain never ends (processes are each other's parents), or -1, or -2 for ENOMEM. */
int64_t processes_endless_row(const struct trace_process *processes, uint32_t count);

#endif
