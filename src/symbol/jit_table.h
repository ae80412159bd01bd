/* SPDX-License-Identifier: MIT */
/*
 * Code that a process made at run time: which function lay where, and since when. Filled from perf-PID.map and jitdump files,
 * which any program may write: everything in them is bounded and checked. For src/symbol and its fuzz targets.
 */
#ifndef HP_SYMBOL_JIT_TABLE_H
#define HP_SYMBOL_JIT_TABLE_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JIT_TIME_UNKNOWN INT64_MIN

struct jit_line {
    uint64_t address;
    uint32_t line, file; /* file: offset in text */
};

struct jit_entry {
    uint64_t start, end;
    uint64_t reach;   /* largest end of this and all entries before, in sorted order */
    int64_t time_ns;  /* when it was made, in the file's clock; JIT_TIME_UNKNOWN where the file has no times */
    uint32_t name;    /* offset in text */
    uint32_t order;   /* in the file */
    uint32_t first_line, line_count;
};

struct jit_table {
    struct jit_entry *entries; /* sorted by start once finished */
    size_t count, capacity;
    struct jit_line *lines;
    size_t line_count, line_capacity;
    char *text;
    size_t text_size, text_capacity;
    bool truncated; /* the file ended within a record, or held more than the bounds allow */
};

int jit_table_create(struct jit_table **ret_table);
void jit_table_destroy(struct jit_table *table);
DEFINE_CLEANUP(struct jit_table *, jit_table_destroy)

/* Adds a name or file, with control characters made harmless. -EFBIG over the bound. */
int jit_text_add(struct jit_table *table, const char *text, size_t length, uint32_t *ret_offset);
int jit_entry_add(struct jit_table *table, const struct jit_entry *entry);
void jit_table_finish(struct jit_table *table); /* sorts; after the last entry */
/* The newest entry at the address that is not younger than time_ns; where all are younger, the oldest. NULL: none. */
const struct jit_entry *jit_table_find(const struct jit_table *table, uint64_t address, int64_t time_ns);
const struct jit_line *jit_line_find(const struct jit_table *table, const struct jit_entry *entry, uint64_t address);

/* Where bytes come from: a file or memory. Returns bytes read, 0 at the end. */
struct jit_reader {
    size_t (*read)(const struct jit_reader *reader, uint64_t offset, void *buffer, size_t size);
    int fd;
    const uint8_t *bytes;
    uint64_t size;
};
struct jit_reader jit_reader_of_file(int fd, uint64_t size);
struct jit_reader jit_reader_of_memory(const void *bytes, size_t size);

/* Lines "START SIZE name", hex; others are skipped. */
int perf_map_read(const struct jit_reader *reader, struct jit_table *table);
/* -EINVAL when it is no jitdump of this machine's byte order. */
int jitdump_read(const struct jit_reader *reader, struct jit_table *table);

#endif
